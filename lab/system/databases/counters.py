"""Counts of the queries that a database has answered."""

from __future__ import annotations

from lab.system.databases import Database, mongo, mysql


def queries(database: Database) -> int | None:
    """How many SELECTs or finds the server has executed since it started; None if it does not count.

    Take the difference over some requests, and have the pools use every connection before: drivers ask for settings
    when they connect, and some again the first time that a connection is used.
    """
    return mysql.queries(database) if database.kind == "mysql" else mongo.queries(database)


def commands(database: Database) -> dict[str, int]:
    """How many of each command of :data:`lab.spec.system.COMMANDS` the server has executed; empty if it counts none."""
    return mongo.commands(database) if database.kind == "mongo" else {}
