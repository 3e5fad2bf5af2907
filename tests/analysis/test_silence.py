"""Which of several nodes and their balancer answered nothing, and when."""

from __future__ import annotations

import pandas as pd
import pytest

from lab.analysis import checks
from lab.analysis.silence import silent_spans
from lab.telemetry.actuator import GC_PAUSES
from lab.telemetry.sampler import PASSED_ON, RECEIVED, SILENT


def no_samples(_):
    """The samples of a load that nobody has sent."""
    return iter(())


def read(target: str, silent: str, passed_on: tuple[int, ...] = ()) -> list[tuple[float, str, str, float]]:
    """Readings every three seconds, of which an x had no answer, and what the balancer had passed on after each."""
    answer = RECEIVED if target == "balancer" else GC_PAUSES
    rows = [(3.0 * number, target, SILENT if each == "x" else answer, 1.0) for number, each in enumerate(silent)]
    # Read when the node has answered, or was waited for in vain.
    after_s = [3.0 * number + (2.01 if each == "x" else 0.01) for number, each in enumerate(silent)]
    return rows + [(t_s, target, PASSED_ON, float(total)) for t_s, total in zip(after_s, passed_on, strict=False)]


@pytest.mark.parametrize(
    ("silent", "passed_on", "span"),
    [
        ("......", (0, 1, 2, 3, 4, 5), None),
        ("..x.x.", (0, 1, 1, 1, 1, 2), None),  # late once, twice
        ("..xxx.", (0, 1, 1, 1, 1, 2), (6.0, 14.0)),  # until the last one was given up
        ("..xxx.", (0, 1, 1, 1, 5, 9), (6.0, 11.0)),  # it went on while the last one was given up
        ("..xxx.", (0, 1, 1, 2, 2, 3), None),  # too busy for readings as well
        ("..xx..", (0, 1, 1, 2, 2, 3), None),
        ("xx..xx", (0, 0, 1, 2, 2, 2), (0.0, 5.0)),
        ("xx.xxx", (0, 0, 1, 2, 2, 2), (9.0, 17.0)),
        ("..xxxx", (0, 1), (6.0, 17.0)),  # when the balancer told nothing either
    ],
)
def test_a_node_is_silent_where_neither_readings_nor_requests_are_answered(silent, passed_on, span):
    """For two readings in a row at least; the longest time counts."""
    rows = read("node 2", silent, passed_on) + read("node 1", "......", (0, 1, 2, 3, 4, 5))
    # Also of what is frozen the balancer tells whether it is up, and the system how much memory it has.
    rows += [(float(t), "node 2", name, 1.0) for t in range(12) for name in ("up", "rss_bytes")]
    assert silent_spans(rows, no_samples) == ({"node 2": span} if span else {})


@pytest.mark.parametrize(
    ("sent_s", "error", "silent"),
    [(4.0, "", False), (4.0, "status", False), (4.0, "reset", True), (4.0, "broken off", True), (0.5, "", True)],
)
def test_a_balancer_that_passes_answers_on_is_not_silent(sent_s, error, silent):
    """Its page of statistics may be late; what came to nothing, or was over before, says nothing of it."""
    rows = read("balancer", ".xxx.") + read("service", "xxxxx")  # of a service without nodes it is no question
    samples = pd.DataFrame({"sent_us": [sent_s * 1e6], "latency_us": [1e6], "error": [error]})
    assert silent_spans(rows, lambda columns: iter([samples[list(columns)]])) == (
        {"balancer": (3.0, 11.0)} if silent else {}
    )


def test_what_was_silent_is_said_with_the_times():
    """One sentence each."""
    said = checks.silent({"node 2": (5.2, 14.6), "balancer": (1.0, 3.0)})
    assert said[0].startswith("node 2 answered nothing from 5 s to 15 s of the load")
    assert said[1].startswith("The balancer answered nothing from 1 s to 3 s of the load")
