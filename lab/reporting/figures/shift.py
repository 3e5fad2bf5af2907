"""The shift function: how many times as long each percentile of latency is on one side as on the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from matplotlib.axes import Axes

from lab.reporting.figures.ratios import mark_alike, nothing, ratio_range, scale_ratios
from lab.reporting.figures.style import INK, KNOWN, OTHERS, Picture, Style, legend, picture, prepare

MEANING = "shaded: 95 % interval of each percentile over the repeats; grey: ±{margin:g} %"


@dataclass(frozen=True)
class Curve:
    """The percentiles of one pair at one load: by percent, ratio and interval; None for both ends without repeats."""

    group: str
    label: str
    at: Mapping[float, tuple[float, float | None, float | None]]


def shift_figure(curves: Sequence[Curve], margin: float) -> Picture:
    """One panel a pair, with a line for each load; all on one scale.

    Args:
        margin: half the width of the band in which sides are alike, such as 0.05.

    """
    groups = list(dict.fromkeys(curve.group for curve in curves))
    figure = picture("Latency by percentile, B over A", 3.8)
    if not curves:
        return nothing(figure, "no percentile that all cells have answers enough for")
    panels = figure.subplots(1, len(groups), squeeze=False, sharey=True)[0]
    percents = sorted({percent for curve in curves for percent in curve.at})
    for axes, group in zip(panels, groups, strict=True):
        first = axes is panels[0]
        prepare(axes, group, "percentile of latency", "times as long" if first else "")
        mark_alike(axes, "y", margin)
        mine = [curve for curve in curves if curve.group == group]
        for curve, style in zip(mine, cycle((*KNOWN.values(), *OTHERS)), strict=False):
            _draw(axes, curve, style, percents)
        axes.set_xticks(range(len(percents)), [f"{percent:g}" for percent in percents])
    figure.supxlabel(MEANING.format(margin=100 * margin), fontsize=9, color=INK)
    legend(panels[-1], loc="best")
    values = (value for curve in curves for value in curve.at.values())
    scale_ratios(panels[0], "y", *ratio_range(values, margin))  # an interval may reach beyond the plot
    return figure


def _draw(axes: Axes, curve: Curve, style: Style, percents: Sequence[float]) -> None:
    at = [percents.index(percent) for percent in curve.at]
    ratio = [values[0] for values in curve.at.values()]
    axes.plot(
        at, ratio, color=style.colour, marker=style.marker, linestyle=style.dashes, label=curve.label, markersize=5
    )
    banded = [(x, low, high) for x, (_, low, high) in zip(at, curve.at.values(), strict=True) if low and high]
    if banded:
        x, low, high = map(np.array, zip(*banded, strict=True))
        axes.fill_between(x, low, high, color=style.colour, alpha=0.15, linewidth=0)
