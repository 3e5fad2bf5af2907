"""Numbers from the readings that were taken once a second while a load lasted (metrics.parquet)."""

from __future__ import annotations

import numpy as np
import pandas as pd


def cpu_s(metrics: pd.DataFrame, target: str, until_s: float) -> float | None:
    """CPU seconds that a target used from the planned start until ``until_s``; None with fewer than two readings."""
    rows = _rows(metrics, target, "cpu_s")
    if len(rows) < 2:
        return None
    begin, end = np.interp([0.0, until_s], rows["t_s"], rows["value"])
    return float(end - begin)


def typical(metrics: pd.DataFrame, target: str, name: str, until_s: float) -> float | None:
    """The median reading from the planned start until ``until_s``; None if there was none."""
    rows = _rows(metrics, target, name)
    values = rows.loc[rows["t_s"].between(0, until_s), "value"]
    return float(values.median()) if len(values) else None


def targets(metrics: pd.DataFrame) -> list[str]:
    """Everything that was read."""
    return [str(target) for target in metrics["target"].unique()]


def _rows(metrics: pd.DataFrame, target: str, name: str) -> pd.DataFrame:
    return metrics[(metrics["target"] == target) & (metrics["name"] == name)].sort_values("t_s")
