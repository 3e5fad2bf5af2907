"""Intervals keep their promise, equal services are called equal, and a slower one is found: by simulation, seeded."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import signal
from scipy import stats as distributions

from lab.formulas import inference

SIMULATIONS = 1000
NOISE = 0.03


def covered(estimates, truth: float) -> float:
    """The share of intervals that hold the truth."""
    return float(np.mean([estimate.low <= truth <= estimate.high for estimate in estimates]))


@pytest.mark.parametrize("runs", [2, 5, 12])
def test_the_interval_of_repeats_covers_the_typical_run(runs):
    """Of a thousand sets of repeats that differ by chance, 93 to 97 % have an interval with the truth in it."""
    drawn = 0.2 * np.random.default_rng(runs).lognormal(0, 0.1, (SIMULATIONS, runs))
    assert 0.93 <= covered([inference.between_runs(row) for row in drawn], 0.2) <= 0.97


def test_a_bootstrap_of_five_runs_would_not_cover_it():
    """Why the interval is Student's: percentiles of resampled means of five cover the truth in some 84 % of cases."""
    chance = np.random.default_rng(5)
    logs = chance.normal(0, 0.1, (4 * SIMULATIONS, 5))
    means = logs[:, chance.integers(0, 5, (1000, 5))].mean(axis=2)
    low, high = np.quantile(means, [0.025, 0.975], axis=1)
    assert np.mean((low <= 0) & (high >= 0)) == pytest.approx(0.84, abs=0.02)


def test_requests_of_one_run_are_not_witnesses_of_the_next():
    """Where runs differ, an interval within one run covers the next runs far too seldom; that of repeats does."""
    chance = np.random.default_rng(8)
    runs = chance.lognormal(0, 0.1, (200, 5))
    requests = runs[..., None] * chance.lognormal(0, 0.2, (200, 5, 500))
    truth = float(np.exp(0.2**2 / 2))
    at = np.arange(500) / 100
    within = [inference.within_run(at, cell[0], [])[0] for cell in requests]
    between = [inference.between_runs(cell.mean(axis=1)) for cell in requests]
    assert covered(within, truth) < 0.5
    assert covered(between, truth) > 0.9
    assert {estimate.scope for estimate in within} == {"within one run only"}
    assert {estimate.scope for estimate in between} == {"between runs"}


@pytest.mark.thorough
def test_the_interval_within_a_run_allows_for_neighbours_that_resemble_one_another():
    """On latencies that wander (correlation 0.8), mean, p50 and p99 are covered in 93 to 97 % of a thousand runs."""
    requests, chance = 6000, np.random.default_rng(2)
    at = np.arange(requests) / 100
    estimates = []
    for number in range(SIMULATIONS):
        noise = chance.standard_normal(requests + 100, dtype=np.float32) * 0.6
        latency = np.exp(0.5 * signal.lfilter([1], [1, -0.8], noise)[100:])
        estimates.append(inference.within_run(at, latency, [50, 99], seed=number))
    mean, p50, p99 = zip(*estimates, strict=True)
    truths = np.exp(0.5**2 / 2), 1.0, np.exp(0.5 * distributions.norm.ppf(0.99))
    for found, truth in zip((mean, p50, p99), truths, strict=True):
        assert 0.93 <= covered(found, truth) <= 0.97
    independent = [inference.within_run(chance.permutation(at), latency, [50])[0] for _ in range(3)]
    assert min(e.high - e.low for e in mean[-1:]) > 1.5 * max(e.high - e.low for e in independent)


def test_within_a_run_the_values_are_those_of_the_samples():
    """Mean and percentiles are numpy's; the interval is around them."""
    latency = np.random.default_rng(5).lognormal(0, 1, 3000)
    mean, p50, p99 = inference.within_run(np.linspace(0, 10, 3000), latency, [50, 99])
    expected = latency.mean(), *np.percentile(latency, [50, 99], method="inverted_cdf")
    assert [mean.value, p50.value, p99.value] == pytest.approx(list(expected))
    assert all(estimate.low < estimate.value < estimate.high for estimate in (mean, p50, p99))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_handful_of_requests_has_an_interval_too(count):
    """One sample, or a few, give finite numbers."""
    estimates = inference.within_run(np.arange(count, dtype=float), np.ones(count), [50, 99])
    assert all((e.value, e.low, e.high) == (1.0, 1.0, 1.0) for e in estimates)


