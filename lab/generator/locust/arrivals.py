"""Splits a planned load over the workers: which users, which requests and which planned sends each of them has."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def quota(requests: int, counts: list[int], worker: int) -> int:
    """How many of the whole load's requests a worker sends: in proportion to its users, and exactly all together."""
    ends = np.cumsum(counts) * requests // max(sum(counts), 1)
    return int(ends[worker] - (ends[worker - 1] if worker else 0))


def share(counts: list[int], worker: int) -> NDArray[np.int64]:
    """Which users of the whole load a worker plays.

    Every worker's users are spread evenly over the whole ramp, so that no worker starts before the others.

    Args:
        counts: how many users each worker plays.
        worker: index into ``counts``.

    Returns:
        Indices of users, ascending, shape (counts[worker],); together the workers cover each user once.

    """
    positions = np.concatenate([(np.arange(n) + 0.5) / max(n, 1) for n in counts])
    owners = np.repeat(np.arange(len(counts)), counts)
    order = np.lexsort((owners, positions))
    return np.flatnonzero(owners[order] == worker)


def turns(sends: int, counts: list[int], worker: int) -> NDArray[np.int64]:
    """Which of the planned sends of an open loop a worker makes: send i is due to whoever plays user i mod R.

    Args:
        sends: how many are planned in all.
        counts: how many users each worker plays, R in all.
        worker: index into ``counts``.

    Returns:
        Indices of sends, ascending; together the workers cover each send once.

    """
    users = sum(counts)
    rounds = np.arange(0, sends, max(users, 1))
    mine = (rounds[:, np.newaxis] + share(counts, worker)).ravel()
    return mine[: np.searchsorted(mine, sends)]
