"""In which order the windows of a group are measured."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import pytest

from lab.experiments import find_scenario
from lab.running import turn_taking
from lab.running.progress import Reporter
from lab.spec import in_turns, planning
from lab.spec.machine import Machine
from lab.spec.options import Options

THREE = ["mvc", "mvc-virtual", "webflux"]
# Whose memory is enough for three variants at once, and not for five.
FOR_THREE = Machine(cores=2, memory_mb=6_500)
FIVE = [*THREE, "webflux-jdk21", "mvc-virtual-jdk21"]


@pytest.mark.parametrize(("variants", "batches"), [(THREE, 1), (FIVE, 2)])
def test_starts_of_few_rounds_are_balanced_together_in_each_batch(monkeypatch, variants, batches):
    """Each variant has each place equally often, although a batch has only every second start."""
    options = Options(variants=variants, heap_mb=512, users=[50], duration=2.0, repeat=3, interleave="windows", seed=1)
    plan = planning.make_plan(find_scenario("jwt-ablations"), options, FOR_THREE)
    assert in_turns.batch_count(plan) == batches
    testbed = SimpleNamespace(
        plan=plan,
        reporter=Reporter(quiet=True),
        runtime=None,
        cores=SimpleNamespace(owned={}),
        run=SimpleNamespace(logs=None),
    )
    places: dict[tuple[str, ...], Counter[tuple[str, int]]] = {}
    for group in plan.groups:
        of_batch = places.setdefault(tuple(cell.variant for cell in group), Counter())

        def drive(testbed, measurement, turn, of_batch=of_batch) -> None:
            of_batch[measurement.cell.variant, turn.place] += 1

        monkeypatch.setattr(turn_taking, "drive", drive)
        fleet, deployment = SimpleNamespace(master=None, workers=[]), SimpleNamespace(is_ours=False)
        turn_taking.take_turns(
            testbed, [SimpleNamespace(cell=cell, goes_on=True, fleet=fleet, deployment=deployment) for cell in group]
        )
    assert len(places) == batches
    for of_batch in places.values():
        assert len(of_batch) == 9
        assert set(of_batch.values()) == {2}, of_batch
