"""The scenario ``mongo-access``: one operation on entities of 59 kB, by driver, template or repository."""

from __future__ import annotations

from lab.experiments.entity_access import CONTRACT, SEEDED, command, variants
from lab.spec.scenario import OwnEntities, Parameter, Rehearsal, Request, Scenario
from lab.spec.system import Component, Entities
from lab.spec.workload import Burst

OPERATIONS = ("add-one", "get-one", "update-one", "remove-one", "add-many", "get-many", "update-many", "get-by-query")
# Those on entities that are there, and those on as many as are asked for.
OF_SEEDED = ("get-one", "update-one", "get-many", "update-many", "get-by-query")
OF_MANY = ("add-many", "get-many", "update-many")
ENTITY_BYTES = 59_000  # of JSON, nearly all of it doubles
ENTITIES = Entities(count=1000, doubles=3245, integers=1000, index_parameter="index")

FIND, INSERT, UPDATE, DELETE = (command(name) for name in ("find", "insert", "update", "delete"))
DIRECT = {
    "add-one": (INSERT,),
    "get-one": (FIND,),
    "update-one": (UPDATE,),
    "remove-one": (DELETE,),
    "add-many": (INSERT,),
    "get-many": (FIND,),
    "update-many": (UPDATE,),
    "get-by-query": (FIND,),
}
# It saves what it has found, by one command each.
REPOSITORY = {**DIRECT, "update-one": (FIND, UPDATE), "update-many": (FIND, command("update", "elements"))}


def _of_many(name: str, path: str, method: str, *, answer_bytes: int = 0, sent_bytes: int = 0) -> Request:
    """A request that sends or fetches as many entities as are asked for, by the bytes of one."""
    return Request(
        name,
        path,
        method,
        answer_bytes=answer_bytes,
        sent_bytes=sent_bytes,
        times_bytes="elements",
        needs={"operation": (name,)},
    )


SCENARIO = Scenario(
    name="mongo-access",
    question="What does each way to MongoDB cost an operation, on threads and on event loops?",
    requests=(
        Request("get-one", f"/entities/{SEEDED}"),
        Request("add-one", "/entities", "POST"),
        Request("update-one", "/entities/KEY", "PUT"),
        Request("remove-one", "/entities/KEY", "DELETE"),
        _of_many("add-many", "/entities/many", "POST", sent_bytes=ENTITY_BYTES),
        _of_many("get-many", "/entities/by-ids/KEYS", "GET", answer_bytes=ENTITY_BYTES),
        _of_many("update-many", "/entities/by-ids/KEYS", "PUT", sent_bytes=ENTITY_BYTES),
        Request("get-by-query", "/entities/by-integer/INTEGER"),
    ),
    contract=CONTRACT,
    parameters=(
        Parameter("operation", "get-one", choices=OPERATIONS, help="what each session does"),
        Parameter(
            "contention",
            "distinct",
            choices=("distinct", "same"),
            help="whether users share one entity",
            needs={"operation": OF_SEEDED},
        ),
        Parameter("elements", 1, 1, 100, "", "entities of an operation on many", needs={"operation": OF_MANY}),
        Parameter("index", "none", choices=("none", "integer"), help="the field that get-by-query finds by an index"),
    ),
    variants=variants({"driver": DIRECT, "template": DIRECT, "repository": REPOSITORY}),
    # Of few requests each, most of the time would be that in which the users come.
    load=Burst(users=200, loops=20),
    # With few users, as the threads of 200 leave the compilers no time.
    rehearsal=Rehearsal(requests=1000, rounds=60, most_users=8, restored_after=8),
    sweep={"operation": OPERATIONS},
    components=(Component("mongo", database="mongo", own_pool=100, entities=ENTITIES),),
    own_entities=(
        OwnEntities("mongo", {"contention": ("distinct",), "operation": ("get-one", "update-one", "get-by-query")}),
        OwnEntities("mongo", {"contention": ("distinct",), "operation": ("get-many", "update-many")}, each="elements"),
    ),
)
