"""Judges claims: confirmed, refuted or undecided, by comparing measured intervals with the claimed range.

A claim about several rows is confirmed if the interval of every row lies in its range, refuted if that of any row lies
outside (one counterexample is enough, whatever else is missing), and undecided otherwise: an interval that crosses a
limit, a cell that is invalid, incomplete or was not measured, and one measurement where nobody knows how far the next
one would lie from it. No interval is invented: it comes from repeats, or from the scatter of earlier repeats of the
same cell on this machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from statistics import fmean, stdev

from lab.analysis.verdict import FAILED_SUSPECT_SHARE, INCOMPLETE
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.formulas import inference, queueing, students_t
from lab.running.estimate import duration_text

# The tolerance of a claim that a value "is" something: that of the documents' own scorecard for "no difference".
NEAR = 0.05
# Failures of fewer requests than these are chance, as for the verdict of a cell.
FEW_PERCENT = 100 * FAILED_SUSPECT_SHARE
SHOWN = 2
# More repeats than these are no advice.
MOST_REPEATS = 50
ONCE = "Measured once, which gives no interval (--repeat 3 does): "

Measure = Callable[[Repeat], float | None]
Expect = Callable[[ReproducedRow], float]


@dataclass(frozen=True)
class Noise:
    """How far one measurement lies from the next of the same, by repeats on this machine.

    Attributes:
        deviation: the standard deviation, in the unit of what is measured.
        freedom: its degrees of freedom.

    """

    deviation: float
    freedom: float


# The logarithm of the largest number that there is, about.
LARGEST_LOG = 700.0
# What is counted exactly, and the same the next time.
COUNTED = Noise(0.0, 1)


@dataclass(frozen=True)
class ClaimCheck:
    """A measured number that a claim depends on, with the range in which the claim holds.

    Attributes:
        label: the row that the number belongs to.
        values: measured values, one a repeat; empty if no repeat is usable.
        others: where the number is a ratio or difference of rows that did not take turns, the values of the second row:
            then nothing pairs the repeats, and the interval is Welch's. Else empty.
        low: lower end of the range in which the claim holds.
        high: upper end of that range.
        unit: the suffix of the numbers in a sentence, such as `` s``.
        noise: that of a single measurement; None if it is not known. Of a ratio that of its logarithm.
        repeat_s: how long one more repeat of everything takes; 0 if that is not known.
        usable: which share of the repeats that were measured could be used, above 0.
        doubt: why the number decides nothing whatever it is, as the end of a sentence; empty if it does.
        by_chance: of a percentage, or a difference of two, where it may lie by how few requests were counted, however
            alike repeats are; else None. The interval covers it.
        is_ratio: whether the values are ratios of positive numbers, of which half is as far from 1 as twice: their mean
            is the geometric one, and their interval is that of their logarithms (Fleming and Wallace, Communications of
            the ACM 29, 1986).

    """

    label: str
    values: tuple[float, ...]
    low: float
    high: float
    unit: str = ""
    noise: Noise | None = None
    is_ratio: bool = False
    repeat_s: float = 0.0
    others: tuple[float, ...] = ()
    usable: float = 1.0
    by_chance: tuple[float, float] | None = None
    doubt: str = ""

    @property
    def mean(self) -> float:
        """The mean of the values: geometric of ratios; NaN of none."""
        return self._value(self._middle) if self.values else math.nan

    @property
    def interval(self) -> tuple[float, float] | None:
        """Student's interval at 95 %, over repeats, or of one measurement by its known noise; None without either.

        None of three times a hundred requests fails without any scatter, and says nothing of one in a thousand.
        """
        if self.repeats > 1:
            reach = _reach([stdev(side) for side in self._sides], [len(side) for side in self._sides])
        elif self.values and self.noise:
            reach = float(students_t.reach(self.noise.deviation, self.noise.freedom))
        else:
            return None
        low, high = self._value(self._middle - reach), self._value(self._middle + reach)
        return (min(low, self.by_chance[0]), max(high, self.by_chance[1])) if self.by_chance else (low, high)

    @property
    def repeats(self) -> int:
        """How many it rests on: of two rows that did not take turns, the fewer."""
        return min(map(len, self._sides))

    @property
    def _sides(self) -> tuple[tuple[float, ...], ...]:
        """The values, and those of the second row where it has its own, on the scale on which they scatter."""
        sides = (self.values, self.others) if self.others else (self.values,)
        return tuple(tuple(map(math.log, side)) for side in sides) if self.is_ratio else sides

    @property
    def _middle(self) -> float:
        """The mean on that scale; of the first row less that of the second where it has its own values."""
        first, *second = map(fmean, self._sides)
        return first - sum(second)

    def _value(self, scaled: float) -> float:
        return math.exp(min(scaled, LARGEST_LOG)) if self.is_ratio else scaled

    @property
    def is_single(self) -> bool:
        """Whether it is one measurement of unknown noise, which decides nothing."""
        return bool(self.values) and self.interval is None

    @property
    def word(self) -> str:
        """The claim's verdict by this number alone."""
        if self.interval is None or self.doubt:
            return UNDECIDED
        low, high = self.interval
        if self.low <= low and high <= self.high:
            return CONFIRMED
        return REFUTED if high < self.low or low > self.high else UNDECIDED

    @property
    def repeats_needed(self) -> int | None:
        """How many repeats, as far apart as these, would be about enough to decide; None if too many, or not known."""
        if self.repeats < 2:
            return None
        deviations = [stdev(side) for side in self._sides]
        distance = min(abs(self._middle - end) for end in self._ends)
        # What chance leaves open shrinks with the number of requests: for few failures in proportion (rule of three).
        chance = max(abs(end - self._middle) for end in self.by_chance) * self.repeats if self.by_chance else 0.0
        possible = range(self.repeats, MOST_REPEATS + 1)
        reaches = ((n, max(_reach(deviations, [n] * len(deviations)), chance / n)) for n in possible)
        return next((n for n, reach in reaches if reach < distance), None)

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends of the range on the scale of the values."""
        if not self.is_ratio:
            return self.low, self.high
        low, high = (math.log(end) if end > 0 else -math.inf for end in (self.low, self.high))
        return low, high

    def __str__(self) -> str:
        """The number beside its range, as part of a sentence."""
        if not self.values:
            return f"{self.label}: nothing was measured to judge it by"
        found = f"{_short(self.mean)}{self.unit}"
        if self.interval is None:
            where = "within" if self.low <= self.mean <= self.high else "outside"
            return f"{self.label}: {found}, {where} the claimed {self._range()}"
        low, high = self.interval
        claimed = f"{self.label}: {found} ({_short(low)} to {_short(high)}), claimed {self._range()}"
        return f"{claimed}, {self.doubt}" if self.doubt else claimed

    def _range(self) -> str:
        if math.isinf(self.high):
            return f"at least {_short(self.low)}{self.unit}"
        if math.isinf(self.low):
            return f"at most {_short(self.high)}{self.unit}"
        return f"{_short(self.low)} to {_short(self.high)}{self.unit}"


def _reach(deviations: Sequence[float], repeats: Sequence[int]) -> float:
    """Half of the interval of a mean, or of the difference of two."""
    if len(repeats) == 1:
        return float(students_t.reach(deviations[0] / math.sqrt(repeats[0]), repeats[0] - 1))
    return float(students_t.reach(*inference.welch([deviation**2 for deviation in deviations], repeats)))


def _short(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def decide(checks: Iterable[ClaimCheck]) -> tuple[str, str]:
    """The verdict on a claim, and a sentence with the numbers that decided it."""
    found = list(checks)
    if not found:
        return UNDECIDED, "No row that the claim is about was measured."
    if deciding := [check for check in found if check.word == REFUTED]:
        return REFUTED, _sentence(deciding)
    undecided = [check for check in found if check.word == UNDECIDED]
    if single := [check for check in undecided if check.is_single]:
        return UNDECIDED, ONCE + _sentence(sorted(single, key=_slack))
    if undecided:
        return UNDECIDED, _sentence(undecided) + _advice(undecided)
    return CONFIRMED, _sentence(sorted(found, key=_slack))


def mostly(checks: Iterable[ClaimCheck]) -> tuple[str, str]:
    """The same for a claim about most rows, such as that something happens often: one counterexample refutes nothing.

    It is confirmed by more than half of the rows, and refuted where so many lie outside its range that no more than
    half of them can be within.
    """
    found = list(checks)
    if not found:
        return decide(found)
    of_word = {word: [check for check in found if check.word == word] for word in (CONFIRMED, REFUTED)}
    if 2 * len(of_word[CONFIRMED]) > len(found):
        word = CONFIRMED
    elif 2 * len(of_word[REFUTED]) >= len(found):
        word = REFUTED
    else:
        return UNDECIDED, decide([check for check in found if check.word == UNDECIDED])[1]
    return word, f"{len(of_word[word])} of {len(found)} rows: {_sentence(of_word[word])}"


def _advice(undecided: Sequence[ClaimCheck]) -> str:
    """What it would take to decide, as a sentence; empty where repeats are not what is missing."""
    if any(check.repeats < 2 or check.doubt for check in undecided):
        return ""
    needed = [check.repeats_needed for check in undecided]
    known = [count for count in needed if count is not None]
    if len(known) < len(needed):
        return f" More than {MOST_REPEATS} repeats would be needed to decide it."
    most, repeat_s = max(known), max(check.repeat_s for check in undecided)
    asked = max(math.ceil(round(count / check.usable, 6)) for count, check in zip(known, undecided, strict=True))
    lasting = f", about {duration_text(asked * repeat_s)}" if repeat_s else ""
    because = ", as some could not be used here" * (asked > most)
    return f" About {most} repeats would decide it (--repeat {asked}{lasting}{because})."


def _slack(check: ClaimCheck) -> float:
    """The relative distance of a number from the nearer end of its range; the closest ones are shown as evidence."""
    mean = check.mean
    return min(mean - check.low, check.high - mean) / (abs(mean) or 1.0)


def _sentence(checks: Sequence[ClaimCheck]) -> str:
    more = f"; and {len(checks) - SHOWN} more" if len(checks) > SHOWN else ""
    return "; ".join(str(check) for check in checks[:SHOWN]) + more + "."


def measured(row: ReproducedRow, measure: Measure) -> tuple[float, ...]:
    """A measure of a row's usable repeats, without those that have none."""
    return _known(map(measure, row.usable))


