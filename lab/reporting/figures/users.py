"""Users alive over time: who is in the middle of a session, and who was stopped early."""

from __future__ import annotations

from collections.abc import Sequence

from lab.reporting.figures.panel import Panel
from lab.reporting.figures.style import Picture, alpha_of, label_of, legend, picture, prepare, thousands


def users_figure(title: str, panels: Sequence[Panel]) -> Picture:
    """How many users were alive, each variant a curve, and beside it how many were stopped early until then.

    A user is alive from the first request of a session to the end of its last answer, pauses included.
    """
    figure = picture(title, 4.2)
    alive, stopped = figure.subplots(1, 2, width_ratios=(3, 2))
    prepare(alive, "users alive", "time since the start, s", "users in a session")
    prepare(stopped, "sessions stopped early, so far", "time since the start, s", "sessions")
    for panel in panels:
        style = panel.style
        how = {"color": style.colour, "linestyle": style.dashes, "alpha": alpha_of(panel.verdict)}
        label = label_of(panel.variant, panel.verdict)
        alive.plot(*panel.users_alive(), linewidth=1.9, label=label, **how)
        at, count = panel.stops()
        stopped.step(at, count, where="post", linewidth=1.6, label=f"{label}: {count[-1]:,.0f}", **how)
    for axes in (alive, stopped):
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        thousands(axes)
        legend(axes, loc="best")
    return figure
