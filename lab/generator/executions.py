"""Executes a program once, watched: how long it took, what it used and printed, and whether that was right."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from lab.errors import ComponentError, LabError
from lab.runtimes import Launch, process_id
from lab.runtimes.process import Ended, ProcessRunning, ProcessRuntime
from lab.spec import sample

# More output than that is no result that anybody compares.
MOST_OUTPUT = 64 << 20
PIECE = 1 << 16
SHOWN = 120
# Of its standard error, shown where it fails.
LINES = 12
# How long an ended program's output is awaited, where a child of it still has it open.
OUTPUT_WITHIN_S = 5.0
# How often a program is looked at while it is executed: each look costs some 0.05 ms of another core, if there is one.
LOOK_EVERY_S = 0.005
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Execution:
    """One execution of a program.

    Attributes:
        ended: how and when it ended, and what it used.
        output: its standard output.
        error: index of its failure in :data:`lab.spec.sample.ERRORS`; 0 if it succeeded.
        problem: the failure in words that follow the program's name; empty if it succeeded.
        said: the last lines of its standard error.
        threads: the most threads of its process, without its children, that were seen, looking every few milliseconds;
            0 if it was over before.
        peak_bytes: the most memory, seen in the same way.

    """

    ended: Ended
    output: bytes
    error: int = sample.OK
    problem: str = ""
    said: str = ""
    threads: int = 0
    peak_bytes: int = 0

    @property
    def elapsed_s(self) -> float:
        """Its wall time."""
        return self.ended.ended_s - self.ended.began_s


def filled(command: tuple[str, ...], values: Mapping[str, object]) -> tuple[str, ...]:
    """A command line with its placeholders filled in; braces around anything else stay as they are."""
    return tuple(PLACEHOLDER.sub(lambda found: str(values.get(found[1], found[0])), word) for word in command)


def execute(runtime: ProcessRuntime, launch: Launch, timeout_s: float, right: str = "") -> Execution:
    """Execute a program once, and wait until it has ended.

    Args:
        launch: of the program; it ``talks``, so that its output can be read.
        timeout_s: seconds after which it is killed.
        right: a regular expression for its whole output, without white space at both ends; any does if empty.

    Raises:
        ComponentError: it cannot be started, as it is not there.

    """
    before = launch.log.stat().st_size if launch.log.exists() else 0
    with ExitStack() as stack:
        try:
            running = stack.enter_context(runtime.started(launch))
        except LabError as failed:
            why = failed.__cause__.strerror if isinstance(failed.__cause__, OSError) else failed.problem
            step = "Install it, or name the others (--variants)."
            raise ComponentError(f"{launch.name} cannot be executed: {launch.command[0]}: {why}.", step) from failed
        with suppress(OSError):
            running.stdin.close()  # it has nothing to read
        output, looks = _Output(running), _Looks(running)
        output.start()
        looks.start()
        timer = threading.Timer(timeout_s, running.kill)
        timer.start()
        try:
            running.await_end()
        finally:
            timer.cancel()
            looks.stop()
        output.join(OUTPUT_WITHIN_S)
        left_behind = output.is_alive()
        ended = running.ended()
    printed = output.text
    if output.too_much:
        failure = sample.WRONG_OUTPUT, f"printed more than {MOST_OUTPUT >> 20} MiB and was killed"
    elif ended.ended_s - ended.began_s >= timeout_s:
        failure = sample.TIMEOUT, f"did not end within {timeout_s:g} s and was killed"
    elif left_behind:
        failure = sample.WRONG_OUTPUT, "ended, but left a process behind that still has its output open"
    else:
        failure = _failure(ended, printed, right)
    said = _said(launch.log, before)
    return Execution(ended, printed, *failure, said=said, threads=looks.threads, peak_bytes=looks.peak_bytes)


def _failure(ended: Ended, output: bytes, right: str) -> tuple[int, str]:
    """The failure of a program that ended by itself, and that in words; 0 and nothing if it succeeded."""
    if not ended.how.ok:
        return sample.EXIT_STATUS, str(ended.how)
    if right and not re.fullmatch(right, output.decode(errors="replace").strip()):
        return sample.WRONG_OUTPUT, f"printed {begin(output)!r}, which is not what it must print: {right}"
    return sample.OK, ""


def _said(log: Path, before: int) -> str:
    """The last lines that were added to a log."""
    with log.open("rb") as file:
        file.seek(max(before, log.stat().st_size - PIECE))
        return "\n".join(file.read().decode(errors="replace").splitlines()[-LINES:])


def begin(output: bytes) -> str:
    """The beginning of an output."""
    text = output[: SHOWN + 1].decode(errors="replace")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"


class _Output(threading.Thread):
    """Reads what a program prints, to its end; kills one that prints too much."""

    def __init__(self, running: ProcessRunning) -> None:
        super().__init__(name="output", daemon=True)
        self._running, self._pieces = running, list[bytes]()
        self.too_much = False

    @property
    def text(self) -> bytes:
        """What was read so far."""
        return b"".join(self._pieces)

    def run(self) -> None:
        """Read until it ends."""
        left = MOST_OUTPUT
        with suppress(OSError, ValueError):  # closed, as a child of the program still had it open
            while piece := os.read(self._running.stdout.fileno(), PIECE):
                self._pieces.append(piece)
                left -= len(piece)
                if left < 0:
                    self.too_much = True
                    self._running.kill()
                    return


class _Looks(threading.Thread):
    """Looks at a program every few milliseconds: how many threads it has, and how much memory it has had."""

    def __init__(self, running: ProcessRunning) -> None:
        super().__init__(name="looks", daemon=True)
        self._pid, self._over = running.pid, threading.Event()
        self.threads = self.peak_bytes = 0

    def run(self) -> None:
        """Look until told to stop."""
        while not self._over.wait(LOOK_EVERY_S):
            threads, peak_bytes = process_id.most_used(self._pid)
            self.threads, self.peak_bytes = max(self.threads, threads), max(self.peak_bytes, peak_bytes)

    def stop(self) -> None:
        """Stop looking."""
        self._over.set()
        self.join()
