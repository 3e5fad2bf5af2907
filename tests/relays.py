"""Relays between a client and a server of its, which change what passes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def refusing_more(host: str, port: int) -> Iterator[int]:
    """The port of a relay to a MongoDB behind which no client finds the command getMore."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    upstream = socket.create_connection((host, port))
                    threading.Thread(target=pass_on, args=(client, upstream), daemon=True).start()
                    threading.Thread(target=pass_on, args=(upstream, client), daemon=True).start()

        def pass_on(source: socket.socket, target: socket.socket) -> None:
            with target, suppress(OSError):
                while piece := source.recv(65536):
                    target.sendall(piece.replace(b"getMore\0", b"getM0re\0"))

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1]
        listener.close()
