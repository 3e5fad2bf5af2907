"""The style of all figures: readable in print, in grey and for colour-blind people; units on every axis."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from lab.analysis.verdict import VALID

WIDTH_IN = 11.0
INK, SOFT_INK, FAINT, ALARM = "#222222", "#666666", "#DDDDDD", "#8A1C1C"
MODEL: dict[str, Any] = {"color": INK, "linestyle": (0, (5, 3)), "linewidth": 1.1}
SMALL = 8.5
PERCENTILES = (0, 50, 90, 99, 99.9, 99.99, 99.999)


@dataclass(frozen=True)
class Style:
    """How one variant is drawn: the colour for the screen, marker and dashes for print and for the colour-blind."""

    colour: str
    marker: str
    dashes: Any


# Okabe and Ito's palette, in an order in which neighbours also differ in grey.
KNOWN = {
    "mvc": Style("#D55E00", "o", "-"),
    "mvc-virtual": Style("#0072B2", "s", (0, (6, 1.5))),
    "webflux": Style("#009E73", "^", (0, (6, 1.5, 1.5, 1.5))),
}
OTHERS = (
    Style("#CC79A7", "D", (0, (2, 1))),
    Style("#56B4E9", "v", (0, (8, 2, 2, 2))),
    Style("#E69F00", "P", (0, (4, 2))),
    Style("#555555", "X", (0, (1, 1))),
    Style("#CC79A7", "<", (0, (10, 1))),
    Style("#56B4E9", ">", (0, (3, 1, 1, 1, 1, 1))),
    Style("#E69F00", "p", (0, (10, 2, 1, 2, 1, 2))),
    Style("#555555", "*", (0, (1, 3))),
)


def styles_of(variants: Iterable[str]) -> dict[str, Style]:
    """The style of each variant of a run: always the same for the lab's own, the others' in turn.

    With more than there are colours, those of the same colour differ in marker and dashes.
    """
    names, free = list(dict.fromkeys(variants)), cycle(OTHERS)
    return {name: KNOWN.get(name) or next(free) for name in names}


class Picture(Figure):
    """A figure that a notebook shows as the last expression of a cell, whether pyplot is set up or not."""

    def _repr_png_(self) -> bytes:
        return self.png()

    def png(self, dpi: int = 110) -> bytes:
        """The figure as a PNG file."""
        picture = BytesIO()
        self.savefig(picture, format="png", dpi=dpi)
        return picture.getvalue()


def picture(title: str, height_in: float, note: str = "") -> Picture:
    """An empty figure as wide as a laptop's browser shows it: its title at the top left, a note at the bottom."""
    below = 0.17 / height_in if note else 0.0
    room = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06, hspace=0.04, wspace=0.03, rect=(0, below, 1, 1 - below))
    figure = Picture(figsize=(WIDTH_IN, height_in), layout=room, facecolor="white")
    figure.suptitle(title, x=0.01, ha="left", fontweight="bold", fontsize=12, color=INK)
    figure.text(0.012, 0.005, note, fontsize=SMALL, color=ALARM, ha="left", va="bottom")
    return figure


def prepare(axes: Axes, title: str = "", x: str = "", y: str = "") -> None:
    """Title, labels with units, a quiet grid behind, and no box around."""
    axes.set_title(title, loc="left", fontsize=10, fontweight="bold", color=INK)
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.grid(color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=SMALL, color=SOFT_INK, labelcolor=INK)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(SOFT_INK)


def label_of(variant: str, verdict: str) -> str:
    """What a legend calls a variant: with its verdict, unless that is good."""
    return variant if verdict == VALID else f"{variant} ({verdict.upper()})"


def alpha_of(verdict: str) -> float:
    """Strong where a cell is to be believed, faded where it is not."""
    return 1.0 if verdict == VALID else 0.45


