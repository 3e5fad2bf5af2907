"""A comparison with a figure, and as a notebook shows it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lab.analysis import pairing
from lab.analysis.comparison import MARGIN, Comparison
from lab.analysis.pairing import Terms
from lab.analysis.shift import QuantileRatio
from lab.reporting import formatting

if TYPE_CHECKING:
    from lab.reporting.figures import Picture


class ComparisonView(Comparison):
    """A comparison that can draw itself. In a notebook its last expression shows the table and the sentences."""

    def figure(self) -> Picture:
        """The ratios and their intervals as a forest plot."""
        from lab.reporting.figures import Bar, forest

        tested = [row for row in self.rows if row.ratio and row.is_tested]
        bars = [
            Bar(f"{row.b} / {row.a}", f"{row.at}: {row.metric}", ratio.ratio, ratio.low, ratio.high, row.finding)
            for row in tested
            if (ratio := row.ratio)
        ]
        return forest(bars, tested[0].margin if tested else MARGIN)

    def shift_figure(self) -> Picture:
        """B over A for each percentile of latency, with bands over the repeats."""
        from lab.reporting.figures import Curve, shift_figure

        curves: dict[tuple[str, str], list[QuantileRatio]] = {}
        for found in self.quantiles:
            curves.setdefault((f"{found.b} / {found.a}", found.at), []).append(found)
        return shift_figure(
            [
                Curve(group, label, {each.percent: (each.ratio.ratio, each.ratio.low, each.ratio.high) for each in of})
                for (group, label), of in curves.items()
            ],
            next((row.margin for row in self.rows if row.ratio), MARGIN),
        )

    def _repr_html_(self) -> str:
        sentences = "".join(
            f"<p>{escape(sentence)}</p>"
            for sentence in (
                *self.by_design,
                *self.verdict.splitlines(),
                *self.in_windows,
                self.correction,
                self.scoring,
                formatting.CLOSED_LOOP * self.of_closed_loop,
                *self.notes,
            )
            if sentence
        )
        return str(self.table().to_html(index=False, float_format="{:.3f}".format)) + sentences


def compare(a: str | None, b: str | None, terms: Terms, runs: Path) -> ComparisonView:
    """Compare two runs, two variants, or all variants of one run: see :func:`lab.analysis.pairing.compare`."""
    return ComparisonView(**vars(pairing.compare(a, b, terms, runs)))
