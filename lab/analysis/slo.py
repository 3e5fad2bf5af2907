"""Service level objectives such as ``p99<200ms``: parsed, and checked against summaries."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from lab.analysis import verdict
from lab.errors import LabError
from lab.formulas.stats import FEWEST_FOR_P999

FORM = re.compile(r"\s*([a-z0-9.]+)\s*(<=|>=|<|>)\s*(\d+(?:\.\d+)?)\s*(ms|s|%|req/s)?\s*")
RELATIONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
LATENCIES = {"mean": "mean_s", "p50": "p50_s", "p90": "p90_s", "p99": "p99_s", "p99.9": "p999_s", "max": "max_s"}
# How many right answers it takes to tell a percentile from the maximum; without as many a summary has no p99.9.
FEWEST = {"p90": 10, "p99": 100, "p99.9": FEWEST_FOR_P999}
UNITS = {
    **{name: {"ms": 1e-3, "s": 1.0} for name in LATENCIES},
    "errors": {"%": 1e-2, "": 1.0},
    "throughput": {"req/s": 1.0, "": 1.0},
}


@dataclass(frozen=True)
class Objective:
    """One service level objective.

    Attributes:
        text: as it was typed.
        metric: ``mean``, ``p50``, ``p90``, ``p99``, ``p99.9``, ``max``, ``errors`` or ``throughput``, of right answers.
        relation: ``<``, ``<=``, ``>`` or ``>=``.
        limit: in seconds, requests a second, a share where ``of_all``, else a count.
        of_all: whether the limit of errors is a share of all requests.

    """

    text: str
    metric: str
    relation: str
    limit: float
    of_all: bool = False


def parse(text: str) -> Objective:
    """Parse an objective; LabError if it is none."""
    found = FORM.fullmatch(text)
    if not found or found[1] not in UNITS:
        raise LabError(
            f"{text!r} is no objective.", f"Write it like 'p99<200ms' or 'errors<0.1%'; there is: {', '.join(UNITS)}."
        )
    metric, relation, number, unit = found[1], found[2], float(found[3]), found[4] or ""
    if not isfinite(number):
        raise LabError(f"An objective of {metric} is too large.", "Write a number with fewer digits.")
    if unit not in UNITS[metric]:
        units = " or ".join(unit or "none" for unit in UNITS[metric])
        raise LabError(f"{text!r} has {f'the unit {unit}' if unit else 'no unit'}.", f"That of {metric} is {units}.")
    return Objective(text.strip(), metric, relation, number * UNITS[metric][unit], of_all=unit == "%")


def shortfalls(objectives: Sequence[Objective], name: str, summary: Mapping[str, Any]) -> list[str]:
    """The objectives that a cell does not meet, one sentence each; one that cannot be checked is not met.

    An invalid cell meets none: its figures are not those of the service.

    Args:
        name: the cell's name for the sentences.
        summary: the known fields of its :class:`lab.formulas.stats.Summary`, and its verdict; empty for a cell that was
            not measured to its end.

    """
    if not summary:
        return [f"{name} was not measured to its end, so that {each.text} is not met." for each in objectives]
    if summary.get("verdict") == verdict.INVALID:
        return [f"{name} is invalid, so that {objective.text} is not met." for objective in objectives]
    sentences = []
    for objective in objectives:
        value = _value(objective, summary)
        if not summary.get("requests"):
            sentences.append(f"{name} has no request, so that {objective.text} is not met.")
        elif value is None:
            fewest = FEWEST.get(objective.metric)
            takes = f" (it takes {fewest:,} right answers)" if fewest else ""
            sentences.append(f"{name} has no {objective.metric}{takes}, so that {objective.text} is not met.")
        elif not RELATIONS[objective.relation](value, objective.limit):
            sentences.append(f"{name} does not meet {objective.text}: it is {_written(objective, value)}.")
    return sentences


def _value(objective: Objective, summary: Mapping[str, Any]) -> float | None:
    if not summary.get("requests"):
        return None
    if objective.metric == "errors":
        failed = sum(summary.get("errors", {}).values())
        return failed / summary["requests"] if objective.of_all else float(failed)
    right = summary["requests"] - sum(summary.get("errors", {}).values())
    if objective.metric in ("p90", "p99") and right < FEWEST[objective.metric]:
        return None
    return summary.get(LATENCIES.get(objective.metric, "ok_throughput_rps"))


def _written(objective: Objective, value: float) -> str:
    if objective.metric == "errors":
        return f"{value:.3%}" if objective.of_all else f"{value:,.0f}"
    if objective.metric == "throughput":
        return f"{value:,.1f} req/s"
    return f"{value * 1000:,.1f} ms" if value < 1 else f"{value:,.3f} s"
