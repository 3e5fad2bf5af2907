"""Laws and fits: known parameters come back from noisy data, and nothing is read from data that hold nothing."""

from __future__ import annotations

import heapq
import math

import numpy as np
import pytest

import lab
from lab.analysis import insights
from lab.formulas import laws
from lab.formulas.laws import LoadLevel


@pytest.mark.parametrize(
    ("users", "threads", "pool", "calls", "synchronous", "reactive"),
    [
        (1000, 200, None, 1, 10.0, 2.0),
        (1001, 200, None, 1, 12.0, 2.0),
        (400, 1, None, 1, 800.0, 2.0),
        (400, 200, 100, 1, 8.0, 8.0),
        (400, 50, 100, 1, 16.0, 8.0),
        (400, 200, 100, 5, 40.0, 40.0),
        (50, 10, 200, 1, 10.0, 2.0),
    ],
)
def test_the_formulas_of_the_document(users, threads, pool, calls, synchronous, reactive):
    """⌈R/min(N,T)⌉·t·x and ⌈R·x/N⌉·t, at t = 2 s, worked out by hand."""
    assert laws.total_synchronous(users, 2.0, threads, pool, calls) == synchronous
    assert laws.total_reactive(users, 2.0, pool, calls) == reactive


def test_littles_law():
    """A hundred requests a second that take two seconds each are two hundred under way."""
    assert laws.in_system(100.0, 2.0) == 200.0


def test_a_slower_core_lengthens_the_response_time_of_an_open_queue():
    """From 5/(1 - 0.5) = 10 ms to 6/(1 - 0.6) = 15 ms; without end where it can no longer do the work."""
    assert laws.lengthened_s(0.5, 100.0, 0.2) == pytest.approx(0.005)
    assert laws.lengthened_s(0.5, 100.0, 0.0) == 0.0
    assert laws.lengthened_s(0.5, 100.0, 1.0) == math.inf
    assert laws.lengthened_s(0.0, 0.0, 0.5) == 0.0
    assert laws.lengthened_s(1.5, 100.0, 0.0) == 0.0  # several cores that did not become slower


def usl(n, rate, contention, coherency):
    """The law as it is printed in books."""
    return rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1))


ONCE = np.array([1, 2, 4, 8, 16, 32, 64, 128], dtype=float)
LOADS = np.tile(ONCE, 3)


@pytest.mark.thorough
@pytest.mark.parametrize("loads", [ONCE, LOADS], ids=["one repeat", "three repeats"])
def test_the_scalability_law_comes_back_from_noisy_data(loads):
    """Of a thousand noisy sweeps, 93 to 97 % have the known λ, σ, κ and peak in their intervals."""
    rate, contention, coherency = 100.0, 0.03, 0.0004
    peak = math.sqrt((1 - contention) / coherency)
    chance, sweeps = np.random.default_rng(11), 1000
    covered = np.zeros(4)
    for _ in range(sweeps):
        measured = usl(loads, rate, contention, coherency) * chance.lognormal(0, 0.03, len(loads))
        fit = laws.fit_scalability(loads, measured)
        truths = ((fit.rate, rate), (fit.contention, contention), (fit.coherency, coherency), (fit.peak, peak))
        covered += [fitted.low <= truth <= fitted.high for fitted, truth in truths]
    assert ((covered / sweeps >= 0.93) & (covered / sweeps <= 0.97)).all(), covered / sweeps


def test_the_peak_is_near_the_truth():
    """With a noise of 1 % the peak is met within 10 %, and the curve has its top there."""
    measured = usl(LOADS, 50.0, 0.05, 0.001) * np.random.default_rng(3).lognormal(0, 0.01, len(LOADS))
    fit = laws.fit_scalability(LOADS, measured)
    assert fit.peak.value == pytest.approx(math.sqrt(0.95 / 0.001), rel=0.10)
    around = np.array([0.5, 1.0, 2.0]) * fit.peak.value
    assert np.argmax(usl(around, fit.rate.value, fit.contention.value, fit.coherency.value)) == 1


def test_how_far_a_load_is_from_the_law_is_known():
    """Noise of 1 % stays within a few percent; throughput that grows in a line and then stays is off by more."""
    noise = np.random.default_rng(5).lognormal(0, 0.01, len(LOADS))
    assert laws.fit_scalability(LOADS, usl(LOADS, 50.0, 0.05, 0.001) * noise).misfit < 0.04
    assert laws.fit_scalability(LOADS, np.minimum(LOADS, 20) * 10 * noise).misfit > 0.10


def test_a_line_has_no_peak():
    """Where throughput grows with the users, the peak may be as far as one likes."""
    measured = 10 * LOADS * np.random.default_rng(4).lognormal(0, 0.01, len(LOADS))
    fit = laws.fit_scalability(LOADS, measured)
    assert fit.rate.value == pytest.approx(10, rel=0.05)
    assert fit.peak.high == math.inf or fit.peak.high > 10 * LOADS.max()


@pytest.mark.parametrize(
    ("users", "rates"), [([], []), ([1], [1.0]), ([1, 2, 4], [1.0, 2.0, 3.0]), ([1, 2, 3, 4], [0.0] * 4)]
)
def test_too_little_is_not_fitted(users, rates):
    """Fewer than four loads, or none with an answer, give no law rather than a wrong one."""
    assert laws.fit_scalability(users, rates) is None


def burst(users: int, threads: int, service_s: float, ramp_s: float, chance) -> LoadLevel:
    """A burst on a D/D/T queue whose service takes a little longer now and then, as a real one does."""
    free, ended, latency = [0.0] * threads, [], []
    for i in range(users):
        arrival = i * ramp_s / users
        departure = max(arrival, heapq.heappop(free)) + service_s * (1 + chance.exponential(0.003))
        heapq.heappush(free, departure)
        ended.append(departure)
        latency.append(departure - arrival)
    return LoadLevel(users, np.array(ended), np.array(latency))


