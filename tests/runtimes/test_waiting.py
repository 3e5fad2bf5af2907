"""Waiting until what was started is ready, and until what changes has settled."""

from __future__ import annotations

import sys
from itertools import count

import pytest

from lab.errors import LabError
from lab.runtimes import Launch, waiting
from lab.runtimes.waiting import await_started, settled


def launch_of(code: str, folder, name: str = "starter") -> Launch:
    """A launch of some Python."""
    return Launch(name, (sys.executable, "-c", code), folder / f"{name}.log", folder=folder)


FOREVER = "import time; print('begun', flush=True); time.sleep(1000)"


def test_what_the_look_finds_is_what_is_returned(runtime, tmp_path):
    """Once it is true."""
    looks = iter((None, 0, "", "ready"))
    with runtime.started(launch_of(FOREVER, tmp_path)) as running:
        assert await_started(running, lambda: next(looks)) == "ready"


def test_what_ends_is_not_looked_at_any_more(runtime, tmp_path):
    """It is told how it ended, what it said last, and where the rest is."""
    with runtime.started(launch_of("raise SystemExit('no luck')", tmp_path)) as running:
        running.await_end()
        with pytest.raises(LabError, match="The starter exited with status 1 while it started") as caught:
            await_started(running, lambda: pytest.fail("it has ended"))
    assert caught.value.next_step == f"Its log says why: {tmp_path / 'starter.log'}."
    assert "no luck" in caught.value.detail


def test_what_it_waits_for_itself_is_named_where_that_ends(runtime, tmp_path):
    """Else it would be waited for until the time is up."""
    with (
        runtime.started(launch_of(FOREVER, tmp_path)) as running,
        runtime.started(launch_of("raise SystemExit(3)", tmp_path, "other")) as other,
        pytest.raises(LabError, match="The other exited with status 3 while it started"),
    ):
        await_started(running, lambda: None, beside=[other])


@pytest.mark.parametrize("step", ["", "Look."])
def test_what_is_never_ready_is_given_up_with_a_next_step(runtime, tmp_path, monkeypatch, step):
    """The caller's, or else where its log is."""
    monkeypatch.setattr(waiting, "READY_WITHIN_S", 0.1)
    with (
        runtime.started(launch_of(FOREVER, tmp_path)) as running,
        pytest.raises(LabError, match="The starter did not begin within 0 s") as caught,
    ):
        await_started(running, lambda: None, "did not begin", step)
    assert caught.value.next_step == (step or f"Its log says how far it came: {tmp_path / 'starter.log'}.")


def test_the_first_settled_reading_ends_the_waiting():
    """Nothing is read after it."""
    numbers = count()
    assert settled(lambda: next(numbers), lambda number: number == 2, within_s=100.0) == 2
    assert next(numbers) == 3


def test_a_reading_that_never_settles_is_returned_as_it_is():
    """When the time is up: there is one reading at least."""
    assert settled(lambda: "unsettled", lambda _: False, within_s=0.0) == "unsettled"
