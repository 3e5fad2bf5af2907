"""The consoles that commands print to, and their exit statuses."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from lab.analysis import slo, verdict
from lab.cli import as_typed
from lab.reporting import run_view
from lab.running.progress import Reporter

# Without emoji, or an address such as a:b:c would be shown with a picture in it.
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)
BAD_INPUT, NOT_VALID, INTERRUPTED = 2, 1, 130


def reporter() -> Reporter:
    """Shows progress, with command lines as they work in the shell of whoever reads them."""
    return Reporter(err, spelled=as_typed.as_typed)


def short(path: Path) -> str:
    """A path as people type it: relative to the current folder if it lies there."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def exit_by_verdict(run: run_view.Run, allow_suspect: bool) -> None:
    """End with a non-zero status unless the run is to be believed."""
    if run.verdict == verdict.VALID or (run.verdict == verdict.SUSPECT and allow_suspect):
        return
    hint = " (--allow-suspect accepts that)" if run.verdict == verdict.SUSPECT else ""
    err.print(f"[red]The run is {run.verdict}[/]{hint}: the reasons are above.")
    sys.exit(NOT_VALID)


def exit_by_objectives(objectives: Sequence[slo.Objective], cells: Mapping[str, Mapping[str, Any]]) -> None:
    """End with a non-zero status, and say why, unless every cell meets every objective.

    Args:
        cells: by name, what is known of each cell.

    """
    broken = [sentence for name, cell in cells.items() for sentence in slo.shortfalls(objectives, name, cell)]
    for sentence in broken:
        err.print(sentence, style="red", markup=False, soft_wrap=True)
    if broken:
        sys.exit(NOT_VALID)
