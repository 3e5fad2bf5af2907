"""The planned send times of a load: a pure function of the load and a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lab.spec.plan import Cell, Plan
from lab.spec.workload import POISSON, Load, Open, Ramp

Seed = tuple[int, ...]


def seed_of(plan: Plan, cell: Cell, window: int = 0) -> Seed:
    """The seed of a cell's arrivals and of what its users draw: another for every repeat and window.

    All variants of a repeat have the same.
    """
    return (plan.seed, cell.repeat, window) if cell.load.windows > 1 else (plan.seed, cell.repeat)


def planned_s(load: Load, seed: Seed) -> NDArray[np.float64]:
    """The planned send times: of every request of an open loop, otherwise of the first request of each user.

    Poisson arrivals are a Poisson process given its count: N moments, independent and uniform over the time, in order
    (S. M. Ross, *Introduction to Probability Models*, conditional distribution of the arrival times). So every seed
    gives exactly as many requests, and the rate is exactly the one specified. On a ramp they are uniform over the
    planned number of sends instead of over the time.

    Returns:
        Seconds after the start, ascending, none at or after its end: shape (load.planned_starts,).

    """
    count = load.planned_starts
    if load.arrivals == POISSON:
        numbers = np.sort(np.random.default_rng(seed).random(count)) * count
    else:
        numbers = np.arange(count, dtype=np.float64)
    match load:
        case Open():
            return numbers / load.rate_rps
        case Ramp():
            return _on_ramp_s(load, numbers)
        case _:
            return numbers * (load.ramp_s / count)


def _on_ramp_s(load: Ramp, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """When a ramp has planned so many sends: the inverse of the integral of its rate.

    After t seconds it has planned n = f·t + (g/2)·t² sends, growing by g requests/s each second from a rate of f; the
    root of that is written so that it cancels nothing, and holds for g = 0. What is uniform over n becomes a Poisson
    process of the growing rate (E. Çinlar, *Introduction to Stochastic Processes*, nonstationary Poisson processes).
    """
    growth = (load.to_rps - load.from_rps) / load.duration_s
    rates = load.from_rps + np.sqrt(load.from_rps**2 + 2 * growth * numbers)
    return np.divide(2 * numbers, rates, out=np.zeros_like(numbers), where=rates > 0)
