"""Seeds databases and makes tokens before a run needs them, and checks them."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.runtimes import Runtime, temporary
from lab.runtimes.process import ProcessRuntime
from lab.spec.scenario import Scenario
from lab.system.backends import Endpoints
from lab.system.databases import SEEDS, Site, mongo, mysql, tokens
from lab.system.databases.rows import DOCUMENT_LENGTH, USERS, document, sums, users
from lab.system.jdk import find_jdk


@dataclass(frozen=True)
class Seeded:
    """The result of seeding one data set.

    Attributes:
        what: the data set in words, such as the number of rows and the database.
        checksum: of its contents; the same on every machine, except for tokens, whose key is this machine's.
        written: whether it had to be written; False if it was complete.
        elapsed_s: how long that took, including the start of the lab's own server.

    """

    what: str
    checksum: str
    written: bool
    elapsed_s: float


def seed(scenarios: Iterable[Scenario], endpoints: Endpoints, seeds: Path = SEEDS) -> Iterator[Seeded]:
    """Seed the data sets that scenarios need and that are not complete yet, one after the other.

    Afterwards they are complete, however an earlier attempt ended. LabError if a server or a tool is missing, or
    contains data of the same name that the lab did not write.

    Args:
        endpoints: the user's own servers, seeded instead of the lab's.
        seeds: the folder of the lab's own seeded data, key and tokens.

    """
    wanted = list(scenarios)
    kinds = {kind for scenario in wanted for kind in scenario.databases}
    with temporary.folder() as folder, ProcessRuntime() as runtime:
        if "mysql" in kinds:
            yield _timed(lambda: _users(endpoints.mysql, _site(runtime, folder, seeds)))
        if "mongo" in kinds and endpoints.mongo:
            yield _timed(lambda: _document(endpoints.mongo))
    if any(scenario.sends_tokens for scenario in wanted):
        yield _timed(lambda: _tokens(seeds))


def _site(runtime: Runtime, folder: Path, seeds: Path) -> Site:
    return Site(runtime, folder / "data", folder / "logs", find_jdk().home, seeds)


def _timed(do: Callable[[], tuple[str, str, bool]]) -> Seeded:
    begun = time.monotonic()
    what, checksum, written = do()
    return Seeded(what, checksum, written, time.monotonic() - begun)


def _users(url: str, site: Site) -> tuple[str, str, bool]:
    """Seed the rows of ``users`` in the user's own server, or in the data that every run starts with a copy of."""
    checksum = f"{sums(users()).parity:08x}"
    if url:
        database = mysql.identified(mysql.parse(url))
        written = bool(mysql.seed_users(database))
        return f"{USERS:,} users in {database.title}", checksum, written
    written = not mysql.is_seeded(site.seeds)
    with mysql.server(site) as database:
        return f"{USERS:,} users in {database.title}", checksum, written


def _document(url: str) -> tuple[str, str, bool]:
    database = mongo.identified(mongo.parse(url))
    written = bool(mongo.seed_document(database))
    what = f"1 document of {DOCUMENT_LENGTH:,} characters in {database.title}"
    return what, f"{zlib.crc32(document().encode()):08x}", written


def _tokens(seeds: Path) -> tuple[str, str, bool]:
    before = set(seeds.glob("tokens-*"))
    file = tokens.token_file(seeds)
    return f"{USERS:,} tokens in {file.name}", f"{zlib.crc32(file.read_bytes()):08x}", file not in before
