"""The experiments, one file each. A new one is a new file here, named in :data:`SCENARIOS`."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.delay.scenario import DELAY
from lab.experiments.document.scenario import DOCUMENT
from lab.experiments.jwt.scenario import JWT
from lab.spec.attached import LOAD, variants
from lab.spec.scenario import Plan, Scenario

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (DELAY, DOCUMENT, JWT)}


def of(plan: Plan) -> Scenario:
    """The scenario that a plan measures; KeyError if this lab does not know it."""
    if plan.scenario == LOAD.name:
        return replace(LOAD, variants=variants(plan.urls))
    return SCENARIOS[plan.scenario]
