"""Inference from repeats: confidence intervals, paired and unpaired ratios, Holm's correction, and repeats needed.

Requests of one run share its JVM, its warm-up and its time, so a million of them are not a million independent
samples. What counts is the variation between runs: where there are repeats, the run is the unit, with one value each.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from lab.formulas import t_interval

# The significance level of the corrected p. At a level of 5 %, every second machine's A/A trial had more than 5 % of
# false alarms; at 3 % hardly any has.
LEVEL = 0.03
BETWEEN_RUNS, WITHIN_ONE_RUN = "between runs", "within one run only"
BLOCKS, RESAMPLES = 30, 1000
MOST_REPEATS, POSSIBLE = 1_000_000, 50

Floats = NDArray[np.float64]


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
    tail = (1 + t_interval.CONFIDENCE) / 2
    ratio = scipy.stats.t.ppf(tail, max(blocks - 1, 1)) / scipy.stats.norm.ppf(tail)
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

    """

    ratio: float
    low: float | None
    high: float | None
    p: float | None
    effect: float | None
    noise_cv: float | None
    pairs: int


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
    parts = [logs.var(ddof=1) / len(logs) for logs in (logs_a, logs_b)]
    error = float(np.sqrt(sum(parts)))
    freedom = (
        sum(parts) ** 2 / sum(p**2 / (len(x) - 1) for p, x in zip(parts, (logs_a, logs_b), strict=True) if p)
        if error
        else n - 1
    )
    deviation = float(np.sqrt(logs_a.var(ddof=1) + logs_b.var(ddof=1)))
    return _ratio(mean, error, freedom, deviation, n)


def _ratio(mean: float, error: float, freedom: float, deviation: float, n: int) -> Ratio:
    low, high = _student(mean, error, freedom)
    p = 2 * float(scipy.stats.t.sf(abs(mean) / error, freedom)) if error else float(mean == 0)
    effect = mean / deviation if deviation else None
    noise = deviation / np.sqrt(2)
    return Ratio(float(np.exp(mean)), float(np.exp(low)), float(np.exp(high)), p, effect, float(noise), n)


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
    if ratio <= 0 or ratio == 1 or noise_cv < 0 or (seen_in is not None and seen_in < 2):
        raise ValueError(f"no number of repeats finds a ratio of {ratio} at a noise of {noise_cv}")
    noise = np.array([noise_cv]) if seen_in is None else _possible_noise(noise_cv, seen_in - 1)
    standardised = abs(np.log(ratio)) / np.maximum(np.sqrt(2) * noise, 1e-9)

    def found(n: int) -> float:
        limit = scipy.stats.t.ppf(1 - LEVEL / comparisons / 2, n - 1)
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
    reach = float(t_interval.reach(error, freedom))
    return mean - reach, mean + reach
