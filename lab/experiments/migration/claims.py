"""The claims about an application that moved to WebFlux: small differences, fewer failures in stress, no less memory.

The document prints no table: its figures are pictures, so that what it says of them is judged, and nothing is beside
the measured rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from lab.experiments.migration import records
from lab.experiments.migration.scenario import BESIDE
from lab.experiments.reproduction.judging import (
    COUNTED,
    NEAR,
    ClaimCheck,
    Measure,
    at_least,
    at_most,
    decide,
    differences,
    error_percent,
    fewer_fail,
    figure,
    mean_s,
    ratios,
    rows_of_variant,
    variant_pairs,
    within,
)
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    UNDECIDED,
    Claim,
    Judge,
    Part,
    Publication,
    Repeat,
    ReproducedRow,
)
from lab.spec.options import Options

WEBFLUX, NO_CACHE, CACHED = "webflux-r2dbc", "mvc-jpa", "mvc-jpa-cached"
OF_THE_DOCUMENT = (WEBFLUX, NO_CACHE, CACHED)
NORMAL, HIGHER, STRESS = "normal", "higher", "stress"
# Two that the document has not: half of the sessions save, of few requesters; and its stress with few threads and
# little memory.
SAVING, SCARCE = "half save", "stress, few threads, little memory"
USERS, STRESS_USERS = 350, 10_000
# The document's ramps take 60 s. At normal and higher load each user finds idle nodes here, within 30 s as within 60.
# In stress 60 s are no stress for nodes that spend half a millisecond of CPU time on a request: nobody would wait.
PUBLISHED_RAMP_S, RAMP_S, STRESS_RAMP_S = 60.0, 30.0, 5.0
# As many as Spring Boot has by itself.
THREADS, CONNECTIONS = 200, 10
SCARCE_THREADS, SCARCE_HEAP_MB = 20, 256
# All at once and for a while, so that somebody nearly always saves what others look up; each has a record of its own.
SAVING_USERS, SAVING_RAMP_S, SAVING_LOOPS, SAVES_PERCENT = 1000, 1.0, 10, 50
REQUESTERS = SAVING_USERS * records.LOOKUPS // records.COUNT
# Longer than the slowest answers of the document, and shorter than requests wait for a connection (see the scenario).
TIMEOUT_S = 300.0
# Where the document's scale of points begins to call a difference one of more than a point (experiment jwt).
SMALL = 0.2
HALF, ALMOST = 0.5, 0.1
NEARLY_THREE_MINUTES_S = 170.0
OBJECTIVE_P99_S, OBJECTIVE_ERRORS = 10.0, 10
MISSED = "service_scrapes_missed"

Rows = Sequence[ReproducedRow]
Pairs = list[tuple[ReproducedRow, ReproducedRow]]


def _against(rows: Rows, variant: str, parts: Sequence[str], others: Sequence[str] = OF_THE_DOCUMENT) -> Pairs:
    """A variant with each of the others, in these parts."""
    pairs = [pair for other in others if other != variant for pair in variant_pairs(rows, variant, other)]
    return [pair for pair in pairs if pair[0].part in parts]


def compares(
    rows: Rows,
    variant: str,
    measure: Measure,
    low: float,
    high: float,
    parts: Sequence[str],
    others: Sequence[str] = OF_THE_DOCUMENT,
) -> tuple[str, str]:
    """Whether a measure of a variant is within a range of times that of each of the others."""
    return decide(ratios(_against(rows, variant, parts, others), measure, low, high))


def differences_are_small(rows: Rows) -> tuple[str, str]:
    """Whether the means of all variants differ by a fifth at most, at normal and at higher load."""
    pairs = [pair for variant in OF_THE_DOCUMENT for pair in _against(rows, variant, (NORMAL, HIGHER))]
    return decide(ratios(pairs, mean_s, 1 - SMALL, 1 + SMALL))


def rises(
    rows: Rows, measure: Measure, low: float, high: float, variants: Sequence[str] = (WEBFLUX,)
) -> tuple[str, str]:
    """Whether a measure of each of some variants at higher load is within a range of times that at normal load."""
    pairs = [pair for variant in variants for pair in _higher_and_normal(rows, variant)]
    return decide(ratios(pairs, measure, low, high))


def _higher_and_normal(rows: Rows, variant: str) -> Pairs:
    return list(zip(rows_of_variant(rows, variant, HIGHER), rows_of_variant(rows, variant, NORMAL), strict=False))


def gap_changes(rows: Rows, other: str, low: float, high: float) -> tuple[str, str]:
    """Whether WebFlux's longest answer is so much farther from another variant's at higher load than at normal load.

    Args:
        low, high: of the gap at higher load less that at normal load, in seconds.

    """
    gaps = [_gap(*pair) for pair in _against(rows, WEBFLUX, (NORMAL, HIGHER), (other,))]
    of_both = _higher_and_normal(gaps, _pair_name(WEBFLUX, other))
    return decide(differences(of_both, figure("gap_s"), low, high, " s"))


def _pair_name(one: str, other: str) -> str:
    return f"the longest of {one} from that of {other}"


def _gap(one: ReproducedRow, other: ReproducedRow) -> ReproducedRow:
    """A row whose repeats have how far the longest answers of two rows lie apart, whichever is longer: ``gap_s``."""
    longest_s = {repeat.number: repeat.figures.get("max_s") for repeat in other.usable}
    repeats = [
        replace(repeat, figures={"gap_s": abs(mine_s - its_s)})
        for repeat in one.repeats
        if (mine_s := repeat.figures.get("max_s")) is not None and (its_s := longest_s.get(repeat.number)) is not None
    ]
    # Earlier repeats have no gap, so that they say nothing of how far one measurement of it lies from the next.
    return replace(one, variant=_pair_name(one.variant, other.variant), repeats=tuple(repeats), earlier={})


def hop_share(repeat: Repeat) -> float | None:
    """What the cache found at the other node, of all that it found; None if it found nothing."""
    at_other, here = (repeat.figures.get(name, 0.0) for name in ("cache hops", "cache here"))
    return at_other / (at_other + here) if at_other + here else None


def hops(rows: Rows) -> tuple[str, str]:
    """Whether half of what the cache finds lies at the other node, in every part."""
    cached = rows_of_variant(rows, CACHED)
    return decide(within(cached, hop_share, (1 - NEAR) * HALF, (1 + NEAR) * HALF, " of what was found"))


def fewest_failures(rows: Rows) -> tuple[str, str]:
    """Whether fewer of WebFlux's requests in stress fail than of each of the others'."""
    return fewer_fail(_against(rows, WEBFLUX, (STRESS,)))


def three_minutes(rows: Rows) -> tuple[str, str]:
    """Whether a tenth of WebFlux's right answers in stress take nearly three minutes, or longer."""
    of_stress = rows_of_variant(rows, WEBFLUX, STRESS)
    return decide(at_least(of_stress, figure("p90_s"), lambda _: NEARLY_THREE_MINUTES_S, " s"))


