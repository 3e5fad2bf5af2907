"""Variants in turns: the ratio of each pair of neighbouring windows over time, start by start, with its interval."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from lab.analysis.comparison import MARGIN
from lab.analysis.window_ratios import WindowRatio
from lab.reporting.figures.ratios import mark_alike, nothing, scale_ratios
from lab.reporting.figures.style import KNOWN, SOFT_INK, Picture, legend, picture, prepare

COLOUR = KNOWN["mvc-virtual"].colour
# Between two starts, in rounds.
GAP = 1.5
LEGEND_NOTE = f"Grey band: ± {MARGIN:.0%}."
ROUNDS = "rounds of windows, one start of the services after the other"


def windows_figure(title: str, ratios: Sequence[WindowRatio]) -> Picture:
    """A panel for each pair: a point a round, a line for each start's mean, the band of the interval over all of them.

    Args:
        ratios: of one figure at one load.

    """
    figure = picture(f"{title}. {LEGEND_NOTE}", 0.9 + 2.3 * max(len(ratios), 1))
    if not ratios:
        return nothing(figure, "no two variants were measured in turns to their end")
    panels = figure.subplots(len(ratios), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    for axes, ratio in zip(panels, ratios, strict=True):
        heading = f"{ratio.b} over {ratio.a}, {ratio.figure}: {ratio.ratio:.3f}"
        interval = ratio.interval
        heading += f" (95 % interval {interval[0]:.3f} to {interval[1]:.3f})" if interval else " (one start)"
        prepare(axes, heading, ROUNDS if axes is panels[-1] else "", "B / A")
        _panel(axes, ratio)
    _scale(panels[0], ratios)
    legend(panels[0], loc="upper right", ncols=3)
    return figure


def _panel(axes: Axes, ratio: WindowRatio) -> None:
    mark_alike(axes, "y", MARGIN)
    begin, ticks = 0.0, []
    for number, logs in enumerate(ratio.logs):
        at, label = begin + np.arange(len(logs)), number == 0
        axes.plot(at, np.exp(logs), "o", color=SOFT_INK, markersize=3.5, label="a round" if label else None)
        if len(logs):
            mean, span = float(np.exp(logs.mean())), [begin - 0.4, begin + len(logs) - 0.6]
            axes.plot(span, [mean, mean], color=COLOUR, linewidth=2.2, label="its start" if label else None)
        ticks.append((begin + max(len(logs) - 1, 0) / 2, f"start {number + 1}"))
        begin += len(logs) + GAP
    if ratio.interval:
        low, high = ratio.interval
        axes.axhspan(low, high, color=COLOUR, alpha=0.15, linewidth=0, label="95 % interval, by the starts")
    axes.set_xticks([at for at, _ in ticks], [label for _, label in ticks])
    axes.grid(visible=False, axis="x")


def _scale(axes: Axes, ratios: Sequence[WindowRatio]) -> None:
    """One scale for all, on which twice and half are equally far, with ticks people can read."""
    logs = np.concatenate([of_start for ratio in ratios for of_start in ratio.logs])
    low, high = min(float(np.exp(logs.min())), 1 / (1 + MARGIN)), max(float(np.exp(logs.max())), 1 + MARGIN)
    scale_ratios(axes, "y", low, high, below=0.05, above=0.15)  # above, the legend
