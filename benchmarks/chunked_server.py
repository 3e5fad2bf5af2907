"""The lab's server of known delay with all answers chunked, as Tomcat sends a large one: ``python chunked_server.py``.

It listens on a free port of loopback and prints it, as :mod:`lab.generator.known_delay_server` does.
"""

from __future__ import annotations

import gc
import json
import socket

from lab.generator import known_delay_server

CHUNK_BYTES = 8192  # what Tomcat's output buffer holds


class ChunkedServer(known_delay_server.Server):
    """A server of known delay whose answers have no length."""

    def _route(self, line: bytes) -> tuple[bytes, float] | None:
        is_new = line not in self._routes
        route = super()._route(line)
        if route and is_new:
            route = self._routes[line] = chunked(route[0]), route[1]
        return route


def chunked(answer: bytes) -> bytes:
    """The same answer in chunks instead of with its length."""
    head, _, body = answer.partition(b"\r\n\r\n")
    fields = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:")]
    pieces = [body[at : at + CHUNK_BYTES] for at in range(0, len(body), CHUNK_BYTES)]
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"\r\n".join([*fields, b"Transfer-Encoding: chunked", b"", chunks + b"0\r\n\r\n"])


def main() -> None:
    """Listen on a free port, print it, and serve until the process is ended."""
    with socket.create_server(("127.0.0.1", 0), backlog=known_delay_server.BACKLOG) as listening:
        listening.setblocking(False)
        print(json.dumps({"port": listening.getsockname()[1]}), flush=True)
        gc.disable()
        ChunkedServer(listening).serve()


if __name__ == "__main__":
    main()
