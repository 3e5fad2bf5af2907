"""Ways to disturb a run while it is measured: each is a context that lasts as long as the load.

What they are given is a :class:`Moment`. Those that put themselves between generator and service yield the address
that is loaded instead. Only processes of the run itself are touched, by their ids.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil

from lab.errors import LabError
from lab.generator.fleet import Fleet
from lab.running.measurement import Measurement
from lab.running.testbed import Testbed
from lab.runtimes import Launch
from lab.system.deployment import Deployment
from lab.telemetry import sampler

# From the beginning of the load: after the ramp, and after the second in which all connect.
INTO_LOAD_S = 3.0
# How long the clock is wrong: a worker compares its clocks four times a second.
CLOCK_WRONG_S = 1.0
# A process is held for so long at a time: signals take some tenths of a millisecond to stop all of its threads, which
# still work meanwhile, so that of holds of 1 ms a third was lost.
HOLD_S = 0.01
RECEIVE_BYTES = 65536
ONE_OF = 1000
# The last part of a load, in which one answer is kept back.
LAST_SHARE = 0.97
# Takes some CPU seconds of every so many. Not quite regularly: this kernel may count CPU time by looking 250 times a
# second, and would see all or nothing of a program that keeps in step with it.
THIEF = """
import random, sys, time
first_s, busy_s, every_s = map(float, sys.argv[1:])
time.sleep(first_s)
due = time.monotonic()
while True:
    until = time.thread_time() + busy_s
    while time.thread_time() < until:
        pass
    due = max(due + every_s * random.uniform(0.9, 1.1), time.monotonic())
    time.sleep(max(0.0, due - time.monotonic()))
"""


class NotPlantedError(Exception):
    """A fault that this machine does not let anybody plant."""


@dataclass(frozen=True)
class Moment:
    """A run just before its load is measured, and the one of its measurements that is disturbed."""

    testbed: Testbed
    measurement: Measurement

    @property
    def deployment(self) -> Deployment:
        """What is loaded."""
        return self.measurement.deployment

    @property
    def fleet(self) -> Fleet:
        """What loads it."""
        return self.measurement.fleet

    @property
    def load_s(self) -> float:
        """How long the load lasts that is about to begin."""
        return float(self.measurement.cell.load.duration_s)  # type: ignore[union-attr]  # only such are asked for it

    def share_over(self, elapsed_s: float) -> float:
        """The share of the load that is over so many seconds after this moment: of its windows, where it has some."""
        if (windows := self.measurement.cell.load.windows) > 1:
            return len(self.measurement.observed.windows) / windows
        return min(1.0, elapsed_s / self.load_s)


Planted = Callable[[Moment], AbstractContextManager[str | None]]


@contextmanager
def undisturbed(moment: Moment) -> Iterator[None]:
    """Nothing but what the plan says."""
    yield


def thief(owner: str, busy_s: float, every_s: float, first_s: float = 0.0) -> Planted:
    """Another program that takes so much of a core of ``service`` or ``generator``."""

    @contextmanager
    def planted(moment: Moment) -> Iterator[None]:
        cores = frozenset(sorted(moment.testbed.cores.owned[owner])[:1])
        command = (sys.executable, "-IS", "-c", THIEF, str(first_s), str(busy_s), str(every_s))
        with moment.testbed.runtime.started(
            Launch("thief", command, moment.testbed.run.logs / "thief.log", cores=cores)
        ):
            yield

    return planted


def beside(act: Callable[[Moment, threading.Event], None]) -> Planted:
    """Something that is done beside the load, in a thread; it must end soon after the event is set."""

    @contextmanager
    def planted(moment: Moment) -> Iterator[None]:
        over = threading.Event()
        with ThreadPoolExecutor(1) as threads:
            done = threads.submit(act, moment, over)
            try:
                yield
            finally:
                over.set()
            done.result()

    return planted


def kill_worker(moment: Moment, over: threading.Event) -> None:
    """Kill the Locust worker."""
    if not over.wait(INTO_LOAD_S):
        os.kill(moment.fleet.workers[0].pid, signal.SIGKILL)


def pause_service(stopped_s: float) -> Callable[[Moment, threading.Event], None]:
    """Stop the service's process once, for so long."""

    def act(moment: Moment, over: threading.Event) -> None:
        if not over.wait(INTO_LOAD_S):
            _stop(moment.deployment.running[0].pid, stopped_s)

    return act


def _stop(pid: int, seconds: float) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            os.kill(pid, signal.SIGCONT)


def pause_machine(stopped_s: float, every_s: float) -> Callable[[Moment, threading.Event], None]:
    """Stop everything of the run but the lab itself for so long, again and again, as a host does that gives no time."""

    def act(moment: Moment, over: threading.Event) -> None:
        while not over.wait(every_s):
            everything = psutil.Process().children(recursive=True)
            for number in (signal.SIGSTOP, signal.SIGCONT):
                for process in everything:
                    with suppress(psutil.Error):
                        process.send_signal(number)
                if number == signal.SIGSTOP:
                    time.sleep(stopped_s)

    return act


def hold_service(share: float) -> Callable[[Moment, threading.Event], None]:
    """Hold the service for a growing share of its time, from none at the beginning to ``share`` at the end."""

    def act(moment: Moment, over: threading.Event) -> None:
        began = looked = time.monotonic()
        # What it should be held for; one that lasts longer is made up for.
        due_s = 0.0
        while not over.wait(HOLD_S):
            now = time.monotonic()
            due_s += share * moment.share_over(now - began) * (now - looked)
            looked = now
            if due_s >= HOLD_S:
                _stop(moment.deployment.running[0].pid, due_s)
                due_s -= time.monotonic() - now

    return act


