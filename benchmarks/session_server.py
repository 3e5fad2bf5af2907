"""Answers the requests of ``operations`` from memory: ``python benchmarks/session_server.py`` prints its port.

It checks nothing: no password, no token, no key. So it needs a fraction of a core for thousands of requests a second.
"""

from __future__ import annotations

import asyncio
import json
import socket

from lab.experiments.operations.contract import ACCOUNT, AUTHENTICATE, OPERATION, OPERATIONS

BACKLOG = 4096
BLANK_LINE = b"\r\n\r\n"
# As long as a signed token of the services, and as many operations as they begin with.
TOKEN, BEGUN_WITH = "x" * 180, 100
KEPT = {**OPERATION, "id": "1000"}


def answer(status: str, value: object) -> bytes:
    """A whole answer with a body of JSON."""
    body = json.dumps(value).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


REFUSAL = b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n"
DELETED = b"HTTP/1.1 204 No Content\r\n\r\n"
ANSWERS = {
    f"GET {ACCOUNT}": answer("200 OK", {"login": "admin"}),
    f"POST {AUTHENTICATE}": answer("200 OK", {"id_token": TOKEN}),
    f"GET {OPERATIONS}": answer("200 OK", [KEPT] * BEGUN_WITH),
    f"POST {OPERATIONS}": answer("201 Created", KEPT),
    f"GET {OPERATIONS}/{KEPT['id']}": answer("200 OK", KEPT),
    f"DELETE {OPERATIONS}/{KEPT['id']}": DELETED,
}


class Answering(asyncio.Protocol):
    """One connection: a request comes whole or in parts, and the next only after its answer."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Callback: a client has connected."""
        self._transport, self._received = transport, b""

    def data_received(self, data: bytes) -> None:
        """Callback: bytes have come; answers once a request is complete."""
        self._received += data
        head, blank, body = self._received.partition(BLANK_LINE)
        if not blank or len(body) < _length(head):
            return
        self._received = b""
        method, path, _ = head.decode().split(" ", 2)
        refused = path == ACCOUNT and b"Authorization" not in head
        self._transport.write(REFUSAL if refused else ANSWERS[f"{method} {path}"])


def _length(head: bytes) -> int:
    """The length of the body that follows a head."""
    _, found, rest = head.partition(b"Content-Length: ")
    return int(rest.partition(b"\r")[0]) if found else 0


async def main() -> None:
    """Listen on a free port of loopback, print it, and serve until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listening:
        server = await asyncio.get_running_loop().create_server(Answering, sock=listening, backlog=BACKLOG)
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
