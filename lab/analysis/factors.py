"""The effect of each factor: what was found of variants that differ in it alone, and of values of a parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import pandas as pd

from lab.analysis.comparison import FAILED, METRICS, NOT_TESTED, ONCE, Comparison
from lab.analysis.verdict import BELIEVED
from lab.formulas import inference
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


def effects_of_parameter(table: pd.DataFrame, name: str) -> pd.DataFrame:
    """The same for a parameter that was varied: each variant at one of its values beside itself at the next.

    Intervals are by repeats, those of the same number as a pair, and of each ratio alone: nothing is tested, as more
    rows would make every other test find less.

    Args:
        table: of :meth:`lab.reporting.run_view.Run.table`, with a column of that name. Cells that are invalid or
            incomplete take no part.

    """
    believed = table[table["verdict"].isin(BELIEVED)]
    rows = sorted(_of_parameter(believed, name), key=lambda row: -max(row["ratio"], 1 / row["ratio"]))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def strongest(*tables: pd.DataFrame, metric: str) -> pd.DataFrame:
    """For each factor the one pair in which it changes a metric most: what decides stands first.

    It is the largest of what was found, which chance alone makes larger than it is: the interval of its pair, and how
    far the next factor is, say whether it decides.

    Args:
        tables: of :func:`effects` and :func:`effects_of_parameter`.
        metric: such as ``mean s``.

    """
    found = [row for table in tables for row in table.to_dict("records") if row["metric"] == metric]
    found.sort(key=lambda row: -max(row["ratio"], 1 / row["ratio"]))
    return pd.DataFrame(found, columns=list(COLUMNS)).drop_duplicates("factor").reset_index(drop=True)


def _of_parameter(table: pd.DataFrame, name: str) -> Iterator[dict[str, Any]]:
    for variant, of_variant in table.groupby("variant", sort=False):
        for low, high in pairwise(of_variant[name].drop_duplicates()):
            one, other = (of_variant[of_variant[name] == value].set_index("repeat") for value in (low, high))
            both = one.index.intersection(other.index)
            for metric, (field, _) in METRICS.items():
                if metric == FAILED or field not in table:
                    continue
                of_one, of_other = (list(each.loc[both, field].astype(float)) for each in (one, other))
                if not (ratio := inference.ratio(of_one, of_other, paired=True)):
                    continue
                yield {
                    **{"factor": name, "from": low, "to": high, "a": variant, "b": variant, "at": "", "metric": metric},
                    **{"ratio": ratio.ratio, "low": ratio.low, "high": ratio.high},
                    "verdict": NOT_TESTED if ratio.pairs > 1 else ONCE,
                }


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
