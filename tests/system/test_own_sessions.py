"""A session of one's own, and a request that is no GET: played for real, on a service that the lab did not start."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from machines import HERE
from one_sentence import assert_refused
from orphans import orphaned
from patience import PATIENCE_S

import lab
from lab.errors import LabError
from lab.generator.own_locustfile import examined
from lab.reporting import html
from lab.reporting.html import rerun_command
from lab.runtimes.checkout import ROOT
from lab.spec import attached
from lab.spec.options import Options
from lab.spec.own_load import Locustfile, OneRequest
from lab.storage import run_folder
from lab.storage.run_folder import RunFolder

NAMES = {"begin": "GET", "send": "POST", "end": "GET"}
THINK_S, LASTS_S = 0.15, 3
SHOP = """
from pathlib import Path
from locust import task
from beside import RIGHT
from lab.generator.locust import LabUser

WHAT = {"id": int((Path(__file__).parent / "ids.csv").read_text())}

class Shopper(LabUser):
    @task
    def shop(self):
        if not self.client.get("/ok", name="begin", check=RIGHT).ok:
            self.end_session()
        self.pause(0.1, 0.2)
        right = lambda answer: "fallback" if self.random.random() < 0.5 else True
        sent = self.client.post("/echo", name="send", json=WHAT, check=right)
        self.pause(0.05)
        self.client.get(f"/ok?{sent.json()['id']}", name="end")
"""
SMALL = {"users": 4, "ramp_up": 0, "seed": 1, "quiet": True}


@pytest.fixture(scope="module")
def mine(tmp_path_factory):
    """A locustfile, and beside it a module that it imports and a file that it reads."""
    folder = tmp_path_factory.mktemp("mine")
    (folder / "beside.py").write_text('RIGHT = b"ok"')
    (folder / "ids.csv").write_text("4711")
    (folder / "shop.py").write_text(SHOP)
    return folder / "shop.py"


@pytest.fixture(scope="module")
def run(server, data, mine):
    """A closed loop of sessions of three requests."""
    return lab.load(server.url, locustfile=str(mine), duration=LASTS_S, data=data, **SMALL)


def test_each_request_of_a_session_is_a_sample_by_its_name(run, server):
    """With its method, in the order of the session; the service counted the same."""
    (cell,) = run.folder.cells()
    samples, evidence = cell.samples(), cell.read("evidence")
    measured = samples[samples["warm_up"] == 0]
    assert (evidence["component_errors"], set(measured["error"])) == ([], {""})
    assert len(measured) == evidence["begun"] == evidence["finished"] > 3 * SMALL["users"]
    assert measured.groupby("name")["method"].first().to_dict() == NAMES
    assert set(measured.groupby("step")["name"].unique().map(list).map(tuple)) == {(name,) for name in NAMES}
    assert [body for method, path, body in server.bodies if path == "/echo"] == [b'{"id": 4711}'] * (
        samples["name"].value_counts()["send"]
    )
    assert server.asked("/ok?4711") == samples["name"].value_counts()["end"]
    assert 0 < measured["fallback"].sum() < len(measured)
    assert set(measured.loc[measured["fallback"], "name"]) == {"send"}


def test_the_figures_by_name_add_up_to_the_total(run):
    """The same count and the same sum of latencies, in the summary and by the samples."""
    (cell,) = run.folder.cells()
    summary, measured = cell.read("summary"), cell.measured()
    rows = {row["name"]: row for row in summary["by_name"]}
    assert {name: row["method"] for name, row in rows.items()} == NAMES
    assert sum(row["requests"] for row in rows.values()) == summary["requests"] == len(measured)
    spent_s = sum(row["requests"] * row["mean_s"] for row in rows.values())
    assert (
        spent_s
        == pytest.approx(measured["latency_us"].sum() / 1e6)
        == pytest.approx(summary["requests"] * summary["mean_s"])
    )
    assert sum(row["throughput_rps"] for row in rows.values()) == pytest.approx(summary["throughput_rps"])
    assert rows["send"]["fallbacks"] == measured["fallback"].sum()
    assert run.cells[0]["by_name"] == summary["by_name"]


def test_think_time_is_in_no_latency_and_the_end_cuts_sessions(run):
    """Each complete session thought for as long as its pauses; each user's last may be cut, and no other is."""
    (cell,) = run.folder.cells()
    measured, evidence, sessions = cell.measured(), cell.read("evidence"), cell.read("summary")["sessions"]
    measured["ended_us"] = measured["sent_us"] + measured["latency_us"]
    by = measured.groupby(["user", "session"])
    found = pd.DataFrame({"wall": by["ended_us"].max() - by["sent_us"].min(), "steps": by["latency_us"].sum()})
    found["requests"], found["cut"] = by.size(), by["cut"].any()
    complete = found[~found["cut"]]
    assert set(complete["requests"]) == {3}
    assert ((complete["wall"] - complete["steps"]) / 1e6 >= THINK_S).all()
    assert set(found.loc[found["cut"], "requests"]) <= {1, 2, 3}
    last = measured.groupby("user")["session"].max()
    assert all(session == last[user] for user, session in found.index[found["cut"]])
    assert (sessions["complete"], sessions["failed"], sessions["cut"]) == (len(complete), 0, found["cut"].sum())
    assert sessions["complete"] + sessions["cut"] == evidence["sessions"]
    assert evidence["planned_sessions"] is evidence["planned"] is None
    assert sessions["think"]["mean_s"] == pytest.approx(((complete["wall"] - complete["steps"]) / 1e6).mean())
    assert sessions["think"]["mean_s"] + sessions["steps"]["mean_s"] == pytest.approx(sessions["wall"]["mean_s"])
    begun_late = measured[(measured["step"] > 0) & (measured["sent_us"] >= LASTS_S * 1_000_000)]
    assert begun_late.empty, "no request of a session is sent after the end"


