"""A clock that stands still while the machine does."""

from __future__ import annotations

import numpy as np
import pytest

from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import FIXED_WORK, MACHINE, PAUSED

PAUSES = [(3.0, MACHINE, PAUSED, 1.0), (1.0, MACHINE, PAUSED, 0.5), (2.0, "service", FIXED_WORK, 9.0)]


def test_it_stands_still_in_each_pause():
    """Before the first it is like any other; what is no pause does not matter."""
    clock = RunningClock.of(PAUSES)
    shown = clock(np.array([-1.0, 0.5, 1.25, 1.5, 2.0, 3.9, 4.0, 10.0]))
    assert shown == pytest.approx([-1.0, 0.5, 1.0, 1.0, 1.5, 2.5, 2.5, 8.5])
    assert clock.paused_s(1.2, 3.5) == pytest.approx(0.8)
    assert (clock.longest_s(0.0, 2.0), clock.longest_s(0.0, 10.0), clock.longest_s(5.0, 9.0)) == (0.5, 1.0, 0.0)
    assert clock.longest_s(3.25, 10.0) == pytest.approx(0.75)


def test_without_pauses_it_is_like_any_other(samples_of):
    """And the samples are those that were taken."""
    clock, samples = RunningClock.of([]), samples_of([0.1, 0.2])
    assert clock(np.array([1.0, 2.0])) == pytest.approx([1.0, 2.0])
    assert (clock.paused_s(0.0, 9.0), clock.longest_s(0.0, 9.0)) == (0.0, 0.0)
    assert clock.samples(samples) is samples


def test_a_latency_loses_the_pauses_within_it(samples_of):
    """A request that was sent and answered between two pauses keeps its own, and is only earlier."""
    samples = samples_of([2.5, 0.25, 0.5], sent_s=[0.75, 1.75, 4.5], planned_s=[0.5, 1.75, 4.5])
    moved = RunningClock.of(PAUSES).samples(samples)
    assert list(moved["sent_us"]) == [750_000, 1_250_000, 3_000_000]
    assert list(moved["planned_us"]) == [500_000, 1_250_000, 3_000_000]
    assert list(moved["latency_us"]) == [1_750_000, 250_000, 500_000]


def test_readings_are_moved_too():
    """A counter that stood still with the machine grows as steadily as before."""
    rows = [(t, "service", "cpu_s", value) for t, value in ((0.0, 0.0), (1.0, 1.0), (1.5, 1.0), (2.5, 2.0))]
    moved = RunningClock.of([*PAUSES, *rows]).rows(rows)
    assert [row[0] for row in moved] == pytest.approx([0.0, 1.0, 1.0, 2.0])


@pytest.mark.parametrize(("utilization", "lasting_s"), [(0.0, 0.4), (0.2, 0.5), (0.9, 0.8), (1.0, 0.8)])
def test_what_piled_up_in_a_pause_is_worked_off_after_it(samples_of, utilization, lasting_s):
    """By what is left of the capacity, and no longer than the pause itself took, nor beyond the next one."""
    clock = RunningClock(np.array([1.0, 6.0, 6.5]), np.array([0.4, 0.4, 0.1])).with_backlog(utilization)
    assert clock.longest_s(0.0, 5.0) == pytest.approx(lasting_s)
    assert clock.longest_s(5.0, 6.45) == pytest.approx(min(lasting_s, 0.45))
    late = clock.samples(samples_of([1.0 + lasting_s], sent_s=[0.5]))
    assert list(late["latency_us"]) == [pytest.approx(1_000_000, abs=1)]
