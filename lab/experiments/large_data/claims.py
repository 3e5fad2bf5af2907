"""The claims about large results: that reactive streams of them are slow, and that batches or pages cure that."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.experiments.entity_access import ONE_AFTER_ANOTHER, PUBLISHED_VARIANTS, STACKS
from lab.experiments.large_data.scenario import ENTITIES, OF_AN_INTEGER
from lab.experiments.reproduction.judging import (
    NEAR,
    ClaimCheck,
    decide,
    exactly,
    figure,
    mean_s,
    measured,
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
    ReproducedRow,
)
from lab.spec.options import Options

BATCH, MANY_USERS = 1000, 1000
# What the document speaks of; how often a driver by itself asks for more is shown beside them.
SPOKEN_OF = ("template", "repository")
VARIANTS = tuple(f"{stack}-{access}" for stack in STACKS for access in SPOKEN_OF)
COLLECTED, STREAMED, PAGED = "all, collected", "all, streamed", "all, paged"
IN_BATCHES, QUERY = f"all, streamed in batches of {BATCH}", "query over 1000"
QUERY_STREAMED, UPDATE_MANY = f"{QUERY}, streamed", "update of 1000"
ONES = ("insert-one", "get-one", "update-one")
SEVERAL_TIMES, HALF = 2.0, 0.5
MORE = figure("mongo getMore")
COMMANDS_SHOWN = tuple(f"mongo {name}" for name in ("find", "getMore", "insert", "update"))


def against_blocking(part: str, low: float, high: float, blocking: str = COLLECTED) -> Judge:
    """That the mean of reactive access in a part is within a range of times that of blocking access in another."""

    def judge(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
        return decide(ratios(_across(rows, part, blocking), mean_s, low, high))

    return judge


def cured_by(part: str) -> Judge:
    """That reactive access in a part takes no longer than a blocking list, where a stream takes several times as long.

    Where it does not there is nothing to cure, and that decides nothing.
    """

    def judge(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
        word, _ = against_blocking(STREAMED, SEVERAL_TIMES, math.inf)(rows)
        if word != CONFIRMED:
            return (
                UNDECIDED,
                f"That streams take several times as long is {word} here, and so there may be no gap to close.",
            )
        return against_blocking(part, -math.inf, 1 + NEAR)(rows)

    return judge


def _across(rows: Sequence[ReproducedRow], part: str, blocking: str) -> list[tuple[ReproducedRow, ReproducedRow]]:
    return [
        pair
        for access in SPOKEN_OF
        for pair in zip(
            rows_of_variant(rows, f"webflux-{access}", part),
            rows_of_variant(rows, f"mvc-{access}", blocking),
            strict=False,  # of a part that was not measured there are none
        )
    ]


def batches_counted(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether all entities take one find, and one more request for each further batch; or one for the end of the last.

    The database is asked once more where the last batch is full and it has not seen the end.
    """
    set_, further = [row for row in rows if row.part == IN_BATCHES], math.ceil(ENTITIES.count / BATCH) - 1
    more: list[ClaimCheck] = within(set_, MORE, further, further + 1, " further batches")
    return decide([*exactly(set_, figure("mongo find"), lambda _: 1, " finds"), *more])


def streams_ask_more(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether reactive streams ask the database for more batches than blocking ones, where the driver chooses.

    How many a reactive one asks for varies a little, as its demand depends on how fast its subscriber is; each count
    is one of many requests, and one more than a blocking stream ever took is more, however often it was measured.
    """
    checks: list[ClaimCheck] = []
    for reactive, blocking in _across(rows, STREAMED, STREAMED):
        if counted := measured(blocking, MORE):
            checks += within([reactive], MORE, max(counted) + 1, math.inf, " further batches")
        else:  # there is nothing to compare with
            checks += within([blocking], MORE, 0, math.inf, " further batches")
    return decide(checks)


def update_many_counts(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a repository updates a thousand entities by one command each, and the others by one command."""
    updates = [row for row in rows if row.part == UPDATE_MANY]
    due = {row.variant: OF_AN_INTEGER if row.variant.endswith("repository") else 1 for row in updates}
    return decide(exactly(updates, figure("mongo update"), lambda row: due[row.variant], " updates"))


def update_many_faster(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a reactive repository updates a thousand entities in half the time of a blocking one, or less."""
    pairs = [
        pair for pair in variant_pairs(rows, "webflux-repository", "mvc-repository") if pair[0].part == UPDATE_MANY
    ]
    return decide(ratios(pairs, mean_s, -math.inf, HALF))


def _part(name: str, operation: str, variants: Sequence[str] = VARIANTS, **parameters: str) -> Part:
    options = Options(
        variants=variants,
        users=(1,),
        ramp_up=0.0,
        loops=ONE_AFTER_ANOTHER,
        parameters={"operation": operation, **parameters},
    )
    return Part(name, "large-data", options)


def _of_many_users(operation: str) -> Part:
    options = Options(variants=VARIANTS, users=(MANY_USERS,), ramp_up=1.0, loops=1, parameters={"operation": operation})
    return Part(operation, "large-data", options, most_repeats=1)  # nothing is claimed of it


LARGE_DATA = Publication(
    name="large-data",
    title="10,000 entities: all, a thousand or one of them, in batches, as streams or in pages",
    scenario="large-data",
    parts=(
        _part(COLLECTED, "get-all", way="collected"),
        _part(STREAMED, "get-all", PUBLISHED_VARIANTS, way="streamed"),
        _part(IN_BATCHES, "get-all", way="streamed", batch_size=str(BATCH)),
        _part(PAGED, "get-all", way="paged"),
        _part(QUERY, "query-1k", way="collected"),
        _part(QUERY_STREAMED, "query-1k", way="streamed"),
        _part(UPDATE_MANY, "update-many-1k"),
        *map(_of_many_users, ONES),
    ),
    claims=(
        Claim("All entities in batches of n take one find and a request for each further batch.", batches_counted),
        Claim("By default, a reactive stream asks for more batches than a blocking one.", streams_ask_more),
        Claim(
            "A reactive stream of all entities takes several times as long as a blocking list.",
            against_blocking(STREAMED, SEVERAL_TIMES, math.inf),
        ),
        Claim(
            "A reactive stream of a query over 1000 takes several times as long as a blocking list.",
            against_blocking(QUERY_STREAMED, SEVERAL_TIMES, math.inf, QUERY),
        ),
        Claim("A set batch size cures a stream of all entities.", cured_by(IN_BATCHES)),
        Claim("Sorted pages cure it.", cured_by(PAGED)),
        Claim(
            "A repository updates a thousand entities by one command each, the others by one command.",
            update_many_counts,
        ),
        Claim("A reactive repository updates a thousand entities in half the time, or less.", update_many_faster),
    ),
    figures=COMMANDS_SHOWN,
)

PUBLICATIONS = (LARGE_DATA,)
