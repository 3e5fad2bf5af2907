"""A relay in front of a server that lets so many bytes through, and holds the rest: so a client is stopped half way."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class HoldingRelay:
    """What clients send passes to the server until ``after`` bytes have gone by, and no further; answers all pass."""

    def __init__(self, to: tuple[str, int], after: int) -> None:
        self.holds = threading.Event()
        self._to, self._left, self._over = to, after, threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Let nobody in any more, and end what is held."""
        self._over.set()
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._to)
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with server, suppress(OSError):
            while (piece := client.recv(65536)) and self._left > 0:
                server.sendall(piece)
                self._left -= len(piece)
            if piece:
                self.holds.set()
                self._over.wait()
            server.shutdown(socket.SHUT_RDWR)


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with target, suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)


@contextmanager
def holding(to: tuple[str, int], after: int) -> Iterator[HoldingRelay]:
    """A relay to an address, closed with the context."""
    relay = HoldingRelay(to, after)
    try:
        yield relay
    finally:
        relay.close()
