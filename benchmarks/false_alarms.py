"""Are good runs called good? ``python benchmarks/false_alarms.py [--cells 20] [--scenario NAME] [--data FOLDER]``.

Measures so many short cells each of ``delay``, ``document`` and ``jwt`` in which nothing is wrong, on a quiet machine,
and prints each verdict with its reasons. Ends with status 1 if more than one in twenty of a scenario is not valid.
It prints too what a request costs the generator by variant, which should differ by no more than docs/BIAS.md explains.
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


def generator_cost(cells: list[dict[str, Any]]) -> str:
    """What a request of a closed loop costs the workers, by variant, as a sentence; empty if it is not known of two."""
    found: dict[str, list[float]] = {}
    for cell in cells:
        if cell["load"] == "closed" and cell["generator_cpu_s_per_1000_requests"]:
            found.setdefault(cell["variant"], []).append(1000 * cell["generator_cpu_s_per_1000_requests"])
    means = {variant: statistics.mean(values) for variant, values in found.items()}
    if len(means) < 2:
        return ""
    costs = ", ".join(f"{us:.0f} µs from {variant}" for variant, us in means.items())
    return f"a request took the workers {costs}: {max(means.values()) / min(means.values()) - 1:.0%} apart"


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
    if options.json:
        print(json.dumps({"false_alarms": alarms, "cells": cells}, indent=2))
    else:
        for scenario, count in alarms.items():
            counted = f"{scenario}: {count} false alarms in {len(cells[scenario])} cells"
            print("; ".join(filter(None, (counted, generator_cost(cells[scenario])))))
    sys.exit(any(count > MOST_FALSE * len(cells[scenario]) for scenario, count in alarms.items()))


if __name__ == "__main__":
    main()
