"""Reads plans of format 1, whose run.json names its scenario instead of holding it.

``format_1.json`` holds the scenarios as they were defined when the format ended. Nobody changes it: those runs measured
what it says.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DEFINITIONS = Path(__file__).with_suffix(".json")
# The scenario of services that the lab did not start: its variants are the endpoints.
ATTACHED = "load"


class UnknownScenarioError(Exception):
    """A plan names a scenario that there never was."""


def upgraded(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of format 1 in the form of format 2; UnknownScenarioError, KeyError or TypeError where it is damaged."""
    name, known = plan["scenario"], json.loads(DEFINITIONS.read_text())
    if name not in known:
        raise UnknownScenarioError(repr(name))
    scenario = known[name]
    if name == ATTACHED:
        urls = dict(plan.get("urls", {}))
        scenario["variants"] = [{"name": label, "module": "", "title": url} for label, url in urls.items()]
    return {**plan, "scenario": scenario}
