"""Services that the lab did not start: loaded for real on loopback, and what is said of them is only what is known."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import any_server
import pytest
from any_server import LARGE, Handler, certificate_for_loopback, serving
from machines import HERE
from one_sentence import assert_refused
from orphans import orphaned
from patience import PATIENCE_S

import lab
from lab.cli import as_typed
from lab.errors import LabError
from lab.reporting import html
from lab.runtimes.checkout import ROOT
from lab.spec import attached
from lab.spec.options import Options
from lab.spec.own_load import OneRequest
from lab.spec.plan import Plan
from lab.spec.workload import Burst, Closed, Open, Ramp, Total
from lab.storage.run_folder import RunFolder
from lab.system import attached as asking

SECRET = "s3cret-4711"
SIZE = 3_000_000
SMALL = {"users": 4, "duration": 1, "ramp_up": 0, "seed": 1, "quiet": True}


@pytest.fixture(scope="module")
def run(server, data):
    """Two endpoints, in turns, twice each, with a header that is nobody's business."""
    urls = {"old": f"{server.url}/ok", "new": f"{server.url}/ok?version=2#part"}
    return lab.load(urls, headers={"X-Key": SECRET}, repeat=2, data=data, **SMALL)


def test_every_request_is_in_the_samples_once(run, server):
    """The service counted what the samples hold, and the one request that asked whether anybody is there."""
    for label, path in (("old", "/ok"), ("new", "/ok?version=2")):
        cells = [folder for folder in run.folder.cells() if folder.cell.variant == label]
        samples = [folder.samples() for folder in cells]
        assert server.asked(path) == sum(map(len, samples)) + 1
        for folder, all_ in zip(cells, samples, strict=True):
            evidence = folder.read("evidence")
            measured = all_[all_["warm_up"] == 0]
            assert len(measured) == evidence["begun"] == evidence["finished"] > 0
            assert set(all_["warm_up"]) == {0, 1}
            assert (set(all_["error"]), set(all_["status"]), set(all_["name"])) == ({""}, {200}, {path})


def test_nothing_is_claimed_of_what_is_not_known(run, typed, data):
    """No limits, no CPU, no counts and no warmth of the service: neither in the evidence nor in words."""
    for folder in run.folder.cells():
        evidence, summary = folder.read("evidence"), folder.read("summary")
        assert (evidence["served"], evidence["foreign_cpu"], evidence["warm_up"]) == (None, None, [])
        assert evidence["worker_cpu"] is not None or summary["elapsed_s"] < 1.1
        assert summary["cpu_s_per_1000_requests"] is summary["predicted_mean_s"] is None
        assert folder.read("limits") == {}
        assert set(folder.metrics()["target"]).isdisjoint({"service"})
    said = typed("show", run.name, "--data", str(data)).stdout
    because = "Not checked, as the lab did not start the service: the count of requests by the service"
    stops = "that its process ran without a stop"
    unchecked = f"the limits in force, whether the service was warm, garbage collection, {stops}."
    assert f"{because}, {unchecked}" in said
    assert "of the service nothing was read" in said or run.verdict == "invalid"
    assert "not warm" not in said.replace("was warm.", "")
    assert unchecked in html.render(run)


def test_the_values_of_headers_are_sent_and_kept_nowhere(run, server, typed, data, tmp_path):
    """Every request has them; no file of the run, no table, no page, no export does."""
    assert {head.get("X-Key") for path, head in server.heads if path.startswith("/ok")} == {SECRET}
    assert run.plan.header_names == ("X-Key",)
    html.write(run, tmp_path / "report.html")
    said = [typed(command, run.name, "--data", str(data)) for command in ("show", "compare")]
    typed("export", run.name, "--format", "jtl", "--data", str(data), "-o", str(tmp_path / "export"))
    kept = [path for folder in (run.path, tmp_path) for path in folder.rglob("*") if path.is_file()]
    assert len(kept) > 30
    assert not [path for path in kept if SECRET.encode() in path.read_bytes()]
    assert not [folder for folder in run.folder.cells() if SECRET in folder.samples().to_csv()]
    assert SECRET not in "".join(done.stdout + done.stderr for done in said)
    assert "headers X-Key" in said[0].stdout


