"""What was written to a database is read back, and where it is something else, it is said what to do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import contextmanager
from unittest.mock import MagicMock

import pytest

from lab.errors import LabError
from lab.spec.system import Entities, Table
from lab.system.databases import Database, mongo, mysql, restoring, tables

THINGS = Table("things", {"id": "numbered"}, (("1",),))
HERE = Database("mysql", "a server that keeps nothing", False, "127.0.0.1", 1)


@pytest.fixture
def forgetful(monkeypatch):
    """Servers that take whatever is written, and hold nothing."""

    @contextmanager
    def connection(_: Database):
        yield MagicMock()

    monkeypatch.setattr(mysql, "connection", connection)
    monkeypatch.setattr(mysql, "claimed", lambda *_: False)
    monkeypatch.setattr(mysql, "collation", lambda _: "utf8mb4_bin")
    monkeypatch.setattr(mysql, "_sums", lambda _: None)
    monkeypatch.setattr(mongo, "client", connection)
    monkeypatch.setattr(mongo, "claim", lambda *_: None)
    monkeypatch.setattr(restoring, "client", connection)
    monkeypatch.setattr(restoring, "claim", lambda *_: None)


@pytest.mark.parametrize(
    "seed",
    [
        lambda: mysql.seed_users(HERE, count=1),
        lambda: mongo.seed_document(HERE),
        lambda: tables._in_mysql(HERE, THINGS),
        lambda: tables._in_mongo(HERE, THINGS),
        lambda: restoring.restore(HERE, Entities(count=1, doubles=1, integers=1)),
    ],
    ids=["users", "document", "table", "collection", "entities"],
)
def test_what_reads_back_wrong_says_what_to_do(forgetful, seed: Callable[[], int]):
    """Whichever it is: somebody else writes there, or the server changes what it stores."""
    with pytest.raises(LabError, match=r"reads? back wrong") as caught:
        seed()
    assert "See that no other program writes to the database 'lab' there, and try again" in caught.value.next_step
