"""The claims about the endpoint that waits: the published table, and a short listen backlog under its largest load."""

from __future__ import annotations

from collections.abc import Sequence

from lab.experiments.reproduction.judging import (
    FEW_PERCENT,
    NEAR,
    ClaimCheck,
    alike,
    at_least,
    at_most,
    decide,
    error_percent,
    formula_time_s,
    mean_s,
    near,
    ok_rps,
    ratios,
    row_waves,
    rows_of_variant,
    time_for_all_s,
    variant_pairs,
)
from lab.experiments.reproduction.publication import (
    UNDECIDED,
    VARIANTS,
    Claim,
    Part,
    Publication,
    ReproducedRow,
    of_other_users,
)
from lab.spec.options import Options

SHORT, LARGE = "accept count 100", "accept count 4096"
# What the document reports of platform threads at its largest load: with Tomcat's own backlog, which it did not change.
PUBLISHED_FAILED_PERCENT, PUBLISHED_BACKLOG = 13.88, 100
# The document's mean of a row in which requests failed is that of all of them.
OF_ALL = ("all_mean_s",)
# From so many waves on, the ramp is a small part of the time.
MANY_WAVES = 5


def _t(row: ReproducedRow) -> float:
    return row.service_s or 0.0


def _plateau(row: ReproducedRow) -> float:
    return (row.servers or 0.0) / _t(row) if row.service_s else 0.0


def _all_waves_s(row: ReproducedRow) -> float:
    return row_waves(row) * _t(row)


def _queued(rows: Sequence[ReproducedRow], waves: int = 2) -> list[ReproducedRow]:
    return [row for row in rows_of_variant(rows, "mvc") if row_waves(row) >= waves]


def keeps_t(variant: str) -> Claim:
    """That a variant answers in t, however many users there are."""
    return Claim(
        f"{variant} keeps its mean latency at t up to the largest load.",
        lambda rows: decide(near(rows_of_variant(rows, variant), mean_s, _t)),
    )


def formula_total(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether R requests on T threads take ⌈R/T⌉·t in all, from two waves on."""
    return decide(check for row in _queued(rows) for check in near([row], time_for_all_s(row), _all_waves_s))


def formula_mean(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether ⌈R/T⌉·t is what a request takes on average, from two waves on."""
    return decide(near(_queued(rows), mean_s, _all_waves_s))


def wave_model(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether means follow the wave model on platform threads."""
    return decide(near(rows_of_variant(rows, "mvc"), mean_s, lambda row: row.model_mean_s or 0.0))


def plateau(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether platform threads answer T/t requests a second once there are many waves."""
    return decide(near(_queued(rows, MANY_WAVES), ok_rps, _plateau, "/s"))


def free_throughput(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux answers R/(t + ramp) a second: all that a burst lets it; from 100 users on.

    The last user starts one step before the ramp ends, which matters where few stand for many.
    """
    many = rows_of_variant(rows, "webflux", users=lambda r: r >= 100)
    return decide(near(many, ok_rps, lambda row: row.users / formula_time_s(row, _t(row)), "/s"))


def alike_below_t(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux and platform threads are equal while there is a thread for everybody."""
    pairs = [pair for pair in variant_pairs(rows, "webflux", "mvc") if row_waves(pair[1]) == 1]
    return decide(alike(pairs, mean_s))


def fails_as_published(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether as many requests to platform threads fail as the document says, with the short backlog.

    Who finds it full depends on how many come in a second, which fewer users in the same ramp are not.
    """
    short = rows_of_variant(rows, "mvc", SHORT)
    return of_other_users(short, "delay-overload") or decide(
        near(short, error_percent, lambda _: PUBLISHED_FAILED_PERCENT, " % failed")
    )


def short_backlog_fails(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether requests to platform threads fail with the short backlog, of as many users as the document's."""
    short = rows_of_variant(rows, "mvc", SHORT)
    return of_other_users(short, "delay-overload") or decide(
        at_least(short, error_percent, lambda _: FEW_PERCENT, " % failed")
    )


def large_backlog_cures(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether errors vanish with the large backlog; undecided where there were none with the short one."""
    short = rows_of_variant(rows, "mvc", SHORT)
    before = [(row, 100 * repeat.error_share) for row in short for repeat in row.usable]
    if before and all(value < FEW_PERCENT for _, value in before):
        return UNDECIDED, f"There were none to vanish: {before[0][0].label} had {before[0][1]:.2g} % failed."
    large = decide(at_most(rows_of_variant(rows, "mvc", LARGE), error_percent, lambda _: FEW_PERCENT, " % failed"))
    return large if before else (UNDECIDED, "Nothing valid was measured with the short backlog.")


def bounded_by_threads(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether platform threads never answer more than T/t a second, with either backlog."""
    return decide(at_most(rows_of_variant(rows, "mvc"), ok_rps, lambda row: (1 + NEAR) * _plateau(row), "/s"))


def backlog_costs_time(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether virtual threads answer faster with the large backlog than with the short one."""
    large = {row.users: row for row in rows_of_variant(rows, "mvc-virtual", LARGE)}
    pairs = [(row, large[row.users]) for row in rows_of_variant(rows, "mvc-virtual", SHORT) if row.users in large]
    checks: list[ClaimCheck] = ratios(pairs, mean_s, 1 + NEAR, float("inf"))
    return decide(checks)


DELAY = Publication(
    name="delay",
    title="2 s of waiting, 1 to 4000 users, 200 threads",
    scenario="delay",
    parts=(Part("", "delay", Options(variants=VARIANTS, users=(1, 10, 100, 500, 1000, 2000, 4000), threads=200)),),
    figures=OF_ALL,
    claims=(
        keeps_t("webflux"),
        keeps_t("mvc-virtual"),
        Claim(
            "While there is a thread for every user, WebFlux and platform threads take the same time.", alike_below_t
        ),
        Claim("T platform threads answer at most T/t requests a second, and do.", plateau),
        Claim("R requests on T threads take ⌈R/T⌉·t in all.", formula_total),
        Claim("⌈R/T⌉·t is the mean latency.", formula_mean),
        Claim("The mean on platform threads follows the wave model.", wave_model),
        Claim("WebFlux answers R/(t + ramp) requests a second.", free_throughput),
        Claim(
            f"{PUBLISHED_FAILED_PERCENT} % of the requests to platform threads fail at 4000 users.",
            fails_as_published,
            made_for={"accept_count": PUBLISHED_BACKLOG},
            elsewhere="delay-overload",
        ),
    ),
)

DELAY_OVERLOAD = Publication(
    name="delay-overload",
    title="4000 users within a second, a listen backlog of 100 against 4096",
    scenario="delay",
    parts=tuple(
        Part(name, "delay", Options(variants=VARIANTS, users=(4000,), threads=200, accept_count=count))
        for name, count in ((SHORT, PUBLISHED_BACKLOG), (LARGE, 4096))
    ),
    figures=OF_ALL,
    claims=(
        Claim("With a backlog of 100, requests to platform threads fail.", short_backlog_fails),
        Claim(
            f"{PUBLISHED_FAILED_PERCENT} % of them do, at 4000 users.",
            fails_as_published,
            made_for={"accept_count": PUBLISHED_BACKLOG},
        ),
        Claim("With a large backlog the errors vanish.", large_backlog_cures),
        Claim("Platform threads answer at most T/t requests a second, with either backlog.", bounded_by_threads),
        Claim(
            "A short backlog makes virtual threads slower: dropped connections try again a second later.",
            backlog_costs_time,
        ),
    ),
)

PUBLICATIONS = (DELAY, DELAY_OVERLOAD)
