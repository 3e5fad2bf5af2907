"""Inference from repeats: intervals, ratios and differences, equivalence, Holm's correction, and repeats needed.

Requests of one run share its JVM, its warm-up and its time, so a million of them are not a million independent
samples. What counts is the variation between runs: where there are repeats, the run is the unit, with one value each.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from lab.formulas import students_t

# The significance level of the corrected p. At a level of 5 %, every second machine's A/A trial had more than 5 % of
# false alarms; at 3 % hardly any has.
LEVEL = 0.03
BETWEEN_RUNS, WITHIN_ONE_RUN = "between runs", "within one run only"
BLOCKS, RESAMPLES = 30, 1000
MOST_REPEATS, POSSIBLE = 1_000_000, 50
# Below that no p value is told from another.
LEAST_P, BISECTIONS = 1e-15, 40

Floats = NDArray[np.float64]
# How many of how many.
Count = tuple[int, int]


@dataclass(frozen=True)
class Estimate:
    """A value with the interval that covers the truth in 95 % of cases.

    Attributes:
        scope: ``between runs``, or ``within one run only``: then the next run may well lie outside.

    """

    value: float
    low: float
    high: float
    scope: str


def between_runs(values: Sequence[float]) -> Estimate | None:
    """The geometric mean of at least two runs, with Student's interval on the logarithms.

    A bootstrap of five values would cover the truth in some 84 % of cases only; Student's interval covers 95 % where
    the logarithms are near normal, and never reaches below zero.

    Args:
        values: one positive number a run, such as its p99; None where fewer than two are left.

    """
    logs = _logs(values)
    if len(logs) < 2:
        return None
    low, high = _student(logs.mean(), logs.std(ddof=1) / np.sqrt(len(logs)), len(logs) - 1)
    return Estimate(float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high)), BETWEEN_RUNS)


def within_run(at_s: Floats, latency_s: Floats, percents: Sequence[float], seed: int = 0) -> list[Estimate]:
    """Mean and percentiles of one run, with intervals by a block bootstrap, as requests near in time are correlated.

    The load is cut into :data:`BLOCKS` blocks of equal length, drawn with replacement. A percentile's interval
    is that of the share of requests below it, carried over to latencies by the measured distribution (Woodruff 1952).
    The spread is stretched from the normal to Student's distribution, as there are only so many blocks.

    Args:
        at_s: when each request was sent, shape (n,), n ≥ 1.
        latency_s: how long it took, shape (n,).
        percents: such as 50 and 99.
        seed: of the draws.

    Returns:
        The mean first, then one estimate for each of ``percents``; all ``within one run only``.

    """
    values = np.percentile(latency_s, percents, method="inverted_cdf")
    block = np.searchsorted(np.linspace(at_s.min(), at_s.max(), BLOCKS + 1)[1:-1], at_s, side="right")
    counts = np.bincount(block, minlength=BLOCKS)
    sums = [np.bincount(block, x, BLOCKS) for x in (latency_s, *(latency_s <= value for value in values))]
    filled = counts > 0
    n = int(filled.sum())
    drawn = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), RESAMPLES).astype(float)
    resampled = (drawn @ np.column_stack(sums)[filled]) / (drawn @ counts[filled])[:, None]
    mean = float(latency_s.mean())
    estimates = [Estimate(mean, *_widened(mean, resampled[:, 0], n), WITHIN_ONE_RUN)]
    for value, percent, share in zip(values, percents, resampled.T[1:], strict=True):
        reach = np.clip(_widened(float(np.mean(latency_s <= value)), share, n), 0, 1)
        middle = percent / 100 - float(np.mean(latency_s <= value))
        low, high = np.percentile(latency_s, np.clip(reach + middle, 0, 1) * 100, method="inverted_cdf")
        estimates.append(Estimate(float(value), float(low), float(high), WITHIN_ONE_RUN))
    return estimates


def _widened(value: float, resampled: Floats, blocks: int) -> tuple[float, float]:
    tail = (1 + students_t.CONFIDENCE) / 2
    ratio = students_t.quantile(tail, max(blocks - 1, 1)) / scipy.stats.norm.ppf(tail)
    stretch = float(ratio * np.sqrt(blocks / max(blocks - 1, 1)))
    low, high = np.quantile(resampled, [1 - tail, tail])
    return float(value + stretch * (low - value)), float(value + stretch * (high - value))


@dataclass(frozen=True)
class Ratio:
    """The ratio B over A by repeats, with interval, p value and noise.

    Attributes:
        ratio: geometric mean of the repeats' ratios; with ``low`` and ``high``, None where there are not two repeats.
        p: p value of the test that the ratio is 1; None without repeats.
        effect: the mean log ratio in units of its standard deviation (Cohen's d of the differences).
        noise_cv: coefficient of variation of one run against another of the same side, by these repeats.
        pairs: number of repeats of each side.
        freedom: degrees of freedom of the interval; None without repeats.

    """

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    noise_cv: float | None
    pairs: int
    freedom: float | None = None

    def alike_p(self, margin: float) -> float | None:
        """The p value of the test that both sides are alike within a margin, such as 0.05; None without repeats."""
        if self.low is None or self.high is None or self.freedom is None:
            return None
        return _alike_p(float(np.log(self.low)), float(np.log(self.high)), self.freedom, float(np.log1p(margin)))


@dataclass(frozen=True)
class Difference:
    """The difference B − A of two percentages by repeats, in percentage points; unlike in a ratio, both may be zero.

    Attributes:
        difference: mean of the repeats' differences; with ``low`` and ``high``, None where there are not two repeats.
        p: p value of the test that the difference is 0; None without repeats.
        pairs: number of repeats of each side.
        freedom: degrees of freedom of the repeats; None without repeats.
        error: standard error by the repeats; None without them.
        counts: of A and of B, those counted and all, over all repeats.

    """

    difference: float
    low: float | None
    high: float | None
    p: float | None
    pairs: int
    freedom: float | None = None
    error: float | None = None
    counts: tuple[Count, Count] = ((0, 0), (0, 0))

    def alike_p(self, margin: float) -> float | None:
        """The p value of the test that both sides are alike within so many percentage points; None without repeats.

        Both the scatter of the repeats and the number of requests must show it: that none of a hundred failed says
        nothing of one in a thousand.
        """
        if self.error is None or self.freedom is None:
            return None
        by_repeats = _within_p(self.difference, self.error, self.freedom, margin)
        return max(by_repeats, _tail(lambda tail: max(map(abs, chance_interval(*self.counts, tail))) < margin))


def _alike_p(low: float, high: float, freedom: float, margin: float) -> float:
    """Equivalence by two one-sided t tests (Schuirmann 1987): the larger p of "not below" and "not above" the margin.

    Args:
        low, high: Student's interval at 95 % of an effect that is 0 where both sides are equal.
        margin: effects from −margin to +margin are alike.

    """
    return _within_p((low + high) / 2, (high - low) / 2 / float(students_t.reach(1.0, freedom)), freedom, margin)


def _within_p(mean: float, error: float, freedom: float, margin: float) -> float:
    if not error:
        return float(abs(mean) >= margin)
    return float(students_t.upper_tail((margin - abs(mean)) / error, freedom))


def ratio(a: Sequence[float], b: Sequence[float], paired: bool) -> Ratio | None:
    """B over A: see :func:`paired_ratio` and :func:`unpaired_ratio`."""
    return paired_ratio(a, b) if paired else unpaired_ratio(a, b)


def typical(values: Sequence[float]) -> float | None:
    """The geometric mean of the positive numbers among some; None if there are none."""
    logs = _logs(values)
    return float(np.exp(logs.mean())) if len(logs) else None


def paired_ratio(a: Sequence[float], b: Sequence[float]) -> Ratio | None:
    """B over A of interleaved repeats: a paired t test on the logarithms.

    Drift between repeats affects both sides and cancels. Exact for any number of repeats where the log ratios are
    normal; a sign permutation test could find no difference with five repeats at all (its least p is 2/32).

    Args:
        a, b: one positive number a repeat, the i-th of both from the same repeat; a pair with zero or NaN is left out.

    Returns:
        None if no pair is left.

    """
    pairs = [(x, y) for x, y in zip(a, b, strict=True) if x > 0 and y > 0 and np.isfinite([x, y]).all()]
    if not pairs:
        return None
    differences = np.array([np.log(y / x) for x, y in pairs])
    n, mean = len(pairs), float(differences.mean())
    if n < 2:
        return Ratio(float(np.exp(mean)), None, None, None, None, None, n)
    deviation = float(differences.std(ddof=1))
    return _ratio(mean, deviation / np.sqrt(n), n - 1, deviation, n)


def unpaired_ratio(a: Sequence[float], b: Sequence[float]) -> Ratio | None:
    """B over A of separate runs: Welch's t test on the logarithms.

    Args:
        a, b: one positive number a run, of any count.

    """
    logs_a, logs_b = _logs(a), _logs(b)
    if not len(logs_a) or not len(logs_b):
        return None
    mean = float(logs_b.mean() - logs_a.mean())
    n = min(len(logs_a), len(logs_b))
    if n < 2:
        return Ratio(float(np.exp(mean)), None, None, None, None, None, n)
    error, freedom = _welch(logs_a, logs_b)
    deviation = float(np.sqrt(logs_a.var(ddof=1) + logs_b.var(ddof=1)))
    return _ratio(mean, error, freedom, deviation, n)


def welch(variances: Sequence[float], counts: Sequence[int]) -> tuple[float, float]:
    """The standard error of the difference of two means, and its degrees of freedom (B. L. Welch, Biometrika 34, 1947).

    Args:
        variances: of the values of either side.
        counts: how many values either side has, at least two.

    """
    parts = [variance / count for variance, count in zip(variances, counts, strict=True)]
    error = math.sqrt(sum(parts))
    if not error:
        return 0.0, float(min(counts) - 1)
    return error, float(sum(parts) ** 2 / sum(part**2 / (n - 1) for part, n in zip(parts, counts, strict=True) if part))


def _welch(a: Floats, b: Floats) -> tuple[float, float]:
    return welch([float(x.var(ddof=1)) for x in (a, b)], [len(a), len(b)])


def _ratio(mean: float, error: float, freedom: float, deviation: float, n: int) -> Ratio:
    low, high = _student(mean, error, freedom)
    effect = mean / deviation if deviation else None
    noise = float(deviation / np.sqrt(2))
    p = _p(mean, error, freedom)
    return Ratio(float(np.exp(mean)), float(np.exp(low)), float(np.exp(high)), p, effect, noise, n, float(freedom))


def _p(mean: float, error: float, freedom: float) -> float:
    """Student's two-sided p value of a mean that is 0 where both sides are equal."""
    return 2 * float(students_t.upper_tail(abs(mean) / error, freedom)) if error else float(mean == 0)


def percentage_difference(a: Sequence[Count], b: Sequence[Count], paired: bool) -> Difference | None:
    """B − A of the percentage of requests that failed: a t test on the percentages of the repeats.

    Requests of one run are no independent samples, so the repeats decide. But where each repeat happens to have the
    same few failures, or none, their scatter is none at all: the error is never taken for less than that of so many
    requests by chance alone (binomial), the interval covers :func:`chance_interval`, and p is that of the test which
    finds less.

    Args:
        a, b: failed requests and all requests, one pair a repeat or run; one without a request is left out.
        paired: whether the i-th of both are from the same repeat.

    Returns:
        None if nothing is left of a side.

    """
    if paired:
        both = [(x, y) for x, y in zip(a, b, strict=True) if x[1] and y[1]]
        a, b = [x for x, _ in both], [y for _, y in both]
    counts_a, counts_b = (np.array([x for x in side if x[1]], dtype=float).reshape(-1, 2) for side in (a, b))
    if not len(counts_a) or not len(counts_b):
        return None
    shares_a, shares_b = (100 * counts[:, 0] / counts[:, 1] for counts in (counts_a, counts_b))
    mean, n = float(shares_b.mean() - shares_a.mean()), min(len(shares_a), len(shares_b))
    if n < 2:
        return Difference(mean, None, None, None, n)
    error, freedom = float((shares_b - shares_a).std(ddof=1) / np.sqrt(n)) if paired else 0.0, float(n - 1)
    if not paired:
        error, freedom = _welch(shares_a, shares_b)
    error = max(error, float(np.hypot(_binomial_error(counts_a), _binomial_error(counts_b))))
    by_repeats = _student(mean, error, freedom)
    both_counts = _total(counts_a), _total(counts_b)
    by_chance = chance_interval(*both_counts)
    low, high = min(by_repeats[0], by_chance[0]), max(by_repeats[1], by_chance[1])
    p = max(_p(mean, error, freedom), _chance_p(*both_counts))
    return Difference(mean, low, high, p, n, freedom, error, both_counts)


def _total(counts: Floats) -> Count:
    failed, requests = counts.sum(axis=0)
    return int(failed), int(requests)


def chance_interval(a: Count, b: Count, tail: float = (1 - students_t.CONFIDENCE) / 2) -> tuple[float, float]:
    """Where the difference B − A of two percentages lies, if each request fails independently of all others.

    Made of the exact interval of either share (C. J. Clopper and E. S. Pearson, Biometrika 26, 1934; joined by
    G. Y. Zou and A. Donner, Statistics in Medicine 27, 2008). Where none of n failed on either side, it reaches to
    1 − tail^(1/n), which at 5 % is about 3/n: the rule of three.

    Args:
        a, b: how many failed of how many, at least one.
        tail: the chance that it lies above, and that it lies below.

    """
    (low_a, high_a), (low_b, high_b) = exact_share(a, tail), exact_share(b, tail)
    share_a, share_b = a[0] / a[1], b[0] / b[1]
    below, above = np.hypot(share_b - low_b, high_a - share_a), np.hypot(high_b - share_b, share_a - low_a)
    return 100 * float(share_b - share_a - below), 100 * float(share_b - share_a + above)


def exact_share(count: Count, tail: float = (1 - students_t.CONFIDENCE) / 2) -> tuple[float, float]:
    """The exact interval of a share, 0 to 1, by how many of how many (Clopper and Pearson 1934)."""
    some, all_ = count
    low = float(scipy.special.betaincinv(some, all_ - some + 1, tail)) if some else 0.0
    high = float(scipy.special.betainccinv(some + 1, all_ - some, tail)) if some < all_ else 1.0
    return low, high


def _chance_p(a: Count, b: Count) -> float:
    """The two-sided p value of the test that two percentages are equal, by :func:`chance_interval`."""
    if a[0] * b[1] == b[0] * a[1]:
        return 1.0

    def leaves_out_0(tail: float) -> bool:
        low, high = chance_interval(a, b, tail)
        return low > 0 or high < 0

    return min(1.0, 2 * _tail(leaves_out_0))


def _tail(is_found: Callable[[float], bool]) -> float:
    """The smallest tail of an interval at which something is found, as larger tails find more; 1 if none does."""
    least, most = math.log(LEAST_P), math.log(0.5)
    if not is_found(0.5):
        return 1.0
    if is_found(LEAST_P):
        return LEAST_P
    for _ in range(BISECTIONS):
        middle = (least + most) / 2
        least, most = (least, middle) if is_found(math.exp(middle)) else (middle, most)
    return math.exp(most)


def _binomial_error(counts: Floats) -> float:
    """The standard error of a mean percentage if each request failed independently of the others."""
    failed, requests = counts.sum(axis=0)
    share = failed / requests
    return float(100 * np.sqrt(share * (1 - share) / requests))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction: p values that keep the chance of one false alarm among all of them below the level.

    Each is multiplied by the number of those not smaller than it, and is never less than a smaller one's result.
    """
    order = np.argsort(p_values)
    raised = np.asarray(p_values, dtype=float)[order] * np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(raised), 1.0)
    return [float(p) for p in corrected]


def repeats_needed(
    noise_cv: float, ratio: float, power: float = 0.9, comparisons: int = 1, seen_in: int | None = None
) -> int:
    """The number of interleaved repeats that find a true ratio with the given power.

    Power of the paired t test (noncentral t) on log ratios whose standard deviation is √2·noise.

    Args:
        noise_cv: coefficient of variation of one run against the next of the same service.
        ratio: the smallest worth finding, such as 1.05 or 0.95.
        power: the probability to find it.
        comparisons: number of comparisons; the level is divided by it, as in the first step of Holm's correction.
        seen_in: number of pairs of runs that ``noise_cv`` was estimated from; None if it is exact. Five may well show
            half of the noise, so power is averaged over the possible true noise (its χ² distribution).

    Returns:
        At least 2; :data:`MOST_REPEATS` if even that is not enough.

    Raises:
        ValueError: the ratio is 1 or not positive, or the noise was estimated from fewer than two pairs.

    """
    return _repeats(noise_cv, ratio, power, LEVEL / comparisons / 2, seen_in)


def repeats_to_decide(noise_cv: float, margin: float, comparisons: int = 1, seen_in: int | None = None) -> int:
    """The number of interleaved repeats that, nine times in ten, tell equal sides from sides that differ by a margin.

    So many find a true difference as large as the margin, and show that equal sides are alike within it. For the latter
    both one-sided tests must succeed, so each may fail in half of the cases only.

    Args:
        margin: such as 0.05; the other arguments are those of :func:`repeats_needed`.

    """
    found = repeats_needed(noise_cv, 1 + margin, 0.9, comparisons, seen_in)
    return max(found, _repeats(noise_cv, 1 + margin, 0.95, LEVEL / comparisons, seen_in))


def _repeats(noise_cv: float, ratio: float, power: float, level: float, seen_in: int | None) -> int:
    """How many repeats reject a ratio of 1 at a one-sided level where this one is true."""
    if ratio <= 0 or ratio == 1 or noise_cv < 0 or (seen_in is not None and seen_in < 2):
        raise ValueError(f"no number of repeats finds a ratio of {ratio} at a noise of {noise_cv}")
    noise = np.array([noise_cv]) if seen_in is None else _possible_noise(noise_cv, seen_in - 1)
    standardised = abs(np.log(ratio)) / np.maximum(np.sqrt(2) * noise, 1e-9)

    def found(n: int) -> float:
        limit = students_t.quantile(1 - level, n - 1)
        # Far out scipy's noncentral t gives NaN; there the power is 1 to all digits.
        return float(np.nan_to_num(scipy.stats.nct.sf(limit, n - 1, standardised * np.sqrt(n)), nan=1.0).mean())

    return min(2 + bisect_left(range(2, MOST_REPEATS), power, key=found), MOST_REPEATS)


def _possible_noise(noise_cv: float, freedom: int) -> Floats:
    """Equally likely values of the true noise, given its estimate with so many degrees of freedom."""
    middles = (np.arange(POSSIBLE) + 0.5) / POSSIBLE
    return np.asarray(noise_cv * np.sqrt(freedom / scipy.stats.chi2.ppf(middles, freedom)))


def _logs(values: Sequence[float]) -> Floats:
    numbers = np.asarray(values, dtype=float)
    return np.asarray(np.log(numbers[np.isfinite(numbers) & (numbers > 0)]))


def _student(mean: float, error: float, freedom: float) -> tuple[float, float]:
    reach = float(students_t.reach(error, freedom))
    return mean - reach, mean + reach
