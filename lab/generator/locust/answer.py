"""Reads the answer to a request off its connection: status, body and where it ends.

Whatever is not of a form that is known to be read right here goes to httptools' parser: new heads, 1xx answers, bodies
that end with their connection, chunks with extensions or trailers, and all that makes no sense.
"""

from __future__ import annotations

import json as json_
from typing import Any

import httptools

from lab.generator.locust.chunks import BEFORE_FIRST, SEPARATOR_BYTES, Chunks
from lab.generator.locust.sockets import Connection
from lab.spec import sample

# What is asked for first: all of a small answer, and no more than the beginning of a large one.
FIRST_BYTES = 16384
RECEIVE_BYTES = 65536
# What is still missing of a large body is fetched in pieces of this size: fewer wake-ups for a megabyte.
LARGE_BYTES = 1 << 19
BLANK_LINE = b"\r\n\r\n"
# The first bytes of an informational answer, such as 103 Early Hints; the final one follows it.
INFORMATIONAL = (b"HTTP/1.1 1", b"HTTP/1.0 1")
# Instead of the length of a body that is chunked, or of which nothing is known yet.
CHUNKED, UNKNOWN = -1, -2
# What a head says: status, length of the body, and whether the connection can be used again.
Framing = tuple[int, int, bool]
NEW: Framing = (0, UNKNOWN, True)
# What heads say, blank line included. A server's heads stay the same for a second, whatever is in the bodies, and are
# the same for all users. Where all of them differ, few are kept.
_known: dict[bytes, Framing] = {}
MOST_KNOWN = 64
# A chunked body is received here, behind room for the beginning of a separator. One buffer for all users, so that it
# stays in the CPU's cache: what is received is read before another user runs.
_buffer = bytearray(SEPARATOR_BYTES + LARGE_BYTES)
_received = memoryview(_buffer)[SEPARATOR_BYTES:]
# Puts a parser that has read a head where it is between two chunks.
ONE_CHUNK = b"1\r\nx"


class Response:
    """An answer, or a failure to get one; ``error`` is an index into :data:`lab.spec.sample.ERRORS`.

    ``size`` is the length of the body. Where the check is a length, only the first part of a large body is in ``body``;
    so it is where the check is a body, and the answer has another one of the same length.
    An answer that its check called a fallback has :data:`lab.spec.sample.FALLBACK` as its ``error``, and is ``ok``.
    """

    __slots__ = ("body", "error", "size", "status")

    def __init__(self, status: int, body: bytes, error: int, size: int) -> None:
        self.status = status
        self.body = body
        self.error = error
        self.size = size

    @property
    def ok(self) -> bool:
        """Whether it is right, be it a fallback."""
        return self.error in (sample.OK, sample.FALLBACK)

    def json(self) -> Any:
        """The body as JSON; ValueError if it is none."""
        return json_.loads(self.body)


def failed(error: int) -> Response:
    """The response where there was no answer."""
    return Response(0, b"", error, 0)


class Reader:
    """Reads the answers on one connection after the other, for one user.

    Attributes:
        keep_alive: whether the connection can be used again after the last answer.

    """

    __slots__ = ("_parsed", "keep_alive")

    def __init__(self) -> None:
        self._parsed: ParsedAnswer | None = None
        self.keep_alive = True

    def ask(self, connection: Connection, request: bytes, check: object = None) -> Response:
        """Send a request and read its answer, whose ``error`` says why if there is none.

        Args:
            check: what the answer will be held against: of a length (int) no large body is kept, and with a body
                (bytes) a large one that is not in chunks is compared as it comes. Else all of it is kept.

        """
        first = b""
        try:
            connection.send(request)
            first = connection.receive(FIRST_BYTES)
            end = first.find(BLANK_LINE) + len(BLANK_LINE)
            head, body = first[:end], first[end:]
            status, length, self.keep_alive = _known.get(head, NEW)
            if len(body) == length:
                return Response(status, body, sample.OK, length)
            if len(body) < length or length == CHUNKED:
                return self._read_body(connection, head, body, check)
            return self._parse(connection, first, head, body, check)
        except OSError:
            return failed(sample.TRUNCATED if first else sample.RESET)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return failed(sample.MALFORMED)

    def _parse(self, connection: Connection, first: bytes, head: bytes, body: bytes, check: object) -> Response:
        """Read an answer whose head is new, or which has more bytes than it should."""
        if not first:
            return failed(sample.RESET)
        answer, self._parsed = self._parsed or ParsedAnswer(), None  # which is of no more use if it fails
        answer.begin()
        answer.feed(first)
        if answer.complete:
            status, found, self.keep_alive = answer.status, answer.body, answer.keep_alive
            if self.keep_alive:
                self._parsed = answer
            if found == body:  # then so many bytes follow this head whenever it comes
                _remember(head, (status, len(body), self.keep_alive))
            return Response(status, found, sample.OK, len(found))
        length = _length(answer, head)
        if length == UNKNOWN:
            return self._go_on(connection, answer, first)
        self.keep_alive = answer.keeps_alive()
        _remember(head, (answer.status, length, self.keep_alive))
        return self._read_body(connection, head, body, check)

    def _read_body(self, connection: Connection, head: bytes, body: bytes, check: object) -> Response:
        """Read a body of known framing, of which the first bytes are there."""
        status, length, _ = _known[head]
        if length == CHUNKED:
            return self._read_chunks(connection, status, head, body, type(check) is not int)
        return Response(status, _read_rest(connection, body, length, check), sample.OK, length)

    def _go_on(
        self, connection: Connection, answer: ParsedAnswer, heads: bytes, before: Chunks | None = None
    ) -> Response:
        """Leave the rest of an answer to its parser.

        Args:
            heads: what was received until now.
            before: what was read of a chunked body without the parser.

        """
        while not answer.complete:
            part = connection.receive(RECEIVE_BYTES)
            if not part:
                self.keep_alive = False
                return _server_closed(answer, heads)
            if answer.status < 200:  # the head goes on, or the final answer is still to come
                heads += part
            answer.feed(part)
        self.keep_alive = answer.keep_alive
        if not before:
            return Response(answer.status, answer.body, sample.OK, len(answer.body))
        body = b"".join(before.parts + (answer.parts if before.keep else []))
        return Response(answer.status, body, sample.OK, before.size + len(answer.body))

    def _read_chunks(self, connection: Connection, status: int, head: bytes, body: bytes, keep: bool) -> Response:
        """Read a chunked body of which the first bytes are there."""
        chunks, data = Chunks(), bytearray(BEFORE_FIRST + body)
        end = len(data)
        at = chunks.read(data, 0, end)
        chunks.keep = keep
        while not chunks.complete:
            rest = data[at:end]
            if not chunks.plain:
                answer = ParsedAnswer()
                answer.feed(head + ONE_CHUNK)
                answer.parts.clear()
                answer.feed(bytes(rest))
                return self._go_on(connection, answer, head, chunks)
            received = connection.receive_into(_received)
            if not received:
                return failed(sample.TRUNCATED)
            at, end, data = SEPARATOR_BYTES - len(rest), SEPARATOR_BYTES + received, _buffer
            data[at:SEPARATOR_BYTES] = rest
            at = chunks.read(data, at, end)
        return Response(status, b"".join(chunks.parts), sample.OK, chunks.size)