def scrapes_are_lost(rows: Rows) -> tuple[str, str]:
    """Whether Prometheus misses a scrape of the nodes in stress, in all loads together; the balancer is none."""
    loads = [repeat for row in rows if row.part == STRESS for repeat in row.usable if MISSED in repeat.figures]
    missed = sum(repeat.figures[MISSED] for repeat in loads)
    label = f"{STRESS}, {len(loads)} loads together"
    return decide([ClaimCheck(label, (missed,), 1.0, math.inf, " scrapes missed", COUNTED)] if loads else [])


def equality_hides_an_advantage(rows: Rows, name: str) -> tuple[str, str]:
    """Whether WebFlux needs no less of something where all have the document's threads and memory, and less otherwise.

    Otherwise is where WebFlux alone has few threads and little memory. Less is by more than a small difference.

    Args:
        name: of the figure, as in ``summary.json``.

    """
    equal = _against(rows, WEBFLUX, (STRESS,), (NO_CACHE,))
    unequal = list(zip(rows_of_variant(rows, WEBFLUX, SCARCE), rows_of_variant(rows, NO_CACHE, STRESS), strict=False))
    if not equal or not unequal:
        return decide([])
    no_less = ratios(equal, figure(name), 1 - SMALL, math.inf)
    return decide([*no_less, *ratios(unequal, figure(name), -math.inf, 1 - SMALL)])


def never_stale(rows: Rows) -> tuple[str, str]:
    """Whether whoever looked records up after a save read what was saved, or what was newer.

    Where no look-up began while somebody saved the same records, nobody had the chance to read anything else. A worker
    knows of the saves of its own users alone.
    """
    saving = [row for row in rows if row.part == SAVING]
    word, said = decide(within(saving, _stale, 0, 0, " stale"))
    beside = [repeat.requests.get(BESIDE, 0) for row in saving for repeat in row.usable]
    if word != CONFIRMED:
        return word, said
    if not min(beside):
        return UNDECIDED, "No look-up began while somebody saved the same records, so that none could be stale."
    beside_them = f"At least {min(beside):,} look-ups began while a user of the same worker saved the same records."
    return word, f"{said} {beside_them}"


