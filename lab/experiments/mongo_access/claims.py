"""The claims about six ways to MongoDB: what a repository makes of an update, and whether the driver is fastest."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from lab.experiments.mongo_access.scenario import OPERATIONS
from lab.experiments.reproduction.judging import (
    NEAR,
    alike,
    at_least,
    decide,
    exactly,
    figure,
    mean_s,
    ratios,
    rows_of_variant,
    variant_pairs,
)
from lab.experiments.reproduction.publication import Claim, Part, Publication, ReproducedRow
from lab.spec.options import Options

STACKS, ACCESSES = ("mvc", "webflux"), ("driver", "template", "repository")
VARIANTS = tuple(f"{stack}-{access}" for stack in STACKS for access in ACCESSES)
USERS = 200
# Of operations that are published for one user, in part or in all.
USERS_OF = {"add-one": (1, USERS), "remove-one": (1,), "add-many": (1,)}
FEW_THREADS = "get-one, 10 threads"
# What rounds to twice.
TWICE = (1.5, 2.5)
Judge = Callable[[Sequence[ReproducedRow]], tuple[str, str]]


def update_counts(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether a repository's update is a find and an update, and that of the others an update alone."""
    updates = [row for row in rows if row.part == "update-one"]
    finds = {row.variant: 1 if row.variant.endswith("repository") else 0 for row in updates}
    return decide(
        [
            *exactly(updates, figure("mongo find"), lambda row: finds[row.variant], " finds"),
            *exactly(updates, figure("mongo update"), lambda _: 1, " updates"),
        ]
    )


def compared(one: str, other: str, low: float, high: float, operations: Sequence[str] = OPERATIONS) -> Judge:
    """That the means of two ways of access have a ratio in a range, on both stacks, for some operations."""

    def judge(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
        pairs = [pair for stack in STACKS for pair in variant_pairs(rows, f"{stack}-{one}", f"{stack}-{other}")]
        return decide(ratios([pair for pair in pairs if pair[0].part in operations], mean_s, low, high))

    return judge


def stacks_alike(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether blocking and reactive access take equally long where threads do not limit either."""
    pairs = [pair for access in ACCESSES for pair in variant_pairs(rows, f"webflux-{access}", f"mvc-{access}")]
    return decide(alike([pair for pair in pairs if pair[0].part in OPERATIONS], mean_s))


def few_threads(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether blocking access takes longer than reactive where it has ten threads."""
    pairs = [pair for access in ACCESSES for pair in variant_pairs(rows, f"mvc-{access}", f"webflux-{access}")]
    return decide(ratios([pair for pair in pairs if pair[0].part == FEW_THREADS], mean_s, 1 + NEAR, math.inf))


def updates_wait(rows: Sequence[ReproducedRow]) -> tuple[str, str]:
    """Whether updates of one entity take ten seconds, as they wait for one another in the database."""
    direct = [row for access in ("driver", "template") for row in rows_of_variant(rows, f"mvc-{access}", "update-one")]
    return decide(at_least(direct, mean_s, lambda _: (1 - NEAR) * 10, " s"))


def _part(operation: str) -> Part:
    options = Options(
        variants=VARIANTS,
        users=USERS_OF.get(operation, (USERS,)),
        ramp_up=1.0,
        parameters={"operation": operation, "contention": "same"},
    )
    return Part(operation, "mongo-access", options, request=operation)


NOT_UPDATES = tuple(name for name in OPERATIONS if not name.startswith("update"))

ACCESS = Publication(
    name="mongo-access",
    title="Six ways to MongoDB, eight operations on entities of 59 kB, 200 users",
    scenario="mongo-access",
    parts=(
        *map(_part, OPERATIONS),
        Part(
            FEW_THREADS,
            "mongo-access",
            Options(
                variants=VARIANTS,
                users=(USERS,),
                ramp_up=1.0,
                threads=10,
                parameters={"operation": "get-one", "contention": "same"},
            ),
        ),
    ),
    claims=(
        Claim("An update through a repository is a find and an update, through the others an update.", update_counts),
        Claim(
            "An update through a repository takes about twice as long as through the template.",
            compared("repository", "template", *TWICE, operations=("update-one", "update-many")),
        ),
        Claim("The driver is fastest.", compared("driver", "template", -math.inf, 1 + NEAR)),
        Claim(
            "Template and repository are alike, but for updates.",
            compared("repository", "template", 1 - NEAR, 1 + NEAR, operations=NOT_UPDATES),
        ),
        Claim("Reactive access is no faster where threads do not limit the other.", stacks_alike),
        Claim("With ten threads, blocking access takes longer than reactive.", few_threads),
        Claim("Updates of one entity by 200 users take ten seconds.", updates_wait, of_database=True),
    ),
)

PUBLICATIONS = (ACCESS,)
