"""A comparison with a figure, and as a notebook shows it."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from lab.analysis import pairing
from lab.analysis.comparison import Comparison

if TYPE_CHECKING:
    from lab.reporting.figures import Picture


class ComparisonView(Comparison):
    """A comparison that can draw itself. In a notebook its last expression shows the table and the sentences."""

    def figure(self) -> Picture:
        """The ratios and their intervals as a forest plot."""
        from lab.reporting.figures import Bar, forest

        bars = [
            Bar(
                f"{row.b} / {row.a}",
                f"{row.at}: {row.metric}",
                row.ratio.ratio,
                row.ratio.low,
                row.ratio.high,
                row.differs,
            )
            for row in self.rows
            if row.ratio and row.is_tested
        ]
        return forest(bars)

    def _repr_html_(self) -> str:
        sentences = "".join(
            f"<p>{escape(sentence)}</p>"
            for sentence in (
                *self.by_design,
                *self.verdict.splitlines(),
                *self.in_windows,
                self.correction,
                self.scoring,
                *self.notes,
            )
            if sentence
        )
        return str(self.table().to_html(index=False, float_format="{:.3f}".format)) + sentences


def compare(a: str | None, b: str | None, although_different: bool, runs: Path) -> ComparisonView:
    """Compare two runs, two variants, or all variants of one run: see :func:`lab.analysis.pairing.compare`."""
    return ComparisonView(**vars(pairing.compare(a, b, although_different, runs)))
