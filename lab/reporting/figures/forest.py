"""The forest plot of a comparison: each ratio with its interval, on a scale on which twice and half are equally far."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullLocator

from lab.analysis.findings import ALIKE, DIFFERENT, UNDECIDED
from lab.reporting.figures.style import INK, KNOWN, SOFT_INK, Picture, picture, prepare, say_empty

# How each finding is drawn: colour, marker, and whether it is filled.
LOOKS = {
    DIFFERENT: (KNOWN["mvc-virtual"].colour, "s", True),
    ALIKE: (KNOWN["webflux"].colour, "D", True),
    UNDECIDED: (SOFT_INK, "o", False),
}
# Intervals may reach further than these times the outermost ratio, but then the plot would show nothing else.
FARTHEST = 10.0
# A logarithmic axis has the most of these ticks that leave room for their labels.
MOST_TICKS = 9
TICKS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))
MEANING = "ratio; line: its 95 % interval; square: different, diamond: alike, circle: undecided; band: ±{margin:g} %"


@dataclass(frozen=True)
class Bar:
    """One ratio and what was found; ``low`` and ``high`` are None where one run a side gives no interval.

    What is neither different nor alike, such as what was not tested, looks undecided.
    """

    group: str
    label: str
    ratio: float
    low: float | None
    high: float | None
    finding: str | None


def forest(bars: Sequence[Bar], margin: float) -> Picture:
    """One panel a group, all on one scale.

    Args:
        margin: half the width of the band in which sides are alike, such as 0.05.

    """
    groups = list(dict.fromkeys(bar.group for bar in bars))
    heights = [sum(bar.group == group for bar in bars) for group in groups]
    figure = picture("B over A", 1.2 + 0.35 * len(groups) + 0.27 * len(bars))
    if not bars:
        axes = figure.subplots()
        axes.set_axis_off()
        say_empty(axes, "nothing to compare")
        return figure
    panels = figure.subplots(len(groups), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        prepare(axes, group, MEANING.format(margin=100 * margin) if axes is panels[-1] else "")
        axes.axvspan(1 / (1 + margin), 1 + margin, color="#EEEEEE", zorder=0)
        _panel(axes, [bar for bar in bars if bar.group == group])
    _scale(panels[-1], bars, margin)
    return figure


def _panel(axes: Axes, bars: Sequence[Bar]) -> None:
    axes.axvline(1, color=INK, linewidth=0.8)
    for at, bar in enumerate(bars):
        colour, marker, filled = LOOKS.get(bar.finding or "", LOOKS[UNDECIDED])
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [at, at], color=colour, linewidth=1.8)
        axes.plot(bar.ratio, at, marker, color=colour, markerfacecolor=colour if filled else "white")
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")


def _scale(axes: Axes, bars: Sequence[Bar], margin: float) -> None:
    low, high = ratio_range([(bar.ratio, bar.low, bar.high) for bar in bars], margin)
    axes.set_xscale("log")
    axes.set_xlim(low * (low / high) ** 0.03, high * (high / low) ** 0.03)
    axes.set_xticks(shown := ticks(low, high), [f"{tick:.10g}" for tick in shown])
    axes.xaxis.set_minor_locator(NullLocator())


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
