"""A lean HTTP/1.1 client for one user: one connection, one request at a time."""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from functools import cache
from socket import SOCK_STREAM
from time import monotonic_ns
from typing import Any, Protocol

import gevent
import gevent.socket
import httptools

from lab.generator.locust.answer import Answer, missing_bytes
from lab.generator.locust.deadline import Deadline, DeadlinePassed
from lab.generator.locust.sockets import Wire, connect
from lab.spec import http_address, sample

RECEIVE_BYTES = 65536
# What is still missing of a large body is fetched in pieces of this size: fewer wake-ups for a megabyte.
LARGE_BYTES = 1 << 19
# How an answer begins that only precedes one, such as 103 Early Hints.
EARLY = (b"HTTP/1.1 1", b"HTTP/1.0 1")
# A connection that was closed while nobody asked fails at once; a server that took the request and failed takes longer.
AT_ONCE_NS = 100_000_000
# The last answer of each user is remembered if it is no longer than this.
REMEMBERED_BYTES = 4096
# Where bodies go of which only the length counts: one place for all users, so that it stays in the processor's cache.
_unread = memoryview(bytearray(LARGE_BYTES))


# Nanoseconds: when a request was planned and sent, how long it took to connect, when its answer had come and when it
# was taken up; a plain tuple, as there is one for every request.
Times = tuple[int, int, int, int, int]


class Sink(Protocol):
    """Where a client reports what it did."""

    def began(self) -> None:
        """A request is about to be sent."""

    def ended(self, name: str, times: Times, response: Response) -> None:
        """A request was answered or has failed."""


class Response:
    """An answer, or the failure to get one: ``error`` is an index into :data:`lab.spec.sample.ERRORS`.

    ``size`` is the length of the body. Where the check is a length, only the first part of a large body is in ``body``.
    """

    __slots__ = ("body", "error", "size", "status")

    def __init__(self, status: int, body: bytes, error: int, size: int) -> None:
        self.status = status
        self.body = body
        self.error = error
        self.size = size


Check = bytes | int | Callable[[Response], bool]


class _Failure(Exception):
    def __init__(self, error: int) -> None:
        self.error = error


