"""Local processes end for certain, whatever state they are in."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading

import psutil
import pytest
from patience import await_that

from lab.errors import LabError
from lab.runtimes import Launch, tail
from lab.runtimes.port_file import port_in
from lab.runtimes.waiting import await_exit_reasons


def test_one_that_hangs_while_somebody_listens_to_it_is_ended_too(runtime, tmp_path):
    """The reader waits for words that never come, and nobody waits for the reader."""
    launch = Launch("talker", (sys.executable, "-c", "input()"), tmp_path / "log", talks=True, grace_s=0.1)
    with runtime.started(launch) as running:
        process = psutil.Process(running.pid)
        reader = threading.Thread(target=running.stdout.readline, daemon=True)
        reader.start()
        os.kill(running.pid, signal.SIGSTOP)
        await_that(lambda: process.status() == psutil.STATUS_STOPPED)
    assert str(running.exit_reason()) == "was killed by SIGKILL"
    await_that(lambda: not reader.is_alive())


def test_a_log_is_not_opened_where_a_link_leads(runtime, tmp_path):
    """Whatever put the link there must not choose what the lab writes into, or shows."""
    elsewhere, log = tmp_path / "elsewhere", tmp_path / "log"
    elsewhere.write_text("somebody's")
    log.symlink_to(elsewhere)
    with pytest.raises(OSError, match="symbolic links"), runtime.started(Launch("it", ("true",), log)):
        pass
    assert elsewhere.read_text() == "somebody's"
    assert tail(log, 5) == ""
    assert port_in(log) is None


def test_one_that_is_told_nothing_finds_an_empty_input_and_its_arguments_as_they_are(runtime, tmp_path):
    """Whatever they hold, no shell reads them."""
    program = "import sys; print(repr(sys.stdin.read()), sys.argv[1:])"
    launch = Launch("reader", (sys.executable, "-c", program, "$HOME; 'a  b'", ""), tmp_path / "log")
    with runtime.started(launch) as running:
        assert running.await_end().ok
    assert launch.log.read_text() == "'' [\"$HOME; 'a  b'\", '']\n"


@pytest.mark.parametrize("alone", [False, True])
def test_a_service_inherits_nothing_that_could_set_it(alone, runtime, tmp_path, monkeypatch):
    """Where it is launched alone: of the shell's environment only what every process needs."""
    monkeypatch.setenv("SERVER_PORT", "1")
    code = "import os; print(sorted(os.environ))"
    launch = Launch("it", (sys.executable, "-c", code), tmp_path / "log", {"MINE": "1"}, alone=alone)
    with runtime.started(launch) as running:
        running.await_end()
    said = (tmp_path / "log").read_text()
    assert "'MINE'" in said
    assert "'PATH'" in said
    assert ("'SERVER_PORT'" in said) is not alone


def test_one_that_ends_after_its_connections_have_closed_is_the_cause_of_that(runtime, tmp_path):
    """How it ended is not known yet when a caller notices."""
    told = tmp_path / "told"
    wait = f"while not os.path.exists({str(told)!r}): time.sleep(0.01)"
    code = f"import os, time\nos.close(1)\n{wait}\ntime.sleep(0.1)\nos.kill(os.getpid(), 9)"
    with runtime.started(Launch("it", (sys.executable, "-c", code), tmp_path / "log", talks=True)) as running:
        assert running.stdout.read() == ""
        assert running.exit_reason() is None
        told.touch()
        assert str(await_exit_reasons(running.exit_reason)) == "was killed by SIGKILL"


def test_one_that_has_ended_keeps_its_number_until_it_is_stopped(runtime, tmp_path):
    """So what it has left of its group is known to be its own, and is ended with it."""
    launch = Launch("parent", ("sh", "-c", "sleep 1000 > /dev/null & echo $!"), tmp_path / "log", talks=True)
    with runtime.started(launch) as running:
        child = int(running.stdout.readline())
        assert running.await_end().ok
        assert psutil.Process(running.pid).status() == psutil.STATUS_ZOMBIE
        assert psutil.Process(child).status() != psutil.STATUS_ZOMBIE
    await_that(lambda: not psutil.pid_exists(child) or psutil.Process(child).status() == psutil.STATUS_ZOMBIE)
    assert not psutil.pid_exists(running.pid)


def test_a_program_that_is_not_there_is_named(runtime, tmp_path):
    """Before anything is started."""
    launch = Launch("nobody", ("no-such-program",), tmp_path / "log")
    with pytest.raises(LabError, match=r"Could not start nobody \(no-such-program\): No such file") as caught:
        runtime.started(launch).__enter__()
    assert caught.value.next_step == "Install no-such-program."


def test_a_program_that_may_not_be_executed_says_how_it_may(runtime, tmp_path):
    """It is there: to install it would not help."""
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    with pytest.raises(LabError, match="Permission denied") as caught:
        runtime.started(Launch("mine", (str(program),), tmp_path / "log")).__enter__()
    assert caught.value.next_step == f"Make it executable: chmod +x {program}"


def test_a_machine_that_can_start_nothing_more_is_said(runtime, tmp_path, monkeypatch):
    """The program is there: the system has no memory, or no process, for it."""

    def refused(*_, **__):
        raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    monkeypatch.setattr("subprocess.Popen", refused)
    with pytest.raises(LabError, match="temporarily unavailable") as caught:
        runtime.started(Launch("mine", ("sleep", "1"), tmp_path / "log")).__enter__()
    assert "see whether the machine has memory and processes left (ulimit -u)" in caught.value.next_step


def test_a_folder_whose_name_has_a_line_break_is_refused(runtime, tmp_path):
    """The guard would take it for two, and remove a stranger's."""
    mine, strangers = tmp_path / "a\nb", tmp_path / "a"
    strangers.mkdir()
    with pytest.raises(LabError, match="line break"):
        runtime.discard(mine)
    assert strangers.exists()
