"""How tests wait: until something is so, and for so long that only what never happens fails, on any machine."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE_S = 300.0

Found = TypeVar("Found")


def await_that(what: Callable[[], Found], every_s: float = 0.05) -> Found:
    """Ask until the answer is a true one, and return that."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(every_s)
    return found