def _known(values: Iterable[float | None]) -> tuple[float, ...]:
    return tuple(value for value in values if value is not None)


def pooled(groups: Iterable[Sequence[float]]) -> Noise | None:
    """The scatter within groups of repeats, all taken together; None if no group has two."""
    several = [group for group in groups if len(group) > 1]
    freedom = sum(len(group) - 1 for group in several)
    if not freedom:
        return None
    squares = sum((value - fmean(group)) ** 2 for group in several for value in group)
    return Noise(math.sqrt(squares / freedom), freedom)


def _checked(row: ReproducedRow, measure: Measure, low: float, high: float, unit: str) -> ClaimCheck:
    noise = pooled(_known(map(measure, repeats)) for repeats in row.earlier.values())
    values = measured(row, measure)
    usable = _share(len(values), len(_ended(row)))
    by_chance = measure.by_chance(row) if isinstance(measure, FailedPercent) else None
    return ClaimCheck(
        row.label, values, low, high, unit, noise, repeat_s=row.repeat_s, usable=usable, by_chance=by_chance
    )


def _ended(row: ReproducedRow) -> list[Repeat]:
    """The repeats that were measured to their end, usable or not."""
    return [repeat for repeat in row.repeats if repeat.verdict != INCOMPLETE]


def _share(usable: int, all_: int) -> float:
    """Which share of some repeats could be used; 1 of none."""
    return usable / all_ if 0 < usable < all_ else 1.0


