"""Summary statistics of samples: exact percentiles, rates, errors, requests in the system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

SUMMARISED = (
    "planned_us",
    "sent_us",
    "latency_us",
    "waited_us",
    "user",
    "session",
    "step",
    "window",
    "status",
    "error",
)
# With fewer times the slowest one in twenty, or in a thousand, is just the slowest one: that is no percentile.
FEWEST_FOR_P95, FEWEST_FOR_P999 = 20, 1000


@dataclass(frozen=True)
class Summary:
    """Summary statistics of one cell's measured samples; latencies are of right answers only, in seconds.

    Attributes:
        mean_s: mean latency; like the percentiles from the actual send, or, in an open loop, from the planned send.
        min_s: the fastest right answer, as ``max_s`` is the slowest one.
        p95_s: the 95th percentile; None with fewer than :data:`FEWEST_FOR_P95` right answers.
        p999_s: p99.9; None with fewer than :data:`FEWEST_FOR_P999` right answers.
        all_mean_s: mean latency of all requests: a failure counts with the time until it failed, a timeout with what it
            waited. The same for the percentiles. A latency of right answers alone looks good where slow ones time out.
        service_mean_s: mean service time, from the actual send in any case; the same for the percentiles.
        requests: answers and failures together.
        errors: count of failures by class.
        throughput_rps: requests over the time from the first one sent to the last one ended, as JMeter counts.
        ok_throughput_rps: the same for right answers.
        in_system: N̄, the mean number of requests under way by the samples (sum of latencies over elapsed time).
        elapsed_s: the time from the first request sent, at ``began_s`` after the planned start, to the last one ended.
        late_p99_s: 99th percentile of the lateness of planned sends that is due to the generator: of each user's first,
            in each window where there are several, or, in an open loop, of the first of each session.
        late_p999_s: the same, p99.9; None with fewer than :data:`FEWEST_FOR_P999` of them.
        late_max_s: the same, of the latest.
        late_mean_s: mean lateness of the sends that latencies or load depend on: in an open loop the planned ones, else
            those that a user sent later, counted from its answer or the end of its pause.
        busy_p99_s: as ``late_p99_s``, for lateness because all users of an open loop waited for answers or thought.
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
    late_p999_s: float | None = None
    began_s: float = 0.0
    late_mean_s: float = 0.0
    busy_p99_s: float = 0.0
    pace: float = 1.0
    p999_s: float | None = None
    service_p999_s: float | None = None
    all_mean_s: float | None = None
    all_p50_s: float | None = None
    all_p99_s: float | None = None
    all_p999_s: float | None = None
    min_s: float | None = None
    p95_s: float | None = None
    all_p90_s: float | None = None
    late_max_s: float = 0.0


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
    service, latency, failures, late, busy = (Distribution() for _ in range(5))
    sends, starts = _Span(), dict[int, tuple[_Span, _Span]]()
    requests, last_us, under_way_us, later_us, later = 0, 0, 0, 0, 0
    begun = np.zeros(0, dtype=np.int64)
    for piece in pieces:
        if piece.empty:
            continue
        sent, took = piece["sent_us"].to_numpy(), piece["latency_us"].to_numpy()
        late_us, right = sent - piece["planned_us"].to_numpy(), (piece["error"] == "").to_numpy()
        errors.update({str(n): int(c) for n, c in error_class(piece[~right]).value_counts().items()})
        service.add(took[right])
        latency.add((took + late_us)[right] if from_planned else took[:0])
        failures.add((took + late_us if from_planned else took)[~right])
        # A pause may end a moment before its time, so that a session begins before its user was to be free.
        busy_us = np.minimum(piece["waited_us"].to_numpy(), late_us.clip(0)) if from_planned else np.zeros_like(late_us)
        # An open loop plans the first request of each session, any other load that of each user in each window.
        first = (piece["step"] == 0).to_numpy()
        if not from_planned:
            first, begun = _first_of_users(piece, first, begun)
            later_us, later = later_us + int(late_us[~first].sum()), later + int((~first).sum())
        busy.add(busy_us[first])
        late.add((late_us - busy_us)[first])
        if from_planned:
            _add_starts(starts, piece, first)
        sends.add(sent)
        requests += len(piece)
        last_us = max(last_us, int((sent + took).max()))
        under_way_us += int(took.sum())
    if not requests:
        return Summary(0, {}, None, None, None, None, None, None, None, None, 0.0, 0.0, 0.0, 0.0, 0.0)
    elapsed_s = max(last_us - sends.first_us, 1) / 1e6
    answered = service.count
    of_service, of_lateness = service.figures(), late.figures()
    right_ones = latency if from_planned else service
    of_right, min_s = right_ones.figures(), right_ones.min_s()
    # Only now, as this array is the large one: a second one for all requests would take as much memory again.
    right_ones.add(failures.added())
    of_all = right_ones.figures() if failures.count else of_right
    return Summary(
        requests=requests,
        errors=dict(errors.most_common()),
        mean_s=of_right.mean_s,
        p50_s=of_right.p50_s,
        p90_s=of_right.p90_s,
        p99_s=of_right.p99_s,
        max_s=of_right.max_s,
        service_mean_s=of_service.mean_s,
        service_p50_s=of_service.p50_s,
        service_p99_s=of_service.p99_s,
        throughput_rps=requests / elapsed_s,
        ok_throughput_rps=answered / elapsed_s,
        elapsed_s=elapsed_s,
        in_system=under_way_us / 1e6 / elapsed_s,
        late_p99_s=of_lateness.p99_s or 0.0,
        late_p999_s=of_lateness.p999_s,
        late_mean_s=of_lateness.mean_s or 0.0 if from_planned else later_us / 1e6 / max(later, 1),
        began_s=sends.first_us / 1e6,
        busy_p99_s=busy.figures().p99_s or 0.0,
        pace=_pace(starts),
        p999_s=of_right.p999_s,
        service_p999_s=of_service.p999_s,
        all_mean_s=of_all.mean_s,
        all_p50_s=of_all.p50_s,
        all_p99_s=of_all.p99_s,
        all_p999_s=of_all.p999_s,
        min_s=min_s,
        p95_s=of_right.p95_s,
        all_p90_s=of_all.p90_s,
        late_max_s=of_lateness.max_s or 0.0,
    )


