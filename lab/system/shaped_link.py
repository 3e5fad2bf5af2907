"""A link of chosen latency and rate between a service and its database: a TCP proxy that delays and meters bytes.

``python -m lab.system.shaped_link --to PORT --portfile FILE`` listens on a loopback port of its own and passes bytes
on, both ways:

- ``--latency-ms``: what a round trip takes longer: each byte is half of it under way, in each direction;
- ``--rate``: bytes a second of all connections together, which share it fairly;
- ``--connection-rate``: bytes a second of each connection.

Rates hold for each direction by itself, as on a full-duplex line. Connecting costs nothing: the first answer does.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab.runtimes import LOOPBACK, Launch, Running, Runtime
from lab.runtimes.checkout import OWN_MODULES
from lab.runtimes.port_file import awaited_port
from lab.runtimes.temporary import whole_file

# Bytes of one connection and direction that may be under way: more than one document, so that it travels in one go.
WINDOW = 2 << 20
# Pieces in which connections take turns: a packet at least, and at most what a rate passes in two milliseconds.
PACKET, PIECE, TURN_S = 1448, 65536, 0.002
BACKLOG = 4096


@dataclass(frozen=True)
class Shape:
    """Latency and bandwidths of a link; zero leaves a property unshaped.

    Attributes:
        latency_ms: by how much a round trip takes longer.
        rate: bytes per second of all connections together, in each direction.
        connection_rate: bytes per second of each connection, in each direction.

    """

    latency_ms: float = 0.0
    rate: float = 0.0
    connection_rate: float = 0.0

    @property
    def piece(self) -> int:
        """Bytes that a connection sends before another one's turn."""
        slowest = min((rate for rate in (self.rate, self.connection_rate) if rate), default=float("inf"))
        return int(min(PIECE, max(PACKET, slowest * TURN_S)))


class ShapingSwitch:
    """Whether shaping is on in this process; it is off during warm-up, which should not wait."""

    on = True