def test_tables_exports_and_page_have_the_names(run, typed, data, tmp_path):
    """Beside the totals: in the terminal, for programs, for JMeter, as CSV, and in the report."""
    where = ("--data", str(data))
    said = typed("show", run.name, *where).stdout
    assert re.search(r"send +│ POST", said)
    assert "sum of the requests" in said
    assert "locustfile" in said
    (row,) = json.loads(typed("show", run.name, "--json", *where).stdout)["cells"]
    assert [each["name"] for each in row["by_name"]] == list(NAMES)
    assert row["sessions"]["complete"] > 0
    for kind in ("jtl", "csv"):
        assert typed("export", run.name, "--format", kind, *where, "-o", str(tmp_path)).returncode == 0
    (jtl,), (table,) = tmp_path.glob("*.jtl"), tmp_path.glob("*.csv")
    with jtl.open() as lines:
        assert {each["label"] for each in csv.DictReader(lines)} == set(NAMES)
    rows = pd.read_csv(table)
    assert dict(zip(rows["name"], rows["method"], strict=True)) == NAMES
    assert rows["session"].max() > 0
    page = html.render(run)
    assert "<h2>By name</h2>" in page
    assert "<h2>Sessions</h2>" in page
    assert (len(run.by_name()), len(run.sessions()), run.sessions()["wall_p50_s"][0] > THINK_S) == (3, 1, True)
    assert not {"by_name", "sessions"} & set(run.table().columns)


def test_locusts_own_statistics_have_names_and_methods(run):
    """What Locust shows of the measured load is the same."""
    (cell,) = run.folder.cells()
    with (cell.logs / "locust-statistics.csv").open() as lines:
        rows = {row["Name"]: row for row in csv.DictReader(lines)}
    assert {name: rows[name]["Type"] for name in NAMES} == NAMES
    counts = cell.measured()["name"].value_counts()
    assert {name: int(rows[name]["Request Count"]) for name in NAMES} == {name: counts[name] for name in NAMES}


def test_the_run_holds_what_was_played(run, mine):
    """A copy of the file, its hash and its path as it was given; the line that repeats the run names it."""
    assert run.folder.locustfile.read_bytes() == mine.read_bytes()
    assert run.plan.locustfile == Locustfile(str(mine), hashlib.sha256(mine.read_bytes()).hexdigest())
    assert f'locustfile="{mine}"' in rerun_command.command(run.folder)


