"""Starts and windows: an interval that covers the truth, and advice that keeps its word."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

from lab.formulas import students_t
from lab.formulas.two_levels import TwoLevels, adjusted, least_effort, two_levels

TRUTH = 0.05
# Any number of windows is possible.
ANY = partial(max, 1)


def drawn(chance: np.random.Generator, starts: int, windows: int, between: float, within: float) -> TwoLevels:
    """What is found in starts that differ by ``between``, of windows that differ by ``within``."""
    of_start = chance.normal(TRUTH, between, starts)
    found = two_levels([chance.normal(mean, within, windows) for mean in of_start])
    assert found
    return found


@pytest.mark.parametrize(("between", "within"), [(0.01, 0.03), (0.0, 0.05), (0.03, 0.0)])
def test_the_interval_covers_the_truth_in_19_of_20_cases(between, within):
    """Whether the starts differ, or only their windows."""
    chance = np.random.default_rng(1)
    found = [drawn(chance, 4, 10, between, within) for _ in range(2000)]
    covered = np.mean([abs(one.mean - TRUTH) <= one.reach for one in found if one.reach is not None])
    assert covered == pytest.approx(students_t.CONFIDENCE, abs=0.015)


def test_an_interval_of_windows_alone_would_not():
    """As if forty windows of four starts were forty starts: it misses in every second case."""
    chance = np.random.default_rng(2)
    missed = 0
    for _ in range(500):
        values = chance.normal(TRUTH, 0.02, 4)[:, None] + chance.normal(0, 0.03, (4, 10))
        reach = students_t.reach(values.std(ddof=1) / math.sqrt(40), 39)
        missed += abs(values.mean() - TRUTH) > reach
    assert missed > 150


def test_the_variances_are_told_apart():
    """On average they are those that were drawn from."""
    chance = np.random.default_rng(3)
    found = [drawn(chance, 20, 10, 0.02, 0.03) for _ in range(300)]
    assert np.mean([one.between for one in found]) == pytest.approx(0.02**2, rel=0.05)
    assert np.mean([one.within for one in found]) == pytest.approx(0.03**2, rel=0.05)


def test_starts_of_different_length_count_the_same():
    """A start that was cut short is as much of a start as any other; its mean counts once."""
    found = two_levels([np.array([1.0, 3.0]), np.array([5.0]), np.array([])])
    assert found
    assert found.means == (2.0, 5.0)
    assert found.mean == 3.5
    assert found.windows == pytest.approx(4 / 3)
    assert found.within == pytest.approx(2.0)


def test_one_start_has_no_interval():
    """And one window a start does not say what more of them would do; nothing has no mean."""
    one = two_levels([np.array([1.0, 2.0, 3.0])])
    assert one
    assert (one.mean, one.reach, one.between) == (2.0, None, None)
    assert one.within == pytest.approx(1.0)
    single = two_levels([np.array([1.0]), np.array([2.0])])
    assert single
    assert single.reach is not None
    assert (single.within, single.between) == (None, None)
    assert least_effort(single, 0.1, 1.0, 1.0, ANY) is None
    assert two_levels([np.array([])]) is None


@pytest.mark.parametrize(("between", "within", "start_s"), [(0.01, 0.03, 40.0), (0.0, 0.05, 40.0), (0.03, 0.02, 5.0)])
def test_the_advised_effort_reaches_as_far_as_it_says(between, within, start_s):
    """Starts and windows are drawn as advised: on average the interval is as wide as wanted, or a little less."""
    chance, known = np.random.default_rng(4), TwoLevels(0.0, (0.0, 0.0), 0.1, 10, within**2, between**2)
    effort = least_effort(known, 0.03, start_s, 4.0, ANY)
    assert effort
    reached = [drawn(chance, effort.starts, effort.windows, between, within).reach for _ in range(1000)]
    # What is advised is whole numbers, and a root of a mean square is more than a mean.
    assert 0.02 < np.sqrt(np.mean(np.square(reached))) <= 0.0305  # type: ignore[arg-type]
    assert effort.elapsed_s == effort.starts * (start_s + 4.0 * effort.windows)


def test_dear_starts_have_many_windows_where_only_windows_differ():
    """And where starts differ, there is no way around more of them."""
    windows_differ = TwoLevels(0.0, (0.0, 0.0), 0.1, 10, 0.05**2, 0.0)
    starts_differ = TwoLevels(0.0, (0.0, 0.0), 0.1, 10, 0.001**2, 0.02**2)
    many, few = (least_effort(found, 0.03, 60.0, 4.0, ANY) for found in (windows_differ, starts_differ))
    assert many
    assert few
    assert few.windows == 1
    assert many.windows > 5
    assert few.starts > many.starts
    assert least_effort(starts_differ, 0.0001, 60.0, 4.0, ANY) is None
    even = least_effort(starts_differ, 0.03, 60.0, 4.0, lambda windows: max(2, windows))
    assert even
    assert even.windows == 2
    assert even.elapsed_s == even.starts * (60.0 + 2 * 4.0)


def disturbed(chance: np.random.Generator, follows: float, starts: int = 4, windows: int = 20):
    """Values that follow two disturbances, one of them not at all, and the disturbances."""
    known = [chance.normal(0, 0.15, (windows, 2)) for _ in range(starts)]
    of_start = chance.normal(TRUTH, 0.005, starts)
    values = [
        mean + follows * of[:, 0] + chance.normal(0, 0.03, windows) for mean, of in zip(of_start, known, strict=True)
    ]
    return values, known


@pytest.mark.parametrize("follows", [0.0, 1.0])
def test_without_what_was_known_the_interval_still_covers_the_truth(follows):
    """Whether values followed it or not."""
    chance, covered = np.random.default_rng(5), 0
    for _ in range(1000):
        found = two_levels(adjusted(*disturbed(chance, follows), 0.0, 1.0)[0])
        assert found
        assert found.reach
        covered += abs(found.mean - TRUTH) <= found.reach
    assert covered / 1000 == pytest.approx(students_t.CONFIDENCE, abs=0.02)


def test_what_was_known_is_taken_out():
    """The interval is a fraction as wide where values followed it, and the share that was taken out is said."""
    values, known = disturbed(np.random.default_rng(6), 1.0)
    without, share = adjusted(values, known, 0.0, 1.0)
    raw, found = two_levels(values), two_levels(without)
    assert raw
    assert found
    assert found.within is not None
    assert raw.within is not None
    assert found.within < raw.within / 10
    assert share == pytest.approx(0.15**2 / (0.15**2 + 0.03**2), abs=0.03)


def busy(chance: np.random.Generator, starts: int = 4, windows: int = 20):
    """Rates of which the second is lower by a tenth, and how slow cores were: slower where they had more to do."""
    rates = [chance.normal([[0.0], [-0.1]], 0.2, (2, windows)) for _ in range(starts)]
    slow = [0.05 * rate + chance.normal(0, 0.01, (2, windows)) for rate in rates]
    return [rate[1] - rate[0] for rate in rates], [(each[1] - each[0])[:, None] for each in slow]


def test_a_core_that_is_slow_as_it_has_more_to_do_excuses_nobody():
    """A rate cannot rise with the slowness of cores: taken out, that would hide half of a difference of ten percent."""
    chance, found, wrong = np.random.default_rng(7), [], []
    for _ in range(500):
        values, known = busy(chance)
        found.append(two_levels(adjusted(values, known, -1.0, 0.0)[0]))
        wrong.append(two_levels(adjusted(values, known, -math.inf, math.inf)[0]))
    assert np.mean([one.mean for one in wrong if one]) == pytest.approx(-0.05, abs=0.01)
    assert np.mean([one.mean for one in found if one]) == pytest.approx(-0.1, abs=0.005)
    covered = np.mean([abs(one.mean + 0.1) <= one.reach for one in found if one and one.reach])
    assert covered == pytest.approx(students_t.CONFIDENCE, abs=0.03)
    assert adjusted(*busy(chance), -1.0, 0.0)[1] == 0.0


def test_too_few_windows_are_left_as_they_are():
    """Nine of them could be explained by anything; so could those of which nothing is known."""
    values, known = [np.arange(9.0)], [np.arange(18.0).reshape(9, 2)]
    assert adjusted(values, known, 0.0, 1.0) == (values, 0.0)
    assert adjusted(values, [np.zeros((9, 0))], 0.0, 1.0) == (values, 0.0)
    assert adjusted([], [], 0.0, 1.0) == ([], 0.0)
    same, share = adjusted([np.ones(30)], [np.arange(30.0)[:, None]], 0.0, 1.0)
    assert same[0] == pytest.approx(1.0)
    assert share == 0.0
