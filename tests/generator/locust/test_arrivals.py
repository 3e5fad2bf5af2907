"""Who sends what was planned: every user and every send once, spread evenly over the workers."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lab.generator.locust.arrivals import assigned_requests, assigned_sends, assigned_users
from lab.spec import schedule
from lab.spec.workload import POISSON, Open

COUNTS = [
    *([n] for n in (1, 2, 7, 4000)),
    *(list(pair) for pair in itertools.product((0, 1, 2, 5, 100), repeat=2) if any(pair)),
    [3, 3, 3],
    [1334, 1333, 1333],
    [1, 2, 3, 4, 5],
    [0, 0, 9],
    [997, 3, 1000],
    [1] * 16,
]


@pytest.mark.parametrize("counts", COUNTS, ids=str)
def test_every_user_is_played_by_exactly_one_worker(counts):
    """Together the workers cover all users, each once, and each worker as many as it was given."""
    shares = [assigned_users(counts, worker) for worker in range(len(counts))]
    assert [len(mine) for mine in shares] == counts
    assert sorted(np.concatenate(shares).tolist()) == list(range(sum(counts)))
    assert all((np.diff(mine) > 0).all() for mine in shares)


@pytest.mark.parametrize("counts", [[2000, 2000], [1334, 1333, 1333], [100, 300], [5, 5, 5, 5]], ids=str)
def test_each_worker_is_spread_over_the_whole_ramp(counts):
    """At any moment of the ramp each worker has started its share of users, to within one of each worker."""
    total = sum(counts)
    for worker, count in enumerate(counts):
        mine = assigned_users(counts, worker)
        started = np.searchsorted(mine, np.arange(total + 1), side="left")
        assert np.abs(started - np.arange(total + 1) * count / total).max() <= len(counts)


def test_two_equal_workers_take_turns():
    """With two equal workers the gaps between one worker's starts are those of the whole load, doubled."""
    assert set(np.diff(assigned_users([500, 500], 0)).tolist()) == {2}


@pytest.mark.parametrize("counts", COUNTS, ids=str)
@pytest.mark.parametrize("sends", [0, 1, 7, 1000, 4001])
def test_every_planned_send_is_made_by_exactly_one_worker_in_order(counts, sends):
    """Together the workers make all sends, each once, each in the planned order and in proportion to its users."""
    parts = [assigned_sends(sends, counts, worker) for worker in range(len(counts))]
    assert sorted(np.concatenate(parts).tolist()) == list(range(sends))
    assert all((np.diff(mine) > 0).all() for mine in parts)
    for mine, users in zip(parts, counts, strict=True):
        assert abs(len(mine) - sends * users / sum(counts)) <= len(counts)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_the_workers_plans_together_are_the_whole_plan(workers):
    """Each worker makes the plan by itself from the load and the seed, and takes its turns: nothing more is needed."""
    load = Open(users=100, rate_rps=333.0, duration_s=3.0, arrivals=POISSON)
    counts = [100 // workers] * workers
    parts = [
        schedule.planned_s(load, (5, 1))[assigned_sends(load.planned_starts, counts, worker)]
        for worker in range(workers)
    ]
    assert np.array_equal(np.sort(np.concatenate(parts)), schedule.planned_s(load, (5, 1)))
    assert all((np.diff(part) >= 0).all() for part in parts)


@pytest.mark.parametrize("requests", [0, 1, 7, 1000, 99_999])
@pytest.mark.parametrize("counts", [[1], [1, 0], [3, 5, 2], [2000, 2000], [1] * 16], ids=str)
def test_workers_send_the_requests_asked_for_together(counts, requests):
    """Quotas add up exactly, and are in proportion to the workers' users."""
    quotas = [assigned_requests(requests, counts, worker) for worker in range(len(counts))]
    assert sum(quotas) == requests
    for mine, users in zip(quotas, counts, strict=True):
        assert abs(mine - requests * users / sum(counts)) <= 1
