"""The scenarios on real databases, as processes and in containers: right answers, equal variants, exact counts."""

from __future__ import annotations

import base64
import contextlib
import math
import os
import re
import signal
import threading
import time
from dataclasses import replace

import pandas as pd
import pytest
import requests
from machines import HERE

from lab.experiments import scenarios
from lab.experiments.document.scenario import TEXT_BYTES
from lab.experiments.mongo_access.scenario import ENTITIES
from lab.reporting import run_view
from lab.running import conductor
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.plan import Cell
from lab.storage.run_folder import RunFolder
from lab.system import aot_cache
from lab.system.backends import TOKENS
from lab.system.databases import mongo, mysql, restoring, tokens
from lab.telemetry import actuator
from lab.telemetry.pools import POOLS

pytestmark = pytest.mark.java

# Modules whose start-up caches other tests make, and use: to make one takes longer than a start without saves.
CACHED = {"mvc", "webflux"}
DOCUMENT_BYTES = TEXT_BYTES + len('{"id":"1000","text":""}')


@pytest.fixture(autouse=True)
def cold(monkeypatch):
    """One short round of warm-up: here it is about answers, not about time."""
    for name, scenario in scenarios().items():
        duration_s = min(scenario.rehearsal.duration_s, 1.0)
        short = replace(scenario.rehearsal, rounds=1, requests=200, duration_s=duration_s)
        monkeypatch.setitem(scenarios(), name, replace(scenario, rehearsal=short))


def measured(scenario: str, runtime: str, variant: str, folder, **options) -> run_view.Run:
    """A small run of a variant, or of all."""
    variants = [] if variant == "all" else [variant]
    asked = {"seed": 1, "heap_mb": 512, "pool": 20, **options}
    plan = planning.make_plan(scenarios()[scenario], Options(variants=variants, **asked), HERE)
    with pytest.MonkeyPatch.context() as patch:
        if not {variant.module for variant in plan.variants} <= CACHED:
            patch.setattr(aot_cache, "MINIMUM_JAVA", math.inf)
        run = run_view.Run(conduct(plan, Invocation(["test"], folder, Reporter(quiet=True), runtime)))
    assert [row["variant"] for row in run.cells] == (variants or measured_variants(scenario))
    return run


def measured_variants(scenario: str) -> list[str]:
    """The names of those that are measured where nobody names any."""
    of = scenarios()[scenario]
    return list(of.default_variants or [variant.name for variant in of.variants])


