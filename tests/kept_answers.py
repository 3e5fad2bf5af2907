"""Answers off a connection that is kept, one after the other, however the bytes of them arrive."""

from __future__ import annotations

import http.client
from typing import BinaryIO


def read_answer(connection: BinaryIO) -> tuple[int, bytes]:
    """Status and body of the next answer that has a length."""
    status = int(connection.readline().split()[1])
    return status, connection.read(int(http.client.parse_headers(connection)["content-length"]))
