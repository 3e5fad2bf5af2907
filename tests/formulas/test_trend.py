"""What falls or drifts is found, and what only scatters, rises or comes in waves is not."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from lab.formulas import trend

USERS, BEGIN_S, END_S = 100, 1.0, 12.0


def closed_loop(latency_at, users: int = USERS, end_s: float = END_S, together: bool = False):
    """Sends and latencies of users who repeat until the end, each request taking what ``latency_at(s)`` says."""
    sent, latencies = [], []
    for user in range(users):
        at = 0.0 if together else user / users
        while at < end_s:
            took = latency_at(at)
            sent.append(at)
            latencies.append(took)
            at += took
    return sent, latencies


def samples(samples_of, latency_at, **how):
    """The samples of a closed loop."""
    sent, latencies = closed_loop(latency_at, **how)
    return samples_of(latencies, sent_s=sent)


def latency_fall(samples, end_s: float = END_S) -> float:
    """By which part the median latency of a second falls."""
    return trend.fall(trend.latency_by_second(samples, BEGIN_S, end_s).to_numpy(dtype=float))


def test_a_falling_line_is_measured_by_its_fall():
    """From 1 to 0.8 is a fall of a fifth."""
    assert trend.fall(np.linspace(1.0, 0.8, 10)) == pytest.approx(0.2)


def test_one_bad_second_does_not_hide_a_fall():
    """The slope is a median of slopes."""
    values = np.linspace(1.0, 0.8, 20)
    values[11] = 5.0
    assert trend.fall(values) == pytest.approx(0.2, abs=0.02)


def test_the_seconds_of_a_day_fit_into_memory():
    """All pairs of them would not; the fall is the same."""
    tracemalloc.start()
    assert trend.fall(np.linspace(1.0, 0.8, 86_400)) == pytest.approx(0.2, abs=0.01)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6


@pytest.mark.parametrize("values", [np.linspace(0.8, 1.0, 10), np.ones(10), np.zeros(0), np.linspace(1, 0.1, 7)])
def test_what_rises_stays_or_is_too_short_does_not_fall(values):
    """Seven points are not enough for a trend, however steep."""
    assert trend.fall(values) == 0.0


def test_chance_alone_hardly_ever_passes_for_a_fall():
    """Of 2000 series of pure noise, no more fall than a test at one in a thousand lets pass."""
    chance = np.random.default_rng(7)
    falls = sum(trend.fall(1 + 0.3 * chance.standard_normal(10)) > 0 for _ in range(2000))
    assert falls <= 6  # 1 expected: the two-sided test at 0.001 lets 0.0005 of them fall


def test_a_service_that_still_warms_up_is_found(samples_of):
    """Latency that halves over the load, as a cold JVM's does, is a fall; throughput drifts with it."""
    cold = samples(samples_of, lambda at: 0.1 * (1 + np.exp(-at / 5)))
    assert latency_fall(cold) > 0.2
    assert trend.drift(cold, BEGIN_S, END_S) > 0.1


def test_a_steady_service_is_not(samples_of):
    """Latencies that scatter about the same value neither fall nor drift."""
    chance = np.random.default_rng(7)
    steady = samples(samples_of, lambda _: 0.1 * (1 + 0.5 * chance.random()))
    assert latency_fall(steady) == 0.0
    assert abs(trend.drift(steady, BEGIN_S, END_S)) < 0.05


def test_users_in_step_make_no_drift(samples_of):
    """Users who all send at once every two seconds are answered 3 times in one half and 2 times in the other."""
    waves = samples(samples_of, lambda _: 2.0, users=400, together=True, end_s=11.0)
    ended = waves["sent_us"] + waves["latency_us"]
    halves = [((ended > left) & (ended <= left + 5e6)).sum() for left in (1e6, 6e6)]
    assert halves[0] != halves[1]
    assert abs(trend.drift(waves, BEGIN_S, 11.0)) < 0.01


def test_a_few_requests_tell_nothing(samples_of):
    """A user alone is not enough for a trend, nor for a drift."""
    few = samples(samples_of, lambda at: 0.5 / (1 + at), users=1, end_s=4.0)
    assert latency_fall(few, end_s=4.0) == 0.0
    assert trend.drift(few, BEGIN_S, 4.0) is None
