"""Summaries of cells, completed by the figures that runs of older versions of the lab did not store."""

from __future__ import annotations

from typing import Any

from lab.formulas import stats
from lab.storage.cell_folder import CellFolder

# p99.9, and the latencies of all requests, failures and timeouts among them: see lab.formulas.stats.Summary.
ALL_REQUESTS = ("all_mean_s", "all_p50_s", "all_p90_s", "all_p99_s", "all_p999_s")
ADDED_LATER = ("p999_s", "service_p999_s", *ALL_REQUESTS)
# Of more samples it would take too long for a table.
MOST_SAMPLES = 250_000


def summary_of(folder: CellFolder) -> dict[str, Any]:
    """What summary.json holds; figures that it lacks are computed from the samples, or None where these are many.

    Empty for a cell that was not measured to its end.
    """
    stored = folder.read("summary")
    if not stored or all(name in stored for name in ADDED_LATER):
        return stored
    if not 0 < stored.get("requests", 0) <= MOST_SAMPLES:
        return {**dict.fromkeys(ADDED_LATER), **stored}
    found = stats.summarise_pieces(folder.measured_pieces(stats.SUMMARISED), folder.cell.load.independent)
    return {**{name: getattr(found, name) for name in ADDED_LATER}, **stored}
