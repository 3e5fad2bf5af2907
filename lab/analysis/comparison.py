"""The result of a comparison: each metric of two sides is different, alike, or undecided, with an interval."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from lab.analysis import findings, scorecard
from lab.analysis.findings import ALIKE, DIFFERENT, UNDECIDED
from lab.analysis.shift import Pair, QuantileRatio, quantile_ratios
from lab.analysis.verdict import FAILED_SUSPECT_SHARE
from lab.formulas import inference
from lab.formulas.inference import Difference, Ratio

# Sides whose ratio is surely within this margin, of either side over the other, are alike.
MARGIN = 0.05
# The same for percentages of failed requests, in percentage points: more than that makes a measurement suspect.
FAILED_MARGIN = 100 * FAILED_SUSPECT_SHARE
FAILED, CPU, THROUGHPUT, MEAN = "failed %", "CPU s per 1000 requests", "throughput req/s", "mean s"
P999 = "p99.9 s"
# The compared metrics: the field of summary.json, and whether more of it is better.
METRICS = {
    FAILED: ("errors", False),
    THROUGHPUT: ("ok_throughput_rps", True),
    MEAN: ("mean_s", False),
    "p50 s": ("p50_s", False),
    "p99 s": ("p99_s", False),
    P999: ("p999_s", False),
    CPU: ("cpu_s_per_1000_requests", False),
}
# Shown, and not tested: each further test makes every other one find less, and this metric is the noisiest of them.
UNTESTED = frozenset({P999})
# The words for a row that finds nothing.
ONCE, NO_VALUE, NOT_TESTED = "measured once", "no value", "not tested"
ONE_FACT, AS_PLANNED, BREAKER = "as throughput", "as planned", "breaker answered"


@dataclass(frozen=True)
class MetricRow:
    """The comparison of one metric at one load.

    Attributes:
        a, b: the compared sides.
        at: the load in words, such as ``400 users``.
        a_value, b_value: geometric means over the repeats, of failures the percentage of all requests; None where a
            side has no such value.
        ratio: B over A, with its interval; None where a side has no value, and for failures.
        difference: of failures, B − A in percentage points, with its interval; None for any other metric.
        p: the p value of a difference after Holm's correction over all rows of the comparison; ``alike_p`` is that of
            the two being alike within ``margin``. None where a side was measured once, and where nothing is tested.
        instead: why it is shown and not tested: it says the same as the throughput does, is set by the plan, or an open
            circuit breaker left the slow requests out of it; else empty.

    """

    a: str
    b: str
    users: int
    at: str
    metric: str
    a_value: float | None
    b_value: float | None
    ratio: Ratio | None
    difference: Difference | None = None
    margin: float = MARGIN
    p: float | None = None
    alike_p: float | None = None
    instead: str = ""

    @property
    def effect(self) -> Ratio | Difference | None:
        """What both sides differ by: a ratio, or of failures a difference; None where a side has no value."""
        return self.difference if self.metric == FAILED else self.ratio

    @property
    def is_tested(self) -> bool:
        """Whether its metric is one in which a difference is looked for."""
        return self.metric not in UNTESTED and not self.instead

    @property
    def is_throughput(self) -> bool:
        """Whether it is right answers a second."""
        return self.metric == THROUGHPUT

    @property
    def is_trivial(self) -> bool:
        """Whether nothing failed on either side: no test could find a difference, however many there were."""
        return self.metric == FAILED and not self.a_value and not self.b_value

    @property
    def pairs(self) -> int:
        """The number of repeats of each side."""
        return self.effect.pairs if self.effect else 0

    @property
    def finding(self) -> str | None:
        """``different``, ``alike`` or ``undecided``; None where nothing is tested, or a side has no value.

        A difference that was found may lie within the margin: then it is small, and still a difference.
        """
        if self.effect is None or not self.is_tested:
            return None
        if self.p is not None and self.p < inference.LEVEL:
            return DIFFERENT
        return ALIKE if self.alike_p is not None and self.alike_p < inference.LEVEL else UNDECIDED

    @property
    def differs(self) -> bool:
        """Whether a difference was found."""
        return self.finding == DIFFERENT

    @property
    def winner(self) -> str | None:
        """The better side by the values alone; None if there is nothing to compare, or no difference at all."""
        if self.ratio is not None:
            size = self.ratio.ratio - 1
        else:
            size = self.difference.difference if self.difference is not None else 0.0
        if not size:
            return None
        return self.b if (size > 0) == METRICS[self.metric][1] else self.a

    @property
    def points(self) -> int:
        """The winner's points on the scorecard; none for a metric that is not tested, and for failures."""
        return scorecard.points(self.ratio.ratio) if self.ratio and self.is_tested else 0

    @property
    def word(self) -> str:
        """The row's result: its finding, or why there is none."""
        if self.effect is None:
            return NO_VALUE
        if self.instead:
            return self.instead
        if not self.is_tested:
            return NOT_TESTED
        return ONCE if self.pairs < 2 else str(self.finding)


