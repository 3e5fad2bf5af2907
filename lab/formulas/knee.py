"""The knee of a sweep over users: where throughput stops growing, where latency starts to, and where errors begin.

The knee of a closed system is N* = X_max · R_min, where the two asymptotes of its throughput meet: X = N / R_min while
there is no queue, X = X_max when a resource is saturated (Lazowska et al., Quantitative System Performance, 1984,
ch. 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from lab.formulas import queueing
from lab.formulas.digits import digits

# Throughputs this near to the largest count as the same: about the difference of two runs of the same variant.
SAME_SHARE = 0.05
# A plateau must span more than a small step in users, or throughput had no chance to grow on it.
PLATEAU_SPAN = 1.5


@dataclass(frozen=True)
class Point:
    """One load of a sweep.

    Attributes:
        throughput_rps: right answers a second.
        mean_s: mean latency of the right answers; None if there were none.
        error_share: failed requests over all, 0 to 1.

    """

    users: int
    throughput_rps: float
    mean_s: float | None
    error_share: float = 0.0


@dataclass(frozen=True)
class ThroughputLevel:
    """Adjacent loads of a sweep with the same, largest throughput.

    Attributes:
        throughput_rps: their mean.

    """

    from_users: int
    to_users: int
    throughput_rps: float

    @property
    def is_plateau(self) -> bool:
        """Whether it spans enough users to be a plateau and not just neighbouring loads."""
        return self.to_users >= PLATEAU_SPAN * self.from_users


@dataclass(frozen=True)
class SweepShape:
    """The shape of one variant's sweep: plateau, knee and first errors; None for what it does not show.

    Attributes:
        points: its loads, by users.
        top: the loads of the largest throughput; None without any right answer.
        knee_users: N*; with more users than that requests queue.
        errors_from: the smallest load at which requests failed.

    """

    points: tuple[Point, ...]
    top: ThroughputLevel | None
    knee_users: float | None
    errors_from: Point | None

    @property
    def plateau(self) -> ThroughputLevel | None:
        """The plateau of throughput; None if there is none."""
        return self.top if self.top and self.top.is_plateau else None

    def __str__(self) -> str:
        """One sentence for people."""
        knee = f", knee at {self.knee_users:,.0f} users" if self.knee_users is not None else ""
        if self.errors_from is None:
            return f"{self._throughput()}{knee}, no errors"
        errors = f"errors from {self.errors_from.users:,} users ({self.errors_from.error_share:.1%})"
        return f"{self._throughput()}{knee}, {errors}"

    def _throughput(self) -> str:
        """Throughput over users in words."""
        top = self.top
        if top is None:
            return "no right answer at any load"
        one = top.from_users == top.to_users
        where = f"at {top.to_users:,} users" if one else f"from {top.from_users:,} to {top.to_users:,} users"
        said = f"{top.throughput_rps:,.1f} answers/s {where}"
        if len(self.points) == 1:
            return f"{said}, the only load"
        if after := [point for point in self.points if point.users > top.to_users]:
            lowest = min(after, key=lambda point: point.throughput_rps)
            peak = "" if top.is_plateau else "throughput peaks with "
            return f"{peak}{said}, then falls to {lowest.throughput_rps:,.1f} at {lowest.users:,}"
        if one:
            return f"throughput still grows at {top.to_users:,} users"
        return said if top.is_plateau else f"{said}, too near to one another to tell whether it still grows"


def sweep_shape(points: Sequence[Point]) -> SweepShape:
    """Plateau, knee and first errors of one variant's sweep; ValueError if there are no points."""
    ordered = tuple(sorted(points, key=lambda point: point.users))
    if not ordered:
        raise ValueError("A sweep needs at least one load.")
    level = top(ordered)
    return SweepShape(ordered, level, knee_users(ordered, level), errors_from(ordered))


def top(ordered: Sequence[Point]) -> ThroughputLevel | None:
    """The largest throughput, and the adjacent loads that have the same; None without any right answer.

    Args:
        ordered: by users, smallest first.

    """
    rates = [point.throughput_rps for point in ordered]
    if max(rates) <= 0:
        return None
    first = last = rates.index(max(rates))
    enough = (1 - SAME_SHARE) * max(rates)
    while first > 0 and rates[first - 1] >= enough:
        first -= 1
    while last + 1 < len(rates) and rates[last + 1] >= enough:
        last += 1
    return ThroughputLevel(ordered[first].users, ordered[last].users, sum(rates[first : last + 1]) / (last + 1 - first))


def knee_users(ordered: Sequence[Point], level: ThroughputLevel | None) -> float | None:
    """N* = X_max · R_min: the number of users that the plateau serves without queueing.

    None without a plateau, or where the lowest load with an answer is not clearly below it: it may queue already, and
    where all of its users wait, X_max times their latency is their own number again, by Little's law.
    """
    timed = [(point.mean_s, point.users) for point in ordered if point.mean_s is not None]
    if level is None or not level.is_plateau or not timed:
        return None
    knee = level.throughput_rps * min(mean_s for mean_s, _ in timed)
    return knee if knee >= queueing.ABOVE_LOWEST * timed[0][1] else None


def errors_from(ordered: Sequence[Point]) -> Point | None:
    """The smallest load at which any request failed."""
    return next((point for point in ordered if point.error_share > 0), None)


@dataclass(frozen=True)
class RatePoint:
    """One rate of a sweep over rates.

    Attributes:
        rate: planned starts a second.
        mean_s: mean latency of the right answers, from their planned sends; None if there were none.
        error_share: failed requests over all, 0 to 1.
        is_slowing: whether latency rose while it lasted, as with a queue that grows.

    """

    rate: float
    mean_s: float | None
    error_share: float = 0.0
    is_slowing: bool = False


def rates_kept(points: Sequence[RatePoint], tolerated: float) -> str:
    """Up to which rate an open loop was answered without a queue or failures, as a sentence without its subject.

    An open loop answers in the end whatever it is asked: a queue is seen by a latency that rises, or by its mean beside
    the least of all.

    Args:
        points: one for each repeat of each rate. A rate is kept where it is in all of its repeats.
        tolerated: the share of failed requests up to which a rate counts as answered, 0 to 1.

    """
    ordered = sorted(points, key=lambda point: point.rate)
    lowest_s = min((point.mean_s for point in ordered if point.mean_s is not None), default=0.0)
    kept = 0.0
    for rate, repeats in groupby(ordered, key=lambda point: point.rate):
        if said := next(filter(None, (_not_kept(point, lowest_s, tolerated) for point in repeats)), ""):
            return f"{_up_to(kept)}; at {digits(rate)}/s {said}"
        kept = rate
    return f"{_up_to(kept)}, the highest that can be judged"


def _not_kept(point: RatePoint, lowest_s: float, tolerated: float) -> str:
    """Why a rate was not answered as it was asked; empty where it was."""
    if point.mean_s is None or point.error_share > tolerated:
        return f"{100 * point.error_share:.3g}% of the requests failed"
    if point.mean_s > queueing.QUEUED * lowest_s:
        return f"the mean latency was {point.mean_s:.3g} s: a queue grew"
    return "latency rose while it lasted: a queue grew" if point.is_slowing else ""


def _up_to(rate: float) -> str:
    return f"no queue up to {digits(rate)}/s" if rate else "a queue at every rate"
