"""The claims about six ways to MongoDB: what a repository makes of an update, and whether the driver is fastest."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lab.experiments.entity_access import ACCESSES, ONE_AFTER_ANOTHER, PUBLISHED_VARIANTS, STACKS
from lab.experiments.mongo_access.scenario import OF_SEEDED, OPERATIONS
from lab.experiments.reproduction.judging import (
    NEAR,
    alike,
    decide,
    exactly,
    figure,
    mean_s,
    near,
    ratios,
    variant_pairs,
)
from lab.experiments.reproduction.publication import Claim, Judge, Part, Publication, ReproducedRow, of_other_users
from lab.spec.options import Options

USERS = 200
UPDATE_ONE, DISTINCT = "update-one", "update-one, distinct ids"
# Measured once, and compared with nothing: what was published for one user, and what was published of many, which were
# a list of one and say what the same operation on one says.
ADD_ALONE = "add-one, 1 user"
OF_ONE_USER = ("remove-one", "add-many")
OF_MANY = ("get-many", "update-many")
OF_ALL_USERS = tuple(name for name in OPERATIONS if name not in OF_ONE_USER + OF_MANY)
NOT_UPDATES = tuple(name for name in OF_ALL_USERS if not name.startswith("update"))
# What rounds to twice.
TWICE = (1.5, 2.5)
UPDATE_S = 10.0
# Those whose update is one command.
SINGLE_UPDATES = tuple(name for name in PUBLISHED_VARIANTS if not name.endswith("repository"))
COMMANDS_SHOWN = tuple(f"mongo {name}" for name in ("find", "getMore", "insert", "update", "delete"))


def update_counts(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a repository's update is a find and an update, and that of the others an update alone."""
    updates = [row for row in rows if row.part == UPDATE_ONE]
    finds = {row.variant: 1 if row.variant.endswith("repository") else 0 for row in updates}
    return decide(
        [
            *exactly(updates, figure("mongo find"), lambda row: finds[row.variant], " finds"),
            *exactly(updates, figure("mongo update"), lambda _: 1, " updates"),
        ]
    )


