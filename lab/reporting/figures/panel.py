"""The panel of one cell in a figure: its samples and metrics, and the series that figures draw from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.formulas import stats
from lab.reporting.figures.style import KNOWN, Style, label_of
from lab.reporting.formatting import SURVIVORS
from lab.spec.nodes import is_node
from lab.telemetry.sampler import BESIDE_WORKERS, ON_SERVICE_CORES, WORKER

Curve = tuple[NDArray[np.float64], NDArray[np.float64]]
MOMENTS = 800
MOST_POINTS = 4000


def _no_metrics() -> pd.DataFrame:
    return pd.DataFrame({"t_s": [0.0], "target": [""], "name": [""], "value": [0.0]}).iloc[:0]


@dataclass(frozen=True)
class Panel:
    """The data of one cell that a figure's panel shows.

    Attributes:
        samples: the measured samples; see :data:`lab.spec.sample.SCHEMA`.
        style: how it is drawn.
        metrics: rows of ``t_s``, ``target``, ``name``, ``value``: :meth:`lab.storage.cell_folder.CellFolder.metrics`.
        from_planned: count latency from the planned moment of each request, as an open loop must.

    """

    variant: str
    samples: pd.DataFrame
    verdict: str
    predicted_mean_s: float | None
    style: Style = KNOWN["mvc"]
    metrics: pd.DataFrame = field(default_factory=_no_metrics)
    from_planned: bool = False

    @property
    def label(self) -> str:
        """What a legend calls it: variant, verdict unless that is good, and whether it shows only who went on."""
        stopped = bool(self.samples["stopped"].any())
        return label_of(self.variant, self.verdict) + f" {SURVIVORS} some stopped" * stopped

    @property
    def right(self) -> pd.Series:
        """Whether each sample is a right answer."""
        return self.samples["error"] == ""

    @property
    def ended_s(self) -> pd.Series:
        """When each request was answered or failed, in seconds since the planned start."""
        return (self.samples["sent_us"] + self.samples["latency_us"]) / 1e6

    @property
    def latency_s(self) -> pd.Series:
        """How long each request took, in seconds."""
        begun = self.samples["planned_us" if self.from_planned else "sent_us"]
        return self.ended_s - begun / 1e6

    @property
    def end_s(self) -> float:
        """When the last request ended, in seconds since the planned start; 1 where there is none."""
        return float(self.ended_s.max()) if len(self.samples) else 1.0

    def percentiles(self) -> Curve:
        """Right answers in order of latency: the percent of answers that were at least as fast, and seconds."""
        latency = np.sort(self.latency_s[self.right].to_numpy(dtype=float))
        share = 100 * (np.arange(len(latency)) + 0.5) / max(len(latency), 1)
        return thinned(share, latency)

    def under_way(self) -> Curve:
        """Moments in seconds since the planned start, and how many requests were under way at each."""
        at = np.linspace(0, self.end_s, MOMENTS)
        return at, stats.under_way(self.samples, at).astype(float)

    def users_alive(self) -> Curve:
        """Moments in seconds since the planned start, and how many users were in the middle of a session at each."""
        at, sessions = np.linspace(0, self.end_s, MOMENTS), stats.session_spans(self.samples)
        begun, ended = (np.sort(sessions[name].to_numpy()) / 1e6 for name in ("begun_us", "ended_us"))
        alive = np.searchsorted(begun, at, side="right") - np.searchsorted(ended, at, side="right")
        return at, alive.astype(float)

    def stops(self) -> Curve:
        """When sessions were stopped early, in seconds since the planned start, and how many had been until then."""
        sessions = stats.session_spans(self.samples)
        moments = np.sort(sessions.loc[sessions["stopped"], "ended_us"].to_numpy()) / 1e6
        return np.concatenate([[0.0], moments, [self.end_s]]), np.append(np.arange(len(moments) + 1.0), len(moments))

    def rate(self, step_s: float) -> Curve:
        """Left edges of steps in seconds, and right answers a second in each; the last step may be cut short."""
        return stats.rate_over_time(self.samples, step_s)

    def readings(self, target: str, names: Sequence[str]) -> Curve:
        """Times in seconds and values of the first of several metrics that was read, during the load."""
        for name in names:
            rows = self.metrics[(self.metrics["target"] == target) & (self.metrics["name"] == name)]
            rows = rows[rows["t_s"] <= self.end_s + 1].sort_values("t_s").drop_duplicates("t_s")
            if len(rows):
                return rows["t_s"].to_numpy(dtype=float), rows["value"].to_numpy(dtype=float)
        return np.zeros(0), np.zeros(0)

    def growth(self, target: str, name: str) -> Curve:
        """The rate of a counter: n+1 times at which it was read, and n rates a second in between."""
        at, value = self.readings(target, [name])
        return at, np.diff(value) / np.diff(at)

    @property
    def workers(self) -> list[str]:
        """The names of the Locust workers with readings."""
        return [target for target in self._processes if target.startswith(WORKER)]

    @property
    def behind(self) -> list[str]:
        """The names of what is behind the service, with readings: databases, links to them, components."""
        beside = (*BESIDE_WORKERS, *ON_SERVICE_CORES)
        return [target for target in self._processes if target not in (*beside, *self.workers, *self.nodes)]

    @property
    def nodes(self) -> list[str]:
        """The names of the service's nodes with readings, where it has several."""
        return [target for target in self._processes if is_node(target)]

    @property
    def _processes(self) -> list[str]:
        return sorted(self.metrics.loc[self.metrics["name"] == "cpu_s", "target"].astype(str).unique())


def thinned(share: NDArray[np.float64], latency: NDArray[np.float64]) -> Curve:
    """A distribution with fewer points: every one of the slowest thousand, and evenly chosen ones of the others."""
    tail = min(1000, len(share))
    body = len(share) - tail
    chosen = np.unique(np.linspace(0, body - 1, min(body, MOST_POINTS)).astype(int)) if body else np.zeros(0, int)
    kept = np.concatenate([chosen, np.arange(body, len(share))])
    return share[kept], latency[kept]


def step_of(end_s: float) -> float:
    """A width of time steps that gives some forty of them: 1, 2 or 5 times a power of ten, in seconds."""
    wanted = max(end_s, 0.1) / 40
    power = 10.0 ** np.floor(np.log10(wanted))
    return float(power * next(step for step in (1, 2, 5, 10) if step * power >= wanted))
