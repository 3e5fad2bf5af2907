"""Figures of samples, sweeps and comparisons, all in one style."""

from lab.reporting.figures.errors import errors_figure
from lab.reporting.figures.forest import Bar, forest
from lab.reporting.figures.formulas import Trial, totals_figure, trials_figure, waves_figure
from lab.reporting.figures.outcomes import outcomes_figure
from lab.reporting.figures.panel import Panel
from lab.reporting.figures.programs import programs_figure
from lab.reporting.figures.ramp import ramp_figure
from lab.reporting.figures.repeats import repeats_figure
from lab.reporting.figures.run import run_figure, timeline_figure
from lab.reporting.figures.shift import Curve, shift_figure
from lab.reporting.figures.sliders import interactive
from lab.reporting.figures.style import Picture
from lab.reporting.figures.sweep import sweep_figure
from lab.reporting.figures.users import users_figure
from lab.reporting.figures.windows import windows_figure

__all__ = [
    "Bar",
    "Curve",
    "Panel",
    "Picture",
    "Trial",
    "errors_figure",
    "forest",
    "interactive",
    "outcomes_figure",
    "programs_figure",
    "ramp_figure",
    "repeats_figure",
    "run_figure",
    "shift_figure",
    "sweep_figure",
    "timeline_figure",
    "totals_figure",
    "trials_figure",
    "users_figure",
    "waves_figure",
    "windows_figure",
]