def compared(
    one: str, others: Sequence[str], low: float, high: float, operations: Sequence[str] = OF_ALL_USERS
) -> Judge:
    """That the means of a way of access and of each other one have a ratio in a range, on both stacks."""

    def judge(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
        pairs = [
            pair
            for stack in STACKS
            for other in others
            for pair in variant_pairs(rows, f"{stack}-{one}", f"{stack}-{other}")
        ]
        return decide(ratios([pair for pair in pairs if pair[0].part in operations], mean_s, low, high))

    return judge


def reactive_no_faster(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether reactive access takes at least as long as blocking access where threads do not limit that."""
    pairs = [pair for access in ACCESSES for pair in variant_pairs(rows, f"webflux-{access}", f"mvc-{access}")]
    return decide(ratios([pair for pair in pairs if pair[0].part in OF_ALL_USERS], mean_s, 1 - NEAR, math.inf))


def updates_wait(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether updates of one entity take ten seconds, as they wait for one another in the database.

    Of fewer users nothing of the kind was published, and they would wait for fewer.
    """
    updates = [row for row in rows if row.part == UPDATE_ONE and not row.variant.endswith("repository")]
    return of_other_users(updates, "mongo-access") or decide(near(updates, mean_s, lambda _: UPDATE_S))


def distinct_faster(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether updates take longer where all are of one entity than where each user has an entity of its own."""
    return decide(ratios(_between(rows, UPDATE_ONE, DISTINCT), mean_s, 1 + NEAR, math.inf))


def _between(rows: Sequence[ReproducedRow], one: str, other: str) -> list[tuple[ReproducedRow, ReproducedRow]]:
    """Rows of a part, each with that of another part of the same variant and load."""
    there = {(row.variant, row.users): row for row in rows if row.part == other}
    pairs = ((row, there.get((row.variant, row.users))) for row in rows if row.part == one)
    return [(row, peer) for row, peer in pairs if peer]


def few_threads(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether blocking access takes longer than reactive where it has ten threads."""
    pairs = [pair for access in ACCESSES for pair in variant_pairs(rows, f"mvc-{access}", f"webflux-{access}")]
    return decide(ratios([pair for pair in pairs if pair[0].part == FEW_THREADS], mean_s, 1 + NEAR, math.inf))


def virtual_alike(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether virtual threads take as long as platform threads of which there are enough."""
    pairs = [pair for access in ACCESSES for pair in variant_pairs(rows, f"mvc-virtual-{access}", f"mvc-{access}")]
    return decide(alike([pair for pair in pairs if pair[0].part == pool_part(POOLS[0])], mean_s))


def pools_no_faster(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a larger pool makes no operation faster than the default one."""
    pairs = [pair for pool in POOLS[1:] for pair in _between(rows, pool_part(pool), pool_part(POOLS[0]))]
    return decide(ratios(pairs, mean_s, 1 - NEAR, math.inf))


def pool_part(pool: int) -> str:
    """The name of the part with a pool."""
    return f"pool {pool}"


def _part(
    name: str,
    operation: str,
    users: int = USERS,
    *,
    contention: str = "same",
    variants: Sequence[str] = PUBLISHED_VARIANTS,
    **limits: int,
) -> Part:
    options = Options(
        variants=variants,
        users=(users,),
        ramp_up=1.0,
        loops=ONE_AFTER_ANOTHER if users == 1 else None,
        parameters={"operation": operation} | ({"contention": contention} if operation in OF_SEEDED else {}),
        **limits,  # type: ignore[arg-type] # threads and pool
    )
    once = users == 1 or operation in OF_MANY
    return Part(name, "mongo-access", options, request=operation, most_repeats=1 if once else 0)


ACCESS = Publication(
    name="mongo-access",
    title="Six ways to MongoDB, eight operations on entities of 59 kB, 200 users",
    scenario="mongo-access",
    parts=(
        _part(ADD_ALONE, "add-one", 1, variants=[f"{stack}-driver" for stack in STACKS]),
        *(_part(name, name, 1 if name in OF_ONE_USER else USERS) for name in OPERATIONS),
        _part(DISTINCT, UPDATE_ONE, contention="distinct", variants=SINGLE_UPDATES),
    ),
    claims=(
        Claim("An update through a repository is a find and an update, through the others an update.", update_counts),
        Claim(
            "An update through a repository takes about twice as long as through the template.",
            compared("repository", ["template"], *TWICE, operations=(UPDATE_ONE,)),
        ),
        Claim("The driver is fastest.", compared("driver", ["template", "repository"], -math.inf, 1.0)),
        Claim(
            "Template and repository are alike, but for updates.",
            compared("repository", ["template"], 1 - NEAR, 1 + NEAR, operations=NOT_UPDATES),
        ),
        Claim("Reactive access is no faster where threads do not limit the other.", reactive_no_faster),
        Claim("Updates of one entity by 200 users take ten seconds.", updates_wait, of_database=True),
        Claim("Updates of one entity take longer than updates of distinct ones.", distinct_faster, of_database=True),
    ),
    repeated_within_s=1440.0,  # three times
    figures=COMMANDS_SHOWN,
)

# Beyond what was published, and by itself, as `mongo-access` has no time left for it.
POOLS = (100, 200, 500)
FEW_THREADS = "10 threads"
TEMPLATES = ("mvc-template", "mvc-virtual-template", "webflux-template")
VIRTUAL = tuple(f"mvc-virtual-{access}" for access in ACCESSES)

LIMITS = Publication(
    name="mongo-access-limits",
    title="Gets of an entity of 59 kB by 200 users: ten threads, virtual threads, and pools of 100, 200 and 500",
    scenario="mongo-access",
    parts=(
        _part(pool_part(POOLS[0]), "get-one", pool=POOLS[0], variants=PUBLISHED_VARIANTS + VIRTUAL),
        *(_part(pool_part(pool), "get-one", pool=pool, variants=TEMPLATES) for pool in POOLS[1:]),
        _part(FEW_THREADS, "get-one", threads=10),
    ),
    claims=(
        Claim("With ten threads, blocking access takes longer than reactive.", few_threads),
        Claim("Virtual threads take as long as platform threads, of which there are enough.", virtual_alike),
        Claim("A larger pool makes no operation faster.", pools_no_faster),
    ),
    figures=COMMANDS_SHOWN,
)

PUBLICATIONS = (ACCESS, LIMITS)
