"""The process runtime: each process in a group of its own, pinned to its cores, and stopped in any case."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from lab.errors import LabError
from lab.runtimes import INHERITED, LANGUAGE, LOOPBACK, Launch, appended, process_id, tail, temporary
from lab.runtimes.checkout import OWN_MODULES, ROOT
from lab.runtimes.exit_status import ExitStatus

KILL_S = 10.0
DEFERRED_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
GUARD = "lab.runtimes.guard"
# A process begins when it is told a line, and ends at once where the lab dies before it has told the guard of it.
BEGINS_WHEN_TOLD = ("sh", "-c", 'read -r _ && exec "$@"', "sh")
HAS_NOTHING_TO_READ = ("sh", "-c", 'read -r _ && exec "$@" < /dev/null', "sh")


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it used, with what the children used that it waited for.

    Attributes:
        began_s: when it was told to begin, by the monotonic clock.
        ended_s: when it ended, by the same.
        status: its exit status; of one that was killed, the negative number of the signal.
        cpu_s: CPU seconds.
        read_bytes: what it asked the kernel to read, from the disk or from memory; None where nobody counts that.

    """

    began_s: float
    ended_s: float
    status: int
    cpu_s: float
    read_bytes: int | None = None

    @property
    def how(self) -> ExitStatus:
        """How it ended."""
        return ExitStatus(self.status)


class ProcessRunning:
    """A started process. See :class:`lab.runtimes.Running`."""

    def __init__(self, launch: Launch, process: subprocess.Popen[str]) -> None:
        self.launch = launch
        self._process = process
        self._watched = psutil.Process(process.pid)
        self.born = process_id.birth(process.pid)
        self._cpu_s = 0.0
        self._reaping = threading.Lock()
        self.began_s = self._ended_s = 0.0

    @property
    def pid(self) -> int:
        """The process id, which is also that of its group."""
        return self._process.pid

    @property
    def stdin(self) -> IO[str]:
        """Its standard input."""
        assert self._process.stdin
        return self._process.stdin

    @property
    def stdout(self) -> IO[str]:
        """Its standard output."""
        assert self._process.stdout
        return self._process.stdout

    def reach(self, port: int) -> tuple[str, int]:
        """On loopback."""
        return LOOPBACK, port

    def begin(self) -> None:
        """Have it begin, now that the guard knows of it."""
        self.began_s = time.monotonic()
        with contextlib.suppress(OSError):  # somebody has killed it already, as its exit reason will say
            self.stdin.write("\n")
        if not self.launch.talks:
            _close(self._process.stdin)

    def exit_reason(self) -> ExitStatus | None:
        """How it ended; None while it runs."""
        status = self._status()
        return None if status is None else ExitStatus(status)

    def await_end(self) -> ExitStatus:
        """Wait until it has ended, and return how."""
        return ExitStatus(self._status(wait=True))

    def ended(self) -> Ended:
        """How and when it has ended, as :meth:`await_end` has seen it, and what it used.

        What it has left of its group is killed first: afterwards its number may be another's.
        """
        read_bytes = process_id.read_bytes(self.pid)
        with self._reaping:
            process_id.signal_group(self.pid, self.born, signal.SIGKILL)
            _, status, used = os.wait4(self.pid, 0)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        return Ended(self.began_s, self._ended_s, self._process.returncode, used.ru_utime + used.ru_stime, read_bytes)

    def _status(self, wait: bool = False) -> int | None:
        """Its exit status; None while it runs. It keeps its number, and with it its group's, until it is stopped."""
        try:
            found = os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | (0 if wait else os.WNOHANG))
        except ChildProcessError:  # it was stopped, and its number is free
            return self._process.wait()
        if found is None:
            return None
        self._ended_s = self._ended_s or time.monotonic()
        return found.si_status if found.si_code == os.CLD_EXITED else -found.si_status

    def kill(self) -> None:
        """Kill it and its children at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        with self._reaping:  # else its number could become another's between a look at it and the signal
            process_id.signal_group(self.pid, self.born, number)

    def confine(self, cores: frozenset[int]) -> None:
        """Pin all of its threads, and so their future children, to these cores."""
        if not cores or not hasattr(os, "sched_setaffinity"):
            return
        for _ in range(2):  # a thread may be born while the first pass goes on
            for task in Path(f"/proc/{self.pid}/task").iterdir():
                with contextlib.suppress(ProcessLookupError):
                    os.sched_setaffinity(int(task.name), cores)

    def cpu_s(self) -> float:
        """CPU seconds so far; after its end, the last value seen."""
        with contextlib.suppress(psutil.Error):
            times = self._watched.cpu_times()
            self._cpu_s = times.user + times.system + times.children_user + times.children_system
        return self._cpu_s

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log."""
        return tail(self.launch.log, lines)

    def stop(self) -> None:
        """Send SIGTERM, SIGKILL after the grace period, and wait until it has ended."""
        _close(self._process.stdin)
        for number, wait_s in ((signal.SIGTERM, self.launch.grace_s), (signal.SIGKILL, KILL_S)):
            if wait_s and self._status() is None:
                self._signal(number)
                self._await_end_within(wait_s)
        self.kill()  # children that outlived it, while it still has its number
        with self._reaping:
            self._process.poll()
        # Last: a thread that still reads it blocks closing until all writers have ended.
        _close(self._process.stdout)

    def _await_end_within(self, seconds: float) -> None:
        deadline, pause_s = time.monotonic() + seconds, 0.0005
        while self._status() is None and time.monotonic() < deadline:
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, 0.05)


