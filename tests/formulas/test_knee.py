"""Plateau, knee and first errors, on shapes that are known and on a sweep that was measured."""

from __future__ import annotations

import math

import pytest
from machines import HERE

import lab
from lab.experiments import scenarios
from lab.formulas import knee
from lab.formulas.knee import Point
from lab.spec import planning
from lab.spec.options import Options
from lab.storage.run_folder import RunFolder


def closed(users: int, t_s: float, servers: float) -> Point:
    """What a closed system with a time of t and so many servers does: the two asymptotes themselves."""
    throughput = min(users / t_s, servers / t_s)
    return Point(users, throughput, users / throughput)


@pytest.mark.parametrize("servers", [10, 50, 200])
@pytest.mark.parametrize("t_s", [0.1, 2.0])
def test_the_knee_of_a_queue_is_its_number_of_servers(servers, t_s):
    """With T threads of t seconds each, the plateau is T/t and the knee T, whatever t is."""
    sweep_shape = knee.sweep_shape([closed(users, t_s, servers) for users in (1, 10, 40, 100, 400, 1000)])
    assert sweep_shape.plateau is not None
    assert sweep_shape.plateau.throughput_rps == pytest.approx(servers / t_s)
    assert sweep_shape.knee_users == pytest.approx(servers)
    assert sweep_shape.errors_from is None


def test_what_keeps_growing_has_no_plateau_and_no_knee():
    """Below saturation there is nothing to find, and that is said."""
    sweep_shape = knee.sweep_shape([closed(users, 2.0, math.inf) for users in (1, 10, 100, 1000)])
    assert (sweep_shape.plateau, sweep_shape.knee_users) == (None, None)
    assert "still grows at 1,000 users" in str(sweep_shape)


def said(*rates: tuple[int, float]) -> str:
    """The sentence on a sweep with these numbers of users and answers a second, at a latency that says nothing."""
    return str(knee.sweep_shape([Point(users, rate, 1e-9) for users, rate in rates]))


def test_a_small_step_in_users_is_no_plateau():
    """Two loads next to one another have nearly the same throughput in any system, and it is said that this is all."""
    assert knee.sweep_shape([Point(100, 50.0, 2.0), Point(104, 51.0, 2.0)]).plateau is None
    assert said((10, 5.0), (100, 50.0), (104, 51.0)) == (
        "50.5 answers/s from 100 to 104 users, too near to one another to tell whether it still grows, no errors"
    )


@pytest.mark.parametrize(
    ("users", "rate", "is_plateau"), [(149, 100.0, False), (150, 100.0, True), (400, 94.9, False), (400, 95.1, True)]
)
def test_a_plateau_spans_half_as_many_users_again_within_five_percent(users, rate, is_plateau):
    """Less of a span gave throughput no chance to grow, and less throughput is not the same."""
    assert (knee.sweep_shape([Point(100, 100.0, 1.0), Point(users, rate, 1.0)]).plateau is not None) == is_plateau


def test_a_collapse_after_the_peak_is_neither_a_plateau_nor_growth():
    """Throughput that falls right after its peak was never level; where it was best and how far it fell is said."""
    sweep_shape = knee.sweep_shape([Point(10, 5.0, 2.0), Point(100, 50.0, 2.0), Point(1000, 20.0, 50.0)])
    assert (sweep_shape.plateau, sweep_shape.knee_users) == (None, None)
    assert (
        str(sweep_shape) == "throughput peaks with 50.0 answers/s at 100 users, then falls to 20.0 at 1,000, no errors"
    )


def test_a_plateau_ends_where_throughput_falls():
    """From where to where it is level, and what came of it under more users."""
    assert said((10, 10.0), (200, 100.0), (400, 100.0)) == "100.0 answers/s from 200 to 400 users, no errors"
    fallen = said((10, 10.0), (200, 100.0), (400, 100.0), (4000, 30.0))
    assert fallen == "100.0 answers/s from 200 to 400 users, then falls to 30.0 at 4,000, no errors"


def test_loads_on_both_sides_of_a_dip_are_no_plateau():
    """Only loads next to one another are level: between 100 and 400 users it was half as much."""
    assert said((100, 100.0), (200, 50.0), (400, 98.0)) == (
        "throughput peaks with 100.0 answers/s at 100 users, then falls to 50.0 at 200, no errors"
    )


@pytest.mark.parametrize(("lowest", "knee_users"), [(1, 20), (18, 20), (19, None), (40, None)])
def test_a_knee_is_not_read_from_loads_that_all_wait(lowest, knee_users):
    """Twenty threads are shown by users of whom nobody waits; a lowest load of forty would only show itself."""
    found = knee.sweep_shape([closed(users, 0.2, 20) for users in (lowest, 80, 160)]).knee_users
    assert found == (knee_users and pytest.approx(knee_users))


def test_errors_begin_at_the_smallest_load_that_has_some():
    """The order in which loads were measured does not matter."""
    points = [Point(400, 90.0, 4.0, 0.2), Point(100, 50.0, 2.0), Point(200, 90.0, 2.2, 0.01)]
    sweep_shape = knee.sweep_shape(points)
    assert sweep_shape.errors_from == points[2]
    assert "errors from 200 users (1.0%)" in str(sweep_shape)


@pytest.mark.parametrize(
    ("points", "sentence"),
    [
        ([Point(1, 0.5, 2.0)], "0.5 answers/s at 1 users, the only load, no errors"),
        (
            [Point(1, 0.0, None, 1.0), Point(50, 0.0, None, 1.0)],
            "no right answer at any load, errors from 1 users (100.0%)",
        ),
    ],
    ids=["one load", "only errors"],
)
def test_too_little_shows_nothing_and_says_so(points, sentence):
    """One load, or loads of which nothing came back, show neither plateau nor growth."""
    sweep_shape = knee.sweep_shape(points)
    assert (sweep_shape.plateau, sweep_shape.knee_users) == (None, None)
    assert str(sweep_shape) == sentence


def test_a_sweep_needs_a_load():
    """Nothing measured is an error of the caller."""
    with pytest.raises(ValueError, match="at least one load"):
        knee.sweep_shape([])


def test_the_example_shows_the_threads():
    """On the example sweep, platform threads bend near their 200 threads; the others do not bend."""
    bends = lab.open_run("delay-sweep").bends()
    level = bends["mvc"].plateau
    assert level is not None
    assert (level.from_users, level.to_users) == (1000, 4000)
    assert bends["mvc"].knee_users == pytest.approx(200, rel=0.05)
    assert bends["webflux"].plateau is bends["mvc-virtual"].plateau is None


def test_a_sweep_is_shown_with_its_bends(typed):
    """'show' ends with a sentence for each variant."""
    shown = typed("show", "delay-sweep").stdout
    assert "answers/s from 1,000 to 4,000 users, knee at 198 users, no errors" in shown
    assert shown.count("throughput still grows at 4,000 users") == 2


def test_a_variant_without_a_usable_cell_is_not_left_out(typed, tmp_path):
    """A sweep of which nothing was measured says so of every variant."""
    plan = planning.make_plan(scenarios()["delay"], Options(users=[1, 2], seed=1), HERE)
    RunFolder.create(plan, [], {}, tmp_path)
    assert typed("show", "--data", str(tmp_path)).stdout.count("no cell of it can be used") == 3
