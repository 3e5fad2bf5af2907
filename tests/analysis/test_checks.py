"""Each doubt about generator, machine and course of the load is raised above its threshold, and not at it."""

from __future__ import annotations

import pytest

from lab.analysis import checks


@pytest.mark.parametrize(("rps", "severe"), [(70.0, None), (71.0, False), (90.0, False), (91.0, True), (150.0, True)])
def test_a_generator_near_its_ceiling_is_doubted(rps, severe):
    """Above 70 % of the ceiling by a word of warning, above 90 % for good."""
    found = checks.ceiling(rps, 100.0)
    assert [each_severe for _, each_severe in found] == ([] if severe is None else [severe])
    assert all(f"{rps:.0f} requests/s, {rps:.0f}% of its calibrated ceiling" in reason for reason, _ in found)


@pytest.mark.parametrize("ceiling_rps", [None, 0.0])
def test_without_a_calibration_there_is_no_such_doubt(ceiling_rps):
    """What is not known is not held against a run."""
    assert checks.ceiling(1e9, ceiling_rps) == []


@pytest.mark.parametrize(
    ("step_s", "words"), [(0.0, ""), (0.05, ""), (-0.05, ""), (0.3, "+300 ms"), (-3600, "-3,600,000")]
)
def test_a_clock_that_was_set_is_named_with_its_step(step_s, words):
    """Forth or back alike; what a time service may correct is no step."""
    reasons = checks.clock(step_s)
    assert bool(reasons) == bool(words)
    assert all("clock was set by" in reason and words in reason for reason in reasons)


@pytest.mark.parametrize(("share", "found"), [(0.0, 0), (0.06, 0), (0.07, 1)])
def test_services_that_should_be_idle_and_are_not_are_named(share, found):
    """A variant that compiles or collects while another is loaded takes its core."""
    reasons = checks.idle_services(share)
    assert len(reasons) == found
    assert all("used 7% of the service's cores in its windows" in reason for reason in reasons)


def test_a_stolen_core_is_named_with_its_owner():
    """The generator's cores and the service's are told apart."""
    (reason,) = checks.foreign_load({"service": 0.06, "generator": 0.55}, 0.4)
    assert reason.startswith("Other programs used 55% of the generator's cores")


@pytest.mark.parametrize(("machine", "found"), [(None, 0), (0.05, 0), (0.06, 1)])
def test_without_cores_of_its_own_the_machine_counts(machine, found):
    """A run that is not pinned shares everything with everybody."""
    assert len(checks.foreign_load({}, machine)) == found


def test_a_busy_machine_does_not_matter_where_our_cores_are_free():
    """What others do on cores that nobody measures on is their business."""
    assert checks.foreign_load({"service": 0.0, "generator": 0.01}, 0.9) == []


@pytest.mark.parametrize(
    ("latency", "throughput", "cpu", "words"),
    [
        (0.05, -0.05, 0.05, []),
        (0.0, 0.0, 0.0, []),
        (-0.2, 0.0, 0.0, ["Latency fell by 20%"]),
        (0.06, 0.0, 0.0, ["Latency rose by 6%"]),
        (0.0, 0.0, 0.3, ["CPU time a request rose by 30%"]),
        (0.0, -0.2, 0.0, ["Throughput fell by 20%"]),
        (0.2, -0.2, 0.2, ["Latency", "Throughput", "CPU time"]),
    ],
)
def test_what_changes_is_named_whichever_way(latency, throughput, cpu, words):
    """One sentence for each of the three, and none below the thresholds."""
    reasons = checks.changed(latency, throughput, cpu)
    assert len(reasons) == len(words)
    assert all(word in reason for word, reason in zip(words, reasons, strict=True))


@pytest.mark.parametrize(
    ("changes", "stalled_s", "settled", "course"),
    [
        ((0.05, -0.05, 0.0), 0.2, True, "flat"),
        ((-0.2, 0.0, -0.1), 0.0, True, "warming"),
        ((0.06, 0.0, 0.0), 0.0, True, "slowing"),
        ((0.2, -0.2, 0.0), 0.0, True, "erratic"),
        ((0.0, 0.0, 0.0), 0.5, True, "erratic"),
        ((0.0, 0.0, 0.0), 0.0, False, "erratic"),
    ],
)
def test_every_start_has_a_class(changes, stalled_s, settled, course):
    """What goes one way is warming or slowing; what goes both, stalls or never settles is erratic."""
    assert checks.course(changes, stalled_s, 0.0, settled) == course


@pytest.mark.parametrize(
    ("stalled_s", "collecting_s", "found"), [(0.2, 0.0, 0), (0.5, 0.1, 1), (0.5, 0.6, 0), (0.5, 0.48, 1), (5.0, 4.7, 1)]
)
def test_a_stall_is_named_unless_the_collector_explains_it(stalled_s, collecting_s, found):
    """A collection is the service's own, and in its latencies: then neither the verdict nor the class is about it."""
    assert len(checks.stalled(stalled_s, collecting_s)) == found
    assert checks.course((), stalled_s, collecting_s, True) == ("erratic" if found else "flat")


@pytest.mark.parametrize(("share", "found"), [(0.25, 0), (0.3, 1)])
def test_what_shares_the_generators_cores_is_named(share, found):
    """With how much of a core each of them used; idle ones are left out."""
    reasons = checks.crowded(share, {"mysql": 0.45, "link to mysql": 0.01})
    assert len(reasons) == found
    assert all("(mysql 0.45 of a core)" in reason for reason in reasons)


@pytest.mark.parametrize(("share", "words"), [(0.08, ""), (-0.07, ""), (0.1, "10% slower"), (-0.08, "8% faster")])
def test_a_machine_that_changed_is_named_with_whose_cores(share, words):
    """Half as fast and twice as fast are the same distance."""
    reasons = checks.slowed({"service": share, "generator": 0.0})
    assert bool(reasons) == bool(words)
    assert all(reason.startswith("The service's cores themselves became") and words in reason for reason in reasons)


def test_a_latency_that_fell_to_nothing_is_a_change_of_any_size():
    """As of a cache that was cold: what no time at all is a multiple of, is no number."""
    assert checks.magnitude(-1.0) == float("inf")
    assert len(checks.shared(-1.0)) == 1
