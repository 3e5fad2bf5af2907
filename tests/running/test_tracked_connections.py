"""Where a firewall has the kernel track connections, a load waits until it can track those of its users."""

from __future__ import annotations

import io
import threading
import time

import pytest
from rich.console import Console

from lab.running.progress import Reporter
from lab.running.tracked_connections import await_room
from lab.runtimes import host


@pytest.fixture
def tracked(monkeypatch, tmp_path):
    """A function that has the kernel's files say how many connections it tracks, of a thousand."""
    monkeypatch.setattr(host, "TRACKED", tmp_path)
    (tmp_path / "nf_conntrack_max").write_text("1000\n")

    def say(count: int) -> None:
        (tmp_path / "nf_conntrack_count").write_text(f"{count}\n")

    return say


def waited(users: int) -> tuple[float, str]:
    """For how long a load of so many users waited, in seconds, and what was said."""
    said = io.StringIO()
    began = time.monotonic()
    await_room(users, Reporter(Console(file=said, width=300)))
    return time.monotonic() - began, said.getvalue()


@pytest.mark.parametrize(("users", "count"), [(100, 800), (501, 1000)])
def test_nothing_waits_where_there_is_room_or_never_will_be(tracked, users, count):
    """A connection through a balancer is two."""
    tracked(count)
    took_s, said = waited(users)
    assert took_s < 0.2
    assert not said


def test_a_load_waits_until_others_are_forgotten(tracked):
    """It says why, and what spares the wait."""
    tracked(801)
    forgets = threading.Timer(0.5, tracked, (800,))
    forgets.start()
    took_s, said = waited(100)
    forgets.join()
    assert 0.4 < took_s < 5
    assert "tracks 801 connections of 1,000" in said
    assert "sysctl -w net.netfilter.nf_conntrack_max=4000" in said


def test_a_kernel_that_tracks_none_is_not_waited_for(monkeypatch, tmp_path):
    """So it is without a firewall and without Docker."""
    monkeypatch.setattr(host, "TRACKED", tmp_path / "nowhere")
    assert host.tracked_connections() is None
    assert waited(10**6)[0] < 0.2
