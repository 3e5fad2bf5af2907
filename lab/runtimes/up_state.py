"""The record of the stack that ``lab up`` holds: whose it is, and where it listens once it is up."""

from __future__ import annotations

import json
from typing import Any

from lab.runtimes import process_id
from lab.runtimes.checkout import ROOT

FOLDER = ROOT / "data" / "up"
STATE = FOLDER / "up.json"


def running() -> dict[str, Any] | None:
    """The held stack: scenario, variant, parameters, url, management, pid, born and run; None if none is up yet."""
    stack = held()
    return stack if stack and "url" in stack else None


def held() -> dict[str, Any] | None:
    """The held stack, or the one that is being started, with scenario, variant, pid and born only; None if none is."""
    try:
        value: dict[str, Any] = json.loads(STATE.read_text())
        return value if process_id.lives(value["pid"], value["born"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
