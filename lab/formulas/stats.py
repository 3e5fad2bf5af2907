"""Summary statistics of samples: exact percentiles, rates, errors, requests in the system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd

SUMMARISED = ("planned_us", "sent_us", "latency_us", "waited_us", "step", "status", "error")


@dataclass(frozen=True)
class Summary:
    """Summary statistics of one cell's measured samples; latencies are of right answers only, in seconds.

    Attributes:
        mean_s: mean latency; like the percentiles from the actual send, or, in an open loop, from the planned send.
        service_mean_s: mean service time, from the actual send in any case; the same for the percentiles.
        requests: answers and failures together.
        errors: count of failures by class.
        throughput_rps: requests over the time from the first one sent to the last one ended, as JMeter counts.
        ok_throughput_rps: the same for right answers.
        in_system: N̄, the mean number of requests under way by the samples (sum of latencies over elapsed time).
        elapsed_s: the time from the first request sent, at ``began_s`` after the planned start, to the last one ended.
        late_p99_s: 99th percentile of the lateness of sends that is due to the generator: against their plan, or, where
            there is none, since the user was free; in an open loop, of the first request of each session.
        late_mean_s: its mean.
        busy_p99_s: the same for lateness because all users were busy, waiting for answers or thinking, in an open loop.
        pace: the actual rate of an open loop's sends, as a share of the planned rate.

    """

    requests: int
    errors: dict[str, int]
    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p99_s: float | None
    max_s: float | None
    service_mean_s: float | None
    service_p50_s: float | None
    service_p99_s: float | None
    throughput_rps: float
    ok_throughput_rps: float
    elapsed_s: float
    in_system: float
    late_p99_s: float
    began_s: float = 0.0
    late_mean_s: float = 0.0
    busy_p99_s: float = 0.0
    pace: float = 1.0


def error_class(samples: pd.DataFrame) -> pd.Series:
    """The class of each sample's failure, empty for a right answer: ``HTTP 503`` for an unexpected status."""
    status = samples["error"] == "status"
    return samples["error"].astype(object).mask(status, "HTTP " + samples["status"].astype(str))


def summarise(samples: pd.DataFrame, from_planned: bool = False) -> Summary:
    """Summarise the measured samples of one cell (without its warm-up).

    Percentiles are exact: the smallest latency that at least p of all samples do not exceed (inverted CDF).

    Args:
        from_planned: count latency from the planned send of each request, as an open loop must, against coordinated
            omission: a delayed send does not hide the wait.

    """
    return summarise_pieces([samples], from_planned)


def summarise_pieces(pieces: Iterable[pd.DataFrame], from_planned: bool = False) -> Summary:
    """Summarise samples that are read in pieces, with the same results as :func:`summarise`.

    Only times are kept of each piece, four bytes a time where microseconds fit into them (they do below 35 minutes), so
    that fifty million samples need a few hundred megabytes.

    Args:
        pieces: data frames with the columns :data:`SUMMARISED`.
        from_planned: as in :func:`summarise`.

    """
    errors: Counter[str] = Counter()
    service, latency, late, busy = Distribution(), Distribution(), Distribution(), Distribution()
    sends, starts, planned = _Span(), _Span(), _Span()
    requests, last_us, under_way_us = 0, 0, 0
    for piece in pieces:
        if piece.empty:
            continue
        sent, took = piece["sent_us"].to_numpy(), piece["latency_us"].to_numpy()
        late_us, right = sent - piece["planned_us"].to_numpy(), (piece["error"] == "").to_numpy()
        errors.update({str(n): int(c) for n, c in error_class(piece[~right]).value_counts().items()})
        service.add(took[right])
        latency.add((took + late_us)[right] if from_planned else took[:0])
        # A pause may end a moment before its time, so that a session begins before its user was to be free.
        busy_us = np.minimum(piece["waited_us"].to_numpy(), late_us.clip(0)) if from_planned else np.zeros_like(late_us)
        # An open loop plans the first request of each session; the others follow whenever the session gets to them.
        first = (piece["step"] == 0).to_numpy() if from_planned else np.ones(len(piece), dtype=bool)
        busy.add(busy_us[first])
        late.add((late_us - busy_us)[first])
        starts.add(sent[first])
        planned.add(piece["planned_us"].to_numpy()[first])
        sends.add(sent)
        requests += len(piece)
        last_us = max(last_us, int((sent + took).max()))
        under_way_us += int(took.sum())
    if not requests:
        return Summary(0, {}, None, None, None, None, None, None, None, None, 0.0, 0.0, 0.0, 0.0, 0.0)
    elapsed_s = max(last_us - sends.first_us, 1) / 1e6
    service_s, late_s = service.distribution(), late.distribution()
    mean_s, p50_s, p90_s, p99_s, max_s = latency.distribution() if from_planned else service_s
    return Summary(
        requests=requests,
        errors=dict(errors.most_common()),
        mean_s=mean_s,
        p50_s=p50_s,
        p90_s=p90_s,
        p99_s=p99_s,
        max_s=max_s,
        service_mean_s=service_s[0],
        service_p50_s=service_s[1],
        service_p99_s=service_s[3],
        throughput_rps=requests / elapsed_s,
        ok_throughput_rps=service.count / elapsed_s,
        elapsed_s=elapsed_s,
        in_system=under_way_us / 1e6 / elapsed_s,
        late_p99_s=late_s[3] or 0.0,
        late_mean_s=late_s[0] or 0.0,
        began_s=sends.first_us / 1e6,
        busy_p99_s=busy.distribution()[3] or 0.0,
        pace=min(1.0, planned.length_us / starts.length_us) if from_planned and starts.length_us else 1.0,
    )


