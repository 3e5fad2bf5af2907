"""Reads chunked bodies (RFC 9112, 7.1), in the plain form that servers send, for little more than receiving costs."""

from __future__ import annotations

import re

# What is between two chunks: the end of one, and the size of the next.
_SEPARATOR = re.compile(rb"\r\n([0-9A-Fa-f]{1,15})\r\n")
_LAST = re.compile(rb"\r\n0{1,15}\r\n\r\n")
# The beginning of one of both.
_UNFINISHED = re.compile(rb"\r(?:\n(?:[0-9A-Fa-f]{1,15}\r?|0{1,15}\r\n\r?)?)?")
# No separator is longer.
SEPARATOR_BYTES = 21
# A body is read as if a chunk were before its first one: so there is a separator before each.
BEFORE_FIRST = b"\r\n"


class Chunks:
    """A chunked body that is read piece by piece.

    Extensions, trailers and whatever makes no sense are not read here: :meth:`read` stops before them, and the parser
    goes on from there.

    Attributes:
        keep: whether what is read is kept in ``parts``.
        size: bytes of the body so far.
        complete: whether its end was read.
        plain: false where there is something that the parser has to read.

    """

    __slots__ = ("_left", "complete", "keep", "parts", "plain", "size")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.keep = self.plain = True
        self.complete = False
        self.size = self._left = 0

    def read(self, data: bytearray, at: int, end: int) -> int:
        """Read ``data[at:end]``, which follows what was read before; returns where it stopped.

        What is left from there to ``end`` is the beginning of a separator, to be read again with what follows, or for
        the parser.
        """
        view = memoryview(data)[:end]
        inside = min(self._left, end - at)
        if inside and self.keep:
            self.parts.append(bytes(view[at : at + inside]))
        self.size += inside
        self._left -= inside
        at += inside
        while at < end:
            found = _SEPARATOR.match(data, at, end)
            if found is None or not (chunk_bytes := int(found[1], 16)):
                return self._stop(data, at, end)
            separator, first = bytes(found[0]), at
            stride = len(separator) + chunk_bytes
            while data.startswith(separator, at, end):  # nearly all chunks of a body are of one size
                at += stride
            self.size += (at - first) // stride * chunk_bytes
            if self.keep:
                self.parts += [bytes(view[here + len(separator) : here + stride]) for here in range(first, at, stride)]
            if at > end:  # a part of the last one is still to come
                self._left = at - end
                self.size -= self._left
                at = end
        return at

    def _stop(self, data: bytearray, at: int, end: int) -> int:
        if _LAST.fullmatch(data, at, end):
            self.complete = True
            return end
        self.plain = _UNFINISHED.fullmatch(data, at, end) is not None
        return at
