"""The scenario ``migration``: records looked up by parameters, after a look into a registry of who may ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lab.experiments.migration import records
from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange, Parameter, Rehearsal, Request, Scenario
from lab.spec.system import Component, Stage, Variant
from lab.spec.workload import Burst

# A look-up that begins while somebody saves one of the same records has a name of its own: these are the ones, with
# those that follow, in which an old record may be read, or put into a cache again.
LOOK_UP, BESIDE, SAVE = "look-up", "look-up beside a save", "save"
# One SELECT of the registry; one of the records, or of the record that is saved.
SELECTS = Stage("mysql", calls=2, cpu=True)
# Of what a cache keeps from the database, only counting can tell.
NOT_KNOWN = Stage("mysql", calls=None, cpu=True)
# How long a request waits for a connection, in all variants: longer than the document's slowest answers, so that
# nothing but the load's own timeout ends such a wait. Two minutes, as elsewhere, would make failures of these.
POOL_WAIT, POOL_WAIT_MS = "lab.pool-wait-ms", "600000"
UPDATE = Stage("mysql", command="update")


def _variant(stack: Variant, name: str, module: str, access: str, cached: bool = False) -> Variant:
    """A stack with its way to MySQL, and a cache or none."""
    cache, selects = ("clustered", NOT_KNOWN) if cached else ("none", SELECTS)
    return replace(
        stack,
        name=name,
        module=module,
        title=f"{stack.title}, {access}" + ", clustered cache" * cached,
        properties={**stack.properties, POOL_WAIT: POOL_WAIT_MS},
        factors={**stack.factors, "access": access, "cache": cache},
        demands={LOOK_UP: (selects,), BESIDE: (selects,), SAVE: (selects, UPDATE)},
        caches=cached,
        published_as="",
    )


def _save(name: str, number: int, body: bytes, status: int, bearer: int | None = 0) -> Exchange:
    return Exchange(name, f"/records/{records.key(number)}", status, "PUT", records.JSON, body.decode(), bearer=bearer)


def _contract() -> Iterator[Exchange]:
    """Lookups, a save that is read back and undone, and what is refused."""
    path, seeded, newer = records.path(7), records.change(records.content(7)), records.change("newer: þ ✓")
    yield Exchange("a lookup", path, 200, bearer=0)
    yield Exchange("the same lookup again", path, 200, bearer=0)
    yield Exchange("the last one", records.path(records.LOOKUPS - 1), 200, bearer=99_999)
    yield Exchange("a lookup that finds nothing", "/records?partner=nobody&category=none", 200, bearer=0)
    yield _save("a save", 7, newer, 200)
    yield Exchange("what was saved", path, 200, bearer=1)
    yield _save("the save undone", 7, seeded, 200)
    yield Exchange("what was there before", path, 200, bearer=1)
    yield _save("a save of no record", records.COUNT, newer, 404)
    yield _save("a save of nothing", 7, b"{}", 400)
    yield _save("a save of no JSON", 7, b"{", 400)
    yield _save("a save that is too long", 7, records.change("x" * 201), 400)
    for name, query in {
        "no parameters": "",
        "no category": "?partner=partner000",
        "an empty category": "?partner=partner000&category=",
        "a category that is too long": f"?partner=partner000&category={'x' * 33}",
    }.items():
        yield Exchange(name, f"/records{query}", 400, bearer=0)
    yield Exchange("a lookup by somebody who is not allowed", path, 403, bearer=records.DENIED)
    yield _save("a save by somebody who is not allowed", 7, newer, 403, bearer=records.DENIED)
    yield _save("a save by nobody", 7, newer, 401, bearer=None)
    yield Exchange("what nobody has changed", path, 200, bearer=0)
    yield Exchange("no such path", "/nowhere", 404)


SCENARIO = Scenario(
    name="migration",
    question="What does moving from Spring MVC and JPA to WebFlux and R2DBC gain, and what a clustered cache?",
    requests=(
        Request(LOOK_UP, records.path(0), token=True, unknown_user=403),
        Request(BESIDE, records.path(0), token=True, unknown_user=403),
        Request(SAVE, "/records/KEY", "PUT", token=True),
    ),
    contract=tuple(_contract()),
    parameters=(
        Parameter("requesters", 1, 1, records.LOOKUPS, "", "services that ask, each for records of its own"),
        Parameter("saves", 0, 0, 100, "%", "sessions that save a record, and look it up at once"),
    ),
    variants=(
        _variant(MVC, "mvc-jpa", "mvc-records", "JPA"),
        _variant(MVC_VIRTUAL, "mvc-jpa-virtual", "mvc-records", "JPA"),
        _variant(MVC, "mvc-jpa-cached", "mvc-records-cached", "JPA", cached=True),
        _variant(WEBFLUX, "webflux-r2dbc", "webflux-records", "R2DBC"),
    ),
    load=Burst(users=350, ramp_s=60.0),
    # Twice as many users as there are threads take all code paths; rounds of ten thousand would take minutes. Compilers
    # of two nodes that share cores need up to 55 rounds of a stage.
    rehearsal=Rehearsal(requests=1000, rounds=70, most_users=400),
    sweep={"users": (350, 1000, 2000)},
    components=(Component("mysql", database="mysql", own_pool=10, tables=(records.RECORDS, records.REGISTRY)),),
)
