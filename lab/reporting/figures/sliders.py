"""Figures with sliders for notebooks, which are still figures where there is nobody to move one."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from lab.reporting.figures.style import Picture

Range = tuple[float, float, float]


def interactive(draw: Callable[..., Picture], **ranges: Range) -> None:
    """Show a figure in a notebook, and sliders that draw it again in its place.

    The figure is an ordinary output: a test, a web page or a paper shows it with the defaults of its arguments.

    Args:
        draw: makes the figure; every argument has a default.
        ranges: by argument, lowest and highest value and step; whole numbers stay whole.

    """
    import ipywidgets  # here, since the command line draws figures too and need not wait for Jupyter
    from IPython.display import display

    defaults = {name: argument.default for name, argument in inspect.signature(draw).parameters.items()}
    sliders = {}
    for name, (low, high, step) in ranges.items():
        kind = ipywidgets.IntSlider if all(isinstance(n, int) for n in (low, high, step)) else ipywidgets.FloatSlider
        sliders[name] = kind(
            value=defaults[name], min=low, max=high, step=step, description=name.replace("_", " "),
            continuous_update=False, style={"description_width": "90px"},
        )  # fmt: skip
    display(ipywidgets.VBox(list(sliders.values())))  # type: ignore[no-untyped-call]
    shown = display(draw(), display_id=True)  # type: ignore[no-untyped-call]

    def draw_again(_: Any) -> None:
        shown.update(draw(**{name: slider.value for name, slider in sliders.items()}))

    for slider in sliders.values():
        slider.observe(draw_again, names="value")
