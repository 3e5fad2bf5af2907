"""Tables that a scenario describes: whatever requests made of them, afterwards they hold what is described."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from lab.errors import LabError
from lab.runtimes.process import ProcessRuntime
from lab.spec.system import Component, Table
from lab.system import build
from lab.system.databases import SEEDS, Database, Site, mariadb, mongo, mysql, tables

pytestmark = [pytest.mark.java, pytest.mark.thorough]

THINGS = Table(
    "things",
    {"id": "numbered", "made": "time", "name": "text", "price": "amount", "sold": "boolean"},
    (
        ("100", "2020-01-01T00:00:00", "þ ✓", "1.50", "true"),
        ("101", "2020-01-01T23:59:59.250", "", "-0.01", "false"),
    ),
)
PEOPLE = Table("people", {"login": "text", "age": "amount"}, (("b", "1.00"), ("a", "2.00")))


@pytest.fixture(scope="module", params=["mysql", "mongo"])
def server(request, jdk, tmp_path_factory) -> Iterator[Database]:
    """A server of each kind."""
    folder = tmp_path_factory.mktemp(request.param)
    with ExitStack() as stack:
        runtime = stack.enter_context(ProcessRuntime())
        jar = build.jars(["mongo-standin"], jdk, runtime, print)["mongo-standin"]
        site = Site(runtime, folder / "data", folder / "logs", jdk.home, folder / "seeds", stand_in=jar)
        if request.param == "mongo":
            yield stack.enter_context(mongo.server(site))
            return
        mariadb.unpacked(Site(runtime, folder / "data", folder / "logs", jdk.home, SEEDS))
        (folder / "seeds").mkdir()
        (folder / "seeds" / f"mariadb-{mariadb.VERSION}").symlink_to(SEEDS / f"mariadb-{mariadb.VERSION}")
        yield stack.enter_context(mysql.server(site, count=10))


def change(server: Database, in_sql: str, in_mongo: Callable[[Any], Any]) -> None:
    """What a request may do to the things, in the words of each kind of server."""
    if server.kind == "mongo":
        with mongo.client(server) as client:
            in_mongo(client["lab"].things)
        return
    with mysql.connection(server) as link:
        link.cursor().execute(in_sql)
        link.commit()


def test_what_is_described_is_stored(server):
    """All rows, and a second time nothing is written."""
    tables.restore(server, THINGS)
    assert tables.restore(server, THINGS) == 0
    assert tables.restore(server, PEOPLE) == 2
    assert tables.restore(server, PEOPLE) == 0


@pytest.mark.parametrize(
    ("in_sql", "in_mongo"),
    [
        ("delete from things where id = 100", lambda things: things.delete_one({"_id": "100"})),
        ("update things set name = 'x'", lambda things: things.update_many({}, {"$set": {"name": "x"}})),
        ("insert into things (made, name, price, sold) values (now(), '', 0, 0)", lambda things: things.insert_one({})),
        ("alter table things add column more int", lambda things: things.update_many({}, {"$set": {"more": 1}})),
        ("drop table things", lambda things: things.drop()),
    ],
    ids=["removed", "updated", "added", "another column", "dropped"],
)
def test_what_differs_is_mended(server, in_sql, in_mongo):
    """Whatever was done, once; afterwards nothing is left to do."""
    tables.restore(server, THINGS)
    change(server, in_sql, in_mongo)
    assert tables.restore(server, THINGS) == 2
    assert tables.restore(server, THINGS) == 0


def test_a_table_of_somebody_else_is_left_alone(server):
    """A table without the lab's mark is named, and stays."""
    theirs = Table("theirs", PEOPLE.columns, PEOPLE.rows)
    if server.kind == "mongo":
        with mongo.client(server) as client:
            client["lab"].theirs.insert_one({"_id": 1})
    else:
        with mysql.connection(server) as link:
            link.cursor().execute("create table theirs (login int)")
    with pytest.raises(LabError, match="'theirs'"):
        tables.restore(server, theirs)


@pytest.mark.parametrize(
    ("columns", "rows", "problem"),
    [({"id": "number"}, (), "unknown kind 'number'"), ({"id": "numbered"}, (("1", "2"),), "does not fit")],
)
def test_a_table_that_cannot_be_is_refused(columns, rows, problem):
    """Where it is written, not where it is seeded."""
    with pytest.raises(ValueError, match=problem):
        Table("things", columns, rows)


def test_only_a_database_holds_tables():
    """A program would not know what to do with them."""
    with pytest.raises(ValueError, match="is no database"):
        Component("program", command=("true",), tables=(PEOPLE,))
