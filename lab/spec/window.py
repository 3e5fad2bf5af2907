"""The record of one window of a load that is measured in turns."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Window:
    """One window, or all of a load in one piece.

    Attributes:
        number: from 0; the windows of all variants with the same number are one round.
        place: which in its round it was, from 0.
        unix_start: its planned start.
        began_s: the same by the clock of the samples, which stands still between windows.
        length_s: for how long its load was planned.
        elapsed_s: from its planned start until the last answer was handled.
        requests: sent in it; ``failed`` of them failed.
        served: requests that the service counted in it; None if it does not report that.

    """

    number: int
    place: int
    unix_start: float
    began_s: float
    length_s: float
    elapsed_s: float
    requests: int
    failed: int
    served: int | None
