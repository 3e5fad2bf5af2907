"""What falls or rises is found, in a line or by a step, and what only scatters or comes in waves is not."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
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


def latency_change(samples, end_s: float = END_S) -> float:
    """By which part the median latency changes over time."""
    return trend.change(trend.latency_over_time(samples, BEGIN_S, end_s).to_numpy(dtype=float))


def throughput_change(samples, end_s: float = END_S) -> float:
    """By which part the throughput of a second changes."""
    return trend.change(trend.throughput_over_time(samples, BEGIN_S, end_s).to_numpy(dtype=float))


@pytest.mark.parametrize("end", [0.8, 1.2])
def test_a_line_is_measured_by_its_change(end):
    """From 1 to 0.8 is a fall of a fifth, from 1 to 1.2 a rise."""
    assert trend.change(np.linspace(1.0, end, 10)) == pytest.approx(end - 1)


@pytest.mark.parametrize(("points", "noise"), [(20, 0.03), (40, 0.1)])
def test_about_half_of_the_drifts_that_are_called_detectable_are_found(points, noise):
    """And hardly any of a third of their size; a quieter series shows smaller ones."""
    chance = np.random.default_rng(7)
    quiet = [1 + noise * chance.standard_normal(points) for _ in range(60)]
    sizes = [trend.detectable(values) for values in quiet]
    assert trend.detectable(1 + (quiet[0] - 1) / 3) == pytest.approx(sizes[0] / 3, rel=0.2)

    def found(part: float) -> float:
        risen = (v * np.linspace(1, 1 + part * size, points) for v, size in zip(quiet, sizes, strict=True))
        return float(np.mean([trend.change(values) > 0 for values in risen]))

    assert found(1.0) > 0.35
    assert found(1 / 3) < 0.1
    assert trend.detectable(np.ones(trend.MIN_POINTS - 1)) is None
    assert trend.detectable(np.ones(trend.MIN_POINTS)) == 0.0, "there is no noise to hide anything"


@pytest.mark.parametrize("after", [0.9, 1.1])
def test_a_step_is_a_change_too(after):
    """Half of the slopes between all pairs are none."""
    chance = np.random.default_rng(3)
    values = np.repeat([1.0, after], 6) + 0.01 * chance.standard_normal(12)
    assert trend.change(values) == pytest.approx(after - 1, abs=0.02)


LATE_LINE = np.concatenate([np.ones(20), np.linspace(1.0, 2.0, 21)[1:]])
MIDDLE_LINE = np.concatenate([np.ones(13), np.linspace(1.0, 1.3, 14), np.full(13, 1.3)])


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("values", [LATE_LINE, MIDDLE_LINE, np.arange(1, 41) ** 2.0, np.geomspace(0.01, 1.5, 40)])
def test_what_begins_in_the_middle_or_becomes_faster_is_a_change(values, is_turned, noise):
    """As a queue that begins to grow, or a cache that has filled; upwards and downwards."""
    for seed in range(10):
        noisy = values * (1 + noise * np.random.default_rng(seed).standard_normal(len(values)))
        change = trend.change(noisy[::-1] if is_turned else noisy)
        assert change < -0.1 if is_turned else change > 0.2


@pytest.mark.parametrize("bad", [0.5, 3.0])
@pytest.mark.parametrize("place", [0, 1, 2, 5, -2, -1])
@pytest.mark.parametrize("points", [9, 12, 40])
def test_a_bad_second_is_no_change(points, place, bad):
    """Wherever it is, and however bad."""
    for seed in range(20):
        values = 1 + 0.01 * np.random.default_rng(seed).standard_normal(points)
        values[place] = bad
        assert trend.change(values) == 0.0


def test_one_bad_second_does_not_hide_a_fall():
    """The slope is a median of slopes."""
    values = np.linspace(1.0, 0.8, 20)
    values[11] = 5.0
    assert trend.change(values) == pytest.approx(-0.2, abs=0.02)


def test_the_seconds_of_a_day_fit_into_memory():
    """All pairs of them would not; the fall is the same."""
    tracemalloc.start()
    assert trend.change(np.linspace(1.0, 0.8, 86_400)) == pytest.approx(-0.2, abs=0.01)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50e6


@pytest.mark.parametrize("noise", [0.001, 0.01])
def test_a_slow_leak_of_a_tenth_is_found_every_time(samples_of, noise):
    """Within nine seconds, of two hundred users, whatever chance adds."""
    for seed in range(20):
        chance = np.random.default_rng(seed)
        leaking = samples(
            samples_of,
            lambda at, chance=chance: 0.5 * (1 + 0.1 * at / END_S) * (1 + noise * chance.standard_normal()),
            users=200,
        )
        assert latency_change(leaking) > 0.05


@pytest.mark.parametrize("values", [np.ones(10), np.zeros(10), np.zeros(0), np.linspace(1, 0.1, 7)])
def test_what_stays_or_is_too_short_does_not_change(values):
    """Seven points are not enough for a trend, however steep."""
    assert trend.change(values) == 0.0


MANY = pytest.param(2000, marks=pytest.mark.thorough)


@pytest.mark.parametrize(("likeness", "most"), [(0.0, 0.005), (0.5, 0.04)])
@pytest.mark.parametrize("series", [400, MANY])
def test_chance_alone_hardly_ever_passes_for_a_change(series, likeness, most):
    """Of many series of noise of 13 %: independent seconds, and seconds that are like the one before."""
    chance, found = np.random.default_rng(7), 0
    for _ in range(series):
        noise = chance.standard_normal(20)
        for second in range(1, 20):
            noise[second] = likeness * noise[second - 1] + np.sqrt(1 - likeness**2) * noise[second]
        found += trend.change(1 + 0.13 * noise) != 0
    assert found <= most * series


def test_a_service_that_still_warms_up_is_found(samples_of):
    """Latency that halves over the load, as a cold JVM's does, is a fall; throughput rises with it."""
    cold = samples(samples_of, lambda at: 0.1 * (1 + np.exp(-at / 5)))
    assert latency_change(cold) < -0.2
    assert throughput_change(cold) > 0.1


