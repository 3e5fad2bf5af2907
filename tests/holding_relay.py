"""A relay in front of a server that lets so many bytes through, and holds the rest: so a client is stopped half way."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress

from relay import Relay


class HoldingRelay(Relay):
    """What clients send passes to the server until ``after`` bytes have gone by, and no further."""

    def __init__(self, to: tuple[str, int], after: int) -> None:
        super().__init__(to)
        self.holds = threading.Event()
        self._left, self._over = after, threading.Event()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        super().__exit__()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with server, suppress(OSError):
            while (piece := client.recv(65536)) and self._left > 0:
                server.sendall(piece)
                self._left -= len(piece)
            if piece:
                self.holds.set()
                self._over.wait()
            server.shutdown(socket.SHUT_RDWR)
