"""All stacks, styles and generations of the operations answer alike, and are what they say they are."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from lab.analysis import verdict
from lab.experiments.operations.contract import CONTRACT
from lab.experiments.operations.variants import COMPONENTS, VARIANTS
from lab.running import equivalence
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.testbed import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.scenario import Rehearsal, Request, Scenario
from lab.spec.workload import Closed
from lab.system.launch import promised_limits
from lab.telemetry import actuator

pytestmark = [pytest.mark.java]

SCENARIO = Scenario(
    name="operations",
    question="",
    requests=(
        Request("unauthenticated account", "/api/account"),
        Request("authenticate", "/api/authenticate", "POST"),
        Request("account", "/api/account"),
        Request("all operations", "/api/operations"),
        Request("create operation", "/api/operations", "POST"),
        Request("get operation", "/api/operations/KEY"),
        Request("delete operation", "/api/operations/KEY", "DELETE"),
    ),
    contract=CONTRACT,
    parameters=(),
    variants=VARIANTS,
    load=Closed(users=1, ramp_s=0.0, duration_s=1.0),
    rehearsal=Rehearsal(requests=1, rounds=1),
    sweep={},
    components=COMPONENTS,
    signs_tokens=True,
)

# How often the contract has each database asked, by command.
# All requests of the contract but two, which have heads that are too large and reach no service.
WITHIN_SPRING = 66
# Those of methods that no controller has, which the first generation with Micrometer does not count.
UNCOUNTED = {name: len(SCENARIO.requests) for name in ("boot-1.5", "boot-1.5-mongo")}
ASKED = {"mysql": {"mysql insert": 3, "mysql update": 0}, "mongo": {"mongo insert": 3, "mongo update": 0}}


def proved(testbed, name: str, folder: Path) -> None:
    """Assert that a variant meets the contract as those before it, asks its database as often, and keeps its limits."""
    variant = testbed.plan.scenario.variant(name)
    (database,) = variant.calls
    with testbed.runtime.started(testbed.launch(variant, folder)) as process:
        service, before = actuator.await_ready(process, folder), testbed.backing.queries()
        answers = equivalence.prove(service, testbed.backing.contract)
        equivalence.check_equal(testbed.proved, name, answers)
        after, limits = testbed.backing.queries(), actuator.limits(service)
        served = actuator.requests_served(service, WITHIN_SPRING - UNCOUNTED.get(name, 0))
    assert {counted: after[counted] - before[counted] for counted in ASKED[database]} == ASKED[database]
    promised = promised_limits(variant, testbed.plan.limits_of(name), testbed.cores.cpus, has_pool=True)
    assert verdict.broken_limits(promised, limits) == []
    assert served == WITHIN_SPRING - UNCOUNTED.get(name, 0)


@contextmanager
def started(variants: Sequence[str], folder: Path):
    """What the cells of a run of these variants share."""
    plan = planning.make_plan(SCENARIO, Options(users=[1], heap_mb=256, variants=variants))
    with set_up(plan, Invocation(["test"], folder, Reporter(quiet=True)), 1) as testbed:
        yield testbed


@pytest.fixture(scope="module")
def testbed(tmp_path_factory):
    """What the cells of a run of all variants share."""
    with started([], tmp_path_factory.mktemp("runs")) as testbed:
        yield testbed


def test_the_first_variant_meets_the_contract(tmp_path):
    """Of the databases only the one that it calls is started."""
    with started(["mvc"], tmp_path) as testbed:
        assert set(testbed.backing.databases) == {"mysql"}
        proved(testbed, "mvc", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [variant.name for variant in VARIANTS])
def test_a_variant_answers_as_the_others_do(testbed, name, tmp_path):
    """Stacks, styles and generations alike."""
    proved(testbed, name, tmp_path)
