"""The figures that show a run, in the order of the report: files in the run's folder, and captions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab.analysis.verdict import INCOMPLETE
from lab.spec.plan import USERS, WINDOWS

if TYPE_CHECKING:
    from lab.reporting.figures import Picture
    from lab.reporting.run_view import Run


SWEEP = (
    "Mean latency and right answers a second. Dashed: what theory says. Crosses: what was published for the same "
    "settings. Hollow: not valid."
)
RAMP = (
    "Right answers a second, beside what was sent; and what the service held for requests that were under way: threads "
    "of the operating system, and memory, in the heap without its nursery and outside of the heap, more than before "
    "the load. A dot is a knee. Faded: not valid."
)
OUTCOMES = (
    "Requests a second by how they ended, where each was to be sent: answered right, by a circuit breaker's substitute "
    "or its refusal, or failed."
)
REPEATS = "Every repeat: how far one lies from the next of the same variant. Hollow: not valid."
IN_TURNS = (
    "Each point is a round: one variant's rate in its window over the other's in the window next to it, adjusted for "
    "the speed of the cores where the CPU decides. Each line is the mean of one start of the services, and the band is "
    "the 95 % interval by the starts. The grey band is 5 % to either side."
)
ALIVE = (
    "How many users were between the first request of a session and its last answer, pauses included; and how many "
    "sessions were stopped early, as what had failed was needed for the rest: what they did not send is missing from "
    "the load."
)
DISTRIBUTION = (
    "How long right answers took, on an axis of percentiles on which 90, 99 and 99.9 are equally far apart; and how "
    "many requests were under way. Faded: not valid. Dashed: the mean that theory says."
)
EXECUTIONS = (
    "How long each execution took, on an axis on which twice as long is equally far everywhere, and what it used. "
    "Crosses: the same with an empty folder, where there is one. Starred: works on something else than the others."
)
TIMELINE = (
    "One column a variant, each with a time axis of its own: every answer, requests under way, right answers a second, "
    "what the service spent meanwhile, and the others: what is behind the service, and the generator. "
    "Grey: all programs on those cores, the lab's own among them, without the interrupts that a line may include. "
    "Dotted: as many cores as there are. Hatched: not valid."
)
ERRORS = "When requests failed, and how."


@dataclass(frozen=True)
class RunFigure:
    """A figure of a run.

    Attributes:
        file: its name in the run's folder.
        caption: what it shows, and how to read it.
        draw: makes the picture.

    """

    file: str
    title: str
    caption: str
    draw: Callable[[], Picture]


def figures_of(run: Run) -> Iterator[RunFigure]:
    """The figures that a run has something to show in."""
    if run.is_sweep:
        varied = "the number of users" if run.plan.axis == USERS else run.plan.axis
        yield RunFigure("sweep.png", f"Over {varied}", SWEEP, run.sweep_figure)
    if run.is_ramp:
        yield RunFigure("ramp.png", "The ramp", RAMP, run.ramp_figure)
    if run.has_outcomes:
        yield RunFigure("outcomes.png", "How requests ended", OUTCOMES, run.outcomes_figure)
    if run.plan.has_repeats:
        yield RunFigure("repeats.png", "The repeats", REPEATS, run.repeats_figure)
    if run.plan.interleave == WINDOWS:
        yield RunFigure("windows.png", "In turns", IN_TURNS, run.windows_figure)
    if any("sessions" in row for row in run.cells):
        yield RunFigure("users.png", "Users alive", ALIVE, run.users_figure)
    if run.scenario.entry == "program":
        yield RunFigure("figure.png", "The executions", EXECUTIONS, run.figure)
    else:
        yield RunFigure("figure.png", "The distribution of latency", DISTRIBUTION, run.figure)
    yield RunFigure("timeline.png", "Over time", TIMELINE, run.timeline)
    if _has_failures(run):
        yield RunFigure("errors.png", "Failed requests", ERRORS, run.errors_figure)


def _has_failures(run: Run) -> bool:
    """Whether any request failed of what figures show; of what was not measured to its end the samples say it."""
    rows = run.first_rows()
    if any(row["errors"] for row in rows):
        return True
    is_cut = any(row["verdict"] == INCOMPLETE and row["requests"] for row in rows)
    return is_cut and any(not panel.right.all() for panel in run.panels())
