"""Which of several nodes and their balancer gave no sign, and when."""

from __future__ import annotations

import pytest

from lab.analysis import checks
from lab.analysis.silence import silent_spans
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import PASSED_ON, RECEIVED, SILENT


def read(target: str, silent: str, passed_on: tuple[int, ...] = ()) -> list[tuple[float, str, str, float]]:
    """Readings once a second, of which an x had no answer, and what the balancer had passed on by then."""
    answer = RECEIVED if target == "balancer" else GC_PAUSES
    rows = [(float(t), target, SILENT if each == "x" else answer, 1.0) for t, each in enumerate(silent)]
    return rows + [(float(t), target, PASSED_ON, float(total)) for t, total in enumerate(passed_on)]


@pytest.mark.parametrize(
    ("silent", "passed_on", "span"),
    [
        ("......", (0, 1, 2, 3, 4, 5), None),
        ("..x.x.", (0, 1, 1, 1, 1, 2), None),  # late once, twice
        ("..xxx.", (0, 1, 1, 1, 1, 2), (2.0, 4.0)),
        ("..xxx.", (0, 1, 1, 2, 2, 3), None),  # too busy for readings as well
        ("xx..xx", (0, 0, 1, 2, 2, 2), (0.0, 1.0)),
        ("xx.xxx", (0, 0, 1, 2, 2, 2), (3.0, 5.0)),
        ("..xxxx", (0, 1), (2.0, 5.0)),  # when the balancer told nothing either
    ],
)
def test_a_node_is_silent_where_neither_readings_nor_requests_are_answered(silent, passed_on, span):
    """For two readings in a row at least; the longest time counts."""
    rows = read("node 2", silent, passed_on) + read("node 1", "......", (0, 1, 2, 3, 4, 5))
    # Also of what is frozen the balancer tells whether it is up, and the system how much memory it has.
    rows += [(float(t), "node 2", name, 1.0) for t in range(6) for name in ("up", "rss_bytes")]
    assert silent_spans(rows) == ({"node 2": span} if span else {})


def test_a_balancer_is_silent_where_it_answers_no_readings():
    """It has no other sign to give; a service without several nodes has none that are looked at."""
    rows = read("balancer", ".xxx.") + read("service", "xxxxx")
    assert silent_spans(rows) == {"balancer": (1.0, 3.0)}


def test_what_was_silent_is_said_with_the_times():
    """One sentence each."""
    said = checks.silent({"node 2": (5.2, 14.6), "balancer": (1.0, 3.0)})
    assert said[0].startswith("node 2 gave no sign from 5 s to 15 s of the load")
    assert said[1].startswith("The balancer gave no sign from 1 s to 3 s of the load")
