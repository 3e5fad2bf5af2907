"""JSON files of a run, written atomically, with errors that name a damaged file."""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lab.errors import LabError
from lab.runtimes.temporary import whole_file


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    with whole_file(path) as unfinished:
        unfinished.write_text(json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; LabError if it is missing or damaged."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise damaged(path, "the file is missing") from None
    except (ValueError, OSError, RecursionError) as error:
        raise damaged(path, str(error)) from error
    if not isinstance(value, dict):
        raise damaged(path, "not a JSON object")
    return value


def damaged(path: Path, why: str) -> LabError:
    """The error that names a damaged file of a run."""
    folder = path.parent.parent.parent if path.parent.parent.name == "cells" else path.parent
    return LabError(f"Run {folder.name} is damaged: {path.name}: {why}.", f"Restore {path} or delete the run's folder.")


def free_path(folder: Path, pattern: str) -> Path:
    """The first path of a numbered pattern that is not taken."""
    return next(path for number in itertools.count(1) if not (path := folder / pattern.format(number)).exists())
