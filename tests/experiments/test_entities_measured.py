"""Ways to MongoDB, measured: each operation is the commands that are due, and leaves the entities as they were."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from dataclasses import replace

import pytest
from machines import HERE
from patience import assert_measured

from lab.experiments import scenarios
from lab.experiments.mongo_access.scenario import ENTITIES
from lab.reporting import run_view
from lab.running import conductor
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.system.databases import mongo, restoring
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("cold")]

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


@pytest.fixture
def few_entities(cold, monkeypatch):
    """A tenth of the entities of ``mongo-access``, as seeding them, and seeing to them after a load, takes longest.

    Twenty users work on the first sixty of them, at most.
    """
    scenario = scenarios()["mongo-access"]
    (component,) = scenario.components
    few = replace(component, entities=replace(ENTITIES, count=ENTITIES.count // 10))
    monkeypatch.setitem(scenarios(), scenario.name, replace(scenario, components=(few,)))


# Every way to MongoDB does one of them; contracts ask all of each.
OTHER_OPERATIONS = [
    ("add-one", "mvc-driver"),
    ("get-one", "mvc-virtual-template"),
    ("remove-one", "webflux-driver"),
    ("add-many", "webflux-template"),
    ("get-many", "mvc-repository"),
    ("update-many", "mvc-virtual-repository"),
    ("get-by-query", "mvc-template"),
    ("update-one", "mvc-virtual-driver"),
]


@pytest.mark.parametrize(
    ("runs_in", "operation", "variant"),
    [
        ("process", "update-one", "webflux-repository"),
        *(pytest.param("process", *each, marks=pytest.mark.thorough) for each in OTHER_OPERATIONS),
        pytest.param("docker", "update-one", "webflux-repository", marks=[pytest.mark.thorough, pytest.mark.docker]),
    ],
    indirect=["runs_in"],
)
@pytest.mark.usefixtures("few_entities")
def test_each_way_to_mongodb_executes_its_commands_and_no_other(runs_in, operation, variant, measured):
    """All variants answer alike; a repository finds what it updates, and everything else is one command."""
    parameters = {"operation": operation} | ({"elements": 3} if operation.endswith("many") else {})
    run = measured("mongo-access", runs_in, variant, users=[20], loops=2, parameters=parameters)
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
        (row,) = run_view.Run(testbed.run).cells
        if ending == "complete":
            assert_measured(row)
        else:
            assert row["verdict"] == "invalid"
        assert restoring.restore(database, ENTITIES) == 0


@pytest.mark.parametrize(
    ("runs_in", "way", "batch", "variant"),
    [
        ("process", "streamed", "1000", "webflux-template"),
        pytest.param("process", "collected", "default", "webflux-repository", marks=pytest.mark.thorough),
        pytest.param("process", "paged", "1000", "mvc-template", marks=pytest.mark.thorough),
        pytest.param("process", "paged", "100", "webflux-repository", marks=pytest.mark.thorough),
    ],
    indirect=["runs_in"],
)
def test_a_set_batch_decides_how_often_the_database_is_asked_for_more(runs_in, way, batch, variant, measured):
    """All variants answer alike, and all entities come; with the driver's own batches the number is shown."""
    parameters = {"operation": "get-all", "way": way, "batch_size": batch}
    run = measured("large-data", runs_in, variant, users=[1], loops=3, parameters=parameters)
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
def test_a_thousand_entities_come_in_as_many_commands_as_are_due(variant, way, batch, finds, more, measured):
    """In batches, or in a full page and an empty one."""
    parameters = {"operation": "query-1k", "way": way, "batch_size": batch}
    run = measured("large-data", "process", variant, users=[1], loops=3, parameters=parameters)
    (cell,) = run.folder.cells()
    calls, (least, most) = cell.read("evidence")["calls"], more
    assert set(cell.measured()["error"]) == {""}
    assert calls["mongo find"] == 3 * finds
    assert 3 * least <= calls["mongo getMore"] <= 3 * most


@pytest.mark.thorough
@pytest.mark.parametrize("variant", ["mvc-driver", "webflux-repository"])
def test_a_thousand_entities_are_updated_by_one_command_or_one_by_one(variant, measured):
    """A repository saves each of those that it has found."""
    run = measured("large-data", "process", variant, users=[1], loops=2, parameters={"operation": "update-many-1k"})
    (cell,) = run.folder.cells()
    one_by_one = variant.endswith("repository")
    assert set(cell.measured()["error"]) == {""}
    found = counted(cell)
    assert (found.get("find", 0), found["update"]) == (2 * one_by_one, 2 * (1000 if one_by_one else 1))
