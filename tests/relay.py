"""A relay in front of a server, whose subclasses say what becomes of what clients send; answers all pass."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self


class Relay:
    """Listens on ``port`` of loopback while its context lasts, and has a connection to the server for each client."""

    def __init__(self, to: tuple[str, int]) -> None:
        self._to, self._listener = to, socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._to)
                threading.Thread(target=self._ask, args=(client, server), daemon=True).start()
                threading.Thread(target=_pass_on, args=(server, client), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        """Read what a client sends to its end, and send what of it the server is to see."""
        raise NotImplementedError


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    with target, suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
