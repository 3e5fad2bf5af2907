"""Ramps by window and their knees, on ramps that are played through a queue whose knee is known."""

from __future__ import annotations

import heapq

import numpy as np
import pandas as pd
import pytest

from lab.formulas import ramp
from lab.spec import schedule
from lab.spec.sample import BY_BREAKER
from lab.spec.workload import POISSON, Ramp

SERVICE_S = 0.2


def played(servers: int, to_rps: float, duration_s: float = 30.0, arrivals: str = "even", seed: int = 1):
    """Samples of a ramp from nothing that so many servers answer, each request in 0.2 s and a little noise."""
    load = Ramp(users=5000, from_rps=0, to_rps=to_rps, duration_s=duration_s, arrivals=arrivals)
    sent_s, chance = np.sort(np.asarray(schedule.planned_s(load, (seed,)))), np.random.default_rng(seed)
    free, ended = [0.0] * servers, []
    for at_s in sent_s:
        begun_s = max(at_s, heapq.heappop(free))
        ended.append(begun_s + SERVICE_S + chance.exponential(0.002))
        heapq.heappush(free, ended[-1])
    return frame(sent_s, np.array(ended) - sent_s)


def frame(sent_s, latency_s, error="", fallback=False) -> pd.DataFrame:
    """Samples of requests that were sent when they were planned."""
    sent_us = np.round(np.asarray(sent_s) * 1e6).astype(int)
    columns = {"planned_us": sent_us, "sent_us": sent_us, "latency_us": np.round(np.asarray(latency_s) * 1e6)}
    found = pd.DataFrame({**columns, "error": error, "fallback": fallback}).astype({"latency_us": "int64"})
    return found.assign(user=range(len(found)), session=0, step=0)


@pytest.mark.parametrize("servers", [50, 100])
@pytest.mark.parametrize("arrivals", ["even", POISSON])
def test_the_knee_is_where_threads_or_connections_are_all_in_use(servers, arrivals):
    """At T/t, within a few percent, and its interval holds what was found; T and N of the chain are 50 and 100."""
    found = ramp.knee(played(servers, 1000, arrivals=arrivals), 0, 1000, 30)
    assert found.rate == pytest.approx(servers / SERVICE_S, rel=0.05)
    assert found.low <= found.rate <= found.high < 1.1 * found.low
    assert abs(found.beyond) < 0.1
    assert "knee at" in found.in_words()


@pytest.mark.parametrize("seed", range(30))
def test_the_scatter_of_arrivals_moves_a_knee_by_less_than_a_tenth(seed):
    """On a ramp to twice of what 50 servers answer, that lasts for fifty of their service times."""
    found = ramp.knee(played(50, 500, 50 * SERVICE_S, arrivals=POISSON, seed=seed), 0, 500, 50 * SERVICE_S)
    assert found.rate == pytest.approx(50 / SERVICE_S, rel=0.10)


def test_a_service_that_keeps_pace_has_no_knee():
    """Up to the end of the ramp nothing waits."""
    assert ramp.knee(played(1000, 500), 0, 500, 30) is None


def test_who_never_keeps_pace_has_no_knee_and_kept_none():
    """Ten servers answer 50/s of a ramp that begins at 100/s: all of it right, and most long after its end."""
    sent_s = np.sort(np.asarray(schedule.planned_s(Ramp(users=9, from_rps=100, to_rps=500, duration_s=20.0), (1,))))
    waits_s = np.arange(len(sent_s)) / 50 - sent_s
    late = frame(sent_s, np.maximum(waits_s, 0.0) + SERVICE_S)
    assert ramp.knee(late, 100, 500, 20.0) is None
    assert ramp.kept_pace_share(late, 20.0) == pytest.approx(20 * 50 / len(sent_s), rel=0.05)
    assert ramp.kept_pace_share(frame(sent_s, np.full(len(sent_s), SERVICE_S)), 20.0) == 1
    assert ramp.kept_pace_share(frame(sent_s, SERVICE_S, "timeout"), 20.0) == 0
    assert ramp.kept_pace_share(late.iloc[:0], 20.0) is None


def test_a_service_that_collapses_has_its_knee_where_it_begins_to():
    """Beyond it answers become fewer, and the sentence says so."""
    sent_s = np.sqrt(np.arange(1, 15_000) * 2 * 30 / 1000)
    left_rps, offered_rps = 500 - 20 * (sent_s - 15), 1000 / 30 * sent_s
    answered = (sent_s < 15) | (np.random.default_rng(1).random(len(sent_s)) < left_rps / offered_rps)
    found = ramp.knee(frame(sent_s, 0.1, np.where(answered, "", "timeout")), 0, 1000, 30)
    assert found.rate == pytest.approx(500, rel=0.05)
    assert found.beyond < -0.3
    assert "fewer" in found.in_words()