def free_ports(count: int) -> list[int]:
    """So many different ports of loopback that are free at this moment."""
    with ExitStack() as stack:  # each is held until all are found
        probes = [stack.enter_context(socket.create_server((LOOPBACK, 0))) for _ in range(count)]
        return [int(probe.getsockname()[1]) for probe in probes]


def _check_executable(program: str, folder: Path | None, path: str | None) -> None:
    """FileNotFoundError or PermissionError unless a program can be executed in a folder."""
    there = Path(folder or ".", program) if os.sep in program else None
    if not shutil.which(str(there or program), path=path):
        number = errno.EACCES if there and there.exists() else errno.ENOENT
        raise OSError(number, os.strerror(number))


def _close(pipe: IO[str] | None) -> None:
    with contextlib.suppress(OSError):
        if pipe:
            pipe.close()


# By the system's error, what to do where a program cannot be started.
REMEDIES = {errno.ENOENT: "Install {}.", errno.EACCES: "Make it executable: chmod +x {}"}
OTHER_REMEDY = (
    "Start {} by hand, which may show more, and see whether the machine has memory and processes left (ulimit -u)."
)


class ProcessRuntime:
    """Starts local processes. A context manager, as it owns the guard process that outlives a killed lab."""

    def __enter__(self) -> ProcessRuntime:
        self._all_cores = frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
        self._living: list[ProcessRunning] = []
        self._scratch: dict[Path, None] = {}
        self._telling = threading.Lock()
        self._guard = _new_guard()
        self._told = temporary.told_of_unfinished(self.discard)
        self._told.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._told.__exit__(None, None, None)
        _dismiss(self._guard)

    @property
    def host(self) -> str:
        """Loopback."""
        return LOOPBACK

    def discard(self, path: Path) -> None:
        """Remove a file or a folder at the end, with what was written into it, even if the lab is killed."""
        if "\n" in str(path.absolute()):  # the guard is told by lines, and would remove what the first one names
            raise LabError(f"The folder {str(path.absolute())!r} has a line break in its name.", "Use another one.")
        if path.absolute() not in self._scratch:
            self._scratch[path.absolute()] = None
            self._tell_guard(f"{path.absolute()}")

    def reserve(self, aliases: Sequence[str]) -> list[tuple[str, int]]:
        """On loopback, ports that were free a moment ago."""
        return [(LOOPBACK, port) for port in free_ports(len(aliases))]

    @contextmanager
    def started(self, launch: Launch) -> Iterator[ProcessRunning]:
        """Start a process; on exit it is stopped."""
        running = None
        for path in launch.scratch:
            self.discard(path)
        try:
            with signals_deferred():  # a started process must be registered before an interrupt is handled
                running = self._start(launch)
                self._living.append(running)
                self._tell_guard(_named("+", running))
                running.begin()
            yield running
        finally:
            if running:
                with signals_deferred():
                    running.stop()
                    self._living.remove(running)
                    self._tell_guard(_named("-", running))

    def _start(self, launch: Launch) -> ProcessRunning:
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        around = dict(os.environ)
        if launch.alone:
            around = {name: os.environ[name] for name in INHERITED if name in os.environ} | LANGUAGE
        environment = {**around, **launch.environment}
        told = BEGINS_WHEN_TOLD if launch.talks else HAS_NOTHING_TO_READ
        with appended(launch.log) as log, confined(launch.cores or self._all_cores):
            try:
                _check_executable(launch.command[0], launch.folder, environment.get("PATH"))
                process = subprocess.Popen(
                    (*told, *launch.command),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE if launch.talks else log,
                    stderr=log,
                    text=True,
                    bufsize=1,
                    cwd=launch.folder,
                    env=environment,
                    start_new_session=True,
                )
            except OSError as error:
                program = launch.command[0]
                problem = f"Could not start {launch.name} ({program}): {error.strerror}."
                raise LabError(problem, REMEDIES.get(error.errno or 0, OTHER_REMEDY).format(program)) from error
        return ProcessRunning(launch, process)

    def _tell_guard(self, line: str) -> None:
        """Add or remove a process at the guard, or add a folder; if it was killed, start one and add all there is."""
        with self._telling:
            try:
                _tell(self._guard, line)
            except OSError:
                _dismiss(self._guard)
                self._guard = _new_guard()
                self._tell_all()

    def _tell_all(self) -> None:
        try:
            for known in (*(_named("+", process) for process in self._living), *map(str, self._scratch)):
                _tell(self._guard, known)
        except OSError as error:
            raise LabError(
                "The lab's guard process was killed twice, so a killed lab would leave processes behind.",
                "Find out what kills processes on this machine: perhaps its memory is full.",
            ) from error


