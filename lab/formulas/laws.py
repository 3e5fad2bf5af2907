"""Laws that a sweep must obey: Little's, the universal scalability law, servers estimated. Times in seconds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from lab.formulas import queueing, students_t

DRAWS = 4000
# A slowest tenth of so many times t shows that some waited.
UNQUEUED_SPREAD = 1.3
# At so many moments the answers within the next t are counted.
MOMENTS = 401

Floats = NDArray[np.float64]


def total_synchronous(
    requests: int, service_s: float, threads: int, connections: int | None = None, calls: int = 1
) -> float:
    """⌈R/min(N,T)⌉·t·x: the time that R requests at once take where each holds a thread (Sprinklr 2023).

    Args:
        requests: R.
        service_s: t, how long one call takes.
        threads: T; 1 serves them one after the other.
        connections: N to the database; None for any number.
        calls: x calls, one after the other, in each request.

    """
    return queueing.wave_count(requests, min(threads, connections or threads)) * service_s * calls


def total_reactive(requests: int, service_s: float, connections: int | None = None, calls: int = 1) -> float:
    """⌈R·x/N⌉·t: the same where no request holds a thread and its x calls go out together; t if nothing limits them."""
    return queueing.wave_count(requests * calls, connections) * service_s


def in_system(throughput_rps: float, mean_s: float) -> float:
    """N̄ = X·R: requests under way on average, by Little's law (1961)."""
    return throughput_rps * mean_s


def lengthened_s(busy: float, throughput_rps: float, slower: float) -> float:
    """By how much the mean response time grows on a core that becomes slower; infinite where it is overloaded then.

    R = D / (1 - U) of an open queueing centre with the demand D = U / X (Lazowska et al., Quantitative System
    Performance, 1984, ch. 6): an estimate for requests that arrive spread over time. Those in step wait longer.

    Args:
        busy: U, the share of its time in which it was busy before. Of several cores that are taken for one, how many
            were: more than all of them need to wait.
        throughput_rps: X, requests a second.
        slower: by what share it takes longer for the same work, at least 0.

    """
    if not busy or not slower:
        return 0.0
    then = busy * (1 + slower)
    if then >= 1 or not throughput_rps:
        return math.inf
    return (then / (1 - then) - busy / (1 - busy)) / throughput_rps