@pytest.fixture
def runtime(request) -> str:
    """The runtime that a case names."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    return request.param


# What `make test` takes is one variant a scenario, and one scenario in containers.
IN_CONTAINERS = pytest.param("docker", "webflux", marks=pytest.mark.docker)
THOROUGHLY = [
    pytest.param("process", "all", marks=pytest.mark.thorough),
    pytest.param("docker", "all", marks=[pytest.mark.thorough, pytest.mark.docker]),
]


@pytest.mark.parametrize(("runtime", "variant"), [("process", "webflux"), *THOROUGHLY], indirect=["runtime"])
def test_every_document_comes_whole(runtime, variant, tmp_path):
    """All variants answer alike, every byte arrives, and the database is asked once a request."""
    run = measured("document", runtime, variant, tmp_path, users=[20], loops=1)
    for cell in run.folder.cells():
        samples, evidence = cell.measured(), cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert list(samples["bytes"]) == [DOCUMENT_BYTES] * 20
        assert set(samples["error"]) == {""}
        assert 20 <= evidence["calls"]["mongo"] <= 30
        assert any("where the CPU decides, 20 s are the least" in said for said in cell.read("summary")["reasons"])
        assert cell.read("limits")["pool_max"] == 20
    assert {row["requests"] for row in run.cells} == {20}


@pytest.mark.parametrize(("runtime", "variant"), [("process", "mvc"), IN_CONTAINERS, *THOROUGHLY], indirect=["runtime"])
def test_everybody_gets_their_own_record_and_nobody_anothers(runtime, variant, tmp_path):
    """Honest tokens get records, hostile ones 401 or 404, alike from all; counts agree exactly."""
    run = measured("jwt", runtime, variant, tmp_path, users=[8], requests=500)
    for cell in run.folder.cells():
        evidence, contract = cell.read("evidence"), cell.read("contract")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert {answer["status"] for answer in contract.values()} == {200, 401, 404, 405, 414, 431}
        assert evidence["begun"] == evidence["finished"] == evidence["served"] == 500
        assert set(cell.measured()["error"]) == {""}


@pytest.mark.parametrize(("runtime", "variant"), [("process", "mvc-jpa-cached"), *THOROUGHLY], indirect=["runtime"])
def test_records_are_found_and_saved_alike_with_a_cache_or_without(runtime, variant, tmp_path):
    """All variants answer alike and find what they have saved; the database and the cache count exactly."""
    # One for each user: of records that users share, a cache may put one back that somebody has just saved.
    parameters = {"requesters": 20, "saves": 30}
    run = measured("migration", runtime, variant, tmp_path, users=[20], loops=5, ramp_up=3.0, parameters=parameters)
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
    ("runtime", "variant"), [("process", "mvc-virtual-parallel"), *THOROUGHLY], indirect=["runtime"]
)
def test_every_request_makes_all_its_finds(runtime, variant, tmp_path):
    """All variants answer alike, and the database counts exactly the finds of every request."""
    run = measured("fanout", runtime, variant, tmp_path, users=[8], loops=5, parameters={"calls": 3}, link_latency_ms=5)
    for cell in run.folder.cells():
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
        assert 8 * 5 * 3 <= evidence["calls"]["mongo"] <= 8 * 5 * 3 + 10
        assert evidence["calls_expected"] == {"mongo": [8 * 5 * 3] * 2}
        assert cell.read("limits")["pool_max"] == 20


@pytest.mark.parametrize(("runtime", "variant"), [("process", "webflux"), *THOROUGHLY], indirect=["runtime"])
def test_the_service_behind_answers_every_call(runtime, variant, tmp_path):
    """All variants answer alike, and the called service counts exactly one call of each request, one at a time."""
    parameters = {"delay_ms": 20, "b_threads": 1}
    run = measured("chain", runtime, variant, tmp_path, users=[20], loops=5, parameters=parameters)
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
    """All variants answer alike, by each client; the database counts a find, and the called service a call, of each."""
    names = [variant.name for variant in scenarios()["chain-mongo"].variants]
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
@pytest.mark.parametrize("variant", ["mvc", "webflux"])
def test_a_called_service_that_fails_or_is_slow_does_so_when_it_was_asked_to(variant, tmp_path):
    """Its failures are those of the first second, it is slow from the second one on, and counts agree all the while."""
    parameters = {"delay_ms": 5, "b_fails": "0:1", "b_slow": "2:60", "b_slower_ms": 300}
    run = measured("chain", "process", variant, tmp_path, users=[40], rate=20, duration=5, parameters=parameters)
    (cell,) = run.folder.cells()
    samples, evidence, limits = cell.measured(), cell.read("evidence"), cell.read("limits")
    assert evidence["begun"] == evidence["calls"]["backend"] == 100
    sent_s, ended_s, first_s = sent_and_ended(samples)
    failed = samples["error"] != ""
    assert set(samples["status"][failed]) == {502}
    assert failed[ended_s < first_s + 1].all()
    assert not failed[sent_s > ended_s.min() + 1].any()
    assert (samples["latency_us"][sent_s > ended_s.min() + 2] >= 300_000).all()
    assert (sent_s > ended_s.min() + 2).sum() > 20
    assert (limits["backend fails"], limits["backend slow"], limits["backend slowerMs"]) == ("0:1", "2:60", 300)
    assert "predicted_mean_s" not in {name for name, value in cell.read("summary").items() if value is not None}


# A breaker that was open tries ten calls. It takes answers of earlier ones for theirs, and so may try ten more before
# it has these: of so many threads some are always free.
TRIED, THREADS = 20, 32
# Threads that are busy for a moment besides: with what is refused, and with who reads the metrics.
AT_ONCE = 4
# Of an outage from 2 s to 10 s after the first call: when what is called takes 2 s, or waits for as long without a
# breaker; when one is open, or tries; and when it is closed again.
SLOW_S, DURING_S, AFTER_S = (3, 7.8), (7, 9.8), 15.5


@pytest.mark.thorough
@pytest.mark.parametrize("breaker", ["off", "refuse"])
@pytest.mark.parametrize("variant", ["mvc", "mvc-virtual", "webflux"])
def test_an_outage_is_over_when_the_called_service_is_as_before(variant, breaker, tmp_path):
    """Before and after it all answers are right; meanwhile only a breaker keeps threads and connections free.

    It refuses by name, tries again, and closes. Every send has an outcome, and counts agree exactly.
    """
    slow = {"delay_ms": 5, "b_slow": "2:8", "b_slower_ms": 2000}
    settings = {"breaker": breaker}
    if breaker != "off":
        settings |= {"breaker_window": 10, "breaker_slow_ms": 1500, "breaker_open_ms": 1000}
    options = {"users": [200], "rate": 20, "duration": 18, "threads": THREADS, "pool": 400}
    run = measured("chain", "process", variant, tmp_path, **options, parameters=slow | settings)
    (cell,) = run.folder.cells()
    samples, evidence = cell.measured(), cell.read("evidence")
    refused, took_s = samples["error"] == "breaker open", samples["latency_us"] / 1e6
    assert evidence["begun"] == evidence["served"] == len(samples) == 20 * 18
    assert evidence["calls"]["backend"] == (~refused).sum()
    assert evidence["calls_expected"]["backend"] == [(~refused).sum()] * 2
    assert not any("counted" in reason for reason in run.cells[0]["reasons"]), run.cells[0]["reasons"]
    assert set(samples["error"]) <= {"", "breaker open"}
    # A breaker opens once some calls have been slow, when others are under way, which take 2 s; and closes when its
    # trials are slow no more: one trial and one wait after the outage at most.
    sent_s = (samples["sent_us"] - samples["sent_us"].min()) / 1e6
    before, during, after = sent_s < 1.8, sent_s.between(*DURING_S), sent_s > AFTER_S
    assert not refused[before | after].any()
    assert (took_s[sent_s.between(*SLOW_S) & ~refused] >= 2).all()
    assert refused[during].mean() > 0.5 if breaker == "refuse" else not refused.any()
    (to_backend,) = [pool for pool in POOLS if pool.to == "backend"]
    in_use = [values for name in to_backend.in_use if len(values := readings_during(cell, name, *DURING_S))]
    assert held_are_few(*in_use) == (breaker == "refuse")
    if variant == "mvc":
        threads = readings_during(cell, "tomcat_threads_busy_threads", *DURING_S)
        assert held_are_few(threads, besides=AT_ONCE) == (breaker == "refuse")
    assert (readings_during(cell, "lab_breaker_open", *DURING_S) > 0).all() == (breaker == "refuse")
    assert (readings_during(cell, "lab_breaker_open", AFTER_S, 18) == 0).all()


# Of an outage from 4 s to 10 s after the first call: when it begins and ends.
DIES_S, LIVES_S = 4, 10


@pytest.mark.thorough
@pytest.mark.parametrize("breaker", ["off", "refuse", "fallback"])
@pytest.mark.parametrize("variant", ["mvc", "mvc-virtual-resttemplate", "webflux"])
def test_a_called_service_that_is_dead_for_a_time(variant, breaker, tmp_path):
    """By window: nothing is right while it is dead, all is before and after; an open breaker keeps most calls back."""
    settings = {"breaker": breaker} | ({"breaker_window": 10, "breaker_open_ms": 1000} if breaker != "off" else {})
    options = {"users": [200], "rate": 50, "duration": 16, "threads": THREADS, "pool": 400}
    run = measured("chain", "process", variant, tmp_path, **options, parameters={"b_dead": "4:6"} | settings)
    (cell,) = run.folder.cells()
    samples, evidence = cell.measured(), cell.read("evidence")
    assert evidence["begun"] == evidence["served"] == len(samples) == 50 * 16
    assert evidence["succeeded"] == (samples["status"] == 200).sum()
    kept_back = {"off": "", "refuse": "breaker open", "fallback": "breaker fallback"}[breaker]
    assert set(samples["error"]) <= {"", "status", kept_back}
    (sent_s, ended_s, first_s), is_right = sent_and_ended(samples), samples["error"] == ""
    # When it is surely dead: by plan, as windows are. What a busy machine holds up may reach one that lives again.
    from_s = max(ended_s.min() + DIES_S, ended_s[samples["error"] == "status"].min())
    to_s = samples["planned_us"][ended_s > first_s + LIVES_S].min() / 1e6
    # A breaker is closed when those that it tried have been answered.
    alive_s = ended_s[is_right & (sent_s > from_s)].nsmallest(TRIED).max()
    assert to_s - from_s > 3
    dead, answered = (sent_s > from_s) & (sent_s < to_s), ended_s < first_s + DIES_S
    assert is_right[answered | (sent_s > alive_s)].all()
    assert min(answered.sum(), (sent_s > alive_s).sum()) > 50
    assert (samples["error"][dead] != "").all()
    assert ((samples["error"][dead] == kept_back).mean() > 0.8) == (breaker != "off")
    windows = run.windows()
    inside = windows[(windows["from_s"] > from_s) & (windows["to_s"] < to_s)]
    outcome = {"off": "failed", "refuse": "refused", "fallback": "fallback"}[breaker]
    assert inside["right"].sum() == 0
    assert inside[outcome].sum() > 0.8 * inside["offered"].sum()
    (to_backend,) = [pool for pool in POOLS if pool.to == "backend"]
    (in_use,) = [values for name in to_backend.in_use if len(values := readings_during(cell, name, from_s, to_s))]
    assert held_are_few(in_use)
    # What was under way when it died has had no answer; it may have been counted.
    right, under_way = (samples["error"] == "").sum(), ((samples["error"] == "status") & (sent_s < from_s)).sum()
    assert right <= evidence["calls"]["backend"] <= right + under_way
    assert not [reason for reason in cell.read("summary")["reasons"] if "counted" in reason]
    if variant == "mvc":
        assert held_are_few(readings_during(cell, "tomcat_threads_busy_threads", from_s, to_s), besides=AT_ONCE)


@pytest.mark.thorough
def test_an_outage_that_outlasts_its_load_is_over_before_the_next_variant_is_proved(tmp_path):
    """The called service is that of the whole run: each variant finds it as the first one did."""
    run = measured("chain", "process", "all", tmp_path, users=[50], rate=20, duration=3, parameters={"b_dead": "1:600"})
    for cell in run.folder.cells():
        samples, evidence = cell.measured(), cell.read("evidence")
        assert (evidence["component_errors"], evidence["limits_broken"]) == ([], [])
        sent_s, ended_s, first_s = sent_and_ended(samples)
        assert set(samples["error"]) == {"", "status"}
        assert (samples["error"][ended_s < first_s + 1] == "").all()
        assert (samples["error"][sent_s > ended_s.min() + 1] == "status").all()


def sent_and_ended(samples: pd.DataFrame) -> tuple[pd.Series, pd.Series, float]:
    """When each request was sent and answered, and when the first was sent, in seconds of the load.

    The time of what is called begins with its first call, which was between the first send and the first answer.
    """
    sent_s = samples["sent_us"] / 1e6
    return sent_s, sent_s + samples["latency_us"] / 1e6, float(sent_s.min())


def readings_during(cell, name: str, from_s: float, to_s: float) -> pd.Series:
    """What the service was read to say by one of its metrics in these seconds of the load."""
    rows, samples = cell.metrics(), cell.measured()
    held_up = samples["sent_us"] - samples["planned_us"] > 3e5
    late_s = samples["sent_us"][held_up] / 1e6
    # Not while all that a machine that stood still has held up is sent at once.
    is_calm = ~rows["t_s"].map(lambda t_s: late_s.between(t_s - 0.5, t_s + 0.5).any())
    is_it = (rows["target"] == "service") & (rows["name"] == name) & rows["t_s"].between(from_s, to_s)
    return rows.loc[is_it & is_calm, "value"]


def held_are_few(held: pd.Series, besides: int = 0) -> bool:
    """Whether at no time more are held than by the calls that a breaker tries; else it is by all threads, or more.

    Args:
        besides: so many may be held for another reason.

    """
    assert held.max() <= TRIED + besides or held.median() >= THREADS - 3, held.to_list()
    return bool(held.max() <= TRIED + besides)


@pytest.mark.thorough
def test_a_called_service_that_dies_makes_the_cell_invalid_by_name(tmp_path):
    """SIGKILL in the middle of the load: the verdict says who ended, and how."""
    options = Options(users=[20], duration=6.0, variants=["webflux"], seed=1, heap_mb=256, parameters={"delay_ms": 50})
    plan = planning.make_plan(scenarios()["chain"], options, HERE)
    with set_up(plan, Invocation(["test"], tmp_path, Reporter(quiet=True)), 200) as testbed:
        backend = testbed.backing.services["backend"].running
        threading.Thread(target=_kill_once_loaded, args=(testbed.run, plan.cells[0], backend.pid), daemon=True).start()
        conductor.measure_start(testbed, [[plan.cells[0]]])
    (row,) = run_view.Run(testbed.run).cells
    assert row["verdict"] == "invalid"
    assert any("backend" in reason and "SIGKILL" in reason for reason in row["reasons"]), row["reasons"]


def _kill_once_loaded(run: RunFolder, cell: Cell, pid: int) -> None:
    """Kill a process as soon as samples of the measured load arrive: limits are read just before it begins."""
    while not (run.cell(cell).path / "limits.json").exists():
        time.sleep(0.05)
    time.sleep(1)
    os.kill(pid, signal.SIGKILL)


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


ACCESS_COUNTS = {
    "add-one": {"insert": 1},
    "get-one": {"find": 1},
    "update-one": {"update": 1},
    "remove-one": {"insert": 1, "delete": 1},
    "add-many": {"insert": 1},
    "get-many": {"find": 1},
    "update-many": {"update": 1},
    "get-by-query": {"find": 1},
}


def counted(cell) -> dict[str, int]:
    """The commands that the database counted in a cell, without those that were none."""
    calls = cell.read("evidence")["calls"]
    return {name.removeprefix("mongo "): count for name, count in calls.items() if " " in name and count}


# Every way to MongoDB does one of them; contracts ask all of each.
OTHER_OPERATIONS = [
    ("add-one", "mvc-driver"),
    ("get-one", "mvc-virtual-template"),
    ("remove-one", "webflux-driver"),
    ("add-many", "webflux-template"),
    ("get-many", "mvc-repository"),
    ("update-many", "mvc-virtual-repository"),
    ("get-by-query", "mvc-template"),
]


@pytest.mark.parametrize(
    ("runtime", "operation", "variant"),
    [
        ("process", "update-one", "webflux-repository"),
        pytest.param("process", "update-one", "all", marks=pytest.mark.thorough),
        *(pytest.param("process", *each, marks=pytest.mark.thorough) for each in OTHER_OPERATIONS),
        pytest.param("docker", "update-one", "webflux-repository", marks=[pytest.mark.thorough, pytest.mark.docker]),
    ],
    indirect=["runtime"],
)
def test_each_way_to_mongodb_executes_its_commands_and_no_other(runtime, operation, variant, tmp_path):
    """All variants answer alike; a repository finds what it updates, and everything else is one command."""
    parameters = {"operation": operation} | ({"elements": 3} if operation.endswith("many") else {})
    run = measured("mongo-access", runtime, variant, tmp_path, users=[20], loops=2, parameters=parameters)
    for cell in run.folder.cells():
        evidence, sessions = cell.read("evidence"), 40
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
        due = {name: sessions * count for name, count in ACCESS_COUNTS[operation].items()}
        if cell.cell.variant.endswith("repository") and operation.startswith("update"):
            due = {"find": sessions, "update": sessions * (3 if operation == "update-many" else 1)}
        assert counted(cell) == due
        assert evidence["calls_expected"]["mongo find"] == [due.get("find", 0)] * 2
    assert not [reason for row in run.cells for reason in row["reasons"] if "counted" in reason]


@pytest.fixture
def interruptible():
    """SIGINT raises KeyboardInterrupt, also in a job of a shell's background, where it is ignored from the start."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Watching(Reporter):
    """Shows nothing, and knows when the measured load of a cell has begun."""

    def __init__(self) -> None:
        super().__init__(quiet=True)
        self.measuring = threading.Event()

    @contextlib.contextmanager
    def phase(self, title, total=None):
        """Notice the phase in which it begins."""
        if ": measure " in title:
            self.measuring.set()
        with super().phase(title, total) as update:
            yield update


