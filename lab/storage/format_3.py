"""Reads plans of format 3, in which a parameter needed another one at any value but its default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def upgraded(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of format 3 in the form of format 4; KeyError, TypeError or AttributeError where it is damaged."""
    scenario = plan["scenario"]
    return {**plan, "scenario": {**scenario, "parameters": [_parameter(each) for each in scenario["parameters"]]}}


def _parameter(parameter: Mapping[str, Any]) -> dict[str, Any]:
    needed = parameter.get("needs", "")
    return {**parameter, "needs": {needed: []} if needed else {}}
