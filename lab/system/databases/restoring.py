"""Puts a collection of entities into the state that was seeded: the same documents, field by field."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from pymongo import ASCENDING
from pymongo.collection import Collection

from lab.errors import LabError
from lab.spec.system import Entities
from lab.system.databases import NAME, NOT_AS_WRITTEN, Database
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
        How many documents were removed and written; 0 if none differed.

    Raises:
        LabError: there is a collection of that name that the lab did not make, or it reads back wrong.

    """
    with client(database) as link:
        claim(database, link[NAME], COLLECTION)
        stored = link[NAME][COLLECTION]
        changed = _mend(stored, of, seed)
        if changed and _mend(stored, of, seed):
            raise LabError("The entities read back wrong after they were restored.", NOT_AS_WRITTEN)
        _index(stored, index)
    return changed


def _mend(stored: Stored, of: Entities, seed: int) -> int:
    """Remove what was added, and where anything else differs copy all anew.

    What is found is compared by its key: a server may send what nobody asked to be sorted in any order.
    """
    seeded = {key(number): number for number in range(of.count)}
    there = [document["_id"] for document in stored.find({}, {"_id": 1})]
    strange = [each for each in there if not (isinstance(each, str) and each in seeded)]  # a key may be anything
    for keys in _in_batches(strange, MANY_KEYS):
        stored.delete_many({"_id": {"$in": keys}})
    if len(there) - len(strange) == of.count and all(
        document == entity(of, seeded[document["_id"]], seed) for document in stored.find(batch_size=BATCH)
    ):
        return len(strange)
    stored.drop()
    for numbers in _in_batches(range(of.count), BATCH):
        stored.insert_many([entity(of, number, seed) for number in numbers])
    return len(strange) + of.count


def _in_batches(of: Iterable[Any], size: int) -> Iterator[list[Any]]:
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
