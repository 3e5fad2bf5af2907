"""Trends within one load: a fall from its first to its last second, and drift from one half to the other."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

# Longer series are reduced to this many medians: the slopes between all pairs of hours of seconds exceed memory.
MOST_POINTS = 400
# Fewer points show no trend, and a median of fewer requests is mostly chance.
MIN_POINTS, MIN_PER_POINT = 8, 20
# Significance level of Kendall's test: one false trend in a thousand measurements.
MAX_CHANCE = 0.001
# Fewer requests in a half differ by a few percent by chance.
MIN_PER_HALF = 200


def fall(values: NDArray[np.float64]) -> float:
    """The relative fall of a series from its first point to its last; 0 if there is no significant fall.

    The slope is Theil's and Sen's, the median of the slopes between all pairs of points, so that single bad seconds do
    not count (Sen, Journal of the American Statistical Association 63, 1968); its significance is by Kendall's test.

    Args:
        values: one a second, shape (n,).

    Returns:
        Between 0 and 1: 0.2 where the line through the points ends 20 % below where it begins.

    """
    if len(values) < MIN_POINTS:
        return 0.0
    if len(values) > MOST_POINTS:
        values = np.array([np.median(part) for part in np.array_split(values, MOST_POINTS)])
    seconds = np.arange(len(values))
    if not scipy.stats.kendalltau(seconds, values).pvalue < MAX_CHANCE:
        return 0.0
    slope, intercept, *_ = scipy.stats.theilslopes(values, seconds)
    return min(1.0, max(0.0, -slope * seconds[-1] / intercept)) if intercept > 0 else 0.0


def latency_by_second(samples: pd.DataFrame, begin_s: float, end_s: float) -> pd.Series:
    """The median latency of right answers in µs, by the second of their send after the planned start.

    Args:
        begin_s: seconds since the planned start; what was sent in the seconds before is left out.
        end_s: what was sent later is left out.

    """
    right = samples[samples["error"] == ""]
    second = right["sent_us"] // 1_000_000
    kept = right[(second >= math.ceil(begin_s)) & (second < math.floor(end_s))]
    by_second = kept["latency_us"].groupby(kept["sent_us"] // 1_000_000)
    return by_second.median()[by_second.size() >= MIN_PER_POINT]


def drift(samples: pd.DataFrame, begin_s: float, end_s: float) -> float | None:
    """The relative change of throughput from the first half of a load to the second: -0.2 if it is 20 % lower.

    A request that spans a boundary counts in each half by its share of time there. So users that are all answered at
    the same moments make no difference between halves.

    Args:
        begin_s: where the first half begins, in seconds since the planned start: the end of the ramp.
        end_s: where the second half ends.

    Returns:
        None if there were too few requests.

    """
    begun = samples["sent_us"].to_numpy() / 1e6
    latency = np.maximum(samples["latency_us"].to_numpy() / 1e6, 1e-6)
    middle_s = (begin_s + end_s) / 2

    def done(left_s: float, right_s: float) -> float:
        overlap = np.minimum(begun + latency, right_s) - np.maximum(begun, left_s)
        return float((np.maximum(overlap, 0.0) / latency).sum())

    first, second = done(begin_s, middle_s), done(middle_s, end_s)
    return second / first - 1 if min(first, second) >= MIN_PER_HALF else None
