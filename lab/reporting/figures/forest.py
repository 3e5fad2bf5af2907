"""The forest plot of a comparison: each ratio with its interval, on a scale on which twice and half are equally far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from lab.analysis.findings import ALIKE, DIFFERENT, UNDECIDED
from lab.reporting.figures.ratios import mark_alike, nothing, ratio_range, scale_ratios
from lab.reporting.figures.style import KNOWN, SOFT_INK, Picture, picture, prepare

# How each finding is drawn: colour, marker, and whether it is filled.
LOOKS = {
    DIFFERENT: (KNOWN["mvc-virtual"].colour, "s", True),
    ALIKE: (KNOWN["webflux"].colour, "D", True),
    UNDECIDED: (SOFT_INK, "o", False),
}
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
        return nothing(figure, "nothing to compare")
    panels = figure.subplots(len(groups), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        prepare(axes, group, MEANING.format(margin=100 * margin) if axes is panels[-1] else "")
        mark_alike(axes, "x", margin)
        _panel(axes, [bar for bar in bars if bar.group == group])
    scale_ratios(panels[-1], "x", *ratio_range([(bar.ratio, bar.low, bar.high) for bar in bars], margin))
    return figure


def _panel(axes: Axes, bars: Sequence[Bar]) -> None:
    for at, bar in enumerate(bars):
        colour, marker, filled = LOOKS.get(bar.finding or "", LOOKS[UNDECIDED])
        if bar.low is not None and bar.high is not None:
            axes.plot([bar.low, bar.high], [at, at], color=colour, linewidth=1.8)
        axes.plot(bar.ratio, at, marker, color=colour, markerfacecolor=colour if filled else "white")
    axes.set_yticks(range(len(bars)), [bar.label for bar in bars])
    axes.set_ylim(len(bars) - 0.5, -0.5)
    axes.grid(visible=False, axis="y")
