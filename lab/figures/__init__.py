"""Pictures of samples: one style, readable in print, in grey and for colour-blind people, units on every axis."""

from lab.figures.alive import alive
from lab.figures.errors import errors_figure
from lab.figures.forest import Bar, forest
from lab.figures.formulas import totals_figure, waves_figure
from lab.figures.panel import Panel
from lab.figures.repeats import repeats_figure
from lab.figures.run import run_figure, timeline_figure
from lab.figures.style import Picture
from lab.figures.sweep import sweep_figure

__all__ = [
    "Bar",
    "Panel",
    "Picture",
    "alive",
    "errors_figure",
    "forest",
    "repeats_figure",
    "run_figure",
    "sweep_figure",
    "timeline_figure",
    "totals_figure",
    "waves_figure",
]
