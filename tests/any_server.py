"""A service that the lab did not start: HTTP or HTTPS on loopback, which remembers the head of every request."""

from __future__ import annotations

import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

LARGE = b"x" * 100_000


class Handler(BaseHTTPRequestHandler):
    """Answers as the path says: ``/ok``, ``/large``, ``/status/404``, or ``/tired/503``, which is right only once.

    What is sent to it by any method but GET comes back.
    """

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one packet

    def do_GET(self) -> None:  # the library's name
        """Answer, and remember what was asked."""
        self.server.heads.append((self.path, dict(self.headers)))
        kind, _, number = self.path.strip("/").partition("/")
        asked_before = [path for path, _ in self.server.heads].count(self.path) > 1
        status = int(number.partition("/")[0]) if kind == "status" or (kind == "tired" and asked_before) else 200
        self._answer(status, LARGE if kind == "large" else b"ok")

    def do_POST(self) -> None:  # the library's name
        """Answer with what was sent, and remember it."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.bodies.append((self.command, self.path, body))
        self._answer(200, body)

    do_PUT = do_DELETE = do_POST  # noqa: N815 (the library's names)

    def _answer(self, status: int, body: bytes) -> None:
        time.sleep(0.002)
        self.send_response(status)
        if 300 <= status < 400:
            self.send_header("Location", "/ok")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


class AnyServer(ThreadingHTTPServer):
    """Listens on a free port of loopback."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, certificate: Path | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heads: list[tuple[str, dict[str, str]]] = []
        self.bodies: list[tuple[str, str, bytes]] = []
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"http{'s' if certificate else ''}://127.0.0.1:{self.server_port}"

    def asked(self, path: str) -> int:
        """How often a path was asked for."""
        return [asked for asked, _ in self.heads].count(path)


@contextmanager
def serving(certificate: Path | None = None) -> Iterator[AnyServer]:
    """A server until the context ends."""
    with AnyServer(certificate) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def certificate_for_loopback(folder: Path) -> Path:
    """A file with a key and a certificate that only who is told to will trust."""
    key, file = folder / "key.pem", folder / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=lab"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(file)]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(file.read_text() + key.read_text())
    return file