def _new_guard() -> subprocess.Popen[str]:
    command = [sys.executable, "-m", GUARD]
    environment = {**os.environ, **OWN_MODULES}
    return subprocess.Popen(
        command, stdin=subprocess.PIPE, text=True, start_new_session=True, bufsize=1, cwd=ROOT, env=environment
    )


def _named(sign: str, running: ProcessRunning) -> str:
    """A line that adds (+) or removes (-) a process."""
    return f"{sign}{running.pid} {running.born!r}"


def _tell(guard: subprocess.Popen[str], line: str) -> None:
    assert guard.stdin
    guard.stdin.write(f"{line}\n")


def _dismiss(guard: subprocess.Popen[str]) -> None:
    assert guard.stdin
    with contextlib.suppress(OSError):  # it was killed, and unsent lines are still in the buffer
        guard.stdin.close()
    guard.wait()


@contextmanager
def confined(cores: frozenset[int]) -> Iterator[None]:
    """Pin this thread, and so all that it starts, to some cores; an empty set changes nothing."""
    if not cores or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer SIGINT, SIGTERM and SIGHUP to the end of the context, so that cleaning up is not interrupted.

    So a second Ctrl-C loses no measurements, and a first one during cleanup is not lost.
    """
    asked: list[int] = []
    try:
        before = {number: signal.signal(number, lambda n, _: asked.append(n)) for number in DEFERRED_SIGNALS}
    except ValueError:  # not in the main thread, which is the only one that signals reach
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        if asked:
            signal.raise_signal(asked[0])
