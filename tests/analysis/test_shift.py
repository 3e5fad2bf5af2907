"""The shift function: ratios of each percentile, with bands over the repeats, from samples that were made up."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import numpy as np
import pytest
from made_runs import fill

import lab
from lab.formulas.stats import Distribution


@pytest.fixture
def tailed(made):
    """A run in which the slowest tenth of the requests of webflux takes twice as long, and all others as long."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=4)
    for folder in run.cells():
        slow = 2.0 if folder.cell.variant == "webflux" else 1.0
        chance = np.random.default_rng([folder.cell.repeat, int(slow)])
        fill(folder, 0.1 * chance.lognormal(0, 0.01), chance, requests=2000, tail=slow)
    return run


def test_the_tail_alone_is_slower(tailed):
    """The percentiles below are alike, those above twice as long; each has an interval that holds the truth."""
    found = {each.percent: each.ratio for each in lab.compare(str(tailed.path)).quantiles}
    assert set(found) == {10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9}
    for percent, truth in ((10.0, 1.0), (50.0, 1.0), (75.0, 1.0), (95.0, 2.0), (99.0, 2.0)):
        assert found[percent].ratio == pytest.approx(truth, rel=0.05)
        assert found[percent].low < found[percent].ratio < found[percent].high


def test_it_is_in_json_and_drawn(tailed, typed, tmp_path):
    """Programs get each percentile; the figure has a panel a pair, with a band."""
    printed = json.loads(typed("compare", tailed.name, "--json", "--data", str(tmp_path)).stdout)
    assert [each["percent"] for each in printed["quantiles"]] == [10, 25, 50, 75, 90, 95, 99, 99.9]
    assert printed["quantiles"][0]["ratio"]["low"] is not None
    figure = lab.compare(str(tailed.path)).shift_figure()
    assert figure.axes[0].get_title(loc="left") == "webflux / mvc"
    assert len(figure.axes[0].collections) == 1


def test_a_percentile_takes_answers_enough(made):
    """200 answers have no slowest in a thousand; one run a side has ratios and no band; none at all is said."""
    once = lab.compare(str(made({"mvc": 0.1, "webflux": 0.1}, repeat=1).path))
    assert {each.percent for each in once.quantiles} == {10, 25, 50, 75, 90, 95, 99}
    assert {each.ratio.low for each in once.quantiles} == {None}
    assert not once.shift_figure().axes[0].collections
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=2)
    for folder in run.cells():
        folder.kept.unlink()
    empty = lab.compare(str(run.path))
    assert empty.quantiles == ()
    assert "no percentile" in empty.shift_figure().axes[0].texts[0].get_text()


@pytest.mark.parametrize("count", [0, 1, 9, 10, 1000])
def test_quantiles_are_times_of_their_rank(count):
    """Exact percentiles (inverted CDF), of those that have a time above them."""
    times, all_of = np.random.default_rng(count).integers(1, 10**6, count), Distribution()
    all_of.add(times)
    found = all_of.quantiles_s((10, 50, 90, 99.9))
    # In decimal: numpy takes 99.9 % of 1000 for a little more than 999.
    ranks = {p: math.ceil(count * Decimal(str(p)) / 100) for p in (10, 50, 90, 99.9)}
    expected = {
        p: np.sort(times)[rank - 1] / 1e6 for p, rank in ranks.items() if count * (100 - Decimal(str(p))) >= 100
    }
    assert found == expected