def test_a_post_needs_no_file(server, typed, data, tmp_path):
    """Its body comes from a file, its answers are checked for a text, and both are part of the plan."""
    body, before = tmp_path / "body.json", len(server.bodies)
    body.write_text('{"greeting": "grüße"}')
    shape = ("--users", "2", "--loops", "5", "--ramp-up", "0", "--allow-suspect", "--data", str(data))
    what = ("--method", "post", "--body", f"@{body}", "--check", "grüße", "--header", "Content-Type: application/json")
    typed("load", f"{server.url}/echo?n=1", *what, *shape)
    run = lab.open_run(data=data)
    (cell,) = run.folder.cells()
    measured, evidence = cell.measured(), cell.read("evidence")
    assert (evidence["planned"], evidence["begun"], evidence["planned_sessions"]) == (10, 10, None)
    assert (set(measured["error"]), set(measured["method"]), set(measured["name"])) == ({""}, {"POST"}, {"/echo?n=1"})
    assert server.bodies[before:] == [("POST", "/echo?n=1", body.read_bytes())] * (10 + 2 + 1)
    assert run.plan.one_request == OneRequest("POST", body.read_text(), "grüße")
    assert not {"by_name", "sessions"} & set(cell.read("summary"))
    assert "POST of 23 bytes, checked for 'grüße'" in typed("show", run.name, "--data", str(data)).stdout


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--method PIST", "--method 'PIST' (did you mean POST?)"),
        ("--method HEAD", "--method 'HEAD'"),
        ("--body x", "A GET has no body"),
        ("--method POST --body @{folder}/nothing", "cannot be read: No such file"),
        ("--method POST --body @{folder}/bytes", "UTF-8"),
        ("--locustfile {folder}/nothing.py", "There is no locustfile"),
        ("--locustfile {folder}", "cannot be read: Is a directory"),
        ("--locustfile {folder}/mine.txt", "does not end with .py"),
        pytest.param("--locustfile {folder}/a,b.py", "has a comma", marks=pytest.mark.thorough),
        ("--check nonsense", "without 'nonsense'"),
        pytest.param("--locustfile {mine} --method POST", "excludes --method", marks=pytest.mark.thorough),
        pytest.param("--locustfile {mine} --remote-workers 1", "do not have {mine}", marks=pytest.mark.thorough),
        pytest.param("--locustfile {folder}/raises.py", "ValueError: on purpose", marks=pytest.mark.thorough),
        pytest.param("--locustfile {folder}/wrong.py", "SyntaxError", marks=pytest.mark.thorough),
        pytest.param("--locustfile {folder}/nobody.py", "no user that derives", marks=pytest.mark.thorough),
        pytest.param(
            "--locustfile {folder}/other.py", "does not derive from LabUser: Alien", marks=pytest.mark.thorough
        ),
        pytest.param("--locustfile {folder}/waits.py", "self.pause(1, 3)", marks=pytest.mark.thorough),
        pytest.param(
            "--locustfile {folder}/idle.py", "Idle in {folder}/idle.py has no task", marks=pytest.mark.thorough
        ),
        pytest.param(
            "--locustfile {folder}/set.py", "Steps in {folder}/set.py has a wait_time", marks=pytest.mark.thorough
        ),
        pytest.param("--locustfile {folder}/fixed.py", "Few in {folder}/fixed.py has a fixed_count"),
        pytest.param("--locustfile {folder}/random.py", "Steps in {folder}/random.py is a TaskSet, which has no end"),
    ],
)
def test_bad_input_gets_one_sentence_and_the_next_step(server, typed, mine, tmp_path, arguments, named):
    """And nothing is written."""
    user = "from locust import HttpUser, between, task\nfrom lab.generator.locust import LabUser\n"
    files = {
        "raises.py": "raise ValueError('on purpose')",
        "wrong.py": "def",
        "nobody.py": "x = 1",
        "other.py": user + "class Alien(HttpUser):\n    @task\n    def ask(self): pass",
        "waits.py": user + "class Slow(LabUser):\n    wait_time = between(1, 3)\n    @task\n    def ask(self): pass",
        "idle.py": user + "class Idle(LabUser):\n    pass",
        "set.py": STEPS.format(kind="SequentialTaskSet", waits="between(1, 2)", fixed=0),
        "fixed.py": user + "class Few(LabUser):\n    fixed_count = 1\n    @task\n    def ask(self): pass",
        "random.py": STEPS.format(kind="TaskSet", waits="TaskSet.wait_time", fixed=0),
        "mine.txt": ALONE,
        "a,b.py": ALONE,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    here = {"folder": tmp_path, "mine": mine}
    done = typed("load", f"{server.url}/ok", *arguments.format(**here).split(" "), "--data", str(tmp_path / "runs"))
    assert_refused(done, named.format(**here))
    assert not (tmp_path / "runs").exists()


@pytest.mark.thorough
def test_a_locustfile_may_print_whatever_it_likes(server, tmp_path):
    """When it is imported, when Locust's test starts, when its process ends; it is in the logs, and nothing is lost."""
    file = tmp_path / "chatty.py"
    file.write_text(ALONE + CHATTY)
    assert examined(str(file)).path == str(file)
    run = lab.load(server.url, locustfile=str(file), duration=1, data=tmp_path / "runs", **SMALL)
    (cell,) = run.folder.cells()
    evidence = cell.read("evidence")
    assert (evidence["component_errors"], evidence["whole"]) == ([], True)
    assert len(cell.measured()) == evidence["finished"] > 0
    for name in ("locust-master", "locust-worker-1"):
        log = (cell.logs / f"{name}.log").read_text()
        assert [said for said in ("hello", "the test starts", "a program says") if said not in log] == []


def test_a_locustfile_is_examined_in_the_surroundings_in_which_it_is_played(tmp_path, monkeypatch):
    """With the variables of the shell but those of Locust and the lab, and with nothing to read from a terminal."""
    monkeypatch.setenv("MINE", "there")
    for name in ("LOCUST_MINE", "LAB_MINE"):
        monkeypatch.setenv(name, "there")
    file = tmp_path / "looks.py"
    looks = "[name for name in os.environ if name.endswith('MINE')] == ['MINE'] and not sys.stdin.read()"
    file.write_text(f"import os, sys\nassert {looks}\n{ALONE}")
    reading, writing = os.pipe()
    os.write(writing, b"typed")
    os.close(writing)
    before = os.dup(0)
    os.dup2(reading, 0)
    try:
        assert examined(str(file)).path == str(file)
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(reading)


def test_a_plan_of_ones_own_is_read_back_as_it_was_written(server):
    """With its request or its locustfile; a run of before has neither."""
    for own in ({"one_request": OneRequest("PUT", "x", "y")}, {"locustfile": Locustfile("a/b.py", "00")}):
        plan = attached.make_plan([server.url], [], {}, Options(users=[1], seed=1), HERE, **own)
        written = json.loads(json.dumps(plan.as_json()))
        assert type(plan).from_json(written) == plan
        for name in ("one_request", "locustfile"):
            del written[name]
        assert type(plan).from_json(written) == attached.make_plan(
            [server.url], [], {}, Options(users=[1], seed=1), HERE
        )


def said_to_be_too_few(run) -> list[str]:
    """The reasons of a run by which not all that was planned was sent; that it was sent late is none of them."""
    return [
        reason for row in run.cells for reason in row["reasons"] if re.match(r"Only [\d,]+ of [\d,]+ planned", reason)
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("shape", "planned"), [({"loops": 2}, 8), ({"requests": 10}, 10), ({"rate": 10, "duration": 1}, 10)]
)
def test_other_loads_play_all_planned_sessions_to_their_ends(server, data, mine, shape, planned):
    """Shared by two workers; latency counts from the plan for the first request of a session only."""
    run = lab.load(server.url, users=4, locustfile=str(mine), workers=2, data=data, seed=1, quiet=True, **shape)
    (cell,) = run.folder.cells()
    evidence, summary, measured = cell.read("evidence"), cell.read("summary"), cell.measured()
    assert (evidence["planned"], evidence["planned_sessions"], evidence["sessions"]) == (None, planned, planned)
    assert (summary["sessions"]["complete"], summary["sessions"]["cut"], len(measured)) == (planned, 0, 3 * planned)
    assert len(measured[["user", "session"]].drop_duplicates()) == planned
    later = measured[measured["step"] > 0]
    by_plan = "rate" in shape  # else what follows is due when its user is free
    assert ((later["planned_us"] == later["sent_us"]) | (not by_plan)).all()
    assert (later["planned_us"] <= later["sent_us"] + 1).all()
    assert not said_to_be_too_few(run)


STEPS = """
from locust import SequentialTaskSet, TaskSet, between, task
from lab.generator.locust import LabUser

class Steps({kind}):
    wait_time = {waits}
    @task
    def first(self): pass

class Stepper(LabUser):
    fixed_count = {fixed}
    tasks = [Steps]
"""
ALONE = """
from pathlib import Path
from locust import task
from lab.generator.locust import LabUser

class Asker(LabUser):
    @task
    def ask(self):
        self.client.get("/ok")
        pass
"""
CHATTY = """
import atexit, subprocess
from locust import events

print("hello")
atexit.register(print, "bye")

@events.test_start.add_listener
def on_test_start(environment, **_):
    print("the test starts")
    subprocess.run(["echo", "a program says"], check=True)
"""
TURNS = """
from locust import task
from lab.generator.locust import LabUser

class Undecided(LabUser):
    turn = 0

    @task
    def take_turns(self):
        self.turn += 1
        for _ in range(2 * (self.turn % 2)):
            self.client.get("/ok")
"""


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [{"loops": 4}, {"rate": 10, "duration": 1}])
def test_sessions_are_sessions_although_they_send_one_request_on_average(server, data, tmp_path, shape):
    """Every other one sends nothing, and the rest two each: the plan is one of sessions."""
    (tmp_path / "turns.py").write_text(TURNS)
    run = lab.load(server.url, users=2, locustfile=str(tmp_path / "turns.py"), data=data, seed=1, quiet=True, **shape)
    evidence = run.folder.cells()[0].read("evidence")
    planned = 2 * shape.get("loops", 5)  # or 10 in a second
    assert (evidence["planned"], evidence["planned_sessions"], evidence["sessions"]) == (None, planned, planned)
    assert evidence["begun"] in range(planned - 2, planned + 3)
    assert not said_to_be_too_few(run)