def near(
    rows: Iterable[ReproducedRow], measure: Measure, expect: Expect, unit: str = " s", share: float = NEAR
) -> list[ClaimCheck]:
    """Checks that a measure equals the expected value, within a share of it."""
    return [_checked(row, measure, (1 - share) * expect(row), (1 + share) * expect(row), unit) for row in rows]


def at_least(rows: Iterable[ReproducedRow], measure: Measure, least: Expect, unit: str) -> list[ClaimCheck]:
    """Checks that a measure is at least some value."""
    return [_checked(row, measure, least(row), math.inf, unit) for row in rows]


def at_most(rows: Iterable[ReproducedRow], measure: Measure, most: Expect, unit: str) -> list[ClaimCheck]:
    """Checks that a measure is at most some value."""
    return [_checked(row, measure, -math.inf, most(row), unit) for row in rows]


def within(rows: Iterable[ReproducedRow], measure: Measure, low: float, high: float, unit: str) -> list[ClaimCheck]:
    """Checks that a count is in a range. Counts have no noise: one measurement decides."""
    return [ClaimCheck(row.label, measured(row, measure), low, high, unit, COUNTED) for row in rows]


def exactly(rows: Iterable[ReproducedRow], measure: Measure, expect: Expect, unit: str) -> list[ClaimCheck]:
    """Checks that a count is what is due, as in :func:`within`."""
    return [check for row in rows for check in within([row], measure, expect(row), expect(row), unit)]