def test_equal_services_are_called_different_in_at_most_one_of_twenty():
    """Forty interleaved cells of one service, split a thousand times into five against five: at most 5 % differ.

    Each cell has five metrics, some of which rise and fall together, and a machine that drifts by 10 % meanwhile.
    """
    chance = np.random.default_rng(40)
    shared = chance.normal(0, NOISE, (40, 1))
    drift = np.linspace(0, 0.1, 40)[:, None]
    cells = np.exp(shared + drift + chance.normal(0, NOISE, (40, 5)))
    different = 0
    for _ in range(SIMULATIONS):
        chosen = np.sort(chance.permutation(40)[:10]).reshape(5, 2)
        sides = np.take_along_axis(chosen, chance.permuted(np.tile([0, 1], (5, 1)), axis=1), axis=1)
        p = [inference.paired_ratio(cells[sides[:, 0], m], cells[sides[:, 1], m]).p for m in range(5)]
        different += min(inference.holm(p)) < inference.LEVEL
    assert different / SIMULATIONS <= 0.05


@pytest.mark.parametrize("comparisons", [1, 15])
def test_five_percent_are_found_with_the_repeats_that_are_recommended(comparisons):
    """With as many repeats as the lab says, a service made 5 % slower is found in at least 90 % of a thousand tries."""
    needed = inference.repeats_needed(NOISE, 1.05, power=0.9, comparisons=comparisons)
    chance = np.random.default_rng(comparisons)
    a, b = chance.lognormal(0, NOISE, (2, SIMULATIONS, needed))
    found = [inference.paired_ratio(x, 1.05 * y).p < inference.LEVEL / comparisons for x, y in zip(a, b, strict=True)]
    assert np.mean(found) >= 0.90 - 2 * np.sqrt(0.9 * 0.1 / SIMULATIONS)
    fewer = inference.paired_ratio
    missed = [
        fewer(x[: needed // 2], 1.05 * y[: needed // 2]).p >= inference.LEVEL / comparisons
        for x, y in zip(a, b, strict=True)
    ]
    assert np.mean(missed) > 0.2


@pytest.mark.thorough
@pytest.mark.parametrize("pilot", [3, 5])
def test_five_percent_are_found_with_what_a_few_repeats_recommend(pilot):
    """A few repeats may show half of the noise there is: what is recommended after them finds 5 % in nine of ten."""
    chance, tries = np.random.default_rng(pilot), 400
    found = []
    for _ in range(tries):
        seen = inference.paired_ratio(*chance.lognormal(0, NOISE, (2, pilot))).noise_cv
        needed = inference.repeats_needed(seen, 1.05, seen_in=pilot)
        a, b = chance.lognormal(0, NOISE, (2, needed))
        found.append(inference.paired_ratio(a, 1.05 * b).p < inference.LEVEL)
    assert np.mean(found) >= 0.90 - 2 * np.sqrt(0.9 * 0.1 / tries)


def test_a_paired_ratio_is_scipys_t_test_on_logarithms():
    """Ratio, interval and p are those of scipy's paired test."""
    a, b = np.random.default_rng(6).lognormal(0, 0.1, (2, 7))
    found, theirs = inference.paired_ratio(a, b), distributions.ttest_rel(np.log(b), np.log(a))
    interval = theirs.confidence_interval()
    assert found.p == pytest.approx(theirs.pvalue)
    assert [found.low, found.high] == pytest.approx([np.exp(interval.low), np.exp(interval.high)])
    assert found.ratio == pytest.approx(distributions.gmean(b) / distributions.gmean(a))
    assert found.effect == pytest.approx(np.log(b / a).mean() / np.log(b / a).std(ddof=1))


def test_an_unpaired_ratio_is_scipys_welch_test_on_logarithms():
    """Runs that were not interleaved, also of different count, are compared as Welch does."""
    chance = np.random.default_rng(7)
    a, b = chance.lognormal(0, 0.1, 5), chance.lognormal(0.1, 0.3, 8)
    found, theirs = inference.unpaired_ratio(a, b), distributions.ttest_ind(np.log(b), np.log(a), equal_var=False)
    interval = theirs.confidence_interval()
    assert found.p == pytest.approx(theirs.pvalue)
    assert [found.low, found.high] == pytest.approx([np.exp(interval.low), np.exp(interval.high)])


def test_pairing_takes_out_what_drifts():
    """A machine that slows down by half over the repeats hides nothing from pairs, and much from those without."""
    a = np.array([1.0, 1.1, 1.2, 1.35, 1.5])
    b = a * 1.05 * np.array([1.001, 0.999, 1.002, 0.998, 1.0])
    assert inference.paired_ratio(a, b).p < 0.001
    assert inference.unpaired_ratio(a, b).p > 0.5


@pytest.mark.parametrize("ratio", [inference.paired_ratio, inference.unpaired_ratio])
def test_too_little_is_said_to_be_so(ratio):
    """Without values there is no ratio; with one a side there is one without an interval; equal values are equal."""
    nan = float("nan")
    assert ratio([], []) is None
    assert ratio([nan], [1.0]) is None
    single = ratio([2.0], [3.0])
    assert (single.ratio, single.low, single.high, single.p, single.pairs) == (pytest.approx(1.5), None, None, None, 1)
    equal = ratio([2.0, 2.0, 2.0], [2.0, 2.0, 2.0])
    assert (equal.ratio, equal.low, equal.high, equal.p) == (1.0, 1.0, 1.0, 1.0)
    assert inference.between_runs([1.0, nan]) is None


def test_equivalence_is_two_one_sided_t_tests():
    """The p value of being alike is the larger one of scipy's tests against both ends of the margin, whichever is A."""
    a, b = np.random.default_rng(8).lognormal(0, 0.02, (2, 8))
    logs, margin = np.log(b / a), np.log1p(0.05)
    below = distributions.ttest_1samp(logs, margin, alternative="less").pvalue
    above = distributions.ttest_1samp(logs, -margin, alternative="greater").pvalue
    assert inference.paired_ratio(a, b).alike_p(0.05) == pytest.approx(max(below, above))
    assert inference.paired_ratio(b, a).alike_p(0.05) == pytest.approx(max(below, above))
    assert inference.paired_ratio([1.0], [1.0]).alike_p(0.05) is None
    same, apart = (inference.paired_ratio([1.0, 1.0], [x, x]) for x in (1.0, 1.06))
    assert (same.alike_p(0.05), apart.alike_p(0.05)) == (0.0, 1.0)


def test_a_difference_of_percentages_is_scipys_t_test_where_repeats_scatter():
    """Of shares that differ by more than chance from repeat to repeat, paired or not; by hand where they do not."""
    a, b = np.random.default_rng(9).integers(100, 300, (2, 6))
    counts = [[(int(count), 1000) for count in side] for side in (a, b)]
    found = inference.percentage_difference(*counts, paired=True)
    theirs = distributions.ttest_rel(b / 10, a / 10)
    assert (found.p, found.difference) == pytest.approx((theirs.pvalue, (b - a).mean() / 10))
    assert inference.percentage_difference(*counts, paired=False).p == pytest.approx(
        distributions.ttest_ind(b, a, equal_var=False).pvalue
    )
    steady = inference.percentage_difference([(10, 1000)] * 4, [(30, 1000)] * 4, paired=True)
    error = 100 * np.sqrt(0.01 * 0.99 / 4000 + 0.03 * 0.97 / 4000)
    assert steady.high - steady.difference == pytest.approx(distributions.t.ppf(0.975, 3) * error)
    assert inference.percentage_difference([(0, 0)], [(1, 10)], paired=True) is None
    assert inference.percentage_difference([(1, 10)], [(2, 10)], paired=True).low is None


def test_shares_of_few_requests_have_the_exact_interval():
    """As scipy has it; where none failed it ends about 3/n from none (rule of three), whichever side is first."""
    for count in ((0, 50), (3, 50), (50, 50)):
        theirs = distributions.binomtest(*count).proportion_ci(0.95, method="exact")
        assert inference.exact_share(count) == pytest.approx((theirs.low, theirs.high))
    low, high = inference.chance_interval((0, 1000), (0, 2000), 0.05)
    assert (low, high) == (pytest.approx(-0.3, rel=0.01), pytest.approx(0.15, rel=0.01))
    there, back = (inference.chance_interval(*both) for both in (((3, 900), (9, 80)), ((9, 80), (3, 900))))
    assert there == (-back[1], -back[0])


@pytest.mark.parametrize("requests", [100, *(pytest.param(n, marks=pytest.mark.thorough) for n in (700, 2000))])
def test_rare_failures_that_differ_by_the_margin_are_called_alike_in_at_most_one_of_twenty(requests):
    """One side has none, the other one in a thousand: few requests or many, it seldom passes for none."""
    chance = np.random.default_rng(11)
    alike = [
        inference.percentage_difference(
            [(0, requests)] * 5, [(int(n), requests) for n in chance.binomial(requests, 0.001, 5)], paired=True
        ).alike_p(0.1)
        < 0.05
        for _ in range(SIMULATIONS)
    ]
    assert np.mean(alike) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / SIMULATIONS)


@pytest.mark.parametrize(
    "shares", [(0.0, 0.0, 0.05), *(pytest.param(of, marks=pytest.mark.thorough) for of in ((0.0005,), (0.1,)))]
)
def test_equal_failures_are_called_different_in_at_most_one_of_twenty(shares):
    """Few or many of them, by pure chance or in bursts that some repeats have: 5 % at most of a thousand tries."""
    chance = np.random.default_rng(10)
    p = [
        inference.percentage_difference(
            *([(int(chance.binomial(2000, chance.choice(shares))), 2000) for _ in range(5)] for _ in "ab"),
            paired=True,
        ).p
        for _ in range(SIMULATIONS)
    ]
    assert np.mean(np.array(p) < 0.05) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / SIMULATIONS)


