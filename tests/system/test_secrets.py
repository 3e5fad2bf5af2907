"""Secrets that are planted everywhere, and found nowhere but where they belong."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from admitting_relay import AdmittingRelay
from checkouts import BRIEF_LAB
from docker.errors import DockerException
from one_sentence import assert_refused
from patience import PATIENCE_S

import lab
from lab.runtimes import identity, temporary
from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import CHECKOUT_LABEL
from lab.runtimes.process import ProcessRuntime, free_ports
from lab.system import build
from lab.system.databases import Site, mongo, mysql, tokens
from lab.system.jdk import find_jdk

HEADER, COOKIE = "planted-header-4711", "planted-cookie-4712"
# By these names containers are told.
PASSWORDS = ("LAB_PASSWORD", "LAB_MYSQL_PASSWORD")
PASSWORD = "planted-password-4714"
JOIN = "planted-secret-of-a-run-4713"


def command_lines() -> bytes:
    """What ``ps`` shows of every process now."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


def temporary_files_with(secret: str) -> list[Path]:
    """What of this checkout is in temporary folders and holds a secret."""
    files = [file for folder in temporary.left_behind() for file in folder.rglob("*") if file.is_file()]
    return [file for file in files if secret.encode() in file.read_bytes()]


def assert_planted_nowhere(secrets: dict[str, str], data: Path, *arguments: str, **environment: str) -> None:
    """Carry out a command that measures, and what is made of its run; no secret is in files, output or command lines.

    Args:
        secrets: by what they are.
        data: the folder of the run.

    """
    command = [sys.executable, *BRIEF_LAB, *arguments, "--data", str(data)]
    lines: list[bytes] = []
    output = data.with_name("output")
    with (
        output.open("wb") as said,
        subprocess.Popen(command, stdout=said, stderr=said, cwd=ROOT, env={**os.environ, **environment}) as measuring,
    ):
        while measuring.poll() is None:
            lines.append(command_lines())
            try:
                measuring.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
    assert measuring.returncode in (0, 1), output.read_text()
    run = lab.open_run(data=data)
    assert all(row["requests"] for row in run.cells), output.read_text()
    exports = data.with_name("exports")
    exports.mkdir()
    for words in (["report"], *(["export", "--format", kind, "-o", str(exports)] for kind in ("jtl", "csv", "hdr"))):
        done = subprocess.run(
            [sys.executable, "-m", "lab", *words, "--data", str(data)],
            capture_output=True,
            cwd=ROOT,
            timeout=PATIENCE_S,
        )
        assert done.returncode == 0, done.stderr
        (exports / f"said-{words[-1].strip('/').replace('/', '-')}").write_bytes(done.stdout + done.stderr)
    files = [output, *(path for folder in (data, exports) for path in folder.rglob("*") if path.is_file())]
    assert len(files) > 15
    assert any(b"lab.generator.locust.master" in line for line in lines)
    for what, secret in secrets.items():
        assert not [path for path in files if secret.encode() in path.read_bytes()], what
        assert not any(secret.encode() in line for line in lines), what
    for cell in run.folder.cells():
        samples = cell.samples().to_csv()
        assert not [what for what, secret in secrets.items() if secret in samples]


@pytest.mark.thorough
def test_the_secrets_of_headers_are_found_nowhere(server, tmp_path):
    """From a variable and from a file they reach the service, and nobody else."""
    (tmp_path / "cookie").write_text(f"Cookie: a={COOKIE}\n")
    load = ("load", f"{server.url}/ok", "--users", "4", "--duration", "2", "--ramp-up", "0")
    given = ("--header", "env:PLANTED", "--header", f"@{tmp_path / 'cookie'}")
    secrets = {"header": HEADER, "cookie": COOKIE}
    assert_planted_nowhere(secrets, tmp_path / "data", *load, *given, PLANTED=f"Authorization: Bearer {HEADER}")
    heads = [head for path, head in server.heads if path == "/ok"]
    assert {(head["Authorization"], head["Cookie"]) for head in heads} == {(f"Bearer {HEADER}", f"a={COOKIE}")}


