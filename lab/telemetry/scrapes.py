"""How Prometheus' own scrapes went while a load lasted: made, missed, late, by its own series."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

import requests

from lab.runtimes import loopback
from lab.runtimes.waiting import await_exit_reasons, settled
from lab.system.prometheus import ANSWER_WITHIN_S, EVERY_S, PART, START, Prometheus

# What Prometheus records of each scrape, under the time at which it began.
UP, DURATION, SAMPLES = "up", "scrape_duration_seconds", "scrape_samples_scraped"
# A page that took longer than this share of the interval says little of the moment that it is recorded under.
LATE_SHARE = 0.5
# A scrape that began within a load has ended, and is recorded, so long after it.
RECORDED_WITHIN_S = 3.0

Series = Mapping[float, float]


@dataclass(frozen=True)
class Scrapes:
    """The scrapes of one part in a span of time.

    Attributes:
        due: how many there should have been, one an interval.
        missed: those that got no page: refused, or not answered within the interval.
        skipped: those that Prometheus did not make at all, from the begin of the span to its end.
        late: those of the others that took more than half of the interval.
        longest_s: how long the longest took.
        samples: how many values a page had, typically.

    """

    due: int = 0
    missed: int = 0
    skipped: int = 0
    late: int = 0
    longest_s: float = 0.0
    samples: float = 0.0

    def plus(self, other: Scrapes) -> Scrapes:
        """Those of both spans."""
        return Scrapes(
            self.due + other.due,
            self.missed + other.missed,
            self.skipped + other.skipped,
            self.late + other.late,
            max(self.longest_s, other.longest_s),
            other.samples or self.samples,
        )


def of_span(begin_s: float, end_s: float, up: Series, took_s: Series, samples: Series) -> Scrapes:
    """The scrapes that began between two moments (Unix time), from Prometheus' series by the time of the scrape."""
    within = [t for t in sorted(up) if begin_s <= t <= end_s]
    right = [t for t in within if up[t]]
    skipped = _lacking(begin_s, end_s, sorted(up))
    return Scrapes(
        due=len(within) + skipped,
        missed=len(within) - len(right),
        skipped=skipped,
        late=sum(took_s.get(t, 0.0) > LATE_SHARE * EVERY_S for t in right),
        longest_s=max((took_s.get(t, 0.0) for t in within), default=0.0),
        samples=median([samples.get(t, 0.0) for t in right]) if right else 0.0,
    )


def _lacking(begin_s: float, end_s: float, times: Sequence[float]) -> int:
    """At how many moments of a span a scrape was due that was not made.

    They are counted from the scrape before, where the next one is an interval or more too late, or never comes. Before
    the first one they are counted backwards from it; without any, from the begin of the span.
    """
    if not times:
        return math.floor((end_s - begin_s) / EVERY_S)
    due = [times[0] - EVERY_S * number for number in range(1, math.floor((times[0] - begin_s) / EVERY_S) + 1)]
    for one, other in pairwise(times):
        due += [one + EVERY_S * number for number in range(1, round((other - one) / EVERY_S))]
    due += [times[-1] + EVERY_S * number for number in range(1, math.floor((end_s - times[-1]) / EVERY_S) + 1)]
    return sum(begin_s <= t <= end_s for t in due)


def read(prometheus: Prometheus, start: str, begin_s: float, end_s: float) -> tuple[dict[str, Scrapes], str]:
    """By part, the scrapes of a start of services, and of what all share, that began between two moments.

    Each part that is being scraped is there: of one without a series all were missed.

    Returns:
        The scrapes, and why Prometheus' series are not known, such as ``was killed by SIGKILL``, or nothing. Where they
        are not, all scrapes were missed: those that it had made before its end too.

    """
    parts = prometheus.parts(start)
    try:
        return _read(prometheus, start, begin_s, end_s, parts), ""
    except (requests.RequestException, ValueError, KeyError):
        lost = str(await_exit_reasons(prometheus.running.exit_reason) or "did not say how its scrapes went")
        return {part: of_span(begin_s, end_s, {}, {}, {}) for part in parts}, lost


def _read(prometheus: Prometheus, start: str, begin_s: float, end_s: float, parts: Iterable[str]) -> dict[str, Scrapes]:
    expected: dict[str, dict[float, float]] = {part: {} for part in parts}
    up = settled(
        lambda: {**expected, **_series(prometheus, start, UP, begin_s)},
        lambda up: all(max(series, default=0.0) > end_s for series in up.values()),
        RECORDED_WITHIN_S,
    )
    took_s, samples = (_series(prometheus, start, name, begin_s) for name in (DURATION, SAMPLES))
    return {
        part: of_span(begin_s, end_s, series, took_s.get(part, {}), samples.get(part, {}))
        for part, series in sorted(up.items())
    }


def _series(prometheus: Prometheus, start: str, name: str, begin_s: float) -> dict[str, dict[float, float]]:
    """A series since a little before a moment, by part, with the times of its scrapes."""
    now = time.time()
    query = f'{name}{{{START}=~"|{start}"}}[{int(now - begin_s) + 2 * EVERY_S}s]'
    answer = loopback.get(f"{prometheus.url}/api/v1/query", ANSWER_WITHIN_S, {"query": query, "time": str(now)})
    answer.raise_for_status()
    found: list[dict[str, Any]] = answer.json()["data"]["result"]
    return {of["metric"][PART]: {float(t): float(value) for t, value in of["values"]} for of in found}
