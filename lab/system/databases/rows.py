"""The contents of the databases, as pure functions of a seed."""

from __future__ import annotations

import base64
import random
import zlib
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

SEED = 1
USERS = 100_000
# The numbers of those whose tokens the contract of every service with tokens carries.
HONEST_USERS = (0, 49_999, 99_999)
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


def email(number: int) -> str:
    """The email of a user, which is the same in all seeds."""
    return f"user{number:06}@example.org"


@lru_cache(maxsize=2)
def users(seed: int = SEED, count: int = USERS) -> tuple[User, ...]:
    """The first ``count`` users of a seed, in the order of their emails, each of which is there once."""
    choices = [*(names.split() for names in (FIRST, LAST, CITIES, COUNTIES)), AGES]
    # Each column has a chance of its own, so that fewer users are the first of more.
    columns = [random.Random(f"{seed}-{column}").choices(of, k=count) for column, of in enumerate(choices)]
    people = zip(*columns, strict=True)
    return tuple(User(email(number), *person) for number, person in enumerate(people))


def document(seed: int = SEED) -> str:
    """The text of the document: random letters, digits, ``+`` and ``/``, so that nothing can compress it away."""
    noise = random.Random(seed).randbytes(DOCUMENT_LENGTH * 3 // 4 + 3)
    return base64.b64encode(noise)[:DOCUMENT_LENGTH].decode()


class Sums(NamedTuple):
    """An order-independent checksum of rows: their number, and the sum and exclusive or of their CRC-32s."""

    rows: int
    total: int
    parity: int


def sums(rows: Iterable[User]) -> Sums:
    """The sums of some users, as the server computes them: see :mod:`lab.system.databases.mysql`."""
    number = total = parity = 0
    for row in rows:
        crc = zlib.crc32("\0".join((*row[:-1], str(row.age))).encode())
        number, total, parity = number + 1, total + crc, parity ^ crc
    return Sums(number, total, parity)
