"""What requests that wait cost the service: threads, memory in the heap, and memory outside of it, for each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.telemetry.actuator import GC_COUNT, HEAP, HEAP_EDEN

Floats = NDArray[np.float64]
# Readings with at least this share of the most requests under way are taken for those of the peak.
PEAK_SHARE = 0.9
# As many as a service can hold, and a few that are on their way.
HELD_SHARE = 1.05
# Differences of fewer requests are lost in what a service allocates anyway.
FEWEST = 20


def waiting_cost(metrics: pd.DataFrame, before: int = 0, holds: int | None = None) -> dict[str, float]:
    """What a service held at the peak of a load more than before it, for each request that was then under way.

    Each is (mean reading at the peak − reading before the load) / (requests under way at the peak − those of the
    warm-up), since a service keeps the threads and buffers that it had for the warm-up. The peak is from the first to
    the last moment with at least 90 % of the most requests under way, by the generator's own count.

    Args:
        metrics: of a cell: rows of ``t_s``, ``target``, ``name``, ``value``.
        before: how many requests were under way at once in the warm-up.
        holds: how many requests the service works on at once, at most; None for any number. More of them wait in its
            queue, where they cost no thread and no heap, or have gone already: of these nothing is said.

    Returns:
        ``in_flight``, the mean number of requests under way at the peak, and for each of them: ``threads`` of the
        operating system; ``native_bytes``, resident memory outside the heap: stacks of threads, buffers of connections.
        That is all growth of resident memory, as a heap whose size the lab sets is resident from the start. And
        ``heap_bytes``, what has survived a collection (the heap without its nursery, in which there is garbage of any
        age); it is missing where there was none from the beginning to the peak, since nothing had to survive then.
        Empty where not enough was read, or fewer than 20 requests more were under way than in the warm-up; only
        ``in_flight`` where these were more than the service ``holds``.

    """
    at_s, under_way = in_flight(metrics)
    at_peak = under_way >= PEAK_SHARE * under_way.max(initial=0.0)
    if not at_peak.any() or (count := float(under_way[at_peak].mean())) < before + FEWEST:
        return {}
    peak_s, found = at_s[at_peak][[0, -1]], {"in_flight": count}
    if holds is not None and count > HELD_SHARE * holds:
        return found
    for name, (read_s, values) in held(metrics).items():
        if not len(read_s) or read_s[0] > 0 or read_s[-1] < peak_s[0]:
            return {}
        during = values[(read_s >= peak_s[0]) & (read_s <= peak_s[1])]
        at_peak_mean = during.mean() if len(during) else np.interp(peak_s, read_s, values).mean()
        found[name] = float(at_peak_mean - values[read_s <= 0][-1]) / (count - before)
    if not _has_collected(metrics, float(peak_s[1])):
        del found["heap_bytes"]
    return found


def held(metrics: pd.DataFrame) -> dict[str, tuple[Floats, Floats]]:
    """Times and readings of what a service held: ``threads``, ``heap_bytes`` and ``native_bytes``, resident memory.

    The last is of all of the process, heap included: only its growth is that of the memory outside of the heap.
    """
    heap_s, heap = _readings(metrics, HEAP)
    eden_s, eden = _readings(metrics, HEAP_EDEN)
    kept = heap - np.interp(heap_s, eden_s, eden) if len(eden_s) else heap
    return {
        "threads": _readings(metrics, "threads"),
        "heap_bytes": (heap_s, kept),
        "native_bytes": _readings(metrics, "rss_bytes"),
    }


def in_flight(metrics: pd.DataFrame) -> tuple[Floats, Floats]:
    """Times in seconds since the planned start, and how many requests all workers together had under way."""
    rows = metrics[metrics["name"] == "under_way"]
    counted = [of.sort_values("t_s") for _, of in rows.groupby("target")]
    if not counted:
        return np.zeros(0), np.zeros(0)
    at_s = np.unique(rows["t_s"].to_numpy(dtype=float))
    return at_s, np.sum([np.interp(at_s, of["t_s"], of["value"]) for of in counted], axis=0)


def _has_collected(metrics: pd.DataFrame, until_s: float) -> bool:
    """Whether the garbage collector ran from the beginning of the load on."""
    read_s, collections = _readings(metrics, GC_COUNT)
    return len(read_s) > 0 and bool(np.diff(np.interp([0.0, until_s], read_s, collections))[0] > 0)


def _readings(metrics: pd.DataFrame, name: str) -> tuple[Floats, Floats]:
    rows = metrics[(metrics["target"] == "service") & (metrics["name"] == name)].sort_values("t_s")
    return rows["t_s"].to_numpy(dtype=float), rows["value"].to_numpy(dtype=float)
