"""The claims about a session on generations and styles of Spring: no gain from 4 to 5, reactive slower, and errors."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from lab.experiments.operations.scenario import SCENARIO
from lab.experiments.reproduction.judging import (
    FEW_PERCENT,
    NEAR,
    ClaimCheck,
    FailedPercent,
    Measure,
    at_least,
    at_most,
    decide,
    error_percent,
    mostly,
    ratios,
    sum_s,
    variant_pairs,
)
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    REFUTED,
    Claim,
    Judge,
    Part,
    Publication,
    Repeat,
    ReproducedRow,
)
from lab.spec.options import Options

USERS, OVERLOADS = 5000, (10_000, 15_000, 20_000)
# Controllers that block, on the same generation as the styles: what those are compared with.
BLOCKING = ("mvc", "mvc-mongo")
UNDER_OVERLOAD = ("boot-1.5", "mvc", "controller-parallel", "rest-parallel")
# Of the requests, in percent: "often more than 40 % of KO requests".
MANY_PERCENT = 40.0
# How the names of reactive styles begin; and of those that log users in that way, too.
REACTIVE, LOGGING_IN = ("rest-", "controller-", "repository-"), ("rest-",)
# What a person takes for instantaneous (Miller, AFIPS Fall Joint Computer Conference, 1968); published are 5 ms by a
# layer on parallel, and 2.7 s by controllers that wait for a thread.
AT_ONCE_S = 0.1
ON_PARALLEL = ("rest-parallel", "rest-parallel-mongo")
REFUSED, LOGIN = "unauthenticated account", "authenticate"
SLOWER = (1 + NEAR, math.inf)

Rows = Sequence[ReproducedRow]
Pairs = list[tuple[ReproducedRow, ReproducedRow]]


def global_s(repeat: Repeat) -> float | None:
    """The document's mean of a request: the sums by name of a session, over 26; None where a name has no answer.

    The mean over all requests is something else where sessions were stopped early: those sent only the first requests,
    which are the slow ones.
    """
    sums_s = [repeat.sums_s.get(request.name) for request in SCENARIO.requests]
    known = [each for each in sums_s if each is not None]
    return sum(known) / SCENARIO.requests_a_session if len(known) == len(sums_s) else None


def no_gain(rows: Rows) -> tuple[str, str]:
    """Whether Spring 5 is no faster than Spring 4, on either database."""
    pairs = [pair for on in ("", "-mongo") for pair in variant_pairs(rows, f"boot-2.0{on}", f"boot-1.5{on}")]
    return decide(_compared(pairs, "", 1 - NEAR, math.inf))


def reactive_slower(rows: Rows) -> tuple[str, str]:
    """Whether each style that returns Mono and Flux takes longer than blocking controllers of the same generation."""
    styles = dict.fromkeys(row.variant for row in rows if _is_reactive(row.variant))
    return decide(_compared(_over_blocking([row for row in rows if row.users == USERS], styles), "", *SLOWER))


def errors_at_twice(rows: Rows) -> tuple[str, str]:
    """Whether at twice the load requests of reactive styles fail, and hardly any of the others."""
    at_twice = [row for row in rows if row.users == OVERLOADS[0]]
    reactive = [row for row in at_twice if _is_reactive(row.variant)]
    others = [row for row in at_twice if not _is_reactive(row.variant)]
    return decide(
        [
            *at_least(reactive, error_percent, lambda _: FEW_PERCENT, " %"),
            *at_most(others, error_percent, lambda _: FEW_PERCENT, " %"),
        ]
    )


def many_fail(measure: Measure, styles: tuple[str, ...]) -> Judge:
    """That from twice the load on, more than 40 % of the requests of some styles fail often: in most of their rows."""

    def judge(rows: Rows) -> tuple[str, str]:
        overloaded = [row for row in rows if row.users in OVERLOADS and row.variant.startswith(styles)]
        return mostly(at_least(overloaded, measure, lambda _: MANY_PERCENT, " %"))

    return judge


def refuses_at_once(rows: Rows) -> tuple[str, str]:
    """Whether a REST layer on ``parallel`` refuses who is not logged in within a tenth of a second."""
    layers = [row for row in rows if row.users == USERS and row.variant in ON_PARALLEL]
    checks = zip(layers, at_most(layers, sum_s(REFUSED), lambda _: AT_ONCE_S, " s"), strict=True)
    return decide(_unless_failed(check, row, REFUSED) if check.word == CONFIRMED else check for row, check in checks)


def slow_login(rows: Rows) -> tuple[str, str]:
    """Whether a REST layer on ``parallel`` takes longer to log in than blocking controllers."""
    usual = [row for row in rows if row.users == USERS]
    return decide(_compared(_over_blocking(usual, ON_PARALLEL), LOGIN, *SLOWER))


def _compared(pairs: Pairs, name: str, low: float, high: float) -> Iterator[ClaimCheck]:
    """Checks of the ratios of what requests of a name take, or all of a session if it is empty.

    What was not answered would have taken longer than what was, so that a row in which requests failed takes at least
    as long as it says: what that could turn is left undecided.
    """
    for one, other in pairs:
        (check,) = ratios([(one, other)], sum_s(name) if name else global_s, low, high)
        # Which of the two rows, if it took longer, would turn each word.
        words = (REFUTED, CONFIRMED) if math.isinf(high) else (CONFIRMED, REFUTED)
        turning = dict(zip(words, (one, other), strict=True)).get(check.word)
        yield _unless_failed(check, turning, name) if turning else check


def _unless_failed(check: ClaimCheck, row: ReproducedRow, name: str) -> ClaimCheck:
    """A check, which decides nothing where requests of a row failed, of a name or of any, as they would have waited."""
    if not _failed(row, name):
        return check
    return replace(check, doubt=f"which decides nothing, as requests of {row.variant} failed")


def _failed(row: ReproducedRow, name: str) -> bool:
    """Whether more than a few requests of a name failed, or of any name if it is empty."""
    shares = (share for repeat in row.usable for each, share in repeat.failed_shares.items() if name in ("", each))
    return any(100 * share > FEW_PERCENT for share in shares)


def _over_blocking(rows: Rows, names: Iterable[str]) -> Pairs:
    """Rows of some variants with those of blocking controllers at the same load."""
    return [pair for name in names for blocking in BLOCKING for pair in variant_pairs(rows, name, blocking)]


def _is_reactive(name: str) -> bool:
    return name.startswith(REACTIVE)


def _on(database: str) -> tuple[str, ...]:
    """The variants on a database that reproduce a published row, and the one that styles are compared with."""
    on = [variant for variant in SCENARIO.variants if variant.factors["database"] == database]
    return tuple(variant.name for variant in on if variant.published_as or variant.name in BLOCKING)


def _part(name: str, variants: Iterable[str], users: tuple[int, ...], **how: Any) -> Part:
    options = Options(variants=tuple(variants), users=users, ramp_up=60.0, timeout=60.0)
    return Part(name, "operations", options, **how)


OPERATIONS = Publication(
    name="operations",
    title="A session of 26 requests: Spring 4, Spring 5, and styles that return Mono and Flux",
    scenario="operations",
    parts=(
        # The same starts serve what follows, as a warm-up takes longer than a load.
        _part("MySQL", _on("MySQL"), (USERS,), together=True),
        _part("MongoDB", _on("MongoDB"), (USERS,)),
        # Twice tells a tenth of failures from two fifths, and leaves room for three repeats of the published rows.
        _part("MySQL, overload", UNDER_OVERLOAD, OVERLOADS, most_repeats=2, together=True),
    ),
    claims=(
        Claim("Spring 5 is no faster than Spring 4.", no_gain),
        Claim("Reactive styles are slower than blocking controllers.", reactive_slower),
        Claim("At twice the load requests of reactive styles fail, and hardly any others.", errors_at_twice),
        Claim(
            "From twice the load on, often more than 40 % of their requests fail (in most of the rows).",
            many_fail(error_percent, REACTIVE),
        ),
        Claim(
            "From twice the load on, often more than 40 % of the logins by a reactive REST layer fail (in most of the "
            "rows).",
            many_fail(FailedPercent(LOGIN), LOGGING_IN),
        ),
        Claim("A reactive REST layer on parallel refuses at once who is not logged in (0.1 s).", refuses_at_once),
        Claim("And it takes longer to log in.", slow_login),
    ),
    cores=8,
    memory_gb=16.0,
    repeated_within_s=5400.0,
    # The document's mean of a row in which requests failed is that of all of them.
    figures=("all_mean_s",),
)

PUBLICATIONS = (OPERATIONS,)
