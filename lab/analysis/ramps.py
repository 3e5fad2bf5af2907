"""What samples show by the time of their load: how requests ended by time window, and the knee of a ramp."""

from __future__ import annotations

import pandas as pd

from lab.analysis import balancing
from lab.formulas import ramp
from lab.formulas.ramp import Knee
from lab.spec.sample import BY_BREAKER
from lab.spec.workload import Ramp
from lab.storage.cell_folder import CellFolder


def outcomes(cell: CellFolder) -> pd.DataFrame:
    """How the requests of each time window ended: :func:`lab.formulas.ramp.outcomes`.

    Of a ramp, and of a load in which a node did not answer; empty for other loads.
    """
    load = cell.cell.load
    if isinstance(load, Ramp):
        return ramp.outcomes(_samples(cell), load.duration_s, BY_BREAKER)
    if not balancing.lost_a_node(cell) or not (samples := _samples(cell)).size:
        return pd.DataFrame()
    return ramp.outcomes(samples, samples["planned_us"].max() / 1e6, BY_BREAKER)


def knee(cell: CellFolder) -> Knee | None:
    """The knee of a ramp: see :func:`lab.formulas.ramp.knee`; None for other loads."""
    load = cell.cell.load
    if not isinstance(load, Ramp):
        return None
    return ramp.knee(_samples(cell), load.from_rps, load.to_rps, load.duration_s)


def _samples(cell: CellFolder) -> pd.DataFrame:
    pieces = list(cell.measured_pieces(ramp.COLUMNS))
    return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=list(ramp.COLUMNS))
