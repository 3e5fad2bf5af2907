"""What monitoring saw of a load, and what it missed: evidence on the monitoring itself, which no check judges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lab.storage.cell_folder import CellFolder
from lab.system.prometheus import EVERY_S
from lab.telemetry.actuator import POLL_TIMEOUT_S


def sentences(folder: CellFolder) -> Iterator[str]:
    """How many scrapes of each part Prometheus missed in a cell, beside the lab's own readings; none without it."""
    evidence = folder.read("evidence")
    if not (scrapes := evidence.get("scrapes")):
        return
    own = (
        f"{evidence.get('gaps', 0):,} of the lab's own readings, each of the whole service within {POLL_TIMEOUT_S:g} s"
    )
    if lost := evidence.get("prometheus_lost"):
        yield f"Prometheus {lost}: what it had scraped is not known, and counts as missed. Beside it were missed {own}."
        return
    parts = "; ".join(f"{part} {_missed(of)}" for part, of in scrapes.items())
    yield f"Of Prometheus' scrapes, each of one part within {EVERY_S} s, these were missed: {parts}. Beside them {own}."


def _missed(of: Mapping[str, float]) -> str:
    """Missed scrapes of those that were due, and what else was wrong with them."""
    missed = f"{of['missed'] + of['skipped']:.0f} of {of['due']:.0f}"
    notes = [
        *[f"{of['skipped']:.0f} of these were not made"] * bool(of["skipped"]),
        *[f"{of['late']:.0f} others late"] * bool(of["late"]),
        f"the longest took {of['longest_s']:.3f} s",
    ]
    return f"{missed} ({', '.join(notes)})"
