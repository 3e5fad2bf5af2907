"""What a cell's requests are by name, and its sessions as wholes: parts that add up to the total."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lab.formulas import breakdown, stats

# Two sessions of a user and one of another: three requests each, of which the last session has only two.
SESSIONS = {
    "user": [1, 1, 1, 1, 1, 1, 2, 2],
    "session": [0, 0, 0, 1, 1, 1, 0, 0],
    "step": [0, 1, 2, 0, 1, 2, 0, 1],
    "name": ["see", "add", "pay", "see", "add", "pay", "see", "add"],
    "sent_s": [0.0, 2.0, 4.0, 10.0, 11.0, 12.0, 0.5, 2.5],
}
LATENCIES_S = [0.1, 0.2, 0.3, 0.5, 0.5, 0.5, 0.4, 0.4]


def in_pieces(samples: pd.DataFrame, size: int):
    """A function that gives columns of these samples, so many rows at a time."""
    return lambda columns: (samples.iloc[at : at + size][list(columns)] for at in range(0, len(samples), size))


@pytest.mark.parametrize("size", [1, 3, 100])
def test_a_session_is_its_steps_its_wall_time_and_what_is_between_them(samples_of, size):
    """Figures are of complete sessions without a failure, wherever pieces are cut; the others are counted."""
    samples = samples_of(LATENCIES_S, **SESSIONS, error=[""] * 5 + ["reset"] + [""] * 2)
    samples.loc[6:, "cut"] = True
    found = breakdown.of_sessions(in_pieces(samples, size)(breakdown.OF_SESSIONS))
    assert (found.complete, found.failed, found.cut, found.requests) == (1, 1, 1, 3.0)
    assert found.steps.p999_s is None
    assert found.steps.mean_s == found.steps.p50_s == found.steps.max_s == pytest.approx(0.6)
    assert found.wall.mean_s == pytest.approx(4.3)
    assert found.think.p99_s == pytest.approx(3.7)
    right = samples.assign(error="", cut=False)
    all_ = breakdown.of_sessions(in_pieces(right, size)(breakdown.OF_SESSIONS))
    assert (all_.complete, all_.requests, all_.steps.max_s) == (3, pytest.approx(8 / 3), 1.5)
    assert all_.wall.mean_s == pytest.approx((4.3 + 2.5 + 2.4) / 3)


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(("whole", "missing"), [(0, 1), (26, 24)])
def test_what_a_stopped_session_did_not_send_is_counted_and_where_it_stopped(samples_of, size, whole, missing):
    """By what its scenario says of a whole session, or by those that came to their end."""
    samples = samples_of(LATENCIES_S, **SESSIONS, error=[""] * 7 + ["timeout"])
    samples.loc[6:, "stopped"] = True
    found = breakdown.of_sessions(in_pieces(samples, size)(breakdown.OF_SESSIONS), requests_a_session=whole)
    assert (found.begun, found.complete, found.failed, found.stopped, found.cut) == (3, 2, 0, 1, 0)
    assert found.stopped_at == {"add": 1}
    assert found.never_sent == missing
    assert found.wall.max_s == pytest.approx(4.3), "times are of those that went through to their end"


def test_what_was_never_sent_is_unknown_where_sessions_differ_in_length(samples_of):
    """Long ones are stopped more often than short ones, whose mean says nothing of them."""
    lengths = [1, 1, 2]
    whole = [(user, step) for user, length in enumerate(lengths) for step in range(length)]
    broken = [(user, step) for user in (3, 4) for step in range(9)]
    users, steps = zip(*whole, *broken, strict=True)
    samples = samples_of([0.1] * len(users), user=list(users), step=list(steps))
    samples["stopped"] = samples["user"] >= 3
    assert breakdown.of_sessions([samples]).never_sent is None
    of_one_length = samples[samples["user"] != 2]
    assert breakdown.of_sessions([of_one_length]).never_sent is None, "nobody sends fewer than none"
    assert breakdown.of_sessions([samples], requests_a_session=10).never_sent == 2
    assert breakdown.of_sessions([samples[samples["user"] < 3]]).never_sent == 0


def test_what_was_never_sent_is_unknown_where_nobody_came_to_the_end(samples_of):
    """And a scenario that says how many a session sends makes it known."""
    samples = samples_of([0.1], name="see", error="timeout").assign(stopped=True)
    assert breakdown.of_sessions([samples]).never_sent is None
    assert breakdown.of_sessions([samples], requests_a_session=26).never_sent == 25


def test_sessions_of_an_open_loop_count_from_the_planned_start(samples_of):
    """The wait for a user belongs to the first request and to the wall time, and is no think time."""
    planned = [0.0, *SESSIONS["sent_s"][1:]]
    sent = [0.7, *SESSIONS["sent_s"][1:]]
    samples = samples_of(LATENCIES_S, **{**SESSIONS, "sent_s": sent}, planned_s=planned)[:3]
    found = breakdown.of_sessions([samples], from_planned=True)
    assert found.steps.max_s == pytest.approx(0.6 + 0.7)
    assert found.wall.max_s == pytest.approx(4.3)
    assert found.think.max_s == pytest.approx(4.3 - 1.3)


@pytest.mark.parametrize("from_planned", [False, True])
def test_the_names_add_up_to_the_total(samples_of, from_planned):
    """The same requests, failures, rate and sum of latencies; percentiles are exact for each."""
    rng = np.random.default_rng(3)
    n = 6000
    names, errors = rng.choice(["a", "b", "c"], n), rng.choice(["", "", "", "timeout"], n)
    sent, latencies = np.sort(rng.random(n) * 60), rng.lognormal(0, 1, n)
    samples = samples_of(
        latencies.tolist(),
        sent_s=sent.tolist(),
        planned_s=(sent - rng.random(n)).tolist(),
        name=names.tolist(),
        error=errors.tolist(),
    )
    samples["fallback"] = (samples["error"] == "") & (rng.random(n) < 0.1)
    samples.loc[samples["name"] == "c", "method"] = "POST"
    total = stats.summarise(samples, from_planned)
    rows = breakdown.breakdown(in_pieces(samples, 700), total.elapsed_s, from_planned)["by_name"]
    assert {(row["method"], row["name"]) for row in rows} == {("GET", "a"), ("GET", "b"), ("POST", "c")}
    assert sum(row["requests"] for row in rows) == total.requests
    assert sum(row["failed"] for row in rows) == sum(total.errors.values())
    assert sum(row["fallbacks"] for row in rows) == samples["fallback"].sum() > 0
    assert sum(row["throughput_rps"] for row in rows) == pytest.approx(total.throughput_rps)
    right = [row["requests"] - row["failed"] for row in rows]
    spent = sum(count * row["mean_s"] for count, row in zip(right, rows, strict=True))
    assert spent == pytest.approx(total.mean_s * sum(right))
    assert max(row["max_s"] for row in rows) == total.max_s
    of_a = (stats.as_planned(samples) if from_planned else samples).query("name == 'a' and error == ''")["latency_us"]
    expected = np.percentile(of_a, [50, 95, 99, 99.9], method="inverted_cdf") / 1e6
    row = next(row for row in rows if row["name"] == "a")
    assert [row[key] for key in ("p50_s", "p95_s", "p99_s", "p999_s")] == pytest.approx(expected.tolist())


def test_the_same_name_with_two_methods_is_two_rows(samples_of):
    """As in Locust's own statistics."""
    samples = samples_of([1.0, 2.0])
    samples["method"] = ["GET", "PUT"]
    rows = breakdown.breakdown(in_pieces(samples, 10), 2.0)["by_name"]
    assert [(row["name"], row["method"], row["mean_s"]) for row in rows] == [
        ("/delay", "GET", 1.0),
        ("/delay", "PUT", 2.0),
    ]


