"""The claims about a token and one row: whether WebFlux is faster than virtual threads, and by how much."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from lab.analysis import scorecard
from lab.experiments.reproduction.judging import NEAR, ONCE, decide, figure, ok_rps, ratios, variant_pairs
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    REFUTED,
    UNDECIDED,
    VARIANTS,
    Claim,
    Part,
    Publication,
    ReproducedRow,
)
from lab.spec.options import Options
from lab.spec.plan import WINDOWS

PUBLISHED_RATIO = 1.57
# Two variants, of which the first is said to be ahead.
Pair = tuple[str, str]
PUBLISHED_PAIR = ("webflux", "mvc-virtual")
# What gives points on the scorecard, and whether more of it is better. Mean latency is no fact of its own beside the
# rate: N = X·R in a closed loop.
SCORED = ((ok_rps, True), (figure("p99_s"), False), (figure("cpu_s_per_1000_requests"), False))


def is_faster(rows: Sequence[ReproducedRow], pair: Pair) -> tuple[str, str]:
    """Whether the first of two variants answers more a second, by at least the margin, at every load."""
    return decide(ratios(variant_pairs(rows, *pair), ok_rps, 1 + NEAR, math.inf))


def by_as_much(rows: Sequence[ReproducedRow], pair: Pair) -> tuple[str, str]:
    """Whether the first of two variants answers 57 % more a second."""
    low, high = (1 - NEAR) * PUBLISHED_RATIO, (1 + NEAR) * PUBLISHED_RATIO
    return decide(ratios(variant_pairs(rows, *pair), ok_rps, low, high))


def wins_the_scorecard(rows: Sequence[ReproducedRow], pair: Pair) -> tuple[str, str]:
    """Whether the first of two variants has more points than the other: by requests/s, p99 and CPU, at every load.

    Each measurement gives the better one points by its margin (:mod:`lab.analysis.scorecard`). Confirmed or refuted
    where the ends of all intervals that are worst, or best, for the first one say the same.
    """
    checks = [
        check
        for measure, first_above in SCORED
        for check in ratios(variant_pairs(rows, *(pair if first_above else pair[::-1])), measure, 1.0, math.inf)
    ]
    missing = [check for check in checks if not check.values]
    if missing or not checks:
        return decide(missing)
    balances = [_balance(check.mean) for check in checks]
    ours, theirs = (sum(max(sign * points, 0) for points in balances) for sign in (1, -1))
    said = f"{pair[0]} {ours}, {pair[1]} {theirs}, of {len(checks)} measurements ({scorecard.BOUNDARIES})"
    intervals = [check.interval for check in checks if check.interval]
    if len(intervals) < len(checks):
        return UNDECIDED, f"{ONCE}{said}."
    least, most = (sum(_balance(interval[end]) for interval in intervals) for end in (0, 1))
    word = CONFIRMED if least > 0 else REFUTED if most <= 0 else UNDECIDED
    return word, f"{said}. By the ends of their intervals {pair[0]} has {least:+d} to {most:+d} points more."


def _balance(ratio: float) -> int:
    """Points for the side that a ratio above 1 speaks for; negative ones where it speaks for the other."""
    if ratio <= 0:  # of a variant that answered nothing right
        return -scorecard.points(math.inf)
    return scorecard.points(ratio) if ratio > 1 else -scorecard.points(ratio)


JWT = Publication(
    name="jwt",
    title="A token and one row of MySQL, 50, 100 and 300 connections, 5,000,000 requests each",
    scenario="jwt",
    parts=(
        Part(
            "",
            "jwt",
            Options(variants=VARIANTS, users=(50, 100, 300), duration=20.0, interleave=WINDOWS),
            instead_of="5,000,000 requests",
        ),
    ),
    claims=(
        Claim("WebFlux is faster than virtual threads.", partial(is_faster, pair=PUBLISHED_PAIR)),
        Claim("WebFlux is 57 % faster than virtual threads.", partial(by_as_much, pair=PUBLISHED_PAIR)),
        Claim("WebFlux wins the scorecard.", partial(wins_the_scorecard, pair=PUBLISHED_PAIR)),
        Claim("Virtual threads are faster than platform threads.", partial(is_faster, pair=("mvc-virtual", "mvc"))),
    ),
)

PUBLICATIONS = (JWT,)
