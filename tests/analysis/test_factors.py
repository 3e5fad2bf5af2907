"""The effect of a factor is what differs between variants that differ in nothing else."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from lab.analysis.comparison import CPU, MEAN, METRICS, ONCE, Comparison, MetricRow
from lab.analysis.factors import COLUMNS, effects, effects_of_parameter, strongest
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


def test_a_parameter_is_a_factor_of_each_variant_by_itself():
    """With an interval by repeats; an invalid cell and its partner take no part."""
    cells = [
        {"variant": variant, "bcrypt": value, "repeat": repeat, "verdict": "valid", "mean_s": repeat * mean_s}
        for variant, of_variant in {"mvc": (4.0, 1.0), "webflux": (3.0, 1.0)}.items()
        for value, mean_s in zip(("10", "4"), of_variant, strict=True)
        for repeat in (1, 2, 3)
    ]
    (of_webflux,) = [cell for cell in cells if (cell["variant"], cell["bcrypt"], cell["repeat"]) == ("webflux", "4", 3)]
    of_webflux |= {"verdict": "invalid", "mean_s": 100.0}
    fields = dict.fromkeys((field for field, _ in METRICS.values()), math.nan)
    found = effects_of_parameter(pd.DataFrame([{**fields, **cell} for cell in cells]), "bcrypt")
    assert found[["factor", "from", "to", "a", "b", "metric"]].to_numpy().tolist() == [
        ["bcrypt", "10", "4", name, name, MEAN] for name in ("mvc", "webflux")
    ]
    assert found["ratio"].tolist() == pytest.approx([1 / 4, 1 / 3])
    assert found["low"].tolist() == pytest.approx([1 / 4, 1 / 3])
    once = pd.DataFrame([{**fields, **cell} for cell in cells if cell["repeat"] == 1])
    assert effects_of_parameter(once, "bcrypt")["verdict"].tolist() == [ONCE, ONCE]


def test_what_decides_stands_first_by_its_largest_effect():
    """Of all factors together, halves and doubles alike; each by one pair, and by the metric that is asked for."""
    pairs = {("mvc", "rest-parallel"): 1.5, ("mvc", "controller-elastic"): 1.2, ("boot-1.5", "boot-2.0"): 0.9}
    rows = [compared(*pair, metric, times) for pair, times in pairs.items() for metric in (MEAN, CPU)]
    of_variants = effects(Comparison(rows, True, (), {}), scenarios()["operations"].variants)
    of_bcrypt = pd.DataFrame([dict.fromkeys(COLUMNS, math.nan) | {"factor": "bcrypt", "metric": MEAN, "ratio": 0.2}])
    found = strongest(of_variants, of_bcrypt, metric=MEAN)
    assert found["factor"].tolist() == ["bcrypt", "style", "generation"]
    assert found["b"].tolist()[1:] == ["rest-parallel", "boot-2.0"]
    assert strongest(of_variants, of_bcrypt, metric=CPU)["factor"].tolist() == ["style", "generation"]
    assert tuple(strongest(of_variants.head(0), metric=MEAN).columns) == COLUMNS


def test_nothing_to_show_is_an_empty_table_with_its_columns():
    """As where all variants differ in two factors, or a metric has no value."""
    rows = (compared("new", "other", MEAN, 3.0), MetricRow("old", "new", 10, "10 users", MEAN, None, None, None))
    found = effects(Comparison(rows, True, (), {}), (OLD, NEW, OTHER))
    assert (len(found), tuple(found.columns)) == (0, COLUMNS)
