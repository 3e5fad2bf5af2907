"""A real server on a raw socket that says exactly what it is told to, one script a connection; and a client for it."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable

import gevent
from patience import PATIENCE_S

from lab.generator.locust.http import HttpClient

Script = Callable[["Connection"], None]


class Connection:
    """One accepted connection."""

    def __init__(self, opened: socket.socket) -> None:
        self.socket = opened
        opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # a part waits for no acknowledgement of another

    def request(self) -> bytes:
        """The next request's head; empty if the client closed."""
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.socket.recv(65536)
            if not part:
                return b""
            head += part
        return head

    def say(self, *parts: bytes, pause_s: float = 0.0) -> None:
        """Send each part as a packet of its own."""
        for part in parts:
            self.socket.sendall(part)
            time.sleep(pause_s)

    def reset(self) -> None:
        """Close with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


def answer(body: bytes = b"ok", status: str = "200 OK", headers: str = "") -> bytes:
    """An answer of fixed length."""
    return f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n{headers}\r\n".encode() + body


def always(*parts: bytes) -> Script:
    """Answer every request of a connection in the same way."""

    def script(connection: Connection) -> None:
        while connection.request():
            connection.say(*parts)

    return script


class Server:
    """Accepts connections on loopback; the n-th one follows the n-th script, later ones the last."""

    def __init__(self, *scripts: Script, family: socket.AddressFamily = socket.AF_INET) -> None:
        self.scripts = scripts
        self.heads: list[bytes] = []
        self.connections = 0
        self._threads: list[threading.Thread] = []
        self._open: list[socket.socket] = []
        self._listening = socket.create_server(
            ("::1" if family == socket.AF_INET6 else "127.0.0.1", 0), family=family, backlog=64
        )
        self.port: int = self._listening.getsockname()[1]
        host = "[::1]" if family == socket.AF_INET6 else "127.0.0.1"
        self.url = f"http://{host}:{self.port}"

    def __enter__(self) -> Server:
        self._start(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for opened in self._open:
            with contextlib.suppress(OSError):
                opened.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                opened, _ = self._listening.accept()
            except OSError:
                return
            script = self.scripts[min(self.connections, len(self.scripts) - 1)]
            self.connections += 1
            self._open.append(opened)
            self._start(self._serve, script, opened)

    def _serve(self, script: Script, opened: socket.socket) -> None:
        connection = Connection(opened)
        take = connection.request

        def request() -> bytes:
            head = take()
            if head:
                self.heads.append(head)
            return head

        connection.request = request
        with contextlib.suppress(OSError):
            script(connection)
        with contextlib.suppress(OSError):
            opened.close()


class Sink:
    """Keeps what a client reports."""

    def __init__(self) -> None:
        self.begun = self.again = 0
        self.rows: list[dict[str, int]] = []

    def began(self) -> None:
        """A request is about to be sent."""
        self.begun += 1

    def sent_again(self):
        """A request is sent once more."""
        self.again += 1

    def ended(self, name, times, response, method):
        """A request was answered or has failed."""
        fields = ("name", "planned_ns", "sent_ns", "connect_ns", "ended_ns", "taken_up_ns", "status", "size", "error")
        values = (name, *times, response.status, response.size, response.error)
        self.rows.append({**dict(zip(fields, values, strict=True)), "method": method})

    def pause(self, seconds):
        """The user thinks."""
        gevent.sleep(seconds)


def client_of(url: str, timeout_s: float = PATIENCE_S) -> HttpClient:
    """A client with a sink of its own."""
    return HttpClient(url, Sink(), timeout_s)
