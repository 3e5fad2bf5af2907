"""A server whose delay is known: what ``lab calibrate`` measures the generator against.

``python -m lab.generator.known_delay_server`` listens on a free port of loopback and prints it. Three kinds of answer,
each after so many milliseconds: ``/small/MS``, ``/large/MS`` (1 MB) and ``/token/MS``. ``/held`` says how long those
with a delay were really held back since it was last asked, as ``{"count": …, "mean_s": …, "p99_s": …}``.

It does as little as a server can: one thread, prepared answers, no parsing beyond the path. A request must come whole,
and the next one only after its answer, as the lab's client sends them; on anything else the connection is closed.
"""

from __future__ import annotations

import contextlib
import gc
import json
import selectors
import socket
from array import array
from collections import deque
from time import perf_counter

import numpy as np

LARGE_BYTES = 1_019_684
BACKLOG = 4096
RECEIVE_BYTES = 65536
# The system's timers are a millisecond coarse, so from this long before an answer is due the server asks without pause.
SPIN_S = 0.002
MOST_DELAY_MS = 10_000
HELD = b"GET /held"


def body(kind: str, delay_ms: int) -> bytes:
    """The body of an answer; KeyError if there is no such kind."""
    return {
        "small": b'{"millis":%d}' % delay_ms,
        "large": b'{"id":"1000","text":"' + bytes(LARGE_BYTES).replace(b"\0", b"x") + b'"}',
        "token": b'{"email":"ada.lovelace.1@example.org","first":"Ada","last":"Lovelace","city":"London","age":36}',
    }[kind]


def _answer(content: bytes) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(content)
    return head + content


class Peer:
    """One connection, and what is still to be written to it."""

    __slots__ = ("rest", "socket")

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.rest = memoryview(b"")


class Server:
    """Answers on one listening socket until the process ends."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ, None)
        self._routes: dict[bytes, tuple[bytes, float]] = {}
        # By delay: (when due, when asked, who, what). One delay's answers are due in the order they were asked for.
        self._waiting: dict[float, deque[tuple[float, float, Peer, bytes]]] = {}
        self._held = array("d")

    def serve(self) -> None:
        """Serve for ever."""
        while True:
            for key, events in self._selector.select(self._pause_s()):
                peer = key.data
                if peer is None:
                    self._accept()
                elif events & selectors.EVENT_WRITE:
                    self._write(peer)
                else:
                    self._read(peer)
            self._send_due()

    def _pause_s(self) -> float | None:
        due = [queue[0][0] for queue in self._waiting.values() if queue]
        return max(0.0, min(due) - perf_counter() - SPIN_S) if due else None

    def _send_due(self) -> None:
        for queue in self._waiting.values():
            while queue and queue[0][0] <= (now := perf_counter()):
                _, asked, peer, answer = queue.popleft()
                self._held.append(now - asked)
                self._send(peer, answer)

    def _accept(self) -> None:
        accepted, _ = self._listening.accept()
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector.register(accepted, selectors.EVENT_READ, Peer(accepted))

    def _read(self, peer: Peer) -> None:
        try:
            request = peer.socket.recv(RECEIVE_BYTES)
        except OSError:
            request = b""
        route = self._route(request[: request.find(b" ", 4)]) if request.endswith(b"\r\n\r\n") else None
        if route is None:
            self._drop(peer)
            return
        answer, delay_s = route
        if delay_s:
            now = perf_counter()
            self._waiting.setdefault(delay_s, deque()).append((now + delay_s, now, peer, answer))
        else:
            self._send(peer, answer)

    def _route(self, line: bytes) -> tuple[bytes, float] | None:
        """The answer to a request such as ``GET /small/20`` and its delay in seconds; None if there is none."""
        if line == HELD:
            return _answer(json.dumps(self._take_held()).encode()), 0.0
        if line not in self._routes:
            with contextlib.suppress(ValueError, KeyError):
                _, kind, delay = line.decode().removeprefix("GET ").split("/")
                if 0 <= int(delay) <= MOST_DELAY_MS:
                    self._routes[line] = _answer(body(kind, int(delay))), int(delay) / 1000
        return self._routes.get(line)

    def _take_held(self) -> dict[str, float]:
        held, self._held = np.array(self._held), array("d")
        if not len(held):
            return {"count": 0, "mean_s": 0.0, "p99_s": 0.0}
        return {"count": len(held), "mean_s": float(held.mean()), "p99_s": float(np.percentile(held, 99))}

    def _send(self, peer: Peer, answer: bytes) -> None:
        try:
            sent = peer.socket.send(answer)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(peer)
            return
        if sent < len(answer):
            peer.rest = memoryview(answer)[sent:]
            self._selector.modify(peer.socket, selectors.EVENT_WRITE, peer)

    def _write(self, peer: Peer) -> None:
        try:
            peer.rest = peer.rest[peer.socket.send(peer.rest) :]
        except BlockingIOError:
            return
        except OSError:
            self._drop(peer)
            return
        if not peer.rest:
            self._selector.modify(peer.socket, selectors.EVENT_READ, peer)

    def _drop(self, peer: Peer) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it was dropped before, with an answer still to be sent
            self._selector.unregister(peer.socket)
        peer.socket.close()


def main() -> None:
    """Listen, say where, and serve until somebody ends the process."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        listening.setblocking(False)
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        gc.disable()
        Server(listening).serve()


if __name__ == "__main__":
    main()
