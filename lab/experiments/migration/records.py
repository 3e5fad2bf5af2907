"""The records and the registry of requesters: what is seeded, and what requests send and expect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlencode

from lab.spec.system import Table
from lab.system.databases.rows import HONEST_USERS, email

# 50 records an answer, which are some 6 kB.
COUNT, LOOKUPS, CATEGORIES = 2000, 40, 10
# The header of each request with a body.
JSON = {"Content-Type": "application/json"}
# In hexadecimal digits, so that what a save writes is as long as what it replaces.
CONTENT_DIGITS = 60
# The registered users by their numbers: a requester for each lookup, and one who is registered but not allowed.
DENIED = LOOKUPS
REGISTERED = sorted({*range(DENIED + 1), *HONEST_USERS})


def key(number: int) -> str:
    """The key of a record."""
    return f"r{number:06}"


def lookup(number: int) -> tuple[str, str]:
    """The partner and the category by which a record is found, together with every :data:`LOOKUPS`-th other."""
    partner, category = divmod(number % LOOKUPS, CATEGORIES)
    return f"partner{partner:03}", f"category{category}"


def path(number: int) -> str:
    """The path of the lookup that finds a record, among others."""
    partner, category = lookup(number)
    return f"/records?{urlencode({'partner': partner, 'category': category})}"


def content(value: int) -> str:
    """A content of :data:`CONTENT_DIGITS` characters."""
    return f"{value:0{CONTENT_DIGITS}x}"


def own(user: int, requesters: int) -> int | None:
    """The record that a user saves, and nobody else; None of more users than there are records.

    It is one of those that its requester asks for, as long as these suffice, and then one that no requester asks for.
    """
    place, requester = divmod(user, requesters)
    if place >= COUNT // LOOKUPS and requesters < LOOKUPS:
        place, unasked = divmod(user - requesters * (COUNT // LOOKUPS), LOOKUPS - requesters)
        requester = requesters + unasked
    found = LOOKUPS * place + requester
    return found if found < COUNT else None


def change(text: str) -> bytes:
    """The body of a save."""
    return b'{"content":"%b"}' % text.encode()


def _answer_bytes() -> int:
    partner, category = lookup(0)
    one = {"id": key(0), "partner": partner, "category": category, "content": content(0)}
    answer = {"success": True, "records": [one] * (COUNT // LOOKUPS)}
    return len(json.dumps(answer, separators=(",", ":")))


# The length of the answer to a lookup: all are equally long, whatever was saved.
ANSWER_BYTES = _answer_bytes()
# All that the document's own check looks for, but for a blank.
SUCCESS = b'"success":true'
RECORDS = Table(
    "records",
    dict.fromkeys(("id", "partner", "category", "content"), "text"),
    tuple((key(number), *lookup(number), content(number)) for number in range(COUNT)),
    index=("partner", "category"),
)
REGISTRY = Table(
    "requesters",
    {"name": "text", "allowed": "boolean"},
    tuple((email(number), str(number != DENIED).lower()) for number in REGISTERED),
)


def check(status: int, body: bytes, saved: Mapping[str, str]) -> bool | str:
    """What is said of an answer to a lookup: whether it is right, or by name how it is not.

    Args:
        saved: by key, the contents of records whose save was answered before the lookup began. One that is older, as
            contents of one record grow, makes the answer ``stale``.

    """
    if status != HTTPStatus.OK:
        return "status"
    if len(body) != ANSWER_BYTES or SUCCESS not in body:
        return False
    if not saved:  # then there is no need to read it
        return True
    found = {record["id"]: record["content"] for record in json.loads(body)["records"]}
    return all(found.get(key, "") >= content for key, content in saved.items()) or "stale"
