"""The repeats of a run side by side: how far one lies from the next."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lab.analysis.verdict import VALID
from lab.reporting.figures.style import (
    Picture,
    Style,
    legend,
    legend_below,
    picture,
    prepare,
    say_empty,
    styles_of,
)

HEADROOM = 1.15
# The columns of tails, with titles and labels.
TAILS = (
    ("p99_s", "Slowest one in a hundred", "p99, ms"),
    ("p999_s", "Slowest one in a thousand", "p99.9, ms"),
)
# More variants do not fit into a legend beside their lines.
MOST_WITHIN = 4
# More names do not fit into one line.
MOST_NAMED = 3
DOUBT = "Hollow points are not valid: see the reasons."


def repeats_figure(title: str, table: pd.DataFrame) -> Picture:
    """Throughput, p99, and p99.9 where there are answers enough for it: a line a variant over its repeats.

    Args:
        title: of the figure.
        table: rows of one load, with ``variant``, ``repeat``, ``ok_throughput_rps``, ``p99_s``, ``p999_s`` and
            ``verdict``.

    """
    missing = [
        f"{row.variant}, repeat {row.repeat} ({row.verdict})" for row in table[table["p99_s"].isna()].itertuples()
    ]
    more = f" and {len(missing) - MOST_NAMED} more" if len(missing) > MOST_NAMED else ""
    notes = [f"Without a right answer: {'; '.join(missing[:MOST_NAMED])}{more}."] * bool(missing)
    notes += [DOUBT] * bool((table["verdict"] != VALID).any())
    styles = styles_of(table["variant"])
    is_crowded = len(styles) > MOST_WITHIN
    note = " ".join(notes)
    figure = picture(title, 4.2) if is_crowded else picture(title, 3.6, note)
    tails = [tail for tail in TAILS if tail[0] == "p99_s" or table[tail[0]].notna().any()]
    rate, *slowest = figure.subplots(1, 1 + len(tails))
    prepare(rate, "Throughput of right answers", "repeat", "requests / s")
    for axes, (_, title, label) in zip(slowest, tails, strict=True):
        prepare(axes, title, "repeat", label)
    for variant, rows in table.sort_values("repeat").groupby("variant", sort=False):
        _line(rate, str(variant), styles[str(variant)], rows, rows["ok_throughput_rps"])
        for axes, (column, _, _) in zip(slowest, tails, strict=True):
            _line(axes, str(variant), styles[str(variant)], rows, rows[column].astype(float) * 1000)
    for axes in (rate, *slowest):
        axes.set_xticks(sorted(table["repeat"].unique()))
        if 0 < axes.dataLim.y1 < np.inf:
            axes.set_ylim(0, axes.dataLim.y1 * HEADROOM)
        else:
            say_empty(axes, "no right answer")
    if is_crowded:
        legend_below(figure, note)
    else:
        legend(rate, loc="lower left")
    return figure


def _line(axes: Axes, variant: str, style: Style, rows: pd.DataFrame, values: pd.Series[float]) -> None:
    doubtful = (rows["verdict"] != VALID).to_numpy()
    look: dict[str, Any] = {"color": style.colour, "marker": style.marker}
    axes.plot(rows["repeat"], values, **look, linestyle=style.dashes, linewidth=1.2, label=variant)
    axes.plot(rows["repeat"][doubtful], values[doubtful], **look, linestyle="none", markerfacecolor="white")