@dataclass(frozen=True)
class Comparison:
    """The rows of a comparison, with notes on cells that take no part and on other differences.

    Attributes:
        interleaved: whether both sides are of one run, with interleaved repeats; else each run counts once.
        notes: sentences on cells that take no part or are suspect, and on other differences.
        summaries: by the name of each cell, its summary; empty for a cell that was not measured to its end.
        by_design: sentences on the factors in which the sides differ by design.
        pairs: the cells that stand side by side.
        in_windows: of a run in windows, sentences on the ratio by its starts, and what would make it more certain.
        of_closed_loop: whether a side is of a closed loop: see :attr:`lab.spec.plan.Plan.is_closed_loop`.

    """

    rows: tuple[MetricRow, ...]
    interleaved: bool
    notes: tuple[str, ...]
    summaries: dict[str, dict[str, Any]]
    by_design: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    in_windows: tuple[str, ...] = ()
    of_closed_loop: bool = False

    def table(self) -> pd.DataFrame:
        """One row a metric and load: both values, B over A, its interval, corrected p values, effect, and a word.

        Of failures, ``difference``, ``low`` and ``high`` are in percentage points, and there is no ratio.
        """
        return pd.DataFrame([_flat(row) for row in self.rows])

    @cached_property
    def quantiles(self) -> tuple[QuantileRatio, ...]:
        """B over A for percentiles of latency, each with an interval of its own; reads all samples.

        A percentile is there if every cell has answers enough for it.
        """
        return tuple(found for pair in self.pairs for found in quantile_ratios(pair))

    @property
    def scores(self) -> dict[str, tuple[int, int]]:
        """By side: points on the scorecard by the values alone, and by differences that were found only."""
        scores = {side: (0, 0) for row in self.rows for side in (row.a, row.b)}
        for row in self.rows:
            if row.winner:
                all_points, found = scores[row.winner]
                scores[row.winner] = all_points + row.points, found + row.points * row.differs
        return scores

    @property
    def tested(self) -> int:
        """How many comparisons the p values are corrected for."""
        return sum(row.p is not None for row in self.rows)

    @property
    def verdict(self) -> str:
        """The result in words: a sentence for each pair and load, or one for a pair without common data."""
        return findings.verdict(self)

    @property
    def correction(self) -> str:
        """Sentences on the correction for multiple comparisons, and on what is one fact; empty without repeats."""
        if not self.tested:
            return ""
        one_fact = any(row.instead == ONE_FACT for row in self.rows)
        return (
            f"Sides are called different or alike at p < {inference.LEVEL:g}, corrected for {self.tested} comparisons "
            "(Holm). Each interval is of one ratio alone: of many, some miss 1 by chance."
        ) + " In a closed loop throughput and mean latency are one fact, N = X·(R + Z), and count once." * one_fact

    @property
    def scoring(self) -> str:
        """The scorecard as a sentence; empty without comparable data."""
        if not any(row.ratio for row in self.rows):
            return ""
        scores = ", ".join(f"{side} {points} ({found})" for side, (points, found) in self.scores.items())
        return f"Scorecard ({scorecard.BOUNDARIES}; in brackets only differences that were found): {scores}."

    def repeats_needed(self, worth_finding: Sequence[float] = (1.02, 1.05, 1.10, 1.20)) -> pd.DataFrame:
        """How many interleaved repeats find a difference: see :func:`lab.formulas.inference.repeats_needed`.

        Args:
            worth_finding: ratios, such as 1.05.

        Returns:
            One row a pair, load and metric whose noise is known: ``noise`` is the coefficient of variation from one
            run to the next, and a column such as ``5 %`` the number of repeats.

        """
        comparisons = max(self.tested, 1)
        return pd.DataFrame(
            {
                "a": row.a,
                "b": row.b,
                "users": row.users,
                "at": row.at,
                "metric": row.metric,
                "noise": row.ratio.noise_cv,
                **{
                    f"{100 * (ratio - 1):.0f} %": inference.repeats_needed(
                        row.ratio.noise_cv, ratio, comparisons=comparisons, seen_in=row.ratio.pairs
                    )
                    for ratio in worth_finding
                },
            }
            for row in self.rows
            if row.is_tested and row.ratio and row.ratio.noise_cv is not None
        )

    def against(self, claimed: float, a: str, b: str, metric: str = THROUGHPUT) -> list[str]:
        """Compare a claimed ratio B over A with the measured interval: a sentence for each load.

        Args:
            claimed: the ratio, such as 1.57 for "57 % more".
            a, b: the sides, as :meth:`table` names them.
            metric: one of :data:`METRICS`.

        """
        rows = [row for row in self.rows if (row.a, row.b, row.metric) == (a, b, metric)]
        return [findings.held_against(row, claimed) for row in rows]

    def as_json(self) -> dict[str, Any]:
        """The object that ``lab compare --json`` prints."""
        return {
            "interleaved": self.interleaved,
            "rows": [_row_as_json(row) for row in self.rows],
            "quantiles": [asdict(found) for found in self.quantiles],
            "scorecard": {side: {"points": p, "found": found} for side, (p, found) in self.scores.items()},
            "boundaries": scorecard.BOUNDARIES,
            "verdict": self.verdict,
            "by_design": list(self.by_design),
            "in_windows": list(self.in_windows),
            "notes": list(self.notes),
        }


