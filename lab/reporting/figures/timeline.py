"""The rows of a timeline: answers, throughput, CPU on both sides, memory, garbage collection, pool, over the load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from lab.formulas.units import MIB
from lab.reporting.figures.panel import MOST_POINTS, Curve, Panel, step_of
from lab.reporting.figures.style import INK, SOFT_INK, few_ticks, say_empty
from lab.telemetry.actuator import BREAKER_OPEN, GC_PAUSES, HEAP, JVM_MEMORY
from lab.telemetry.pools import POOLS, Pool
from lab.telemetry.sampler import CORES_BUSY, PASSED_ON

DASHED = (0, (2, 1.2))
# What is behind the service: colours that none of the lab's own variants has, with dashes for print.
BEHIND = (("#CC79A7", "-"), ("#56B4E9", (0, (5, 1))), ("#E69F00", (0, (4, 1, 1, 1))))


@dataclass(frozen=True)
class Strip:
    """One row of a timeline.

    Attributes:
        label: of its y axis, with the unit.
        draw: puts a panel's curve into the row.
        has_something: whether a panel has anything to draw here.
        shared: whether all columns have the same scale.
        always: whether the row stays if no panel has anything for it.
        cores_of: whose cores a row of CPU is about: ``service`` or ``generator``.
        headroom: how much higher than everything drawn the common scale ends, for a legend above it.

    """

    label: str
    height_in: float
    draw: Callable[[Axes, Panel], None]
    has_something: Callable[[Panel], bool]
    shared: bool = True
    always: bool = False
    cores_of: str = ""
    headroom: float = 1.0

    def top(self, most: float, cores: int | None) -> float:
        """Where the common scale ends: above everything drawn, and for CPU above all cores."""
        return self.headroom * (max(most, float(cores or 1)) if self.cores_of else most)


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


def _service_cpu(axes: Axes, panel: Panel) -> None:
    _steps(axes, panel, *panel.growth("service", "cpu_s"))
    for node, (colour, dashes) in zip(panel.nodes, cycle(BEHIND)):
        _line(axes, *panel.growth(node, "cpu_s"), node, colour, dashes)


def _other_cpu(axes: Axes, panel: Panel) -> None:
    """What shares the cores beside the service's: how busy they are in all, and with what."""
    edges, busy = panel.growth("generator", CORES_BUSY)
    if len(busy):
        axes.stairs(busy, edges, color=SOFT_INK, fill=True, alpha=0.22, linewidth=0, label="all on these cores")
    for target, (colour, dashes) in zip(panel.behind, cycle(BEHIND)):
        _line(axes, *panel.growth(target, "cpu_s"), target, colour, dashes)
    for number, worker in enumerate(panel.workers):
        _line(axes, *panel.growth(worker, "cpu_s"), "" if number else "Locust worker", INK, DASHED)
    if not axes.has_data():
        say_empty(axes, "no reading")
    axes.set_ylim(0, axes.dataLim.y1 if axes.has_data() else 1.0)
    few_ticks(axes)


def _line(axes: Axes, edges: np.ndarray, values: np.ndarray, label: str, colour: str, dashes: Any) -> None:
    if len(values):
        axes.stairs(values, edges, baseline=None, color=colour, linestyle=dashes, linewidth=1.3, label=label)


def _passed_on(axes: Axes, panel: Panel) -> None:
    """A line for each node, by the answers that the balancer passed on, with room for their names."""
    for node, (colour, dashes) in zip(panel.nodes, cycle(BEHIND)):
        _line(axes, *panel.growth(node, PASSED_ON), node, colour, dashes)
    axes.set_ylim(0, 1.6 * axes.dataLim.y1 or 1.0)
    few_ticks(axes)


def _memory(axes: Axes, panel: Panel) -> None:
    """All that the JVM has in use, and within it the heap."""
    at, used = panel.readings("service", [JVM_MEMORY])
    _steps(axes, panel, at, used[:-1] / MIB)
    at, heap = panel.readings("service", [HEAP])
    _line(axes, at, heap[:-1] / MIB, "heap", INK, DASHED)