class RateLimiter:
    """Limits bytes to a rate, by the time at which the line is free again."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self._free_at = 0.0

    def book(self, size: int, since: float) -> float:
        """Reserve the line for bytes that arrived at ``since``; returns when they have passed.

        Counting from then, and not from now, makes up for timers that ring late: the rate holds on the whole.
        """
        if not self.rate or not ShapingSwitch.on:
            return since
        self._free_at = max(since, self._free_at) + size / self.rate
        return self._free_at


class DelayedStream:
    """One direction of a connection: bytes pass the rate limiters, and reach the sink after the latency."""

    def __init__(
        self, shape: Shape, shared: RateLimiter, source: asyncio.Transport, on_end: Callable[[], None]
    ) -> None:
        self.ended = False
        self._on_end = on_end
        self._loop = asyncio.get_running_loop()
        self._piece = shape.piece
        self._delay_s = shape.latency_ms / 2000
        self._lines = (shared, RateLimiter(shape.connection_rate))
        self._source = source
        self._sink: asyncio.Transport | None = None
        self._choked = False
        self._size = 0
        # Pieces with the times at which they arrived, passed the limiters, and are due; an empty piece is the end.
        self._waiting: deque[tuple[float, memoryview]] = deque()
        self._passing: tuple[float, memoryview] | None = None
        self._flying: deque[tuple[float, memoryview]] = deque()
        self._through = 0.0
        self._turn: asyncio.TimerHandle | None = None
        self._landing: asyncio.TimerHandle | None = None

    def connect_sink(self, sink: asyncio.Transport) -> None:
        """Set the sink, to which bytes can leave from now on."""
        self._sink = sink
        self._deliver()

    def arrive(self, data: bytes) -> None:
        """Accept bytes from the source, none at its end; pause it while too many are under way."""
        self._waiting.append((self._loop.time(), memoryview(data)))
        self._size += len(data)
        if self._size >= WINDOW:
            self._source.pause_reading()
        if not self._turn:
            self._pass_on()

    def pause(self, paused: bool) -> None:
        """Stop or resume delivery, as the sink's buffer is full or has room again."""
        self._choked = paused
        if not self._landing:
            self._deliver()

    def drop(self) -> None:
        """Discard the bytes under way, as the connection is closed."""
        self._sink = None
        for timer in (self._turn, self._landing):
            if timer:
                timer.cancel()
        self._waiting.clear()
        self._flying.clear()

    def _pass_on(self) -> None:
        """Pass on the pieces whose reservation is over, and make one for the next piece."""
        self._turn = None
        while self._passing or self._waiting:
            self._passing = self._passing or self._book()
            self._through, piece = self._passing
            if self._through > self._loop.time():
                self._turn = self._loop.call_at(self._through, self._pass_on)
                break
            self._passing = None
            self._flying.append((self._through + self._delay_s * ShapingSwitch.on, piece))
        if not self._landing:
            self._deliver()

    def _book(self) -> tuple[float, memoryview]:
        arrived, data = self._waiting.popleft()
        piece, rest = data[: self._piece], data[self._piece :]
        if rest:
            self._waiting.appendleft((arrived, rest))
        since = max(arrived, self._through)
        return max(line.book(len(piece), since) for line in self._lines), piece

    def _deliver(self) -> None:
        """Write the pieces that are due, as far as the sink accepts them."""
        self._landing = None
        while self._flying and self._sink and not self._choked:
            due, piece = self._flying[0]
            if due > self._loop.time():
                self._landing = self._loop.call_at(due, self._deliver)
                return
            self._flying.popleft()
            if not piece:
                self.ended = True
                self._sink.write_eof()
                self._on_end()
                return
            self._sink.write(piece)
            self._make_room(len(piece))

    def _make_room(self, size: int) -> None:
        was_full = self._size >= WINDOW
        self._size -= size
        if was_full and self._size < WINDOW:
            self._source.resume_reading()


class LinkEnd(asyncio.Protocol):
    """One end of a connection through the link: the service's or the database's."""

    def __init__(self, shape: Shape, shared: RateLimiter) -> None:
        self._shape = shape
        self._shared = shared
        self.transport: asyncio.Transport
        self.lane: DelayedStream
        self.other: LinkEnd | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Callback of asyncio: this end is connected."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.lane = DelayedStream(self._shape, self._shared, transport, self._end)

    def meet(self, other: LinkEnd) -> None:
        """Join this end with the other end of the connection."""
        self.other, other.other = other, self
        self.lane.connect_sink(other.transport)
        other.lane.connect_sink(self.transport)

    def data_received(self, data: bytes) -> None:
        """Callback of asyncio: bytes arrived."""
        self.lane.arrive(data)

    def eof_received(self) -> bool:
        """Callback of asyncio: the peer sends no more, but may still receive."""
        self.lane.arrive(b"")
        return True

    def pause_writing(self) -> None:
        """Callback of asyncio: the peer reads more slowly than bytes are written."""
        if self.other:
            self.other.lane.pause(True)

    def resume_writing(self) -> None:
        """Callback of asyncio: the buffer has room again."""
        if self.other:
            self.other.lane.pause(False)

    def _end(self) -> None:
        """Count an end that has received all; after both the connection is closed."""
        if self.other and self.other.lane.ended and self.lane.ended:
            self.transport.close()
            self.other.transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        """Callback of asyncio: this end is closed, so the other one is closed too."""
        self.lane.drop()
        if self.other and not self.other.transport.is_closing():
            self.other.lane.drop()
            self.other.transport.abort()


