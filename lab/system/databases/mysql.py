"""MySQL with its table of users: a server of the lab's or of the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import mysql.connector

from lab.errors import LabError
from lab.system.databases import NAME, NOT_AS_WRITTEN, Database, Site, mariadb
from lab.system.databases.rows import SEED, USERS, Sums, User, users
from lab.system.databases.rows import sums as sums_of

USERS_TABLE = "users"
# The comment of every table that the lab makes; a table without it is somebody else's.
MARK = "made by lab; may be dropped"
BATCH = 1000
LOCK_WITHIN_S = 120
# The one option of a URL that says what all drivers do anyway.
PREFERS_TLS = ("ssl-mode", "PREFERRED")
COLUMNS = ", ".join(f"`{column}`" for column in User._fields)
# By the name of the server's counter, what is counted: all SELECTs without a name, and commands.
COUNTERS = {"Com_select": "", "Com_insert": "insert", "Com_update": "update", "Com_delete": "delete"}
# Compares byte by byte, trailing blanks too: nobody gets the record of an email that differs in case or in a blank.
COLLATIONS = {"MariaDB": "utf8mb4_nopad_bin", "MySQL": "utf8mb4_0900_bin"}
TABLE = f"""create table users (
    email varchar(255) primary key,
    first varchar(255) not null,
    last varchar(255) not null,
    city varchar(255) not null,
    county varchar(255) not null,
    age int not null
) engine = InnoDB character set utf8mb4 collate %s comment = '{MARK}'"""


@contextmanager
def server(site: Site, url: str | None = None, seed: int = SEED, count: int = USERS) -> Iterator[Database]:
    """A MySQL database with the seeded users in it.

    Args:
        url: ``mysql://user:password@host:port`` of a server to use instead of the lab's own; the lab writes into its
            database ``lab`` only, and leaves the table there for the next time.
        count: how many users.

    Raises:
        LabError: there is no server, or it holds a table ``users`` that is not the lab's.

    """
    if url:
        database = identified(parse(url))
        seed_users(database, seed, count)
        yield database
        return
    with mariadb.server(site, _content(seed, count), lambda made: seed_users(made, seed, count)) as database:
        yield identified(database)


def is_seeded(seeds: Path, seed: int = SEED, count: int = USERS) -> bool:
    """Whether the lab's own server will find its users there, so that it starts with a copy of them."""
    return mariadb.seeded_data(seeds, _content(seed, count)).exists()


def _content(seed: int, count: int) -> str:
    return f"{seed}-{count}"


def parse(url: str) -> Database:
    """The database that a URL names, not asked yet. LabError if it is not such a URL."""
    try:
        parts = urlsplit(url)
        port = parts.port or 3306
    except ValueError:
        raise _bad_url("That is not a URL.") from None
    if parts.scheme != "mysql" or not parts.hostname or not parts.username:
        raise _bad_url("--mysql-url needs a scheme, a user and a host.")
    if "@" in parts.path + parts.query + parts.fragment:  # a password is taken apart: no part of it may be repeated
        raise _bad_url("--mysql-url has an @ after the host.")
    if parts.path.strip("/") not in ("", NAME) or parts.fragment:
        raise _bad_url(f"The lab uses the database '{NAME}' only, and --mysql-url names another.")
    _check_options(parts.query)
    user, password = unquote(parts.username), unquote(parts.password or "")
    return Database("mysql", "", False, parts.hostname, port, user, password)


def _check_options(query: str) -> None:
    """LabError for any option that not every driver would honour; all of them prefer TLS by themselves."""
    for name, value in parse_qsl(query, keep_blank_values=True):
        if (name.lower(), value.upper()) != PREFERS_TLS:
            raise LabError(
                f"--mysql-url has an option {name!r} that the lab cannot give to every variant's driver.",
                "Leave it out. TLS is used where the server has it, without a look at its certificate: where that is "
                "not enough, lead the connection through a tunnel of yours (ssh -L).",
            )


def _bad_url(problem: str) -> LabError:
    return LabError(problem, "Write mysql://user:password@host:port (percent-encode what is not a letter or digit).")


def identified(database: Database) -> Database:
    """The same database, with the product that its server reports; creates the database if it is missing.

    LabError if the server lets this user in by caching_sha2_password, and has no TLS: the variants' drivers would
    disagree whether the password may travel, depending on whom the server remembers.
    """
    with connection(replace(database, name="")) as link:
        cursor = link.cursor()
        _check_login(cursor, database)
        cursor.execute("select version()")
        version = str(cursor.fetchone()[0])
        cursor.execute("select count(*) from information_schema.schemata where schema_name = %s", (NAME,))
        if not cursor.fetchone()[0]:
            cursor.execute(f"create database {NAME}")
    maker = "MariaDB" if "MariaDB" in version else "MySQL"
    return replace(database, product=f"{maker} {version.partition('-')[0]}", stand_in=maker != "MySQL")


def check_lets_in(database: Database) -> None:
    """LabError unless the server answers, and lets this user in, by whatever driver."""
    with connection(replace(database, name="")) as link:
        _check_login(link.cursor(), database)


def _check_login(cursor: Any, database: Database) -> None:
    cursor.execute("show session status like 'Ssl_cipher'")
    (_, cipher) = cursor.fetchone()
    if cipher:
        return
    cursor.execute("show create user current_user()")
    if "caching_sha2_password" in str(cursor.fetchone()[0]):
        raise LabError(
            f"MySQL at {database.host}:{database.port} has no TLS, but wants it: its user {database.user!r} logs in by "
            "caching_sha2_password.",
            "Switch TLS on at the server, or give the user another plugin.",
        )


