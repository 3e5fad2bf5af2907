"""Judges claims: confirmed, refuted or undecided, by comparing measured intervals with the claimed range.

A claim about several rows is confirmed if the interval of every row lies in its range, refuted if that of any row lies
outside (one counterexample is enough, whatever else is missing), and undecided otherwise: an interval that crosses a
limit, a cell that is invalid, incomplete or was not measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, SINGLE_SHARE, UNDECIDED, Repeat, ReproducedRow
from lab.formulas import queueing, t_interval

# The tolerance of a claim that a value "is" something: wide enough for a single measurement to confirm it.
NEAR = 0.10
SHOWN = 2

Measure = Callable[[Repeat], float | None]
Expect = Callable[[ReproducedRow], float]


@dataclass(frozen=True)
class ClaimCheck:
    """A measured number that a claim depends on, with the range in which the claim holds.

    Attributes:
        label: the row that the number belongs to.
        values: measured values, one a repeat; empty if no repeat is usable.
        low: lower end of the range in which the claim holds.
        high: upper end of that range.
        unit: the suffix of the numbers in a sentence, such as `` s``.
        single_share: the relative error of a single measurement.

    """

    label: str
    values: tuple[float, ...]
    low: float
    high: float
    unit: str = ""
    single_share: float = SINGLE_SHARE

    @property
    def interval(self) -> tuple[float, float]:
        """Student's interval of the mean over repeats, at 95 %; for a single measurement a share of it."""
        mean = fmean(self.values)
        if len(self.values) == 1:
            return mean - self.single_share * abs(mean), mean + self.single_share * abs(mean)
        error = stdev(self.values) / math.sqrt(len(self.values))
        reach = float(t_interval.reach(error, len(self.values) - 1))
        return mean - reach, mean + reach

    @property
    def word(self) -> str:
        """The claim's verdict by this number alone."""
        if not self.values:
            return UNDECIDED
        low, high = self.interval
        if self.low <= low and high <= self.high:
            return CONFIRMED
        return REFUTED if high < self.low or low > self.high else UNDECIDED

    def __str__(self) -> str:
        """The number beside its range, as part of a sentence."""
        if not self.values:
            return f"{self.label}: nothing valid was measured"
        low, high = self.interval
        found = f"{_short(fmean(self.values))}{self.unit} ({_short(low)} to {_short(high)})"
        return f"{self.label}: {found}, claimed {self._range()}"

    def _range(self) -> str:
        if math.isinf(self.high):
            return f"at least {_short(self.low)}{self.unit}"
        if math.isinf(self.low):
            return f"at most {_short(self.high)}{self.unit}"
        return f"{_short(self.low)} to {_short(self.high)}{self.unit}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def decide(checks: Iterable[ClaimCheck]) -> tuple[str, str]:
    """The verdict on a claim, and a sentence with the numbers that decided it."""
    found = list(checks)
    if not found:
        return UNDECIDED, "No row that the claim is about was measured."
    for word in (REFUTED, UNDECIDED):
        if deciding := [check for check in found if check.word == word]:
            return word, _sentence(deciding)
    return CONFIRMED, _sentence(sorted(found, key=_slack))


def _slack(check: ClaimCheck) -> float:
    """The relative distance of a number from the nearer end of its range; the closest ones are shown as evidence."""
    mean = fmean(check.values)
    return min(mean - check.low, check.high - mean) / (abs(mean) or 1.0)


def _sentence(checks: Sequence[ClaimCheck]) -> str:
    more = f"; and {len(checks) - SHOWN} more" if len(checks) > SHOWN else ""
    return "; ".join(str(check) for check in checks[:SHOWN]) + more + "."


def measured(row: ReproducedRow, measure: Measure) -> tuple[float, ...]:
    """A measure of a row's usable repeats, without those that have none."""
    values = (measure(repeat) for repeat in row.usable)
    return tuple(value for value in values if value is not None)


def near(
    rows: Iterable[ReproducedRow], measure: Measure, expect: Expect, unit: str = " s", share: float = NEAR
) -> list[ClaimCheck]:
    """Checks that a measure equals the expected value, within a share of it."""
    return [
        ClaimCheck(
            row.label,
            measured(row, measure),
            (1 - share) * expect(row),
            (1 + share) * expect(row),
            unit,
            row.single_share,
        )
        for row in rows
    ]


def at_least(rows: Iterable[ReproducedRow], measure: Measure, least: Expect, unit: str) -> list[ClaimCheck]:
    """Checks that a measure is at least some value."""
    return [ClaimCheck(row.label, measured(row, measure), least(row), math.inf, unit, row.single_share) for row in rows]


def at_most(rows: Iterable[ReproducedRow], measure: Measure, most: Expect, unit: str) -> list[ClaimCheck]:
    """Checks that a measure is at most some value."""
    return [ClaimCheck(row.label, measured(row, measure), -math.inf, most(row), unit, row.single_share) for row in rows]


def ratios(
    pairs: Iterable[tuple[ReproducedRow, ReproducedRow]], measure: Measure, low: float, high: float
) -> list[ClaimCheck]:
    """Checks that the ratio of two rows' measures, paired by repeat, is within a range."""
    return [
        ClaimCheck(_over(one, other), _paired(one, other, measure), low, high, " times", one.single_share)
        for one, other in pairs
    ]


def _over(one: ReproducedRow, other: ReproducedRow) -> str:
    """The label of a ratio: both rows, with a shared load named once."""
    alike = one.label.removeprefix(one.variant) == other.label.removeprefix(other.variant)
    return f"{one.variant if alike else one.label} over {other.label}"


def _paired(one: ReproducedRow, other: ReproducedRow, measure: Measure) -> tuple[float, ...]:
    below = {repeat.number: measure(repeat) for repeat in other.usable}
    pairs = [(measure(repeat), below.get(repeat.number)) for repeat in one.usable]
    return tuple(a / b for a, b in pairs if a is not None and b)


def rows_of_variant(
    rows: Iterable[ReproducedRow], variant: str, part: str | None = None, users: Callable[[int], bool] = bool
) -> list[ReproducedRow]:
    """The rows of a variant, optionally of one part and of some numbers of users."""
    return [row for row in rows if row.variant == variant and part in (None, row.part) and users(row.users)]


def variant_pairs(rows: Sequence[ReproducedRow], one: str, other: str) -> list[tuple[ReproducedRow, ReproducedRow]]:
    """Pairs of rows of two variants with the same part and load."""
    others = {(row.part, row.users): row for row in rows if row.variant == other}
    return [(row, others[row.part, row.users]) for row in rows_of_variant(rows, one) if (row.part, row.users) in others]


def mean_s(repeat: Repeat) -> float | None:
    """Mean latency of the right answers."""
    return repeat.mean_s


def ok_rps(repeat: Repeat) -> float:
    """Right answers a second."""
    return repeat.ok_rps


def error_percent(repeat: Repeat) -> float:
    """Failed requests in percent."""
    return 100 * repeat.error_share


def time_for_all_s(row: ReproducedRow) -> Measure:
    """A measure: the time for all requests of a row with one request a user, from the rate."""
    return lambda repeat: row.users / repeat.rps if repeat.rps else None


def row_waves(row: ReproducedRow) -> int:
    """⌈R/T⌉, or ⌈R/N⌉ where connections are fewer; 1 where nothing limits."""
    return queueing.wave_count(row.users, row.servers)


def formula_time_s(row: ReproducedRow, time_s: float) -> float:
    """When R requests that take t each are answered: ⌈R/T⌉·t after the waves that end last began, within the ramp."""
    return row_waves(row) * time_s + row.last_start_s