def ratios(
    pairs: Iterable[tuple[ReproducedRow, ReproducedRow]],
    measure: Measure,
    low: float,
    high: float,
    other_measure: Measure | None = None,
) -> list[ClaimCheck]:
    """Checks that the ratio of two rows' measures is within a range; paired by repeat where they took turns.

    Where both took turns in windows, the ratios are those of neighbouring windows, start by start, as ``lab compare``
    has them: without pauses of the machine, the ends of windows, and what the speed of the cores explains.

    Args:
        other_measure: of the second row; the same if None.

    """
    field = "" if other_measure else _field(measure)
    measures = measure, other_measure or measure
    return [
        _compared(_over(one, other), one, other, measures, (low, high), " times", _in_turns(one, other, field), True)
        for one, other in pairs
    ]


def _ratio(above: float, below: float) -> float | None:
    # Nothing is a number of times what was given back.
    return above / below if below > 0 else None


def _difference(more: float, less: float) -> float:
    return more - less


def _field(measure: Measure) -> str:
    """What ``summary.json`` calls a measure of the whole load; empty for what it does not have."""
    return measure.name if isinstance(measure, Figure) else IN_SUMMARY.get(measure, "")


def _in_turns(one: ReproducedRow, other: ReproducedRow, field: str) -> tuple[float, ...]:
    """One row over another in a figure of windows, start by start; empty where they did not take turns."""
    same = (one.part, one.measured_users) == (other.part, other.measured_users)
    return tuple(one.in_turns.get((other.variant, field), ())) if same else ()


def differences(
    pairs: Iterable[tuple[ReproducedRow, ReproducedRow]], measure: Measure, low: float, high: float, unit: str
) -> list[ClaimCheck]:
    """Checks that the difference of two rows' measures is within a range, as for ratios: of what may be about 0."""
    return [_compared(_less(one, other), one, other, (measure, measure), (low, high), unit) for one, other in pairs]


def fewer_fail(pairs: Iterable[tuple[ReproducedRow, ReproducedRow]]) -> tuple[str, str]:
    """Whether fewer requests of the first row of each pair fail, by more than chance; undecided where none fail."""
    both = list(pairs)
    failed = [error_percent(repeat) for pair in both for row in pair for repeat in row.usable]
    if failed and not any(failed):
        return UNDECIDED, "No request of any variant failed."
    return decide(differences(both, error_percent, -math.inf, -FEW_PERCENT, " points"))


