"""The result of a comparison: ratios with intervals, a scorecard, and a verdict in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from lab.analysis import scorecard
from lab.formulas import inference
from lab.formulas.inference import Ratio

WORTH_FINDING = 1.05
CPU, THROUGHPUT = "CPU s per 1000 requests", "throughput req/s"
P999 = "p99.9 s"
# The compared metrics: the field of summary.json, and whether more of it is better.
METRICS = {
    THROUGHPUT: ("ok_throughput_rps", True),
    "mean s": ("mean_s", False),
    "p50 s": ("p50_s", False),
    "p99 s": ("p99_s", False),
    P999: ("p999_s", False),
    CPU: ("cpu_s_per_1000_requests", False),
}
# Shown, and not tested: each further test makes every other one find less, and this metric is the noisiest of them.
UNTESTED = frozenset({P999})


@dataclass(frozen=True)
class MetricRow:
    """The comparison of one metric at one load.

    Attributes:
        a, b: the compared sides.
        at: the load in words, such as ``400 users``.
        a_value, b_value: geometric means over the repeats; None where a side has no such value.
        ratio: B over A, with its interval; None where a side has no value.
        p: the ratio's p value after Holm's correction over all rows of the comparison.
        points: points of the better side on the scorecard.

    """

    a: str
    b: str
    users: int
    at: str
    metric: str
    a_value: float | None
    b_value: float | None
    ratio: Ratio | None
    p: float | None = None

    @property
    def is_tested(self) -> bool:
        """Whether its metric is one in which a difference is looked for."""
        return self.metric not in UNTESTED

    @property
    def differs(self) -> bool:
        """Whether a difference was found."""
        return self.p is not None and self.p < inference.LEVEL

    @property
    def winner(self) -> str | None:
        """The better side by the values alone; None if there is no ratio."""
        if self.ratio is None:
            return None
        return self.b if (self.ratio.ratio > 1) == METRICS[self.metric][1] else self.a

    @property
    def points(self) -> int:
        """The winner's points on the scorecard; none for a metric that is not tested."""
        return scorecard.points(self.ratio.ratio) if self.ratio and self.is_tested else 0

    @property
    def word(self) -> str:
        """The row's result: ``differs``, ``no difference found``, ``one run a side``, ``no value``, ``not tested``."""
        if self.ratio is None:
            return "no value"
        if not self.is_tested:
            return "not tested"
        if self.p is None:
            return "one run a side"
        return "differs" if self.differs else "no difference found"