class HttpClient:
    """Sends requests to one server over one kept-alive connection, and opens it anew when it was closed.

    Args:
        url: base address such as ``http://127.0.0.1:8080``; https speaks TLS. ValueError if it is none.
        sink: is told of every request, also of failed ones.
        timeout_s: for connecting, and for the time from sending to the last byte of the answer.
        headers: more of what is in the head of every request.

    Attributes:
        target: path and query of the base address.

    """

    def __init__(self, url: str, sink: Sink, timeout_s: float, headers: Mapping[str, str] | None = None) -> None:
        parts = http_address.split(url)
        self._hostname = parts.hostname or ""
        self._addresses = _resolve(self._hostname, http_address.port(parts))
        self._tls = _trusted() if parts.scheme == "https" else None
        self.target = http_address.target(parts)
        fields = http_address.head(parts, headers or {})
        self._head = "".join([f"{key}: {value}\r\n" for key, value in fields.items()])
        self.sink = sink
        self._deadline = Deadline(timeout_s)
        self._wire: Wire | None = None
        self._answer = Answer()
        self._known: bytes | None = None
        self._known_as = (0, b"")
        self._connect_ns = self._arrived_ns = 0
        self._path, self._request = "", b""
        self.planned_ns = 0

    def get(
        self,
        path: str,
        *,
        name: str | None = None,
        headers: Mapping[str, str] | None = None,
        check: Check | None = None,
    ) -> Response:
        """GET a path.

        Args:
            name: what the request is called in statistics; the path if not given.
            headers: more request headers.
            check: the exact body expected, or its length in bytes if the body need not be kept, or a function that
                says whether an answer is right. A status but 200 to 299 is a failure unless a function says otherwise.

        """
        if headers:
            extra = "".join([f"{key}: {value}\r\n" for key, value in headers.items()])
            return self._send(f"GET {path} HTTP/1.1\r\n{self._head}{extra}\r\n".encode(), name or path, check)
        if path != self._path:
            self._path, self._request = path, f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode()
        return self._send(self._request, name or path, check)

    def close(self) -> None:
        """Close the connection, if one is open."""
        self._hang_up()
        self._deadline.cancel()

    def _hang_up(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def _send(self, request: bytes, name: str, check: Check | None) -> Response:
        sent_ns = monotonic_ns()
        planned_ns, self.planned_ns = self.planned_ns or sent_ns, 0
        self._connect_ns = self._arrived_ns = 0
        self.sink.began()
        self._deadline.begin(sent_ns)
        try:
            response = self._attempt(request, sent_ns, keep=type(check) is not int)
        except DeadlinePassed:
            response = _failed(sample.TIMEOUT if self._wire else sample.CONNECT_TIMEOUT)
        except BaseException as end:
            self._hang_up()  # whoever asked has given up: the answer must not pass for that of the next request
            if not isinstance(end, gevent.GreenletExit):  # else the user itself has ended, and nobody has failed
                now_ns = monotonic_ns()
                self.sink.ended(name, (planned_ns, sent_ns, self._connect_ns, now_ns, now_ns), _failed(sample.TIMEOUT))
            raise
        finally:
            self._deadline.end()
        taken_up_ns = monotonic_ns()
        # A moment before the request or after now is none: somebody has set the clock meanwhile.
        ended_ns = self._arrived_ns if sent_ns < self._arrived_ns < taken_up_ns else taken_up_ns
        error = response.error
        if error:
            self._hang_up()
        try:
            if not error:
                error = sample.WRONG_BODY  # unless the check says otherwise, and does not raise
                error = _judge(check, response)
        finally:
            response.error = error
            self.sink.ended(name, (planned_ns, sent_ns, self._connect_ns, ended_ns, taken_up_ns), response)
        return response

    def _attempt(self, request: bytes, sent_ns: int, keep: bool) -> Response:
        """Send and receive the answer, or the failure to get one."""
        try:
            if self._wire is not None:
                response = self._exchange(self._wire, request, keep)
                if response.error != sample.RESET or monotonic_ns() - sent_ns > AT_ONCE_NS:
                    return response
                # The server has closed an idle connection: what any HTTP client does is to try once on a new one.
            return self._exchange(self._connect(), request, keep)
        except _Failure as failure:
            return _failed(failure.error)

    def _connect(self) -> Wire:
        self._hang_up()
        began_ns = monotonic_ns()
        for number, where in enumerate(self._addresses, 1):
            try:
                self._wire = connect(where, self._tls, self._hostname)
                self._addresses = [where]
                break
            except OSError as error:
                if number == len(self._addresses):
                    raise _Failure(_connect_failure(error)) from None
        assert self._wire is not None
        self._answer = Answer()
        self._connect_ns = monotonic_ns() - began_ns
        return self._wire

    def _exchange(self, wire: Wire, request: bytes, keep: bool) -> Response:
        head, heads, skipped = b"", b"", 0
        try:
            wire.send(request)
            heads = head = wire.receive(RECEIVE_BYTES)
            if head == self._known:  # the same bytes are the same answer, and need not be read twice
                self._arrived_ns = wire.arrived_ns
                return Response(*self._known_as, sample.OK, len(self._known_as[1]))
            answer, part = self._answer, head
            answer.begin()
            while part:
                answer.feed(part)
                if part is head and not answer.complete and (missing := missing_bytes(answer, head)):
                    skipped = self._receive_rest(wire, missing, keep)
                if answer.complete:
                    break
                part = wire.receive(RECEIVE_BYTES)
                if answer.status < 200:  # the head goes on, or the one that counts is still to come
                    heads += part
            else:
                return _ended_early(answer, heads)
        except OSError:
            return _failed(sample.TRUNCATED if head else sample.RESET)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            return _failed(sample.MALFORMED)
        body, self._arrived_ns = answer.body, wire.arrived_ns
        if not answer.keep_alive:
            self._hang_up()
        elif part is head and answer is self._answer and len(head) <= REMEMBERED_BYTES:  # it is the whole answer
            self._known, self._known_as = head, (answer.status, body)
        return Response(answer.status, body, sample.OK, len(body) + skipped)

    def _receive_rest(self, wire: Wire, missing: int, keep: bool) -> int:
        """Receive so many more bytes, which are the body's and need no parser; OSError if the server closes.

        Returns:
            How many of them were not kept: all or none.

        """
        answer = self._answer
        keep_alive, left = answer.keeps_alive(), missing
        while left:
            most = min(left, LARGE_BYTES)
            if keep:
                answer.parts.append(wire.receive(most))
                received = len(answer.parts[-1])
            else:
                received = wire.receive_into(_unread[:most])
            if not received:
                raise ConnectionResetError
            left -= received
        self._answer = Answer()  # this parser still waits for what it was not shown
        answer.complete, answer.keep_alive = True, keep_alive
        return 0 if keep else missing


def _failed(error: int) -> Response:
    return Response(0, b"", error, 0)


def _ended_early(answer: Answer, heads: bytes) -> Response:
    """What it means that the server closed: nothing came, not all came, or that is how the answer says it is over.

    Args:
        heads: what came before the body, perhaps with a part of it.

    """
    if not heads:
        return _failed(sample.RESET)
    while heads.startswith(EARLY):
        heads = heads.partition(b"\r\n\r\n")[2]
    fields = heads.partition(b"\r\n\r\n")[0].lower()
    if answer.status and b"\r\ncontent-length:" not in fields and b"\r\ntransfer-encoding:" not in fields:
        return Response(answer.status, answer.body, sample.OK, len(answer.body))
    return _failed(sample.TRUNCATED)


@cache
def _trusted() -> ssl.SSLContext:
    """What every user trusts; read once, as the authorities of a system are many."""
    return ssl.create_default_context()


@cache
def _resolve(host: str, port: int) -> list[tuple[Any, ...]]:
    """The addresses of a host, looked up once for all users."""
    return list(gevent.socket.getaddrinfo(host, port, 0, SOCK_STREAM))


def _connect_failure(error: OSError) -> int:
    if isinstance(error, ConnectionRefusedError):
        return sample.REFUSED
    return sample.CONNECT_TIMEOUT if isinstance(error, TimeoutError) else sample.CONNECT_FAILED


def _judge(check: Check | None, response: Response) -> int:
    if callable(check):
        return sample.OK if check(response) else sample.WRONG_BODY
    if not 200 <= response.status < 300:
        return sample.STATUS
    found = response.size if isinstance(check, int) else response.body
    return sample.OK if check is None or found == check else sample.WRONG_BODY