@pytest.mark.thorough
@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("operation", "variant", "ending"),
    [
        ("add-one", "mvc-driver", "complete"),
        ("add-one", "mvc-driver", "killed"),
        ("update-one", "webflux-repository", "killed"),
        ("remove-one", "webflux-template", "interrupted"),
    ],
)
def test_entities_are_as_they_were_however_a_cell_ends(operation, variant, ending, tmp_path, monkeypatch):
    """The service may die, or the lab be interrupted, in the middle of the measured load."""
    options = Options(users=[20], variants=[variant], seed=1, heap_mb=256, parameters={"operation": operation})
    # Long enough for a slow machine to be in the middle of it, where it does not come to its end.
    options = replace(options, duration=5.0 if ending == "complete" else 120.0)
    plan, ready, watching = (
        planning.make_plan(scenarios()["mongo-access"], options, HERE),
        actuator.await_ready,
        Watching(),
    )
    services = []
    monkeypatch.setattr(actuator, "await_ready", lambda *of: services.append(ready(*of)) or services[-1])
    with set_up(plan, Invocation(["test"], tmp_path, watching), 200) as testbed:
        database, (cell,) = testbed.backing.databases["mongo"], plan.cells
        end = {"killed": lambda: os.kill(services[0].running.pid, signal.SIGKILL)}
        end["interrupted"] = lambda: os.kill(os.getpid(), signal.SIGINT)

        def changes() -> int:
            counts = mongo.counted(database)
            return counts["insert"] + counts["update"] + counts["delete"]

        def end_in_the_middle() -> None:
            watching.measuring.wait()
            before = changes()
            while changes() < before + 100:
                time.sleep(0.05)
            end[ending]()

        if ending in end:
            threading.Thread(target=end_in_the_middle, daemon=True).start()
        with pytest.raises(KeyboardInterrupt) if ending == "interrupted" else contextlib.nullcontext():
            conductor.measure_start(testbed, [[cell]])
        assert (run_view.Run(testbed.run).verdict == "invalid") == (ending != "complete")
        assert restoring.restore(database, ENTITIES) == 0