def test_such_a_run_is_read_like_any_other(run, typed, data, tmp_path):
    """Listed, shown for programs, exported, drawn and compared, address against address."""
    assert run.name.endswith("-load")
    assert re.search(rf"{run.name} +complete +4 users +4/4", typed("list", "--data", str(data)).stdout)
    cells = json.loads(typed("show", run.name, "--json", "--data", str(data)).stdout)["cells"]
    assert [cell["variant"] for cell in cells] == ["old", "old", "new", "new"]
    for kind in ("jtl", "csv", "hdr"):
        assert typed("export", run.name, "--format", kind, "--data", str(data), "-o", str(tmp_path)).returncode == 0
    assert len(list(tmp_path.iterdir())) == 3 * 4
    assert {path.name for path in run.path.glob("*.png")} == {"figure.png", "timeline.png", "repeats.png"}
    if run.verdict != "invalid":  # where the machine made the generator too late, there is less to compare
        comparison = lab.compare(run, allow_suspect=True)
        tested = [row for row in comparison.rows if row.ratio and row.is_tested]
        assert (comparison.interleaved, {row.ratio.pairs for row in tested}) == (True, {2})
        assert "new against old" in comparison.verdict


@pytest.mark.parametrize("chunked", [False, True], ids=["its length", "chunks"])
def test_how_large_an_answer_is_does_not_depend_on_how_much_of_it_is_read(monkeypatch, chunked):
    """By its size the generator's ceiling is chosen: that of a few megabytes is lower than that of one."""

    class Large(Handler):
        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header(*(("Transfer-Encoding", "chunked") if chunked else ("Content-Length", str(SIZE))))
            self.end_headers()
            for at in range(0, SIZE, SIZE // 100):
                part = b"x" * min(SIZE // 100, SIZE - at)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
            self.wfile.write(b"0\r\n\r\n" * chunked)

    monkeypatch.setattr(any_server, "Handler", Large)
    with serving() as server:
        answer, _, size = asking._exchange(urlsplit(f"{server.url}/ok"), OneRequest(), {}, PATIENCE_S)
    assert (size, answer.chunked) == (SIZE, chunked)


@pytest.mark.thorough
def test_the_command_loads_at_a_rate_and_holds_its_promises(server, typed, tmp_path):
    """All planned requests are sent, the objective decides the status, and the command is kept without its secret."""
    shape = ["--users", "5", "--rate", "40", "--duration", "1", "--arrivals", "poisson", "--name", "api"]
    header = ["--header", f"Authorization: Bearer {SECRET}", f"--header=Cookie: a={SECRET}"]
    where = ["--data", str(tmp_path), "--allow-suspect", "--slo", "p99<0.001ms"]
    done = typed("load", f"{server.url}/large", *shape, *header, *where)
    assert done.returncode == 1
    assert "p99" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    run = lab.open_run(data=tmp_path)
    (cell,) = run.folder.cells()
    assert (cell.cell.variant, len(cell.measured()), set(cell.measured()["bytes"])) == ("api", 40, {len(LARGE)})
    command = run.folder.read()["command"]
    assert "Authorization: …" in command
    assert "--header=Cookie: …" in command


@pytest.mark.thorough
@pytest.mark.parametrize("status", [302, 503])
def test_answers_that_are_no_longer_right_are_errors(server, tmp_path, status):
    """A service that answers rightly once, and then sends everybody to its front door or fails, is not fast."""
    run = lab.load(f"{server.url}/tired/{status}", data=tmp_path, **SMALL)
    (row,) = run.cells
    assert row["errors"] == {f"HTTP {status}": row["requests"]}
    assert row["ok_throughput_rps"] == 0
    assert run.verdict != "valid"
    assert run.errors_figure().png()


@pytest.mark.thorough
def test_a_certificate_counts_where_it_is_trusted(typed, tmp_path, monkeypatch):
    """Unknown, it is refused with the way to trust it; trusted, by its path from here, it is loaded over TLS."""
    with serving(certificate := certificate_for_loopback(tmp_path)) as server:
        words = ("load", f"{server.url}/ok", "--users", "2", "--duration", "1", "--ramp-up", "0", "--allow-suspect")
        words += ("--data", str(tmp_path / "runs"))
        refused = typed(*words)
        assert_refused(refused, "not to be trusted", "SSL_CERT_FILE")
        assert not (tmp_path / "runs").exists()
        monkeypatch.chdir(certificate.parent)
        monkeypatch.setenv("SSL_CERT_FILE", certificate.name)
        typed(*words)
        assert set(lab.open_run(data=tmp_path / "runs").samples()["error"]) == {""}


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("127.0.0.1:8080/x", "Did you mean http://127.0.0.1:8080/x?"),
        ("ftp://127.0.0.1/", "not an http or https address"),
        ("http://127.0.0.1:99999/", "not an http or https address"),
        ("http://127.0.0.1:1/", "There is no answer from 127.0.0.1:1"),
        ("http://nobody.invalid/", "no host 'nobody.invalid'"),
        ("http://me:s3cret-4711@127.0.0.1/", "Authorization"),
        ("{url}/ä", "%-encoded"),
        ("{url}/status/404", "status 404"),
        ("{url}/status/401", "--header 'Authorization"),
        ("{url}/status/503", "status 503"),
        ("{url}/status/301", "leads to {url}/ok"),
        ("https://{host}/ok", "TLS with {host} failed"),
        ("http://192.168..1:8080/ok", "There is no host '192.168..1'"),
        ("{url}/ok --header s3cret-4711", "--header number 1"),
        ("{url}/ok --header s3cret-4711\r\nX:1", "--header number 1"),
        ("{url}/ok {url}/large", "2 addresses"),
        ("{url}/ok {url}/large --name a --name a", "same --name"),
        ("{url}/ok --name a:b", "--name 'a:b'"),
        ("{url}/ok --rate 5", "--rate needs --users"),
        ("{url}/ok --users 0", "--users 0"),
        ("{url}/ok --threads 5", "--threads"),
        ("--users 5", "URL"),
    ],
)
def test_bad_input_gets_one_sentence_and_the_next_step(server, typed, tmp_path, arguments, named):
    """Nothing is written before the service has answered rightly once, and no secret is repeated."""
    here = {"url": server.url, "host": server.url.removeprefix("http://")}
    done = typed("load", *arguments.format(**here).split(" "), "--data", str(tmp_path / "runs"))
    assert_refused(done, named.format(**here))
    assert SECRET not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_a_wish_that_no_load_has_is_named(server):
    """Python says the same as the command line."""
    with pytest.raises(LabError, match=r"duraton.*did you mean duration"):
        lab.load(server.url, duraton=3)


