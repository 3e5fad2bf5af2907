"""A made-up experiment, added as anybody would: a folder, a locustfile, and a component that is a small program."""

from __future__ import annotations

import math
import sys

import pytest

import lab
from lab import experiments
from lab.runtimes import checkout
from lab.system import aot_cache

pytestmark = pytest.mark.java

SCENARIO = """
from dataclasses import replace
from lab.experiments.chain.scenario import SCENARIO as CHAIN
from lab.spec.scenario import Exchange, Rehearsal
from lab.spec.system import Component

SCENARIO = replace(
    CHAIN,
    name={name!r},
    question="What if the called service is a program of somebody else's?",
    contract=(Exchange("a short delay", "/chain/5", 200),),
    variants=CHAIN.variants[:1],
    default_variants=(),
    rehearsal=Rehearsal(requests=100, rounds=1),
    components=(
        Component("backend", command=("{{python}}", {program!r}), calls=("clock",)),
        Component("clock", command=("{{python}}", {clock!r})),
    ),
)
"""

PROGRAM = """
import json, os, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        millis = int(self.path.rpartition("/")[2])
        with urllib.request.urlopen(f"{os.environ['LAB_CLOCK_URL']}/{millis}") as answer:
            assert answer.status == 204
        body = json.dumps({"millis": millis}, separators=(",", ":")).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

server = ThreadingHTTPServer((os.environ["LAB_HOST"], 0), Handler)
with open(os.environ["LAB_PORT_FILE"], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
"""

CLOCK = """
import os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(int(self.path[1:]) / 1000)
        self.send_response(204)
        self.end_headers()

server = ThreadingHTTPServer((os.environ["LAB_HOST"], 0), Handler)
with open(os.environ["LAB_PORT_FILE"], "w") as file:
    file.write(str(server.server_port))
server.serve_forever()
"""

LOCUSTFILE = """
from locust import task
from lab.generator.locust import LabUser

class MadeUpUser(LabUser):
    @task
    def ask(self) -> None:
        self.client.get(self.path, name="/chain", check=b'{"millis":%d}' % self.parameters["delay_ms"])
"""


SESSIONS = """
from dataclasses import replace
from lab.experiments.chain.scenario import SCENARIO as CHAIN
from lab.spec.scenario import Rehearsal, Request
from lab.spec.system import Stage

DEMANDS = {{"/chain": (Stage("backend", time_parameter="delay_ms"),), "/refused": ()}}

SCENARIO = replace(
    CHAIN,
    name={name!r},
    question="What does a user wait for who makes a mistake between two requests?",
    requests=(Request("/chain", "/chain/{{delay_ms}}"), Request("/refused", "/chain/none")),
    variants=(replace(CHAIN.variants[0], demands=DEMANDS),),
    default_variants=(),
    rehearsal=Rehearsal(requests=100, rounds=1),
)
"""

SESSION_LOCUSTFILE = """
from locust import task
from lab.generator.locust import LabUser

class Careless(LabUser):
    @task
    def visit(self) -> None:
        self.client.get(self.path, name="/chain", check=b'{"millis":%d}' % self.parameters["delay_ms"])
        self.pause(0.3)
        self.client.get("/chain/none", name="/refused", check=lambda answer: answer.status == 400)
        self.client.get(self.path, name="/chain", check=b'{"millis":%d}' % self.parameters["delay_ms"])
"""


@pytest.fixture
def add(tmp_path, monkeypatch):
    """A function that adds an experiment by a folder of its own and a locustfile alone, and returns its name.

    Not in the checkout itself, of which other tests make images meanwhile.
    """

    def add_experiment(scenario: str, locustfile: str, **values: str) -> str:
        name, package = f"made-up-{tmp_path.name}", tmp_path / "package"
        (package / "made_up").mkdir(parents=True)
        (package / "made_up" / "__init__.py").touch()
        (package / "made_up" / "scenario.py").write_text(scenario.format(name=name, **values))
        locustfiles = tmp_path / "locustfiles"
        locustfiles.mkdir()
        (locustfiles / f"{name}.py").write_text(locustfile)
        monkeypatch.setattr(checkout, "LOCUSTFILES_HERE", locustfiles)
        monkeypatch.setattr(aot_cache, "MINIMUM_JAVA", math.inf)  # to make one takes longer than it saves
        monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(package)])
        monkeypatch.delitem(sys.modules, f"{experiments.__name__}.made_up.scenario", raising=False)
        monkeypatch.delitem(sys.modules, f"{experiments.__name__}.made_up", raising=False)
        experiments.scenarios.cache_clear()
        return name

    yield add_experiment
    experiments.scenarios.cache_clear()


def test_an_experiment_is_added_without_touching_another_file(add, tmp_path):
    """It is measured from end to end: component, contract, warm-up, load, samples, verdict, tables and figures."""
    program, clock = tmp_path / "backend.py", tmp_path / "clock.py"
    program.write_text(PROGRAM)
    clock.write_text(CLOCK)
    name = add(SCENARIO, LOCUSTFILE, program=str(program), clock=str(clock))
    run = lab.run(name, users=10, loops=3, delay_ms=50, heap_mb=256, data=tmp_path / "runs", quiet=True)
    (row,), (cell,) = run.cells, run.folder.cells()
    evidence = cell.read("evidence")
    assert (row["requests"], row["errors"], evidence["component_errors"]) == (30, {}, [])
    assert row["mean_s"] >= 0.05
    assert row["predicted_mean_s"] == pytest.approx(0.05)
    assert evidence["calls"] == {}  # a program does not count: that is not known, and nobody says 0
    assert {"backend", "clock"} <= set(cell.metrics()["target"])
    assert (run.path / "figure.png").exists()


@pytest.mark.thorough
def test_sessions_of_several_requests_are_an_experiment_too(add, tmp_path):
    """Their requests demand different things, and what is behind the service must have counted just that."""
    name = add(SESSIONS, SESSION_LOCUSTFILE)
    run = lab.run(name, users=10, loops=3, delay_ms=50, heap_mb=256, data=tmp_path / "runs", quiet=True)
    (row,), (cell,) = run.cells, run.folder.cells()
    evidence = cell.read("evidence")
    assert (row["requests"], row["errors"], row["predicted_mean_s"]) == (90, {}, None)
    assert {of["name"]: of["requests"] for of in row["by_name"]} == {"/chain": 60, "/refused": 30}
    assert row["sessions"]["complete"] == 30
    assert row["sessions"]["think"]["mean_s"] >= 0.3
    assert evidence["calls_expected"] == {"backend": [60, 60]}
    assert evidence["calls"] == {"backend": 60}
    assert not [reason for reason in row["reasons"] if "counted" in reason]
