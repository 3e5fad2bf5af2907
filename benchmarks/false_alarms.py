"""Are good runs called good? ``python benchmarks/false_alarms.py [--cells 20] [--scenario NAME] [--data FOLDER]``.

Measures so many short cells each of ``delay``, ``document`` and ``jwt`` in which nothing is wrong, on a quiet machine,
and prints each verdict with its reasons. Ends with status 1 if more than one in twenty of a scenario is not valid.
It prints too what a request costs the generator by variant, and ends with status 1 if that of ``document`` differs by
more than 20 %: docs/BIAS.md says what is known of why it differs.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import lab
from lab.analysis.verdict import VALID

VARIANTS = ("mvc", "mvc-virtual", "webflux")
# A closed loop, long enough for all reasons, and not only for its first seconds, in which a queue forms.
LOOP = {"duration": 30.0}
MOST_FALSE = 0.05
MOST_APART = 0.20


def delay(number: int) -> dict[str, Any]:
    """One variant after the other with 400 users, in a closed loop and in a burst by turns."""
    variant = VARIANTS[number // 2 % len(VARIANTS)]
    return {"variants": [variant], "users": 400, "delay_ms": 500, **({"loops": 2} if number % 2 else LOOP)}


def in_turns(number: int) -> dict[str, Any]:
    """50 users, all variants in turns, as ``lab run`` measures what the CPU decides."""
    return {"variants": list(VARIANTS), "users": 50, "duration": 20.0}


LOADS: dict[str, Callable[[int], dict[str, Any]]] = {"delay": delay, "document": in_turns, "jwt": in_turns}


def clean_cells(scenario: str, number: int, data: str) -> list[dict[str, Any]]:
    """The cells of one run in which nothing is wrong."""
    load = LOADS[scenario](number)
    run = lab.run(scenario, data=data, quiet=True, seed=number, **load)
    kind = "burst" if "loops" in load else "closed"
    figures = ("variant", "verdict", "reasons", "generator_cpu_s_per_1000_requests")
    return [{"load": kind, **{key: cell[key] for key in figures}} for cell in run.cells]


def generator_cost_us(cells: list[dict[str, Any]]) -> dict[str, float]:
    """What a request of a closed loop costs the workers, µs of CPU, by variant: the mean of its cells."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        if cell["load"] == "closed" and cell["generator_cpu_s_per_1000_requests"]:
            found.setdefault(cell["variant"], []).append(1000 * cell["generator_cpu_s_per_1000_requests"])
    return {variant: statistics.mean(values) for variant, values in found.items()}


def apart(costs: dict[str, float]) -> float:
    """By how much the highest cost exceeds the lowest, as a share of it; 0 if fewer than two are known."""
    return max(costs.values()) / min(costs.values()) - 1 if len(costs) > 1 else 0.0


def main() -> None:
    """Measure the cells, print the verdicts, and fail if too many of a scenario are false alarms."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=20, help="of each scenario, or a few more")
    parser.add_argument("--scenario", action="append", choices=list(LOADS), help="all if none is named")
    parser.add_argument("--json", action="store_true", help="print one object")
    parser.add_argument("--data", help="the folder in which the runs are kept, to look into; nowhere if left out")
    options = parser.parse_args()
    cells: dict[str, list[dict[str, Any]]] = {}
    with nullcontext(options.data) if options.data else tempfile.TemporaryDirectory() as data:
        for scenario in options.scenario or LOADS:
            cells[scenario] = []
            number = 0
            while len(cells[scenario]) < options.cells:
                for cell in clean_cells(scenario, number, data):
                    cells[scenario].append(cell)
                    if not options.json:
                        what = f"{number + 1:3} {scenario:9} {cell['variant']:12} {cell['load']:7} {cell['verdict']}"
                        print(what, *cell["reasons"], flush=True)
                number += 1
    alarms = {scenario: sum(cell["verdict"] != VALID for cell in mine) for scenario, mine in cells.items()}
    costs = {scenario: generator_cost_us(mine) for scenario, mine in cells.items()}
    missed = [
        f"{scenario}: more than one false alarm in twenty cells."
        for scenario, count in alarms.items()
        if count > MOST_FALSE * len(cells[scenario])
    ]
    if apart(costs.get("document", {})) > MOST_APART:
        missed.append(f"document: what it costs the workers differs by more than {MOST_APART:.0%}.")
    if options.json:
        print(
            json.dumps({"false_alarms": alarms, "generator_cost_us": costs, "missed": missed, "cells": cells}, indent=2)
        )
    else:
        for scenario, count in alarms.items():
            print(f"{scenario}: {count} false alarms in {len(cells[scenario])} cells")
            if len(costs[scenario]) > 1:
                each = ", ".join(f"{us:.0f} µs from {variant}" for variant, us in costs[scenario].items())
                print(f"{scenario}: a request took the workers {each}: {apart(costs[scenario]):.0%} apart")
        for goal in missed:
            print(f"Goal missed: {goal}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
