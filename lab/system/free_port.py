"""Starts a server on a free port, for servers that cannot choose one themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from lab.errors import LabError
from lab.runtimes import Launch, Running, Runtime
from lab.runtimes.process import free_ports
from lab.runtimes.waiting import await_started

ATTEMPTS = 5
TAKEN = "address already in use"


@contextmanager
def server_on_free_port(
    runtime: Runtime,
    launch: Callable[[int], Launch],
    is_ready: Callable[[Running, int], bool],
    ports: Iterable[int] | None = None,
) -> Iterator[tuple[Running, int]]:
    """Start a server and wait until it is ready; if its port was taken meanwhile, try the next one.

    Args:
        launch: what to start, given its port.
        is_ready: whether the server on that port answers, and is the one that was started.
        ports: to try; if None, some of loopback that are free at this moment.

    Raises:
        LabError: it ended, or was not ready in time; with the last lines of its log.

    """
    with ExitStack() as stack:
        for port in ports or free_ports(ATTEMPTS):
            with ExitStack() as attempt:
                running = attempt.enter_context(runtime.started(launch(port)))
                if _await_ready(running, partial(is_ready, running, port)):
                    stack.push(attempt.pop_all())
                    break
        else:
            raise LabError("Every port that was free was taken a moment later.", "Try again.", running.log_tail())
        yield running, port


def _await_ready(running: Running, is_ready: Callable[[], bool]) -> bool:
    """Whether it is ready; False if its port was taken."""
    try:
        return await_started(running, is_ready)
    except LabError:
        if running.exit_reason() and TAKEN in running.log_tail().lower():
            return False
        raise
