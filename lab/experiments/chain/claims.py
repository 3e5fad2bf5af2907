"""The claims about a service that calls another one, judged on an open ramp that is a twentieth of the document's.

The ramp lasts 45 s instead of 900 s, with a timeout that is as much shorter: what queues up beyond the knee grows with
the length of the ramp, and so does what fails of it. A ramp of users who wait for their answers is the ablation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from lab.experiments.reproduction.judging import (
    NEAR,
    Measure,
    decide,
    fewer_fail,
    figure,
    near,
    ok_rps,
    ratios,
    rows_of_variant,
    variant_pairs,
    within,
)
from lab.experiments.reproduction.publication import VARIANTS, Claim, Part, Publication, Repeat, ReproducedRow
from lab.spec.options import Options

DOCUMENT_S, LASTING_S = 900, 45
TO_RPS, TIMEOUT_S = 1000, 60 * LASTING_S / DOCUMENT_S
# As many as are under way where every request of the highest rate waits for its timeout, and some to spare.
OPEN_USERS = 3500
DELAY_MS, THREADS = 200, 100
# More than are ever in use: threads are what is compared.
CONNECTIONS = 4000
CLOSED_USERS = 1000
# Long enough that a thousand requests wait at once at a rate that takes little CPU; and a thread for each of them. Its
# heap is so small that there are collections, which show what of it is held.
WAITING_MS, WAITING_THREADS = 2000, 1200

OPEN, CLOSED, WAITING = "open ramp", "ramp of users", "ramp of users who wait for 2 s"
BY_REST_TEMPLATE = "mvc-resttemplate"
READ, WRITE = "plain read", "plain write"
# 221/s × 20 s, by Little's law.
PUBLISHED_UNDER_WAY = 4420
KNEE_SHARE = 0.10
# What "several times" is at least.
SEVERAL = 2.0


def _further(one: str, other: str, measure: Measure, rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a measure of one variant is larger than that of another, on the open ramp."""
    pairs = [pair for pair in variant_pairs(rows, one, other) if pair[0].part == OPEN]
    return decide(ratios(pairs, measure, 1 + NEAR, math.inf))


