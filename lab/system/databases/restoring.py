"""Puts a collection of entities into the state that was seeded, by what differs from it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from pymongo import ASCENDING
from pymongo.collection import Collection

from lab.errors import LabError
from lab.spec.system import Entities
from lab.system.databases import NAME, Database
from lab.system.databases.entities import COLLECTION, entity, key
from lab.system.databases.mongo import claim, client
from lab.system.databases.rows import SEED

# Documents of one message to the server, some megabytes, and keys of one.
BATCH, MANY_KEYS = 100, 1000
NO_INDEX = "none"
Stored = Collection[dict[str, Any]]


def restore(database: Database, of: Entities, index: str = NO_INDEX, seed: int = SEED) -> int:
    """See to it that the collection holds exactly the seeded entities, whatever requests made of it.

    Args:
        index: the only field with an index besides the key; ``none`` for no such field.

    Returns:
        How many documents were removed, replaced and added; 0 if none differed.

    Raises:
        LabError: there is a collection of that name that the lab did not make, or it reads back wrong.

    """
    with client(database) as link:
        claim(database, link[NAME], COLLECTION)
        stored = link[NAME][COLLECTION]
        changed = _mend(stored, of, seed)
        if changed and _mend(stored, of, seed):
            raise LabError("The entities read back wrong after they were restored.")
        _index(stored, index)
    return changed


def _mend(stored: Stored, of: Entities, seed: int) -> int:
    seeded = {key(number): number for number in range(of.count)}
    there = [document["_id"] for document in stored.find({}, {"_id": 1})]
    strange = [each for each in there if each not in seeded]
    for some in _in_batches(strange, MANY_KEYS):
        stored.delete_many({"_id": {"$in": some}})
    missing = [seeded[each] for each in seeded.keys() - set(there)]
    differing = [seeded[each["_id"]] for each in stored.find() if each != entity(of, seeded[each["_id"]], seed)]
    for some in _in_batches(differing, MANY_KEYS):
        stored.delete_many({"_id": {"$in": [key(number) for number in some]}})
    wanted = sorted(missing + differing)
    for some in _in_batches(wanted, BATCH):
        stored.insert_many([entity(of, number, seed) for number in some])
    return len(strange) + len(wanted)


def _in_batches(of: list[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(of)
    while some := list(islice(remaining, size)):
        yield some


def _index(stored: Stored, wanted: str) -> None:
    """Have an index on this field, and on no other but the key."""
    there = {name: list(dict(of["key"])) for name, of in stored.index_information().items()}
    for name, fields in there.items():
        if fields not in (["_id"], [wanted]):
            stored.drop_index(name)
    if wanted != NO_INDEX and [wanted] not in there.values():
        stored.create_index([(wanted, ASCENDING)])
