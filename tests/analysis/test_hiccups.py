"""Times in which a service's process did not run: those that nothing explains, of whichever process had the longest."""

from __future__ import annotations

import pytest

from lab.analysis.hiccups import longest_stop_s
from lab.telemetry.actuator import GC_PAUSES, HICCUPS
from lab.telemetry.sampler import MACHINE, PAUSED

TOTALS = {HICCUPS: (0.0, 0.0, 0.5, 0.5), "cpu_s": (3.0, 3.4, 3.8, 4.2), GC_PAUSES: (0.1, 0.1, 0.1, 0.1)}


def rows(target: str = "service", **totals):
    """Readings a second apart, the first one shortly before the load; counters that are not given are as usual."""
    named = {"used": "cpu_s", "collected": GC_PAUSES, "missed": HICCUPS}
    counters = {**TOTALS, **{named[name]: values for name, values in totals.items()}}
    return [(at - 0.1, target, name, of) for name, values in counters.items() for at, of in enumerate(values)]


def test_what_a_thread_of_its_own_missed_is_a_stop():
    """Of several the longest, and not their sum."""
    assert longest_stop_s(rows(), 1, 2.5) == pytest.approx(0.5)
    assert longest_stop_s(rows(missed=(0.0, 0.3, 0.5, 0.9)), 1, 2.5) == pytest.approx(0.4)
    assert longest_stop_s(rows(missed=(7.0, 7.0, 7.0, 7.0)), 1, 2.5) == 0.0


def test_what_was_missed_after_the_load_is_none_of_it():
    """But the reading that follows its end belongs to it, as nobody knows when before that it stood still."""
    assert longest_stop_s(rows(missed=(0.0, 0.0, 0.0, 0.5)), 1, 1.8) == 0.0
    assert longest_stop_s(rows(missed=(0.0, 0.0, 0.0, 0.5)), 1, 2.0) == pytest.approx(0.5)


def test_while_the_process_used_its_cores_it_ran():
    """A thread that waits for a busy core is late; two cores are not busy where one of them is."""
    busy = rows(used=(3.0, 3.4, 4.3, 4.7))
    assert longest_stop_s(busy, 1, 2.5) == pytest.approx(0.1)
    assert longest_stop_s(busy, 2, 2.5) == pytest.approx(0.5)


def test_the_garbage_collector_and_the_machine_explain_what_they_took():
    """Each by its own account."""
    assert longest_stop_s(rows(collected=(0.1, 0.1, 0.4, 0.4)), 1, 2.5) == pytest.approx(0.2)
    assert longest_stop_s([*rows(), (1.2, MACHINE, PAUSED, 0.4)], 1, 2.5) == pytest.approx(0.1)


def test_of_several_nodes_it_is_the_longest_of_one():
    """And not the sum, which the service as a whole has."""
    nodes = [*rows("node 1"), *rows("node 2", missed=(0.0, 0.3, 0.3, 0.3)), *rows(missed=(0.0, 0.3, 0.8, 0.8))]
    assert longest_stop_s(nodes, 1, 2.5) == pytest.approx(0.5)


def test_who_does_not_report_it_is_not_known():
    """Nor is a load in which it was read once."""
    assert longest_stop_s([row for row in rows() if row[2] != HICCUPS], 1, 2.5) is None
    assert longest_stop_s([row for row in rows() if row[0] < 0], 1, 2.5) is None
    assert longest_stop_s([], 1, 2.5) is None
