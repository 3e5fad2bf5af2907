"""The order of cells: random where drift of the machine could favour one, and the same for the same seed."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machines import HERE

from lab.experiments import scenarios
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.ordering import in_random_order, shared_starts


def test_starts_come_in_order_and_what_is_in_them_at_random():
    """All loads of the first start before any of the second; which load and which variant comes first changes."""
    options = Options(users=[50, 100], repeat=4, interleave="windows", seed=3)
    plan = planning.make_plan(scenarios()["jwt"], options, HERE)
    starts = in_random_order(plan)
    groups = [group for of_start in starts for group in of_start]
    assert [len(of_start) for of_start in starts] == [2, 2, 2, 2]
    assert [group[0].repeat for group in groups] == [1, 1, 2, 2, 3, 3, 4, 4]
    assert sorted(cell.id for group in groups for cell in group) == sorted(cell.id for cell in plan.cells)
    assert len({tuple(cell.variant for cell in group) for group in groups}) > 1
    assert len({tuple(group[0].load.users for group in groups[at : at + 2]) for at in range(0, 8, 2)}) > 1
    assert in_random_order(plan) == starts


@pytest.mark.parametrize("seed", range(5))
def test_shared_starts_favour_no_variant_and_no_load(seed):
    """All variants of a repeat have the same order of loads; in as many repeats as loads each is once at each place."""
    variants = ("mvc", "mvc-virtual", "webflux")
    options = Options(variants=variants, users=(5,), repeat=3, seed=seed)
    plans = [planning.make_plan(scenarios()["delay"], replace(options, loops=loops), HERE) for loops in (1, 2, 3)]
    starts = list(shared_starts(plans))
    assert sorted(cell.id for loads in starts for _, cell in loads) == sorted(
        cell.id for plan in plans for cell in plan.cells
    )
    assert all(len({(cell.variant, cell.repeat) for _, cell in loads}) == 1 for loads in starts)
    orders = {(loads[0][1].repeat, tuple(place for place, _ in loads)) for loads in starts}
    assert len(orders) == 3
    assert all(sorted(order[place] for _, order in orders) == [0, 1, 2] for place in range(3))


def test_loads_that_lack_variants_follow_those_that_have_all():
    """Else the first of two variants would be measured before them, and the second after them, in the same repeat."""
    options = Options(variants=("mvc", "webflux"), users=(5,), repeat=3, seed=1)
    few = replace(options, variants=("mvc",), loops=2)
    plans = [planning.make_plan(scenarios()["delay"], each, HERE) for each in (few, options, replace(options, loops=3))]
    orders = [[place for place, _ in loads] for loads in shared_starts(plans)]
    assert sorted(map(len, orders)) == [2] * 3 + [3] * 3
    assert all(order[2:] in ([], [0]) for order in orders)
    assert {tuple(order[:2]) for order in orders} == {(1, 2), (2, 1)}
