"""The record of the stack that ``lab up`` holds: whose it is, and where it listens once it is up."""

from __future__ import annotations

import json
import os
from typing import Any

from lab.runtimes import identity, process_id
from lab.runtimes.checkout import ROOT

# Of this machine and this user: whether another machine's process lives cannot be told here, and another user's is not
# this one's to end.
FOLDER = ROOT / "data" / "up" / f"{identity.machine()}-{os.getuid()}"
STATE = FOLDER / "up.json"


def whose(pid: int) -> dict[str, Any]:
    """What a record says of the process that holds a stack: pid, born and the mark of its checkout."""
    return {"pid": pid, "born": process_id.birth(pid), "checkout": identity.mine()}


def running() -> dict[str, Any] | None:
    """The held stack: scenario, variant, parameters, url, management, pid, born and run; None if none is up yet."""
    stack = held()
    return stack if stack and "url" in stack else None


def held() -> dict[str, Any] | None:
    """The held stack, or the one that is being started, which has neither URL nor run yet; None if none is.

    The one of a checkout that this one was copied from, with its record, is not this one's.
    """
    try:
        value: dict[str, Any] = json.loads(STATE.read_text())
        ours = value["checkout"] in identity.all_mine()
        return value if ours and process_id.lives(value["pid"], value["born"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None
