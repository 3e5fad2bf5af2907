"""Tables of MySQL and collections of MongoDB that a scenario describes, put into the state that was described."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from decimal import Decimal
from itertools import chain
from typing import Any

from bson.decimal128 import Decimal128

from lab.errors import LabError
from lab.spec.system import Table
from lab.system.databases import NAME, NOT_AS_WRITTEN, Database, mongo, mysql

# By kind of a column, its type in MySQL. Texts compare byte by byte, as the server's own tables of the lab do.
TYPES = {
    "numbered": "bigint not null auto_increment primary key",
    "text": "varchar(255) not null",
    "boolean": "boolean not null",
    "time": "datetime(3) not null",
    "amount": "decimal(19, 2) not null",
}
# By kind of a column, what a text becomes in a row of MySQL, and in a document of MongoDB.
Convert = Mapping[str, Callable[[str], Any]]
IN_MYSQL: Convert = {
    "numbered": int,
    "text": str,
    "boolean": lambda text: int(text == "true"),
    "time": datetime.fromisoformat,
    "amount": Decimal,
}
IN_MONGO: Convert = {
    **IN_MYSQL,
    "numbered": str,
    "boolean": lambda text: text == "true",
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
    rows, columns = _rows(table, IN_MYSQL), list(table.columns)
    named = ", ".join(f"`{column}`" for column in columns)
    with mysql.connection(database) as link:
        cursor = link.cursor()
        owned = mysql.claimed(cursor, database, table.name)

        def stored() -> list[tuple[Any, ...]]:
            cursor.execute(f"select {named} from `{table.name}` order by `{columns[0]}`")
            return [tuple(row) for row in cursor.fetchall()]

        if owned and _has_columns(cursor, table) and stored() == rows:
            return 0
        cursor.execute(f"drop table if exists `{table.name}`")
        cursor.execute(_definition(table, mysql.collation(cursor)))
        places = ", ".join(["(" + ", ".join(["%s"] * len(columns)) + ")"] * len(rows))
        cursor.execute(f"insert into `{table.name}` ({named}) values {places}", tuple(chain.from_iterable(rows)))
        link.commit()
        if stored() != rows:
            raise LabError(f"The table '{table.name}' reads back wrong after seeding.", NOT_AS_WRITTEN)
    return len(rows)


def _has_columns(cursor: Any, table: Table) -> bool:
    """Whether a table that is there was made from the same columns; an older lab may have made it."""
    cursor.execute(
        "select column_name from information_schema.columns where table_schema = %s and table_name = %s "
        "order by ordinal_position",
        (NAME, table.name),
    )
    return [name for (name,) in cursor.fetchall()] == list(table.columns)


def _definition(table: Table, collation: str) -> str:
    (key, kind), *others = table.columns.items()
    first = f"`{key}` {TYPES[kind]}" + " primary key" * (kind != "numbered")
    columns = [first, *(f"`{name}` {TYPES[kind]}" for name, kind in others)]
    index = [f"key ({', '.join(table.index)})"] if table.index else []
    return (
        f"create table `{table.name}` ({', '.join([*columns, *index])}) engine = InnoDB character set utf8mb4 "
        f"collate {collation} comment = '{mysql.MARK}'"
    )


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
            raise LabError(f"The collection '{table.name}' reads back wrong after seeding.", NOT_AS_WRITTEN)
    return len(documents)


def _rows(table: Table, convert: Convert) -> list[tuple[Any, ...]]:
    """The rows in the order of their keys, with the values that a driver reads and writes."""
    kinds = list(table.columns.values())
    rows = (tuple(convert[kind](text) for kind, text in zip(kinds, row, strict=True)) for row in table.rows)
    return sorted(rows, key=lambda row: row[0])