def interrupted(server, folder: Path, monkeypatch) -> tuple[Path, RunFolder]:
    """A locustfile that was named from its own folder, and a run of it that was killed before it measured anything."""
    mine = folder / "shop.py"
    mine.write_text(ALONE)
    monkeypatch.chdir(folder)
    plan = attached.make_plan(
        [server.url], [], {}, Options(users=[2], loops=1, ramp_up=0, seed=1), HERE, locustfile=examined("shop.py")
    )
    run = RunFolder.create(plan, ["lab", "load"], {}, folder / "runs")
    run.keep_locustfile(plan.locustfile)
    monkeypatch.chdir("/")
    return mine, orphaned(run)


def test_an_interrupted_run_goes_on_with_the_same_locustfile_from_any_folder(server, typed, tmp_path, monkeypatch):
    """It is found where it lay."""
    _, run = interrupted(server, tmp_path, monkeypatch)
    typed("resume", run.name, "--anyway", "--allow-suspect", "--data", str(run.path.parent))
    assert run.state() == "complete"
    assert set(lab.open_run(run.name, run.path.parent).samples()["name"]) == {"/ok"}


@pytest.mark.parametrize("text", [None, ALONE + "# changed"])
def test_an_interrupted_run_is_not_resumed_with_another_locustfile(server, typed, tmp_path, monkeypatch, text):
    """One that is missing or was changed is named, with the copy of what was played, and nothing is begun."""
    mine, run = interrupted(server, tmp_path, monkeypatch)
    mine.unlink() if text is None else mine.write_text(text)
    kept = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
    asked = len(server.heads)
    done = typed("resume", run.name, "--anyway", "--data", str(run.path.parent))
    assert_refused(
        done, f"{mine} {'cannot be read: No such file' if text is None else 'has changed'}", str(run.locustfile)
    )
    assert run.locustfile.read_text() == ALONE
    assert {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()} == kept
    assert (run.state(), len(server.heads)) == ("incomplete", asked)