def test_holm_by_hand():
    """The smallest of four is multiplied by 4, the next by 3; none falls below a smaller one, none exceeds 1."""
    assert inference.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert inference.holm([0.9, 0.8]) == [1.0, 1.0]
    assert inference.holm([]) == []


def test_more_noise_and_smaller_differences_need_more_repeats():
    """The number grows with noise and comparisons, falls with the difference, and twice and half are alike."""
    needed = inference.repeats_needed
    assert needed(0.02, 1.05) < needed(0.04, 1.05) < needed(0.04, 1.02) < needed(0.04, 1.02, comparisons=10)
    assert needed(0.1, 2.0) == needed(0.1, 0.5)
    assert needed(0.0, 1.05) == 2
    assert needed(5.0, 1.001) == inference.MOST_REPEATS
    assert needed(0.04, 1.05) < needed(0.04, 1.05, seen_in=10) < needed(0.04, 1.05, seen_in=3)


@pytest.mark.parametrize(
    ("noise", "ratio", "seen_in"),
    [(0.1, 1.0, None), (0.1, 0.0, None), (0.1, -1.0, None), (-0.1, 2.0, None), (0.1, 2.0, 1)],
)
def test_no_number_of_repeats_finds_nothing(noise, ratio, seen_in):
    """A ratio of 1, or none at all, is refused, and so is a noise that nobody can have seen."""
    with pytest.raises(ValueError, match="ratio"):
        inference.repeats_needed(noise, ratio, seen_in=seen_in)