def closed(users: int, threads: int, service_s: float, until_s: float, chance) -> LoadLevel:
    """A closed loop on the same queue: whoever is answered asks again."""
    arrivals, free, ended, latency = [(0.0, i) for i in range(users)], [0.0] * threads, [], []
    while arrivals[0][0] < until_s:
        arrival, user = heapq.heappop(arrivals)
        departure = max(arrival, heapq.heappop(free)) + service_s * (1 + chance.exponential(0.003))
        heapq.heappush(free, departure)
        heapq.heappush(arrivals, (departure, user))
        ended.append(departure)
        latency.append(departure - arrival)
    return LoadLevel(users, np.array(ended), np.array(latency))


@pytest.mark.parametrize("threads", [50, 100, 200])
@pytest.mark.parametrize("ramp_s", [0.0, 1.0, 3.0])
def test_threads_are_counted_from_a_burst(threads, ramp_s):
    """T comes out within 3 %, from latencies and the moments of answers alone, whatever the ramp."""
    chance = np.random.default_rng(threads)
    levels = [burst(users, threads, 2.0, ramp_s, chance) for users in (10, 100, 500, 1000, 2000)]
    assert laws.estimate_servers(levels).count == pytest.approx(threads, rel=0.03)


@pytest.mark.parametrize("threads", [50, 100, 200])
def test_threads_are_counted_from_a_closed_loop(threads):
    """T comes out within 3 % where users return, too."""
    chance = np.random.default_rng(threads)
    levels = [closed(users, threads, 0.5, 10.0, chance) for users in (10, 500)]
    assert laws.estimate_servers(levels).count == pytest.approx(threads, rel=0.03)


def test_threads_are_counted_in_the_shipped_sweep():
    """The example sweep of mvc shows its 200 threads within 3 %, and virtual threads show no such limit."""
    run = lab.open_run("delay-sweep")
    found = laws.estimate_servers(insights.levels(run.folder, "mvc"))
    assert found.count == pytest.approx(run.plan.limits.threads, rel=0.03)
    assert found.service_s == pytest.approx(2.0, rel=0.01)
    assert laws.estimate_servers(insights.levels(run.folder, "mvc-virtual")) is None


def test_no_plateau_gives_no_threads():
    """Loads that never queue, one that always does, and no load at all say nothing about T."""
    chance = np.random.default_rng(1)
    nothing = LoadLevel(5, np.array([]), np.array([]))
    assert laws.estimate_servers([]) is None
    assert laws.estimate_servers([nothing]) is None
    assert laws.estimate_servers([burst(10, 50, 2.0, 1.0, chance), burst(40, 50, 2.0, 1.0, chance)]) is None
    assert laws.estimate_servers([burst(400, 50, 2.0, 1.0, chance), burst(800, 50, 2.0, 1.0, chance)]) is None


@pytest.mark.parametrize("users", [(40, 80), (21, 400)])
def test_a_closed_loop_that_always_waits_is_not_taken_for_threads(users):
    """Where all wait equally long nothing looks like waiting, and Little's law gives back the lowest load's users."""
    chance = np.random.default_rng(20)
    assert laws.estimate_servers([closed(count, 20, 0.2, 10.0, chance) for count in users]) is None


def test_threads_are_counted_from_a_burst_of_more_users_than_threads():
    """Forty users within a second are eight at once where each takes 0.2 s: twenty threads do not make them wait."""
    chance = np.random.default_rng(20)
    levels = [burst(users, 20, 0.2, 1.0, chance) for users in (40, 4000)]
    assert laws.estimate_servers(levels).count == pytest.approx(20, rel=0.03)


def alone(slow_s: float = 1.0) -> LoadLevel:
    """A lowest load of requests that are far apart and take a second each, but for a fifth that are slow."""
    return LoadLevel(1, 10.0 * np.arange(1, 101), np.array([1.0] * 80 + [slow_s] * 20))


def queue(rate_rps: float = 100.0, latency_s: float = 2.0) -> LoadLevel:
    """A largest load: answers at an even rate for twenty seconds."""
    ended = np.arange(0, 20, 1 / rate_rps)
    return LoadLevel(1000, ended, np.full(len(ended), latency_s))


@pytest.mark.parametrize(("latency_s", "threads"), [(1.49, None), (1.51, 100)])
def test_a_queue_is_filled_from_one_and_a_half_service_times_on(latency_s, threads):
    """Below, a load may as well be one that does not wait but is a little slower."""
    found = laws.estimate_servers([alone(), queue(latency_s=latency_s)])
    assert (found and found.count) == (threads and pytest.approx(threads, abs=1))


@pytest.mark.parametrize(("slow_s", "threads"), [(1.29, 100), (1.31, None)])
def test_a_lowest_load_whose_slowest_tenth_takes_a_third_longer_shows_no_service_time(slow_s, threads):
    """Some of it waited, or a request does not always take as long."""
    found = laws.estimate_servers([alone(slow_s), queue()])
    assert (found and found.count) == (threads and pytest.approx(threads, abs=1))


@pytest.mark.parametrize(("rate_rps", "threads"), [(109, None), (111, 111)])
def test_threads_are_more_by_a_tenth_than_what_the_lowest_load_had_under_way(rate_rps, threads):
    """A hundred at once that take a second each may have waited for 109 threads, as counts err, but not for 111."""
    lowest = LoadLevel(100, np.ones(100), np.ones(100))
    found = laws.estimate_servers([lowest, queue(rate_rps)])
    assert (found and found.count) == (threads and pytest.approx(threads, abs=1))