@dataclass(frozen=True)
class Comparison:
    """The rows of a comparison, with notes on cells that were left out and on other differences.

    Attributes:
        interleaved: whether both sides are of one run, with interleaved repeats.
        notes: sentences on cells that were left out or are suspect, and on other differences.
        summaries: by the name of each cell, its summary; empty for a cell that was left out.
        by_design: sentences on the factors in which the sides differ by design.
        in_windows: of a run in windows, sentences on the ratio by its starts, and what would make it more certain.

    """

    rows: tuple[MetricRow, ...]
    interleaved: bool
    notes: tuple[str, ...]
    summaries: dict[str, dict[str, Any]]
    by_design: tuple[str, ...] = ()
    in_windows: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """One row a metric and load: both values, B over A, its interval, corrected p, effect, and a word."""
        return pd.DataFrame([_flat(row) for row in self.rows])

    @property
    def scores(self) -> dict[str, tuple[int, int]]:
        """By side: points on the scorecard by the values alone, and by significant differences only."""
        scores = {side: (0, 0) for row in self.rows for side in (row.a, row.b)}
        for row in self.rows:
            if row.winner:
                all_points, found = scores[row.winner]
                scores[row.winner] = all_points + row.points, found + row.points * row.differs
        return scores

    @property
    def verdict(self) -> str:
        """The result in words: a sentence for each pair and load, or one for a pair without common data."""
        if all(row.p is None for row in self.rows) and any(row.ratio for row in self.rows):
            return "One run a side cannot tell a difference from chance; measure again with --repeat 5."
        pairs = dict.fromkeys((row.a, row.b) for row in self.rows)
        return "\n".join(
            sentence for pair in pairs for sentence in self._sentences([r for r in self.rows if (r.a, r.b) == pair])
        )

    def _sentences(self, rows: Sequence[MetricRow]) -> list[str]:
        if not any(row.ratio for row in rows):
            return [f"{rows[0].b} against {rows[0].a}: there is nothing to compare."]
        loads = dict.fromkeys(row.at for row in rows)
        return [self._sentence([row for row in rows if row.at == at]) for at in loads]

    def _sentence(self, rows: Sequence[MetricRow]) -> str:
        first = rows[0]
        known = [row for row in rows if row.ratio and row.is_tested]
        label = f"{first.b} against {first.a} at {first.at}"
        if not known:
            return f"{label}: there is nothing to compare."
        repeats = max(row.ratio.pairs for row in known if row.ratio)
        if repeats < 2:
            return f"{label}: one run a side cannot tell a difference from chance."
        how = "interleaved repeats" if self.interleaved else "runs a side that were not interleaved"
        found = [_claim(row) for row in known if row.differs]
        parts = ["; ".join(found)] if found else []
        if same := [row for row in known if row.p is not None and not row.differs]:
            parts.append(f"no difference found in {_names(same)}{self._cost(same)}")
        if once := [row for row in known if row.p is None]:
            parts.append(f"one run a side cannot tell in {_names(once)}")
        return f"{label} ({repeats} {how}): {'; '.join(parts)}."

    def _cost(self, rows: Sequence[MetricRow]) -> str:
        """How many repeats would find a difference of 5 % in the noisiest of these metrics."""
        needed, noisiest = max((self._needed(row.ratio, WORTH_FINDING), _short(row)) for row in rows if row.ratio)
        more = " or more" * (needed == inference.MOST_REPEATS)
        return f" (5 % in {noisiest} would be found with {needed:,}{more} repeats)"

    def _needed(self, ratio: Ratio, worth_finding: float) -> int:
        tested = sum(row.p is not None for row in self.rows)
        return inference.repeats_needed(
            ratio.noise_cv or 0.0, worth_finding, comparisons=max(tested, 1), seen_in=ratio.pairs
        )

    @property
    def correction(self) -> str:
        """A sentence on the correction for multiple comparisons; empty without repeats."""
        tested = sum(row.p is not None for row in self.rows)
        if not tested:
            return ""
        return (
            f"A difference is found at p < {inference.LEVEL:g}, corrected for {tested} comparisons (Holm). Each "
            "interval is of one ratio alone: of many, some miss 1 by chance."
        )

    @property
    def scoring(self) -> str:
        """The scorecard as a sentence; empty without comparable data."""
        if not any(row.ratio for row in self.rows):
            return ""
        scores = ", ".join(f"{side} {points} ({found})" for side, (points, found) in self.scores.items())
        return f"Scorecard ({scorecard.BOUNDARIES}; in brackets only differences that were found): {scores}."

    def repeats_needed(self, worth_finding: Sequence[float] = (1.02, WORTH_FINDING, 1.10, 1.20)) -> pd.DataFrame:
        """How many interleaved repeats find a difference: see :func:`lab.formulas.inference.repeats_needed`.

        Args:
            worth_finding: ratios, such as 1.05.

        Returns:
            One row a pair, load and metric whose noise is known: ``noise`` is the coefficient of variation from one
            run to the next, and a column such as ``5 %`` the number of repeats.

        """
        return pd.DataFrame(
            {
                "a": row.a,
                "b": row.b,
                "users": row.users,
                "at": row.at,
                "metric": row.metric,
                "noise": row.ratio.noise_cv,
                **{f"{100 * (ratio - 1):.0f} %": self._needed(row.ratio, ratio) for ratio in worth_finding},
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
        return [_held_against(row, claimed) for row in rows]

    def as_json(self) -> dict[str, Any]:
        """The object that ``lab compare --json`` prints."""
        return {
            "interleaved": self.interleaved,
            "rows": [
                {**asdict(row), "differs": row.differs, "winner": row.winner, "points": row.points} for row in self.rows
            ],
            "scorecard": {side: {"points": p, "found": found} for side, (p, found) in self.scores.items()},
            "boundaries": scorecard.BOUNDARIES,
            "verdict": self.verdict,
            "by_design": list(self.by_design),
            "in_windows": list(self.in_windows),
            "notes": list(self.notes),
        }


def _held_against(row: MetricRow, claimed: float) -> str:
    label = f"{row.b} over {row.a} at {row.at}, {_short(row)}"
    if row.ratio is None:
        return f"{label}: there is nothing to compare with {claimed:g}."
    if row.ratio.low is None or row.ratio.high is None:
        return f"{label}: {row.ratio.ratio:.2f} in one run a side, which cannot be held against {claimed:g}."
    inside = row.ratio.low <= claimed <= row.ratio.high
    word = "is possible" if inside else "is not what was measured here"
    return f"{label}: {row.ratio.ratio:.2f} ({row.ratio.low:.2f} to {row.ratio.high:.2f}); {claimed:g} {word}."


def _claim(row: MetricRow) -> str:
    """A found difference in words: the interval as percent more or less, or as a factor where it is large."""
    ratio = row.ratio
    if ratio is None or ratio.low is None or ratio.high is None:
        return _short(row)
    if max(ratio.high, 1 / ratio.low) > 3:
        return f"{_short(row)} {ratio.low:.3g} to {ratio.high:.3g} times that of {row.a}"
    ends = sorted((abs(ratio.low - 1), abs(ratio.high - 1)))
    direction = "higher" if ratio.ratio > 1 else "lower"
    return f"{_short(row)} {100 * ends[0]:.1f} to {100 * ends[1]:.1f} % {direction}"


def _names(rows: Sequence[MetricRow]) -> str:
    return ", ".join(_short(row) for row in rows)


def _short(row: MetricRow) -> str:
    return "CPU per request" if row.metric == CPU else row.metric.split()[0]


def _flat(row: MetricRow) -> dict[str, Any]:
    ratio = row.ratio
    return {
        "a": row.a,
        "b": row.b,
        "users": row.users,
        "at": row.at,
        "metric": row.metric,
        "a_value": row.a_value,
        "b_value": row.b_value,
        "ratio": ratio and ratio.ratio,
        "low": ratio and ratio.low,
        "high": ratio and ratio.high,
        "p": row.p,
        "effect": ratio and ratio.effect,
        "repeats": ratio.pairs if ratio else 0,
        "verdict": row.word,
    }