@contextmanager
def connection(database: Database) -> Iterator[Any]:
    """A connection that is closed with the context. LabError if the server does not let the lab in or do something."""
    where = f"MySQL at {database.host}:{database.port}"
    try:
        with closing(
            mysql.connector.connect(
                host=database.host,
                port=database.port,
                user=database.user,
                password=database.password,
                database=database.name or None,
                charset="utf8mb4",
                collation="utf8mb4_bin",
                connection_timeout=10,
            )
        ) as link:
            yield link
    except mysql.connector.Error as error:
        raise LabError(f"{where} said: {error.msg}.", "Is the server up, and is its URL right?") from error


@contextmanager
def users_in_use(database: Database) -> Iterator[None]:
    """Keep the table of users in use, where the server is a MariaDB of the lab's; nothing is asked of it.

    Tables that a scenario describes are not: they are made anew when they are restored.

    MariaDB forgets the lock on a table's description whenever its last user is done, and threads that come meanwhile
    spin until that has happened. Where one that was interrupted at it shares a core with fifty that come, each of them
    spins for its slice of the core: no request was answered for up to 0.2 s, several times a second. MySQL keeps it.
    """
    if not database.running or not database.stand_in:
        yield
        return
    with connection(database) as link:
        cursor = link.cursor()
        cursor.execute("set session wait_timeout = 31536000")  # a year: it has nothing else to ask
        # Without a view of the data, for which the server would keep all that is changed from now on.
        cursor.execute("set session transaction isolation level read uncommitted")
        cursor.execute("start transaction")
        cursor.execute(f"select 1 from {USERS_TABLE} limit 0")
        cursor.fetchall()
        yield


def _sums(cursor: Any) -> Sums:
    """The checksum of the users in the database, as the server computes it."""
    crc = f"crc32(concat_ws(0x00, {COLUMNS}))"
    cursor.execute(f"select count(*), coalesce(sum({crc}), 0), bit_xor({crc}) from users")
    return Sums(*(int(value) for value in cursor.fetchone()))


def _try_sums(cursor: Any) -> Sums | None:
    """The sums, or None where the table has not even the right columns: an older lab made it."""
    try:
        return _sums(cursor)
    except mysql.connector.ProgrammingError:
        return None


def _owner(cursor: Any, table: str) -> str | None:
    """The comment of a table; None if there is no such table."""
    cursor.execute(
        "select table_comment from information_schema.tables where table_schema = %s and table_name = %s", (NAME, table)
    )
    found = cursor.fetchone()
    return None if found is None else str(found[0])


def claimed(cursor: Any, database: Database, table: str) -> bool:
    """Whether there is a table of that name; LabError if the lab did not make it.

    Waits for other labs that would seed the same server; the server unlocks when the connection ends.
    """
    _lock(cursor)
    owner = _owner(cursor, table)
    if owner not in (None, MARK):
        raise LabError(
            f"The database '{NAME}' on {database.host}:{database.port} has a table '{table}' that is not the lab's.",
            "Rename it, or give --mysql-url of another server; the lab drops nothing that it did not make.",
        )
    return owner is not None


def collation(cursor: Any) -> str:
    """The collation of the lab's tables on this server."""
    cursor.execute("select version()")
    return COLLATIONS["MariaDB" if "MariaDB" in cursor.fetchone()[0] else "MySQL"]


def seed_users(database: Database, seed: int = SEED, count: int = USERS) -> int:
    """See to it that the table holds exactly these users, however an earlier attempt ended.

    Returns:
        How many rows were written: none if they were all there.

    Raises:
        LabError: there is a table of that name that the lab did not make, or what was written reads back wrong.

    """
    people = users(seed, count)
    expected = sums_of(people)
    with connection(database) as link:
        cursor = link.cursor()
        if claimed(cursor, database, USERS_TABLE) and _try_sums(cursor) == expected:
            return 0
        _write(link, people)
        if (found := _sums(cursor)) != expected:
            raise LabError(f"The users read back wrong after seeding: {found} instead of {expected}.", NOT_AS_WRITTEN)
    return count


def _lock(cursor: Any) -> None:
    """Have other labs wait that would seed the same server; the server unlocks when the connection ends."""
    cursor.execute("select get_lock('lab.users', %s)", (LOCK_WITHIN_S,))
    if cursor.fetchone()[0] != 1:
        raise LabError(f"Another lab has been seeding this server for {LOCK_WITHIN_S} s.", "Wait for it to end.")


def _write(link: Any, people: tuple[User, ...]) -> None:
    cursor = link.cursor()
    cursor.execute("drop table if exists users")
    cursor.execute(TABLE % collation(cursor))
    for start in range(0, len(people), BATCH):
        batch = people[start : start + BATCH]
        places = ", ".join(["(%s, %s, %s, %s, %s, %s)"] * len(batch))
        # One statement a batch: executemany rewrites to the same, and takes twice as long about it.
        cursor.execute(f"insert into users ({COLUMNS}) values {places}", tuple(chain.from_iterable(batch)))
        link.commit()


def counted(database: Database) -> dict[str, int]:
    """How many SELECTs the server has executed so far, prepared or not, for whomever; and of each other command.

    Drivers send some of their own when they connect, and the first time they use a connection: take the difference
    over a time in which they know all of theirs.
    """
    with connection(database) as link:
        cursor = link.cursor()
        cursor.execute(r"show global status like 'Com\_%'")  # with "where" it would be a SELECT itself
        return {COUNTERS[name]: int(value) for name, value in cursor.fetchall() if name in COUNTERS}
