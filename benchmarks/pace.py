"""How fast a generator sent, counted in the same way for all that are built on Locust."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass

from lab.errors import LabError

# Counting by full seconds loses the first and the last, both in part: what is counted so sends so much longer.
LOST_S = 2


@dataclass(frozen=True)
class Pace:
    """Requests a second, and the generator's CPU time (user and system) for each in microseconds."""

    rate_rps: float
    cpu_us: float


def steady_rps(per_second: Mapping[int, int]) -> float:
    """The median of the full seconds: all but the first and the last in which answers came.

    Args:
        per_second: answers by second since 1970; a second that is missing had none.

    """
    full = range(min(per_second, default=0) + 1, max(per_second, default=0))
    if not full:
        raise LabError("No full second was measured.", "Give each generator more: --seconds 5.")
    return statistics.median(per_second.get(second, 0) for second in full)
