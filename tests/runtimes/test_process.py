"""Local processes end for certain, whatever state they are in."""

from __future__ import annotations

import os
import signal
import sys
import threading

import psutil
from patience import await_that

from lab.runtimes import Launch


def test_one_that_hangs_while_somebody_listens_to_it_is_ended_too(runtime, tmp_path):
    """The reader waits for words that never come, and nobody waits for the reader."""
    launch = Launch("talker", (sys.executable, "-c", "input()"), tmp_path / "log", talks=True, grace_s=0.1)
    with runtime.started(launch) as running:
        process = psutil.Process(running.pid)
        reader = threading.Thread(target=running.stdout.readline, daemon=True)
        reader.start()
        os.kill(running.pid, signal.SIGSTOP)
        await_that(lambda: process.status() == psutil.STATUS_STOPPED)
    assert running.exit_reason() == "was killed by SIGKILL"
    await_that(lambda: not reader.is_alive())
