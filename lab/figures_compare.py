"""The forest plot of a comparison: each ratio with its interval, on a scale on which twice and half are equally far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from lab.figures import Picture

FOUND, NOT_FOUND = "#0072B2", "#777777"


@dataclass(frozen=True)
class Bar:
    """One ratio; ``low`` and ``high`` are None where one run a side gives no interval."""

    group: str
    label: str
    ratio: float
    low: float | None
    high: float | None
    found: bool


def forest(bars: Sequence[Bar]) -> Figure:
    """One panel a group; filled squares are differences that were found, open circles are not; no interval, no line."""
    groups = list(dict.fromkeys(bar.group for bar in bars))
    heights = [sum(bar.group == group for bar in bars) for group in groups]
    figure = Picture(figsize=(8.5, 1.4 + 0.9 * len(groups) + 0.28 * len(bars)), layout="constrained")
    if not bars:
        figure.text(0.5, 0.5, "nothing to compare", ha="center")
        return figure
    panels = figure.subplots(len(groups), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        _panel(axes, [bar for bar in bars if bar.group == group])
        axes.set_title(group, loc="left", fontsize=10, fontweight="bold")
    panels[-1].set_xlabel("ratio, with the interval that covers the truth in 95 % of cases; 1 is equal")
    return figure


def _panel(axes: Axes, bars: Sequence[Bar]) -> None:
    axes.axvspan(0.95, 1 / 0.95, color="#EEEEEE", zorder=0)
    axes.axvline(1, color="black", linewidth=0.8)
    for at, bar in enumerate(bars):
        colour = FOUND if bar.found else NOT_FOUND
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [at, at], color=colour, linewidth=1.8)
        axes.plot(bar.ratio, at, "s" if bar.found else "o", color=colour, fillstyle="full" if bar.found else "none")
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars], fontsize=8)
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 1.5, 2.0, 3.0, 5.0, 7.0)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", color="#DDDDDD", linewidth=0.6)
