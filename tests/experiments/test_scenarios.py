"""The scenarios on real databases, as processes and in containers: right answers, equal variants, exact counts."""

from __future__ import annotations

import base64
import re
import time
from dataclasses import replace

import pytest
import requests
from machines import HERE

from lab.experiments import scenarios
from lab.experiments.document.scenario import TEXT_BYTES
from lab.reporting import run_view
from lab.running import conductor
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.system.backends import TOKENS
from lab.system.databases import mysql, tokens
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("cold")]

DOCUMENT_BYTES = TEXT_BYTES + len('{"id":"1000","text":""}')
# What `make test` takes is one variant a scenario, and one scenario in containers.
ALL_VARIANTS = pytest.param("process", "all", marks=pytest.mark.thorough)


def in_containers(variant: str, *, thorough: bool = True):
    """The case of a variant in containers."""
    return pytest.param("docker", variant, marks=[pytest.mark.docker, *[pytest.mark.thorough] * thorough])


@pytest.mark.parametrize(
    ("runs_in", "variant"),
    [("process", "webflux"), ALL_VARIANTS, in_containers("mvc-virtual")],
    indirect=["runs_in"],
)
def test_every_document_comes_whole(runs_in, variant, measured):
    """All variants answer alike, every byte arrives, and the database is asked once a request."""
    run = measured("document", runs_in, variant, users=[20], loops=1)
    for cell in run.folder.cells():
        samples, evidence = cell.measured(), cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert list(samples["bytes"]) == [DOCUMENT_BYTES] * 20
        assert set(samples["error"]) == {""}
        assert 20 <= evidence["calls"]["mongo"] <= 30
        assert any("where the CPU decides, 20 s are the least" in said for said in cell.read("summary")["reasons"])
        assert cell.read("limits")["pool_max"] == 20
    assert {row["requests"] for row in run.cells} == {20}


@pytest.mark.parametrize(
    ("runs_in", "variant"),
    [("process", "mvc"), in_containers("webflux", thorough=False), ALL_VARIANTS],
    indirect=["runs_in"],
)
def test_everybody_gets_their_own_record_and_nobody_anothers(runs_in, variant, measured):
    """Honest tokens get records, hostile ones 401 or 404, alike from all; counts agree exactly."""
    run = measured("jwt", runs_in, variant, users=[8], requests=500)
    for cell in run.folder.cells():
        evidence, contract = cell.read("evidence"), cell.read("contract")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert {answer["status"] for answer in contract.values()} == {200, 401, 404, 405, 414, 431}
        assert evidence["begun"] == evidence["finished"] == evidence["served"] == 500
        assert set(cell.measured()["error"]) == {""}


@pytest.mark.parametrize(
    ("runs_in", "variant"),
    [("process", "mvc-jpa-cached"), ALL_VARIANTS, in_containers("webflux-r2dbc")],
    indirect=["runs_in"],
)
def test_records_are_found_and_saved_alike_with_a_cache_or_without(runs_in, variant, measured):
    """All variants answer alike and find what they have saved; the database and the cache count exactly."""
    # One for each user: of records that users share, a cache may put one back that somebody has just saved.
    parameters = {"requesters": 20, "saves": 30}
    run = measured("migration", runs_in, variant, users=[20], loops=5, ramp_up=3.0, parameters=parameters)
    for cell in run.folder.cells():
        evidence, contract = cell.read("evidence"), cell.read("contract")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert {answer["status"] for answer in contract.values()} == {200, 400, 401, 403, 404, 405, 414, 431}
        samples, calls = cell.measured(), evidence["calls"]
        saves = (samples["name"] == "save").sum()
        assert set(samples["error"]) == {""}
        assert 0 < saves < len(samples) == evidence["served"]
        found = {name: count for name, count in calls.items() if name.startswith("cache")}
        if cell.cell.variant == "mvc-jpa-cached":
            # Each request looks into the registry, and all but saves for records; a save selects its own.
            assert sum(found.values()) == 2 * len(samples) - saves
            assert found["cache hops"] == 0
            assert calls["mysql"] == found["cache misses"] + saves
        else:
            assert (found, calls["mysql"]) == ({}, 2 * len(samples))
    assert not [reason for row in run.cells for reason in row["reasons"] if "counted" in reason]


@pytest.mark.parametrize(
    ("runs_in", "variant"),
    [("process", "mvc-virtual-parallel"), ALL_VARIANTS, in_containers("webflux")],
    indirect=["runs_in"],
)
def test_every_request_makes_all_its_finds(runs_in, variant, measured):
    """All variants answer alike, and the database counts exactly the finds of every request."""
    run = measured("fanout", runs_in, variant, users=[8], loops=5, parameters={"calls": 3}, link_latency_ms=5)
    for cell in run.folder.cells():
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
        assert 8 * 5 * 3 <= evidence["calls"]["mongo"] <= 8 * 5 * 3 + 10
        assert evidence["calls_expected"] == {"mongo": [8 * 5 * 3] * 2}
        assert cell.read("limits")["pool_max"] == 20


