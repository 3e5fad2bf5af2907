"""What the time windows of a load showed: how requests ended, the knee of a ramp, and what waiting cost the service."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from lab.analysis import balancing, waiting_cost
from lab.formulas import ramp
from lab.formulas.ramp import Knee
from lab.spec.sample import BY_BREAKER
from lab.spec.workload import Closed, Ramp
from lab.storage.cell_folder import CellFolder

KEPT_SHARE = 0.9
# Of a load whose requests were all sent at once, such as a single one, windows have some length all the same.
SHORTEST_S = 0.001


@dataclass(frozen=True)
class RampResult:
    """The figures of one ramp, from its samples and readings.

    Attributes:
        windows: how the requests of each time window ended: :func:`lab.formulas.ramp.outcomes`.
        knee: None where answers kept pace to the end, where there were too few to say, where users are ramped, as they
            send no faster than they are answered, and where what is called was to fail or be slow for a time.
        kept_rps: up to which rate of sessions answers kept pace: that of the knee, or, without one, the highest if at
            least :data:`KEPT_SHARE` of them were answered right in time. Else None.
        before_knee_s: the mean latency of right answers in the windows that kept pace; None without any.
        prompt_share: :func:`lab.formulas.ramp.prompt_share`.
        waiting: :func:`lab.analysis.waiting_cost.waiting_cost`.
        requests_a_session: by which rates of sessions are rates of requests: 1 where each session is one.

    """

    windows: pd.DataFrame
    knee: Knee | None
    kept_rps: float | None
    before_knee_s: float | None
    prompt_share: float | None
    waiting: dict[str, float]
    requests_a_session: float = 1.0

    @property
    def beyond_knee_s(self) -> float | None:
        """The mean latency of right answers in the windows beyond the knee; None without any."""
        return _mean_s(self.windows[self.windows["from_s"] >= self.knee.at_s]) if self.knee else None

    @property
    def shape(self) -> str:
        """Where answers no longer keep pace, as the end of a sentence for people."""
        unit = " sessions" * (self.requests_a_session != 1)
        if self.knee:
            return self.knee.in_words(unit)
        if self.kept_rps:
            return f"no knee: answers kept pace up to {self.kept_rps:,.0f}{unit}/s, where the ramp ends"
        return "no knee was found: answers never kept pace, there were too few, or what is called was not steady"

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types, which is the ``ramp`` of ``summary.json``."""
        windows = self.windows.astype(object).where(self.windows.notna(), None)
        return {**vars(self), "windows": windows.to_dict("records"), "knee": self.knee and asdict(self.knee)}

    @staticmethod
    def from_json(stored: dict[str, Any]) -> RampResult:
        """The result that :meth:`as_json` wrote."""
        windows = pd.DataFrame(stored["windows"]).astype({"mean_s": float})
        return RampResult(**{**stored, "windows": windows, "knee": stored["knee"] and Knee(**stored["knee"])})


def result_of(cell: CellFolder, steady: bool = True) -> RampResult | None:
    """The result of a cell that is a ramp: as it is stored, or from the samples of one that an older version measured.

    None for a load that is no ramp, and for a cell without samples. LabError where what is stored is damaged.

    Args:
        steady: whether what requests call was the same all the time: :func:`lab.spec.prediction.is_steady`.

    """
    load = cell.cell.load
    if not load.is_ramp:
        return None
    summary = cell.read("summary")
    stored = summary.get("ramp")
    # Older versions took requests for sessions.
    if stored and ("requests_a_session" in stored or not summary.get("sessions")):
        return RampResult.from_json(stored)
    samples = _samples(cell)
    if not len(samples):
        return None
    assert isinstance(load, Ramp | Closed)  # the others are none
    windows, sessions = ramp.outcomes(samples, load.duration_s, BY_BREAKER), ramp.by_session(samples)
    found, kept_rps, kept_s = None, None, 0.0
    if isinstance(load, Ramp) and steady:
        found = ramp.knee(sessions, load.from_rps, load.to_rps, load.duration_s)
        if found:
            kept_rps, kept_s = found.rate, found.at_s
        elif (ramp.kept_pace_share(sessions, load.duration_s) or 0.0) >= KEPT_SHARE:
            kept_rps, kept_s = load.to_rps, load.duration_s
    return RampResult(
        windows=windows,
        knee=found,
        kept_rps=kept_rps,
        before_knee_s=_mean_s(windows[windows["to_s"] <= kept_s]),
        prompt_share=ramp.prompt_share(samples),
        waiting=waiting_cost.waiting_cost(cell.metrics(), _warmed_up_for(cell), _holds(cell)),
        requests_a_session=len(samples) / len(sessions),
    )


def outcomes(cell: CellFolder, steady: bool = True) -> pd.DataFrame:
    """How the requests of each time window ended: :func:`lab.formulas.ramp.outcomes`.

    Of a ramp, of a load in which a node did not answer, and of one whose requests call what was to fail or be slow for
    a time; empty for other loads.

    Args:
        steady: as in :func:`result_of`.

    """
    if found := result_of(cell, steady):
        return found.windows
    is_even = steady and not balancing.lost_a_node(cell)
    if cell.cell.load.is_ramp or is_even or not len(samples := _samples(cell)):
        return pd.DataFrame()
    return ramp.outcomes(samples, SHORTEST_S, BY_BREAKER)


def _samples(cell: CellFolder) -> pd.DataFrame:
    pieces = [piece for piece in cell.measured_pieces(ramp.COLUMNS) if len(piece)]
    return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=list(ramp.COLUMNS))


def _warmed_up_for(cell: CellFolder) -> int:
    """The most users of a round of the warm-up, for this load or an earlier one of the same start."""
    evidence = cell.read("evidence")
    rounds = [*evidence.get("warm_up_before", ()), *evidence.get("warm_up", ())]
    return max((int(each.get("users", 0)) for each in rounds), default=0)


def _holds(cell: CellFolder) -> int | None:
    """How many requests the service of a cell works on at once, at most: a thread of the operating system for each."""
    limits = cell.read("limits")
    return limits.get("request_threads_max") if limits.get("request_threads_kind") == "platform" else None


def _mean_s(windows: pd.DataFrame) -> float | None:
    """The mean latency of the right answers of several windows."""
    right = windows[windows["right"] > 0]
    return float(np.average(right["mean_s"], weights=right["right"])) if len(right) else None
