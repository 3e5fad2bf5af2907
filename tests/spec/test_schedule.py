"""When requests are planned for: exactly even, or a Poisson process that a seed decides."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from lab.spec import schedule
from lab.spec.plan import Cell
from lab.spec.schedule import planned_s
from lab.spec.workload import EVEN, POISSON, Burst, Open, Ramp

OPEN = Open(users=50, rate_rps=250.0, duration_s=40.0)
RANDOM = replace(OPEN, arrivals=POISSON)
SEED = (3, 1)


def test_the_ramp_is_even_and_starts_at_once():
    """The first user starts at 0, the last one a step before the ramp's end, all steps equal."""
    starts = planned_s(Burst(users=4000, ramp_s=1.0), SEED)
    assert (starts[0], len(starts)) == (0.0, 4000)
    assert np.allclose(np.diff(starts), 1 / 4000)
    assert starts[-1] == pytest.approx(1 - 1 / 4000)


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
def test_without_a_ramp_all_start_together(arrivals):
    """A ramp of 0 s is one moment."""
    assert planned_s(Burst(users=5, ramp_s=0.0, arrivals=arrivals), SEED).tolist() == [0.0] * 5


@pytest.mark.parametrize(
    ("rate_rps", "duration_s", "count"), [(250, 40, 10_000), (3, 1.5, 4), (0.1, 30, 3), (0.29, 100, 29), (1, 1, 1)]
)
def test_an_open_loop_is_spaced_exactly_evenly(rate_rps, duration_s, count):
    """Send i is planned for i / rate, and as many as fit into the duration; binary fractions lose none."""
    load = Open(users=9, rate_rps=rate_rps, duration_s=duration_s)
    moments = planned_s(load, SEED)
    assert len(moments) == load.planned_sessions == count
    np.testing.assert_allclose(moments, np.arange(count) / rate_rps, rtol=1e-12)
    assert moments[-1] < duration_s


def test_poisson_arrivals_have_the_rate_and_exponential_gaps():
    """As many requests as at even arrivals, over the same time; the gaps pass the test of Kolmogorov and Smirnov."""
    moments = planned_s(RANDOM, SEED)
    assert len(moments) == RANDOM.planned_sessions
    assert moments[0] >= 0
    assert moments[-1] < RANDOM.duration_s
    gaps = np.diff(moments)
    assert (gaps >= 0).all()
    assert gaps.mean() == pytest.approx(1 / RANDOM.rate_rps, rel=0.01)
    assert stats.kstest(gaps, "expon", args=(0, 1 / RANDOM.rate_rps)).pvalue > 0.05
    assert stats.kstest(np.diff(planned_s(OPEN, SEED)), "expon", args=(0, 1 / OPEN.rate_rps)).pvalue < 1e-9


def test_poisson_counts_vary_as_much_as_they_are_large():
    """The number of arrivals in a second has a variance equal to its mean, and no memory of the second before."""
    counts = np.bincount(planned_s(replace(RANDOM, duration_s=2000.0), SEED).astype(int))
    assert counts.var() / counts.mean() == pytest.approx(1, abs=0.1)
    assert abs(np.corrcoef(counts[1:], counts[:-1])[0, 1]) < 0.08


def test_a_poisson_ramp_starts_every_user_within_it():
    """All users, in order, at moments of their own."""
    starts = planned_s(Burst(users=500, ramp_s=2.0, arrivals=POISSON), SEED)
    assert len(np.unique(starts)) == 500
    assert (np.diff(starts) > 0).all()
    assert 0 <= starts[0] < starts[-1] < 2.0


def test_the_plan_is_a_function_of_load_and_seed():
    """The same again for the same, another for another seed; even arrivals know no chance."""
    assert np.array_equal(planned_s(RANDOM, SEED), planned_s(RANDOM, SEED))
    assert not np.array_equal(planned_s(RANDOM, SEED), planned_s(RANDOM, (3, 2)))
    assert np.array_equal(planned_s(OPEN, SEED), planned_s(OPEN, (4, 1)))


def test_variants_share_the_arrivals_that_repeats_do_not(plan):
    """Within a repeat all variants face the same requests at the same moments."""
    first, second = (schedule.seed_of(plan, Cell(variant, RANDOM, 1)) for variant in ("mvc", "webflux"))
    assert first == second
    assert schedule.seed_of(plan, Cell("mvc", RANDOM, 2)) != first


RAMPS = [(0, 1000, 90), (10, 60, 6), (99.5, 100, 3), (0, 1, 3), (0, 0.5, 4)]


def ramp(from_rps: float, to_rps: float, duration_s: float, arrivals=EVEN) -> Ramp:
    """A ramp of enough users."""
    return Ramp(users=50, from_rps=from_rps, to_rps=to_rps, duration_s=duration_s, arrivals=arrivals)


def planned_until(load: Ramp, at_s):
    """How many sends a ramp has planned after some time: the integral of its rate."""
    return load.from_rps * at_s + (load.to_rps - load.from_rps) / load.duration_s * at_s**2 / 2


@pytest.mark.parametrize(("from_rps", "to_rps", "duration_s"), RAMPS)
def test_a_ramp_has_planned_one_send_more_at_each_of_its_times(from_rps, to_rps, duration_s):
    """As many as the mean of both rates gives, none after its end, however many are left over by rounding."""
    load = ramp(from_rps, to_rps, duration_s)
    moments = planned_s(load, SEED)
    assert len(moments) == load.planned_sessions == int((from_rps + to_rps) * duration_s / 2)
    np.testing.assert_allclose(planned_until(load, moments), np.arange(len(moments)), rtol=1e-9)
    assert moments[0] == 0
    assert moments[-1] < duration_s


def test_the_rate_of_a_ramp_grows_from_the_first_second_to_the_last():
    """From 10/s to 60/s within six seconds: 14, 22, 31, 39, 47 and 56 requests in each, give or take one."""
    counts = np.bincount(planned_s(ramp(10, 60, 6), SEED).astype(int))
    assert np.abs(counts - (10 + 50 / 6 * (np.arange(6) + 0.5))).max() <= 1


def test_random_sends_on_a_ramp_are_a_poisson_process_of_its_rate():
    """Their number is fixed; by the number that is planned until then they are uniform, and by time they are not."""
    load = ramp(0, 200, 100, POISSON)
    moments = planned_s(load, SEED)
    assert len(moments) == load.planned_sessions == 10_000
    assert (np.diff(moments) > 0).all()
    assert stats.kstest(planned_until(load, moments) / 10_000, "uniform").pvalue > 0.05
    assert stats.kstest(moments / 100, "uniform").pvalue < 1e-9
    assert (planned_s(load, SEED) == moments).all()
    assert (planned_s(load, (8, 8)) != moments).any()
