"""The figure of a ramp: what was answered of what was offered, and what the service held for requests that waited."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes

from lab.analysis.ramps import RampResult
from lab.analysis.waiting_cost import Floats, held, in_flight
from lab.reporting.figures.panel import Panel
from lab.reporting.figures.style import (
    SOFT_INK,
    Picture,
    alpha_of,
    legend,
    picture,
    prepare,
    say_empty,
    thousands,
)

MB = 1e6
# The scale ends here at least, so that none is a line at the bottom.
FEW_THREADS = 10
NOTE = "Dots: knees. Threads and memory: what was held more than before the load, up to the peak."


def ramp_figure(title: str, panels: Sequence[Panel], results: Mapping[str, RampResult]) -> Picture:
    """Right answers a second over the time of a ramp, and threads and memory of the service over requests under way.

    Args:
        title: of the whole figure.
        panels: one a variant.
        results: of each variant's ramp, by its name.

    """
    figure = picture(title, 3.8, NOTE)
    answers, threads, memory = figure.subplots(1, 3)
    prepare(answers, "right answers", "time since the start, s", "answers / s")
    prepare(threads, "threads", "requests under way", "threads")
    prepare(memory, "memory", "requests under way", "heap and outside of it, MB")
    for number, panel in enumerate(panels):
        if result := results.get(panel.variant):
            _answers(answers, panel, result, is_first=number == 0)
        for axes, names, unit in ((threads, ("threads",), 1.0), (memory, ("heap_bytes", "native_bytes"), MB)):
            _held(axes, panel, names, unit)
    for axes in (answers, threads, memory):
        if not axes.has_data():
            say_empty(axes, "not enough was read")
        axes.set_xlim(left=0)
        thousands(axes)
    answers.set_ylim(bottom=0)
    threads.set_ylim(top=max(FEW_THREADS, threads.get_ylim()[1]))
    legend(answers, loc="best")
    return figure


def _answers(axes: Axes, panel: Panel, result: RampResult, is_first: bool) -> None:
    windows, style = result.windows, panel.style
    middle_s = (windows["from_s"] + windows["to_s"]) / 2
    if is_first:
        offered = windows["offered"] / (windows["to_s"] - windows["from_s"])
        axes.plot(middle_s, offered, color=SOFT_INK, linestyle=":", linewidth=1.2, label="sent")
    axes.plot(
        middle_s, windows["answered_rps"], color=style.colour, linestyle=style.dashes, linewidth=1.7,
        alpha=alpha_of(panel.verdict), label=panel.label,
    )  # fmt: skip
    if result.knee:
        # Of sessions, which begin at this rate; the axis is one of requests.
        rate, low, high = (
            result.requests_a_session * each for each in (result.knee.rate, result.knee.low, result.knee.high)
        )
        interval = [[max(0.0, rate - low)], [max(0.0, high - rate)]]
        axes.errorbar([result.knee.at_s], [rate], interval, color=style.colour, marker="o", markersize=7, capsize=4)


def _held(axes: Axes, panel: Panel, names: Sequence[str], unit: float) -> None:
    """What the service held more than before the load, over the requests under way, until most of them were."""
    at_s, under_way = in_flight(panel.metrics)
    readings = held(panel.metrics)
    if not len(at_s) or not all(len(readings[name][0]) for name in names):
        return
    peak_s = at_s[int(under_way.argmax())]
    read_s = readings[names[0]][0]
    read_s = read_s[(read_s >= 0) & (read_s <= peak_s)]
    more: Floats = sum((_more(*readings[name], read_s) for name in names), np.zeros(len(read_s)))
    axes.plot(
        np.interp(read_s, at_s, under_way), more / unit, color=panel.style.colour, linestyle=panel.style.dashes,
        linewidth=1.5, marker=panel.style.marker, markersize=3.5, alpha=alpha_of(panel.verdict),
    )  # fmt: skip


def _more(read_s: Floats, values: Floats, at_s: Floats) -> Floats:
    """Readings at some times, less the last one before the load."""
    before = values[read_s <= 0]
    more: Floats = np.interp(at_s, read_s, values) - (before[-1] if len(before) else values[0])
    return more
