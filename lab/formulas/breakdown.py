"""Summary statistics of a cell's parts: by name of the request, and of whole sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from lab.formulas.stats import Distribution, as_planned

# Gives the measured samples in pieces, with the columns that are named.
Pieces = Callable[[Sequence[str]], Iterable[pd.DataFrame]]
TIMES = ("planned_us", "sent_us", "latency_us")
NAMED = (*TIMES, "name", "method", "error", "fallback")
# What the parts of a session that lie in several pieces are summed by.
SUMMED = ("steps", "requests", "failed", "cut", "stopped")
OF_SESSIONS = (*TIMES, "user", "session", "step", "name", "error", "cut", "stopped")


@dataclass(frozen=True)
class NameSummary:
    """Summary statistics of the requests of one name; latencies are of right answers only, in seconds.

    Attributes:
        p95_s: None with fewer than :data:`lab.formulas.stats.FEWEST_FOR_P95` right answers.
        p999_s: p99.9; None with fewer than :data:`lab.formulas.stats.FEWEST_FOR_P999` of them.
        requests: answers and failures together; ``failed`` of them failed, ``fallbacks`` are right but substitutes.
        throughput_rps: requests over the elapsed time of the whole cell, so that the names' add up to the cell's.

    """

    name: str
    method: str
    requests: int
    failed: int
    fallbacks: int
    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    p999_s: float | None
    max_s: float | None
    throughput_rps: float


@dataclass(frozen=True)
class Times:
    """The distribution of a time in seconds; all None where there is none, p95 and p99.9 where there are too few."""

    mean_s: float | None
    p50_s: float | None
    p95_s: float | None
    p99_s: float | None
    p999_s: float | None
    max_s: float | None


@dataclass(frozen=True)
class SessionSummary:
    """Summary statistics of sessions; the times are of complete ones.

    Attributes:
        begun: all that sent a request: the sum of the four that follow.
        complete: came to their end, with right answers only.
        failed: came to their end, with at least one request that failed.
        stopped: stopped early by their user, as what failed was needed for the rest.
        cut: cut off by the end of the load.
        stopped_at: by name of the request that they sent last, how many were stopped.
        never_sent: requests that those who were stopped would have sent too; None where nobody knows how many.
        requests: mean number of requests of a complete session.
        steps: sum of the latencies of a session's requests.
        wall: from the first send to the last end of an answer; in an open loop from the planned start.
        think: the difference of the two: pauses between requests, and the time that the locustfile itself takes.

    """

    begun: int
    complete: int
    failed: int
    stopped: int
    cut: int
    stopped_at: dict[str, int]
    never_sent: int | None
    requests: float | None
    steps: Times
    wall: Times
    think: Times


def breakdown(
    pieces: Pieces, elapsed_s: float, from_planned: bool = False, requests_a_session: int = 0
) -> dict[str, Any]:
    """What ``summary.json`` holds of a cell besides its totals.

    Args:
        pieces: see :data:`lab.spec.sample.SCHEMA` for its columns; each user's samples in the order they were sent.
        elapsed_s: the time over which rates count: that of :class:`lab.formulas.stats.Summary`.
        from_planned: count latency from the planned send, as for the totals.
        requests_a_session: as in :func:`of_sessions`.

    Returns:
        ``by_name``, where there is more than one name or a fallback, and ``sessions``, where one has several requests;
        JSON types.

    """
    found: dict[str, Any] = {}
    if _has_names(pieces):
        found["by_name"] = [asdict(row) for row in by_name(pieces(NAMED), elapsed_s, from_planned)]
    if any((piece["step"] > 0).any() for piece in pieces(["step"])):
        found["sessions"] = asdict(of_sessions(pieces(OF_SESSIONS), from_planned, requests_a_session))
    return found


def _has_names(pieces: Pieces) -> bool:
    names: set[tuple[str, str]] = set()
    for piece in pieces(("name", "method", "fallback")):
        kinds = piece[["method", "name"]].drop_duplicates()
        names.update(zip(kinds["method"].astype(str), kinds["name"].astype(str), strict=True))
        if len(names) > 1 or piece["fallback"].any():
            return True
    return False


class _NameCounts:
    """The counts and latencies of one name, added in pieces."""

    def __init__(self) -> None:
        self.requests = self.failed = self.fallbacks = 0
        self.latency = Distribution()

    def add(self, samples: pd.DataFrame) -> None:
        right = (samples["error"] == "").to_numpy()
        self.requests += len(samples)
        self.failed += int((~right).sum())
        self.fallbacks += int(samples["fallback"].sum())
        self.latency.add(samples["latency_us"].to_numpy()[right])


def by_name(pieces: Iterable[pd.DataFrame], elapsed_s: float, from_planned: bool = False) -> list[NameSummary]:
    """The summary of each name and method, in the order of their first samples; they add up to that of the cell.

    Args:
        pieces: with the columns :data:`NAMED`.
        elapsed_s: as in :func:`breakdown`; the same for ``from_planned``.

    """
    counts: dict[tuple[str, str], _NameCounts] = {}
    for piece in pieces:
        samples = as_planned(piece) if from_planned else piece
        for (method, name), rows in samples.groupby(["method", "name"], observed=True, sort=False):
            counts.setdefault((str(method), str(name)), _NameCounts()).add(rows)
    return [
        NameSummary(
            name,
            method,
            of.requests,
            of.failed,
            of.fallbacks,
            **_shown(of.latency),
            throughput_rps=of.requests / elapsed_s,
        )
        for (method, name), of in counts.items()
    ]


def of_sessions(
    pieces: Iterable[pd.DataFrame], from_planned: bool = False, requests_a_session: int = 0
) -> SessionSummary:
    """The summary of all sessions: user and number say which samples are of one.

    Args:
        pieces: with the columns :data:`OF_SESSIONS`.
        from_planned: count the first request of each session from its planned send.
        requests_a_session: how many a session sends that comes to its end; 0 where that is not known beforehand: then
            by those that did, if all sent as many.

    """
    parts, last = [], []
    for piece in pieces:
        if len(piece):
            parts.append(_sessions(as_planned(piece) if from_planned else piece))
            last.append(piece.loc[piece["stopped"], ["user", "session", "step", "name"]])
    found = _joined(pd.concat(parts)) if parts else pd.DataFrame(columns=["begun", "ended", *SUMMED], dtype=np.int64)
    cut, stopped, failed = found["cut"] > 0, found["stopped"] > 0, found["failed"] > 0
    at_end = found[~cut & ~stopped]
    complete = found[~cut & ~stopped & ~failed]
    wall_us = complete["ended"] - complete["begun"]
    return SessionSummary(
        begun=len(found),
        complete=len(complete),
        failed=len(at_end) - len(complete),
        stopped=int(stopped.sum()),
        cut=int((cut & ~stopped).sum()),
        stopped_at=_last_names(pd.concat(last)) if stopped.any() else {},
        never_sent=_never_sent(found.loc[stopped, "requests"], at_end["requests"], requests_a_session),
        requests=float(complete["requests"].mean()) if len(complete) else None,
        steps=_times(complete["steps"]),
        wall=_times(wall_us),
        think=_times(wall_us - complete["steps"]),
    )


def _never_sent(of_stopped: pd.Series, of_whole: pd.Series, requests_a_session: int) -> int | None:
    """How many requests sessions that were stopped would have sent too; None where nobody knows how long they were.

    Args:
        of_stopped: how many each of those sent; ``of_whole``, each that came to its end.

    """
    if of_stopped.empty and len(of_whole):
        return 0
    if not requests_a_session and of_whole.nunique() != 1:
        return None  # those of many requests are stopped more often than those of few
    whole = requests_a_session or int(of_whole.iloc[0])
    missing = len(of_stopped) * whole - int(of_stopped.sum())
    return missing if missing >= 0 else None


def _last_names(samples: pd.DataFrame) -> dict[str, int]:
    """How many of the sessions of some samples ended with a request of each name, most first."""
    last = samples.sort_values("step").groupby(["user", "session"])["name"].last()
    return {str(name): int(count) for name, count in last.astype(str).value_counts().items()}


def _sessions(samples: pd.DataFrame) -> pd.DataFrame:
    """One row for each session, or part of one, in a piece: when it begun and ended, and its sums; times in µs."""
    rows = pd.DataFrame(
        {
            "user": samples["user"],
            "session": samples["session"],
            "begun": samples["sent_us"],
            "ended": samples["sent_us"] + samples["latency_us"],
            "steps": samples["latency_us"],
            "requests": 1,
            "failed": (samples["error"] != "").astype(int),
            "cut": samples["cut"].astype(int),
            "stopped": samples["stopped"].astype(int),
        }
    )
    return _joined(rows.set_index(["user", "session"]))


def _joined(parts: pd.DataFrame) -> pd.DataFrame:
    how = {"begun": "min", "ended": "max", **dict.fromkeys(SUMMED, "sum")}
    return parts.groupby(level=["user", "session"], sort=False).agg(how)


def _times(times_us: pd.Series) -> Times:
    of = Distribution()
    of.add(times_us.to_numpy(dtype=np.int64))
    return Times(**_shown(of))


def _shown(of: Distribution) -> dict[str, float | None]:
    """The figures of a part: those of a cell but for p90."""
    return {name: value for name, value in of.figures()._asdict().items() if name != "p90_s"}
