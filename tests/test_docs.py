"""What the documents say of the code is so."""

from __future__ import annotations

import re

import pytest

from lab.analysis import checks, steadiness, verdict
from lab.formulas import trend
from lab.generator import calibration
from lab.generator.calibration import GENERATOR, SERVER, UNKNOWN, Calibration, Ceiling
from lab.runtimes.checkout import ROOT

PAGE = (ROOT / "docs" / "VERDICT.md").read_text()


def percent(share: float) -> str:
    """As documents write it."""
    return f"{share * 100:g} %"


def milliseconds(seconds: float) -> str:
    """As documents write it."""
    return f"{seconds * 1000:g} ms"


@pytest.mark.parametrize(
    ("begins", "values"),
    [
        ("| requests succeeded", [percent(verdict.FAILED_SUSPECT_SHARE)]),
        (
            "| sends are on time",
            [
                *map(percent, (verdict.LATE_SUSPECT_SHARE, verdict.LATE_INVALID_SHARE)),
                *map(milliseconds, (verdict.LATE_SUSPECT_S, verdict.LATE_INVALID_S)),
            ],
        ),
        (
            "| the plan of a closed loop",
            [percent(verdict.LATEST_SHARE), *map(milliseconds, (verdict.PLAN_SUSPECT_S, verdict.PLAN_INVALID_S))],
        ),
        ("| the planned rate", list(map(percent, (verdict.RATE_SUSPECT, verdict.RATE_INVALID)))),
        ("| a worker's CPU", list(map(percent, (verdict.WORKER_CPU_SUSPECT, verdict.WORKER_CPU_INVALID)))),
        ("| the calibrated ceiling", list(map(percent, (checks.CEILING_SUSPECT, checks.CEILING_INVALID)))),
        ("| a worker stalled", [f"{checks.STOOD_STILL_SUSPECT_S} s", f"{checks.STOOD_STILL_INVALID_S:g} s"]),
        ("| over when its last answers", [percent(verdict.OUTLASTED_SUSPECT_SHARE)]),
        ("| Little's law", [percent(verdict.LITTLE_SHARE)]),
        ("| the clock", [milliseconds(checks.CLOCK_STEP_S)]),
        ("| measured long enough", [f"{verdict.MIN_CPU_BOUND_S:.0f} s"]),
        ("| garbage collection", [percent(verdict.GC_SUSPECT_SHARE)]),
        ("| stalls", [f"{checks.STALL_SUSPECT_S} s"]),
        ("Each load is classed", [percent(checks.CHANGE_SUSPECT_SHARE), f"< {trend.MAX_CHANCE}"]),
        (
            "- **While the queue",
            [
                *map(percent, (checks.CHANGE_SUSPECT_SHARE / 2, checks.CHANGE_SUSPECT_SHARE)),
                f"{steadiness.MIN_STEADY_S:.0f} s",
            ],
        ),
        ("- **In turns**", [percent(checks.SHARED_SUSPECT_SHARE), f"≥ {trend.PAIRED_CHANCE}"]),
        ("| other programs", list(map(percent, (checks.TAKEN_SUSPECT_SHARE, checks.FOREIGN_SUSPECT_SHARE)))),
        ("| speed of the cores", list(map(percent, (checks.SLOWED_SUSPECT_SHARE, verdict.LATE_SUSPECT_SHARE)))),
        (
            "| the machine stood still",
            list(map(percent, (checks.PAUSED_SUSPECT_SHARE, checks.PAUSED_SUSPECT_SHARE_IN_TURNS))),
        ),
        ("| the generator's cores", [percent(checks.CROWDED_SUSPECT_SHARE)]),
        ("| variants that were up", [percent(checks.TAKEN_SUSPECT_SHARE)]),
    ],
)
def test_the_page_about_the_verdict_has_the_thresholds_of_the_code(begins, values):
    """Each in the row or the paragraph of its check."""
    (said,) = re.findall(rf"^{re.escape(begins)}.*(?:\n(?![|\n-]).*)*", PAGE, re.MULTILINE)
    assert [value for value in values if value not in re.sub(r"\s+", " ", said)] == []


@pytest.mark.parametrize(
    ("said", "several", "rps"),
    [
        ("- **that rate**, if the reference server was the limit", Ceiling("large", 1000.0, SERVER, 0.5, 0.95), 1000),
        ("- **what one worker sends, times the workers", Ceiling("small", 1000.0, SERVER, 0.5, 0.95, workers=3), 1600),
        ("would be {busy} busy**, by the CPU time", Ceiling("large", 1000.0, UNKNOWN, 0.45, 0.3), 2000),
    ],
)
def test_the_readme_says_which_ceiling_runs_are_judged_by(said, several, rps):
    """Where something else than the generator was the limit of the calibration: three workers have two cores here."""
    page = (ROOT / "README.md").read_text()
    section = page.partition("## How busy may the generator be?")[2].partition("\n## ")[0]
    assert said.format(busy=percent(calibration.BUSY_SHARE)) in section
    one = Ceiling("small", 800.0, GENERATOR, 0.95, 0.5)
    found = Calibration("here", "now", (one, several))
    assert found.ceiling_rps(several.kind, several.workers, 2) == pytest.approx(rps)
