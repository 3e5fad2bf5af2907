"""The guard that ends what a killed lab leaves, when the guard itself is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from patience import await_that

from lab.cli import main
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime, signals_deferred
from lab.storage.run_folder import ROOT

# A lab that starts a process, loses its guard, starts a second process, and is killed.
DOOMED = """
import os, signal, sys, psutil
from pathlib import Path
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime

with ProcessRuntime() as runtime:
    (guard,) = psutil.Process().children()
    with runtime.started(Launch("first", ("sleep", "1000"), Path(sys.argv[1]))) as first:
        guard.kill()
        psutil.wait_procs([guard])
        with runtime.started(Launch("second", ("sleep", "1000"), Path(sys.argv[1]))) as second:
            print(first.pid, second.pid, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
"""

# A lab that is killed when it has started a process, and has not yet told its guard.
CUT_SHORT = """
import os, signal, sys
from pathlib import Path
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime

def killed(self, line):
    print(line[1:].split()[0], flush=True)
    os.kill(os.getpid(), signal.SIGKILL)

ProcessRuntime._tell_guard = killed
with ProcessRuntime() as runtime, runtime.started(Launch("it", ("sleep", "1000"), Path(sys.argv[1]), talks=%s)):
    pass
"""


def lives(pid: int) -> bool:
    """Whether a process runs."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def lose_guard() -> None:
    """Kill the guard of the one runtime there is."""
    (guard,) = await_that(guards)  # for a moment after its start a process has no command line yet
    guard.kill()
    await_that(lambda: not lives(guard.pid))


def guards() -> list[psutil.Process]:
    """Those of this process."""
    return [child for child in psutil.Process().children() if "lab.runtimes.guard" in child.cmdline()]


def test_a_new_guard_knows_what_the_killed_one_knew(tmp_path):
    """Guard killed, then lab killed: what was started before and after the guard's death is ended."""
    lab = subprocess.run(
        [sys.executable, "-c", DOOMED, str(tmp_path / "log")], capture_output=True, text=True, cwd=ROOT, check=False
    )
    pids = [int(pid) for pid in lab.stdout.split()]
    assert lab.returncode == -signal.SIGKILL, lab.stderr
    assert len(pids) == 2
    await_that(lambda: not any(map(lives, pids)))


@pytest.mark.parametrize("talks", [False, True])
def test_a_lab_that_is_killed_before_its_guard_knows_leaves_nothing_either(tmp_path, talks):
    """Between the start of a process and the guard's list is a moment; what was started in it never begins."""
    command = [sys.executable, "-c", CUT_SHORT % talks, str(tmp_path / "log")]
    lab = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert lab.returncode == -signal.SIGKILL, lab.stderr
    await_that(lambda: not lives(int(lab.stdout)))


# A lab that is killed when what it started has ended, but for a child.
OUTLIVED = """
import os, signal, sys
from pathlib import Path
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime

with ProcessRuntime() as runtime:
    launch = Launch("it", ("sh", "-c", "sleep 1000 & echo $!"), Path(sys.argv[1]), talks=True)
    with runtime.started(launch) as running:
        print(running.stdout.readline().strip(), flush=True)
        running.await_end()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_outlives_the_leader_of_its_group_is_ended_too(tmp_path):
    """A number is given to no other process while a group of that number has members."""
    lab = subprocess.run(
        [sys.executable, "-c", OUTLIVED, str(tmp_path / "log")], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert lab.returncode == -signal.SIGKILL, lab.stderr
    child = int(lab.stdout)
    try:
        await_that(lambda: not lives(child))
    finally:
        if lives(child):
            os.kill(child, signal.SIGKILL)


# A lab that loses its guard and is killed, while something that it started writes into a folder.
SCRATCH = """
import os, signal, sys, psutil
from pathlib import Path
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime

folder = Path(sys.argv[1])
writes = "import itertools, pathlib\\nfor n in itertools.count(): pathlib.Path(str(n % 1000)).write_text('data')"
with ProcessRuntime() as runtime:
    runtime.discard(folder / "scratch")
    (folder / "scratch").mkdir()
    guard = psutil.Process().children()[0]
    guard.kill()
    psutil.wait_procs([guard])
    log = folder / "log"
    with runtime.started(Launch("it", (sys.executable, "-c", writes), log, folder=folder / "scratch")) as running:
        while not any((folder / "scratch").iterdir()):
            pass
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_lab_had_on_the_disk_for_its_time_only_is_removed(tmp_path):
    """With what is still being written there, and by a guard that was started in the place of a killed one."""
    lab = subprocess.run(
        [sys.executable, "-c", SCRATCH, str(tmp_path)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert lab.returncode == -signal.SIGKILL, lab.stderr
    await_that(lambda: not (tmp_path / "scratch").exists())
    assert (tmp_path / "log").exists()


def test_what_runs_when_the_guard_is_killed_is_stopped_as_ever(tmp_path):
    """Neither the end of a process nor that of the runtime raises, and nothing is left."""
    with ProcessRuntime() as runtime:
        with runtime.started(Launch("sleeper", ("sleep", "1000"), tmp_path / "log")) as sleeper:
            lose_guard()
        assert not lives(sleeper.pid)
        lose_guard()
    assert not guards()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_request_to_end_waits_until_the_work_is_done(number):
    """A signal in the middle, also twice and in a nested part, cuts nothing off, and takes effect afterwards."""
    done = []

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    @signals_deferred()
    def work() -> None:
        with signals_deferred():
            os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)
            time.sleep(0.01)
            done.append("inner")
        done.append("outer")

    before = signal.signal(number, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        signal.signal(number, before)
    assert done == ["inner", "outer"]


def test_a_broken_pipe_is_said(typed, monkeypatch):
    """A pipe to a process that was killed ends a command with a sentence, where click would say nothing."""
    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(main.results.list_, "callback", lambda **_: os.write(writing, b"word"))
    ended = typed("list")
    os.close(writing)
    assert ended.returncode == 2
    assert "ended unexpectedly" in ended.stderr
