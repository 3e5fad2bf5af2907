"""The load generator without Locust's monkey-patching, so that these tests may live beside those that use threads."""

from __future__ import annotations

import os

import pytest

os.environ["LOCUST_SKIP_MONKEY_PATCH"] = "1"
import lab.generator.locust

# Processes that the tests start are to be patched as ever.
del os.environ["LOCUST_SKIP_MONKEY_PATCH"]


@pytest.fixture(autouse=True)
def _unpatched() -> None:
    """The promise of this file, checked."""
    from gevent import monkey

    assert not monkey.is_module_patched("socket")
    assert lab.generator.locust.LabUser.abstract
