"""The shift function: how many times as long each percentile of latency is on one side as on the other.

A mean, or a single percentile, hides where two sides differ: one may be faster for most requests, and slower in its
tail.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lab.formulas import inference, stats
from lab.formulas.inference import Ratio
from lab.formulas.stats import Distribution
from lab.storage.cell_folder import CellFolder

PERCENTS = (10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9)
# The cells of one side at one load, by what is independent of one another: repeats of one run, or separate runs.
Units = tuple[tuple[CellFolder, ...], ...]


@dataclass(frozen=True)
class Pair:
    """The cells that stand side by side in a comparison: those of A and of B at one load.

    Attributes:
        interleaved: whether the i-th unit of both is the same repeat of one run.

    """

    a: str
    b: str
    at: str
    of_a: Units
    of_b: Units
    interleaved: bool


@dataclass(frozen=True)
class QuantileRatio:
    """One percentile of latency: both values in seconds, and B over A with an interval over the repeats."""

    a: str
    b: str
    at: str
    percent: float
    a_value: float
    b_value: float
    ratio: Ratio


def quantile_ratios(pair: Pair) -> Iterator[QuantileRatio]:
    """B over A for each of :data:`PERCENTS` that all cells have answers enough for.

    Each interval is of one percentile alone.
    """
    by_a, by_b = ([_quantiles(cells) for cells in side] for side in (pair.of_a, pair.of_b))
    for percent in PERCENTS:
        if not by_a or not by_b or not all(percent in unit for unit in (*by_a, *by_b)):
            continue
        in_a, in_b = ([unit[percent] for unit in side] for side in (by_a, by_b))
        if ratio := inference.ratio(in_a, in_b, pair.interleaved):
            a_value, b_value = inference.typical(in_a), inference.typical(in_b)
            assert a_value is not None and b_value is not None  # noqa: PT018 (a ratio has both)
            yield QuantileRatio(pair.a, pair.b, pair.at, percent, a_value, b_value, ratio)


def _quantiles(cells: Sequence[CellFolder]) -> dict[float, float]:
    """The percentiles of each cell's right answers, as geometric means over the cells."""
    of_cells = [_of_cell(cell) for cell in cells]
    common = [percent for percent in PERCENTS if all(percent in quantiles for quantiles in of_cells)]
    return {p: float(np.exp(np.mean([np.log(max(q[p], 1e-6)) for q in of_cells]))) for p in common}


def _of_cell(cell: CellFolder) -> dict[float, float]:
    """Percentiles of latency in seconds, from the planned send in an open loop."""
    from_planned, answers = cell.cell.load.independent, Distribution()
    columns = ["latency_us", "error", *(("sent_us", "planned_us") if from_planned else ())]
    for piece in cell.measured_pieces(columns):
        right = piece[piece["error"] == ""]
        answers.add((stats.as_planned(right) if from_planned else right)["latency_us"].to_numpy())
    return answers.quantiles_s(PERCENTS)