def mark_doubt(axes: Axes, verdict: str) -> None:
    """Hatch the background of a cell that is not valid, and label it with its verdict."""
    if verdict == VALID:
        return
    axes.patch.set(hatch="//", edgecolor="#E4E4E4", facecolor="#FAFAFA")
    axes.text(
        0.98, 0.96, verdict.upper(), transform=axes.transAxes, ha="right", va="top", fontsize=9, fontweight="bold",
        color=ALARM, bbox={"facecolor": "white", "edgecolor": ALARM, "boxstyle": "round,pad=0.25"}, zorder=10,
    )  # fmt: skip


def say_empty(axes: Axes, sentence: str) -> None:
    """Write the reason for an empty plot into its middle."""
    axes.text(0.5, 0.5, sentence, ha="center", va="center", transform=axes.transAxes, fontsize=9, color=SOFT_INK)


def legend(axes: Axes, **where: Any) -> None:
    """A legend without a frame that covers nothing much; none where nothing is labelled."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(**{"fontsize": SMALL, "frameon": False, "handlelength": 3.2, **where})


def legend_below(figure: Figure, note: str = "") -> None:
    """One legend for all axes of a figure, below them, where there is no room within; with a note above its names."""
    found = [axes.get_legend_handles_labels() for axes in figure.axes]
    labelled = {label: handle for handles, labels in found for handle, label in zip(handles, labels, strict=True)}
    look: dict[str, Any] = {"ncols": 4, "fontsize": SMALL, "frameon": False, "title_fontsize": SMALL}
    drawn = figure.legend(
        labelled.values(), labelled.keys(), loc="outside lower center", title=note or None, alignment="left", **look
    )
    drawn.get_title().set_color(ALARM)


def plain_log_scale(axes: Axes, direction: str) -> None:
    """A logarithmic axis with ticks people can read: 1, 2, 5, 10 and so on; a plain one where nothing is above zero."""
    column = 0 if direction == "x" else 1
    drawn = [np.asarray(line.get_xydata())[:, column] for line in axes.get_lines() if line.get_transform().is_affine]
    values = [array[array > 0] for array in drawn if (array > 0).any()]
    if not values:
        return
    low, high = min(a.min() for a in values), max(a.max() for a in values)
    decades = np.log10(high / low)
    if not decades:
        axes.set(**{f"{direction}lim": (low / 2, high * 2)})
    axes.set(**{f"{direction}scale": "log"})
    axis = axes.xaxis if direction == "x" else axes.yaxis
    subs = (1.0, 1.5, 2.0, 3.0, 5.0, 7.0) if decades < 0.8 else (1.0, 2.0, 5.0) if decades < 2.5 else (1.0,)
    axis.set_major_locator(LogLocator(subs=subs, numticks=20))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
    axis.set_minor_locator(NullLocator())


def few_ticks(axes: Axes) -> None:
    """At most four ticks upwards, for a low strip."""
    axes.yaxis.set_major_locator(MaxNLocator(4, min_n_ticks=2))
    thousands(axes)


def thousands(axes: Axes) -> None:
    """Write numbers upwards as 4,000."""
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))


def percentile_axis(axes: Axes, most: float) -> None:
    """Make x an axis of percentiles on which 90, 99 and 99.9 are equally far apart, as 1/(1-p) is.

    Args:
        axes: whose x values are percent.
        most: the last percentile that the samples reach; nothing is shown beyond it.

    """
    shown = [p for p in PERCENTILES if p <= most]
    axes.set_xscale("function", functions=(_to_nines, _from_nines))
    axes.set_xticks(shown, [f"{p:g}" for p in shown])
    axes.set_xticks([], minor=True)
    axes.set_xlim(0, most)


def _to_nines(percent: np.ndarray) -> np.ndarray:
    return np.asarray(-np.log10(np.clip(1 - np.asarray(percent) / 100, 1e-7, 1)))


def _from_nines(nines: np.ndarray) -> np.ndarray:
    return np.asarray(100 * (1 - 10.0 ** -np.asarray(nines)))
