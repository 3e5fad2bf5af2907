"""Objectives: read as they are typed, held against a summary, and never met by what was not measured."""

from __future__ import annotations

import pytest

from lab.analysis import slo
from lab.errors import LabError

SUMMARY = {
    "requests": 1000,
    "errors": {"HTTP 503": 1, "reset": 1},
    "mean_s": 0.1,
    "p50_s": 0.08,
    "p90_s": 0.15,
    "p99_s": 0.2,
    "p999_s": 0.9,
    "max_s": 1.5,
    "ok_throughput_rps": 99.8,
    "throughput_rps": 100.0,
}


@pytest.mark.parametrize(
    ("text", "met"),
    [
        ("p99<200ms", False),
        ("p99<=200ms", True),
        ("p99 < 0.201 s", True),
        ("p99.9<900ms", False),
        ("p99.9<=0.9s", True),
        ("p50<80.1ms", True),
        ("p90<100ms", False),
        ("mean<=0.1s", True),
        ("max<1s", False),
        ("errors<0.1%", False),
        ("errors<0.3%", True),
        ("errors<10", True),
        ("errors<2", False),
        ("throughput>99", True),
        ("throughput>99.9req/s", False),
    ],
)
def test_an_objective_is_held_against_what_was_measured(text, met):
    """Each metric in its units; throughput is that of right answers, errors are a share or a count."""
    broken = slo.shortfalls([slo.parse(text)], "mvc-u5-r1", SUMMARY)
    assert (broken == []) == met
    assert all("mvc-u5-r1" in sentence and slo.parse(text).text in sentence for sentence in broken)


@pytest.mark.parametrize(("text", "fewest"), [("p90<1s", 10), ("p99<1s", 100)])
def test_a_percentile_takes_answers_enough_to_tell_it_from_the_longest(text, fewest):
    """Of ten answers the 99th percentile is the longest: that one in a hundred is slow would not be seen."""
    few = {**SUMMARY, "requests": fewest, "errors": {"reset": 1}}
    assert f"(it takes {fewest} right answers)" in slo.shortfalls([slo.parse(text)], "x", few)[0]
    assert slo.shortfalls([slo.parse(text)], "x", {**few, "errors": {}}) == []


def test_what_was_measured_is_said():
    """A broken objective comes with the value, in a unit that people read."""
    sentences = slo.shortfalls(
        [slo.parse(t) for t in ("p99<100ms", "max<1s", "errors<0.1%", "throughput>500")], "x", SUMMARY
    )
    assert [s.rpartition("it is ")[2].rstrip(".") for s in sentences] == ["200.0 ms", "1.500 s", "0.200%", "99.8 req/s"]


@pytest.mark.parametrize(
    "summary", [{}, {"requests": 0, "errors": {}}, {"requests": 3, "errors": {"reset": 3}, "p99_s": None}]
)
def test_what_was_not_measured_meets_nothing(summary):
    """An empty cell, or one without a right answer, does not pass for a fast one."""
    assert len(slo.shortfalls([slo.parse("p99<10s")], "x", summary)) == 1


@pytest.mark.parametrize("text", ["errors<1%", "p99.9<1s", "throughput>1"])
def test_a_cell_that_was_not_measured_to_its_end_is_said_to_be_so(text):
    """It has "no errors" neither way, and no number of right answers would help; nor has one without a request any."""
    (sentence,) = slo.shortfalls([slo.parse(text)], "x", {})
    assert sentence == f"x was not measured to its end, so that {text} is not met."
    (sentence,) = slo.shortfalls([slo.parse(text)], "x", {"requests": 0, "errors": {}, "verdict": "suspect"})
    assert sentence == f"x has no request, so that {text} is not met."


def test_a_percentile_that_takes_more_answers_says_how_many():
    """Of fewer than a thousand there is no p99.9, and the sentence says why the objective is not met."""
    (sentence,) = slo.shortfalls([slo.parse("p99.9<1s")], "x", {**SUMMARY, "p999_s": None})
    assert sentence == "x has no p99.9 (it takes 1,000 right answers), so that p99.9<1s is not met."


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p99",
        "p99.<1s",
        "p99.99<1s",
        "p98<1s",
        "p99<1",
        "p99<1%",
        "errors<1ms",
        "throughput>1s",
        "p99=1s",
        "p99<-1s",
        "p99<1s;",
    ],
)
def test_what_is_no_objective_is_refused_with_a_sentence(text):
    """Whatever cannot be read, or has the wrong unit, is named, with what is possible."""
    with pytest.raises(LabError) as caught:
        slo.parse(text)
    assert repr(text) in caught.value.problem
    assert caught.value.next_step
