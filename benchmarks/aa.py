"""Does the comparison keep its word on this machine? ``python benchmarks/aa.py [--cells 40] [--users 50] [--json]``.

Measures one service again and again, in turns with the same service made 5 % slower. A/A: the cells of the first are
split at random a thousand times into five against five, of which at most 5 % may be called different. A/B: as many
repeats of each as the lab recommends for 5 % at the noise seen are drawn a thousand times, of which at least 90 % must
be called different. Forty cells a side take about 20 minutes.

``python benchmarks/aa.py --scenario jwt [--starts 12] [--drawn 6]`` does it where the CPU decides, in turns: see
aa_in_turns.py. Of 20 comparisons of some of the starts at most one of the service with its copy may be called
different, and at least 18 with the copy that has 5 % more to do. Twelve starts take about 40 minutes; six of two
services, which is one comparison, about 12.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import NoReturn

import aa_in_turns
import numpy as np

import lab
from lab.formulas import inference

SPLITS, AGAINST = 1000, 5
SLOWER = 1.05
MOST_FALSE, LEAST_FOUND = 0.05, 0.90
METRICS = ("ok_throughput_rps", "mean_s", "p50_s", "p99_s")


def main() -> None:
    """Measure, analyse, and end with 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=40, help="of each service, at least ten")
    parser.add_argument("--users", type=int, default=50)
    parser.add_argument("--delay-ms", type=int, default=100)
    parser.add_argument("--duration", type=float, help="seconds of each cell; 5, in turns 20")
    parser.add_argument("--variant", default="mvc-virtual")
    parser.add_argument("--scenario", default="delay", help="any other is measured in turns, without --cells")
    parser.add_argument("--starts", type=int, default=12, help="of the services, in turns")
    parser.add_argument("--drawn", type=int, default=6, help="starts of each comparison")
    parser.add_argument("--comparisons", type=int, default=20, help="in turns")
    parser.add_argument("--run", default="", help="path of a run of this benchmark in turns, to draw from again")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    if options.scenario != "delay" or options.run:
        in_turns(options)
    options.duration = options.duration or 5.0
    if options.cells < 2 * AGAINST:
        parser.error(f"--cells must be at least {2 * AGAINST}")
    a, b = measured(options)
    result = {**same(a), **slower(a, b), "cells": options.cells}
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        print(
            f"A/A: {result['called_different']:.1%} of {SPLITS} splits called different (at most 5 %)\n"
            f"A/B: noise {result['noise_cv']:.2%}, {result['repeats']} repeats recommended for {SLOWER - 1:.0%}; "
            f"found in {result['found']:.1%} of {SPLITS} draws (at least 90 %)"
        )
    sys.exit(result["called_different"] > 0.05 or result["found"] < 0.90)


def in_turns(options: argparse.Namespace) -> NoReturn:
    """The same where variants take turns in windows."""
    options.duration = options.duration or 20.0
    result = aa_in_turns.result(options)
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        reach = f"± {result['median_reach']:.1%}" if result["median_reach"] is not None else "unknown"
        print(
            f"{result['run']}: {result['comparisons']} comparisons of {result['drawn']} of {result['starts']} starts\n"
            f"A/A: {result['called_different']} called different (at most {MOST_FALSE:.0%})\n"
            f"A/B: {result['found']} found (at least {LEAST_FOUND:.0%})\n"
            f"95 % interval of the throughput ratio: {reach}"
        )
    many, few = result["called_different"], result["found"]
    sys.exit(many > MOST_FALSE * result["comparisons"] or few < LEAST_FOUND * result["comparisons"])


def measured(options: argparse.Namespace) -> tuple[np.ndarray, np.ndarray]:
    """The metrics of every cell of both services, which take turns; two arrays of shape (cells, metrics)."""
    sides: tuple[list[list[float]], list[list[float]]] = ([], [])
    for number in range(options.cells):
        for side, delay_ms in zip(sides, (options.delay_ms, round(options.delay_ms * SLOWER)), strict=True):
            run = lab.run(
                "delay",
                users=options.users,
                variants=[options.variant],
                duration=options.duration,
                seed=number,
                delay_ms=delay_ms,
                quiet=True,
            )
            cell = run.cells[0]
            print(f"{run.name}: {delay_ms} ms, mean {cell['mean_s']:.4f} s, {cell['verdict']}", file=sys.stderr)
            if cell["verdict"] == "invalid":
                sys.exit(f"{run.name} is invalid: {' '.join(cell['reasons'])}")
            side.append([cell[metric] for metric in METRICS])
    return np.array(sides[0]), np.array(sides[1])


def same(a: np.ndarray) -> dict[str, float]:
    """How often five cells against five others of one service are called different, in any metric."""
    chance = np.random.default_rng(1)
    different = 0
    for _ in range(SPLITS):
        drawn = np.sort(chance.permutation(len(a))[: 2 * AGAINST]).reshape(AGAINST, 2)
        sides = chance.permuted(drawn, axis=1)
        different += any_differs(a[sides[:, 0]], a[sides[:, 1]])
    return {"called_different": different / SPLITS}


def slower(a: np.ndarray, b: np.ndarray) -> dict[str, float]:
    """How often the slower service is found with the repeats that are recommended; pairs stay pairs."""
    noise_cv = float(np.log(a[:, METRICS.index("mean_s")]).std(ddof=1))
    repeats = inference.repeats_needed(noise_cv, SLOWER, comparisons=len(METRICS))
    if repeats > len(a):
        sys.exit(f"The noise of {noise_cv:.1%} asks for {repeats} repeats: measure more --cells.")
    chance = np.random.default_rng(2)
    found = 0
    for _ in range(SPLITS):
        drawn = chance.permutation(len(a))[:repeats]
        found += any_differs(a[drawn], b[drawn])
    return {"noise_cv": noise_cv, "repeats": repeats, "found": found / SPLITS}


def any_differs(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether the lab calls two sides different in any metric, after Holm's correction."""
    ratios = [inference.paired_ratio(x, y) for x, y in zip(a.T, b.T, strict=True)]
    return min(inference.holm([ratio.p for ratio in ratios if ratio and ratio.p is not None])) < inference.LEVEL


if __name__ == "__main__":
    main()
