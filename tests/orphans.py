"""Runs whose lab was killed."""

from __future__ import annotations

import json

from lab.storage.run_folder import RunFolder


def orphaned(run: RunFolder) -> RunFolder:
    """The same run with another owner: a process of the same number that was born earlier, and is gone."""
    value = run.read()
    value["owner"]["born"] -= 1
    (run.path / "run.json").write_text(json.dumps(value))
    return run