def test_a_plan_is_read_back_as_it_was_written(server):
    """With its addresses and the names of its headers; one that is damaged is refused."""
    plan = attached.make_plan([f"{server.url}/ok#part"], [], {"X-Key": SECRET}, Options(users=[1, 2], seed=1), HERE)
    assert plan.scenario.variant("service").url == f"{server.url}/ok"
    written = json.loads(json.dumps(plan.as_json()))
    assert Plan.from_json(written) == plan
    assert SECRET not in json.dumps(written)
    with pytest.raises(ValueError, match="Expected `str`"):
        Plan.from_json({**written, "bind": 5})


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (Closed(users=9, duration_s=20.0), Closed(users=9, duration_s=5.0)),
        (Closed(users=9, duration_s=2.0), Closed(users=9, duration_s=2.0)),
        (Closed(users=9, ramp_s=30.0, duration_s=60.0), Closed(users=9, ramp_s=2.5, duration_s=5.0)),
        (Burst(users=9, ramp_s=30.0, loops=7), Burst(users=9, ramp_s=5.0)),
        (Total(users=9, requests=10**6), Burst(users=9)),
        (Open(users=9, rate_rps=50, duration_s=60), Open(users=9, rate_rps=50, duration_s=5.0)),
        (
            Ramp(users=9, from_rps=0, to_rps=50, duration_s=60),
            Ramp(users=9, from_rps=0, to_rps=50, duration_s=5.0),
        ),
        (
            Total(users=9, ramp_s=2.0, requests=5, arrivals="poisson", timeout_s=3.0, workers=2, remote_workers=1),
            Burst(users=9, ramp_s=2.0, arrivals="poisson", timeout_s=3.0, workers=2, remote_workers=1),
        ),
    ],
)
def test_the_warm_up_is_of_the_same_users_and_short(load, expected):
    """Five seconds of it are enough, or a request of each user where requests are counted."""
    assert attached.warm_up(load) == expected


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (["load", "--header", "A: b:c", "x"], ["load", "--header", "A: …", "x"]),
        (["--header=A:b\nc"], ["--header=A: …"]),
        (["--mysql-url", "mysql://me:p%40ss@h:1/lab"], ["--mysql-url", "mysql://me:…@h:1/lab"]),
        (["--mysql-url=mysql://me:p a/s@s?x@h:1"], ["--mysql-url=mysql://me:…@h:1"]),
        (["--mongo-url", "mongodb://h/?authMechanismProperties=A:s"], ["--mongo-url", "mongodb://h/?…"]),
        (["resume", "--mysql-url", "root:hunter2@db:3306"], ["resume", "--mysql-url", "…"]),
        (["--mongo-url=me:hunter2@h?a=b"], ["--mongo-url=…"]),
        (["--mongo-url", "env:URL", "--header", "@file"], ["--mongo-url", "env:URL", "--header", "@file"]),
        (["http://h:8080/a:b?c=d"], ["http://h:8080/a:b?c=d"]),
    ],
)
def test_a_command_is_kept_without_its_secrets(words, kept):
    """Neither values of headers nor passwords in addresses get into run.json."""
    assert list(as_typed.without_secrets(words)) == kept


