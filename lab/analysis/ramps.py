"""What the samples of a stored ramp show: how requests ended by time window, and the knee."""

from __future__ import annotations

import pandas as pd

from lab.formulas import ramp
from lab.formulas.ramp import Knee
from lab.spec.sample import BY_BREAKER
from lab.spec.workload import Ramp
from lab.storage.cell_folder import CellFolder


def outcomes(cell: CellFolder) -> pd.DataFrame:
    """How the requests of each window of a ramp ended: :func:`lab.formulas.ramp.outcomes`; empty for other loads."""
    load = cell.cell.load
    if not isinstance(load, Ramp):
        return pd.DataFrame()
    return ramp.outcomes(_samples(cell), load.duration_s, BY_BREAKER)


def knee(cell: CellFolder) -> Knee | None:
    """The knee of a ramp: see :func:`lab.formulas.ramp.knee`; None for other loads."""
    load = cell.cell.load
    if not isinstance(load, Ramp):
        return None
    return ramp.knee(_samples(cell), load.from_rps, load.to_rps, load.duration_s)


def _samples(cell: CellFolder) -> pd.DataFrame:
    pieces = list(cell.measured_pieces(ramp.COLUMNS))
    return pd.concat(pieces, ignore_index=True) if pieces else pd.DataFrame(columns=list(ramp.COLUMNS))