def _compared(
    label: str,
    one: ReproducedRow,
    other: ReproducedRow,
    measures: tuple[Measure, Measure],
    claimed: tuple[float, float],
    unit: str,
    in_turns: tuple[float, ...] = (),
    of_ratios: bool = False,
) -> ClaimCheck:
    """A check of a number that follows from two rows, by their repeats of the same number where they took turns.

    Args:
        measures: of the first row, and of the second.
        in_turns: that number in each start, where it is known from windows.
        of_ratios: whether they are ratios, which scatter by their logarithms; unless one is not positive, as of memory
            that was given back.

    """
    repeat_s, by_chance = max(one.repeat_s, other.repeat_s), None if of_ratios else _by_chance(one, other, measures)
    if not one.took_turns_with(other):
        values, others, noise, is_ratio = _apart(one, other, measures, of_ratios)
        shares = (_share(len(side), len(_ended(row))) for side, row in ((values, one), (others, other)))
        return ClaimCheck(label, values, *claimed, unit, noise, is_ratio, repeat_s, others, min(shares), by_chance)

    def paired(mine: Sequence[Repeat], its: Sequence[Repeat]) -> tuple[float, ...]:
        return _paired(mine, its, measures, _ratio if of_ratios else _difference, other.variant)

    values = in_turns or paired(one.usable, other.usable)
    earlier = [paired(one.earlier[run], other.earlier[run]) for run in one.earlier if run in other.earlier]
    is_ratio = of_ratios and all(value > 0 for group in (values, *earlier) for value in group)
    noise = pooled([tuple(map(math.log, group)) for group in earlier] if is_ratio else earlier)
    usable = _share(len(values), len(_beside_each_other(_ended(one), _ended(other), other.variant)))
    return ClaimCheck(label, values, *claimed, unit, noise, is_ratio, repeat_s, usable=usable, by_chance=by_chance)


def _by_chance(
    one: ReproducedRow, other: ReproducedRow, measures: tuple[Measure, Measure]
) -> tuple[float, float] | None:
    """Where the difference of two percentages may lie by how few requests were counted; None of other measures."""
    both = zip(measures, (one, other), strict=True)
    mine, its = (measure.count(row) if isinstance(measure, FailedPercent) else None for measure, row in both)
    return inference.chance_interval(its, mine) if mine and its else None


def _apart(
    one: ReproducedRow, other: ReproducedRow, measures: tuple[Measure, Measure], of_ratios: bool
) -> tuple[tuple[float, ...], tuple[float, ...], Noise | None, bool]:
    """Values, others, noise and is_ratio of a check of two rows that were measured one after the other.

    Their repeats have nothing but a number in common.
    """
    both = tuple(zip((one, other), measures, strict=True))
    mine, its = (measured(row, measure) for row, measure in both)
    if not mine or not its or (of_ratios and fmean(its) <= 0):
        return (), (), None, of_ratios
    earlier = [[_known(map(measure, repeats)) for repeats in row.earlier.values()] for row, measure in both]
    if not of_ratios:
        return mine, its, _joined(*map(pooled, earlier)), False
    if all(value > 0 for groups in ([mine, its], *earlier) for group in groups for value in group):
        logs = ([tuple(map(math.log, group)) for group in groups] for groups in earlier)
        return mine, its, _joined(*map(pooled, logs)), True
    # To the first order a ratio scatters as its numerator does, and as so many times its denominator.
    below = fmean(its)
    ratio = fmean(mine) / below
    return tuple(value / below for value in mine), tuple(ratio * value / below - ratio for value in its), None, False


def _joined(one: Noise | None, other: Noise | None) -> Noise | None:
    """The noise of a difference of two independent measurements; None if that of either is not known."""
    if one is None or other is None:
        return None
    squares = one.deviation**2, other.deviation**2
    parts = sum(square**2 / noise.freedom for square, noise in zip(squares, (one, other), strict=True))
    return Noise(math.sqrt(sum(squares)), sum(squares) ** 2 / parts if parts else min(one.freedom, other.freedom))


def alike(pairs: Iterable[tuple[ReproducedRow, ReproducedRow]], measure: Measure) -> list[ClaimCheck]:
    """Checks that two rows have the same measure, paired by repeat, within the tolerance."""
    return ratios(pairs, measure, 1 - NEAR, 1 + NEAR)


def _over(one: ReproducedRow, other: ReproducedRow) -> str:
    """The label of a ratio."""
    return f"{_beside(one, other)} over {other.label}"


def _less(one: ReproducedRow, other: ReproducedRow) -> str:
    """The label of a difference."""
    return f"{_beside(one, other)} less {other.label}"


