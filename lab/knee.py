"""What a sweep over users shows: where throughput stops growing, where latency starts to, and where errors begin.

The knee of a closed system is N* = X_max · R_min, where the two asymptotes of its throughput meet: X = N / R_min while
nobody waits, X = X_max when something is used up (Lazowska et al., Quantitative System Performance, 1984, ch. 5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

# Throughputs this near to the largest count as the same: about what two runs of one thing differ by.
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
class Plateau:
    """Where throughput no longer grows with users."""

    from_users: int
    to_users: int
    throughput_rps: float


@dataclass(frozen=True)
class Bend:
    """What a sweep of one variant shows; None where it does not show it.

    Attributes:
        plateau: where throughput stops growing.
        knee_users: N*; more users than that must wait.
        errors_from: the smallest load at which requests failed.
        last_users: the largest load that was measured.

    """

    plateau: Plateau | None
    knee_users: float | None
    errors_from: Point | None
    last_users: int

    def __str__(self) -> str:
        """One sentence for people."""
        if self.plateau is None:
            grows = f"throughput still grows at {self.last_users:,} users"
        else:
            grows = f"{self.plateau.throughput_rps:,.1f} answers/s from {self.plateau.from_users:,} users on"
        knee = f", knee at {self.knee_users:,.0f} users" if self.knee_users is not None else ""
        if self.errors_from is None:
            return f"{grows}{knee}, no errors"
        return f"{grows}{knee}, errors from {self.errors_from.users:,} users ({self.errors_from.error_share:.1%})"


def bend(points: Sequence[Point]) -> Bend:
    """Plateau, knee and first errors of one variant's sweep; ValueError if there are no points."""
    ordered = sorted(points, key=lambda point: point.users)
    if not ordered:
        raise ValueError("A sweep needs at least one load.")
    level = plateau(ordered)
    return Bend(level, knee_users(ordered, level), errors_from(ordered), ordered[-1].users)


def plateau(ordered: Sequence[Point]) -> Plateau | None:
    """The loads around the largest throughput that have the same, if they span enough users.

    A throughput that falls again after its peak has a plateau too, if it lasts.

    Args:
        ordered: by users, smallest first.

    """
    largest = max(point.throughput_rps for point in ordered)
    level = [point for point in ordered if point.throughput_rps >= (1 - SAME_SHARE) * largest]
    if largest <= 0 or level[-1].users < PLATEAU_SPAN * level[0].users:
        return None
    return Plateau(level[0].users, level[-1].users, sum(point.throughput_rps for point in level) / len(level))


def knee_users(ordered: Sequence[Point], level: Plateau | None) -> float | None:
    """N* = X_max · R_min: how many users the plateau serves without anybody waiting; None without a plateau."""
    times = [point.mean_s for point in ordered if point.mean_s is not None]
    return level.throughput_rps * min(times) if level and times else None


def errors_from(ordered: Sequence[Point]) -> Point | None:
    """The smallest load at which any request failed."""
    return next((point for point in ordered if point.error_share > 0), None)
