"""A clock that is set while it is measured is noticed; one that is corrected, or read late, is not."""

from __future__ import annotations

import itertools
import time
from types import SimpleNamespace

import pytest

from lab.generator.locust import phases
from lab.generator.locust.clock import ClockWatch


class Clocks:
    """Two clocks that stand still until the test moves them."""

    def __init__(self) -> None:
        self.passed_s = 0.0
        self.set_s = 0.0

    def watch(self) -> ClockWatch:
        """A watch on them."""
        return ClockWatch(lambda: 1.8e9 + self.passed_s + self.set_s, lambda: self.passed_s)


@pytest.mark.parametrize("step_s", [0.3, -0.3, 3600.0])
def test_a_step_is_reported_with_its_sign(step_s):
    """The largest one stays, also when the clock is right again later."""
    clocks = Clocks()
    watch = clocks.watch()
    clocks.passed_s += 0.25
    assert watch.step_s() == pytest.approx(0.0, abs=1e-6)
    clocks.set_s = step_s
    clocks.passed_s += 0.25
    assert watch.step_s() == pytest.approx(step_s)
    clocks.passed_s += 0.25
    assert watch.step_s() == pytest.approx(step_s)


def test_a_slow_correction_is_no_step():
    """Half a millisecond a second, for ten minutes, moves the clock far and never steps it."""
    clocks = Clocks()
    watch = clocks.watch()
    for _ in range(4 * 600):
        clocks.passed_s += 0.25
        clocks.set_s += 0.25 * 500e-6
        watch.step_s()
    assert clocks.set_s > 0.25
    assert abs(watch.step_s()) < 0.001


def test_a_pause_between_two_readings_is_no_step():
    """A process that loses its core just while it reads the clocks has others to go by."""
    now, pauses = itertools.count(), itertools.chain([0.0] * 15 + [0.2], itertools.repeat(0.0))
    passed = [0.0]

    def monotonic() -> float:
        passed[0] += 1e-6 * (next(now) >= 0) + next(pauses)
        return passed[0]

    watch = ClockWatch(lambda: 1.8e9 + passed[0], monotonic)
    for _ in range(5):
        assert abs(watch.step_s()) < 0.001
    assert passed[0] > 0.2


def test_a_worker_reports_the_step_of_its_clock():
    """What the conductor sends after somebody set the wall clock by half an hour holds that step."""
    sent = []
    runner = SimpleNamespace(
        worker_index=0,
        send_message=lambda kind, data=None: sent.append((kind, data)),
        register_message=lambda *_: None,
        stats=None,
    )
    load = {"type": "closed", "users": 1, "duration_s": 1.0}
    order = {"number": 1, "warm_up": 1, "load": load, "url": "", "parameters": {}, "unix_start": 0.0, "seed": [1]}
    order["counts"] = [1]
    shift = [0.0]
    phase = phases.Phase(order, 0)
    phase.clock = ClockWatch(lambda: time.time() + shift[0])
    leader = phases.PhaseRunner(runner)
    leader._flush(phase, last=False)
    shift[0] = 1800.0
    leader._flush(phase, last=False)
    steps = [data["clock_step_s"] for kind, data in sent if kind == "lab-report"]
    assert abs(steps[0]) < 0.05
    assert steps[1] == pytest.approx(1800.0, abs=0.05)
