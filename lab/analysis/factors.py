"""The effect of each factor: what a comparison found of variants that differ in that factor alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

from lab.analysis.comparison import Comparison
from lab.spec.system import Variant

COLUMNS = ("factor", "from", "to", "a", "b", "at", "metric", "ratio", "low", "high", "verdict")


def effects(comparison: Comparison, variants: Iterable[Variant]) -> pd.DataFrame:
    """One row for each metric, load, and pair of variants that differ in one factor only, the largest ratios first.

    Args:
        variants: those of the compared run's scenario.

    Returns:
        :data:`COLUMNS`: ``factor`` goes ``from`` its setting in variant ``a`` ``to`` that in ``b``, and ``ratio`` is B
        over A, with its interval at 95 % where both were repeated.

    """
    factors = {variant.name: variant.factors for variant in variants}
    rows = sorted(_effects(comparison, factors), key=lambda row: -max(row["ratio"], 1 / row["ratio"]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _effects(comparison: Comparison, factors: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for row in comparison.rows:
        mine, theirs = factors[row.a], factors[row.b]
        differing = [name for name in dict.fromkeys((*mine, *theirs)) if mine.get(name) != theirs.get(name)]
        if len(differing) != 1 or not row.ratio:
            continue
        (name,) = differing
        yield {
            **{"factor": name, "from": mine.get(name, "none"), "to": theirs.get(name, "none"), "a": row.a, "b": row.b},
            **{"at": row.at, "metric": row.metric, "verdict": row.word},
            **{"ratio": row.ratio.ratio, "low": row.ratio.low, "high": row.ratio.high},
        }