@pytest.mark.parametrize(("runs_in", "variant"), [("process", "webflux"), ALL_VARIANTS], indirect=["runs_in"])
def test_the_service_behind_answers_every_call(runs_in, variant, measured):
    """All variants answer alike, and the called service counts exactly one call of each request, one at a time."""
    parameters = {"delay_ms": 20, "b_threads": 1}
    run = measured("chain", runs_in, variant, users=[20], loops=5, parameters=parameters)
    for cell in run.folder.cells():
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
        assert evidence["calls"] == {"backend": 100}
        assert cell.read("limits")["pool_max"] == 20
        assert cell.read("limits")["backend threads"] == 1
        samples = cell.measured()
        assert (samples["sent_us"] + samples["latency_us"]).max() - samples["sent_us"].min() >= 100 * 20_000
        assert set(cell.metrics()["target"]) >= {"service", "backend"}
    facts = run.folder.note("components")["backend"]
    assert facts["limits"]["server"] == "netty"
    assert re.fullmatch(r"4\.\d\S+, Reactor Netty 1\.\d\S+", facts["limits"]["server_version"])
    assert (run.folder.logs / "backend" / "service.log").exists()


@pytest.mark.thorough
def test_a_read_before_the_call_is_counted_as_the_call_is(tmp_path):
    """By each client; the database counts a find, and the called service a call, of each request."""
    names = ["mvc", "webflux", "mvc-virtual-resttemplate"]
    options = Options(users=[20], loops=5, variants=names, seed=1, heap_mb=256, pool=20, parameters={"delay_ms": 20})
    plan = planning.make_plan(scenarios()["chain-mongo"], options, HERE)
    run = run_view.Run(conduct(plan, Invocation(["test"], tmp_path, Reporter(quiet=True))))
    assert [row["variant"] for row in run.cells] == names
    for cell in run.folder.cells():
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
        assert evidence["calls"]["backend"] == evidence["calls"]["mongo find"] == 100
        assert cell.read("limits")["pool_max"] == 20


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("scenario", "variant"),
    [("jwt", "mvc"), ("jwt", "webflux"), ("migration", "mvc-jpa"), ("migration", "webflux-r2dbc")],
)
def test_a_connection_that_has_rested_costs_no_round_trip_more(scenario, variant, tmp_path):
    """A pool that pings it first would pay the link twice, and the other would not."""
    options = Options(users=[1], requests=1, variants=[variant], seed=1, heap_mb=256, pool=1)
    plan = planning.make_plan(scenarios()[scenario], options, HERE)
    with set_up(plan, Invocation(["test"], tmp_path, Reporter(quiet=True)), 1) as testbed:
        database = testbed.backing.databases["mysql"]
        (token, *_) = tokens.read_tokens(testbed.backing.tokens)

        def pings() -> int:
            with mysql.connection(database) as link:
                cursor = link.cursor()
                cursor.execute("show global status like 'Com_admin_commands'")
                return int(cursor.fetchone()[1])

        with testbed.runtime.started(testbed.launch(testbed.plan.scenario.variant(variant), tmp_path)) as running:
            service = actuator.await_ready(running, tmp_path)

            def ask() -> int:
                header = {"Authorization": f"Bearer {token}"}
                return requests.get(
                    service.url + testbed.plan.scenario.path({}), headers=header, timeout=60
                ).status_code

            assert ask() == 200
            before = pings()
            for _ in range(3):
                time.sleep(0.7)
                assert ask() == 200
            assert pings() - before <= 1  # our own connections say goodbye


@pytest.mark.thorough
def test_a_slow_link_makes_connections_the_limit(tmp_path):
    """Ten connections over a link of 200 ms answer fifty requests in no less than five turns."""
    plan = planning.make_plan(
        scenarios()["document"],
        Options(users=[50], variants=["webflux"], seed=1, heap_mb=512, pool=10, link_latency_ms=200, ramp_up=0.1),
        HERE,
    )
    run = run_view.Run(conduct(plan, Invocation(["test"], tmp_path, Reporter(quiet=True))))
    (row,), (cell,) = run.cells, run.folder.cells()
    assert row["predicted_mean_s"] == pytest.approx(0.2 * 3, rel=0.15)
    assert cell.read("summary")["elapsed_s"] >= 5 * 0.2 * 0.98
    assert not row["errors"]


@pytest.mark.thorough
def test_a_service_with_another_key_is_invalid_and_not_fast(tmp_path):
    """Its refusals are quick, and no measurement: the contract says so, and without it the database does."""
    options = Options(users=[20], requests=500, variants=["mvc"], repeat=2, seed=1, heap_mb=256, pool=20)
    plan = planning.make_plan(scenarios()["jwt"], options, HERE)
    with set_up(plan, Invocation(["test"], tmp_path, Reporter(quiet=True)), 200) as testbed:
        other = testbed.backing.telling(TOKENS, {"LAB_JWT_KEY": base64.b64encode(bytes(32)).decode()})
        brief = testbed.plan.scenario
        brief = replace(brief, rehearsal=replace(brief.rehearsal, requests=100, rounds=3))
        proving = replace(testbed, plan=replace(plan, scenario=brief), backing=other)
        trusting = replace(proving, backing=replace(proving.backing, contract=()))
        for case, cell in zip((proving, trusting), plan.cells, strict=True):
            conductor.measure_start(case, [[cell]])
    proved, trusted = run_view.Run(testbed.run).cells
    assert (proved["verdict"], proved["requests"]) == ("invalid", 0)
    assert "token of " in proved["reasons"][0]
    assert "401 instead of 200" in proved["reasons"][0]
    assert trusted["verdict"] == "invalid"
    assert sum(trusted["errors"].values()) == trusted["requests"] == 500
    assert any("mysql counted" in reason for reason in trusted["reasons"])
