"""Reads plans of format 2.

A load is of one type there, in which a zero means that something is not so; the addresses of attached services stand
beside the scenario, not in its variants; and a stage calls its ``time_parameter`` by another name. The first runs of
the format hold a scenario without demands, of which only those existed that :mod:`lab.storage.format_1` knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lab.storage import format_1

RENAMED = {"time_ms": "time_parameter"}
# What says of which kind a load is; each is absent where a run is older than it.
SHAPE = ("ramp_s", "loops", "duration_s", "requests", "rate_rps")


def upgraded(plan: Mapping[str, Any]) -> dict[str, Any]:
    """A plan of format 2 in the form of format 3; KeyError, TypeError or AttributeError where it is damaged."""
    if "requests" not in plan["scenario"]:
        plan = format_1.upgraded({**plan, "scenario": plan["scenario"]["name"]})
    scenario, urls = plan["scenario"], dict(plan.get("urls", {}))
    variants = [_variant(variant, urls.get(variant["name"], "")) for variant in scenario["variants"]]
    return {
        **{name: value for name, value in plan.items() if name != "urls"},
        "scenario": {**scenario, "load": _load(scenario["load"]), "variants": variants},
        "cells": [{**cell, "load": _load(cell["load"])} for cell in plan["cells"]],
    }


def _variant(variant: Mapping[str, Any], url: str) -> dict[str, Any]:
    demands = {
        request: [{RENAMED.get(name, name): value for name, value in stage.items()} for stage in stages]
        for request, stages in variant.get("demands", {}).items()
    }
    return {**variant, "demands": demands, "url": url}


def _load(load: Mapping[str, Any]) -> dict[str, Any]:
    """A load of format 2 with its type, and with the fields that this type has; unknown keys stay, to be refused."""
    rest = {name: value for name, value in load.items() if name not in SHAPE}
    if load.get("rate_rps"):
        return {"type": "open", **rest, **_of(load, "duration_s", "rate_rps")}
    if load.get("duration_s"):
        return {"type": "closed", **rest, **_of(load, "ramp_s", "duration_s")}
    if load.get("requests"):
        return {"type": "total", **rest, **_of(load, "ramp_s", "requests")}
    return {"type": "burst", **rest, **_of(load, "ramp_s", "loops")}


def _of(load: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: load[name] for name in names if name in load}
