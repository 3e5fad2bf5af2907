"""The experiments, one file each. A new one is a new file here, named in :data:`SCENARIOS`."""

from __future__ import annotations

from lab.scenario import Scenario
from lab.scenarios.delay import DELAY
from lab.scenarios.document import DOCUMENT
from lab.scenarios.jwt import JWT

SCENARIOS: dict[str, Scenario] = {scenario.name: scenario for scenario in (DELAY, DOCUMENT, JWT)}
