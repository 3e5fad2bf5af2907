"""The record of the stack that ``lab up`` holds: where it listens, and whether it is still up."""

from __future__ import annotations

import json
from typing import Any

from lab.runtimes import process_id
from lab.runtimes.checkout import ROOT

FOLDER = ROOT / "data" / "up"
STATE = FOLDER / "up.json"


def running() -> dict[str, Any] | None:
    """The held stack: scenario, variant, parameters, url, management, pid, born and run; None if none is up."""
    try:
        value: dict[str, Any] = json.loads(STATE.read_text())
        return value if process_id.lives(value["pid"], value["born"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
