"""A lean HTTP/1.1 client for one user: one connection, one request at a time."""

from __future__ import annotations

import contextlib
import json as json_
import ssl
from collections.abc import Callable, Mapping
from functools import cache
from http import HTTPStatus
from socket import SOCK_STREAM
from time import monotonic_ns
from typing import Any, Protocol
from urllib.parse import SplitResult

import gevent
import gevent.socket

from lab.generator.locust.answer import Reader, Response, failed
from lab.generator.locust.deadline import Deadline, DeadlinePassed, LoadBrokenOff
from lab.generator.locust.sockets import Connection, connect
from lab.spec import http_address, sample

# A kept-alive connection that the server closed while idle fails within this time; a failing server takes longer.
STALE_WITHIN_NS = 100_000_000
# Methods of which a second request changes nothing more (RFC 9110, 9.2.2).
IDEMPOTENT = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"))

# Nanoseconds: when a request was planned and sent, how long connecting took, when its answer had been received and
# when it was handled; a plain tuple, as there is one for every request.
Times = tuple[int, int, int, int, int]


class Sink(Protocol):
    """Where a client reports the begin and the end of its requests."""

    def began(self) -> None:
        """A request is about to be sent; raises what ends a session in which none may be sent any more."""

    def sent_again(self) -> None:
        """A request is sent once more, on a new connection, since the server had ended the one that was idle."""

    def ended(self, name: str, times: Times, response: Response, method: str) -> None:
        """A request was answered or has failed."""

    def pause(self, seconds: float) -> None:
        """Let the user think; raises what ends a session whose time is over before that."""


Check = bytes | int | str | HTTPStatus | Callable[[Response], bool | str]
# What a check returns for an answer that is right, but to be counted apart.
FALLBACK = "fallback"
# By what a check may return in words, how the answer is recorded; any other text stands for a right one.
SAID = {FALLBACK: sample.FALLBACK, **{name: error for error, name in enumerate(sample.ERRORS) if name}}


class _Failure(Exception):
    def __init__(self, error: int) -> None:
        self.error = error


