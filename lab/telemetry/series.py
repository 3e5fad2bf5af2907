"""Series of readings: counters and gauges over the time of a load."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.telemetry.sampler import CORES_BUSY, INTERRUPTS, Reading

Floats = NDArray[np.float64]
# Readings that only ever grow: seconds spent, and Prometheus' counters by their endings.
GROWING, GROWING_ENDS = ("cpu_s", CORES_BUSY, INTERRUPTS), ("_count", "_sum", "_total")


def is_counter(name: str) -> bool:
    """Whether a reading is a counter, of which only its growth says something."""
    return name in GROWING or name.endswith(GROWING_ENDS)


def cpu_s(metrics: pd.DataFrame, target: str, from_s: float, until_s: float, name: str = "cpu_s") -> float | None:
    """CPU seconds that a target used between two times since the planned start; None with fewer than two readings.

    Args:
        name: ``cpu_s`` for a process, or :data:`lab.telemetry.sampler.CORES_BUSY` for an owner's cores.

    """
    rows = _rows(metrics, target, name)
    if len(rows) < 2:
        return None
    begin, end = np.interp([from_s, until_s], rows["t_s"], rows["value"])
    return float(end - begin)


def cpu_by_second(metrics: pd.DataFrame, target: str, from_s: float, until_s: float) -> Floats:
    """CPU seconds that a target used in each whole second of a time; empty with fewer than two readings."""
    rows = _rows(metrics, target, "cpu_s")
    if len(rows) < 2:
        return np.zeros(0)
    return np.diff(np.interp(np.arange(from_s, until_s + 1e-9), rows["t_s"], rows["value"]))


def seconds_above(by_second: Floats, least: float, together_s: int) -> int:
    """How many seconds are part of a span of so many seconds whose mean is so high: one by itself is noise."""
    if len(by_second) < together_s:
        return 0
    means = np.convolve(by_second, np.ones(together_s), "valid") / together_s
    # Each span that is high makes all of its seconds high.
    return int(np.count_nonzero(np.convolve(means >= least, np.ones(together_s))))


def typical(metrics: pd.DataFrame, target: str, name: str, from_s: float, until_s: float) -> float | None:
    """The median reading between two times since the planned start; None if there was none."""
    rows = _rows(metrics, target, name)
    values = rows.loc[rows["t_s"].between(from_s, until_s), "value"]
    return float(values.median()) if len(values) else None


def targets(metrics: pd.DataFrame) -> list[str]:
    """The names of all targets that were read."""
    return [str(target) for target in metrics["target"].unique()]


def _rows(metrics: pd.DataFrame, target: str, name: str) -> pd.DataFrame:
    return metrics[(metrics["target"] == target) & (metrics["name"] == name)].sort_values("t_s")


def counter(rows: Iterable[Reading], target: str, name: str) -> tuple[Floats, Floats]:
    """Times and values of one metric among readings as they were taken, each of shape (n,)."""
    found = np.array([(t, value) for t, of, what, value in rows if (of, what) == (target, name)], dtype=float)
    return (found[:, 0], found[:, 1]) if len(found) else (np.zeros(0), np.zeros(0))


def growth(times: Floats, values: Floats, begin_s: float, end_s: float) -> float | None:
    """The increase of a counter, interpolated between readings; None without a reading at or after the end.

    Before its first reading it is taken to be constant: what it counts had not begun.
    """
    if len(times) < 2 or times[-1] < end_s:
        return None
    begun, ended = np.interp([begin_s, end_s], times, values)
    return float(ended - begun)


def growth_around(times: Floats, values: Floats, begin_s: float, end_s: float) -> float:
    """The most by which a counter may have grown within a time; 0 with fewer than two readings.

    From the last reading before it to the first after it: nobody knows when between two readings a counter grew.
    """
    if len(times) < 2:
        return 0.0
    before = max(int(np.searchsorted(times, begin_s, "right")) - 1, 0)
    after = min(int(np.searchsorted(times, end_s)), len(times) - 1)
    return float(values[after] - values[before])
