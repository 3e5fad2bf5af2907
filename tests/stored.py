"""What a database holds, and what it should hold."""

from __future__ import annotations

from typing import Any

import mysql.connector
from mysql.connector import errorcode

from lab.spec.system import Entities
from lab.system.databases import Database, entities
from lab.system.databases import mysql as mysql_database
from lab.system.databases.rows import Sums


def user_sums(database: Database) -> Sums | None:
    """The checksum of the users in a database, as its server computes it; None if there is no such table."""
    with mysql_database.connection(database) as link:
        try:
            return mysql_database._sums(link.cursor())
        except mysql.connector.ProgrammingError as error:
            if error.errno != errorcode.ER_NO_SUCH_TABLE:
                raise
            return None


def seeded_entities(of: Entities) -> list[dict[str, Any]]:
    """All documents of a collection as it is seeded."""
    return [entities.entity(of, number) for number in range(of.count)]