@dataclass(frozen=True)
class Fitted:
    """A fitted parameter and the interval that covers the truth in 95 % of cases."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Scalability:
    """The universal scalability law, X(N) = λN / (1 + σ(N−1) + κN(N−1)) (Gunther 1993), fitted to a sweep.

    Attributes:
        rate: λ, requests a second of one user alone.
        contention: σ, the share of work that is done one at a time.
        coherency: κ, the price of agreeing with one another.
        peak: N* = √((1−σ)/κ), the load of the most throughput; its ``high`` is infinite where κ may be zero.
        misfit: how far the mean of a load is from the law at most, as a part of it. The law knows no hard limit: where
            throughput grows in a straight line and then stays, it meets neither.

    """

    rate: Fitted
    contention: Fitted
    coherency: Fitted
    peak: Fitted
    misfit: float


def fit_scalability(users: Sequence[float], throughput_rps: Sequence[float]) -> Scalability | None:
    """Fit the universal scalability law by least squares on relative errors.

    Intervals are Student's, from the fit's covariance; that of the peak comes from draws of the same distribution.

    Args:
        users: N of each measurement, at least four different.
        throughput_rps: X of each, positive.

    Returns:
        None where there are fewer than four loads, or nothing fits.

    """
    n, x = np.asarray(users, dtype=float), np.asarray(throughput_rps, dtype=float)
    if len(np.unique(n)) < 4 or not (x > 0).all():
        return None
    start = (float((x / n).max()), 0.01, 1e-6)
    try:
        best, covariance = scipy.optimize.curve_fit(
            _usl, n, x, start, sigma=x, bounds=([0, 0, 0], [np.inf, 1, 1]), x_scale=(start[0], 0.01, 1e-5)
        )
    except (RuntimeError, ValueError):
        return None
    if not np.isfinite(covariance).all():
        return None
    freedom = len(n) - len(best)
    reach = students_t.reach(np.sqrt(np.diag(covariance)), freedom)
    rate, contention, coherency = (
        Fitted(float(b), max(0.0, float(b - r)), float(b + r)) for b, r in zip(best, reach, strict=True)
    )
    misfit = max(abs(x[n == load].mean() / _usl(load, *best) - 1) for load in np.unique(n))
    return Scalability(rate, contention, coherency, _peak(best, covariance, freedom), float(misfit))


def _usl(n: Floats, rate: float, contention: float, coherency: float) -> Floats:
    return np.asarray(rate * n / (1 + contention * (n - 1) + coherency * n * (n - 1)))


def _peak(best: Floats, covariance: Floats, freedom: int) -> Fitted:
    # Student's distribution in several dimensions: how large the covariance is, is known from as few points.
    chance = np.random.default_rng(0)
    normal = chance.multivariate_normal(np.zeros(len(best)), covariance, DRAWS, check_valid="ignore")
    drawn = best + normal * np.sqrt(freedom / chance.chisquare(freedom, DRAWS))[:, np.newaxis]
    tail = (1 - students_t.CONFIDENCE) / 2
    # Order statistics, not interpolated quantiles: between two draws there may be infinity, which has no middle.
    peaks = np.sort(_peaks(drawn))
    low, high = peaks[int(tail * DRAWS)], peaks[int((1 - tail) * DRAWS)]
    return Fitted(float(_peaks(best[np.newaxis])[0]), float(low), float(high))


def _peaks(parameters: Floats) -> Floats:
    """√((1−σ)/κ) of each row of λ, σ, κ; infinite where κ is not positive."""
    _, contention, coherency = parameters.T
    share = np.maximum(0.0, 1 - contention)
    return np.asarray(np.sqrt(np.divide(share, coherency, out=np.full_like(share, np.inf), where=coherency > 0)))


@dataclass(frozen=True)
class LoadLevel:
    """The right answers of one cell of a sweep: when they ended and how long they took, shapes (n,)."""

    users: int
    ended_s: Floats
    latency_s: Floats


@dataclass(frozen=True)
class ServerEstimate:
    """How many requests a service serves at once, estimated from the samples of a sweep.

    Attributes:
        count: T, or N where connections are fewer than threads.
        service_s: t, the median latency of the lowest load.
        users: the load that it was read from.

    """

    count: float
    service_s: float
    users: int


def estimate_servers(levels: Sequence[LoadLevel]) -> ServerEstimate | None:
    """Estimate T from a sweep's samples alone: at any phase, T threads complete T requests in any time t.

    The time t is read from the lowest load, where nobody waits. The answers are counted in windows of that length, all
    over the time in which the largest load keeps the queue filled; T is the median count.

    In a closed loop that waits already all wait equally long, so that latencies alone do not show it. But if M requests
    are under way on T threads, t seems to be t·M/T at most, and the count M at most: the lowest load shows itself. So T
    is believed only if it is clearly more than what was under way there. In a burst that is less than its users.

    Args:
        levels: the cells of one variant; repeats may be among them.

    Returns:
        None where the lowest load waits already, or the largest does not: there is no plateau to read T from.

    """
    filled = sorted((level for level in levels if len(level.ended_s)), key=lambda level: level.users)
    if not filled:
        return None
    lowest, largest = filled[0], filled[-1]
    service_s = float(np.median(lowest.latency_s))
    uneven = float(np.percentile(lowest.latency_s, 90)) > UNQUEUED_SPREAD * service_s
    if uneven or float(largest.latency_s.mean()) < queueing.QUEUED * service_s:
        return None
    ended = np.sort(largest.ended_s)
    # The queue is filled from the first answer on, and until one service time before the last one.
    first, last = ended[0], ended[-1] - 2 * service_s
    if last <= first:
        return None
    begins = np.linspace(first, last, MOMENTS)
    counts = np.searchsorted(ended, begins + service_s) - np.searchsorted(ended, begins)
    count = float(np.median(counts))
    return (
        ServerEstimate(count, service_s, largest.users)
        if count >= queueing.ABOVE_LOWEST * _most_under_way(lowest)
        else None
    )


def _most_under_way(level: LoadLevel) -> int:
    """How many requests were under way at once, at most; one that begins as another ends, to the µs, comes after it."""
    begun, ended = (np.sort(np.round(moments, 6)) for moments in (level.ended_s - level.latency_s, level.ended_s))
    return int((np.arange(1, len(begun) + 1) - np.searchsorted(ended, begun, side="right")).max())
