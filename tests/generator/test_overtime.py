"""How long a load may go on: what sends all of its plan goes on for as long as requests end, and no longer."""

from __future__ import annotations

import io
import queue
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from lab.generator import fleet
from lab.generator.counts import COUNTS
from lab.generator.fleet import Fleet, LoadPhase, LoadTimeoutError, Overtime, PhaseResult
from lab.spec.workload import Open

OVERLOAD = LoadPhase("http://127.0.0.1:1", Open(users=2, rate_rps=10.0, duration_s=10.0))


@dataclass
class Lives:
    """A master that never ends and never answers."""

    stdin: io.StringIO = field(default_factory=io.StringIO)

    def exit_reason(self) -> None:
        """Never any."""


class ByTheClock:
    """Events of a master that reports once a second, by a clock that only goes on as they are read.

    Args:
        finished: how many requests have ended, by second; the load is over after the last, unless it hangs.

    """

    def __init__(self, finished: list[int], hangs: bool) -> None:
        self.now_s, self._finished, self._hangs = 0.0, finished, hangs

    def get(self, timeout: float) -> dict[str, object]:
        """The report of the next second."""
        self.now_s += 1.0
        if self.now_s > len(self._finished):
            raise queue.Empty
        counts = {**dict.fromkeys(COUNTS, 0), "begun": 100, "finished": self._finished[int(self.now_s) - 1]}
        over = self.now_s == len(self._finished) and not self._hangs
        unchanged = {"cut": [], "stopped": [], "ticks": {}, "cpu": {}, "clock_step_s": 0.0}
        return {"event": "over" if over else "progress", **counts, **unchanged}


@pytest.fixture
def played(monkeypatch):
    """A function that runs a phase by such a clock, and gives its result and how long it took."""

    def play(
        finished: list[int], hangs: bool = False, within_s: float = 20.0, **overtime: float
    ) -> tuple[PhaseResult, float]:
        events = ByTheClock(finished, hangs)
        monkeypatch.setattr(fleet, "time", SimpleNamespace(monotonic=lambda: events.now_s))
        longer = Overtime(**overtime) if overtime else None
        result = Fleet(Lives(), [], events, remote=1).run_phase(OVERLOAD, within_s, overtime=longer)
        return result, events.now_s

    return play


def test_an_overload_lasts_for_as_long_as_requests_end(played):
    """One every five seconds, for much longer than the load should have taken: all of its plan is sent."""
    result, took_s = played([k // 5 for k in range(501)], idle_s=6.0, most_s=1000.0)
    assert (result.finished, result.whole, took_s) == (100, True, 501)


def test_a_load_that_makes_no_progress_is_given_up(played):
    """After as long as any request takes, counted from the last that ended; or where none ever did, when due."""
    with pytest.raises(LoadTimeoutError, match=r"after 36 s, 70 requests under way, and none has ended for 6 s\."):
        played([min(k, 30) for k in range(1, 1000)], hangs=True, idle_s=6.0, most_s=1000.0)
    with pytest.raises(LoadTimeoutError, match="after 20 s, 100 requests under way, and none has ended"):
        played([0] * 1000, hangs=True, idle_s=6.0, most_s=1000.0)


def test_no_load_goes_on_for_ever(played):
    """Not even one of which a request ends now and then; and one that has no overtime ends when it should."""
    with pytest.raises(LoadTimeoutError, match=r"after 300 s, 40 requests under way\.$"):
        played([k // 5 for k in range(1, 1000)], hangs=True, idle_s=6.0, most_s=300.0)
    with pytest.raises(LoadTimeoutError, match=r"after 20 s, 96 requests under way\.$"):
        played([k // 5 for k in range(1, 1000)])
