"""The scenario ``large-data``: one, a thousand or all of 10,000 entities, in batches, as streams or in pages."""

from __future__ import annotations

from lab.experiments.entity_access import CONTRACT, SEEDED, command, variants
from lab.spec.scenario import Exchange, Parameter, Rehearsal, Request, Scenario
from lab.spec.system import Batches, Component, Entities, Stage
from lab.spec.workload import Burst

# Small, so that all of them fit into an answer: 2.5 MB of JSON.
ENTITIES = Entities(count=10_000, doubles=10, integers=10)
ENTITY_BYTES = 250
OF_AN_INTEGER = ENTITIES.count // ENTITIES.integers
# The number of entities of a page in the services. What fills its pages is asked for one more, which is empty.
PAGE = 1000

# What fetches more than one entity, and so has a way to do it, and batches.
OF_SEVERAL = {"operation": ("query-1k", "get-all")}

INSERT, FIND, UPDATE = (command(name) for name in ("insert", "find", "update"))


def _of_many(name: str, path: str, operation: str, entities: int) -> Request:
    """A request for so many entities, which come in chunks where they are streamed."""
    size = entities * ENTITY_BYTES
    return Request(name, path, answer_bytes=size, chunked=True, needs={"operation": (operation,)})


def _fetched(entities: int) -> tuple[Stage, ...]:
    """One cursor over so many entities."""
    return FIND, command("getMore", Batches(entities, "batch_size"))


def _paged(entities: int) -> tuple[Stage, ...]:
    """A find for each page; whether a server sends a page at once is its own matter."""
    return command("find", entities // PAGE + 1), command("getMore", None)


DIRECT = {
    "insert-one": (INSERT,),
    "get-one": (FIND,),
    "update-one": (UPDATE,),
    "query-1k": _fetched(OF_AN_INTEGER),
    "query-1k-paged": _paged(OF_AN_INTEGER),
    "get-all": _fetched(ENTITIES.count),
    "get-all-paged": _paged(ENTITIES.count),
    "update-many-1k": (UPDATE,),
}
# It saves what it has found, by one command each; it finds it in batches of the driver's choice.
REPOSITORY = {
    **DIRECT,
    "update-one": (FIND, UPDATE),
    "update-many-1k": (FIND, command("getMore", None), command("update", OF_AN_INTEGER)),
}
READ_IN_EVERY_WAY = tuple(
    Exchange(f"all of them, {way}, batch {batch}", f"/entities?way={way}&batch={batch}", 200)
    for way in ("collected", "streamed", "paged")
    for batch in ("default", "1000")
)

SCENARIO = Scenario(
    name="large-data",
    question="What do batches, streams and pages do for large results, on threads and on event loops?",
    requests=(
        Request("get-one", f"/entities/{SEEDED}"),
        Request("insert-one", "/entities", "POST"),
        Request("update-one", "/entities/KEY", "PUT"),
        _of_many("query-1k", "/entities/by-integer/INTEGER", "query-1k", OF_AN_INTEGER),
        _of_many("query-1k-paged", "/entities/by-integer/INTEGER", "query-1k", OF_AN_INTEGER),
        _of_many("get-all", "/entities", "get-all", ENTITIES.count),
        _of_many("get-all-paged", "/entities", "get-all", ENTITIES.count),
        Request("update-many-1k", "/entities/by-integer/INTEGER", "PUT"),
    ),
    contract=CONTRACT + READ_IN_EVERY_WAY,
    parameters=(
        Parameter(
            "operation",
            "get-all",
            choices=("insert-one", "get-one", "query-1k", "get-all", "update-one", "update-many-1k"),
            help="what each request does",
        ),
        Parameter(
            "way",
            "collected",
            choices=("collected", "streamed", "paged"),
            help="how entities are fetched: into one list, as they come, or in sorted pages of 1000",
            needs=OF_SEVERAL,
        ),
        Parameter(
            "batch_size",
            "default",
            choices=("default", "100", "1000"),
            help="entities that the database sends at once: the driver's choice, or so many",
            needs=OF_SEVERAL,
        ),
    ),
    variants=variants({"driver": DIRECT, "template": DIRECT, "repository": REPOSITORY}),
    load=Burst(users=1, ramp_s=0.0, loops=10),
    rehearsal=Rehearsal(requests=0, rounds=40, users=8, duration_s=1.0),
    sweep={"batch_size": ("default", "100", "1000")},
    components=(Component("mongo", database="mongo", own_pool=100, entities=ENTITIES),),
)
