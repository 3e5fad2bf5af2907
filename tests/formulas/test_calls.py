"""Requests of several calls: the formulas of the document, and a queue that is played call by call."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lab.formulas import queueing
from lab.formulas.calls import Calls

T_S = 0.1


@pytest.mark.parametrize(
    ("calls", "users", "total_s"),
    [
        (Calls(T_S, 5, threads=20, connections=100), 100, 2.5),
        (Calls(T_S, 5, connections=100), 100, 0.5),
        (Calls(T_S, 5, parallel=True, connections=100), 100, 0.5),
        (Calls(T_S, 5, parallel=True, connections=100), 10, 0.1),
        (Calls(T_S, 5, threads=200, connections=20), 100, 2.5),
        (Calls(T_S, 5, parallel=True, connections=20), 100, 2.5),
        (Calls(T_S, 5, parallel=True), 100, 0.1),
        (Calls(T_S, 5), 100, 0.5),
    ],
)
def test_the_formula_gives_the_last_answer_of_a_queue_that_is_played(calls, users, total_s):
    """⌈R/min(N,T)⌉·t·x one after the other and ⌈R·x/N⌉·t at once are when the last of R requests is answered."""
    assert calls.all_s(users) == pytest.approx(total_s)
    assert calls.latencies(np.zeros(users)).max() == pytest.approx(total_s)


def test_at_once_a_request_is_answered_with_its_last_call():
    """Ten requests of two calls over four connections: two are answered in each of five waves."""
    latencies = Calls(1.0, 2, parallel=True, connections=4).latencies(np.zeros(10))
    assert sorted(latencies) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]


def test_one_by_one_a_request_keeps_its_connection():
    """Two connections serve four requests of two calls in two waves: pools are not fair to those who wait."""
    latencies = Calls(1.0, 2, connections=2).latencies(np.zeros(4))
    assert sorted(latencies) == [2, 2, 4, 4]


@pytest.mark.parametrize("loops", [1, 3])
@pytest.mark.parametrize("threads", [3, 7, None])
def test_one_call_is_the_queue_that_is_known(threads, loops):
    """A single call that is played as events gives what the closed form does, arrival by arrival."""
    arrivals_s = np.linspace(0, 1, 20)
    played = Calls(0.5, parallel=True, threads=threads).latencies(arrivals_s, loops)
    known = queueing.burst_latencies(arrivals_s, 0.5, threads, loops)
    assert len(played) == len(known) == 20 * loops
    # Who is first of two that come back at the same moment is not defined, and moves single latencies, not their mean.
    assert played.mean() == pytest.approx(known.mean(), rel=0.002)
    assert loops > 1 or sorted(played) == pytest.approx(sorted(known))


def test_a_thread_is_held_until_the_last_call_is_answered():
    """With one thread, requests are served one after the other, whatever connections there are."""
    assert sorted(Calls(1.0, 3, threads=1, connections=9).latencies(np.zeros(2))) == [3, 6]


@pytest.mark.parametrize("parallel", [False, True])
def test_many_loops_end_at_the_law_of_little(parallel):
    """In a closed loop the mean is R over the capacity; a burst of very many loops comes to that."""
    calls = Calls(T_S, 4, parallel, connections=8)
    assert calls.capacity_rps == pytest.approx(8 / (4 * T_S))
    assert calls.burst_mean_s(np.zeros(40), 1000) == pytest.approx(calls.closed_mean_s(40), rel=0.02)
    assert calls.closed_mean_s(40) == pytest.approx(2.0)


def test_an_open_loop_below_capacity_waits_for_nobody():
    """Half of the capacity, evenly spread: everybody is answered in t."""
    calls = Calls(T_S, 2, parallel=True, connections=10)
    arrivals_s = np.arange(0, 4, 2 / calls.capacity_rps)
    assert calls.open_latencies(arrivals_s, 100).mean() == pytest.approx(T_S)


def test_without_limits_there_is_no_capacity():
    """Nothing runs out, so any number is answered."""
    assert math.isinf(Calls(T_S, 5).capacity_rps)
    assert Calls(T_S, 5).servers is None