@pytest.mark.parametrize("timeout_s", [1.0, 3.0])
@pytest.mark.parametrize("servers", [50, 100])
def test_a_service_that_works_for_those_who_have_gone_collapses_after_its_knee(servers, timeout_s):
    """Requests time out in its queue, and hold a server all the same: the knee is where it was, and the end is told."""
    samples = played(servers, 1000)
    late = samples["latency_us"] > timeout_s * 1e6
    samples = samples.assign(
        error=np.where(late, "timeout", ""), latency_us=samples["latency_us"].clip(upper=timeout_s * 1e6)
    )
    found, capacity_rps = ramp.knee(samples, 0, 1000, 30), servers / SERVICE_S
    assert found.rate == pytest.approx(capacity_rps, rel=0.06)
    # The queue is as long as the timeout when the rate has grown beyond the capacity for this time; who is the last to
    # be answered waits for so long.
    queued_s = np.sqrt(2 * capacity_rps * timeout_s / (1000 / 30))
    assert found.collapse_rps == pytest.approx(capacity_rps + (queued_s + timeout_s) * 1000 / 30, rel=0.1)
    assert "and collapse at" in found.in_words()


def test_too_few_answers_show_no_knee():
    """Nor do none."""
    assert ramp.knee(played(1, 8, 20), 0, 8, 20) is None
    assert ramp.knee(frame([], []), 0, 8, 20) is None


def test_every_send_is_in_one_window_with_one_outcome():
    """Right, fallback, refused and failed add up to what was offered; only right answers have a latency."""
    sent_s = np.linspace(0, 10, 1001)
    errors = np.array(["", *BY_BREAKER, "timeout"])[np.arange(1001) % 4]
    samples = frame(sent_s, np.where(errors == "", 0.2, 0.001), errors)
    windows = ramp.outcomes(samples, 10.0, BY_BREAKER, windows=5)
    totals = windows[["offered", "right", "fallback", "refused", "failed"]].sum()
    assert totals.tolist() == [1001, 251, 250, 250, 250]
    assert (windows["offered"] == windows[["right", "fallback", "refused", "failed"]].sum(axis=1)).all()
    assert windows["offered"].tolist() == [200, 200, 200, 200, 201]
    assert windows["mean_s"].tolist() == pytest.approx([0.2] * 5)
    assert windows["answered_rps"].sum() * 2 == (sent_s + 0.2 < 10.001)[errors == ""].sum()


def test_a_window_without_a_right_answer_has_no_latency():
    """And no other is taken for it."""
    windows = ramp.outcomes(frame([0.5, 1.5], [0.1, 0.1], ["reset", ""]), 2.0, BY_BREAKER, windows=2)
    assert windows["right"].tolist() == [0, 1]
    assert np.isnan(windows["mean_s"][0])


def test_what_sessions_send_after_a_ramp_is_not_counted_in_its_last_window():
    """Their later requests are planned when what was before them was answered, and a pause had passed."""
    windows = ramp.outcomes(frame([0.5, 1.5, 2.5, 3.5], 0.1), 2.0, BY_BREAKER, windows=4)
    assert windows["offered"].tolist() == [1, 1, 1, 1]
    assert windows["to_s"].iloc[-1] == 3.5


def test_the_fallback_of_a_check_is_no_right_answer():
    """A locustfile's own fallbacks are counted as such."""
    windows = ramp.outcomes(frame([0.5, 1.5], [0.1, 0.1], "", [True, False]), 2.0, BY_BREAKER, windows=1)
    assert (windows["right"][0], windows["fallback"][0]) == (1, 1)


def test_of_sessions_of_several_requests_the_knee_is_one_of_sessions():
    """Two requests each, the second right after the first: as many sessions as there are answers to either."""
    sent_s = np.sort(np.asarray(schedule.planned_s(Ramp(users=5000, from_rps=0, to_rps=1000, duration_s=30.0), (1,))))
    free, rows = [0.0] * 100, []
    for session, at_s in enumerate(sent_s):
        begun_s = max(at_s, heapq.heappop(free))
        first_s, last_s = begun_s + SERVICE_S / 2, begun_s + SERVICE_S
        heapq.heappush(free, last_s)
        rows += [(at_s, first_s - at_s, session, 0), (first_s, last_s - first_s, session, 1)]
    at_s, took_s, sessions, steps = map(np.array, zip(*rows, strict=True))
    requests = frame(at_s, took_s).assign(user=sessions % 5000, session=sessions // 5000, step=steps)
    of_sessions = ramp.by_session(requests.sample(frac=1.0, random_state=1))
    assert len(of_sessions) == len(sent_s)
    assert of_sessions["latency_us"].min() == pytest.approx(1e6 * SERVICE_S, abs=2)
    assert ramp.knee(of_sessions, 0, 1000, 30).rate == pytest.approx(100 / SERVICE_S, rel=0.05)
    one_fails = requests.assign(error=np.where((sessions == 7) & (steps == 1), "timeout", ""))
    assert ramp.by_session(one_fails)["error"].value_counts().to_dict() == {"": len(sent_s) - 1, "timeout": 1}