@pytest.mark.parametrize(("answers", "p95_s"), [(3, None), (19, None), (20, 19.0), (100, 95.0)])
def test_the_slowest_one_in_twenty_takes_twenty_answers_in_parts_as_in_the_total(samples_of, answers, p95_s):
    """Of fewer it would be the slowest one, of a name and of sessions as of the whole cell."""
    latencies = [float(n) for n in range(1, answers + 1)]
    samples = samples_of([*latencies, 200.0], name=["a"] * answers + ["b"], error=[""] * answers + ["timeout"])
    samples["step"], samples["session"], samples["user"] = 0, range(answers + 1), 0
    row = breakdown.breakdown(in_pieces(samples, 7), 1.0)["by_name"][0]
    sessions = breakdown.of_sessions(in_pieces(samples, 7)(breakdown.OF_SESSIONS))
    assert row["p95_s"] == sessions.steps.p95_s == stats.summarise(samples).p95_s == p95_s


def test_where_there_is_nothing_to_break_down_there_is_nothing(samples_of):
    """One name and one request a session: the total says it all. A fallback is worth a row even then."""
    samples = samples_of([1.0, 2.0], session=[0, 1], user=0)
    assert breakdown.breakdown(in_pieces(samples, 1), 2.0) == {}
    samples["fallback"] = [False, True]
    assert [row["fallbacks"] for row in breakdown.breakdown(in_pieces(samples, 1), 2.0)["by_name"]] == [1]
    assert breakdown.breakdown(in_pieces(samples[:0], 1), 0.0) == {}


def test_only_planned_starts_of_an_open_loop_can_be_late(samples_of):
    """The other requests of a session follow when it gets to them: they neither hide lateness nor make a pace."""
    sent = [0.0, 0.5, 1.0, 5.0, 5.5, 6.0]
    frame = samples_of(
        [0.1] * 6, sent_s=sent, planned_s=[0.0, 0.5, 1.0, 2.0, 5.5, 6.0], user=[0] * 3 + [1] * 3, step=[0, 1, 2] * 2
    )
    summary = stats.summarise(frame, from_planned=True)
    assert summary.late_p99_s == pytest.approx(3.0)
    assert summary.pace == pytest.approx(2 / 5)
    assert summary.requests == 6
    many = pd.concat([frame, *[frame[1:3].assign(session=number) for number in range(1, 200)]])
    assert stats.summarise(many, from_planned=True).late_p99_s == pytest.approx(3.0)