def _stale(repeat: Repeat) -> float:
    """How many look-ups of a repeat found less than was saved before."""
    return float(repeat.errors.get("stale", 0))


def objective(rows: Rows) -> tuple[str, str]:
    """Whether each variant keeps its p99 and its errors below the objective at normal load."""
    normal = [row for row in rows if row.part == NORMAL]
    return decide(
        [
            *at_most(normal, figure("p99_s"), lambda _: OBJECTIVE_P99_S, " s"),
            *at_most(normal, error_percent, lambda _: 100 * (OBJECTIVE_ERRORS - 1) / USERS, " % failed"),
        ]
    )


def _less(variant: str, name: str, *parts: str, others: Sequence[str] = OF_THE_DOCUMENT) -> Judge:
    return partial(compares, variant=variant, measure=figure(name), low=-math.inf, high=1.0, parts=parts, others=others)


def _more(variant: str, measure: Measure, *parts: str, others: Sequence[str] = OF_THE_DOCUMENT) -> Judge:
    return partial(compares, variant=variant, measure=measure, low=1.0, high=math.inf, parts=parts, others=others)


def _no_more(name: str) -> Judge:
    """That WebFlux uses no more of something in stress than the others, by more than the margin."""
    return partial(compares, variant=WEBFLUX, measure=figure(name), low=-math.inf, high=1 + NEAR, parts=(STRESS,))


def _collects(rows: Rows, name: str, low: float, high: float) -> tuple[str, str]:
    """Whether WebFlux collects garbage in stress for so much longer than each of the others, which may do so never."""
    collected = [repeat.figures.get(name) for row in rows if row.part == STRESS for repeat in row.usable]
    if collected and not any(collected):
        return UNDECIDED, "No variant collected garbage."
    return decide(differences(_against(rows, WEBFLUX, (STRESS,)), figure(name), low, high, " s"))


def _part(name: str, users: int, loops: int, most_repeats: int = 0, **others: Any) -> Part:
    options = Options(
        variants=OF_THE_DOCUMENT,
        users=(users,),
        ramp_up=RAMP_S,
        loops=loops,
        threads=THREADS,
        pool=CONNECTIONS,
        timeout=TIMEOUT_S,
        nodes=2,
        prometheus=True,
    )
    own = replace(options, **others)
    published = name in (NORMAL, HIGHER, STRESS)
    ramp_s = PUBLISHED_RAMP_S if published else 0.0
    return Part(name, "migration", own, most_repeats=most_repeats, together=published, ramp_instead_of_s=ramp_s)