@pytest.mark.thorough
def test_a_locustfile_that_changes_ends_its_run(server, tmp_path):
    """What was measured of it before stays; the cells after that would be of something else."""
    mine, runs = tmp_path / "shop.py", tmp_path / "runs"
    mine.write_text(ALONE.replace("pass", "Path(__file__).write_text(Path(__file__).read_text() + '#')"))
    with pytest.raises(LabError, match="has changed"):
        lab.load(server.url, users=[1, 2], loops=1, ramp_up=0, locustfile=str(mine), data=runs, seed=1, quiet=True)
    (run,) = run_folder.all_runs(runs)
    assert len(run.missing()) == 1
    assert "has changed" in (run.path / "error.txt").read_text()


@pytest.mark.thorough
def test_the_same_locustfile_runs_alone(server, mine):
    """Under plain Locust the pauses are pauses, and the types are right."""
    command = [sys.executable, "-m", "locust", "-f", str(mine), "--headless", "-u", "2", "-t", "3s", "--only-summary"]
    done = subprocess.run(
        [*command, "--json", "-H", server.url],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = {row["name"]: row for row in json.loads(done.stdout)}
    assert {name: row["method"] for name, row in rows.items()} == NAMES
    assert rows["begin"]["num_requests"] < 2 * 3 / THINK_S + 2
