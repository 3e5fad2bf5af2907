"""Times in which the machine itself stands still, as a sleeper on each of its cores notices them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from patience import await_that

from lab.runtimes import Launch
from lab.telemetry.sampler import (
    CPU_SPEED_SCRIPT,
    FIXED_WORK,
    MACHINE,
    PAUSED,
    PAUSES_SCRIPT,
    PAUSES_UNREAD,
    SPEED_UNREAD,
    Telemetry,
    watching_cores,
)

PLANTED_S = (0.05, 0.1, 0.3)
SPIN = "while True: pass"

pytestmark = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system does not tell its cores")


def test_every_pause_of_all_cores_is_noticed_once_with_its_length(runtime, tmp_path):
    """Whatever else runs on them. What stands still here is the meter, which is all that a machine can do to it."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    owners = {"service": frozenset(cores[:1]), "generator": frozenset(cores[-1:])}
    busy = Launch("spinner", (sys.executable, "-c", SPIN), tmp_path / "spin", cores=owners["service"])
    telemetry = Telemetry()
    planted: list[tuple[float, float, float, float]] = []  # when either signal was about to be sent, and had been

    def read(name: str) -> list[tuple[float, float]]:
        return [(t, value) for t, target, what, value in telemetry.rows if what == name]

    def noticed() -> list[list[tuple[float, float]]]:
        """For each planted pause, those that hold its middle; this machine may stand still beside them as well."""
        middles = [(stopped + continued) / 2 for _, stopped, continued, _ in planted]
        return [[(at, s) for at, s in read(PAUSED) if at <= middle <= at + s] for middle in middles]

    def send(number: int) -> tuple[float, float]:
        before = time.time()
        os.kill(meter.pid, number)
        return before, time.time()

    with runtime.started(busy), watching_cores(runtime, owners, tmp_path, telemetry):
        await_that(lambda: read(FIXED_WORK))
        children = psutil.Process().children(recursive=True)
        (meter,) = [child for child in children if str(PAUSES_SCRIPT) in child.cmdline() and not child.children()]
        for seconds in PLANTED_S:
            time.sleep(0.3)
            stopped = send(signal.SIGSTOP)
            time.sleep(seconds)
            planted.append((*stopped, *send(signal.SIGCONT)))
        await_that(lambda: all(noticed()))
    assert {target for _, target, what, _ in telemetry.rows if what == PAUSED} == {MACHINE}
    for (before_stop, stopped, before_end, ended), pauses in zip(planted, noticed(), strict=True):
        ((at, length),) = pauses
        assert before_stop - 0.02 <= at <= stopped + 0.02
        assert before_end - stopped - 0.02 <= length <= ended - before_stop + 0.02


@pytest.mark.parametrize(("script", "unread"), [(PAUSES_SCRIPT, PAUSES_UNREAD), (CPU_SPEED_SCRIPT, SPEED_UNREAD)])
def test_what_watches_the_cores_and_ends_is_known_to_have(runtime, tmp_path, script, unread):
    """Else nobody could tell its silence from a machine that ran on; that it ends with the load is no such end."""
    owners = {"service": frozenset(sorted(os.sched_getaffinity(0))[:1])}
    killed, whole = Telemetry(), Telemetry()

    def names(telemetry: Telemetry) -> list[str]:
        return [what for _, _, what, _ in telemetry.rows if what in (PAUSES_UNREAD, SPEED_UNREAD)]

    with watching_cores(runtime, owners, tmp_path, killed):
        await_that(lambda: any(what == FIXED_WORK for _, _, what, _ in killed.rows))
        assert names(killed) == []
        children = psutil.Process().children(recursive=True)
        (watch,) = [child for child in children if str(script) in child.cmdline() and not child.children()]
        watch.kill()
        await_that(lambda: names(killed) == [unread])
    with watching_cores(runtime, owners, tmp_path, whole):
        await_that(lambda: any(what == FIXED_WORK for _, _, what, _ in whole.rows))
    assert names(whole) == []


HOLD = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[1])})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
until = time.monotonic() + 0.06
while time.monotonic() < until:
    pass
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="permissions do not stop root")
def test_cores_that_others_keep_busy_do_not_stand_still(runtime, tmp_path):
    """However urgent these are: the machine ran, and did something else."""
    cores = sorted(os.sched_getaffinity(0))[:2]
    owners = {"service": frozenset(cores[:1]), "generator": frozenset(cores[-1:])}
    telemetry = Telemetry()
    with watching_cores(runtime, owners, tmp_path, telemetry):
        await_that(lambda: any(what == FIXED_WORK for _, _, what, _ in telemetry.rows))
        time.sleep(0.3)
        began = time.time()
        held = [subprocess.Popen([sys.executable, "-IS", "-c", HOLD, str(core)]) for core in cores]
        assert [process.wait() for process in held] == [0] * len(cores)
        ended = time.time()
        time.sleep(0.3)
    found = [value for t, _, what, value in telemetry.rows if what == PAUSED and began - 0.02 < t < ended]
    assert sum(found) < 0.03
