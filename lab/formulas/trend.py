"""Trends within one load: how much a series changed from its beginning to its end, beyond its own noise."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from lab.formulas import students_t

Floats = NDArray[np.float64]

# Longer series are reduced to this many medians: the slopes between all pairs of hours of seconds exceed memory.
MOST_POINTS = 400
# Fewer points show no trend, and a median of fewer requests is mostly chance.
MIN_POINTS, MIN_PER_POINT = 8, 20
# A change of a tenth along nine points is found in two of three draws, along forty in all, with noise of one percent.
POINTS = 40
# Fewer points before or after a step are outliers.
MIN_SIDE = 3
# A line between two levels takes a quarter of the series, and twice MIN_SIDE points, or leaves MIN_SIDE points of
# either level: else one point at an end of the series would make it.
LEAST_LINE = 1 / 4
# A level of a shorter share of the time is an initial transient, which changes no figure by much. What begins late may
# be a queue that goes on growing.
LEAST_BEFORE, LEAST_AFTER = 0.2, 0.1
# Where all that such a line leaves is a tenth of its rise at most, no noise explains it, however alike seconds are.
CLEAR = 0.1
# Kendall's τ of a series that goes one way nearly all the time; seconds that are merely like the one before do not.
MONOTONE = 0.9
# An estimate of the autocorrelation that leaves at least one independent point in two hundred.
MOST_LIKE = 0.99
# Significance level of each test: one false trend in a thousand series.
MAX_CHANCE = 0.001
# The same for a queue that grows within windows: queues are noisy, and most that are steady do not grow at all.
QUEUED_CHANCE = 0.01
# The same for what is left of a change that is beyond doubt.
PAIRED_CHANCE = 0.05
# What a request takes beyond so many times the latency of the fastest is the wait for its turn.
SERVED_WITHIN, SOONEST_SHARE = 1.5, 0.01


def change(values: Floats) -> float:
    """The relative change of a series from its beginning to its end; 0 where its own noise may explain it.

    Three tests, since a step is no line, and what begins in the middle is neither: the line through all points (Theil
    and Sen's slope, significant by Kendall's test); the means before and after the moment at which they differ most
    clearly; and a level that becomes another one along a line, from one moment to another (the last two by Student's
    t). Successive seconds are alike on a machine that others share, so all count as many independent points as the
    autocorrelation of lag 1 leaves (Bayley and Hammersley, Supplement to the Journal of the Royal Statistical Society
    8, 1946). A series that goes one way nearly all the time needs no such count.

    Args:
        values: equally spaced in time, shape (n,).

    Returns:
        0.2 where the end is 20 % above the beginning, -0.2 where it is 20 % below; the largest of these tests.

    """
    if len(values) < MIN_POINTS:
        return 0.0
    if len(values) > MOST_POINTS:
        values = np.array([np.median(part) for part in np.array_split(values, MOST_POINTS)])
    return max(_slope(values), _step(values), _bend(values), key=abs)


def detectable(values: Floats) -> float | None:
    """The least change along a line that noise would not hide: every second one of this size is found.

    As the line through the logarithms leaves the points scattered: the standard error of its rise, with as many
    independent points as :func:`change` counts, times the quantile of Student's t for its significance level.

    Args:
        values: equally spaced in time, shape (n,).

    Returns:
        0.1 where a rise of 10 % would be found; infinite with too few independent points, None with too few points.

    """
    logs = np.log(values[values > 0])
    if len(logs) < MIN_POINTS:
        return None
    if np.ptp(logs) == 0:
        return 0.0
    at = np.arange(len(logs))
    line = scipy.stats.linregress(at, logs)
    share = _independent_share(logs - (line.intercept + line.slope * at))
    if (free := len(logs) * share - 2) <= 0:
        return math.inf
    error = float(line.stderr) * at[-1] / math.sqrt(share)
    with np.errstate(over="ignore"):
        return float(np.expm1(error * students_t.quantile(1 - MAX_CHANCE / 2, free)))


def growth_within_windows(samples: pd.DataFrame) -> float | None:
    """By how much latency rose within the windows of an open loop, from their second third to their last.

    A window begins without a queue. One that is steady soon leaves both thirds alike; one that grows to the end of the
    window does not, whether the rate is beyond the capacity, or so near it that a window is too short for the queue.

    Args:
        samples: of the measured load, with ``planned_us``, ``latency_us`` from the planned send, ``error``, ``step``
            and ``window``.

    Returns:
        0.2 where the median of the last third is 20 % higher, as the geometric mean over the windows; 0 where it is
        lower, or chance may explain it (Student's t). None with fewer than :data:`MIN_POINTS` windows with answers.

    """
    # What follows in a session is sent when what was before it was answered, and may be of another kind.
    answered = samples[((samples["error"] == "") & (samples["step"] == 0)).to_numpy()]
    planned_us = answered["planned_us"].groupby(answered["window"])
    since_us, length_us = answered["planned_us"] - planned_us.transform("min"), planned_us.max() - planned_us.min()
    third = (3 * since_us // (answered["window"].map(length_us) + 1)).rename("third")
    # A mean may be that of one garbage collection, which comes in the same third of window after window.
    medians = answered["latency_us"].groupby([answered["window"], third]).median().unstack().reindex(columns=[1, 2])
    rises = np.log((medians[2] / medians[1]).dropna().to_numpy())
    if len(rises) < MIN_POINTS:
        return None
    rise = float(rises.mean())
    error = float(rises.std(ddof=1)) / math.sqrt(len(rises))
    return math.expm1(rise) if rise > error * students_t.quantile(1 - QUEUED_CHANCE, len(rises) - 1) else 0.0


def beyond(seen: float, own: Floats, others: Floats) -> float:
    """What is left of a change where others changed too, by pairs of neighbours; 0 if it is theirs as much.

    A line through the logarithms of the ratios, and a step at the moment of the clearest one of one's own. Either is
    left out only where it is the others' rather than one's own: they have more than half of it, and chance may explain
    the rest (Student's t). So noise of the others hides nothing: they would have to change by chance, and as much.

    Args:
        seen: of :func:`change`.
        own: equally spaced in time, shape (n,).
        others: at the same moments, shape (n,).

    Returns:
        As :func:`change`; never more than was seen, nor of another sign. With few pairs what was seen.

    """
    if not seen or len(own) < MIN_POINTS:
        return seen
    moment = min(range(MIN_SIDE, len(own) - MIN_SIDE + 1), key=lambda moment: _step_at(own, moment)[0])
    pairs, theirs = np.log(own / others), np.log(others)
    left = 0.0
    for size_of in (_line, lambda values: _step_of(values, moment)):
        (rest, chance), (shared, _) = size_of(pairs), size_of(theirs)
        is_shared = chance >= PAIRED_CHANCE and shared * seen > 0 and abs(shared) > abs(rest)
        left = left if is_shared else max(left, rest, key=abs)
    left = math.expm1(left)
    return min(seen, left, key=abs) if seen * left > 0 else 0.0


def _line(values: Floats) -> tuple[float, float]:
    """The rise of a line through all points, and the probability of one by chance."""
    line = scipy.stats.linregress(np.arange(len(values)), values)
    return float(line.slope * (len(values) - 1)), float(line.pvalue)


def _step_of(values: Floats, moment: int) -> tuple[float, float]:
    """The rise of the mean at a moment, and the probability of one by chance."""
    before, after = values[:moment], values[moment:]
    return float(after.mean() - before.mean()), float(scipy.stats.ttest_ind(before, after).pvalue)


def _slope(values: Floats) -> float:
    """The change along the line through all points; 0 if it is not significant, or the series begins with zeros."""
    at = np.arange(len(values))
    slope, intercept, *_ = scipy.stats.theilslopes(values, at)
    begins = _beginning(values, intercept)
    if begins <= 0:
        return 0.0
    share = _independent_share(values - (intercept + slope * at))
    tau, chance = scipy.stats.kendalltau(at, values)
    if not (abs(tau) >= MONOTONE or _deviation(chance) * math.sqrt(share) > _deviation(MAX_CHANCE)):
        return 0.0
    return float(max(-1.0, slope * at[-1] / begins))


def _beginning(values: Floats, fitted: float) -> float:
    """What a series begins with: as it was fitted, or by its first quarter, where a line began at or below zero."""
    return fitted if fitted > 0 else float(np.median(values[: math.ceil(len(values) / 4)]))


def _bend(values: Floats) -> float:
    """The change from one level to another along a line between two moments, by least squares; 0 if not significant."""
    if len(values) > POINTS:
        values = np.array([part.mean() for part in np.array_split(values, POINTS)])
    points = len(values)
    pairs = [
        (begin, end) for begin in range(points) for end in range(begin + 1, points) if _is_bend(begin, end, points)
    ]
    begins, ends = np.array(pairs, dtype=float).T[:, :, np.newaxis]
    risen = np.clip((np.arange(points) - begins) / (ends - begins), 0.0, 1.0)
    apart = risen - risen.mean(axis=1, keepdims=True)
    room = (apart**2).sum(axis=1)
    rises = apart @ values / room
    spreads = ((values - values.mean()) ** 2).sum() - rises**2 * room
    best = int(np.argmin(spreads))
    residuals = values - values.mean() - rises[best] * apart[best]
    rise, left = float(rises[best]), float(np.abs(residuals).max())
    begins_at = _beginning(values, float(values.mean()) - rise * float(risen[best].mean()))
    if not rise or begins_at <= 0:
        return 0.0
    if left > CLEAR * abs(rise):
        share = _independent_share(residuals)
        free = points * share - 2
        error = math.sqrt(float((residuals**2).sum()) / (points - 2) / share / room[best])
        # As many tests as pairs of moments (Bonferroni).
        if free <= 0 or 2 * students_t.upper_tail(abs(rise) / error, free) * len(pairs) >= MAX_CHANCE:
            return 0.0
    return max(-1.0, rise / begins_at)


def _is_bend(begin: int, end: int, points: int) -> bool:
    """Whether a line between two points stands for a change, and not for a transient or a few points at an end."""
    is_line = end - begin >= max(LEAST_LINE * points, 2 * MIN_SIDE)
    # How much of the time it is nearer to the first level, and so to the other one.
    first = (begin + end) / 2 / points
    is_change = LEAST_BEFORE <= first <= 1 - LEAST_AFTER
    return is_change and (is_line or (begin >= MIN_SIDE - 1 and points - end >= MIN_SIDE))


def _deviation(chance: float) -> float:
    """How many standard deviations are exceeded, in either direction, with this probability."""
    return float(-scipy.special.ndtri(chance / 2))


def _step(values: Floats) -> float:
    """The change of the mean at the most significant of all moments; 0 if it is not significant there either."""
    moments = range(MIN_SIDE, len(values) - MIN_SIDE + 1)
    chance, share = min(_step_at(values, moment) for moment in moments)
    # As many tests as moments (Bonferroni).
    return share if chance * len(moments) < MAX_CHANCE else 0.0


def _step_at(values: Floats, moment: int) -> tuple[float, float]:
    """The probability of a step at a moment by chance alone, and the relative change of the mean there."""
    first, second = values[:moment], values[moment:]
    before, after = float(first.mean()), float(second.mean())
    residuals = np.concatenate([first - before, second - after])
    independent = _independent_share(residuals)
    free = len(values) * independent - 2
    if before <= 0 or before == after or free < 2:
        return 1.0, 0.0
    # One variance for both sides, as a short one has none of its own; either loses the same share of its points.
    variance = float((residuals**2).sum()) / (len(values) - 2)
    error = math.sqrt(variance / independent * (1 / len(first) + 1 / len(second)))
    chance = 2 * students_t.upper_tail(abs(after - before) / error, free) if error else 0.0
    return float(chance), after / before - 1


def _independent_share(residuals: Floats) -> float:
    """The share of points that count as independent, by the autocorrelation of lag 1; at most 1."""
    spread = float((residuals**2).sum())
    if not spread:
        return 1.0
    lag = float((residuals[1:] * residuals[:-1]).sum()) / spread
    lag += (1 + 3 * lag) / len(residuals)  # the estimate is too low by this (Kendall, Biometrika 41, 1954)
    lag = min(max(lag, 0.0), MOST_LIKE)
    return (1 - lag) / (1 + lag)


def latency_over_time(
    samples: pd.DataFrame, begin_s: float, end_s: float, figure: Literal["median", "mean"] = "median"
) -> pd.Series:
    """The median or mean latency of right answers in µs, by the moment of their send.

    The span is cut into as many equal pieces as there are answers for, but forty at most: the more points, the smaller
    the change that shows.

    Args:
        begin_s: seconds since the planned start; what was sent before is left out.
        end_s: what was sent from then on is left out.

    Returns:
        Indexed by the middle of each piece, in seconds since the planned start; pieces with few answers are left out.

    """
    right = samples[
        (samples["error"] == "") & (samples["sent_us"] >= begin_s * 1e6) & (samples["sent_us"] < end_s * 1e6)
    ]
    points = min(POINTS, len(right) // (2 * MIN_PER_POINT))
    if not points:
        return pd.Series(dtype=float)
    width_s = (end_s - begin_s) / points
    piece = ((right["sent_us"] / 1e6 - begin_s) // width_s).clip(upper=points - 1)
    by_piece = right["latency_us"].groupby(piece)
    figures = by_piece.agg(figure)[by_piece.size() >= MIN_PER_POINT]
    return figures.set_axis(begin_s + (figures.index.to_numpy() + 0.5) * width_s)


def throughput_over_time(samples: pd.DataFrame, begin_s: float, end_s: float) -> pd.Series:
    """Requests a second in each second between two times, by the middle of the second; see :func:`done_by`.

    Seconds are those since the planned start, as windows of loads that take turns are. Where these are too few for a
    trend by one, as between 1.5 and 9.5 s, or where a pause was left out, the time is cut into as many as it takes.

    Args:
        begin_s: seconds since the planned start, such as the end of the ramp.
        end_s: where the last second ends, at the latest.

    """
    edges = np.arange(math.ceil(begin_s), math.floor(end_s) + 1, dtype=float)
    if len(edges) <= MIN_POINTS and end_s - begin_s >= MIN_POINTS - 0.5:
        edges = np.linspace(begin_s, end_s, MIN_POINTS + 1)
    if samples.empty or len(edges) < 2:
        return pd.Series(dtype=float)
    return pd.Series(np.diff(done_by(samples, edges)) / np.diff(edges), index=(edges[:-1] + edges[1:]) / 2)


def done_by(samples: pd.DataFrame, at_s: Floats) -> Floats:
    """How many requests were done by given times, shape (n,); not whole numbers, as each is done bit by bit.

    It is done within its last part: as long as it took, but at most one and a half times as long as the fastest right
    answers of its name take. So users that are all answered at the same moments make no waves, and what waits in a
    queue is done when it is served.

    Args:
        samples: at least one.
        at_s: seconds since the planned start, shape (n,).

    """
    latency = np.maximum(samples["latency_us"].to_numpy() / 1e6, 1e-6)
    ended = samples["sent_us"].to_numpy() / 1e6 + latency
    right = (samples["error"] == "").to_numpy()
    soonest = pd.Series(latency[right]).groupby(samples["name"].to_numpy()[right]).quantile(SOONEST_SHARE)
    served = np.fmin(latency, SERVED_WITHIN * samples["name"].map(soonest).to_numpy(dtype=float))
    # Each is done at the rate of 1/served while it is served; the integral of the sum of these rates.
    times, steps = np.concatenate([ended - served, ended]), np.concatenate([1 / served, -1 / served])
    order = np.argsort(times, kind="stable")
    times = times[order]
    done = np.concatenate([[0.0], np.cumsum(np.cumsum(steps[order])[:-1] * np.diff(times))])
    by: Floats = np.interp(at_s, times, done)
    return by