def hold_component(name: str, stopped_s: float, every_s: float) -> Callable[[Moment, threading.Event], None]:
    """From half of the load on, stop what is behind the service for some milliseconds again and again."""

    def act(moment: Moment, over: threading.Event) -> None:
        pid = moment.testbed.backing.running()[name].pid
        if over.wait(moment.load_s / 2):
            return
        while not over.wait(every_s - stopped_s):
            _stop(pid, stopped_s)

    return act


def step_clock(step_s: float) -> Callable[[Moment, threading.Event], None]:
    """Set the machine's clock, and back again after a second."""

    def act(moment: Moment, over: threading.Event) -> None:
        if over.wait(INTO_LOAD_S):
            return
        _set_clock(step_s)
        try:
            time.sleep(CLOCK_WRONG_S)
        finally:
            _set_clock(-step_s)

    return act


def _set_clock(by_s: float) -> None:
    try:
        time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME) + by_s)
    except PermissionError:
        raise NotPlantedError("only root may set the clock") from None


# Goes into the lab's script: in the second half of the load it repeats what it read in the first, longer by a share. So
# cores became slower by as much, whatever the machine did to their true speed meanwhile.
REPEATED = """
import itertools

seen_s, again_s, read_s = {{}}, {{}}, measure_s


def measure_s():
    core, spent_s = min(os.sched_getaffinity(0)), read_s()
    if time.time() < {half}:
        seen_s.setdefault(core, []).append(spent_s)
        return spent_s
    return (1 + {share}) * next(again_s.setdefault(core, itertools.cycle(seen_s[core])))


"""


def slower_reading(share: float) -> Planted:
    """Have cores read as slower by a share from half of the load on: the same readings again, each longer by it."""

    @contextmanager
    def planted(moment: Moment) -> Iterator[None]:
        script, lab_script = moment.testbed.run.logs / "slower.py", sampler.CPU_SPEED_SCRIPT
        begins, found, ends = lab_script.read_text().partition("if __name__ ==")
        if not found or "def measure_s(" not in begins:
            raise LabError(f"{lab_script} has no measure_s() whose readings could grow.", "Mend benchmarks/faults.py.")
        repeated = REPEATED.format(half=time.time() + moment.load_s / 2, share=share)
        script.parent.mkdir(exist_ok=True)
        script.write_text(begins + repeated + found + ends)
        sampler.CPU_SPEED_SCRIPT = script
        try:
            yield
        finally:
            sampler.CPU_SPEED_SCRIPT = lab_script

    return planted


# What becomes of an answer, from its number, its bytes and the share of the load that is over: seconds to hold it,
# its bytes, and whether its connection is closed after it.
Change = Callable[[int, bytes, float], tuple[float, bytes, bool]]


def truncated(number: int, answer: bytes, over: float) -> tuple[float, bytes, bool]:
    """Of one answer in a thousand the last byte is missing."""
    hit = number % ONE_OF == 0
    return 0.0, answer[:-1] if hit else answer, hit


def wrong(number: int, answer: bytes, over: float) -> tuple[float, bytes, bool]:
    """One answer in a thousand is another one, of the same length."""
    return 0.0, answer.replace(b'{"millis":5', b'{"millis":6') if number % ONE_OF == 0 else answer, False


def later(most_s: float) -> Change:
    """Every answer is held, from not at all at the beginning of the load to ``most_s`` at its end."""
    return lambda number, answer, over: (most_s * over, answer, False)


def kept(held_s: float) -> Change:
    """One answer at the end of each load is held for so long."""
    held: list[int] = []

    def change(number: int, answer: bytes, over: float) -> tuple[float, bytes, bool]:
        if over < LAST_SHARE:
            held.clear()
        elif not held:
            held.append(number)
            return held_s, answer, False
        return 0.0, answer, False

    return change


def relayed(change: Change) -> Planted:
    """A relay between generator and service that changes answers, in a thread of the lab's own process."""

    @contextmanager
    def planted(moment: Moment) -> Iterator[str]:
        to = urlsplit(moment.deployment.url)
        loop, relay = asyncio.new_event_loop(), Relay(str(to.hostname), int(to.port or 80), change, moment.load_s)
        thread = threading.Thread(target=loop.run_forever, name="relay", daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{asyncio.run_coroutine_threadsafe(relay.listen(), loop).result()}"
        finally:
            asyncio.run_coroutine_threadsafe(_end_tasks(), loop).result()
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    return planted


class Relay:
    """Passes requests on as they are, and answers as :data:`Change` says; each answer must come in one piece."""

    def __init__(self, host: str, port: int, change: Change, load_s: float) -> None:
        self._to, self._change, self._load_s = (host, port), change, load_s
        self._numbers, self._began = itertools.count(1), 0.0

    async def listen(self) -> int:
        """Listen on a free port of loopback, and return it."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=4096)
        self._began = time.monotonic()
        return int(server.sockets[0].getsockname()[1])

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answers, service = await asyncio.open_connection(*self._to)
        asking = asyncio.create_task(_pass_on(reader, service))
        with suppress(ConnectionError):
            while answer := await answers.read(RECEIVE_BYTES):
                elapsed = min(1.0, (time.monotonic() - self._began) / self._load_s)
                held_s, answer, closes = self._change(next(self._numbers), answer, elapsed)
                if held_s:
                    await asyncio.sleep(held_s)
                writer.write(answer)
                if closes:
                    break
        asking.cancel()
        service.close()
        writer.close()


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while asked := await reader.read(RECEIVE_BYTES):
            writer.write(asked)
    writer.close()


async def _end_tasks() -> None:
    """Cancel all other tasks of this loop, and wait until they have ended."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
