"""The variants of jwt-ablations: each on the Java and the driver that it names, and all with the same answers."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from machines import HERE

from lab.analysis import selection
from lab.analysis.verdict import INVALID, VALID
from lab.experiments import find_publication, scenarios
from lab.experiments.jwt_ablations.claims import EVERY
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.reporting import run_view
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.spec import planning
from lab.spec.options import Options
from lab.system import build, java_releases
from lab.system.jdk import Jdk

SCENARIO = scenarios()["jwt-ablations"]
NAMES = tuple(variant.name for variant in SCENARIO.variants)
# Each release of Java and each driver once, as every one of them is an image of its own.
IN_DOCKER = ("mvc-virtual", "mvc-virtual-jdk21", "mvc-virtual-jdk21-connector8")


@pytest.fixture(autouse=True)
def cold(monkeypatch):
    """One short round of warm-up: here it is about answers, not about time."""
    rehearsal = replace(SCENARIO.rehearsal, rounds=1, requests=200)
    monkeypatch.setitem(scenarios(), SCENARIO.name, replace(SCENARIO, rehearsal=rehearsal))


def measured(folder: Path, *variants: str, runtime: str = "process") -> run_view.Run:
    """A small run of some variants."""
    asked = Options(seed=1, heap_mb=256, pool=20, users=[8], requests=500, variants=variants)
    plan = planning.make_plan(scenarios()[SCENARIO.name], asked, HERE)
    return run_view.Run(conduct(plan, Invocation(["test"], folder, Reporter(quiet=True), runtime)))


def assert_served(run: run_view.Run, *variants: str) -> None:
    """Every variant passed the contract, answered all requests, and ran on the Java that it names."""
    assert [cell.cell.variant for cell in run.folder.cells()] == list(variants)
    for cell in run.folder.cells():
        evidence, limits = cell.read("evidence"), cell.read("limits")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert evidence["begun"] == evidence["finished"] == evidence["served"] == 500
        assert {answer["status"] for answer in cell.read("contract").values()} == {200, 401, 404, 405, 414, 431}
        assert not any("not in force" in reason for reason in cell.read("summary")["reasons"])
        assert limits["java_release"] == SCENARIO.variant(cell.cell.variant).jdk
        assert not any("AOTCache" in argument for argument in limits["jvm_arguments"])


@pytest.mark.java
def test_a_variant_runs_on_the_java_that_it_names(tmp_path):
    """Whatever JDK the lab itself has."""
    run = measured(tmp_path, "mvc-virtual-jdk21")
    assert_served(run, "mvc-virtual-jdk21")
    assert run.folder.environment()["javas"]["21"].startswith("21.")


@pytest.mark.java
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("runtime", "names"), [("process", NAMES), pytest.param("docker", IN_DOCKER, marks=pytest.mark.docker)]
)
def test_all_variants_answer_alike(runtime, names, tmp_path, request):
    """On both releases, with both drivers, and by both ways to MySQL; what differs is called by its name."""
    if runtime == "docker":
        request.getfixturevalue("engine")
    run = measured(tmp_path, *names, runtime=runtime)
    assert_served(run, *names)
    one, other = (selection.Side((run.folder,), name) for name in ("mvc-virtual", "mvc-virtual-jdk21"))
    assert not [found for found in selection.confounders(one, other) if found.startswith("java")]


@pytest.mark.java
@pytest.mark.thorough
def test_a_variant_on_the_wrong_java_is_invalid(tmp_path, jdk, monkeypatch):
    """What serves is read back, so that no result goes under the name of another release."""
    wrong = Jdk(jdk.home, jdk.version, "the test")
    assert wrong.major != 21
    monkeypatch.setattr(java_releases, "installed", lambda *_: {21: wrong})
    (cell,) = measured(tmp_path, "mvc-virtual-jdk21").folder.cells()
    summary = cell.read("summary")
    assert summary["verdict"] == INVALID
    assert f"A limit is not in force: java_release is {wrong.major} instead of 21." in summary["reasons"]


@pytest.mark.java
@pytest.mark.thorough
def test_each_jar_has_the_way_to_mysql_that_its_module_is_for(jdk, runtime):
    """One driver each: the old one, today's, or that of R2DBC; webflux-jdbc has the classes of its twins, and Users."""
    jars = build.jars([variant.module for variant in SCENARIO.variants], jdk, runtime, lambda _: None)
    content = {module: zipfile.ZipFile(jar).namelist() for module, jar in jars.items()}
    drivers = {
        module: [Path(name).name for name in names if "/mysql-connector-j-" in name or "/r2dbc-mysql-" in name]
        for module, names in content.items()
    }
    assert drivers["mvc-connector8"] == ["mysql-connector-j-8.0.33.jar"]
    assert drivers["mvc"] == drivers["webflux-jdbc"] != drivers["mvc-connector8"]
    assert drivers["webflux"][0].startswith("r2dbc-mysql-")
    assert {len(found) for found in drivers.values()} == {1}
    ours = {
        module: {name for name in content[module] if name.startswith("BOOT-INF/classes/lab/")}
        for module in ("mvc", "webflux", "webflux-jdbc")
    }
    pools = {name for name in ours["mvc"] if name.startswith("BOOT-INF/classes/lab/mysql/")}
    others = {name for name in ours["webflux"] if not name.startswith("BOOT-INF/classes/lab/mysql/")}
    assert ours["webflux-jdbc"] == pools | others