class ParsedAnswer:
    """Receives httptools' callbacks for the answers on one connection, and holds the current answer."""

    __slots__ = ("_parser", "complete", "feed", "keep_alive", "parts", "status")

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.feed = self._parser.feed_data
        self.begin()

    def begin(self) -> None:
        """Reset for the next answer."""
        self.parts: list[bytes] = []
        self.complete = False
        self.keep_alive = False
        self.status = 0

    def on_message_begin(self) -> None:
        """Callback: the first byte of an answer."""
        if self.complete:
            raise ValueError("a second answer follows, to no request")

    def on_headers_complete(self) -> None:
        """Callback: the head is complete."""
        self.status = self._parser.get_status_code()

    def on_body(self, part: bytes) -> None:
        """Callback: a part of the body."""
        self.parts.append(part)

    def on_message_complete(self) -> None:
        """Callback: an answer is complete; an informational one (1xx) does not count."""
        if self.status >= 200:  # 103 Early Hints and the like: the answer is still to come
            self.complete = True
            self.keep_alive = self._parser.should_keep_alive()  # which httptools knows at this moment only

    def keeps_alive(self) -> bool:
        """Whether the connection can be reused, by the head, which must be complete."""
        return bool(self._parser.should_keep_alive())

    @property
    def body(self) -> bytes:
        """The body so far, copied once at most."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


def _length(answer: ParsedAnswer, head: bytes) -> int:
    """The length of the body by its head, or CHUNKED; UNKNOWN where the parser has to decide.

    It decides wherever the head is not all there, is of an informational answer (1xx), or describes the body in any way
    but one Content-Length, or one Transfer-Encoding that is ``chunked``.
    """
    if not head.endswith(BLANK_LINE) or head[9:12] != b"%d" % answer.status or answer.status < 200:
        return UNKNOWN
    fields = head.lower()
    lengths, encodings = fields.count(b"\r\ncontent-length:"), fields.count(b"\r\ntransfer-encoding:")
    if (lengths, encodings) == (1, 0):
        return int(fields.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
    if (lengths, encodings) == (0, 1) and b"\r\ntransfer-encoding: chunked\r\n" in fields:
        return CHUNKED
    return UNKNOWN


def _remember(head: bytes, framing: Framing) -> None:
    if len(_known) == MOST_KNOWN:
        _known.clear()
    _known[head] = framing


def _read_rest(connection: Connection, body: bytes, length: int, check: object) -> bytes:
    """Read a body of which the first bytes are there; returns it, or only those. OSError if the server closes."""
    parts, left = [body], length - len(body)
    if type(check) is int:
        connection.discard(left)
        return body
    if type(check) is bytes and len(check) == length:
        matches = connection.matches(memoryview(check)[len(body) :])
        return check if matches and check.startswith(body) else body
    while left:
        parts.append(connection.receive(min(left, LARGE_BYTES)))
        if not parts[-1]:
            raise ConnectionResetError
        left -= len(parts[-1])
    return b"".join(parts)


def _server_closed(answer: ParsedAnswer, heads: bytes) -> Response:
    """The response where the server closed: reset, truncated, or an answer that ends with its connection.

    Args:
        heads: the bytes before the body, perhaps with a part of it.

    """
    while heads.startswith(INFORMATIONAL):
        heads = heads.partition(BLANK_LINE)[2]
    fields = heads.partition(BLANK_LINE)[0].lower()
    if answer.status and b"\r\ncontent-length:" not in fields and b"\r\ntransfer-encoding:" not in fields:
        return Response(answer.status, answer.body, sample.OK, len(answer.body))
    return failed(sample.TRUNCATED)