class _Span:
    """The earliest and latest of times that are added in pieces, in microseconds."""

    def __init__(self) -> None:
        self.first_us, self.last_us = np.iinfo(np.int64).max, np.iinfo(np.int64).min

    @property
    def length_us(self) -> int:
        return self.last_us - self.first_us

    def add(self, moments_us: np.ndarray) -> None:
        if not len(moments_us):
            return
        self.first_us = min(self.first_us, int(moments_us.min()))
        self.last_us = max(self.last_us, int(moments_us.max()))


class Distribution:
    """The distribution of times that are added in pieces, in microseconds."""

    def __init__(self) -> None:
        self.times_us = np.empty(0, dtype=np.int32)
        self.count = 0

    def add(self, times_us: np.ndarray) -> None:
        """Add a piece, in 32 bits for as long as values allow; the array grows in place by an eighth."""
        if len(times_us) and max(-int(times_us.min()), int(times_us.max())) > np.iinfo(np.int32).max:
            self.times_us = self.times_us.astype(np.int64)
        end = self.count + len(times_us)
        if end > len(self.times_us):
            self.times_us.resize(max(end, self.count * 9 // 8), refcheck=False)
        self.times_us[self.count : end] = times_us
        self.count = end

    def distribution(
        self, middle: int = 90
    ) -> tuple[float | None, float | None, float | None, float | None, float | None]:
        """Mean, p50, the ``middle`` percentile, p99 and maximum in seconds; all None without times."""
        if not self.count:
            return None, None, None, None, None
        times_us = self.times_us[: self.count]
        ranks = [-(-self.count * percent // 100) - 1 for percent in (50, middle, 99)]
        times_us.partition(ranks)
        p50_s, middle_s, p99_s = (int(times_us[rank]) / 1e6 for rank in ranks)
        return float(times_us.mean(dtype=np.float64)) / 1e6, p50_s, middle_s, p99_s, int(times_us.max()) / 1e6


def as_planned(samples: pd.DataFrame) -> pd.DataFrame:
    """The samples of an open loop with latency counted from the planned send, which replaces the actual one."""
    waited_us = samples["sent_us"] - samples["planned_us"]
    return samples.assign(sent_us=samples["planned_us"], latency_us=samples["latency_us"] + waited_us)


def rate_over_time(samples: pd.DataFrame, step_s: float) -> tuple[np.ndarray, np.ndarray]:
    """Throughput of right answers over time, by when they arrived.

    Returns:
        Left edges of the steps in seconds since the planned start, shape (n,), and the rate in each, shape (n,).

    """
    ended = (samples["sent_us"] + samples["latency_us"])[samples["error"] == ""].to_numpy() / 1e6
    edges = np.arange(0, (ended.max() if len(ended) else 0) + 2 * step_s, step_s)
    counts, _ = np.histogram(ended, bins=edges)
    return edges[:-1], counts / step_s


def under_way(samples: pd.DataFrame, at_s: np.ndarray) -> np.ndarray:
    """Requests under way at the times ``at_s`` (seconds since the planned start), by the samples."""
    begun = np.sort(samples["sent_us"].to_numpy()) / 1e6
    ended = np.sort((samples["sent_us"] + samples["latency_us"]).to_numpy()) / 1e6
    return np.searchsorted(begun, at_s, side="right") - np.searchsorted(ended, at_s, side="right")
