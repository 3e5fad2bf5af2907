"""The entities of a collection, as pure functions of their number: what is seeded, and what requests send."""

from __future__ import annotations

import json
import random
import secrets
from functools import lru_cache
from typing import Any

from lab.spec.system import Entities
from lab.system.databases.rows import SEED

COLLECTION = "entities"
# The header of each request with a body.
JSON = {"Content-Type": "application/json"}
# In hexadecimal digits, and so in characters of the text: what an update writes into it is as long.
TEXT_DIGITS = 16
# The integers begin here, so that a few thousand of them have as many digits.
FIRST_INTEGER = 1000


def key(number: int) -> str:
    """The key of an entity."""
    return f"e{number:06}"


def integer(of: Entities, number: int) -> int:
    """The integer of an entity."""
    return FIRST_INTEGER + number % of.integers


def text(value: int) -> str:
    """A text of :data:`TEXT_DIGITS` characters."""
    return f"{value:0{TEXT_DIGITS}x}"


@lru_cache(maxsize=4)
def doubles(count: int, seed: int = SEED) -> tuple[float, ...]:
    """The doubles, which are the same in all entities: all that matters of them is how many bytes they take.

    They are from 1 to 10, where Java and Python write them alike.
    """
    chance = random.Random(f"{seed}-doubles")
    return tuple(chance.uniform(1, 10) for _ in range(count))


def entity(of: Entities, number: int, seed: int = SEED) -> dict[str, Any]:
    """The stored document of an entity, its fields in the order in which services write them."""
    values = {"text": text(number), "doubles": list(doubles(of.doubles, seed))}
    return {"_id": key(number), "integer": integer(of, number), **values}


def as_json(value: Any) -> bytes:
    """A value as services write JSON: without blanks."""
    return json.dumps(value, separators=(",", ":")).encode()


@lru_cache(maxsize=16)
def answer_bytes(of: Entities, listed: int = 0) -> int:
    """The length of an answer with a list of so many entities, or with one by itself: all are equally long."""
    one = entity(of, 0)
    body = len(as_json({"id": one.pop("_id"), **one}))
    return listed * body + (listed - 1) + len("[]") if listed else body


def keys(of: Entities, first: int, count: int) -> list[str]:
    """The keys of some seeded entities in a row, the first one after the last."""
    return [key((first + number) % of.count) for number in range(count)]


def matched(count: int) -> bytes:
    """The answer to an update of several, which says how many it found."""
    return as_json({"matched": count})


def new_text() -> str:
    """A text that no entity has; also the key of one that is added."""
    return text(secrets.randbits(4 * TEXT_DIGITS))


def content(of: Entities, text: str) -> bytes:
    """The body of an update."""
    return b'{"text":"%b%b' % (text.encode(), _body_end(of))


def new(of: Entities, text: str) -> bytes:
    """The body of an entity to add, which is of no seeded integer."""
    return b'{"id":"%b","integer":0,"text":"%b%b' % (text.encode(), text.encode(), _body_end(of))


def several(of: Entities, count: int) -> bytes:
    """The body of several entities to add."""
    return b"[%b]" % b",".join(new(of, new_text()) for _ in range(count))


@lru_cache(maxsize=4)
def _body_end(of: Entities) -> bytes:
    """The end of each body that is sent, after its text: nearly all of it, and made once."""
    return as_json({"doubles": doubles(of.doubles)}).replace(b"{", b'",', 1)
