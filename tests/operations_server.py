"""A service that keeps operations, in Python: what the session of ``operations`` needs, with a mistake where told."""

from __future__ import annotations

import itertools
import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "Bearer let-me-in"


class Handler(BaseHTTPRequestHandler):
    """Answers as the services do, but for passwords and tokens, of which it knows one."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one packet

    def do_GET(self) -> None:  # the library's name
        """The account, all operations or one, to those who are let in."""
        if self.path == "/":
            self._answer(200)
        elif self.headers["Authorization"] != TOKEN:
            self._answer(401)
        elif self.path == "/api/account":
            self._answer(200, {"login": "admin"})
        elif self.path == "/api/operations":
            self._answer(200, [{"id": 1, "description": "the first"}])
        else:
            found = self.server.operations.get(self.path.rpartition("/")[2])
            self._answer(200 if found else 404, found)

    def do_POST(self) -> None:  # the library's name
        """A token, or an operation that is created."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/api/authenticate":
            self._answer(200, {"id_token": TOKEN.removeprefix("Bearer ")})
            return
        new = str(next(self.server.numbers))
        self.server.operations[new] = {**asked, "id": new}
        self._answer(201, self.server.operations[new])

    def do_DELETE(self) -> None:  # the library's name
        """An operation less."""
        found = self.server.operations.pop(self.path.rpartition("/")[2], None)
        self._answer(204 if found else 404)

    def _answer(self, status: int, value: object = None) -> None:
        asked = f"{self.command} {self.path}"
        self.server.asked[asked] += 1
        if self.server.asked[asked] in self.server.fails.get(asked, ()):
            status = 500
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body if status != 204 else b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class OperationsServer(ThreadingHTTPServer):
    """Listens on a free port of loopback.

    Attributes:
        asked: how often it was asked for what, such as ``GET /api/account``.
        fails: by what is asked for, the times, from 1, at which it answers with 500.

    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.numbers = itertools.count(1000)
        self.operations: dict[str, dict] = {}
        self.asked: Counter[str] = Counter()
        self.fails: dict[str, set[int]] = {}
        self.url = f"http://127.0.0.1:{self.server_port}"


@contextmanager
def serving() -> Iterator[OperationsServer]:
    """A server until the context ends."""
    with OperationsServer() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()
