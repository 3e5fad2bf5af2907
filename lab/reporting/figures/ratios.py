"""The axis of ratios that figures share: logarithmic, so that twice and half are equally far, with round ticks."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, floor, log10
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from lab.reporting.figures.style import INK, Picture, say_empty

Along = Literal["x", "y"]

BAND = "#EEEEEE"
# Intervals may reach further than these times the outermost ratio, but then the plot would show nothing else.
FARTHEST = 10.0
# A logarithmic axis has the most of these ticks that leave room for their labels.
MOST_TICKS = 9
TICKS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))
# How far the axis reaches beyond what is to be shown, as shares of its length.
ROOM = 0.03


def nothing(figure: Picture, sentence: str) -> Picture:
    """A figure without axes that says why there is nothing to see."""
    axes = figure.subplots()
    axes.set_axis_off()
    say_empty(axes, sentence)
    return figure


def mark_alike(axes: Axes, along: Along, margin: float) -> None:
    """Mark the band in which two sides are alike, and the ratio 1, on the axis of ratios.

    Args:
        margin: half the width of the band, such as 0.05.

    """
    span, line = (axes.axvspan, axes.axvline) if along == "x" else (axes.axhspan, axes.axhline)
    span(1 / (1 + margin), 1 + margin, color=BAND, zorder=0)
    line(1, color=INK, linewidth=0.8)


def scale_ratios(axes: Axes, along: Along, low: float, high: float, below: float = ROOM, above: float = ROOM) -> None:
    """Make an axis one of ratios from low to high, with round ticks.

    Args:
        below: how far it reaches below ``low``, as a share of its length; the same for ``above``.

    """
    axis = axes.xaxis if along == "x" else axes.yaxis
    axes.set(**{f"{along}scale": "log", f"{along}lim": (low * (low / high) ** below, high * (high / low) ** above)})
    axis.set_ticks(shown := ticks(low, high), [f"{tick:.10g}" for tick in shown])
    axis.set_minor_locator(NullLocator())


def ratio_range(values: Iterable[tuple[float, float | None, float | None]], margin: float) -> tuple[float, float]:
    """The range of ratios to show: all of them, the margin, and their intervals, as far as these are not too wide.

    Args:
        values: ratios, each with its interval, of which an end may not be known.

    """
    known = list(values)
    ratios = [1 / (1 + margin), 1 + margin, *(ratio for ratio, _, _ in known)]
    low = max(min([*ratios, *(low for _, low, _ in known if low)]), min(ratios) / FARTHEST)
    return low, min(max([*ratios, *(high for _, _, high in known if high)]), max(ratios) * FARTHEST)


def ticks(low: float, high: float) -> list[float]:
    """At most :data:`MOST_TICKS` round numbers from ``low`` to ``high``; 1 is one of them where it lies between."""
    if high < 3 * low:
        linear = MaxNLocator(MOST_TICKS - 1, steps=[1, 2, 5, 10]).tick_values(low, high)
        return [float(tick) for tick in linear if low <= tick <= high]
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    for steps in TICKS:
        found = [step * 10.0**decade for decade in decades for step in steps if low <= step * 10.0**decade <= high]
        if len(found) <= MOST_TICKS:
            break
    apart = ceil(len(found) / MOST_TICKS)
    return [tick for tick in found if round(log10(tick)) % apart == 0] if apart > 1 else found
