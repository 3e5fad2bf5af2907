"""Measuring in turns: which cells are up at once, in which order their windows come, and how long a window is.

All variants of a *group* are up and warm at the same time. A *round* is a window of each, in an order that changes from
round to round: whoever always has the same place, or always follows the same neighbour, is measured a little slower or
faster for that alone.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TypeVar

# Long enough for thousands of requests where the CPU decides, and short, as the speed of a machine changes in seconds.
WINDOW_S = 1.0
# A window holds so many of the longest requests, one after the other, as far as theory knows how long they take.
REQUESTS_A_WINDOW = 10
# samples.parquet has the number of a window in 16 bits.
MOST_WINDOWS = 32_000

T = TypeVar("T")


def windows(duration_s: float, variants: int, request_s: float = 0.0) -> int:
    """How many windows a duration is split into, so that each is :data:`WINDOW_S` long or somewhat more or less.

    It is a number of rounds in which the order of the variants is balanced, if the duration is long enough for that.

    Args:
        duration_s: of all windows of one variant together.
        variants: how many take turns.
        request_s: how long a request takes by theory; 0 if unknown. Slow requests need longer windows.

    """
    wanted = max(1, round(duration_s / wanted_s(request_s)))
    cycle = len(square(variants))
    balanced = round(wanted / cycle) * cycle
    return min(balanced or wanted, MOST_WINDOWS)


def wanted_s(request_s: float = 0.0) -> float:
    """How long a window should be, in seconds, where a request takes so long by theory."""
    return max(WINDOW_S, REQUESTS_A_WINDOW * request_s)


def at_least(count: int, variants: int) -> int:
    """The smallest number of windows, not below some other, that a duration can be split into: see :func:`windows`.

    A single window is none, as then nobody takes turns.
    """
    return next(n for n in itertools.count(max(count, 2)) if windows(n * WINDOW_S, variants) == n)


def square(count: int) -> list[list[int]]:
    """Orders of the numbers from 0 in which each has each place, and follows each other one, equally often.

    One Latin square for an even count, two for an odd one (E. J. Williams, Australian Journal of Scientific Research
    A2, 1949).
    """
    first = [0]
    for step in range(1, count):
        first.append((first[-1] + (step if step % 2 else -step)) % count)
    rows = [[(number + shift) % count for number in first] for shift in range(count)]
    return rows if count % 2 == 0 or count < 3 else [*rows, *(row[::-1] for row in rows)]


def rounds(members: Sequence[T], chance: random.Random) -> Iterator[list[T]]:
    """The order of each round, without end: random, and balanced over each cycle of as many rounds as it takes."""
    orders = square(len(members))
    while True:
        named = chance.sample(members, len(members))
        for order in chance.sample(orders, len(orders)):
            yield [named[number] for number in order]


def order(members: Sequence[T], count: int, start: int, seed: int) -> list[list[T]]:
    """The orders of one group's rounds.

    Args:
        count: number of rounds.
        start: number of the start of the services, from 1, of those of the same batch. Its rounds go on in the cycle
            where those of the start before ended, so that starts of few rounds are balanced together.
        seed: the plan's.

    """
    begin = (start - 1) * count
    return list(islice(rounds(members, random.Random(f"turns {seed}")), begin, begin + count))


def batches(count: int, fit: int) -> list[list[int]]:
    """The numbers from 0, in groups of as many as may be up at once, each group with the first of them.

    One group where all fit. Whoever is not in a group with another is compared with it by the first, which is in all.

    Raises:
        ValueError: fewer than two fit, while there are several.

    """
    if count <= fit:
        return [list(range(count))]
    if fit < 2:
        raise ValueError(f"of {count} only {fit} can be up at once")
    others = range(1, count)
    groups = math.ceil(len(others) / (fit - 1))
    return [[0, *others[number::groups]] for number in range(groups)]
