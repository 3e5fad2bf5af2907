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
    """One thing that is as it must be now.

    Attributes:
        what: how many of what, and where.
        checksum: of its contents: the same on every machine, but for the tokens, whose key is this machine's.
        written: whether it had to be written; False if it was all there.
        elapsed_s: how long that took, with starting the server if it is the lab's own.

    """

    what: str
    checksum: str
    written: bool
    elapsed_s: float


def seed(scenarios: Iterable[Scenario], endpoints: Endpoints, seeds: Path = SEEDS) -> Iterator[Seeded]:
    """Seed what some scenarios need, where it is not yet, one thing after the other.

    However an earlier attempt ended, afterwards everything is whole. LabError if a server or a tool is missing, or
    holds something of the same name that the lab did not make.

    Args:
        addresses: servers of the user's own, to be seeded instead of the lab's.
        seeds: where the lab's own seeded data, key and tokens are kept.

    """
    wanted = list(scenarios)
    kinds = {kind for scenario in wanted for kind in scenario.databases}
    with temporary.folder() as folder, ProcessRuntime() as runtime:
        if "mysql" in kinds:
            yield _timed(lambda: _users(endpoints.mysql, _site(runtime, folder, seeds)))
        if "mongo" in kinds and endpoints.mongo:
            yield _timed(lambda: _document(endpoints.mongo))
    if any(scenario.bearer for scenario in wanted):
        yield _timed(lambda: _tokens(seeds))


def _site(runtime: Runtime, folder: Path, seeds: Path) -> Site:
    return Site(runtime, folder / "data", folder / "logs", find_jdk().home, seeds)


def _timed(do: Callable[[], tuple[str, str, bool]]) -> Seeded:
    begun = time.monotonic()
    what, checksum, written = do()
    return Seeded(what, checksum, written, time.monotonic() - begun)


def _users(url: str, site: Site) -> tuple[str, str, bool]:
    """The rows of ``users``, in a server of somebody's own or in the data that every run starts with a copy of."""
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
