"""Records and the registry of requesters, as pure functions of numbers: what is seeded, and what requests send."""

from __future__ import annotations

import json
import secrets
from functools import lru_cache
from urllib.parse import urlencode

from lab.spec.system import Records
from lab.system.databases.rows import SEED, TEXT, TRUTH, USERS, SqlTable, users

# The header of each request with a body.
JSON = {"Content-Type": "application/json"}
# In hexadecimal digits, so that what a save writes is as long as what it replaces.
CONTENT_DIGITS = 120
CATEGORIES = 10
# Everybody is registered, and one in so many is not allowed all the same; the first of them is this user.
DENIED_EVERY, FIRST_DENIED = 1000, 500


def key(number: int) -> str:
    """The key of a record."""
    return f"r{number:06}"


def lookup(of: Records, number: int) -> tuple[str, str]:
    """The partner and the category by which a record is found, together with every ``lookups``-th other."""
    partner, category = divmod(number % of.lookups, CATEGORIES)
    return f"partner{partner:03}", f"category{category}"


def path(of: Records, number: int) -> str:
    """The path of the lookup that finds a record, among others."""
    partner, category = lookup(of, number)
    return f"/records?{urlencode({'partner': partner, 'category': category})}"


def content(value: int) -> str:
    """A content of :data:`CONTENT_DIGITS` characters."""
    return f"{value:0{CONTENT_DIGITS}x}"


def new_content() -> str:
    """A content that no record has."""
    return content(secrets.randbits(4 * CONTENT_DIGITS))


def change(text: str) -> bytes:
    """The body of a save."""
    return b'{"content":"%b"}' % text.encode()


@lru_cache(maxsize=4)
def answer_bytes(of: Records) -> int:
    """The length of the answer to a lookup: all are equally long, whatever was saved."""
    partner, category = lookup(of, 0)
    one = {"id": key(0), "partner": partner, "category": category, "content": content(0)}
    answer = {"success": True, "records": [one] * (of.count // of.lookups)}
    return len(json.dumps(answer, separators=(",", ":")))


@lru_cache(maxsize=2)
def tables(of: Records, seed: int = SEED) -> tuple[SqlTable, SqlTable]:
    """The table of the records, and the registry of requesters, which are the seeded users by their emails."""
    records = tuple((key(number), *lookup(of, number), content(number)) for number in range(of.count))
    registry = tuple(
        (user.email, int(number % DENIED_EVERY != FIRST_DENIED)) for number, user in enumerate(users(seed, USERS))
    )
    return (
        SqlTable(
            "records", dict.fromkeys(("id", "partner", "category", "content"), TEXT), records, ("partner", "category")
        ),
        SqlTable("requesters", {"name": TEXT, "allowed": TRUTH}, registry),
    )
