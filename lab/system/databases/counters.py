"""Counts of the queries that a database has answered."""

from __future__ import annotations

from lab.system.databases import Database, mongo, mysql

# The name of the count of all queries, beside those of commands.
QUERIES = ""


def counted(database: Database) -> dict[str, int]:
    """How often the server has executed what, since it started, for whomever; empty if it does not count.

    By :data:`QUERIES`, SELECTs or finds; and by its name, each command of :data:`lab.spec.system.COMMANDS`.

    Take the difference over some requests, and have the pools use every connection before: drivers ask for settings
    when they connect, and some again the first time that a connection is used.
    """
    if database.kind == "mysql":
        return mysql.counted(database)
    commands = mongo.counted(database)
    return {QUERIES: commands["find"], **commands} if commands else {}