class HttpClient:
    """Sends requests to one server over one kept-alive connection, and reconnects when it was closed.

    Args:
        url: base address such as ``http://127.0.0.1:8080``; https speaks TLS. ValueError if it is none.
        sink: called for every request, also for failed ones.
        timeout_s: for connecting, and from sending to the last byte of the answer.
        headers: additional headers of every request.

    Attributes:
        target: path and query of the base address.

    """

    def __init__(self, url: str, sink: Sink, timeout_s: float, headers: Mapping[str, str] | None = None) -> None:
        parts, self._head, self._names = _prepared(url, tuple((headers or {}).items()))
        self._hostname = parts.hostname or ""
        self._addresses = _resolve(self._hostname, http_address.port(parts))
        self._tls = _tls_context() if parts.scheme == "https" else None
        self.target = http_address.target(parts)
        self.sink = sink
        self._deadline = Deadline(timeout_s)
        self._connection: Connection | None = None
        self._reader = Reader()
        self._connect_ns = 0
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
            name: the request's name in statistics; the path if None.
            headers: additional headers of this request, which replace those of every request that have the same names.
            check: the exact body expected (bytes), or its length if the body need not be kept, or a text in it (str),
                or the status (:class:`http.HTTPStatus`), or a function that returns whether an answer is right,
                ``"fallback"`` for one that is right but to be counted apart, or the name of its failure, one of
                :data:`lab.spec.sample.ERRORS`. A status but 200 to 299 is a failure unless these two decide.

        """
        if headers:
            head = self._head_beside({key.lower() for key in headers})
            extra = "".join([f"{key}: {value}\r\n" for key, value in headers.items()])
            return self._send(f"GET {path} HTTP/1.1\r\n{head}{extra}\r\n".encode(), name or path, check, "GET")
        if path != self._path:
            self._path, self._request = path, f"GET {path} HTTP/1.1\r\n{self._head}\r\n".encode()
        return self._send(self._request, name or path, check, "GET")

    def post(self, path: str, **how: Any) -> Response:
        """POST a body to a path; the arguments are those of :meth:`request`."""
        return self.request("POST", path, **how)

    def put(self, path: str, **how: Any) -> Response:
        """PUT a body at a path; the arguments are those of :meth:`request`."""
        return self.request("PUT", path, **how)

    def patch(self, path: str, **how: Any) -> Response:
        """PATCH what is at a path; the arguments are those of :meth:`request`."""
        return self.request("PATCH", path, **how)

    def delete(self, path: str, **how: Any) -> Response:
        """DELETE what is at a path; the arguments are those of :meth:`request`."""
        return self.request("DELETE", path, **how)

    def request(
        self,
        method: str,
        path: str,
        *,
        name: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: bytes | str = b"",
        json: Any = None,
        check: Check | None = None,
    ) -> Response:
        """Send a request of any method but HEAD, whose answers have no body.

        Where the server closes the kept-alive connection as it is sent, it is sent once more if its method is
        idempotent (RFC 9110, 9.2.2). Any other, as POST and PATCH, is sent once: after a look whether the connection is
        still open, and if that closes without an answer, the request has failed as ``reset``.

        Args:
            name: as in :meth:`get`; the same for ``headers`` and ``check``.
            body: text is sent as UTF-8.
            json: a value that is sent as JSON, instead of ``body``.

        """
        fields = dict(headers or {})
        own = {key.lower() for key in fields}
        given = self._names | own
        content = body.encode() if isinstance(body, str) else body
        if json is not None:
            content = json_.dumps(json).encode()
            fields |= {} if "content-type" in given else {"Content-Type": "application/json"}
        if (content or method != "GET") and "content-length" not in given:
            fields["Content-Length"] = str(len(content))
        extra = "".join([f"{key}: {value}\r\n" for key, value in fields.items()])
        head = f"{method} {path} HTTP/1.1\r\n{self._head_beside(own)}{extra}\r\n"
        if method not in IDEMPOTENT and self._connection is not None and self._connection.has_ended():
            self._disconnect()
        return self._send(head.encode() + content, name or path, check, method)

    def pause(self, seconds: float) -> None:
        """Send nothing for some seconds. A first request that was planned for now is planned for after that."""
        if self.planned_ns:
            self.planned_ns += int(seconds * 1e9)
        self.sink.pause(seconds)

    def close(self) -> None:
        """Close the connection, if one is open."""
        self._disconnect()
        self._deadline.cancel()

    def _head_beside(self, own: set[str]) -> str:
        """What the heads of all requests have in common, without the names, in lower case, that one has of its own."""
        if self._names.isdisjoint(own):
            return self._head
        lines = self._head.removesuffix("\r\n").split("\r\n")
        return "".join([f"{line}\r\n" for line in lines if line.partition(":")[0].lower() not in own])

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(self, request: bytes, name: str, check: Check | None, method: str) -> Response:
        self.sink.began()
        sent_ns = monotonic_ns()
        planned_ns, self.planned_ns = self.planned_ns or sent_ns, 0
        self._connect_ns = 0
        self._deadline.begin(sent_ns)
        try:
            response = self._attempt(request, sent_ns, check, method)
        except DeadlinePassed:
            response = failed(sample.TIMEOUT if self._connection else sample.CONNECT_TIMEOUT)
        except BaseException as end:
            self._disconnect()  # the caller gave up: a late answer must not be taken for that of the next request
            if not isinstance(end, gevent.GreenletExit):  # else the user was stopped, which is no failed request
                now_ns = monotonic_ns()
                times = (planned_ns, sent_ns, self._connect_ns, now_ns, now_ns)
                broken_off = isinstance(end, LoadBrokenOff)
                self.sink.ended(name, times, failed(sample.BROKEN_OFF if broken_off else sample.TIMEOUT), method)
            raise
        finally:
            self._deadline.end()
        ended_ns = taken_up_ns = monotonic_ns()
        error = response.error
        if not error:
            assert self._connection is not None
            arrived_ns = self._connection.arrived_ns()
            # A time before the send or after now is wrong: the clock was set, or this process paused, meanwhile.
            ended_ns = arrived_ns if sent_ns < arrived_ns < taken_up_ns else taken_up_ns
        if error or not self._reader.keep_alive:
            self._disconnect()
        try:
            if not error:
                error = sample.WRONG_BODY  # if the check raises
                error = _check_response(check, response)
        finally:
            response.error = error
            self.sink.ended(name, (planned_ns, sent_ns, self._connect_ns, ended_ns, taken_up_ns), response, method)
        return response

    def _attempt(self, request: bytes, sent_ns: int, check: Check | None, method: str) -> Response:
        """Send and receive the answer, or the failure to get one."""
        connection = self._connection
        try:
            if connection is not None:
                response = self._reader.ask(connection, request, check)
                if response.error != sample.RESET or monotonic_ns() - sent_ns > STALE_WITHIN_NS:
                    return response
                if method not in IDEMPOTENT:  # the server may have applied it
                    return response
                # The server has closed an idle connection: as any HTTP client does, retry once on a new one.
                self.sink.sent_again()
            return self._reader.ask(self._connect(), request, check)
        except _Failure as failure:
            return failed(failure.error)

    def _connect(self) -> Connection:
        self._disconnect()
        began_ns = monotonic_ns()
        for number, address in enumerate(self._addresses, 1):
            try:
                self._connection = connect(address, self._tls, self._hostname)
                self._addresses = [address]
                break
            except OSError as error:
                if number == len(self._addresses):
                    raise _Failure(_connect_failure(error)) from None
        assert self._connection is not None
        self._connect_ns = monotonic_ns() - began_ns
        return self._connection


def resolve(url: str) -> None:
    """Look up the host of an address, before thousands of users do at once; whether it is found is theirs to say."""
    with contextlib.suppress(ValueError, OSError):
        parts = http_address.split(url)
        _resolve(parts.hostname or "", http_address.port(parts))


@cache
def _prepared(url: str, headers: tuple[tuple[str, str], ...]) -> tuple[SplitResult, str, frozenset[str]]:
    """The parts of an address, and what heads have in common: once for all users, as there are thousands.

    Returns:
        The parts, the lines of the head but its first, and the names of the fields in them, in lower case.

    """
    parts = http_address.split(url)
    fields = http_address.head(parts, dict(headers))
    head = "".join([f"{key}: {value}\r\n" for key, value in fields.items()])
    return parts, head, frozenset(key.lower() for key in fields)


@cache
def _tls_context() -> ssl.SSLContext:
    """The TLS context of all users; made once, as reading the system's certificate authorities is slow."""
    return ssl.create_default_context()


@cache
def _resolve(host: str, port: int) -> list[tuple[Any, ...]]:
    """The addresses of a host, resolved once for all users."""
    return list(gevent.socket.getaddrinfo(host, port, 0, SOCK_STREAM))


def _connect_failure(error: OSError) -> int:
    if isinstance(error, ConnectionRefusedError):
        return sample.REFUSED
    return sample.CONNECT_TIMEOUT if isinstance(error, TimeoutError) else sample.CONNECT_FAILED


def _check_response(check: Check | None, response: Response) -> int:
    if callable(check):
        said = check(response)
        if not said:
            return sample.WRONG_BODY
        return SAID.get(said, sample.OK) if isinstance(said, str) else sample.OK
    if isinstance(check, HTTPStatus):
        return sample.OK if response.status == check else sample.STATUS
    if not 200 <= response.status < 300:
        return sample.STATUS
    if isinstance(check, str):
        return sample.OK if check.encode() in response.body else sample.WRONG_BODY
    found = response.size if isinstance(check, int) else response.body
    return sample.OK if check is None or found == check else sample.WRONG_BODY