def knee_of_threads(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether T platform threads keep pace up to T/t requests a second."""
    return decide(near(rows_of_variant(rows, "mvc", OPEN), figure("kept_rps"), _capacity_rps, "/s", KNEE_SHARE))


def _capacity_rps(row: ReproducedRow) -> float:
    """T/t."""
    return (row.servers or 0.0) / (row.service_s or 1.0)


def collapse_earlier(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether right answers of platform threads fall to half, and those of event loops do not until a higher rate.

    The document says nothing of it: its rates are those at which response times "crash", where pace is lost.
    """
    pairs = [pair for pair in variant_pairs(rows, "webflux", "mvc") if pair[0].part == OPEN]
    return decide(ratios(pairs, _without_collapse_rps, 1 + NEAR, math.inf, figure("collapse_rps")))


def _without_collapse_rps(repeat: Repeat) -> float | None:
    """Up to which rate a service did at least not collapse: all of the ramp, where it never did."""
    return repeat.figures.get("collapse_rps", TO_RPS if "kept_rps" in repeat.figures else None)


def slower_below_the_knee(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a request takes several times as long on platform threads where all are answered, B's answer left out.

    With it no request takes less than t, which is ten times the 20 ms that are published.
    """
    pairs = [pair for pair in variant_pairs(rows, "mvc", "webflux") if pair[0].part == OPEN]
    return decide(ratios(pairs, _besides_b_s, SEVERAL, math.inf))


def _besides_b_s(repeat: Repeat) -> float | None:
    """The mean latency below the knee less the time in which B answers; None where that is nothing."""
    before_s = repeat.figures.get("before_knee_s", 0.0)
    return before_s - DELAY_MS / 1000 if before_s > DELAY_MS / 1000 else None


def fails_less(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether fewer requests to event loops fail, in percentage points: 4 against 0 % is 1.04 times as many right."""
    return fewer_fail(pair for pair in variant_pairs(rows, "webflux", "mvc") if pair[0].part == OPEN)


def clients_alike(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether platform threads keep pace up to the same rate by the document's client as by RestClient."""
    pairs = [pair for pair in variant_pairs(rows, BY_REST_TEMPLATE, "mvc") if pair[0].part == OPEN]
    return decide(ratios(pairs, figure("kept_rps"), 1 - KNEE_SHARE, 1 + KNEE_SHARE))


def under_way_by_users(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether as many requests are under way as the published figures need, where users wait for their answers."""
    of_users = [row for row in rows if row.part in (CLOSED, WAITING)]
    return decide(within(of_users, figure("in_flight"), PUBLISHED_UNDER_WAY, math.inf, " under way"))


def thread_for_each(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether each request that waits holds a thread of the operating system, on platform threads alone."""
    of_threads = rows_of_variant(rows, "mvc", WAITING)
    others = [row for name in ("mvc-virtual", "webflux") for row in rows_of_variant(rows, name, WAITING)]
    threads = figure("threads")
    held = within(of_threads, threads, 1 - KNEE_SHARE, 1 + KNEE_SHARE, " threads each")
    return decide([*held, *within(others, threads, -KNEE_SHARE, KNEE_SHARE, " threads each")])


def memory_of_threads(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a request that waits holds more memory on platform threads, heap and all else together.

    Judged is what the others hold over what these do: they may hold nothing, and give some back.
    """
    pairs = [pair for other in ("mvc-virtual", "webflux") for pair in variant_pairs(rows, other, "mvc")]
    waiting = [pair for pair in pairs if pair[0].part == WAITING]
    return decide(ratios(waiting, figure("memory_bytes"), -math.inf, 1 / (1 + NEAR)))


def no_gain(part: str, rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether WebFlux answers no more plain operations than MVC."""
    pairs = [pair for pair in variant_pairs(rows, "webflux-template", "mvc-template") if pair[0].part == part]
    return decide(ratios(pairs, ok_rps, -math.inf, 1 + NEAR))


def _part(name: str, threads: int, delay_ms: int, variants: Sequence[str] = VARIANTS, **load: object) -> Part:
    limits = {"threads": threads, "pool": CONNECTIONS}
    options = Options(variants=variants, parameters={"delay_ms": delay_ms}, **limits, **load)  # type: ignore[arg-type]
    return Part(name, "chain", options, instead_of=f"{DOCUMENT_S} s")


def _plain(name: str, operation: str) -> Part:
    """An operation on MongoDB by itself, by what both stacks call it: a template."""
    variants = ("mvc-template", "webflux-template")
    options = Options(variants=variants, users=(50,), duration=6.0, parameters={"operation": operation})
    return Part(name, "chain", options, instead_of=f"{DOCUMENT_S} s", scenario="mongo-access")


CHAIN = Publication(
    name="chain",
    title=f"A calls B, which answers after {DELAY_MS} ms; a ramp from 0 to {TO_RPS} requests/s, {THREADS} threads",
    scenario="chain",
    parts=(
        _part(
            OPEN,
            THREADS,
            DELAY_MS,
            (*VARIANTS, BY_REST_TEMPLATE),
            ramp=(0, TO_RPS, LASTING_S),
            timeout=TIMEOUT_S,
            users=(OPEN_USERS,),
        ),
        _part(CLOSED, THREADS, DELAY_MS, ("mvc", "webflux"), users=(CLOSED_USERS,), ramp_up=20.0, duration=20.0),
        _part(WAITING, WAITING_THREADS, WAITING_MS, users=(CLOSED_USERS,), ramp_up=15.0, duration=15.0, heap_mb=256),
        _plain(READ, "get-one"),
        _plain(WRITE, "add-one"),
    ),
    claims=(
        Claim(
            "Event loops keep pace further than platform threads (520 and 350/s).",
            partial(_further, "webflux", "mvc", figure("kept_rps")),
        ),
        Claim(
            "Right answers of platform threads fall to half of their most at a lower rate than those of event loops.",
            collapse_earlier,
        ),
        Claim("T platform threads keep pace up to T/t.", knee_of_threads),
        Claim("RestTemplate, the document's client, keeps pace as far as RestClient.", clients_alike),
        Claim(
            "Virtual threads keep pace further than platform threads.",
            partial(_further, "mvc-virtual", "mvc", figure("kept_rps")),
        ),
        Claim("Fewer requests fail on event loops (18 and 43 %).", fails_less),
        Claim(
            "More requests are answered within 800 ms on event loops (35 and 12 %).",
            partial(_further, "webflux", "mvc", figure("prompt_share")),
        ),
        Claim(
            "WebFlux answers more requests of the ramp right (362 and 221/s, failures among them).",
            partial(_further, "webflux", "mvc", figure("right_rps")),
        ),
        Claim(
            "The mean over the whole ramp is longer on platform threads (20 and 5 s).",
            partial(_further, "mvc", "webflux", figure("all_mean_s")),
        ),
        Claim(
            "Below the knee a request takes several times as long on platform threads (300 and 20 ms), t left out.",
            slower_below_the_knee,
        ),
        Claim(
            f"Of {CLOSED_USERS:,} users who wait, {PUBLISHED_UNDER_WAY:,} requests are under way (221/s × 20 s).",
            under_way_by_users,
        ),
        Claim("A request that waits holds a platform thread, and none on the other stacks.", thread_for_each),
        Claim("A request that waits holds more memory on platform threads.", memory_of_threads),
        Claim("A plain read gains nothing from WebFlux.", partial(no_gain, READ)),
        Claim("A plain write gains nothing from WebFlux.", partial(no_gain, WRITE)),
    ),
    # Three repeats on two cores.
    repeated_within_s=1800.0,
    figures=(
        *("all_mean_s", "right_rps", "prompt_share", "before_knee_s", "kept_rps", "collapse_rps"),
        *("in_flight", "threads"),
    ),
)

PUBLICATIONS = (CHAIN,)
