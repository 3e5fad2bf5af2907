"""The machine that tests plan their runs for, where its size does not matter: the one that they run on."""

from __future__ import annotations

from lab.runtimes import host

HERE = host.machine()
