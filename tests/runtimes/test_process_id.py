"""Processes are recognised whatever their number, and whatever somebody does to the clock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from patience import await_that

from lab.runtimes import process_id


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


def test_children_that_outlive_their_leader_are_still_its_group():
    """Nobody else can have the number of the group while they live."""
    script = "import subprocess; print(subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL).pid)"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        born = process_id.birth(leader.pid)
        said, _ = leader.communicate()
    child = int(said)
    assert process_id.lives(child, process_id.birth(child))
    process_id.signal_group(leader.pid, born, signal.SIGKILL)
    await_that(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