def test_a_service_that_slows_down_is_found(samples_of):
    """A tenth over the whole load, which no user would notice."""
    leaking = samples(samples_of, lambda at: 0.1 * (1 + 0.1 * at / END_S))
    assert latency_change(leaking) == pytest.approx(0.09, abs=0.02)
    assert throughput_change(leaking) == pytest.approx(-0.08, abs=0.02)


def test_a_steady_service_is_not(samples_of):
    """Latencies that scatter about the same value do not change."""
    chance = np.random.default_rng(7)
    steady = samples(samples_of, lambda _: 0.1 * (1 + 0.5 * chance.random()))
    assert latency_change(steady) == 0.0
    assert throughput_change(steady) == 0.0


def test_users_in_step_make_no_waves(samples_of):
    """Users who all send at once every two seconds are done at the same rate in every second."""
    waves = samples(samples_of, lambda _: 2.0, users=400, together=True, end_s=11.0)
    assert trend.throughput_over_time(waves, BEGIN_S, 11.0).to_numpy() == pytest.approx(200.0)


def test_a_few_requests_tell_nothing(samples_of):
    """A user alone is not enough for a trend."""
    few = samples(samples_of, lambda at: 0.5 / (1 + at), users=1, end_s=4.0)
    assert latency_change(few, end_s=4.0) == 0.0
    assert trend.throughput_over_time(few.head(0), BEGIN_S, 4.0).empty


@pytest.mark.parametrize(("begin_s", "end_s"), [(1.5, 9.5), (2.0, 9.98)], ids=["a ramp of half a second", "a pause"])
def test_eight_seconds_have_as_many_points_as_a_trend_takes(samples_of, begin_s, end_s):
    """Wherever they begin, and if a pause was left out of them; each is a rate all the same."""
    found = trend.throughput_over_time(samples(samples_of, lambda _: 0.5), begin_s, end_s)
    assert len(found) == trend.MIN_POINTS
    assert found.to_numpy() == pytest.approx(USERS / 0.5, rel=0.05)


def both(own_share: float, shared: float, noise: float, seed: int, step: bool = False):
    """Twenty figures of one's own, and the means of those of two others: each has noise of its own."""
    chance, at = np.random.default_rng(seed), np.arange(20)
    course = (at >= 14).astype(float) if step else at / 19
    own = (1 + own_share * course) * (1 + shared * course) * chance.lognormal(0.0, noise, 20)
    return own, (1 + shared * course) * chance.lognormal(0.0, noise / np.sqrt(2), 20)


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize(("noise", "found"), [(0.01, 1.0), (0.03, 0.95), (0.05, 0.85)])
def test_a_change_that_others_do_not_have_is_not_hidden_by_their_noise(noise, found, step):
    """Of a tenth what counts is left in nearly all draws, though such pairs are often no proof by themselves."""
    left = [trend.beyond(0.1, *both(0.1, 0.0, noise, seed, step)) for seed in range(200)]
    assert np.mean(np.array(left) > 0.05) >= found