@pytest.mark.parametrize(
    ("runtime", "way", "batch", "variant"),
    [
        ("process", "streamed", "1000", "webflux-template"),
        pytest.param("process", "streamed", "100", "all", marks=pytest.mark.thorough),
        pytest.param("process", "streamed", "default", "webflux-driver", marks=pytest.mark.thorough),
        pytest.param("process", "collected", "default", "webflux-repository", marks=pytest.mark.thorough),
        pytest.param("process", "collected", "1000", "mvc-driver", marks=pytest.mark.thorough),
        pytest.param("process", "paged", "1000", "mvc-template", marks=pytest.mark.thorough),
        pytest.param("process", "paged", "100", "mvc-repository", marks=pytest.mark.thorough),
        pytest.param("process", "paged", "100", "webflux-repository", marks=pytest.mark.thorough),
        pytest.param(
            "docker", "streamed", "1000", "webflux-template", marks=[pytest.mark.thorough, pytest.mark.docker]
        ),
    ],
    indirect=["runtime"],
)
def test_a_set_batch_decides_how_often_the_database_is_asked_for_more(runtime, way, batch, variant, tmp_path):
    """All variants answer alike, and all entities come; with the driver's own batches the number is shown."""
    parameters = {"operation": "get-all", "way": way, "batch_size": batch}
    run = measured("large-data", runtime, variant, tmp_path, users=[1], loops=3, parameters=parameters)
    for cell in run.folder.cells():
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
        assert evidence["calls"]["mongo find"] == 3 * (11 if way == "paged" else 1)
        assert "mongo getMore" in evidence["calls"]
        if way != "paged" and batch != "default":
            least = 3 * (10_000 // int(batch) - 1)
            assert least <= evidence["calls"]["mongo getMore"] <= least + 3
            assert evidence["calls_expected"]["mongo getMore"] == [least, least + 3]
        if (way, batch) == ("paged", "100"):  # of each full page
            assert evidence["calls"]["mongo getMore"] >= 3 * 10 * (1000 // 100 - 1)
    assert not [reason for row in run.cells for reason in row["reasons"] if "counted" in reason]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("variant", "way", "batch", "finds", "more"),
    [("webflux-driver", "streamed", "100", 1, (9, 10)), ("mvc-repository", "paged", "1000", 2, (0, 2))],
)
def test_a_thousand_entities_come_in_as_many_commands_as_are_due(variant, way, batch, finds, more, tmp_path):
    """In batches, or in a full page and an empty one."""
    parameters = {"operation": "query-1k", "way": way, "batch_size": batch}
    run = measured("large-data", "process", variant, tmp_path, users=[1], loops=3, parameters=parameters)
    (cell,) = run.folder.cells()
    calls, (least, most) = cell.read("evidence")["calls"], more
    assert set(cell.measured()["error"]) == {""}
    assert calls["mongo find"] == 3 * finds
    assert 3 * least <= calls["mongo getMore"] <= 3 * most


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["mvc-driver", "webflux-repository"])
def test_a_thousand_entities_are_updated_by_one_command_or_one_by_one(variant, tmp_path):
    """A repository saves each of those that it has found."""
    run = measured(
        "large-data", "process", variant, tmp_path, users=[1], loops=2, parameters={"operation": "update-many-1k"}
    )
    (cell,) = run.folder.cells()
    one_by_one = variant.endswith("repository")
    assert set(cell.measured()["error"]) == {""}
    found = counted(cell)
    assert (found.get("find", 0), found["update"]) == (2 * one_by_one, 2 * (1000 if one_by_one else 1))
