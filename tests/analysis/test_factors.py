"""The effect of a factor is what differs between variants that differ in nothing else."""

from __future__ import annotations

import pytest

from lab.analysis.comparison import CPU, MEAN, Comparison, MetricRow
from lab.analysis.factors import COLUMNS, effects
from lab.experiments import scenarios
from lab.formulas import inference
from lab.spec.system import Variant

OLD, NEW, OTHER = (
    Variant(name, "mvc", name, factors=factors)
    for name, factors in {
        "old": {"Spring": "4", "Java": "11"},
        "new": {"Spring": "5", "Java": "11"},
        "other": {"Spring": "5", "Java": "25", "style": "reactive"},
    }.items()
)


def compared(a: str, b: str, metric: str, times: float) -> MetricRow:
    """A row of three repeats each, in which B is so many times A."""
    ratio = inference.ratio([1.0, 1.1, 1.05], [times * 1.01, times * 1.1, times * 1.06], paired=True)
    return MetricRow(a, b, 10, "10 users", metric, 1.0, times, ratio)


def test_pairs_that_differ_in_one_factor_show_its_effect_the_largest_first():
    """With its settings and its interval; a pair that differs in more says nothing of any of them."""
    rows = (compared("old", "new", MEAN, 1.1), compared("old", "new", CPU, 0.5), compared("new", "other", MEAN, 3.0))
    found = effects(Comparison(rows, True, (), {}), (OLD, NEW, OTHER))
    assert found[["factor", "from", "to", "metric"]].to_numpy().tolist() == [
        ["Spring", "4", "5", CPU],
        ["Spring", "4", "5", MEAN],
    ]
    assert found["ratio"].tolist() == pytest.approx([0.5, 1.1], rel=0.02)
    assert (found["low"] < found["ratio"]).all()
    assert (found["ratio"] < found["high"]).all()


def test_a_style_is_one_factor_whatever_runs_it():
    """Of controllers that block and those that return Monos on a scheduler; of two schedulers, too."""
    variants = scenarios()["operations"].variants
    pairs = [("mvc", "rest-parallel"), ("mvc", "controller-elastic"), ("rest-elastic", "rest-parallel")]
    found = effects(Comparison([compared(*pair, MEAN, 2.0) for pair in pairs], True, (), {}), variants)
    assert found[["factor", "from", "to"]].to_numpy().tolist() == [
        ["style", "plain", "rest layer on parallel"],
        ["style", "plain", "controller of operations on boundedElastic"],
        ["style", "rest layer on boundedElastic", "rest layer on parallel"],
    ]


def test_nothing_to_show_is_an_empty_table_with_its_columns():
    """As where all variants differ in two factors, or a metric has no value."""
    rows = (compared("new", "other", MEAN, 3.0), MetricRow("old", "new", 10, "10 users", MEAN, None, None, None))
    found = effects(Comparison(rows, True, (), {}), (OLD, NEW, OTHER))
    assert (len(found), tuple(found.columns)) == (0, COLUMNS)