class ServiceEnd(LinkEnd):
    """The service's end, which opens the other one to the database."""

    def __init__(self, shape: Shape, up: RateLimiter, down: RateLimiter, to: tuple[str, int]) -> None:
        super().__init__(shape, up)
        self._down = down
        self._to = to
        self._task: asyncio.Task[None]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Callback of asyncio: connect to the database; bytes wait until that is done."""
        super().connection_made(transport)
        self._task = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        try:
            _, database = await asyncio.get_running_loop().create_connection(
                lambda: LinkEnd(self._shape, self._down), *self._to
            )
        except OSError as error:
            print(f"The database at {self._to[0]}:{self._to[1]} is not to be reached: {error}.", file=sys.stderr)
            self.transport.abort()
            return
        self.meet(database)
        if self.transport.is_closing():
            database.transport.abort()


async def serve(shape: Shape, to: tuple[str, int], port_file: Path, bind: str = LOOPBACK) -> None:
    """Run the link until cancelled; write its port into a file as soon as it accepts connections.

    SIGUSR1 and SIGUSR2 switch the shape on and off.
    """
    for number, on in ((signal.SIGUSR1, True), (signal.SIGUSR2, False)):
        asyncio.get_running_loop().add_signal_handler(number, setattr, ShapingSwitch, "on", on)
    up, down = RateLimiter(shape.rate), RateLimiter(shape.rate)
    server = await asyncio.get_running_loop().create_server(
        lambda: ServiceEnd(shape, up, down, to), bind, 0, backlog=BACKLOG
    )
    with whole_file(port_file) as unfinished:
        unfinished.write_text(str(server.sockets[0].getsockname()[1]))
    await server.serve_forever()


def launch(
    to: tuple[str, int], shape: Shape, folder: Path, cores: frozenset[int] = frozenset(), bind: str = LOOPBACK
) -> Launch:
    """The launch of a link to a host and port, which writes ``link.port`` and ``link.log`` into a folder."""
    command: tuple[str, ...] = (sys.executable, "-m", "lab.system.shaped_link")
    command += ("--to", f"{to[0]}:{to[1]}", "--portfile", str(folder / "link.port"))
    command += ("--bind", bind, "--latency-ms", str(shape.latency_ms), "--rate", str(shape.rate))
    command += ("--connection-rate", str(shape.connection_rate))
    return Launch("link", command, folder / "link.log", OWN_MODULES, cores, grace_s=1, alone=True)


@contextmanager
def running_link(
    runtime: Runtime, to: tuple[str, int], shape: Shape, folder: Path, cores: frozenset[int] = frozenset()
) -> Iterator[tuple[Running, int]]:
    """Start a link; yields its process and its port at the runtime's host. LabError if it does not start."""
    port_file = folder / "link.port"
    folder.mkdir(parents=True, exist_ok=True)
    port_file.unlink(missing_ok=True)
    with runtime.started(launch(to, shape, folder, cores, runtime.host)) as running:
        yield running, awaited_port(running, port_file)


def switch(running: Running, on: bool) -> None:
    """Switch the shaping of a link on or off."""
    os.kill(running.pid, signal.SIGUSR1 if on else signal.SIGUSR2)


def main() -> None:
    """Parse the arguments, and run the link until killed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", required=True, metavar="[HOST:]PORT", help="where the database listens")
    parser.add_argument("--portfile", required=True, type=Path, help="file that gets the link's own port")
    parser.add_argument("--bind", default=LOOPBACK, metavar="HOST", help="where to listen")
    parser.add_argument("--latency-ms", type=_positive, default=0.0)
    parser.add_argument("--rate", type=_positive, default=0.0, metavar="B/S", help="0 for no limit")
    parser.add_argument("--connection-rate", type=_positive, default=0.0, metavar="B/S", help="0 for no limit")
    options = parser.parse_args()
    host, _, port = options.to.rpartition(":")
    shape = Shape(options.latency_ms, options.rate, options.connection_rate)
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(serve(shape, (host or LOOPBACK, int(port)), options.portfile, options.bind))


def _positive(text: str) -> float:
    if not 0 <= (value := float(text)) < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not zero or more")
    return value


if __name__ == "__main__":
    main()
