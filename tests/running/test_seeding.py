"""``lab seed``: everything there and whole afterwards, whatever happened before; the second time nothing is written."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from holding_relay import HoldingRelay
from patience import await_that
from stored import user_sums

from lab.experiments import scenarios
from lab.running import seeding
from lab.running.progress import Reporter
from lab.runtimes.process import ProcessRuntime
from lab.storage.run_folder import ROOT
from lab.system.backends import NO_ENDPOINTS
from lab.system.databases import SEEDS, Site, mariadb, mysql, rows

QUIET = Reporter(quiet=True)
JWT, DELAY, DOCUMENT = (scenarios()[name] for name in ("jwt", "delay", "document"))


@pytest.fixture(scope="module")
def server(jdk, tmp_path_factory):
    """A server of somebody's own: seeded with a few users only, so that all of them are missing."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "seeds").mkdir()
    with ProcessRuntime() as runtime:
        site = Site(runtime, folder / "data", folder / "logs", jdk.home, folder / "seeds")
        mariadb.unpacked(Site(runtime, folder / "data", folder / "logs", jdk.home, SEEDS))
        (folder / "seeds" / f"mariadb-{mariadb.VERSION}").symlink_to(SEEDS / f"mariadb-{mariadb.VERSION}")
        with mysql.server(site, count=10) as database:
            yield database


def found_rows(server) -> int:
    """How many users there are."""
    found = user_sums(server)
    return found.rows if found else 0


@pytest.mark.java
@pytest.mark.thorough
def test_a_seeding_that_was_killed_is_mended_by_the_next(server, tmp_path, typed):
    """SIGKILL with part of the rows written; then ``lab seed`` makes them whole, and then finds them whole."""
    with HoldingRelay((server.host, server.port), after=2_000_000) as relay:
        command = [sys.executable, "-m", "lab", "seed", "jwt", "--mysql-url", server.via(relay.port).url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL) as first:
            try:
                await_that(lambda: relay.holds.is_set() or first.poll() is not None)
                await_that(lambda: found_rows(server) > 10)
            finally:
                first.kill()
    assert 10 < found_rows(server) < rows.USERS
    said = [typed("seed", "jwt", "--mysql-url", server.url) for _ in range(2)]
    assert [done.returncode for done in said] == [0, 0], said
    assert said[0].stdout.startswith("seeded: 100,000 users in MariaDB")
    assert said[1].stdout.startswith("already seeded: 100,000 users in MariaDB")
    assert user_sums(server) == rows.sums(rows.users())
    checksums = [done.stdout.split("checksum ")[1].split()[0] for done in said]
    assert checksums[0] == checksums[1] == f"{rows.sums(rows.users()).parity:08x}"
    assert all("seed MySQL" in done.stderr for done in said)
    assert server.password not in said[0].stdout + said[0].stderr


def test_tokens_are_made_once(tmp_path):
    """A new folder gets a key and tokens; the same again gives the same bytes and writes nothing."""
    only_tokens = [replace(JWT, components=(), variants=())]
    first, second = (list(seeding.seed(only_tokens, NO_ENDPOINTS, QUIET, tmp_path)) for _ in range(2))
    assert [(one.written, two.written) for one, two in zip(first, second, strict=True)] == [(True, False)]
    assert first[0].checksum == second[0].checksum
    assert first[0].what == second[0].what


def test_nothing_is_seeded_beforehand_where_every_run_does_it(typed):
    """The delay needs no data; a MongoDB of the lab's own starts empty."""
    assert list(seeding.seed([DELAY, DOCUMENT], NO_ENDPOINTS, QUIET)) == []
    done = typed("seed", "document")
    assert (done.returncode, done.stdout) == (0, "There is nothing to seed beforehand.\n")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["jwtt"], "jwt"),
        (["jwt", "--mysql-url", "mysql://me@127.0.0.1:1"], "127.0.0.1:1"),
        (["jwt", "--mysql-url", "x"], "mysql://"),
    ],
)
def test_what_cannot_be_seeded_is_said_in_a_sentence(typed, arguments, named):
    """An unknown scenario, a server that is not there, and something that is no URL."""
    done = typed("seed", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert "Traceback" not in done.stderr
