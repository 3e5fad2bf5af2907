"""The rows of a timeline: answers, throughput, CPU, garbage collection and pool over the same seconds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from lab.reporting.figures.panel import MOST_POINTS, Panel, step_of
from lab.reporting.figures.style import INK, few_ticks, say_empty

# What stands for waiting on a pool, by the libraries that state it; a service has at most one of them.
POOL_WAIT = ("hikaricp_connections_pending", "r2dbc_pool_pending", "mongodb_driver_pool_waitqueuesize")
GC_PAUSES = "jvm_gc_pause_seconds_sum"


@dataclass(frozen=True)
class Strip:
    """One row of a timeline.

    Attributes:
        label: of its y axis, with the unit.
        draw: puts a panel's curve into the row.
        has_something: whether a panel has anything to draw here.
        shared: whether all columns have the same scale.
        always: whether the row stays if no panel has anything for it.

    """

    label: str
    height_in: float
    draw: Callable[[Axes, Panel], None]
    has_something: Callable[[Panel], bool]
    shared: bool = True
    always: bool = False
    is_cpu: bool = False

    def top(self, most: float, cores: int | None) -> float:
        """Where the common scale ends: above everything drawn, and for CPU above all cores and a legend."""
        return 1.35 * max(most, float(cores or 1)) if self.is_cpu else most


def _latency(axes: Axes, panel: Panel) -> None:
    ended, latency, right = panel.ended_s, panel.latency_s, panel.right
    every = max(1, len(latency) // MOST_POINTS)
    dots: dict[str, Any] = {"linestyle": "none", "rasterized": True}
    axes.plot(
        ended[right][::every], latency[right][::every], marker=".", markersize=3, color=panel.style.colour,
        **dots,
    )  # fmt: skip
    axes.plot(ended[~right], latency[~right], marker="x", markersize=4.5, color=INK, **dots)
    if not right.all():
        axes.lines[-1].set_label("failed")
    axes.set_ylim(0, 1.18 * float(latency.max()) if len(latency) else 1.0)


def _under_way(axes: Axes, panel: Panel) -> None:
    at, count = panel.under_way()
    axes.fill_between(at, count, color=panel.style.colour, alpha=0.25, linewidth=0)
    axes.plot(at, count, color=panel.style.colour, linewidth=1.1)
    few_ticks(axes)


def _rate(axes: Axes, panel: Panel) -> None:
    step_s = step_of(panel.end_s)
    edges, rate = panel.rate(step_s)
    _steps(axes, panel, np.append(edges, edges[-1] + step_s), rate)


def _cpu(axes: Axes, panel: Panel) -> None:
    for number, worker in enumerate(panel.workers):
        edges, cores = panel.growth(worker, "cpu_s")
        if len(cores):
            axes.stairs(cores, edges, baseline=None, color=INK, linestyle=(0, (2, 1.2)), linewidth=1.2,
                        label="" if number else "Locust worker")  # fmt: skip
    _steps(axes, panel, *panel.growth("service", "cpu_s"), label="service")


def _gc(axes: Axes, panel: Panel) -> None:
    edges, share = panel.growth("service", GC_PAUSES)
    _steps(axes, panel, edges, 1000 * share)
    axes.set_ylim(top=max(10.0, axes.get_ylim()[1]))


def _pool_wait(axes: Axes, panel: Panel) -> None:
    at, waiting = panel.readings("service", POOL_WAIT)
    _steps(axes, panel, at, waiting[:-1])


def _steps(axes: Axes, panel: Panel, edges: np.ndarray, values: np.ndarray, label: str = "") -> None:
    """Values that hold from one edge to the next, n of them between n+1 edges."""
    if not len(values):
        say_empty(axes, "no reading")
        return
    colour = panel.style.colour
    axes.stairs(values, edges, color=colour, fill=True, alpha=0.25)
    axes.stairs(values, edges, color=colour, linewidth=1.2, label=label)
    axes.set_ylim(0, 1.15 * max(float(values.max()), axes.dataLim.y1) or 1.0)
    few_ticks(axes)


def _is_read(name: str) -> Callable[[Panel], bool]:
    return lambda panel: len(panel.growth("service", name)[1]) > 0


def _is_measured(panel: Panel) -> bool:
    return not panel.samples.empty


def _waits_for_a_pool(panel: Panel) -> bool:
    return len(panel.readings("service", POOL_WAIT)[0]) > 1


STRIPS = (
    Strip("latency of each\nanswer, s", 2.0, _latency, _is_measured, shared=False, always=True),
    Strip("requests\nunder way", 0.9, _under_way, _is_measured),
    Strip("right\nanswers/s", 0.9, _rate, _is_measured, shared=False),
    Strip("CPU, cores", 0.9, _cpu, _is_read("cpu_s"), is_cpu=True),
    Strip("GC pauses,\nms/s", 0.9, _gc, _is_read(GC_PAUSES)),
    Strip("waiting for\na connection", 0.95, _pool_wait, _waits_for_a_pool),
)
