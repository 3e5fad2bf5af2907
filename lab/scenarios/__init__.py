"""The experiments, one file each. A new one is a new file here, named in :data:`SCENARIOS`."""

from __future__ import annotations

from dataclasses import replace

from lab.scenario import Plan, Scenario
from lab.scenarios.delay import DELAY
from lab.scenarios.document import DOCUMENT
from lab.scenarios.jwt import JWT
from lab.scenarios.load import LOAD, variants

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (DELAY, DOCUMENT, JWT)}


def of(plan: Plan) -> Scenario:
    """The scenario that a plan measures; KeyError if this lab does not know it."""
    if plan.scenario == LOAD.name:
        return replace(LOAD, variants=variants(plan.urls))
    return SCENARIOS[plan.scenario]