MIGRATION = Publication(
    name="migration",
    title="JPA, with a clustered cache or without, and R2DBC: 350 users once and twice, 10,000 at once four times",
    scenario="migration",
    parts=(
        _part(NORMAL, USERS, 1),
        _part(HIGHER, USERS, 2),
        _part(STRESS, STRESS_USERS, 4, ramp_up=STRESS_RAMP_S),
        _part(
            SCARCE,
            STRESS_USERS,
            4,
            variants=(WEBFLUX, NO_CACHE),
            ramp_up=STRESS_RAMP_S,
            threads=SCARCE_THREADS,
            heap_mb=SCARCE_HEAP_MB,
        ),
        _part(
            SAVING,
            SAVING_USERS,
            SAVING_LOOPS,
            most_repeats=1,  # what it counts is counted exactly
            variants=(NO_CACHE, CACHED),
            ramp_up=SAVING_RAMP_S,
            parameters={"requesters": REQUESTERS, "saves": SAVES_PERCENT},
        ),
    ),
    claims=(
        Claim("Normal and higher load: differences of the mean are small.", differences_are_small),
        Claim("Normal and higher load: WebFlux has the best mean.", _less(WEBFLUX, "mean_s", NORMAL, HIGHER)),
        Claim("Normal and higher load: WebFlux has the best minimum.", _less(WEBFLUX, "min_s", NORMAL, HIGHER)),
        Claim(
            "Normal load: WebFlux's longest is almost half of that with the clustered cache.",
            partial(
                compares,
                variant=WEBFLUX,
                measure=figure("max_s"),
                low=HALF - ALMOST,
                high=HALF + ALMOST,
                parts=(NORMAL,),
                others=(CACHED,),
            ),
        ),
        Claim(
            "Normal load: the longest without cache is shorter than with the clustered cache.",
            _less(NO_CACHE, "max_s", NORMAL, others=(CACHED,)),
        ),
        Claim("Normal load: no cache has the best p99.", _less(NO_CACHE, "p99_s", NORMAL)),
        Claim("Normal load: no cache has the slowest minimum.", _more(NO_CACHE, figure("min_s"), NORMAL)),
        Claim(
            "Higher load: the mean of each goes up slightly, by a fifth at most.",
            partial(rises, measure=mean_s, low=1.0, high=1 + SMALL, variants=OF_THE_DOCUMENT),
        ),
        Claim(
            "Higher load: the minimum of each goes up slightly, by a fifth at most.",
            partial(rises, measure=figure("min_s"), low=1.0, high=1 + SMALL, variants=OF_THE_DOCUMENT),
        ),
        Claim(
            "Higher load: WebFlux's longest is less far from that without cache than at normal load.",
            partial(gap_changes, other=NO_CACHE, low=-math.inf, high=0.0),
        ),
        Claim(
            "Higher load: WebFlux's longest is farther from that with the clustered cache than at normal load.",
            partial(gap_changes, other=CACHED, low=0.0, high=math.inf),
        ),
        Claim("Higher load: WebFlux's p90 goes up.", partial(rises, measure=figure("p90_s"), low=1.0, high=math.inf)),
        Claim("Higher load: WebFlux's p95 goes up.", partial(rises, measure=figure("p95_s"), low=1.0, high=math.inf)),
        Claim(
            "Higher load: WebFlux's p99 goes down.", partial(rises, measure=figure("p99_s"), low=-math.inf, high=1.0)
        ),
        Claim(
            "Normal and higher load: the clustered cache is slower than none.",
            _more(CACHED, mean_s, NORMAL, HIGHER, others=(NO_CACHE,)),
        ),
        Claim("Half of what the clustered cache finds is a hop to the other node.", hops),
        Claim("Half save: nobody reads what is older than a save before, with a clustered cache too.", never_stale),
        Claim("Stress: WebFlux has the slowest mean.", _more(WEBFLUX, figure("all_mean_s"), STRESS)),
        Claim("Stress: WebFlux has the fewest failures.", fewest_failures),
        Claim(
            "Stress: a tenth of WebFlux's answers take nearly three minutes or longer.",
            three_minutes,
            by_ramp_of=STRESS,
        ),
        Claim("Stress: WebFlux uses more memory.", _more(WEBFLUX, figure("jvm_bytes"), STRESS)),
        Claim("Stress: WebFlux uses more of the heap.", _more(WEBFLUX, figure("heap_bytes"), STRESS)),
        Claim("Stress: WebFlux uses more CPU.", _more(WEBFLUX, figure("cpu_s"), STRESS)),
        Claim(
            "Stress: WebFlux collects garbage for longer.",
            partial(_collects, name="gc_pause_s", low=0.0, high=math.inf),
        ),
        Claim("Stress: for each right answer WebFlux uses no more CPU.", _no_more("cpu_s_per_1000_right")),
        Claim(
            "Stress: for each right answer it collects for no longer.",
            partial(_collects, name="gc_pause_s_per_1000_right", low=-math.inf, high=0.0),
        ),
        Claim("Stress: for each right answer it has no more memory in use.", _no_more("jvm_bytes_per_1000_right")),
        Claim("Stress: for each right answer it has no more heap in use.", _no_more("heap_bytes_per_1000_right")),
        Claim(
            "Stress: with JPA's threads and heap WebFlux needs no less memory; with few and little, less.",
            partial(equality_hides_an_advantage, name="jvm_bytes"),
        ),
        Claim(
            "Stress: with JPA's threads and heap WebFlux needs no less CPU; with few and little, less.",
            partial(equality_hides_an_advantage, name="cpu_s"),
        ),
        Claim("Stress: Prometheus loses scrapes.", scrapes_are_lost, by_ramp_of=STRESS),
        Claim("Normal load: every variant has p99 < 10 s, and fewer than 10 errors.", objective),
    ),
    repeated_within_s=2640.0,
    figures=(
        *("min_s", "p90_s", "p99_s", "max_s", "jvm_bytes", "heap_bytes", "gc_pause_s", "cpu_s_per_1000_right"),
        "jit_share",
        MISSED,
    ),
)

PUBLICATIONS = (MIGRATION,)
