"""What tests allow a machine that is busy with other tests: to be slow, and to send requests late."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from lab.analysis.verdict import BELIEVED

PATIENCE_S = 300.0

Found = TypeVar("Found")


def await_that(what: Callable[[], Found], every_s: float = 0.05) -> Found:
    """Ask until the answer is a true one, and return that."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(every_s)
    return found


def assert_measured(row: Mapping[str, Any]) -> None:
    """A cell is believed, or invalid for nothing but a generator that had too little of a core to be in time.

    It was late then, or stalled, so that its users were idle or fell behind the planned rate.

    Reasons come in the order of the checks, those that make it invalid first; what is counted is checked before that.
    """
    too_busy = ("The generator was late", "Users were idle", "Requests were sent at", "A Locust worker used")
    too_busy += ("A Locust worker stalled",)
    assert row["verdict"] in BELIEVED or row["reasons"][0].startswith(too_busy), row["reasons"]
