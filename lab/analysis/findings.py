"""The findings of a comparison in sentences, which are the same whichever side is A, but for the order of the names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lab.formulas import inference

if TYPE_CHECKING:
    from lab.analysis.comparison import Comparison, MetricRow

# What a metric's comparison finds.
DIFFERENT, ALIKE, UNDECIDED = "different", "alike", "undecided"
# From such a ratio on, a percentage says less than a factor.
LARGE = 3
OF_ONE_RUN = "Measured once each, which cannot tell a difference from chance; measure again with --repeat 5."
OF_SEPARATE_RUNS = (
    "Measured once each: repeats within one run share its build and the state of the machine, so each run counts once. "
    "Measure both sides in turns within one run (--repeat 5), or name several runs a side: A,A2,A3 B,B2,B3."
)


def verdict(comparison: Comparison) -> str:
    """The result in words: a sentence for each pair and load, or one for a pair without common data."""
    rows = comparison.rows
    if all(row.pairs < 2 for row in rows) and any(row.effect for row in rows):
        return OF_ONE_RUN if comparison.interleaved else OF_SEPARATE_RUNS
    pairs = dict.fromkeys((row.a, row.b) for row in rows)
    return "\n".join(
        sentence
        for pair in pairs
        for sentence in _sentences(comparison, [row for row in rows if (row.a, row.b) == pair])
    )


def _sentences(comparison: Comparison, rows: Sequence[MetricRow]) -> list[str]:
    if not any(row.effect for row in rows):
        return [f"{rows[0].b} against {rows[0].a}: there is nothing to compare."]
    loads = dict.fromkeys(row.at for row in rows)
    return [_sentence(comparison, [row for row in rows if row.at == at]) for at in loads]


def _sentence(comparison: Comparison, rows: Sequence[MetricRow]) -> str:
    first = rows[0]
    known = [row for row in rows if row.effect and row.is_tested]
    label = f"{first.b} against {first.a} at {first.at}"
    if not known:
        return f"{label}: there is nothing to compare."
    repeats = max(row.pairs for row in known)
    if repeats < 2:
        return f"{label}: measured once each, which cannot tell a difference from chance."
    how = "interleaved repeats" if comparison.interleaved else "runs a side"
    several, once = [row for row in known if row.pairs > 1], [row for row in known if row.pairs < 2]
    parts = [_claim(row) for row in several if row.differs]
    if alike := [row for row in several if row.finding == ALIKE and not row.is_trivial]:
        parts.append(f"alike within {_margins(alike)}: {_names(alike)}")
    if undecided := [row for row in several if row.finding == UNDECIDED and not row.is_trivial]:
        parts.append(_undecided(comparison, undecided))
    parts += [_unseen(row) for row in several if row.finding == UNDECIDED and row.is_trivial]
    if once:
        parts.append(f"measured once each: {_names(once)}")
    if not parts:
        parts.append("no request failed")
    return f"{label} ({repeats} {how}): {'; '.join(parts)}."


def _claim(row: MetricRow) -> str:
    """A difference that was found: how much better which side is, as percent, or as a factor where it is large."""
    if row.difference is not None:
        low, high = sorted((abs(row.difference.low or 0.0), abs(row.difference.high or 0.0)))
        return f"failures {low:.2g} to {high:.2g} percentage points fewer with {row.winner}"
    ratio, worse = row.ratio, row.a if row.winner == row.b else row.b
    assert ratio is not None  # what has no ratio does not differ
    # The better side over the worse one, whichever of them is A.
    ends = [end if row.winner == row.b else 1 / end for end in (ratio.low or 1.0, ratio.high or 1.0)]
    low, high = sorted(ends)
    higher = high + low > 2
    if max(high, 1 / low) > LARGE:
        most, least = (row.winner, worse) if higher else (worse, row.winner)
        low, high = (low, high) if higher else (1 / high, 1 / low)
        return f"{_short(row)} with {most} {low:.3g} to {high:.3g} times that with {least}"
    near, far = sorted((100 * abs(low - 1), 100 * abs(high - 1)))
    return f"{_short(row)} {near:.1f} to {far:.1f} % {'higher' if higher else 'lower'} with {row.winner}"


def _margins(rows: Sequence[MetricRow]) -> str:
    """The margins of some rows in words; failures have one of their own."""
    texts = [f"{row.margin:g} percentage points" if row.difference else f"{100 * row.margin:g} %" for row in rows]
    return " and ".join(f"±{text}" for text in dict.fromkeys(texts))


def _undecided(comparison: Comparison, rows: Sequence[MetricRow]) -> str:
    """The metrics that are undecided, each with the repeats that would decide it; failures are only named."""
    needed = [f"{_short(row)}{_needed(comparison, row)}" for row in rows]
    unit = "usable repeats" if comparison.interleaved else "usable runs a side"
    margin = next((f"{100 * row.margin:g} %" for row in rows if _needed(comparison, row)), "")
    what = f" (in brackets: how many {unit} would tell {margin} from nothing)" * bool(margin)
    return f"undecided: {', '.join(needed)}{what}"


def _unseen(row: MetricRow) -> str:
    """What may fail where nothing did, by how few requests there were."""
    assert row.difference is not None  # what has none is not undecided
    most = max(abs(row.difference.low or 0.0), abs(row.difference.high or 0.0))
    return f"no request failed, of so few that one side may have {most:.2g} percentage points more by chance"


def _needed(comparison: Comparison, row: MetricRow) -> str:
    """How many repeats would decide a metric; empty of failures, and of what windows say how to measure better."""
    if row.ratio is None or (comparison.in_windows and row.is_throughput):
        return ""
    noise, tests = row.ratio.noise_cv or 0.0, max(comparison.tested, 1)
    repeats = inference.repeats_to_decide(noise, row.margin, tests, seen_in=row.pairs)
    return f" ({repeats:,}{' or more' * (repeats == inference.MOST_REPEATS)})"


def held_against(row: MetricRow, claimed: float) -> str:
    """A claimed ratio beside the measured one, as a sentence."""
    label = f"{row.b} over {row.a} at {row.at}, {_short(row)}"
    if row.ratio is None:
        return f"{label}: there is nothing to compare with {claimed:g}."
    if row.ratio.low is None or row.ratio.high is None:
        return f"{label}: {row.ratio.ratio:.2f}, measured once each, which cannot be held against {claimed:g}."
    inside = row.ratio.low <= claimed <= row.ratio.high
    word = "is possible" if inside else "is not what was measured here"
    return f"{label}: {row.ratio.ratio:.2f} ({row.ratio.low:.2f} to {row.ratio.high:.2f}); {claimed:g} {word}."


def _names(rows: Sequence[MetricRow]) -> str:
    return ", ".join(map(_short, rows))


def _short(row: MetricRow) -> str:
    if row.metric.startswith("CPU"):
        return "CPU per request"
    return "failures" if row.metric.startswith("failed") else row.metric.split()[0]
