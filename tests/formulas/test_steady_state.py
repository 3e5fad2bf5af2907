"""Where a load settles: found where it was put, and not found where there is no such place."""

from __future__ import annotations

import numpy as np
import pytest

from lab.formulas import steady_state


def load(seconds: float, rate: float, warm_s: float, chance) -> tuple[np.ndarray, np.ndarray]:
    """Answers of a load whose latency falls to a tenth over the first ``warm_s`` seconds."""
    ended = np.sort(chance.uniform(0, seconds, int(seconds * rate)))
    slow = 1 + 9 * np.clip(1 - ended / warm_s, 0, 1)
    return ended, 0.01 * slow * chance.lognormal(0, 0.1, len(ended))


@pytest.mark.parametrize("warm_s", [2.0, 5.0, 8.0])
def test_a_warm_up_is_found_where_it_ends(warm_s):
    """A latency that falls for some seconds is settled when it has done so, give or take a few steps."""
    found = steady_state.settling(*load(20.0, 200.0, warm_s, np.random.default_rng(3)))
    assert 0.7 * warm_s <= found.latency_s <= warm_s + 2.0
    assert found.from_s >= found.latency_s


def test_a_load_that_is_steady_from_the_start_is_said_to_be():
    """Nothing, or next to nothing, is cut off where there is nothing to cut off."""
    chance = np.random.default_rng(4)
    early = [steady_state.settling(*load(20.0, 200.0, 1e-9, chance)).latency_s for _ in range(50)]
    assert np.median(early) <= 2.0


def test_a_load_that_never_settles_is_said_to_be_so():
    """A latency that rises to the end has no steady part."""
    ended = np.linspace(0, 20, 4000)
    found = steady_state.settling(ended, 0.01 + ended * 0.01)
    assert found.latency_s is None
    assert found.from_s is None


@pytest.mark.parametrize("count", [0, 1, 150])
def test_few_answers_say_nothing(count):
    """Too few answers for a series say neither that it settled nor that it did not."""
    assert steady_state.settling(np.linspace(0, 1, count), np.ones(count)) is None


def test_a_series_by_hand():
    """A step in the beginning is cut off where it is; one in the second half says that nothing had settled."""
    assert steady_state.steady_from(np.array([9.0] * 10 + [1.0, 1.1] * 20)) == 10
    assert steady_state.steady_from(np.array([1.0, 1.1] * 20 + [9.0, 9.1] * 5)) is None
    assert steady_state.steady_from(np.ones(14)) is None
