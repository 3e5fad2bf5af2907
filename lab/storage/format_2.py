"""Reads plans of format 2, which holds the addresses of attached services beside the scenario, not in its variants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def upgraded(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of format 2 in the form of format 3; KeyError, TypeError or AttributeError where it is damaged."""
    urls, scenario = dict(plan.get("urls", {})), plan["scenario"]
    variants = [{**variant, "url": urls.get(variant["name"], "")} for variant in scenario["variants"]]
    upgraded = {**plan, "scenario": {**scenario, "variants": variants}}
    upgraded.pop("urls", None)
    return upgraded
