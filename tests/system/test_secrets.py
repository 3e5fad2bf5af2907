"""Secrets that are planted everywhere, and found nowhere but where they belong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from one_sentence import assert_refused
from patience import PATIENCE_S

import lab
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime
from lab.system.databases import Site, mysql, tokens
from lab.system.jdk import find_jdk

HEADER, COOKIE = "planted-header-4711", "planted-cookie-4712"


def command_lines() -> bytes:
    """What ``ps`` shows of every process now."""
    lines = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(file.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


def assert_planted_nowhere(secrets: dict[str, str], data: Path, *arguments: str, **environment: str) -> None:
    """Carry out a command that measures, and what is made of its run; no secret is in files, output or command lines.

    Args:
        secrets: by what they are.
        data: the folder of the run.

    """
    command = [sys.executable, "-m", "lab", *arguments, "--data", str(data)]
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
    assert "ps shows it" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("given", "named"), [("env:NOT_SET_HERE", "NOT_SET_HERE"), ("@nowhere/file", "nowhere/file")])
def test_a_secret_that_is_not_where_it_is_said_to_be(typed, given, named):
    """The file or the variable is named."""
    assert_refused(typed("load", "http://127.0.0.1:1/", "--header", given), "--header", named)
