"""The figures of one load: the variants beside one another, and what happened to each over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
from matplotlib.axes import Axes

from lab.reporting.figures.panel import Panel
from lab.reporting.figures.style import (
    MODEL,
    SOFT_INK,
    Picture,
    alpha_of,
    legend,
    mark_doubt,
    percentile_axis,
    picture,
    plain_log_scale,
    prepare,
    say_empty,
    thousands,
)
from lab.reporting.figures.timeline import STRIPS, Strip

COLUMNS = 3
SMALL_LEGEND = {"handlelength": 1.8, "fontsize": 7.5, "borderaxespad": 0.1}
MOST_PERCENTILE = 99.999


def run_figure(title: str, panels: Sequence[Panel]) -> Picture:
    """The latency distribution of all variants on one percentile axis, and how many requests each had under way."""
    figure = picture(title, 4.2)
    left, right = figure.subplots(1, 2, width_ratios=(3, 2))
    prepare(left, "latency", "percentile of right answers, %", "latency, s")
    prepare(right, "requests under way", "time since the start, s", "requests")
    for panel in panels:
        _distribution(left, panel)
        _under_way(right, panel)
    _draw_models(left, panels)
    plain_log_scale(left, "y")
    percentile_axis(left, min(MOST_PERCENTILE, max((_last_percentile(panel) for panel in panels), default=90.0)))
    right.set_xlim(left=0)
    right.set_ylim(bottom=0)
    thousands(right)
    legend(left, loc="best")
    legend(right, loc="best")
    return figure


def _last_percentile(panel: Panel) -> float:
    count = max(int(panel.right.sum()), 10)
    return 100 * (1 - 0.5 / count)


def _distribution(axes: Axes, panel: Panel) -> None:
    style, label = panel.style, panel.label
    share, latency = panel.percentiles()
    label = label if len(share) else f"{label}: no right answer"
    axes.plot(
        share, latency, color=style.colour, linestyle=style.dashes, linewidth=1.9, alpha=alpha_of(panel.verdict),
        label=label, marker=style.marker, markevery=_at_percentiles(share), markersize=5.5,
    )  # fmt: skip


def _at_percentiles(share: np.ndarray) -> list[int]:
    """Where markers sit, so that a curve is known in print: at the percentiles that people quote."""
    wanted = [p for p in (50, 90, 99, 99.9) if len(share) and share[-1] >= p]
    return [max(int(np.searchsorted(share, p)) - 1, 0) for p in wanted]


def _draw_models(axes: Axes, panels: Sequence[Panel]) -> None:
    means = sorted({panel.predicted_mean_s for panel in panels if panel.predicted_mean_s})
    for number, mean in enumerate(means):
        axes.axhline(mean, **MODEL, zorder=1, label="" if number else "mean by the model")


def _under_way(axes: Axes, panel: Panel) -> None:
    if panel.samples.empty:
        return
    style = panel.style
    at, count = panel.under_way()
    axes.plot(
        at, count, color=style.colour, linestyle=style.dashes, linewidth=1.6, alpha=alpha_of(panel.verdict),
        label=panel.label,
    )  # fmt: skip


def timeline_figure(title: str, panels: Sequence[Panel], cores: Mapping[str, int] | None = None) -> Picture:
    """Each variant's answers over time in a column; under them throughput, CPU, GC pauses and the wait for a pool.

    CPU is that of the service, and of what runs beside it: what is behind the service, and the generator's workers.

    Every column has a time axis of its own, since the slowest variant takes many times longer than the others. A row
    that no variant has readings for is left out.

    Args:
        title: of the whole figure.
        panels: one a variant.
        cores: how many cores ``service`` and ``generator`` had, each of which has a dotted line; as far as known.

    """
    strips = [strip for strip in STRIPS if strip.always or any(strip.has_something(panel) for panel in panels)]
    columns, blocks = min(COLUMNS, max(len(panels), 1)), ceil(len(panels) / COLUMNS) or 1
    heights = [strip.height_in for strip in strips]
    figure = picture(title, 0.7 + blocks * (sum(heights) + 0.55))
    grid = np.asarray(figure.subplots(len(strips) * blocks, columns, squeeze=False, height_ratios=heights * blocks))
    for number in range(blocks * columns):
        block, column = divmod(number, columns)
        stack = list(grid[block * len(strips) : (block + 1) * len(strips), column])
        if number < len(panels):
            _column(stack, strips, panels[number], is_first=column == 0)
        else:
            for axes in stack:
                axes.set_visible(False)
    _share_scales(grid, strips, cores or {})
    figure.align_ylabels()
    return figure


def _column(stack: Sequence[Axes], strips: Sequence[Strip], panel: Panel, is_first: bool) -> None:
    for axes, strip in zip(stack, strips, strict=True):
        prepare(axes, y=strip.label if is_first else "")
        strip.draw(axes, panel)
        axes.set_xlim(0, panel.end_s * 1.02)
        axes.tick_params(labelbottom=axes is stack[-1])
    stack[0].set_title(panel.label, loc="left", fontsize=10, fontweight="bold")
    stack[-1].set_xlabel("time since the start, s", fontsize=9)
    mark_doubt(stack[0], panel.verdict)
    if panel.samples.empty:
        say_empty(stack[0], "no request was answered")
    legend(stack[0], **SMALL_LEGEND, loc="upper left")
    for axes in stack[1:] if is_first else ():
        legend(axes, **SMALL_LEGEND, loc="upper right", ncols=2, columnspacing=1.0)


def _share_scales(grid: np.ndarray, strips: Sequence[Strip], cores: Mapping[str, int]) -> None:
    for number, strip in enumerate(strips):
        row = [axes for axes in grid[number :: len(strips)].ravel() if axes.get_visible()]
        most = max((axes.get_ylim()[1] for axes in row), default=1.0)
        known = cores.get(strip.cores_of)
        for axes in row:
            if known:
                axes.axhline(known, color=SOFT_INK, linestyle=":", linewidth=1.0, zorder=1)
            axes.set_ylim(0, strip.top(most, known) if strip.shared else axes.get_ylim()[1])