@pytest.mark.thorough
@pytest.mark.java
def test_the_secrets_of_a_database_and_of_tokens_are_found_nowhere(tmp_path):
    """The password of a server that is given, that of the lab's own, the key that signs, and each token."""
    site_folder = tmp_path / "server"
    with ProcessRuntime() as runtime:
        site = Site(runtime, site_folder / "data", site_folder / "logs", find_jdk().home)
        with mysql.server(site) as database:
            key = tokens.key_file().read_text()
            secrets = {"password": database.password, "key": key}
            secrets |= {f"token {n}": t for n, t in enumerate(tokens.read_tokens(tokens.token_file())[:50])}
            run = ("run", "jwt", "--variants", "webflux", "--users", "5", "--duration", "2", "--heap-mb", "256")
            given = ("--mysql-url", "env:PLANTED", "--allow-suspect")
            assert_planted_nowhere(secrets, tmp_path / "data", *run, *given, PLANTED=database.url)
    files = [tokens.key_file(), tokens.token_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


@pytest.mark.thorough
@pytest.mark.java
def test_the_password_of_a_mongodb_is_found_nowhere(tmp_path):
    """It reaches the server from the lab and from each connection of the service."""
    folder, jdk = tmp_path / "server", find_jdk()
    with ProcessRuntime() as runtime:
        (jar,) = build.jars(["mongo-standin"], jdk, runtime, print).values()
        site = Site(runtime, folder / "data", folder / "logs", jdk.home, stand_in=jar)
        with mongo.server(site) as database, AdmittingRelay((database.host, database.port)) as relay:
            url = f"mongodb://planted:{PASSWORD}@127.0.0.1:{relay.port}/?authMechanism=PLAIN"
            run = ("run", "document", "--variants", "webflux", "--users", "5", "--duration", "2", "--heap-mb", "256")
            given = ("--mongo-url", "env:PLANTED", "--allow-suspect")
            assert_planted_nowhere({"password": PASSWORD}, tmp_path / "data", *run, *given, PLANTED=url)
    assert set(relay.told) == {PASSWORD}
    assert len(relay.told) > 2


@contextmanager
def passwords_of_containers(engine, secrets: dict[str, str]) -> Iterator[None]:
    """Add what containers are told as their passwords while the context lasts: each run draws its own."""
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            with suppress(DockerException):
                for container in engine.containers.list(filters={"label": [f"{CHECKOUT_LABEL}={identity.mine()}"]}):
                    told = dict(line.split("=", 1) for line in container.attrs["Config"]["Env"])
                    secrets.update((name, told[name]) for name in PASSWORDS if told.get(name))

    looks = threading.Thread(target=look)
    looks.start()
    try:
        yield
    finally:
        over.set()
        looks.join()


@pytest.mark.thorough
@pytest.mark.docker
@pytest.mark.java
def test_the_secrets_of_a_run_in_containers_are_found_nowhere(engine, tmp_path):
    """The password of its database, which is in the engine's own records alone, the key that signs, and each token."""
    secrets = {"key": tokens.key_file().read_text()}
    secrets |= {f"token {n}": t for n, t in enumerate(tokens.read_tokens(tokens.token_file())[:50])}
    run = ("run", "jwt", "--variants", "webflux", "--users", "5", "--duration", "2", "--heap-mb", "256")
    with passwords_of_containers(engine, secrets):
        assert_planted_nowhere(secrets, tmp_path / "data", *run, "--runtime", "docker", "--allow-suspect")
    assert set(PASSWORDS) <= secrets.keys()


@pytest.mark.thorough
def test_the_secret_that_admits_workers_is_found_nowhere(server, tmp_path):
    """Neither on the side of the run, nor of a worker elsewhere that has joined it by that secret."""
    (address,) = (f"127.0.0.1:{port}" for port in free_ports(1))
    worker, said = [sys.executable, "-m", "lab", "worker", "--master", address, "--join", "env:PLANTED"], tmp_path / "w"
    load = ("load", f"{server.url}/ok", "--users", "4", "--duration", "2", "--ramp-up", "0", "--allow-suspect")
    given = ("--remote-workers", "1", "--bind", address, "--join", "env:PLANTED")
    with (
        said.open("wb") as output,
        subprocess.Popen(worker, stdout=output, stderr=output, cwd=ROOT, env={**os.environ, "PLANTED": JOIN}) as joined,
    ):
        try:
            assert_planted_nowhere({"join": JOIN}, tmp_path / "data", *load, *given, PLANTED=JOIN)
        finally:
            joined.send_signal(signal.SIGINT)
    assert said.read_text().count("It has joined") == 1
    assert JOIN not in said.read_text()
    assert temporary_files_with(JOIN) == []


@pytest.mark.parametrize(
    ("scenario", "option", "url"),
    [
        ("jwt", "--mysql-url", "mysql://root:pa/geheim@host"),
        ("jwt", "--mysql-url", "mysql://root:pa geheim@host:x"),
        ("jwt", "--mysql-url", "mysql://root:geheim@host?ssl-mode=VERIFY_IDENTITY"),
        ("document", "--mongo-url", "mongodb://host/?authMechanismProperties=geheim"),
        ("document", "--mongo-url", "mongodb://me:pa/geheim@host"),
    ],
)
def test_a_url_is_refused_before_anything_is_written(typed, tmp_path, scenario, option, url):
    """Neither a folder nor a word of it stays."""
    done = typed("run", scenario, option, url, "--data", str(tmp_path / "runs"))
    assert_refused(done, option)
    assert "geheim" not in done.stdout + done.stderr
    assert "ps shows this value" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("given", "named"), [("env:NOT_SET_HERE", "NOT_SET_HERE"), ("@nowhere/file", "nowhere/file")])
def test_a_secret_that_is_not_where_it_is_said_to_be(typed, given, named):
    """The file or the variable is named."""
    assert_refused(typed("load", "http://127.0.0.1:1/", "--header", given), "--header", named)