def _add_starts(spans: dict[int, tuple[_Span, _Span]], piece: pd.DataFrame, first: np.ndarray) -> None:
    """Add the planned and the actual starts of a piece to the spans of their windows."""
    numbers, planned, sent = (piece[name].to_numpy()[first] for name in ("window", "planned_us", "sent_us"))
    for number in np.unique(numbers):
        is_mine, (of_planned, of_sent) = numbers == number, spans.setdefault(int(number), (_Span(), _Span()))
        of_planned.add(planned[is_mine])
        of_sent.add(sent[is_mine])


def _pace(spans: Mapping[int, tuple[_Span, _Span]]) -> float:
    """The actual rate of starts as a share of the planned one; 1 without a rate that was planned.

    Each window by itself: one that takes longer than planned moves the plan of those after it.
    """
    planned_us, sent_us = (sum(both[which].length_us for both in spans.values()) for which in (0, 1))
    return min(1.0, planned_us / sent_us) if sent_us else 1.0


def _first_of_users(piece: pd.DataFrame, first: np.ndarray, begun: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which samples of a piece are the first of their user in their window, and who has begun by its end.

    Args:
        first: whether a sample is the first of its session.
        begun: a number for each user and window of the pieces before.

    """
    found: np.ndarray = first & (piece["session"] == 0).to_numpy()
    later = np.flatnonzero(first & (piece["window"] > 0).to_numpy())
    if not len(later):
        return found, begun
    users, windows = (piece[name].to_numpy(dtype=np.int64)[later] for name in ("user", "window"))
    new, at = np.unique((windows << 32) | users, return_index=True)
    is_new = ~np.isin(new, begun)
    found[later[at[is_new]]] = True
    return found, np.concatenate([begun, new[is_new]])


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


class Figures(NamedTuple):
    """The figures of a distribution in seconds; all None without times, p95 and p99.9 with too few of them."""

    mean_s: float | None
    p50_s: float | None
    p90_s: float | None
    p95_s: float | None
    p99_s: float | None
    p999_s: float | None
    max_s: float | None


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

    def added(self) -> np.ndarray:
        """All times that were added, in microseconds and in any order."""
        return self.times_us[: self.count]

    def min_s(self) -> float | None:
        """The shortest time in seconds; None without times."""
        return int(self.added().min()) / 1e6 if self.count else None

    def quantiles_s(self, percents: Sequence[float]) -> dict[float, float]:
        """Percentiles in seconds, of those that have at least one time above them."""
        # In tenths, as 100 - 99.9 is no tenth in binary.
        ranks = {p: rank(self.count, p) for p in percents if self.count * (1000 - round(10 * p)) >= 1000}
        if not ranks:
            return {}
        times_us = self.added()
        times_us.partition(list(ranks.values()))
        return {percent: int(times_us[place]) / 1e6 for percent, place in ranks.items()}

    def figures(self) -> Figures:
        """Mean, percentiles and maximum."""
        if not self.count:
            return Figures(None, None, None, None, None, None, None)
        times_us = self.added()
        ranks = [rank(self.count, percent) for percent in (50, 90, 95, 99, 99.9)]
        times_us.partition(ranks)
        p50_s, p90_s, p95_s, p99_s, p999_s = (int(times_us[place]) / 1e6 for place in ranks)
        return Figures(
            mean_s=float(times_us.mean(dtype=np.float64)) / 1e6,
            p50_s=p50_s,
            p90_s=p90_s,
            p95_s=p95_s if self.count >= FEWEST_FOR_P95 else None,
            p99_s=p99_s,
            p999_s=p999_s if self.count >= FEWEST_FOR_P999 else None,
            max_s=int(times_us.max()) / 1e6,
        )


def rank(count: int, percent: float) -> int:
    """The place, from 0 in ascending order, of a percentile given to a tenth: the least that so many do not exceed.

    In whole numbers, as ``count * percent`` of floats may round up to the next place.
    """
    return -(-count * round(10 * percent) // 1000) - 1


def as_planned(samples: pd.DataFrame) -> pd.DataFrame:
    """The samples of an open loop with latency counted from the planned send, which replaces the actual one."""
    waited_us = samples["sent_us"] - samples["planned_us"]
    return samples.assign(sent_us=samples["planned_us"], latency_us=samples["latency_us"] + waited_us)


def session_spans(samples: pd.DataFrame) -> pd.DataFrame:
    """When each session began and ended, ``begun_us`` and ``ended_us``, and whether it was ``stopped`` early."""
    ended_us = samples["sent_us"] + samples["latency_us"]
    by = samples.assign(ended_us=ended_us).groupby(["user", "session"], sort=False)
    return by.agg(begun_us=("sent_us", "min"), ended_us=("ended_us", "max"), stopped=("stopped", "any"))


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
