"""Bytes to and from a server: a connected socket that lets other greenlets run while it waits."""

from __future__ import annotations

import ssl
from socket import IPPROTO_TCP, TCP_NODELAY
from typing import Any, Protocol

import gevent
import gevent.socket
from gevent import monkey

READ, WRITE = 1, 2
# The class that sockets have where nothing is monkey-patched: it never waits by itself.
_Socket: Any = monkey.get_original("socket", "socket")


class Wire(Protocol):
    """A connection. Both directions raise OSError where it breaks."""

    def send(self, data: bytes) -> None:
        """Send all of it."""

    def receive(self, most: int) -> bytes:
        """Wait for bytes and return at most so many of them; none if the server closed."""

    def receive_into(self, buffer: memoryview) -> int:
        """Wait for bytes and put them there; how many they were, 0 if the server closed."""

    def close(self) -> None:
        """Close it, whatever state it is in."""


class PlainWire:
    """A TCP connection, without gevent's own socket in between.

    gevent's socket first asks for an answer that cannot be there yet, and pays for an exception each time. This one
    waits first: one wake-up of the event loop, then one call of the kernel.
    """

    __slots__ = ("_descriptor", "_loop", "_readable", "_receive", "_receive_into", "_send", "_socket", "_wait")

    def __init__(self, connected: Any) -> None:
        family, kind, protocol = connected.family, connected.type, connected.proto
        self._socket = _Socket(family, kind, protocol, fileno=connected.detach())
        self._socket.setblocking(False)
        self._descriptor = self._socket.fileno()
        self._send, self._receive = self._socket.send, self._socket.recv
        self._receive_into = self._socket.recv_into
        hub = gevent.get_hub()
        self._wait, self._loop = hub.wait, hub.loop
        self._readable = hub.loop.io(self._descriptor, READ)

    def send(self, data: bytes) -> None:
        """Send all of it; a request fits into the kernel's buffer nearly always."""
        try:
            sent = self._send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, rest: memoryview) -> None:
        writable = self._loop.io(self._descriptor, WRITE)
        try:
            while rest:
                self._wait(writable)
                rest = rest[self._send(rest) :]
        finally:
            writable.close()

    def receive(self, most: int) -> bytes:
        """Wait for bytes and return at most so many of them; none if the server closed."""
        while True:
            self._wait(self._readable)
            try:
                return self._receive(most)
            except BlockingIOError:  # the kernel may wake a reader for nothing
                continue

    def receive_into(self, buffer: memoryview) -> int:
        """Wait for bytes and put them there; how many they were, 0 if the server closed."""
        while True:
            self._wait(self._readable)
            try:
                return int(self._receive_into(buffer))
            except BlockingIOError:
                continue

    def close(self) -> None:
        """Close it, and take it out of the event loop first."""
        self._readable.close()
        self._socket.close()


class TlsWire:
    """A TLS connection, as gevent does it."""

    __slots__ = ("close", "receive", "receive_into", "send")

    def __init__(self, connected: Any, context: ssl.SSLContext, hostname: str) -> None:
        wrapped = context.wrap_socket(connected, server_hostname=hostname)
        self.send, self.receive, self.close = wrapped.sendall, wrapped.recv, wrapped.close
        self.receive_into = wrapped.recv_into


def connect(address: tuple[Any, ...], tls: ssl.SSLContext | None, hostname: str) -> Wire:
    """Connect to one address of ``getaddrinfo``; OSError if that fails."""
    family, kind, protocol, _, where = address
    opened = gevent.socket.socket(family, kind, protocol)
    try:
        opened.connect(where)
        opened.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        return TlsWire(opened, tls, hostname) if tls else PlainWire(opened)
    except BaseException:
        opened.close()
        raise
