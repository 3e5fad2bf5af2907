"""Seeds databases and makes tokens before a run needs them, and checks them."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lab.running.progress import Reporter
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

    """

    what: str
    checksum: str
    written: bool


def seed(
    scenarios: Iterable[Scenario], endpoints: Endpoints, reporter: Reporter, seeds: Path = SEEDS
) -> Iterator[Seeded]:
    """Seed the data sets that scenarios need and that are not complete yet, one after the other.

    Afterwards they are complete, however an earlier attempt ended. LabError if a server or a tool is missing, or
    contains data of the same name that the lab did not write.

    Args:
        endpoints: the user's own servers, seeded instead of the lab's.
        reporter: shows what is being seeded, and for how long.
        seeds: the folder of the lab's own seeded data, key and tokens.

    """
    wanted = list(scenarios)
    kinds = {kind for scenario in wanted for kind in scenario.databases}
    with temporary.folder() as folder, ProcessRuntime() as runtime:
        if "mysql" in kinds:
            with reporter.phase("seed MySQL"):
                users_seeded = _users(endpoints.mysql, _site(runtime, folder, seeds))
            yield users_seeded
        if "mongo" in kinds and endpoints.mongo:
            with reporter.phase("seed MongoDB"):
                document_seeded = _document(endpoints.mongo)
            yield document_seeded
    if any(scenario.sends_tokens for scenario in wanted):
        with reporter.phase("make tokens"):
            tokens_made = _tokens(seeds)
        yield tokens_made


def _site(runtime: Runtime, folder: Path, seeds: Path) -> Site:
    return Site(runtime, folder / "data", folder / "logs", find_jdk().home, seeds)


def _users(url: str, site: Site) -> Seeded:
    """Seed the rows of ``users`` in the user's own server, or in the data that every run starts with a copy of."""
    checksum = f"{sums(users()).parity:08x}"
    if url:
        database = mysql.identified(mysql.parse(url))
        written = bool(mysql.seed_users(database))
        return Seeded(f"{USERS:,} users in {database.title}", checksum, written)
    written = not mysql.is_seeded(site.seeds)
    with mysql.server(site) as database:
        return Seeded(f"{USERS:,} users in {database.title}", checksum, written)


def _document(url: str) -> Seeded:
    database = mongo.identified(mongo.parse(url))
    written = bool(mongo.seed_document(database))
    what = f"1 document of {DOCUMENT_LENGTH:,} characters in {database.title}"
    return Seeded(what, f"{zlib.crc32(document().encode()):08x}", written)


def _tokens(seeds: Path) -> Seeded:
    before = set(seeds.glob("tokens-*"))
    file = tokens.token_file(seeds)
    return Seeded(f"{USERS:,} tokens in {file.name}", f"{zlib.crc32(file.read_bytes()):08x}", file not in before)
