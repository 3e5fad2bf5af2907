"""The contract of the operations: what every generation and style must answer alike, by MySQL or MongoDB."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from lab.spec.scenario import Exchange

JSON = {"Content-Type": "application/json"}
TOKEN = {"Authorization": "Bearer {token}"}
SENDS = {**TOKEN, **JSON}
SAVES_TOKEN = {"token": r'"id_token":"([^"]+)"'}
SAVES_KEY = {"created": r"Location: /api/operations/(\w+)"}
ACCOUNT, AUTHENTICATE, OPERATIONS = "/api/account", "/api/authenticate", "/api/operations"
# That of the published session.
OPERATION = {"id": None, "date": "2020-01-01T00:00:00.000Z", "description": "SAMPLE_TEXT", "amount": "1"}
# A token of the right form, of nobody's making: {"alg":"none"}, and the claims of the administrator.
FORGED = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhZG1pbiIsImV4cCI6NDEwMjQ0NDgwMH0."


def _sent(name: str, path: str, value: Any, status: int, **more: Any) -> Exchange:
    return Exchange(name, path, status, "POST", body=value if isinstance(value, str) else json.dumps(value), **more)


def _logs_in(user: str, password: str = "admin") -> dict[str, Any]:
    return {"username": user, "password": password, "rememberMe": False}


# By what is wrong with them.
WRONG_HEADERS = {
    "garbage": "Bearer a.b.c",
    "another scheme": "Basic YWRtaW46YWRtaW4=",
    "no token": "Bearer",
    "a forged token": f"Bearer {FORGED}",
}
WRONG_CREDENTIALS: tuple[tuple[str, Any, int], ...] = (
    ("a wrong password", _logs_in("admin", "wrong"), 401),
    ("an unknown user", _logs_in("nobody"), 401),
    ("SQL for a user", _logs_in("' OR '1'='1"), 401),
    ("a user of other case", _logs_in("ADMIN"), 401),
    ("an empty password", _logs_in("admin", ""), 400),
    ("no password", {"username": "admin"}, 400),
    ("no JSON", "{", 400),
    ("nothing", {}, 400),
)
WRONG_OPERATIONS: dict[str, dict[str, Any]] = {
    "no date": {"date": None},
    "a date in words": {"date": "tomorrow"},
    "a date that is too early": {"date": "0999-12-31T23:59:59Z"},
    "no description": {"description": None},
    "a description that is too long": {"description": "x" * 256},
    "no amount": {"amount": None},
    "an amount in words": {"amount": "much"},
    "a tenth of a cent": {"amount": "0.001"},
    "an amount that is too large": {"amount": "1e100000"},
    "an amount beyond all numbers": {"amount": "1e2147483647"},
}
UNUSUAL_OPERATIONS: dict[str, dict[str, Any]] = {
    "unicode": {"description": "þ ✓", "amount": -12.5},
    "a long description": {"description": "x" * 255, "amount": 0},
}
WRONG_KEYS = {"nobody's": "99", "words": "words", "a number and more": "100x", "a number below": "-1"}


def _accounts() -> Iterator[Exchange]:
    yield Exchange("account without a token", ACCOUNT, 401)
    for name, header in WRONG_HEADERS.items():
        yield Exchange(f"account, {name}", ACCOUNT, 401, headers={"Authorization": header})
    for name, credentials, status in WRONG_CREDENTIALS:
        yield _sent(f"authenticate, {name}", AUTHENTICATE, credentials, status, headers=JSON)
    for strength, user in ((4, "admin4"), (10, "admin")):
        name = f"authenticate, a hash of strength {strength}"
        yield _sent(name, AUTHENTICATE, _logs_in(user), 200, headers=JSON, saves=SAVES_TOKEN)
        yield Exchange(f"account, a hash of strength {strength}", ACCOUNT, 200, headers=TOKEN)
    remembered = {**_logs_in("admin"), "rememberMe": True}
    yield _sent("authenticate for a month", AUTHENTICATE, remembered, 200, headers=JSON, saves=SAVES_TOKEN)
    yield Exchange("account for a month", ACCOUNT, 200, headers=TOKEN)
    short = {"username": "admin", "password": "admin"}
    yield _sent("authenticate without more", AUTHENTICATE, short, 200, headers=JSON, saves=SAVES_TOKEN)


def _unauthenticated() -> Iterator[Exchange]:
    yield Exchange("all operations without a token", OPERATIONS, 401)
    yield _sent("create an operation without a token", OPERATIONS, OPERATION, 401, headers=JSON)
    yield Exchange("an operation without a token", f"{OPERATIONS}/100", 401)
    yield Exchange("delete an operation without a token", f"{OPERATIONS}/100", 401, "DELETE")


def _operations() -> Iterator[Exchange]:
    yield Exchange("all operations", OPERATIONS, 200, headers=TOKEN)
    yield Exchange("a seeded operation", f"{OPERATIONS}/100", 200, headers=TOKEN)
    yield from _created("an operation", OPERATION)
    for name, change in UNUSUAL_OPERATIONS.items():
        yield from _created(name, {**OPERATION, **change})
    for name, change in WRONG_OPERATIONS.items():
        yield _sent(f"create {name}", OPERATIONS, {**OPERATION, **change}, 400, headers=SENDS)
    for name, path in {"account": ACCOUNT, "all operations": OPERATIONS}.items():
        yield Exchange(f"{name}, as text", path, 406, headers={**TOKEN, "Accept": "text/plain"})
    yield _sent("create no JSON", OPERATIONS, "{", 400, headers=SENDS)
    for name, key in WRONG_KEYS.items():
        yield Exchange(f"an operation under a key of {name}", f"{OPERATIONS}/{key}", 404, headers=TOKEN)
    yield Exchange("delete a key in words", f"{OPERATIONS}/words", 404, "DELETE", TOKEN)


def _created(name: str, operation: Any) -> Iterator[Exchange]:
    """An operation from its beginning to its end: it is on no page, as those that were seeded come first."""
    path = f"{OPERATIONS}/{{created}}"
    yield _sent(f"create {name}", OPERATIONS, operation, 201, headers=SENDS, saves=SAVES_KEY)
    yield Exchange(f"{name}, as created", path, 200, headers=TOKEN)
    yield Exchange(f"all operations, besides {name}", OPERATIONS, 200, headers=TOKEN)
    yield Exchange(f"delete {name}", path, 204, "DELETE", TOKEN)
    yield Exchange(f"{name}, deleted", path, 404, headers=TOKEN)
    yield Exchange(f"delete {name} again", path, 404, "DELETE", TOKEN)


CONTRACT = (*_accounts(), *_unauthenticated(), *_operations(), Exchange("no such path", "/nowhere", 404))
