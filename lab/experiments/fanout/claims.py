"""The formulas for requests of several calls, judged: one after the other, and all at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from lab.experiments.reproduction.judging import (
    NEAR,
    alike,
    at_least,
    decide,
    formula_time_s,
    mean_s,
    near,
    ok_rps,
    ratios,
    rows_of_variant,
    time_for_all_s,
    variant_pairs,
)
from lab.experiments.reproduction.publication import Claim, Part, Publication, ReproducedRow
from lab.spec.options import Options

ONE_BY_ONE, AT_ONCE = ("mvc", "mvc-virtual"), ("mvc-virtual-parallel", "webflux")
CALLS, LATENCY_MS = 5, 100
FEW_THREADS, FEW_CONNECTIONS = "20 threads, 100 connections", "200 threads, 20 connections"
T_S = LATENCY_MS / 1000


def _of(rows: Sequence[ReproducedRow], variants: Iterable[str], part: str | None = None) -> list[ReproducedRow]:
    return [row for variant in variants for row in rows_of_variant(rows, variant, part)]


def totals(variants: Sequence[str]) -> Claim:
    """That all requests take as long as the formula of these variants says."""
    formula = "⌈R/min(N,T)⌉·t·x" if variants == ONE_BY_ONE else "⌈R·x/N⌉·t"
    how = "one after the other" if variants == ONE_BY_ONE else "at once"

    def judge(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
        checked = _of(rows, variants)
        return decide(
            check
            for row in checked
            for check in near([row], time_for_all_s(row), lambda row: formula_time_s(row, row.service_s or 0.0))
        )

    return Claim(f"R requests that make x calls {how} take {formula} in all.", judge)


def at_once_below_the_bend(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether requests that make their calls at once take t while there are connections for all calls."""
    below = [row for row in _of(rows, AT_ONCE, FEW_THREADS) if row.users * CALLS <= 100]
    return decide(near(below, mean_s, lambda _: T_S))


def one_by_one_takes_x_times_t(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether requests that make their calls one after the other never take less than x·t."""
    return decide(at_least(_of(rows, ONE_BY_ONE), mean_s, lambda _: (1 - NEAR) * CALLS * T_S, " s"))


def bend(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether latency rises from N/x users on where calls are made at once."""
    above = [row for row in _of(rows, AT_ONCE, FEW_THREADS) if row.users * CALLS >= 4 * 100]
    return decide(at_least(above, mean_s, lambda _: (1 + NEAR) * T_S, " s"))


def nothing_won_without_connections(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether making calls at once answers no more a second where connections are what runs out."""
    pairs = [pair for pair in variant_pairs(rows, "webflux", "mvc") if pair[0].part == FEW_CONNECTIONS]
    return decide(alike(pairs, ok_rps))


def at_once_wins(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether making calls at once on virtual threads takes no longer than on WebFlux, where there are connections."""
    pairs = [pair for pair in variant_pairs(rows, "mvc-virtual-parallel", "webflux") if pair[0].users * CALLS <= 100]
    return decide(ratios(pairs, mean_s, -math.inf, 1 + NEAR))


def _part(name: str, users: tuple[int, ...], threads: int, pool: int) -> Part:
    options = Options(
        variants=(*ONE_BY_ONE, *AT_ONCE),
        users=users,
        ramp_up=0.0,
        threads=threads,
        pool=pool,
        link_latency_ms=LATENCY_MS,
        parameters={"calls": CALLS},
    )
    return Part(name, "fanout", options)


FANOUT = Publication(
    name="fanout",
    title="Five independent finds a request, the database 100 ms away, 20 threads or 20 connections",
    scenario="fanout",
    parts=(_part(FEW_THREADS, (10, 20, 100), 20, 100), _part(FEW_CONNECTIONS, (100,), 200, 20)),
    claims=(
        totals(ONE_BY_ONE),
        totals(AT_ONCE),
        Claim("Up to N/x users, calls that are made at once take t.", at_once_below_the_bend),
        Claim("One after the other, a request takes x·t at least.", one_by_one_takes_x_times_t),
        Claim("From N/x users on, latency rises although calls are made at once.", bend),
        Claim("Making calls at once wins as much on virtual threads as on WebFlux.", at_once_wins),
        Claim(
            "Where connections run out, making calls at once answers no more a second.", nothing_won_without_connections
        ),
    ),
)

PUBLICATIONS = (FANOUT,)
