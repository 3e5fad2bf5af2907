"""Measuring in turns: who comes when, how long a window is, and who is up at once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from itertools import islice, pairwise

import pytest

from lab.errors import LabError
from lab.experiments import find_scenario, scenarios
from lab.reporting.html import rerun_command
from lab.runtimes import host
from lab.spec import attached, in_turns, planning, schedule, turns
from lab.spec.machine import Machine
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.spec.workload import Closed, Open

JWT = scenarios()["jwt"]


def machine(memory_mb: int) -> Machine:
    """A machine with so much memory."""
    return Machine(cores=4, memory_mb=memory_mb)


def planned(scenario: str = "jwt", memory_mb: int = 20_000, **options) -> Plan:
    """A plan in windows."""
    asked = Options(interleave="windows", seed=1, **options)
    return planning.make_plan(find_scenario(scenario), asked, machine(memory_mb))


@pytest.mark.parametrize("count", range(1, 8))
def test_each_has_each_place_and_follows_each_other_equally_often(count):
    """So no variant is faster for its place, or for who came before it."""
    orders = turns.square(count)
    assert all(sorted(order) == list(range(count)) for order in orders)
    places = Counter((place, number) for order in orders for place, number in enumerate(order))
    followed = Counter(pair for order in orders for pair in pairwise(order))
    assert len(places) == count * count
    assert len(followed) == count * (count - 1)
    assert len(set(places.values())) == 1
    assert len(set(followed.values())) <= 1


def test_rounds_come_in_random_order_and_are_balanced_in_each_cycle():
    """A cycle of six rounds for three, each cycle another one."""
    cycles = list(islice(turns.rounds("abc", random.Random(1)), 60))
    for begin in range(0, 60, 6):
        places = Counter((place, who) for order in cycles[begin : begin + 6] for place, who in enumerate(order))
        assert set(places.values()) == {2}
    assert len({tuple(map(tuple, cycles[begin : begin + 6])) for begin in range(0, 60, 6)}) > 5


def test_starts_of_few_rounds_are_balanced_together():
    """Where a start has two rounds only, three starts are a cycle; the seed repeats them."""
    orders = [order for start in (1, 2, 3) for order in turns.order("abc", 2, start, seed=5)]
    places = Counter((place, who) for order in orders for place, who in enumerate(order))
    assert set(places.values()) == {2}
    assert orders == [order for start in (1, 2, 3) for order in turns.order("abc", 2, start, seed=5)]
    assert orders != [order for start in (1, 2, 3) for order in turns.order("abc", 2, start, seed=6)]


@pytest.mark.parametrize(
    ("duration_s", "variants", "request_s", "expected"),
    [(20, 2, 0, 20), (20, 3, 0, 18), (20, 1, 0, 20), (2, 3, 0, 2), (1, 2, 0, 1), (60, 2, 2.0, 4), (6, 2, 2.0, 1)],
)
def test_a_window_lasts_about_a_second_or_ten_requests(duration_s, variants, request_s, expected):
    """Rounded to whole cycles, where the duration has any."""
    assert turns.windows(duration_s, variants, request_s) == expected


@pytest.mark.parametrize(("count", "variants"), [(1, 2), (2, 3), (3, 3), (4, 3), (13, 3), (25, 3), (7, 2), (60, 4)])
def test_no_fewer_windows_than_wanted_are_what_a_duration_gives(count, variants):
    """Whole cycles for what is longer than half of one, and never one alone."""
    possible = turns.at_least(count, variants)
    assert possible >= max(count, 2)
    assert turns.windows(possible * turns.WINDOW_S, variants) == possible
    assert possible < count + len(turns.square(variants)) + 1


def test_a_start_of_all_variants_at_one_load_is_up_at_once():
    """A group has each variant once; its loads are cut into the same windows."""
    plan = planned(users=[50, 100], repeat=2)
    assert len(plan.groups) == 4
    for group in plan.groups:
        assert [cell.variant for cell in group] == ["mvc", "mvc-virtual", "webflux"]
        assert len({(cell.repeat, cell.load.users) for cell in group}) == 1
        assert {cell.load.windows for cell in group} == {18}
    assert Plan.from_json(plan.as_json()) == plan


def test_a_cell_alone_is_its_own_group(plan):
    """What is not in windows is up alone."""
    assert plan.groups == [[cell] for cell in plan.cells]


def test_the_windows_of_a_load_add_up_to_it():
    """The users' first sends are spread over a small part of each."""
    closed = Closed(users=50, duration_s=20.0, ramp_s=1.0, windows=10)
    assert (closed.window().duration_s, closed.window().windows) == (2.0, 1)
    assert closed.window().ramp_s == pytest.approx(0.1)
    assert Closed(users=50, duration_s=20.0, ramp_s=1.0).window().ramp_s == 1.0
    opened = Open(users=50, duration_s=10.0, rate_rps=5.5, windows=10)
    sends = [opened.window(number).planned_sessions for number in range(10)]
    assert (set(sends), sum(sends)) == ({5, 6}, 55)
    assert opened.planned_sessions == 55


