"""What each variant of a run can do: the most sessions a second of its closed loops, as rates are planned in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean

from lab.analysis import verdict
from lab.errors import LabError
from lab.spec.workload import Closed, Total
from lab.storage import run_folder
from lab.storage.run_folder import RunFolder

GIVEN = re.compile(r"[^=,]+=[^=,]+(,[^=,]+=[^=,]+)*")


def given(text: str | Mapping[str, float] | None, scenario: str, runs: Path) -> Mapping[str, float] | None:
    """The capacity of each variant in sessions a second, as it is asked for; None if it is not.

    A session is a request, unless the scenario's or the locustfile's have several.

    Args:
        text: rates by variant, ``mvc=900,webflux=1200``, or the name of a run that shows them.
        scenario: the name of the scenario to measure; a run has to be of the same one.
        runs: the folder of runs.

    """
    if text is None or isinstance(text, Mapping):
        return text
    if not isinstance(text, str):
        raise LabError(f"--capacity {text!r} is not a rate for each variant.", "Write mvc=900,webflux=1200.")
    if not GIVEN.fullmatch(text):
        run = run_folder.find_run(text, runs)
        if (of := run.plan().scenario.name) != scenario:
            raise LabError(f"Run {run.name} measured {of}, and not {scenario}.", f"Name a run of {scenario}.")
        return of_run(run)
    names, rates = zip(*(part.split("=") for part in text.split(",")), strict=True)
    try:
        rates_rps = {name.strip(): float(rps) for name, rps in zip(names, rates, strict=True)}
    except ValueError:
        raise LabError(f"--capacity {text} is not a number for each variant.", "Write mvc=900,webflux=1200.") from None
    if len(rates_rps) < len(names):
        raise LabError(f"--capacity {text} has two numbers for one variant.", "Write mvc=900,webflux=1200.")
    return rates_rps


def of_run(run: RunFolder) -> dict[str, float]:
    """By variant, the most sessions a second, as the mean over the repeats of its best closed loop.

    Right answers, over the requests of a complete session where that has several. An open loop or a burst shows what
    was asked, not what is possible; a ramp of users shows what few of them ask, too. LabError if the run has no closed
    loop that can be believed, or is damaged.
    """
    rates: dict[str, dict[str, list[float]]] = {}
    plan = run.plan()
    for folder in run.cells():
        folder.check()
        summary = folder.read("summary")
        believed = summary.get("verdict") in verdict.BELIEVED
        requests_a_session = (summary.get("sessions") or {"requests": 1}).get("requests")
        is_steady = isinstance(load := folder.cell.load, Closed | Total) and load.steady_span_s
        if believed and is_steady and requests_a_session:
            at = rates.setdefault(folder.cell.variant, {}).setdefault(plan.at(folder.cell), [])
            at.append(float(summary["ok_throughput_rps"]) / requests_a_session)
    if not rates:
        raise LabError(
            f"Run {run.name} has no closed loop that shows what its variants can do.",
            "Measure one: with --users, enough to keep the service busy, and --duration or --requests.",
        )
    return {variant: max(map(fmean, by_load.values())) for variant, by_load in rates.items()}
