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

# Without emoji, which rich would put in place of parts of an address such as a:b:c.
out = Console(highlight=False, emoji=False)
err = Console(stderr=True, highlight=False, emoji=False)
CHECKS = "docs/VERDICT.md"
BAD_INPUT, NOT_VALID, INTERRUPTED = 2, 1, 130


def reporter() -> Reporter:
    """A progress display, with command lines as they work in the user's shell."""
    return Reporter(err, spelled=as_typed.as_typed)


def short(path: Path) -> str:
    """A path for display: relative if it is in the current folder."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def exit_by_verdict(run: run_view.Run, allow_suspect: bool) -> None:
    """End with a non-zero status unless the run is valid, or suspect and that is allowed."""
    if run.verdict == verdict.VALID or (run.verdict == verdict.SUSPECT and allow_suspect):
        return
    hint = " (--allow-suspect accepts that)" if run.verdict == verdict.SUSPECT else ""
    err.print(f"[red]The run is {run.verdict}[/]{hint}: the reasons are above, and {CHECKS} explains each check.")
    sys.exit(NOT_VALID)


def exit_by_objectives(objectives: Sequence[slo.Objective], cells: Mapping[str, Mapping[str, Any]]) -> None:
    """Print the objectives that cells do not meet, and end with a non-zero status if there are any.

    Args:
        cells: by name, the summary of each cell.

    """
    broken = [sentence for name, cell in cells.items() for sentence in slo.shortfalls(objectives, name, cell)]
    for sentence in broken:
        err.print(sentence, style="red", markup=False, soft_wrap=True)
    if broken:
        sys.exit(NOT_VALID)
