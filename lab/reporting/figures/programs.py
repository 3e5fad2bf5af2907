"""The figure of programs: how long each execution took, and what CPU and memory it needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lab.formulas.units import MIB
from lab.reporting.figures.style import (
    INK,
    KNOWN,
    MODEL,
    SOFT_INK,
    Picture,
    legend,
    picture,
    plain_log_scale,
    prepare,
    say_empty,
)

# Of a line, above and below its middle, so that points of equal time can be told apart.
SPREAD = 0.22
# By column of the table: the heading of its panel, the label with its unit, and what the figure is divided by.
USED = {
    "execution_cpu_s": ("CPU", "seconds an execution", 1.0),
    "peak_bytes": ("memory", "most of any execution, MiB", MIB),
}


def programs_figure(title: str, table: pd.DataFrame, samples: pd.DataFrame, scopes: Mapping[str, str]) -> Picture:
    """A line a variant: each execution a point, the median marked; what an execution with nothing to do takes; its use.

    Args:
        title: of the figure.
        table: rows of :meth:`lab.reporting.run_view.Run.table` at one value of what is varied.
        samples: the executions of the same cells, with ``variant``, ``latency_us`` and ``error``.
        scopes: by variant, what it works on where that is not what the others do; those are not to be compared.

    """
    variants = list(dict.fromkeys(table["variant"]))
    names = [f"{name} *" if scopes.get(name) else name for name in variants]
    notes = dict.fromkeys(scope for name in variants if (scope := scopes.get(name, "")))
    note = f"* not to be compared: {'; '.join(notes)}" if notes else ""
    used = [column for column in USED if column in table and table[column].notna().any()]
    figure = picture(title, 1.5 + 0.32 * len(variants), note)
    left, *panels = figure.subplots(1, 1 + len(used), sharey=True, width_ratios=(2.4, *[1] * len(used)), squeeze=False)[
        0
    ]
    prepare(left, "time", "wall time of each execution, s")
    _times(left, variants, table, samples)
    left.set_yticks(range(len(variants)), names)
    left.set_ylim(len(variants) - 0.5, -0.5)
    for axes, column in zip(panels, used, strict=True):
        heading, label, unit = USED[column]
        prepare(axes, heading, label)
        means = table.groupby("variant")[column].mean()
        axes.barh(range(len(variants)), [means[name] / unit for name in variants], 0.55, color=SOFT_INK, alpha=0.75)
        axes.tick_params(left=False)
    return figure


def _times(axes: Axes, variants: Sequence[str], table: pd.DataFrame, samples: pd.DataFrame) -> None:
    right = samples[samples["error"] == ""]
    if right.empty:
        say_empty(axes, "no execution succeeded")
        return
    for at, name in enumerate(variants):
        seconds = right.loc[right["variant"] == name, "latency_us"].to_numpy() / 1e6
        if not len(seconds):
            continue
        places = at + np.linspace(-SPREAD, SPREAD, len(seconds)) if len(seconds) > 1 else [at]
        label = "an execution" if at == 0 else ""
        axes.plot(seconds, places, ".", color=KNOWN["mvc-virtual"].colour, markersize=4, alpha=0.45, label=label)
        label = "their median" if at == 0 else ""
        axes.plot(np.median(seconds), at, "|", color=INK, markersize=13, markeredgewidth=2.2, label=label)
    if "start_s" in table and table["start_s"].notna().any():
        starts = np.asarray(table.groupby("variant")["start_s"].median().reindex(list(variants)), dtype=float)
        label = "with nothing to do"
        axes.plot(starts, range(len(variants)), "x", color=MODEL["color"], label=label)
    plain_log_scale(axes, "x")
    legend(axes, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=3, handlelength=1.2)
