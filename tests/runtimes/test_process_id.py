"""Processes are recognised whatever their number, and whatever somebody does to the clock."""

from __future__ import annotations

import os
import platform
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import psutil
import pytest
from patience import await_that

from lab.runtimes import process_id


class Orphan:
    """A child whose parent, the leader of its group, has ended: it repeats what it is told."""

    SCRIPT = "import subprocess; print(subprocess.Popen(['cat']).pid)"

    def __init__(self, reaped: bool) -> None:
        """Start both; the leader's end was waited for if it is reaped."""
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        self.leader, self.born = self._process.pid, process_id.birth(self._process.pid)
        self.group = process_id.Group(self.leader, self.born)
        self._process.stdout.readline()
        await_that(lambda: psutil.Process(self.leader).status() == psutil.STATUS_ZOMBIE)
        if reaped:
            self._process.wait()

    def answers(self) -> bool:
        """Whether it lives: one that was killed repeats nothing any more, however soon it is asked."""
        try:
            self._process.stdin.write("word\n")
            return self._process.stdout.readline() == "word\n"
        except BrokenPipeError:
            return False

    def end(self) -> None:
        """Have it read to the end."""
        self.group.close()
        with suppress(BrokenPipeError):
            self._process.communicate()


@pytest.fixture
def orphan() -> Iterator[Callable[[bool], Orphan]]:
    """Starts one for the time of a test."""
    with ExitStack() as stack:

        def started(reaped: bool) -> Orphan:
            child = Orphan(reaped)
            stack.callback(child.end)
            return child

        yield started


def test_a_process_lives_until_it_ends():
    """Also while it is a zombie, which nobody has waited for, it has ended."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        born = process_id.birth(process.pid)
        assert process_id.lives(process.pid, born)
        process.kill()
        await_that(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE)
        assert not process_id.lives(process.pid, born)
        process.wait()
        assert not process_id.lives(process.pid, born)


def test_a_number_that_was_given_again_is_another_process():
    """The same number with another birth is somebody else."""
    assert not process_id.lives(os.getpid(), process_id.birth(os.getpid()) - 1)


def test_a_birth_does_not_move_with_the_clock(monkeypatch):
    """What psutil makes of it would, as the machine's start is another one after the clock was set."""
    before, created = process_id.birth(os.getpid()), psutil.Process().create_time()
    real = psutil._psplatform.boot_time
    monkeypatch.setattr(psutil._psplatform, "boot_time", lambda: real() + 3600)
    assert psutil.Process().create_time() == pytest.approx(created + 3600, abs=60)
    assert process_id.birth(os.getpid()) == before


def test_a_group_is_signalled_only_while_its_leader_is_ours():
    """Once the number is another process's, that one and its children are left alone."""
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as leader:
        born = process_id.birth(leader.pid)
        process_id.signal_group(leader.pid, born - 1, signal.SIGKILL)
        assert process_id.lives(leader.pid, born)
        process_id.signal_group(leader.pid, born, signal.SIGKILL)
        assert leader.wait(60) == -signal.SIGKILL


def test_a_group_without_a_leader_may_be_a_strangers(orphan):
    """Its number may have been given again, to a leader that has ended too: who is left there is not told apart."""
    left = orphan(reaped=True)
    process_id.signal_group(left.leader, left.born, signal.SIGKILL)
    assert left.answers()


def test_a_group_is_ours_until_its_leader_was_waited_for(orphan):
    """Until then the number is nobody else's, and children that outlive their leader are known by it."""
    left = orphan(reaped=False)
    process_id.signal_group(left.leader, left.born, signal.SIGKILL)
    assert not left.answers()


def test_a_group_that_is_held_stays_ours_without_its_leader(orphan):
    """Where the kernel can tell it from others that get its number; elsewhere it is left alone."""
    left = orphan(reaped=True)
    left.group.signal(signal.SIGKILL)
    tells = platform.system() == "Linux" and tuple(map(int, platform.release().split(".")[:2])) >= (6, 9)
    assert left.answers() is not tells


def test_a_strangers_group_is_not_held(orphan):
    """Who has another birth is left alone, however the group is signalled."""
    left = orphan(reaped=False)
    process_id.Group(left.leader, left.born - 1).signal(signal.SIGKILL)
    assert left.answers()
