"""Tables of MySQL and collections of MongoDB that a scenario describes, put into the state that was described."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

from bson.decimal128 import Decimal128

from lab.errors import LabError
from lab.spec.system import Table
from lab.system.databases import NAME, Database, mongo, mysql
from lab.system.databases.rows import TEXT, TRUTH, SqlTable

# By kind of a column, its type in MySQL.
TYPES = {
    "numbered": "bigint not null auto_increment",
    "text": TEXT,
    "boolean": TRUTH,
    "time": "datetime(3) not null",
    "amount": "decimal(19, 2) not null",
}
# By kind of a column, what a text becomes in a row of MySQL, and in a document of MongoDB.
Convert = Mapping[str, Callable[[str], Any]]
# Times and amounts as MySQL writes them itself: its checksum of a row is that of these texts.
IN_MYSQL: Convert = {
    "numbered": int,
    "text": str,
    "boolean": lambda text: int(text == "true"),
    "time": lambda text: datetime.fromisoformat(text).isoformat(" ", "milliseconds"),
    "amount": lambda text: f"{Decimal(text):.2f}",
}
IN_MONGO: Convert = {
    "numbered": str,
    "text": str,
    "boolean": lambda text: text == "true",
    "time": datetime.fromisoformat,
    "amount": Decimal128,
}


def restore(database: Database, table: Table) -> int:
    """See to it that a table or collection holds exactly the rows that are described, whatever requests made of it.

    Returns:
        How many rows were written: none if they were all there, and no others.

    Raises:
        LabError: there is one of that name that the lab did not make, or what was written reads back wrong.

    """
    return _in_mysql(database, table) if database.kind == "mysql" else _in_mongo(database, table)


def _in_mysql(database: Database, table: Table) -> int:
    columns = {name: TYPES[kind] for name, kind in table.columns.items()}
    return mysql.seed_table(database, SqlTable(table.name, columns, _rows(table, IN_MYSQL)))


def _in_mongo(database: Database, table: Table) -> int:
    names = ["_id", *list(table.columns)[1:]]
    documents = [dict(zip(names, row, strict=True)) for row in _rows(table, IN_MONGO)]
    with mongo.client(database) as link:
        mongo.claim(database, link[NAME], table.name)
        collection = link[NAME][table.name]

        def stored() -> list[dict[str, Any]]:
            return list(collection.find().sort("_id"))

        if stored() == documents:
            return 0
        collection.drop()
        collection.insert_many(documents)
        if stored() != documents:
            raise LabError(f"The collection '{table.name}' reads back wrong after seeding.")
    return len(documents)


def _rows(table: Table, convert: Convert) -> list[tuple[Any, ...]]:
    """The rows in the order of their keys, with the values that a driver reads and writes."""
    kinds = list(table.columns.values())
    rows = (tuple(convert[kind](text) for kind, text in zip(kinds, row, strict=True)) for row in table.rows)
    return sorted(rows, key=lambda row: row[0])
