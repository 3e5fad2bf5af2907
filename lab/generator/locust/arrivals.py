"""Splits a planned load over the workers: which users, which requests and which planned sends each of them has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def assigned_requests(requests: int, counts: list[int], worker: int) -> int:
    """How many of the load's requests one worker sends: in proportion to its users; all workers' add up exactly."""
    ends = np.cumsum(counts) * requests // max(sum(counts), 1)
    return int(ends[worker] - (ends[worker - 1] if worker else 0))


def assigned_users(counts: list[int], worker: int) -> NDArray[np.int64]:
    """Which users of the load one worker runs.

    Every worker's users are spread evenly over the whole ramp, so that no worker starts before the others.

    Args:
        counts: number of users by worker.
        worker: index into ``counts``.

    Returns:
        Indices of users, ascending, shape (counts[worker],); together the workers cover each user once.

    """
    positions = np.concatenate([(np.arange(n) + 0.5) / max(n, 1) for n in counts])
    owners = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((owners, positions))
    return np.flatnonzero(owners[order] == worker)


def assigned_sends(sends: int, counts: list[int], worker: int) -> NDArray[np.int64]:
    """Which planned sends of an open loop one worker makes: send i belongs to the worker of user i mod R.

    Args:
        sends: number of planned sends of all workers.
        counts: number of users by worker, R in total.
        worker: index into ``counts``.

    Returns:
        Indices of sends, ascending; together the workers cover each send once.

    """
    users = sum(counts)
    rounds = np.arange(0, sends, max(users, 1))
    mine = (rounds[:, np.newaxis] + assigned_users(counts, worker)).ravel()
    return mine[: np.searchsorted(mine, sends)]
