"""A server whose delay is known: what ``lab calibrate`` measures the generator against.

``python -m lab.generator.known_delay_server`` listens on a free port of loopback and prints it. Four kinds of answer,
each after MS milliseconds: ``/small/MS``, ``/token/MS``, ``/large/MS`` (1 MB with its length) and ``/chunked/MS`` (1 MB
in chunks of 8 KB, as Tomcat sends what it does not know the length of). Small answers are all different: each has its
number. ``/held`` returns the actual delays of all delayed answers since its last call, as ``{"count": …, "mean_s": …,
"p99_s": …, "p999_s": …}``.

It does as little as a server can: one thread, answers prepared but for their number, no parsing beyond the path. A
request must come whole, and the next one only after its answer, as the lab's client sends them; on anything else the
connection is closed.
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
CHUNK_BYTES = 8192
# Where an answer has its number, as many digits.
NUMBER = b"1000000000"
# Copying more for a number would be work that no answer needs.
NUMBERED_BYTES = 1024
BACKLOG = 4096
RECEIVE_BYTES = 65536
# The system's timers are a millisecond coarse, so this long before an answer is due the server polls without pause.
SPIN_S = 0.002
MOST_DELAY_MS = 10_000
HELD = b"GET /held"


def body(kind: str, delay_ms: int) -> bytes:
    """The body of an answer, before its number is put in; KeyError if there is no such kind."""
    large = b'{"id":"1000","text":"' + bytes(LARGE_BYTES).replace(b"\0", b"x") + b'"}'
    return {
        "small": b'{"millis":%d,"answer":%s}' % (delay_ms, NUMBER),
        "token": b'{"email":"ada.lovelace.1@example.org","first":"Ada","last":"Lovelace","answer":%s}' % NUMBER,
        "large": large,
        "chunked": large,
    }[kind]


def _answer(content: bytes, chunked: bool = False) -> bytes:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    if not chunked:
        return head + b"Content-Length: %d\r\n\r\n" % len(content) + content
    parts = (content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES))
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n"


class ClientConnection:
    """A client's connection, and the rest of an answer that is still to be written to it."""

    __slots__ = ("rest", "socket")

    def __init__(self, accepted: socket.socket) -> None:
        self.socket = accepted
        self.rest = memoryview(b"")


class Server:
    """A single-threaded HTTP server on one listening socket."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening
        self._selector = selectors.DefaultSelector()
        self._selector.register(listening, selectors.EVENT_READ, None)
        self._routes: dict[bytes, tuple[bytes, float]] = {}
        # By delay: (due, received, client, answer). Answers of one delay fall due in the order of their requests.
        self._waiting: dict[float, deque[tuple[float, float, ClientConnection, bytes]]] = {}
        self._held = array("d")
        self._number = int(NUMBER)

    def serve(self) -> None:
        """Serve for ever."""
        while True:
            for key, events in self._selector.select(self._pause_s()):
                client = key.data
                if client is None:
                    self._accept()
                elif events & selectors.EVENT_WRITE:
                    self._write(client)
                else:
                    self._read(client)
            self._send_due()

    def _pause_s(self) -> float | None:
        due = [queue[0][0] for queue in self._waiting.values() if queue]
        return max(0.0, min(due) - perf_counter() - SPIN_S) if due else None

    def _send_due(self) -> None:
        for queue in self._waiting.values():
            while queue and queue[0][0] <= (now := perf_counter()):
                _, asked, client, answer = queue.popleft()
                self._held.append(now - asked)
                self._send(client, answer)

    def _accept(self) -> None:
        accepted, _ = self._listening.accept()
        accepted.setblocking(False)
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._selector.register(accepted, selectors.EVENT_READ, ClientConnection(accepted))

    def _read(self, client: ClientConnection) -> None:
        try:
            request = client.socket.recv(RECEIVE_BYTES)
        except OSError:
            request = b""
        route = self._route(request[: request.find(b" ", 4)]) if request.endswith(b"\r\n\r\n") else None
        if route is None:
            self._drop(client)
            return
        answer, delay_s = route
        if len(answer) < NUMBERED_BYTES:
            self._number += 1
            answer = answer.replace(NUMBER, b"%d" % self._number)
        if delay_s:
            now = perf_counter()
            self._waiting.setdefault(delay_s, deque()).append((now + delay_s, now, client, answer))
        else:
            self._send(client, answer)

    def _route(self, line: bytes) -> tuple[bytes, float] | None:
        """The answer to a request such as ``GET /small/20`` and its delay in seconds; None if there is none."""
        if line == HELD:
            return _answer(json.dumps(self._take_held()).encode()), 0.0
        if line not in self._routes:
            with contextlib.suppress(ValueError, KeyError):
                _, kind, delay = line.decode().removeprefix("GET ").split("/")
                if 0 <= int(delay) <= MOST_DELAY_MS:
                    self._routes[line] = _answer(body(kind, int(delay)), kind == "chunked"), int(delay) / 1000
        return self._routes.get(line)

    def _take_held(self) -> dict[str, float]:
        held, self._held = np.array(self._held), array("d")
        if not len(held):
            return {"count": 0, "mean_s": 0.0, "p99_s": 0.0, "p999_s": 0.0}
        p99_s, p999_s = map(float, np.percentile(held, [99, 99.9]))
        return {"count": len(held), "mean_s": float(held.mean()), "p99_s": p99_s, "p999_s": p999_s}

    def _send(self, client: ClientConnection, answer: bytes) -> None:
        try:
            sent = client.socket.send(answer)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._drop(client)
            return
        if sent < len(answer):
            client.rest = memoryview(answer)[sent:]
            self._selector.modify(client.socket, selectors.EVENT_WRITE, client)

    def _write(self, client: ClientConnection) -> None:
        try:
            client.rest = client.rest[client.socket.send(client.rest) :]
        except BlockingIOError:
            return
        except OSError:
            self._drop(client)
            return
        if not client.rest:
            self._selector.modify(client.socket, selectors.EVENT_READ, client)

    def _drop(self, client: ClientConnection) -> None:
        with contextlib.suppress(KeyError, ValueError):  # it was dropped before, with an answer still to be sent
            self._selector.unregister(client.socket)
        client.socket.close()


def main() -> None:
    """Listen on a free port, print it, and serve until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        listening.setblocking(False)
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        gc.disable()
        Server(listening).serve()


if __name__ == "__main__":
    main()
