"""The claims about one document of 1 MB: over a slow link, over a fixed latency, and with ten threads."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from lab.experiments.reproduction.judging import (
    NEAR,
    ClaimCheck,
    alike,
    decide,
    formula_time_s,
    mean_s,
    measured,
    near,
    ok_rps,
    ratios,
    rows_of_variant,
    time_for_all_s,
    variant_pairs,
)
from lab.experiments.reproduction.publication import UNDECIDED, VARIANTS, Claim, Part, Publication, ReproducedRow
from lab.spec.options import Options

LINK_RATE, CONNECTION_RATE = 3_500_000, 90_000
LATENCY_MS = 5000
POOLS = (50, 100, 200)
# The original set no timeout; the slowest published mean is 135 s.
TIMEOUT_S = 900.0


def as_fast(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux and platform threads take the same time at every load."""
    return decide(alike(variant_pairs(rows, "webflux", "mvc"), mean_s))


def flat_below_pool(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether latency is that of one user while there is a connection for everybody, as it must be if those decide."""
    pairs = [
        (more, one)
        for variant in VARIANTS
        for one in rows_of_variant(rows, variant, users=lambda r: r == 1)
        for more in rows_of_variant(rows, variant, users=lambda r: r == 50)
    ]
    if any(more.measured_users == one.measured_users for more, one in pairs):
        return UNDECIDED, "At this scale one measurement stands for R = 1 and for R = 50."
    return decide(alike(pairs, mean_s))


def plateau_of_link(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether throughput from 100 users on is what the link passes."""
    full = [row for variant in VARIANTS for row in rows_of_variant(rows, variant, users=lambda r: r >= 100)]
    return decide(near(full, ok_rps, lambda row: row.link_rate / row.answer_bytes if row.answer_bytes else 0.0, "/s"))


def waves_of_pool(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether R requests on N connections of a fixed latency take ⌈R/N⌉·t in all."""
    return decide(check for row in rows for check in _near_formula(row, row.service_s or 0.0))


def more_connections_help(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether twice the connections serve 400 users in half the time: as ⌈R/N⌉·t has it, within the ramp."""
    checks: list[ClaimCheck] = []
    for few, many in pairwise(POOLS):
        for variant in VARIANTS:
            for one in rows_of_variant(rows, variant, _pool(few), lambda r: r == 400):
                for other in rows_of_variant(rows, variant, _pool(many), lambda r: r == 400):
                    half = formula_time_s(other, other.service_s or 0.0) / formula_time_s(one, one.service_s or 0.0)
                    checks += ratios([(one, other)], ok_rps, (1 - NEAR) * half, (1 + NEAR) * half)
    return decide(checks)


def ten_threads_wait(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether R requests on ten platform threads take ⌈R/10⌉·t in all, t being what one user takes."""
    single = [
        time_s for row in rows_of_variant(rows, "mvc", users=lambda r: r == 1) for time_s in measured(row, mean_s)
    ]
    if not single:
        return UNDECIDED, "What a single user takes was not measured."
    t = fmean(single)
    several = [row for row in rows_of_variant(rows, "mvc") if row.measured_users > 1]
    return decide(check for row in several for check in _near_formula(row, t))


def without_threads_the_link_decides(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux is as fast as the link, ten threads or not."""
    return decide(near(rows_of_variant(rows, "webflux"), mean_s, lambda row: row.model_mean_s or 0.0))


def threads_cost_time(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether ten platform threads are slower than WebFlux once there are more users than threads."""
    pairs = [pair for pair in variant_pairs(rows, "mvc", "webflux") if pair[0].users > 10]
    return decide(ratios(pairs, mean_s, 1 + NEAR, float("inf")))


def _near_formula(row: ReproducedRow, time_s: float) -> list[ClaimCheck]:
    """The check that all requests of a row take ⌈R/T⌉·t and the ramp in total."""
    return near([row], time_for_all_s(row), lambda row: formula_time_s(row, time_s))


def _pool(connections: int) -> str:
    return f"pool {connections}"


def _over_link(users: tuple[int, ...], pool: int, threads: int) -> Options:
    return Options(
        variants=VARIANTS,
        users=users,
        pool=pool,
        threads=threads,
        timeout=TIMEOUT_S,
        link_rate=LINK_RATE,
        link_connection_rate=CONNECTION_RATE,
    )


DOCUMENT = Publication(
    name="document",
    title="1 MB over a link of 90 kB/s a connection and 3.5 MB/s in all, pool 100",
    scenario="document",
    parts=(Part("", "document", _over_link((1, 10, 50, 100, 200, 400), pool=100, threads=200)),),
    claims=(
        Claim("WebFlux and platform threads take the same time.", as_fast),
        Claim("100 connections limit throughput: below 100 users latency is that of one user.", flat_below_pool),
        Claim("The plateau is what the link passes.", plateau_of_link),
    ),
)

DOCUMENT_LATENCY = Publication(
    name="document-latency",
    title=f"1 MB, the database {LATENCY_MS / 1000:g} s away and no other limit, pools of 50, 100 and 200",
    scenario="document",
    parts=tuple(
        Part(
            _pool(pool),
            "document",
            Options(
                variants=VARIANTS,
                users=(50, 100, 200, 400),
                pool=pool,
                threads=200,
                timeout=TIMEOUT_S,
                link_latency_ms=LATENCY_MS,
            ),
        )
        for pool in POOLS
    ),
    claims=(
        Claim("R requests on N connections take ⌈R/N⌉·t in all, whatever serves them.", waves_of_pool),
        Claim("Twice the connections serve 400 users in half the time.", more_connections_help),
        Claim("WebFlux and platform threads take the same time.", as_fast),
    ),
)

DOCUMENT_FIXED = Publication(
    name="document-fixed",
    title="1 MB over the same link, pool 200, ten threads",
    scenario="document",
    parts=(Part("", "document-fixed", _over_link((1, 10, 50, 100, 200), pool=200, threads=10)),),
    claims=(
        Claim("R requests on ten platform threads take ⌈R/10⌉·t in all.", ten_threads_wait),
        Claim("With more users than threads, ten platform threads are slower than WebFlux.", threads_cost_time),
        Claim("WebFlux is not slowed by ten threads: it is as fast as the link.", without_threads_the_link_decides),
    ),
)

PUBLICATIONS = (DOCUMENT, DOCUMENT_LATENCY, DOCUMENT_FIXED)
