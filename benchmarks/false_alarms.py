"""Are good runs called good? ``python benchmarks/false_alarms.py [--cells 20] [--scenario NAME] [--data FOLDER]``.

Measures so many short cells each of ``delay``, ``document`` and ``jwt`` in which nothing is wrong, on a quiet machine,
and prints each verdict with its reasons, and what a request costs the generator by variant. Ends with status 1 if more
than one in twenty of a scenario is not valid, or if a document costs the generator over 20 % more from one variant than
from another (docs/BIAS.md, "writes").
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import goals

import lab
from lab.analysis.verdict import VALID

VARIANTS = ("mvc", "mvc-virtual", "webflux")
# A closed loop, long enough for all reasons, and not only for its first seconds, in which a queue forms.
LOOP = {"duration": 30.0}
MOST_FALSE = 0.05
# By how much a request of the costliest variant may exceed that of the cheapest, in CPU time of the generator.
MOST_APART = {"document": 0.20}


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


def main() -> int:
    """Measure the cells, print the verdicts, and fail if a goal is missed."""
    parser = goals.parser(__doc__)
    parser.add_argument("--cells", type=int, default=20, help="of each scenario, or a few more")
    parser.add_argument("--scenario", action="append", choices=list(LOADS), help="all if none is named")
    parser.add_argument("--data", help="the folder in which the runs are kept, to look into; nowhere if left out")
    options = parser.parse_args()
    scenarios = options.scenario or list(LOADS)

    def measured() -> dict[str, Any]:
        with nullcontext(options.data) if options.data else tempfile.TemporaryDirectory() as data:
            return summary({scenario: measure(scenario, options.cells, data) for scenario in scenarios})

    return goals.concluded(measured, as_table, options.json)


def measure(scenario: str, count: int, data: str) -> list[dict[str, Any]]:
    """At least so many cells; prints the verdict of each."""
    cells: list[dict[str, Any]] = []
    number = 0
    while len(cells) < count:
        for cell in clean_cells(scenario, number, data):
            cells.append(cell)
            what = f"{number + 1:3} {scenario:9} {cell['variant']:12} {cell['load']:7} {cell['verdict']}"
            print(what, *cell["reasons"], file=sys.stderr, flush=True)
        number += 1
    return cells


def summary(cells: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    """The false alarms of each scenario, what a request costs the generator, and the goals that are missed."""
    alarms = {scenario: sum(cell["verdict"] != VALID for cell in mine) for scenario, mine in cells.items()}
    costs = {scenario: generator_cost_us(mine) for scenario, mine in cells.items()}
    missed = [
        f"{scenario}: {count} false alarms are more than {MOST_FALSE:.0%} of {len(cells[scenario])} cells."
        for scenario, count in alarms.items()
        if count > MOST_FALSE * len(cells[scenario])
    ] + [
        f"{scenario}: costs that are {apart(costs[scenario]):.1%} apart are more than {most:.0%}."
        for scenario, most in MOST_APART.items()
        if scenario in costs and apart(costs[scenario]) > most
    ]
    return {"false_alarms": alarms, "generator_cost_us": costs, "missed": missed, "cells": cells}


def as_table(result: dict[str, Any]) -> str:
    """Two lines a scenario, and the goals that are missed."""
    lines = []
    for scenario, count in result["false_alarms"].items():
        lines.append(f"{scenario}: {count} false alarms in {len(result['cells'][scenario])} cells")
        costs = result["generator_cost_us"][scenario]
        if len(costs) > 1:
            each = ", ".join(f"{us:.0f} µs from {variant}" for variant, us in costs.items())
            lines.append(f"{scenario}: a request took the workers {each}: {apart(costs):.0%} apart")
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
