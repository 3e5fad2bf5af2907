"""The contents of the databases, as pure functions of a seed."""

from __future__ import annotations

import base64
import random
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

SEED = 1
USERS = 100_000
DOCUMENT_ID = "1000"
# Characters in the text of the document that the published experiment fetched.
DOCUMENT_LENGTH = 1_019_684

# Some names are not ASCII, so that a variant that gets a character set wrong is found out.
FIRST = (
    "Ada Aino Amara Béla Carmen Chloé Daniel Diego Elif Emre Fatima Finn Grace Hana Ines Ivo Jakub Jürgen Kofi Lena "
    "Łucja Maya Mehmet Nadia Noah Olga Paulo Priya Quentin Rosa Søren Sofía Tariq Uma Viktor Wei Xenia Yuki Zoë Zuri"
)
LAST = (
    "Adams Bauer Bianchi Brown Castro Dubois Eriksson Fischer García Haddad Horváth Ito Jansen Kaya Kowalski Kumar "
    "Larsen Lopez Meyer Müller Nakamura Nguyen Novák Okafor Olsen Papadopoulos Pereira Popescu Rossi Santos Schäfer "
    "Silva Singh Smith Tanaka Tóth Virtanen Wang Weber Yılmaz"
)
CITIES = (
    "Aberdeen Bergen Brno Córdoba Dresden Eindhoven Florence Ghent Göteborg Haarlem Izmir Kraków Leeds Lyon Málaga "
    "Nantes Odense Pécs Québec Rouen Sapporo Tartu Utrecht Varna Wrocław Zürich"
)
COUNTIES = "Antrim Cork Devon Essex Fife Kent Kerry Mayo Norfolk Orkney Powys Rutland Shetland Surrey Tyrone"


AGES = range(18, 100)


class User(NamedTuple):
    """One row of ``users``, in the order of its columns."""

    email: str
    first: str
    last: str
    city: str
    county: str
    age: int


@lru_cache(maxsize=2)
def users(seed: int = SEED, count: int = USERS) -> tuple[User, ...]:
    """The first ``count`` users of a seed, in the order of their emails, each of which is there once."""
    choices = [*(names.split() for names in (FIRST, LAST, CITIES, COUNTIES)), AGES]
    # Each column has a chance of its own, so that fewer users are the first of more.
    columns = [random.Random(f"{seed}-{column}").choices(of, k=count) for column, of in enumerate(choices)]
    people = zip(*columns, strict=True)
    return tuple(User(f"user{number:06}@example.org", *person) for number, person in enumerate(people))


def document(seed: int = SEED) -> str:
    """The text of the document: random letters, digits, ``+`` and ``/``, so that nothing can compress it away."""
    noise = random.Random(seed).randbytes(DOCUMENT_LENGTH * 3 // 4 + 3)
    return base64.b64encode(noise)[:DOCUMENT_LENGTH].decode()


class Sums(NamedTuple):
    """An order-independent checksum of rows: their number, and the sum and exclusive or of their CRC-32s."""

    rows: int
    total: int
    parity: int


def sums(rows: Iterable[tuple[Any, ...]]) -> Sums:
    """The sums of some rows of texts and whole numbers, as :mod:`lab.system.databases.mysql` has the server compute."""
    number = total = parity = 0
    for row in rows:
        crc = zlib.crc32("\0".join(map(str, row)).encode())
        number, total, parity = number + 1, total + crc, parity ^ crc
    return Sums(number, total, parity)


@dataclass(frozen=True)
class SqlTable:
    """A table of MySQL that the lab makes, with its rows.

    Attributes:
        columns: the definition of each, by name; the first is the primary key.
        rows: texts and whole numbers, in the order of the columns.
        index: the columns of its index besides the primary key, if it has one.

    """

    name: str
    columns: Mapping[str, str]
    rows: Sequence[tuple[Any, ...]]
    index: tuple[str, ...] = ()

    @cached_property
    def sums(self) -> Sums:
        """The sums of its rows."""
        return sums(self.rows)


TEXT, NUMBER, TRUTH = "varchar(255) not null", "int not null", "tinyint(1) not null"


@lru_cache(maxsize=4)
def users_table(seed: int = SEED, count: int = USERS) -> SqlTable:
    """The table of the users."""
    columns = {name: NUMBER if name == "age" else TEXT for name in User._fields}
    return SqlTable("users", columns, users(seed, count))