def _beside(one: ReproducedRow, other: ReproducedRow) -> str:
    """The label of a row before that of another: a load that both share is named once."""
    same = one.label.removeprefix(one.marked) == other.label.removeprefix(other.marked)
    return one.marked if same else one.label


def _paired(
    one: Sequence[Repeat],
    other: Sequence[Repeat],
    measures: tuple[Measure, Measure],
    of: Callable[[float, float], float | None],
    variant: str,
) -> tuple[float, ...]:
    """What follows from two rows, by repeat.

    Args:
        variant: that of the other row.

    """
    both = [(measures[0](mine), measures[1](its)) for mine, its in _beside_each_other(one, other, variant)]
    return _known(of(mine, its) for mine, its in both if mine is not None and its is not None)


def _beside_each_other(one: Sequence[Repeat], other: Sequence[Repeat], variant: str) -> list[tuple[Repeat, Repeat]]:
    """The repeats of two rows in pairs, by number; of two that never took turns as memory did not hold both, by start.

    That the plan decides, and not which repeats are usable: else those of different batches might pass for pairs.
    """
    in_one_batch = all(repeat.batches == 1 or variant in repeat.beside for repeat in one)
    key = attrgetter("number" if in_one_batch else "start")
    others = {key(repeat): repeat for repeat in other}
    return [(repeat, others[key(repeat)]) for repeat in one if key(repeat) in others]


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


# Measures by their names in summary.json.
IN_SUMMARY: dict[Measure, str] = {mean_s: "mean_s", ok_rps: "ok_throughput_rps"}


@dataclass(frozen=True)
class FailedPercent:
    """A measure: failed requests in percent, of all or of those of a name."""

    name: str = ""

    def __call__(self, repeat: Repeat) -> float | None:
        """It, of a repeat that has such requests."""
        if not self.name:
            return 100 * repeat.error_share
        return 100 * repeat.failed_shares[self.name] if self.name in repeat.failed_shares else None

    def count(self, row: ReproducedRow) -> inference.Count | None:
        """How many failed of how many in all usable repeats of a row; None without any."""
        counts = [
            (round(percent / 100 * requests), requests)
            for repeat in row.usable
            if (percent := self(repeat)) is not None and (requests := self._requests(row, repeat))
        ]
        return (sum(some for some, _ in counts), sum(all_ for _, all_ in counts)) if counts else None

    def by_chance(self, row: ReproducedRow) -> tuple[float, float] | None:
        """Where it may lie by how few requests there were: see :func:`lab.formulas.inference.exact_share`."""
        if not (count := self.count(row)):
            return None
        low, high = inference.exact_share(count)
        return 100 * low, 100 * high

    def _requests(self, row: ReproducedRow, repeat: Repeat) -> int:
        if self.name:
            return repeat.requests.get(self.name, 0)
        return round(repeat.requests_each * row.measured_users)


error_percent = FailedPercent()


def sum_s(name: str) -> Measure:
    """A measure: what the requests of a name take together in a session."""
    return lambda repeat: repeat.sums_s.get(name)


@dataclass(frozen=True)
class Figure:
    """A measure: one of the figures of a repeat, such as ``mongo find``, how many of these a request made."""

    name: str

    def __call__(self, repeat: Repeat) -> float | None:
        """It, of a repeat that has it."""
        return repeat.figures.get(self.name)


def figure(name: str) -> Measure:
    """A measure: the figure of a name."""
    return Figure(name)


def time_for_all_s(row: ReproducedRow) -> Measure:
    """A measure: the time for all requests of a row with one request a user, from the rate."""
    return lambda repeat: row.users / repeat.rps if repeat.rps else None


def row_waves(row: ReproducedRow) -> int:
    """⌈R/T⌉, or ⌈R/N⌉ where connections are fewer; 1 where nothing limits."""
    return queueing.wave_count(row.users, row.servers)


def formula_time_s(row: ReproducedRow, time_s: float) -> float:
    """When R requests that take t each are answered: ⌈R/T⌉·t after the waves that end last began, within the ramp."""
    return row_waves(row) * time_s + row.last_start_s
