"""The formulas as curves: how long R requests take in all, and how long each of them waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lab.formulas import laws, queueing
from lab.reporting.figures.style import (
    INK,
    KNOWN,
    MODEL,
    SMALL,
    SOFT_INK,
    Picture,
    legend,
    picture,
    plain_log_scale,
    prepare,
    say_empty,
    styles_of,
    thousands,
)
from lab.spec import schedule
from lab.spec.workload import Burst

POINTS = 400
HELD, FREE = KNOWN["mvc"], KNOWN["webflux"]


@dataclass(frozen=True)
class Trial:
    """A formula that was tried on one cell: what it says, and what was measured, in seconds.

    Attributes:
        formula: the formula as people write it.
        label: of the cell, where it is named in the figure.

    """

    formula: str
    label: str
    predicted_s: float
    measured_s: float


def trials_figure(trials: Sequence[Trial], within: float) -> Picture:
    """Measured over predicted, every cell a point; those that are further off than ``within`` have their label."""
    figure = picture("Measured over predicted time for R requests at once", 5.2)
    axes = figure.subplots()
    prepare(axes, "", f"seconds that the formula says; band: ±{100 * within:g} %", "measured over predicted")
    if not trials:
        say_empty(axes, "nothing was measured")
        return figure
    axes.axhspan(1 - within, 1 + within, color="#EEEEEE", zorder=0)
    axes.axhline(1, color=INK, linewidth=0.8)
    for formula, style in styles_of(trial.formula for trial in trials).items():
        mine = [trial for trial in trials if trial.formula == formula]
        x, y = [t.predicted_s for t in mine], [t.measured_s / t.predicted_s for t in mine]
        axes.plot(x, y, style.marker, color=style.colour, label=formula, alpha=0.85)
    for trial in trials:
        ratio = trial.measured_s / trial.predicted_s
        if abs(ratio - 1) > within:
            at = (trial.predicted_s, ratio)
            axes.annotate(trial.label, at, (5, 4), textcoords="offset points", fontsize=SMALL - 1, color=SOFT_INK)
    plain_log_scale(axes, "x")
    axes.margins(x=0.12)
    legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure


def totals_figure(
    users: int = 1000, service_s: float = 2.0, threads: int = 200, connections: int | None = 400, calls: int = 1
) -> Picture:
    """The time for R requests at once by the documents' formulas, and what they say of throughput.

    Args:
        users: R, the most that is drawn.
        service_s: t, how long one call takes.
        threads: T, of which a synchronous request holds one.
        connections: N to the database; None for any number.
        calls: x calls in each request.

    """
    requests = np.unique(np.linspace(1, users, min(users, POINTS)).astype(int))
    synchronous = np.array([laws.total_synchronous(r, service_s, threads, connections, calls) for r in requests])
    reactive = np.array([laws.total_reactive(r, service_s, connections, calls) for r in requests])
    limits = f"T = {threads}, N = {connections or 'any'}, x = {calls}, t = {service_s:g} s"
    figure = picture(f"What the formulas say: {limits}", 3.8)
    total, rate = figure.subplots(1, 2)
    prepare(total, "time until all are answered", "requests at once (R)", "seconds")
    prepare(rate, "throughput: R over that time", "requests at once (R)", "requests a second")
    for seconds, style, label in (
        (synchronous, HELD, "synchronous: ⌈R / min(N, T)⌉·t·x"),
        (reactive, FREE, "reactive: ⌈R·x / N⌉·t" if connections else "reactive: t"),
    ):
        total.step(requests, seconds, where="post", color=style.colour, linestyle=style.dashes, label=label)
        rate.plot(requests, requests / seconds, color=style.colour, linestyle=style.dashes, label=label)
    for axes in (total, rate):
        axes.set_xlim(0, users)
        axes.set_ylim(0, 1.3 * axes.dataLim.y1)
        thousands(axes)
        axes.xaxis.set_major_formatter("{x:,.0f}")
    legend(total, loc="upper left")
    return figure


def waves_figure(users: int = 2000, ramp_s: float = 1.0, service_s: float = 2.0, threads: int = 200) -> Picture:
    """The latency of each user of a burst on T threads, in order of arrival: its mean is far from the total."""
    arrivals_s = schedule.planned_s(Burst(users=users, ramp_s=ramp_s), (0,))
    latency = queueing.burst_latencies(arrivals_s, service_s, threads)
    total = laws.total_synchronous(users, service_s, threads)
    figure = picture(f"Waves: {users:,} users over {ramp_s:g} s on {threads} threads, t = {service_s:g} s", 3.8)
    axes = figure.subplots()
    prepare(axes, "", "users in order of arrival", "latency, s")
    axes.plot(np.arange(1, users + 1), latency, ".", color=HELD.colour, markersize=3, label="each user's latency")
    axes.axhline(latency.mean(), **MODEL, label=f"their mean: {latency.mean():.3f} s")
    axes.axhline(total, color=SOFT_INK, linestyle=":", linewidth=1.4, label=f"⌈R/T⌉·t, until all: {total:.3f} s")
    axes.set_xlim(0, users)
    axes.set_ylim(0, 1.35 * total)
    axes.xaxis.set_major_formatter("{x:,.0f}")
    legend(axes, loc="upper left", ncols=3)
    return figure