@pytest.mark.parametrize("step", [False, True])
@pytest.mark.parametrize("shared", [-0.15, 0.2])
def test_a_change_that_others_have_too_is_left_out(shared, step):
    """But for chance: neighbours of one in ten draws seem to differ by what counts."""
    left = [trend.beyond(shared, *both(0.0, shared, 0.03, seed, step)) for seed in range(200)]
    assert np.mean(np.abs(left) > 0.05) < 0.12


def test_of_a_change_that_is_partly_shared_the_rest_is_left():
    """Neither more than was seen, nor of another sign."""
    left = [trend.beyond(0.32, *both(0.1, 0.2, 0.01, seed)) for seed in range(50)]
    assert np.mean(left) == pytest.approx(0.1, abs=0.02)
    assert trend.beyond(0.05, *both(0.1, 0.0, 0.001, 1)) == 0.05
    assert trend.beyond(-0.1, *both(0.1, 0.0, 0.001, 1)) == 0.0
    assert trend.beyond(0.0, *both(0.1, 0.0, 0.001, 1)) == 0.0


def test_too_few_pairs_leave_what_was_seen():
    """Seven are no series."""
    own, others = both(0.0, 0.2, 0.001, 1)
    assert trend.beyond(0.2, own[:7], others[:7]) == 0.2


def queue_in_windows(samples_of, rate: float, capacity: float, chance, windows: int = 20):
    """The samples of an open loop in windows of a second, each of which begins with an empty queue."""
    at = np.sort(chance.uniform(0.0, 1.0, (windows, round(rate))), axis=1)
    took = chance.exponential(1 / capacity, at.shape)
    served = np.cumsum(took, axis=1)
    # Whoever began a queue, what was served since then came without a pause.
    free = served + np.maximum.accumulate(at - (served - took), axis=1)
    number = np.arange(windows).repeat(at.shape[1])
    return samples_of((free - at).ravel(), sent_s=number + at.ravel(), window=number.tolist())


@pytest.mark.parametrize("rate", [1100, 1200, 2000])
def test_a_queue_that_grows_within_each_window_is_found(samples_of, rate):
    """Although each window begins without one, so that nothing changes from window to window."""
    chance = np.random.default_rng(rate)
    grown = [trend.growth_within_windows(queue_in_windows(samples_of, rate, 1000, chance)) for _ in range(10)]
    assert min(grown) > 0.2


def test_a_queue_that_is_steady_within_a_moment_is_not(samples_of):
    """At half of the capacity and at four fifths; of a few windows, or none with a right answer, nobody knows."""
    chance = np.random.default_rng(1)
    loops = [queue_in_windows(samples_of, rate, 1000, chance) for rate in (500, 800) for _ in range(50)]
    assert [grown for loop in loops if (grown := trend.growth_within_windows(loop))] == []
    assert trend.growth_within_windows(queue_in_windows(samples_of, 2000, 1000, chance, windows=3)) is None
    assert trend.growth_within_windows(loops[0].assign(error="timeout")) is None


def test_slow_later_requests_of_sessions_are_no_queue_that_grows(samples_of):
    """They are sent when those before them were answered, so that the end of a window has more of them."""
    first = queue_in_windows(samples_of, 500, 1000, np.random.default_rng(1))
    late_us = first["planned_us"] + (700_000 - first["planned_us"] % 1_000_000).clip(0)
    later = first.assign(step=1, planned_us=late_us, sent_us=late_us, latency_us=400_000)
    assert trend.growth_within_windows(pd.concat([first, later], ignore_index=True)) < 0.05


def test_a_pause_at_the_end_of_each_window_is_hardly_ever_called_a_queue_that_grows(samples_of):
    """As garbage collections of 10 ms make it that come as often as windows, where means of the thirds would differ."""
    grown, of_means = [], []
    for seed in range(100):
        loop = queue_in_windows(samples_of, 500, 1000, np.random.default_rng(seed))
        since_us = loop["sent_us"] % 1_000_000
        paused = loop.assign(latency_us=loop["latency_us"].where(since_us < 990_000, 10_000))
        grown.append(trend.growth_within_windows(paused))
        means = paused["latency_us"].groupby(3 * since_us // 1_000_000).mean()
        of_means.append(means[2] / means[1] - 1)
    assert np.mean(np.array(grown) > 0.05) <= 0.1
    assert np.mean(np.array(of_means) > 0.05) > 0.8
