"""What the lab hears of Locust's master: events, and nothing that is lost without a word."""

from __future__ import annotations

import pytest

from lab.errors import ComponentError
from lab.generator import fleet
from lab.generator.fleet import Placement, running_fleet
from lab.runtimes.process import ProcessRuntime
from lab.spec.workload import Burst


def start_with(master: str, folder, monkeypatch) -> None:
    """Start a fleet whose master is a line of the shell, which says nothing that would let it go on."""
    monkeypatch.setattr(fleet, "_master_command", lambda *_: ("sh", "-c", master))
    with ProcessRuntime() as runtime:
        where = Placement(runtime, frozenset(), folder, folder / "samples")
        with running_fleet("load", Burst(users=1), where):
            pass


@pytest.mark.parametrize(
    ("line", "shown"),
    [("hello", "hello"), ("4711", "4711"), ("[]", "[]"), ('{"a": 1}', '{"a": 1}'), ("a\\377b", "xffb")],
)
def test_a_line_of_the_master_that_is_no_event_is_shown_at_once(tmp_path, monkeypatch, line, shown):
    """It may be the end of an event: who waits for that would wait for minutes, and not know for what."""
    with pytest.raises(ComponentError) as caught:
        start_with(f"printf '{line}\\n'; read _", tmp_path, monkeypatch)
    assert caught.value.problem.startswith("Locust's master wrote what is no event: ")
    assert shown in caught.value.problem
    assert "locustfile" in caught.value.next_step


def test_a_worker_that_is_lost_says_where_the_logs_are(tmp_path, monkeypatch):
    """The master's last lines too, which heard of it."""
    with pytest.raises(ComponentError, match="worker does not answer any more") as caught:
        start_with('echo no heartbeat >&2; printf \'{"event": "lost"}\\n\'; read _', tmp_path, monkeypatch)
    assert caught.value.next_step == f"The workers' logs are in {tmp_path}."
    assert caught.value.detail == "no heartbeat"


def test_a_line_that_was_cut_off_is_no_event_and_no_error_of_its_own(tmp_path, monkeypatch):
    """The master has ended in the middle of it, which is what is said."""
    with pytest.raises(ComponentError, match="was killed by SIGKILL"):
        start_with("printf '{\"event\": '; kill -9 $$", tmp_path, monkeypatch)