def test_each_window_has_arrivals_of_its_own_that_are_the_same_for_all_variants():
    """A load in one piece keeps the seed that it always had."""
    one, other = planned(users=[50]).cells[:2]
    plan = planned(users=[50])
    assert schedule.seed_of(plan, one, 3) == schedule.seed_of(plan, other, 3) != schedule.seed_of(plan, one, 4)
    piece = replace(one, load=Closed(users=50, duration_s=20.0))
    assert schedule.seed_of(plan, piece) == (1, 1)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"loops": 3}, "A burst cannot be measured in windows"),
        ({"duration": 5.0, "scenario": "chain", "parameters": {"b_slow": "1:2"}}, "would begin anew in each window"),
        (
            {"duration": 5.0, "scenario": "chain", "parameters": {"breaker": "refuse"}},
            "would begin anew in each window",
        ),
        ({"requests": 500}, "A total cannot be measured in windows"),
        ({"ramp": "0:100:9", "users": [9]}, "A ramp cannot be measured in windows"),
        ({"variants": ["mvc"]}, "there is one"),
        ({"duration": 9.0, "scenario": "delay"}, "a single window"),
        ({"rate": 17.0, "users": [50]}, "At a --rate of 17 a window of 1.11 s has fewer than 20 sends"),
        ({"remote_workers": 1, "bind": "127.0.0.1"}, "serve one variant at a time"),
    ],
)
def test_what_cannot_be_in_windows_is_refused_with_the_reason(options, said):
    """Before anything is started."""
    with pytest.raises(LabError, match=said):
        planned(**options)


@pytest.mark.parametrize(
    ("scenario", "options", "way"),
    [
        ("jwt", {}, "windows"),  # its own load has a duration
        ("jwt", {"duration": 20.0, "users": [50, 100]}, "windows"),
        ("jwt", {"rate": 500.0, "users": [100]}, "windows"),
        ("jwt", {"rate": 17.0, "users": [100]}, "cells"),  # in a window they would send fewer than twenty
        ("jwt", {"interleave": "cells"}, "cells"),
        ("jwt", {"variants": ["mvc"]}, "cells"),
        ("jwt", {"duration": 2.0}, "cells"),  # two windows for each of three have no balanced order
        ("jwt", {"requests": 5_000}, "cells"),
        ("jwt", {"heap_mb": 6_000}, "cells"),  # three of them do not fit
        ("migration", {"duration": 20.0, "ramp_up": 1.0, "heap_mb": 512}, "windows"),
        ("migration", {"duration": 20.0, "ramp_up": 1.0, "heap_mb": 512, "nodes": 2}, "cells"),
        ("document", {"duration": 20.0}, "windows"),
        ("document", {"duration": 20.0, "link_rate": 3_500_000}, "cells"),  # the link decides
        ("document", {}, "windows"),
        ("document", {"users": [100]}, "windows"),
        ("document", {"users": [200]}, "cells"),  # in a second each user would send two or three requests
        ("jwt", {"users": [50, 300]}, "windows"),
        ("document", {"loops": 1}, "cells"),
        ("delay", {"duration": 20.0, "users": [50]}, "cells"),
        ("operations", {"duration": 200.0, "users": [50]}, "cells"),  # its users pause for seconds
    ],
)
def test_where_the_cpu_decides_windows_are_the_default_wherever_they_make_sense(scenario, options, way, monkeypatch):
    """The default refuses nothing: what cannot be in windows, or only in batches, has its own time."""
    monkeypatch.setattr(host, "machine", lambda: machine(20_000))
    plan = planning.make_plan(find_scenario(scenario), Options(seed=1, **options), machine(20_000))
    assert plan.interleave == way
    given_again = rerun_command.asked(plan)
    assert given_again.get("interleave") == options.get("interleave")
    assert planning.make_plan(plan.scenario, Options(**given_again), machine(20_000)) == plan


