"""What the experiments on MongoDB share: three ways to reach entities on each stack, and the contract of all."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.scenario import Exchange
from lab.spec.system import Stage, Variant

TITLES = {"driver": "MongoDB's driver", "template": "MongoTemplate", "repository": "a repository"}
MODULES = {"mvc": "mvc-mongo", "mvc-virtual": "mvc-mongo", "webflux": "webflux-mongo"}
# How often a single user does it: once would measure little but the first request, and last too short to be watched.
ONE_AFTER_ANOTHER = 30
JSON = {"Content-Type": "application/json"}
# The key of an entity that is there at every start.
SEEDED = "e000000"
# What was published: every way of access on threads, and on event loops.
STACKS, ACCESSES = ("mvc", "webflux"), tuple(TITLES)
PUBLISHED_VARIANTS = tuple(f"{stack}-{access}" for stack in STACKS for access in ACCESSES)
# By request, its stages; by way of access.
Demands = Mapping[str, Mapping[str, tuple[Stage, ...]]]


def variants(demands: Demands) -> tuple[Variant, ...]:
    """Every stack with every way of access that has demands."""
    return tuple(_accessing(stack, access, demands) for stack in (MVC, MVC_VIRTUAL, WEBFLUX) for access in demands)


def _accessing(stack: Variant, access: str, demands: Demands) -> Variant:
    return replace(
        stack,
        name=f"{stack.name}-{access}",
        module=MODULES[stack.name],
        title=f"{stack.title}, {TITLES[access]}",
        factors={**stack.factors, "access": access},
        properties={**stack.properties, "lab.access": access},
        demands=demands[access],
        published_as=f"{stack.published_as} {access}" if stack.published_as else "",
    )


def command(name: str, calls: Any = 1) -> Stage:
    """A command that a request has the database execute."""
    return Stage("mongo", command=name, calls=calls)


def _sent(name: str, method: str, path: str, value: Any, status: int) -> Exchange:
    return Exchange(name, path, status, method, JSON, value if isinstance(value, str) else json.dumps(value))


def _entity(key: str | None, integer: int = 7) -> dict[str, Any]:
    return {**({"id": key} if key else {}), "integer": integer, "text": "þ ✓", "doubles": [1.5, -2.25, 1e-7]}


def _content(text: str) -> dict[str, Any]:
    return {"text": text, "doubles": [0.5]}


def _changes() -> Iterator[Exchange]:
    """Every operation that changes something, each followed by what reads it back; in the end nothing is left.

    Several are read before any is updated: a server may send those that were saved at once in any order.
    """
    one, many = "one", ("two", "three", "four")
    yield _sent("add one", "POST", "/entities", _entity(one), 201)
    yield Exchange("the one that was added", "/entities/one", 200)
    yield _sent("add it again", "POST", "/entities", _entity(one), 409)
    yield _sent("add many", "POST", "/entities/many", [_entity(key) for key in many], 201)
    yield _sent("add many again", "POST", "/entities/many", [_entity(key) for key in many], 409)
    yield Exchange("the ones that were added", "/entities/by-ids/two,three,four", 200, unordered=True)
    for way in ("collected", "streamed", "paged"):
        for batch in ("default", "100", "1000"):
            path = f"/entities/by-integer/7?way={way}&batch={batch}"
            name = f"those of an integer, {way}, batch {batch}"
            yield Exchange(name, path, 200, unordered=way != "paged")  # pages are sorted
    yield _sent("update one", "PUT", "/entities/one", _content("new"), 204)
    yield from _each("updated", one)
    yield _sent("update many", "PUT", "/entities/by-ids/two,four,nobody", _content("newer"), 200)
    yield from _each("in many updated or not", *many)
    yield _sent("update those of an integer", "PUT", "/entities/by-integer/7", _content("newest"), 200)
    yield from _each("of an integer updated", one, *many)
    for key in (one, *many):
        yield Exchange(f"remove {key}", f"/entities/{key}", 204, "DELETE")
    yield Exchange("the one that was removed", "/entities/one", 404)
    yield Exchange("remove it again", "/entities/one", 404, "DELETE")
    yield _sent("update it all the same", "PUT", "/entities/one", _content("none"), 404)
    yield Exchange("those of an integer that are gone", "/entities/by-integer/7?way=collected&batch=default", 200)
    yield Exchange("the ones that are gone", "/entities/by-ids/two,three", 200)


def _each(what: str, *keys: str) -> Iterator[Exchange]:
    return (Exchange(f"{key}, {what}", f"/entities/{key}", 200) for key in keys)


def _refused() -> Iterator[Exchange]:
    bad: Iterable[tuple[str, Any]] = (
        ("no JSON", "{"),
        ("a blank key", _entity(" ")),
        ("a key that is too long", _entity("x" * 101)),
        ("no text", {"integer": 1, "doubles": []}),
        ("no double", {"integer": 1, "text": "", "doubles": [None]}),
        ("a text that is too long", {"integer": 1, "text": "x" * 1_000_001, "doubles": []}),
    )
    for name, value in bad:
        yield _sent(f"add {name}", "POST", "/entities", value, 400)
    yield _sent("add none", "POST", "/entities/many", [], 400)
    yield _sent("add null", "POST", "/entities/many", [None], 400)
    yield _sent("add too many", "POST", "/entities/many", [_entity(None)] * 101, 400)
    yield _sent("update to nothing", "PUT", "/entities/one", {}, 400)
    yield _sent("update those of no integer", "PUT", "/entities/by-integer/abc", _content("none"), 400)
    yield Exchange("those of no integer", "/entities/by-integer/abc?way=collected&batch=default", 400)
    yield Exchange("a batch of none", "/entities?way=collected&batch=0", 400)
    for way in ("collected", "streamed", "paged"):
        yield Exchange(f"no batch, {way}", f"/entities?way={way}", 400)
    yield Exchange("no way", "/entities", 400)
    yield Exchange("a key that is not there", "/entities/nobody", 404)
    yield Exchange("no such path", "/nowhere", 404)


CONTRACT = (Exchange("a seeded one", f"/entities/{SEEDED}", 200), *_changes(), *_refused())