def _gc(axes: Axes, panel: Panel) -> None:
    edges, share = panel.growth("service", GC_PAUSES)
    _steps(axes, panel, edges, 1000 * share)
    axes.set_ylim(top=max(10.0, axes.get_ylim()[1]))


def _pool_wait(axes: Axes, panel: Panel) -> None:
    """A line for each of several pools, in the colour of the component that it leads to, with room for their names."""
    queues = _queues(panel)
    if len(queues) < 2:
        at, waiting = next(iter(queues.values()), (np.zeros(0), np.zeros(0)))
        _steps(axes, panel, at, waiting[:-1])
        return
    drawn_as = dict(zip([*panel.behind, *(pool.to for pool in queues if pool.to not in panel.behind)], cycle(BEHIND)))
    for pool, (at, waiting) in queues.items():
        _line(axes, at, waiting[:-1], pool.name, *drawn_as[pool.to])
    axes.set_ylim(0, 1.6 * axes.dataLim.y1 or 1.0)
    few_ticks(axes)


def _queues(panel: Panel) -> dict[Pool, Curve]:
    """When it was read how many requests waited for each pool's connections, and how many did."""
    read = {pool: panel.readings("service", pool.waiting) for pool in POOLS}
    return {pool: queue for pool, queue in read.items() if len(queue[0]) > 1}


def _breaker(axes: Axes, panel: Panel) -> None:
    at, is_open = panel.readings("service", [BREAKER_OPEN])
    _steps(axes, panel, at, is_open[:-1])
    axes.set_yticks([0, 0.5, 1], ["closed", "trying", "open"])


def _steps(axes: Axes, panel: Panel, edges: np.ndarray, values: np.ndarray) -> None:
    """Values that hold from one edge to the next, n of them between n+1 edges."""
    if not len(values):
        say_empty(axes, "no reading")
        return
    colour = panel.style.colour
    axes.stairs(values, edges, color=colour, fill=True, alpha=0.25)
    axes.stairs(values, edges, color=colour, linewidth=1.2)
    axes.set_ylim(0, 1.15 * max(float(values.max()), axes.dataLim.y1) or 1.0)
    few_ticks(axes)


def _is_read(name: str) -> Callable[[Panel], bool]:
    return lambda panel: len(panel.growth("service", name)[1]) > 0


def _is_balanced(panel: Panel) -> bool:
    return any(len(panel.growth(node, PASSED_ON)[1]) for node in panel.nodes)


def _is_measured(panel: Panel) -> bool:
    return not panel.samples.empty


def _has_other_cpu(panel: Panel) -> bool:
    return any(len(panel.growth(target, "cpu_s")[1]) for target in (*panel.behind, *panel.workers))


def _waits_for_a_pool(panel: Panel) -> bool:
    return bool(_queues(panel))


def _was_open(panel: Panel) -> bool:
    return bool(panel.readings("service", [BREAKER_OPEN])[1].any())


STRIPS = (
    Strip("latency of each\nanswer, s", 2.0, _latency, _is_measured, shared=False, always=True),
    Strip("requests\nunder way", 0.9, _under_way, _is_measured),
    Strip("right\nanswers/s", 0.9, _rate, _is_measured, shared=False),
    Strip("service's\nCPU, cores", 0.95, _service_cpu, _is_read("cpu_s"), cores_of="service", headroom=1.15),
    Strip("CPU of the\nothers, cores", 1.35, _other_cpu, _has_other_cpu, cores_of="generator", headroom=1.75),
    Strip("answers/s\nby node", 0.95, _passed_on, _is_balanced),
    Strip("JVM in\nuse, MiB", 0.9, _memory, _is_read(JVM_MEMORY), headroom=1.25),
    Strip("GC pauses,\nms/s", 0.9, _gc, _is_read(GC_PAUSES)),
    Strip("waiting for\na connection", 0.95, _pool_wait, _waits_for_a_pool),
    Strip("circuit\nbreaker", 0.8, _breaker, _was_open),
)