def interrupted(server, data: Path) -> RunFolder:
    """A run whose lab was killed before it measured anything."""
    plan = attached.make_plan(
        [f"{server.url}/ok"], [], {"X-Key": SECRET}, Options(users=[2], duration=1, ramp_up=0, seed=1), HERE
    )
    return orphaned(RunFolder.create(plan, ["lab", "load"], {}, data))


@pytest.mark.thorough
def test_an_interrupted_run_goes_on_with_the_same_headers(server, typed, tmp_path):
    """Their values were not kept, so they are asked for."""
    run = interrupted(server, tmp_path)
    before = len(server.heads)
    words = ("resume", run.name, "--anyway", "--allow-suspect", "--data", str(tmp_path))
    refused = typed(*words)
    assert refused.returncode == 2
    assert "--header 'X-Key: …'" in refused.stderr
    assert len(server.heads) == before
    typed(*words, "--header", f"X-Key: {SECRET}")
    assert run.state() == "complete"
    assert {head["X-Key"] for _, head in server.heads[before:]} == {SECRET}


def test_an_address_that_is_none_is_refused_before_it_is_written(server, typed, tmp_path):
    """Also where the run has no database: its folder stays as it was."""
    run = interrupted(server, tmp_path)
    before = sorted(run.path.iterdir())
    words = ("resume", run.name, "--anyway", "--header", f"X-Key: {SECRET}", "--data", str(tmp_path))
    refused = typed(*words, "--mysql-url", "root:hunter2@db:3306")
    assert_refused(refused, "--mysql-url")
    assert "hunter2" not in refused.stdout + refused.stderr
    assert sorted(path for path in run.path.iterdir() if path.suffix != ".lock") == before


@pytest.mark.thorough
def test_the_locustfile_runs_alone_too(server):
    """Under plain Locust the host is the whole address."""
    command = [sys.executable, "-m", "locust", "-f", "locustfiles/load.py", "--headless", "-u", "2", "-t", "2s"]
    before = server.asked("/ok?alone")
    done = subprocess.run([*command, "-H", f"{server.url}/ok?alone"], cwd=ROOT, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0
    assert server.asked("/ok?alone") > before
