"""Which of the changes since the document turns its result: the release of Java, the driver, or the way to MySQL.

The document's claim is judged at each setting of Java, driver and way to MySQL; a factor turns it where the claim is
confirmed with one setting of it and refuted with the other, everything else being the same, the load included.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from lab.experiments.jwt.claims import PUBLISHED_PAIR, Pair, by_as_much, is_faster, wins_the_scorecard
from lab.experiments.reproduction.judging import NEAR, decide, ok_rps, ratios, variant_pairs
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    REFUTED,
    UNDECIDED,
    Claim,
    Judge,
    Part,
    Publication,
    ReproducedRow,
)
from lab.spec.options import Options
from lab.spec.plan import WINDOWS

# WebFlux and virtual threads at the same setting: of today, with Java or the driver of the document, and with both.
TODAY = PUBLISHED_PAIR
OLD_DRIVER = ("webflux", "mvc-virtual-connector8")
OLD_JAVA = ("webflux-jdk21", "mvc-virtual-jdk21")
BOTH_OLD = ("webflux-jdk21", "mvc-virtual-jdk21-connector8")
# Both of today, and both by JDBC.
JDBC = ("webflux-jdbc", "mvc-virtual")
POLLERS = "mvc-virtual-systempollers"
EVERY, MORE = "every factor", "more connections"

Rows = Sequence[ReproducedRow]


def is_as_fast(rows: Rows, pair: Pair) -> tuple[str, str]:
    """Whether two variants answer as many a second, within the margin, at every load."""
    return decide(ratios(variant_pairs(rows, *pair), ok_rps, 1 - NEAR, 1 + NEAR))


def turns(rows: Rows, today: Pair, before: Pair) -> tuple[str, str]:
    """Whether "WebFlux is faster" is confirmed at one of two settings and refuted at the other, at any load."""
    by_load = {users: _turns_at(rows, users, today, before) for users in sorted({row.users for row in rows})}
    turned = [evidence for word, evidence in by_load.values() if word == CONFIRMED]
    if turned:
        return CONFIRMED, " ".join(turned)
    undecided = [evidence for word, evidence in by_load.values() if word == UNDECIDED]
    word = UNDECIDED if undecided or not by_load else REFUTED
    return word, " ".join(undecided or [evidence for _, evidence in by_load.values()])


def _turns_at(rows: Rows, users: int, today: Pair, before: Pair) -> tuple[str, str]:
    found = {pair: is_faster([row for row in rows if row.users == users], pair) for pair in (before, today)}
    said = " ".join(f"{' over '.join(pair)} is {word}: {evidence}" for pair, (word, evidence) in found.items())
    words = {word for word, _ in found.values()}
    if UNDECIDED in words:
        return UNDECIDED, said
    return (CONFIRMED if words == {CONFIRMED, REFUTED} else REFUTED), said


def _faster(one: str, other: str) -> Judge:
    return partial(is_faster, pair=(one, other))


def _claim(text: str, judge: Judge, part: str = EVERY) -> Claim:
    """A claim about the rows of one part: what is measured twice must not leave undecided what is measured thrice."""
    return Claim(text, lambda rows: judge([row for row in rows if row.part == part]))


def _part(name: str, variants: Sequence[str], *users: int) -> Part:
    # So that all are up at once in 14 GB; in less they go in batches with the first variant.
    options = Options(variants=variants, users=users, duration=20.0, heap_mb=512, interleave=WINDOWS)
    return Part(name, "jwt", options, instead_of="5,000,000 requests")


JWT_ABLATIONS = Publication(
    name="jwt-ablations",
    title="What made WebFlux 57 % faster: Java 21 or 25, Connector/J 8 or 9, R2DBC or JDBC",
    scenario="jwt-ablations",
    # What turns the claim is asked at one load: at three of them it would take an hour.
    parts=(
        _part(EVERY, (*TODAY, *BOTH_OLD, OLD_JAVA[1], OLD_DRIVER[1], POLLERS, JDBC[0]), 50),
        replace(_part(MORE, (*TODAY, *BOTH_OLD), 100, 300), most_repeats=2),
    ),
    claims=(
        _claim("With Java 21 and Connector/J 8.0.33 WebFlux is faster than virtual threads.", _faster(*BOTH_OLD)),
        _claim("With these WebFlux is 57 % faster than virtual threads.", partial(by_as_much, pair=BOTH_OLD)),
        _claim("With these WebFlux wins the scorecard.", partial(wins_the_scorecard, pair=BOTH_OLD)),
        _claim("With today's Java and driver WebFlux is faster than virtual threads.", _faster(*TODAY)),
        _claim("With today's WebFlux wins the scorecard.", partial(wins_the_scorecard, pair=TODAY)),
        _claim("The driver turns that, on Java 25.", partial(turns, today=TODAY, before=OLD_DRIVER)),
        _claim("The driver turns that, on Java 21.", partial(turns, today=OLD_JAVA, before=BOTH_OLD)),
        _claim("Java turns that, with Connector/J 9.", partial(turns, today=TODAY, before=OLD_JAVA)),
        _claim("Java turns that, with Connector/J 8.", partial(turns, today=OLD_DRIVER, before=BOTH_OLD)),
        _claim("Both together turn that.", partial(turns, today=TODAY, before=BOTH_OLD)),
        _claim("The way to MySQL turns that: R2DBC or JDBC.", partial(turns, today=TODAY, before=JDBC)),
        _claim(
            "With Java 21 and Connector/J 8.0.33 virtual threads are slower than with today's.",
            _faster("mvc-virtual", "mvc-virtual-jdk21-connector8"),
        ),
        _claim(
            "With Connector/J 9, Java 25 makes virtual threads faster than Java 21.",
            _faster("mvc-virtual", "mvc-virtual-jdk21"),
        ),
        _claim(
            "On Java 25, Connector/J 9 makes virtual threads faster than Connector/J 8.",
            _faster("mvc-virtual", "mvc-virtual-connector8"),
        ),
        _claim(
            "On Java 25, virtual threads are slower with the pollers of Java 21 (-Djdk.pollerMode=1).",
            _faster("mvc-virtual", POLLERS),
        ),
        _claim("Java 25 makes WebFlux faster than Java 21.", _faster("webflux", "webflux-jdk21")),
        _claim(
            "WebFlux with JDBC on boundedElastic is as fast as with R2DBC.",
            partial(is_as_fast, pair=("webflux-jdbc", "webflux")),
        ),
        _claim("WebFlux with JDBC is faster than virtual threads with it.", _faster(*JDBC)),
        _claim(
            "At 100 and 300 connections, with Java 21 and Connector/J 8.0.33, WebFlux is faster than virtual threads.",
            _faster(*BOTH_OLD),
            MORE,
        ),
        _claim(
            "At 100 and 300 connections, with today's Java and driver, WebFlux is faster than virtual threads.",
            _faster(*TODAY),
            MORE,
        ),
    ),
    # In less memory variants go in batches, and those that are never up together are not compared.
    memory_gb=14.0,
    repeated_within_s=2700.0,  # three starts on two cores
)

PUBLICATIONS = (JWT_ABLATIONS,)
