"""The planned send times of a load: a pure function of the load and a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lab.spec.plan import Cell, Plan
from lab.spec.workload import POISSON, Load

Seed = tuple[int, ...]


def seed_of(plan: Plan, cell: Cell) -> Seed:
    """The seed of a cell's arrivals: the same for all variants of a repeat, another for every repeat."""
    return (plan.seed, cell.repeat)


def planned_s(load: Load, seed: Seed) -> NDArray[np.float64]:
    """The planned send times: of every request of an open loop, otherwise of the first request of each user.

    Poisson arrivals are a Poisson process given its count: N moments, independent and uniform over the time, in order
    (S. M. Ross, *Introduction to Probability Models*, conditional distribution of the arrival times). So every seed
    gives exactly as many requests, and the rate is exactly the one specified.

    Returns:
        Seconds after the start, ascending, none at or after its end: shape (planned requests,) or (users,).

    """
    count = load.planned_sends if load.is_open else load.users
    span_s = count / load.rate_rps if load.is_open else load.ramp_s
    if load.arrivals == POISSON:
        return np.sort(np.random.default_rng(seed).random(count)) * span_s
    return np.arange(count, dtype=np.float64) * (span_s / count)