def test_an_unknown_way_to_take_turns_is_refused():
    """As any other choice is."""
    with pytest.raises(LabError, match="did you mean windows"):
        planning.make_plan(JWT, Options(interleave="window"), machine(20_000))


def test_attached_services_take_turns_too():
    """Of them the lab knows no heap."""
    plan = attached.make_plan(
        ["http://127.0.0.1:1/a", "http://127.0.0.1:1/b"],
        ["old", "new"],
        {},
        Options(interleave="windows"),
        machine(4_000),
    )
    assert [[cell.variant for cell in group] for group in plan.groups] == [["old", "new"]]


def test_the_warm_up_of_an_attached_service_is_in_one_piece():
    """Five seconds of the same load."""
    closed = Closed(users=5, ramp_s=1.0, duration_s=20.0, windows=20)
    assert attached.warm_up(closed) == Closed(users=5, ramp_s=1.0, duration_s=5.0)
    opened = Open(users=5, rate_rps=10.0, duration_s=20.0, windows=20)
    assert attached.warm_up(opened) == Open(users=5, rate_rps=10.0, duration_s=5.0)


def test_what_does_not_fit_into_memory_goes_in_batches_that_share_the_first_variant():
    """Each batch is a group of its own, so that the first variant has a cell in each; the plan says so."""
    plan = planned(repeat=2, memory_mb=10_000)
    names = [[cell.variant for cell in group] for group in plan.groups]
    assert names == [["mvc", "mvc-virtual"], ["mvc", "webflux"], ["mvc", "mvc-virtual"], ["mvc", "webflux"]]
    assert [group[0].repeat for group in plan.groups] == [1, 2, 3, 4]
    assert len({cell.id for cell in plan.cells}) == 8
    assert "in batches: mvc, mvc-virtual; mvc, webflux." in in_turns.batched(plan)
    assert {cell.load.windows for cell in plan.cells} == {20}
    assert planned(repeat=2, heap_mb=256, memory_mb=10_000).groups[0][2:]


def test_where_not_even_two_fit_the_refusal_says_what_would_help():
    """A smaller heap, or no windows."""
    with pytest.raises(
        LabError, match=r"mvc and mvc-virtual are up at once, which needs 7,[0-9]{3} MiB of memory"
    ) as error:
        planned(memory_mb=4_000)
    assert "--heap-mb" in error.value.next_step
    assert "--interleave cells" in error.value.next_step
    assert (
        in_turns.batched(planned("delay", 4_000, heap_mb=64, users=[50], duration=60, variants=["mvc", "webflux"]))
        == ""
    )


def test_batches_hold_all_and_differ_in_size_by_one():
    """Nobody is left out, and only the reference is in several."""
    assert turns.batches(3, 3) == [[0, 1, 2]]
    assert turns.batches(5, 3) == [[0, 1, 3], [0, 2, 4]]
    assert turns.batches(6, 3) == [[0, 1, 4], [0, 2, 5], [0, 3]]
