"""A checkout in a folder with blanks and umlauts: everything is built, made, started and measured there."""

from __future__ import annotations

import re
import subprocess

import pytest
from checkouts import BRIEF_LAB, Checkout
from patience import PATIENCE_S
from programs import needs_haproxy, needs_prometheus

from lab.experiments import scenarios
from lab.spec.scenario import Scenario
from lab.storage.run_folder import RunFolder

pytestmark = [pytest.mark.java, pytest.mark.thorough]

OF_SERVICES = ("--users", "4", "--ramp-up", "0", "--duration", "2", "--heap-mb", "256")
OF_PROGRAMS = ("--loops", "2")
SMALLEST_CORPUS_MB = "1"
# The scenario with a clustered cache, which is measured on several nodes.
CLUSTERED = "migration"
SEVERAL_NODES = ("--nodes", "2", "--prometheus")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A checkout in which nothing is built yet."""
    return Checkout(tmp_path_factory.mktemp("folders") / "my läb 1", built=False)


def of_each_kind(scenario: Scenario) -> list[str]:
    """Variants that together call all there is, and run on each release of Java; and each program."""
    found, names = set[object](), []
    for variant in scenario.variants:
        kinds = {("calls", variant.calls), ("runs on", variant.jdk), ("program", variant.command[:1])}
        names += [variant.name] * bool(kinds - found)
        found |= kinds
    return sorted(names)


def parts_of(scenario: Scenario) -> frozenset[object]:
    """What the variants of a scenario call and run on."""
    called = {(component.module, component.database) for component in scenario.components}
    return frozenset({scenario.entry} | called | {(variant.jdk, variant.caches) for variant in scenario.variants})


def of_each_system() -> list[str]:
    """The scenarios whose parts are not all in one of the others: of those that have the same, the first by name."""
    found: dict[frozenset[object], str] = {}
    for name, scenario in sorted(scenarios().items()):
        found.setdefault(parts_of(scenario), name)
    return [name for parts, name in found.items() if not any(parts < others for others in found)]


def assert_measured_in(checkout: Checkout, name: str, variants: list[str], *arguments: str) -> None:
    """A small run is made of some variants of a scenario: each of them answers, none fails, and nothing dies."""
    before = set(checkout.root.glob("data/runs/*"))
    command = ("run", name, "--variants", ",".join(variants), "--seed", "1", "--allow-suspect", *arguments)
    said = checkout.types(*command, lab=BRIEF_LAB, ends=(0, 1))  # 1 where the machine was too busy to be believed
    assert "without a cache" not in said
    (made,) = set(checkout.root.glob("data/runs/*")) - before
    cells = RunFolder(made).cells()
    assert sorted(folder.cell.variant for folder in cells) == sorted(variants)
    for folder in cells:
        evidence = folder.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(folder.measured()["error"]) == {""}


@pytest.mark.parametrize("name", [name for name in of_each_system() if name != CLUSTERED])
def test_every_system_is_measured_there(checkout, name):
    """With all that its variants call, on each release of Java; that of several nodes is below."""
    scenario = scenarios()[name]
    shape = OF_SERVICES if scenario.entry == "service" else OF_PROGRAMS
    if scenario.corpus:
        shape += (f"--{scenario.corpus.megabytes}", SMALLEST_CORPUS_MB)
    assert_measured_in(checkout, name, of_each_kind(scenario), *shape)


@needs_haproxy
@needs_prometheus
def test_so_are_several_nodes_behind_a_balancer(checkout):
    """HAProxy, Prometheus and a clustered cache have their files there too."""
    cached = next(variant.name for variant in scenarios()[CLUSTERED].variants if variant.caches)
    assert_measured_in(checkout, CLUSTERED, [cached], *OF_SERVICES, *SEVERAL_NODES)


@pytest.mark.docker
def test_it_is_measured_in_containers_there(checkout, engine):
    """On two nodes with Prometheus beside them, with a database and a called service."""
    try:
        assert_measured_in(checkout, "chain-mongo", ["mvc"], *OF_SERVICES, *SEVERAL_NODES, "--runtime", "docker")
        assert not {thing for thing in checkout.has(engine) if ":" not in thing and not thing.startswith("/")}
    finally:
        for tag in {thing for thing in checkout.has(engine) if re.fullmatch(r"[\w./-]+:\w+-\w+", thing)}:
            engine.images.remove(tag)


def test_a_stack_is_up_there_and_what_was_made_is_cleaned(checkout):
    """The request that 'up' prints can be typed, and 'clean' leaves no build behind."""
    said = checkout.types("up", "jwt", "--variant", "webflux", "--heap-mb", "256")
    try:
        (request,) = (line.strip() for line in said.splitlines() if "| curl" in line)
        answer = subprocess.check_output(["bash", "-c", request], cwd=checkout.root, text=True, timeout=PATIENCE_S)
        assert '"email"' in answer
    finally:
        checkout.types("down")
    checkout.types("clean", "--runs", "--yes")
    assert not [*checkout.root.glob("data/runs/*"), *checkout.root.glob("services/*/target")]
