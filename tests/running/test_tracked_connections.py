"""Where a firewall has the kernel track connections, a load waits until it can track those of its users."""

from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from lab.running.progress import Reporter
from lab.running.tracked_connections import TrackedConnections
from lab.runtimes import host


@pytest.fixture
def tracked(monkeypatch, tmp_path):
    """A function that has the kernel's files say how many connections it tracks, of a thousand."""
    monkeypatch.setattr(host, "CONNTRACK_LIMITS", tmp_path)
    (tmp_path / "nf_conntrack_max").write_text("1000\n")

    def say(count: int) -> None:
        (tmp_path / "nf_conntrack_count").write_text(f"{count}\n")

    return say


def waited(needed: int, room: TrackedConnections | None = None, most_s: float = 1.0) -> tuple[float, str]:
    """For how long a load of so many connections waited, in seconds, and what was said."""
    said = io.StringIO()
    began = time.monotonic()
    has_waited = (room or TrackedConnections()).await_room(needed, Reporter(Console(file=said, width=300)), most_s)
    assert has_waited == bool(said.getvalue())
    return time.monotonic() - began, said.getvalue()


@pytest.mark.parametrize(("needed", "count"), [(200, 800), (1001, 1000)])
def test_nothing_waits_where_there_is_room_or_never_will_be(tracked, needed, count):
    """The verdict tells then what was dropped."""
    tracked(count)
    took_s, said = waited(needed)
    assert took_s < 0.2
    assert not said


def test_a_load_waits_until_others_are_forgotten(tracked):
    """It says why, and what spares the wait."""
    tracked(801)
    forgets = threading.Timer(0.5, tracked, (800,))
    forgets.start()
    took_s, said = waited(200, most_s=30.0)
    forgets.join()
    assert 0.4 < took_s < 20
    assert "other programs" not in said
    assert "tracks 801 connections of 1,000" in said
    assert "sysctl -w net.netfilter.nf_conntrack_max=4000" in said


def test_nothing_waits_again_for_what_others_keep_open(tracked):
    """A warm-up of twenty rounds would take an hour."""
    tracked(801)
    room = TrackedConnections()
    took_s, said = waited(200, room)
    assert took_s >= 1
    assert "other programs have these connections" in said
    took_s, said = waited(200, room)
    assert took_s < 0.2
    assert not said


def test_a_kernel_that_tracks_none_is_not_waited_for(monkeypatch, tmp_path):
    """So it is without a firewall and without Docker."""
    monkeypatch.setattr(host, "CONNTRACK_LIMITS", tmp_path / "nowhere")
    assert host.tracked_connections() is None
    assert waited(10**6)[0] < 0.2
