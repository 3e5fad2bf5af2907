"""Failed requests over time, by class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lab.formulas import stats
from lab.reporting.figures.panel import Panel, step_of
from lab.reporting.figures.style import Picture, legend, picture, prepare, say_empty

# Light to dark, with a hatch each, so that classes are told apart in grey too.
LOOKS = (("#E69F00", ""), ("#D55E00", "//"), ("#CC79A7", ".."), ("#0072B2", "xx"), ("#56B4E9", "--"), ("#222222", ""))


def errors_figure(title: str, panels: Sequence[Panel]) -> Picture:
    """Failures a second when they ended, stacked by class, one row a variant that has any."""
    failing = [panel for panel in panels if not panel.right.all()]
    figure = picture(title, 0.8 + 1.9 * max(len(failing), 1))
    rows = figure.subplots(max(len(failing), 1), 1, squeeze=False)[:, 0]
    names = sorted({str(name) for panel in failing for name in stats.error_class(panel.samples)[~panel.right]})
    if not failing:
        prepare(rows[0])
        say_empty(rows[0], "no request failed")
    for axes, panel in zip(rows, failing, strict=False):
        share = float((~panel.right).mean())
        heading = f"{panel.label}: {share:.2%} of {len(panel.samples):,} requests failed"
        prepare(axes, heading, "time since the start, s" if panel is failing[-1] else "", "failed requests/s")
        step_s = step_of(panel.end_s)
        edges = np.arange(0, panel.end_s + step_s, step_s)
        bottom = np.zeros(len(edges) - 1)
        for name in names:
            colour, hatch = LOOKS[names.index(name) % len(LOOKS)]
            ended = panel.ended_s[(stats.error_class(panel.samples) == name).to_numpy()]
            rate = np.histogram(ended, edges)[0] / step_s
            axes.bar(
                edges[:-1], rate, step_s, bottom=bottom, align="edge", color=colour, hatch=hatch, edgecolor="white",
                linewidth=0.4, label=name if rate.any() else "",
            )  # fmt: skip
            bottom += rate
        axes.set_xlim(0, edges[-1])
        legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.5)
    return figure
