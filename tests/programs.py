"""Programs that tests start, where they are installed."""

from __future__ import annotations

import shutil

import pytest

from lab.system import balancer, prometheus

needs_haproxy = pytest.mark.skipif(
    not (shutil.which(balancer.PROGRAM) or shutil.which(balancer.PROGRAM, path=balancer.SBIN)), reason="needs haproxy"
)
needs_prometheus = pytest.mark.skipif(not shutil.which(prometheus.PROGRAM), reason="needs prometheus")
