"""A service as two nodes behind HAProxy, scraped by Prometheus: one whole run, with real JVMs."""

from __future__ import annotations

import pytest
from one_sentence import assert_refused
from programs import needs_haproxy, needs_prometheus

import lab
from lab.analysis import insights
from lab.analysis.verdict import INVALID
from lab.system import balancer, prometheus
from lab.telemetry import series

REQUESTS = 600


@pytest.fixture(scope="module")
def run(tmp_path_factory, brief):
    """A small load on two nodes, of some seconds: scrapes are one a second."""
    options = {"users": 20, "loops": REQUESTS // 20, "delay_ms": 150, "heap_mb": 128, "seed": 1}
    data = tmp_path_factory.mktemp("runs")
    return lab.run("delay", variants="mvc", nodes=2, prometheus=True, data=data, quiet=True, **options)


@pytest.mark.java
@needs_haproxy
@needs_prometheus
def test_two_nodes_are_one_service_that_is_counted_at_each(run):
    """Samples, balancer and nodes agree exactly; readings and limits are there of each part, as are scrapes."""
    (cell,) = run.folder.cells()
    evidence, measured, limits = cell.read("evidence"), cell.measured(), cell.read("limits")
    assert len(measured) == evidence["begun"] == evidence["received"] == evidence["served"] == REQUESTS
    assert evidence["nodes"] == evidence["passed_on"] == {"node 1": REQUESTS // 2, "node 2": REQUESTS // 2}
    assert (evidence["refused"], evidence["limits_broken"], evidence["component_errors"]) == (0, [], [])
    assert set(measured["error"]) == {""}
    assert limits["nodes"] == 2
    assert limits["balancer"].startswith("HAProxy ")
    assert limits["balancer_max_connections"] >= 20
    assert limits["balancer_node_connections"] == "unlimited"
    used = {name: series.cpu_s(cell.metrics(), name, 0.0, 60.0) for name in ("service", "node 1", "node 2", "balancer")}
    assert used["service"] == pytest.approx(used["node 1"] + used["node 2"])
    assert used["balancer"] is not None
    assert set(evidence["beside"]) <= {"balancer", "prometheus"}
    assert set(evidence["scrapes"]) == {"node 1", "node 2", "balancer"}
    assert all(of["samples"] and of["missed"] < of["due"] for of in evidence["scrapes"].values())
    said = " ".join(insights.sentences(run.folder))
    assert f"The balancer received {REQUESTS} requests, and passed on the answers of node 1 ({REQUESTS // 2})" in said
    assert "Of Prometheus' scrapes, each of one part within 1 s, these were missed: balancer " in said
    logs = {str(path.relative_to(cell.logs)) for path in cell.logs.rglob("*.*")}
    assert {"node-1/service.log", "node-2/service.log", "node-1/gc.log", "balancer/haproxy.cfg"} <= logs
    assert not {path for path in logs if path.endswith(".port") or "scratch" in path}


@pytest.mark.java
@pytest.mark.thorough
def test_a_balancer_that_does_not_start_makes_its_cell_invalid(tmp_path, brief, monkeypatch):
    """By name, as a node that does not; the run goes on."""
    monkeypatch.setattr(balancer, "PROGRAM", "false")
    run = lab.run("delay", users=2, variants="mvc", nodes=2, heap_mb=128, seed=1, data=tmp_path, quiet=True)
    (cell,) = run.cells
    assert cell["verdict"] == INVALID
    assert "The balancer exited with status 1 while it started." in cell["reasons"]
    assert run.folder.state() == "complete"


@needs_haproxy
def test_what_a_reproduction_lacks_is_said_before_anything_is_measured(typed, tmp_path, monkeypatch):
    """Prometheus: not after a quarter of an hour, and without the folder of a run."""
    monkeypatch.setattr(prometheus, "PROGRAM", "not-installed-anywhere")
    options = ("--scale", "0.1", "--repeat", "1", "--data", str(tmp_path / "runs"))
    assert_refused(typed("reproduce", "migration", *options), "Prometheus, which --prometheus starts, is not installed")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--nodes", "0"), "--nodes 0 is not possible"),
        (("--nodes", "2", "--runtime", "process"), "HAProxy, which is not installed"),
        (("--prometheus", "--runtime", "process"), "Prometheus, which --prometheus starts, is not installed"),
    ],
)
def test_what_cannot_be_is_one_sentence_and_nothing_is_started(typed, tmp_path, monkeypatch, options, named):
    """No nodes, or a program that is missing: said with the next step, before there is a run."""
    for program in (balancer, prometheus):
        monkeypatch.setattr(program, "PROGRAM", "not-installed-anywhere")
    assert_refused(typed("run", "delay", "--users", "5", *options, "--data", str(tmp_path / "runs")), named)
    assert not (tmp_path / "runs").exists()
