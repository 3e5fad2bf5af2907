"""A relay in front of a MongoDB without users that lets everybody log in, and keeps the passwords that it was told."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from typing import Any

import bson
from relay import Relay

# Message and, for the first words of a connection, query: the two forms of a command.
OP_REPLY, OP_QUERY, OP_MSG = 1, 2004, 2013
ADMITTED = {"conversationId": 1, "done": True, "payload": b"", "ok": 1.0}


class AdmittingRelay(Relay):
    """What clients ask goes to the server, but for logins by the mechanism PLAIN, which it grants itself."""

    def __init__(self, to: tuple[str, int]) -> None:
        super().__init__(to)
        self.told = list[str]()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with server, suppress(OSError), client.makefile("rb") as words:
            while head := words.read(16):
                length, number, _, kind = struct.unpack("<iiii", head)
                rest = words.read(length - 16)
                if b"saslStart\0" not in rest:
                    server.sendall(head + rest)
                    continue
                self.told.append(_command(kind, rest)["payload"].decode().split("\0")[2])
                client.sendall(_granted(kind, number))


def _command(kind: int, rest: bytes) -> dict[str, Any]:
    """The command of a message: behind its flags and the kind of its section, or behind a name and two numbers."""
    text = rest[5:] if kind == OP_MSG else rest[rest.index(b"\0", 4) + 9 :]
    return bson.decode(text[: struct.unpack("<i", text[:4])[0]])


def _granted(kind: int, number: int) -> bytes:
    document = bson.encode(ADMITTED)
    before = b"\0" * 5 if kind == OP_MSG else struct.pack("<iqii", 8, 0, 0, 1)
    answers_as = OP_MSG if kind == OP_MSG else OP_REPLY
    return struct.pack("<iiii", 16 + len(before) + len(document), 1, number, answers_as) + before + document
