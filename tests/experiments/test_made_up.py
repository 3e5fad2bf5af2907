"""A made-up experiment, added as anybody would: a folder, a locustfile, and a component that is a small program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import lab
from lab import experiments
from lab.runtimes.checkout import ROOT

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
    rehearsal=Rehearsal(requests=100, rounds=1),
    components=(Component("backend", command=({python!r}, {program!r})),),
)
"""

PROGRAM = """
import json, os, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        millis = int(self.path.rpartition("/")[2])
        time.sleep(millis / 1000)
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

LOCUSTFILE = """
from locust import task
from lab.generator.locust import LabUser

class MadeUpUser(LabUser):
    @task
    def ask(self) -> None:
        self.client.get(self.path, name="/chain", check=b'{"millis":%d}' % self.parameters["delay_ms"])
"""


@pytest.fixture
def made_up(tmp_path, monkeypatch) -> str:
    """The name of an experiment that is in a folder of its own and has a locustfile, and nothing else."""
    name, package = f"made-up-{tmp_path.name}", tmp_path / "package"
    (package / "made_up").mkdir(parents=True)
    (package / "made_up" / "__init__.py").touch()
    program = tmp_path / "backend.py"
    program.write_text(PROGRAM)
    text = SCENARIO.format(name=name, python=sys.executable, program=str(program))
    (package / "made_up" / "scenario.py").write_text(text)
    locustfile = Path(ROOT / "locustfiles" / f"{name}.py")
    locustfile.write_text(LOCUSTFILE)
    monkeypatch.setattr(experiments, "__path__", [*experiments.__path__, str(package)])
    monkeypatch.delitem(sys.modules, f"{experiments.__name__}.made_up.scenario", raising=False)
    monkeypatch.delitem(sys.modules, f"{experiments.__name__}.made_up", raising=False)
    experiments.scenarios.cache_clear()
    yield name
    experiments.scenarios.cache_clear()
    locustfile.unlink()


def test_an_experiment_is_added_without_touching_another_file(made_up, tmp_path):
    """It is measured from end to end: component, contract, warm-up, load, samples, verdict, tables and figures."""
    run = lab.run(made_up, users=10, loops=3, delay_ms=50, heap_mb=256, data=tmp_path / "runs", quiet=True)
    (row,), (cell,) = run.cells, run.folder.cells()
    evidence = cell.read("evidence")
    assert (row["requests"], row["errors"], evidence["component_errors"]) == (30, {}, [])
    assert row["mean_s"] >= 0.05
    assert row["predicted_mean_s"] == pytest.approx(0.05)
    assert evidence["calls"] == {}  # a program does not count: that is not known, and nobody says 0
    assert "backend" in set(cell.metrics()["target"])
    assert (run.path / "figure.png").exists()
