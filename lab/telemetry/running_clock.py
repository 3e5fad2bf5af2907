"""A clock that stands still while the machine does, for what happened on a machine that its host paused."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.telemetry.sampler import MACHINE, PAUSED, Reading

Floats = NDArray[np.float64]
# Of a pause, with the time after it in which its backlog is worked off.
MOST_BACKLOG = 2.0


class RunningClock:
    """Seconds since the planned start of a load in which the machine ran.

    Args:
        begins_s: when each pause began, in seconds since the planned start, shape (n,).
        lengths_s: how long each lasted, shape (n,).

    """

    def __init__(self, begins_s: Floats, lengths_s: Floats) -> None:
        order = np.argsort(begins_s)
        self.begins_s, self.lengths_s = begins_s[order], lengths_s[order]
        so_far = np.cumsum(self.lengths_s)
        self._at = np.column_stack([self.begins_s, self.begins_s + self.lengths_s]).ravel()
        self._paused = np.column_stack([so_far - self.lengths_s, so_far]).ravel()

    @staticmethod
    def of(rows: Iterable[Reading]) -> RunningClock:
        """The clock by the pauses among readings, which have seconds since the planned start."""
        found = [(t, value) for t, target, name, value in rows if (target, name) == (MACHINE, PAUSED)]
        begins_s, lengths_s = np.array(found, dtype=float).reshape(-1, 2).T
        return RunningClock(begins_s, lengths_s)

    def paused_before(self, at_s: Floats) -> Floats:
        """The seconds before each of some moments in which the machine stood still, shape as given."""
        at_s = np.asarray(at_s, dtype=float)
        return np.interp(at_s, self._at, self._paused) if len(self._at) else np.zeros_like(at_s)

    def __call__(self, at_s: Floats) -> Floats:
        """What it shows at some moments, shape as given."""
        return np.asarray(at_s, dtype=float) - self.paused_before(at_s)

    def paused_s(self, begin_s: float, end_s: float) -> float:
        """The seconds between two moments in which the machine stood still."""
        begun, ended = self.paused_before(np.array([begin_s, end_s]))
        return float(ended - begun)

    def longest_s(self, begin_s: float, end_s: float) -> float:
        """The longest pause, as far as it lies between two moments, in seconds; 0 without any."""
        ends_s = self.begins_s + self.lengths_s
        return float((np.minimum(ends_s, end_s) - np.maximum(self.begins_s, begin_s)).max(initial=0.0))

    def with_backlog(self, utilization: float) -> RunningClock:
        """The clock that stands still until what piled up in a pause has been worked off: P/(1 − ρ), 2·P at most.

        What comes at the rate λ in a pause of P is λ·P; from then on the rest of the capacity, μ − λ, works it off. A
        closed loop sends no more than its users, so that what is nearly saturated has no endless backlog.

        Args:
            utilization: ρ = λ/μ, the busy share of the cores.

        """
        lasting_s = self.lengths_s * min(1 / (1 - utilization) if utilization < 1 else math.inf, MOST_BACKLOG)
        return RunningClock(self.begins_s, np.minimum(lasting_s, np.diff(self.begins_s, append=math.inf)))

    def samples(self, samples: pd.DataFrame) -> pd.DataFrame:
        """Samples by this clock: what was planned, sent and answered when, so that no latency contains a pause.

        Args:
            samples: with ``planned_us``, ``sent_us`` and ``latency_us``.

        """
        if samples.empty or not len(self._at):
            return samples
        planned, sent, took = (samples[name].to_numpy() / 1e6 for name in ("planned_us", "sent_us", "latency_us"))
        begun = self(sent)
        by_this_clock = {"planned_us": self(planned), "sent_us": begun, "latency_us": self(sent + took) - begun}
        return samples.assign(**{name: np.rint(of * 1e6).astype(np.int64) for name, of in by_this_clock.items()})

    def rows(self, rows: Iterable[Reading]) -> list[Reading]:
        """Readings by this clock."""
        rows = list(rows)
        times = self(np.array([row[0] for row in rows]))
        return [(float(t), *row[1:]) for t, row in zip(times, rows, strict=True)]