def corrected(rows: Iterable[MetricRow]) -> list[MetricRow]:
    """The rows with p values corrected for multiple comparisons (Holm): of differences, and of being alike.

    At most one of both can be wrong in a row, as sides that are equal do not differ by more than the margin.
    """
    found = list(rows)
    tested = [row for row in found if row.is_tested and row.effect and row.pairs > 1]
    # What cannot differ makes no other p larger (R. E. Tarone, Biometrics 46, 1990).
    p = _holm({id(row): row.effect.p for row in tested if row.effect and not row.is_trivial})
    alike_p = _holm({id(row): row.effect.alike_p(row.margin) for row in tested if row.effect})
    return [replace(row, p=p.get(id(row)), alike_p=alike_p.get(id(row))) for row in found]


def _holm(by_row: Mapping[int, float | None]) -> dict[int, float]:
    """Corrected p values by the same keys, without those that there are none of."""
    known = {key: value for key, value in by_row.items() if value is not None}
    return dict(zip(known, inference.holm(list(known.values())), strict=True))


def _row_as_json(row: MetricRow) -> dict[str, Any]:
    results = {"finding": row.finding, "differs": row.differs, "winner": row.winner, "points": row.points}
    return {**asdict(row), **results, "verdict": row.word}


def _flat(row: MetricRow) -> dict[str, Any]:
    ratio, effect = row.ratio, row.effect
    return {
        "a": row.a,
        "b": row.b,
        "users": row.users,
        "at": row.at,
        "metric": row.metric,
        "a_value": row.a_value,
        "b_value": row.b_value,
        "ratio": ratio and ratio.ratio,
        "difference": row.difference and row.difference.difference,
        "low": effect and effect.low,
        "high": effect and effect.high,
        "p": row.p,
        "alike_p": row.alike_p,
        "effect": ratio and ratio.effect,
        "repeats": row.pairs,
        "verdict": row.word,
    }