def test_few_are_measured_where_nobody_names_any():
    """Nine starts are for those who want to know which factor it is."""
    plan = planning.make_plan(SCENARIO, Options(), HERE)
    assert [variant.name for variant in plan.variants] == list(SCENARIO.default_variants)


def test_variants_differ_in_what_their_names_say():
    """By Java, driver, stack and threads: no two are alike in all."""
    factors = [tuple(sorted(variant.factors.items())) for variant in SCENARIO.variants]
    assert len(set(factors)) == len(factors) == 10
    for variant in SCENARIO.variants:
        assert (variant.factors["java"] == "21") == ("jdk21" in variant.name)
        assert ("8.0.33" in variant.factors["driver"]) == ("connector8" in variant.name)
        assert variant.jdk == int(variant.factors["java"])


def judged(*loads: dict[str, tuple[float, ...]]) -> dict[str, str]:
    """By claim, its verdict, where each variant answers so many a second at each load, in each of three starts."""
    rows = []
    for users, rates in enumerate(loads, 50):
        for variant, measured_rps in rates.items():
            repeats = tuple(Repeat(n, 0.01, rps, rps, 0.0, VALID, True) for n, rps in enumerate(measured_rps, 1))
            rows.append(ReproducedRow(EVERY, users, users, variant, None, None, None, None, 0.0, 0, 0, repeats))
    return {claim.claim: claim.word for claim in find_publication("jwt-ablations").judge(rows)}


EQUAL = dict.fromkeys(NAMES, (1000.0, 1001.0, 1002.0))
OF_BOTH_OLD = "With Java 21 and Connector/J 8.0.33 WebFlux is faster than virtual threads."


def test_a_factor_turns_the_claim_where_its_settings_disagree():
    """Here it takes the old driver and the old Java together, as a thread that waits in a block then keeps its core."""
    words = judged({**EQUAL, "mvc-virtual-jdk21-connector8": (600.0, 601.0, 602.0)})
    assert words[OF_BOTH_OLD] == CONFIRMED
    assert words["With today's Java and driver WebFlux is faster than virtual threads."] == REFUTED
    assert words["The driver turns that, on Java 21."] == CONFIRMED
    assert words["The driver turns that, on Java 25."] == REFUTED
    assert words["Java turns that, with Connector/J 8."] == CONFIRMED
    assert words["Java turns that, with Connector/J 9."] == REFUTED
    assert words["Both together turn that."] == CONFIRMED


def test_a_factor_turns_a_claim_at_the_loads_where_it_does():
    """At few connections all are as fast, which hides nothing of what happens at many."""
    words = judged(EQUAL, {**EQUAL, "mvc-virtual-jdk21-connector8": (600.0, 601.0, 602.0)})
    assert words["Both together turn that."] == CONFIRMED
    assert words["The way to MySQL turns that: R2DBC or JDBC."] == REFUTED
    assert judged(EQUAL, EQUAL)["Both together turn that."] == REFUTED


def test_nothing_turns_a_claim_that_is_undecided_at_one_setting():
    """Where starts differ by more than variants do, neither the claim nor what might turn it is decided."""
    words = judged({**EQUAL, "mvc-virtual-jdk21-connector8": (700.0, 950.0, 1200.0)})
    assert words[OF_BOTH_OLD] == UNDECIDED
    assert words["Both together turn that."] == UNDECIDED
    assert words["The driver turns that, on Java 21."] == UNDECIDED
    assert words["Java turns that, with Connector/J 9."] == REFUTED


def test_more_connections_are_claims_of_their_own():
    """What they leave open leaves nothing else open, and nothing of them is said where they were not measured."""
    words = judged({**EQUAL, "mvc-virtual-jdk21-connector8": (600.0, 601.0, 602.0)})
    assert words[OF_BOTH_OLD] == CONFIRMED
    of_more = [word for claim, word in words.items() if claim.startswith("At 100 and 300 connections")]
    assert of_more == [UNDECIDED] * 2


def test_the_part_that_ships_is_judged_as_it_was_measured(typed, tmp_path):
    """From the command to the claims; those of the part that does not ship are undecided."""
    done = typed("reproduce", "jwt-ablations", "--from", "jwt-ablations", "--json", "--data", str(tmp_path))
    assert done.returncode == 0
    words = {claim["claim"]: claim["word"] for claim in json.loads(done.stdout)["claims"]}
    assert words[OF_BOTH_OLD] == CONFIRMED
    assert words["With Connector/J 9, Java 25 makes virtual threads faster than Java 21."] == CONFIRMED
    assert {word for claim, word in words.items() if claim.startswith("At 100 and 300")} == {UNDECIDED}
