"""How requests ended, by the moment when they were to be sent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from lab.reporting.figures.style import ALARM, Picture, legend, picture, prepare, say_empty, thousands

# From below to above; hatched, so that they are told apart in grey too.
LOOKS = {"right": ("#B8D8CF", ""), "fallback": ("#E69F00", ".."), "refused": ("#56B4E9", "//"), "failed": (ALARM, "")}
NOTE = "Requests stand at the time that they were planned for."


def outcomes_figure(title: str, outcomes: Mapping[str, pd.DataFrame]) -> Picture:
    """Requests a second that ended in each way, stacked, one row a variant.

    Args:
        title: of the whole figure.
        outcomes: by the variant's label, its time windows: see :func:`lab.formulas.ramp.outcomes`.

    """
    figure = picture(title, 0.9 + 1.8 * max(len(outcomes), 1), NOTE)
    rows = figure.subplots(max(len(outcomes), 1), 1, squeeze=False, sharex=True, sharey=True)[:, 0]
    if not outcomes:
        prepare(rows[0])
        say_empty(rows[0], "not shown for a steady load")
    for axes, (label, windows) in zip(rows, outcomes.items(), strict=False):
        length_s = (windows["to_s"] - windows["from_s"]).to_numpy()
        prepare(
            axes, f"{label}: {_summary(windows)}", "time since the start, s" if axes is rows[-1] else "", "requests/s"
        )
        bottom = np.zeros(len(windows))
        for name, (colour, hatch) in LOOKS.items():
            rate = windows[name].to_numpy() / length_s
            axes.bar(
                windows["from_s"], rate, length_s, bottom=bottom, align="edge", color=colour, hatch=hatch,
                edgecolor="white", linewidth=0.4, label=name if rate.any() else "",
            )  # fmt: skip
            bottom += rate
        thousands(axes)
        legend(axes, loc="upper left", bbox_to_anchor=(1.0, 1.0), handlelength=1.5)
    rows[0].set_xlim(0, max((windows["to_s"].iloc[-1] for windows in outcomes.values()), default=1.0))
    return figure


def _summary(windows: pd.DataFrame) -> str:
    """How many requests ended in each way, in words."""
    offered = int(windows["offered"].sum())
    ended = [f"{count:,} {name}" for name in LOOKS if (count := int(windows[name].sum()))]
    return f"of {offered:,} requests {', '.join(ended)}"
