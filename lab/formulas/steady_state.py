"""The steady state of a load, found in its samples by MSER-5: whether it had settled, and since when."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lab.formulas import trend

BATCH = 5
# Enough steps to see a transient, and enough answers in each for a median.
MOST_STEPS, FEWEST_STEPS, ANSWERS_A_STEP = 200, 4 * BATCH, 10
# Three means of five are the least that can settle.
FEWEST = 3 * BATCH
# Halves of a steady load differ by less, or by no more than chance may do.
AGREEMENT = 0.10

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Settling:
    """When latency and throughput settled, in seconds since the planned start; None where one never did.

    Attributes:
        latency_s: by the median of each step of time.
        throughput_s: by the answers in each step.
        elapsed_s: how long the load lasted.

    """

    latency_s: float | None
    throughput_s: float | None
    elapsed_s: float

    @property
    def from_s(self) -> float | None:
        """When both had settled; None if one never did."""
        if self.latency_s is None or self.throughput_s is None:
            return None
        return max(self.latency_s, self.throughput_s)


def settling(ended_s: Floats, latency_s: Floats) -> Settling | None:
    """When latency and throughput of a closed or open loop had settled.

    Args:
        ended_s: when each right answer arrived, in seconds since the planned start, shape (n,).
        latency_s: how long it took, shape (n,).

    Returns:
        None where there are too few answers to say (:data:`FEWEST_STEPS` steps of :data:`ANSWERS_A_STEP`), or too few
        steps with any (:data:`FEWEST`).

    """
    steps = min(MOST_STEPS, len(ended_s) // ANSWERS_A_STEP)
    if steps < FEWEST_STEPS:
        return None
    elapsed_s = float(ended_s.max())
    # The last step is left out: some users have ended already.
    step = np.minimum((ended_s / elapsed_s * steps).astype(int), steps - 1)
    order = np.argsort(step, kind="stable")
    parts = np.split(latency_s[order], np.searchsorted(step[order], np.arange(1, steps)))
    counts = np.array([len(part) for part in parts[:-1]], dtype=float)
    medians = np.array([np.median(part) for part in parts[:-1] if len(part)])
    if len(medians) < FEWEST:  # users in step are answered in few of them
        return None
    filled_s = np.flatnonzero(counts) * elapsed_s / steps
    latency, rate = steady_from(medians), steady_from(counts)
    return Settling(
        None if latency is None else float(filled_s[latency]),
        None if rate is None else rate * elapsed_s / steps,
        elapsed_s,
    )


def steady_from(values: Floats) -> int | None:
    """The end of the initial transient of a series of equally spaced readings, by MSER-5 (White 1997).

    Of all truncations up to one half, the one whose rest has the least standard error of the mean, on means of five. It
    has settled if the two halves of the rest agree, or differ by what its noise may explain: a drift is no initial
    transient.

    Args:
        values: shape (n,).

    Returns:
        Index of the first settled reading; None if there is none, or fewer than 15 readings.

    """
    if len(values) < FEWEST:
        return None
    batches = values[: len(values) // BATCH * BATCH].reshape(-1, BATCH).mean(axis=1)
    errors = [batches[cut:].var() / (len(batches) - cut) for cut in range(len(batches) // 2 + 1)]
    cut = int(np.argmin(errors))
    rest = batches[cut:]
    early, late = (half.mean() for half in np.array_split(rest, 2))
    if abs(late - early) <= AGREEMENT * rest.mean():
        return cut * BATCH
    return None if trend.change(values[cut * BATCH :]) else cut * BATCH
