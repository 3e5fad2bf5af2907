"""The curves of a sweep: latency and throughput over users, rate or a parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from numpy.typing import NDArray

from lab.analysis.verdict import VALID
from lab.formulas import students_t
from lab.formulas.digits import digits
from lab.reporting.figures.style import (
    MODEL,
    SOFT_INK,
    Picture,
    Style,
    legend,
    legend_below,
    picture,
    plain_log_scale,
    prepare,
    styles_of,
)
from lab.spec.plan import CAPACITY, RATE, USERS

# Fewer repeats say too little about their own noise for an interval.
LEAST_REPEATS = 3
# How far apart two labels of the x axis must be to be read, as a share of the axis.
LEAST_GAP = 0.055
# By how much the marks of two variants stand apart where the axis is of names, which are 1 apart.
APART = 0.09
# How an axis is named in the title and along itself; a parameter by its name.
TITLES = {
    USERS: ("the number of users", "users (R)"),
    RATE: ("the rate", "rate (planned a second)"),
    CAPACITY: ("the percentage of capacity", CAPACITY),
}
LIMITING = {"T": "T threads", "N": "N connections"}


def sweep_figure(
    scenario: str,
    table: pd.DataFrame,
    plateaus: Sequence[tuple[str, float]],
    axis: str = USERS,
    choices: Sequence[str] = (),
) -> Picture:
    """Mean latency and throughput over what is varied, with model, published points and intervals of repeats.

    A measurement that is not valid has a hollow, grey-ringed marker; one that has no result is named under the title.

    Args:
        scenario: its name.
        table: rows as :meth:`lab.reporting.run_view.Run.table` gives them.
        plateaus: what limits allow by theory, as :func:`lab.spec.prediction.plateaus` gives it.
        axis: what is varied: ``users``, ``rate``, or a parameter.
        choices: the names that the parameter may have; then the column ``at`` counts them from 0, variants stand side
            by side, and no line joins what is measured.

    """
    over, label = TITLES.get(axis, (axis, axis))
    figure = picture(f"{scenario}: latency and throughput over {over}", 4.8, _missing(table, choices))
    mean, rate = figure.subplots(1, 2)
    prepare(mean, "mean latency of right answers", label, "seconds")
    prepare(rate, "throughput of right answers", label, "answers a second")
    styles, values = styles_of(table["variant"]), sorted(table["at"].unique().tolist())
    if choices:
        table = _side_by_side(table)
    for variant, rows in table.groupby("variant", sort=False):
        style = styles[str(variant)] if not choices else replace(styles[str(variant)], dashes="none")
        _curve(mean, str(variant), style, rows, "mean_s")
        _curve(rate, str(variant), style, rows, "ok_throughput_rps")
    _models(mean, table)
    _published(mean, table, styles, "published_mean_s", "published mean")
    _published(rate, table, styles, "published_rps", "published, failed requests included")
    for formula, rps in plateaus:
        rate.axhline(rps, **MODEL, label=f"{LIMITING[formula[0]]}: {formula} = {digits(rps)} a second")
    for axes in (mean, rate):
        _explain_doubt(axes, table)
        plain_log_scale(axes, "y")
        if choices:
            named_axis(axes, values, choices)
        else:
            varied_axis(axes, values)
            legend(axes, loc="best")
    if choices:
        legend_below(figure)
    return figure


def _side_by_side(table: pd.DataFrame) -> pd.DataFrame:
    """The same rows, those of each variant moved along the axis by as much as keeps their marks apart."""
    names = list(dict.fromkeys(table["variant"]))
    step = min(APART, 0.8 / len(names))
    moved = [(names.index(name) - (len(names) - 1) / 2) * step for name in table["variant"]]
    return table.assign(at=table["at"] + moved)


def named_axis(axes: Axes, values: Sequence[float], choices: Sequence[str]) -> None:
    """An x axis of names, each where it stands among all choices."""
    axes.set_xticks(values, [choices[int(at)] for at in values], rotation=20, ha="right", rotation_mode="anchor")
    axes.set_xlim(min(values) - 0.5, max(values) + 0.5)


def varied_axis(axes: Axes, values: list[float]) -> None:
    """A logarithmic x axis with a tick at every value that was measured, as long as labels do not touch.

    One that begins at 0, which has no logarithm, is linear below the smallest other value.
    """
    positive = [value for value in values if value > 0]
    if len(positive) < len(values):
        axes.set_xscale("symlog", linthresh=positive[0] if positive else 1)
        axes.set_xticks(values, [f"{value:,.10g}" for value in values])
        return
    axes.set_xscale("log")
    low, high = values[0] / 1.3, values[-1] * 1.3
    axes.set_xlim(low, high)
    shown: list[float] = []
    for count in reversed(values):
        if not shown or np.log(shown[-1] / count) / np.log(high / low) >= LEAST_GAP:
            shown.append(count)
    shown.sort()
    axes.set_xticks(shown, [_short(n) for n in shown])
    axes.set_xticks([], minor=True)


def _short(value: float) -> str:
    """A value with thousands as ``k`` and millions as ``M``, where nothing of it is lost."""
    for unit, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= unit and value % unit == 0:
            return f"{value / unit:g}{letter}"
    return f"{value:,.10g}"


def _curve(axes: Axes, variant: str, style: Style, rows: pd.DataFrame, column: str) -> None:
    """A line through the means, broken where nothing was measured; hollow where a repeat is not to be believed."""
    line: dict[str, Any] = {"color": style.colour, "linestyle": style.dashes, "linewidth": 1.7}
    dots: dict[str, Any] = {"linestyle": "none", "marker": style.marker, "markersize": 6.5, "color": style.colour}
    means, hollow = [], []
    for at, repeats in rows.groupby("at"):
        values = repeats.dropna(subset=["mean_s"])[column].to_numpy(dtype=float)
        means.append((at, values.mean() if len(values) else np.nan))
        hollow += [means[-1]] * bool((repeats["verdict"] != VALID).any())
        _interval(axes, means[-1][0], values, style.colour)
    axes.plot(*_points(means), **line)
    axes.plot(*_points(means), **dots, zorder=3)
    axes.plot(*_points(hollow), **dots, markerfacecolor="white", markeredgewidth=1.3, zorder=3)
    axes.plot([], [], **{**dots, **line}, label=variant)


def _points(pairs: list[tuple[Any, float]]) -> NDArray[np.float64]:
    return np.array(pairs, dtype=float).reshape(-1, 2).T


def _interval(axes: Axes, at: Any, values: NDArray[np.float64], colour: str) -> None:
    """Each repeat as a dash, and the t-interval of their mean as a bar where there are enough."""
    if len(values) > 1:
        axes.plot([at] * len(values), values, linestyle="none", marker="_", color=colour, markersize=9)
    if len(values) >= LEAST_REPEATS:
        half = students_t.reach(values.std(ddof=1) / np.sqrt(len(values)), len(values) - 1)
        axes.errorbar([at], [values.mean()], yerr=half, color=colour, capsize=4, linewidth=1.2, zorder=2)


def _models(axes: Axes, table: pd.DataFrame) -> None:
    predicted = table.dropna(subset=["predicted_mean_s"]).sort_values("at")
    label = "model"
    for _, rows in predicted.groupby("variant"):
        axes.plot(rows["at"], rows["predicted_mean_s"].astype(float), **MODEL, zorder=4, label=label)
        label = ""


def _published(axes: Axes, table: pd.DataFrame, styles: Mapping[str, Style], column: str, label: str) -> None:
    """Published points as crosses in the colour of their variant, a little larger than what they may cover."""
    for variant, rows in table.dropna(subset=[column]).groupby("variant", sort=False):
        axes.plot(
            rows["at"], rows[column].astype(float), linestyle="none", marker="x", markersize=10, zorder=5,
            markeredgewidth=1.4, color=styles[str(variant)].colour,
        )  # fmt: skip
    if table[column].notna().any():
        axes.plot([], [], linestyle="none", marker="x", markersize=8, markeredgewidth=1.4, color=SOFT_INK, label=label)


def _explain_doubt(axes: Axes, table: pd.DataFrame) -> None:
    if (table["verdict"] != VALID).any():
        label = "hollow: not valid, see the reasons"
        axes.plot([], [], linestyle="none", marker="o", color=SOFT_INK, markerfacecolor="white", label=label)
    if (table.groupby(["variant", "at"]).size() >= LEAST_REPEATS).any():
        label = f"bar: {students_t.CONFIDENCE:.0%} interval of the mean"
        axes.plot([], [], linestyle="-", marker="_", color=SOFT_INK, label=label)


def _missing(table: pd.DataFrame, choices: Sequence[str]) -> str:
    rows = table[table["mean_s"].isna()]
    named = [choices[int(at)] if choices else f"{at:,.10g}" for at in rows["at"]]
    cells = [f"{row.variant} at {at} ({row.verdict})" for at, row in zip(named, rows.itertuples(), strict=True)]
    more = f" and {len(cells) - 6} more" if len(cells) > 6 else ""
    return f"Without a right answer, so not drawn: {', '.join(cells[:6])}{more}." if cells else ""
