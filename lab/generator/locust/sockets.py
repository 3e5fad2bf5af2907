"""Non-blocking sockets for greenlets, with the kernel's time of arrival."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import select
import ssl
import struct
import sys
from collections.abc import Callable
from errno import EALREADY, EINPROGRESS, EISCONN
from socket import IPPROTO_IP, IPPROTO_TCP, MSG_TRUNC, SO_ERROR, SO_RCVLOWAT, SOL_SOCKET, TCP_NODELAY
from time import monotonic_ns, time_ns
from typing import Any, Protocol

import gevent
import gevent.socket
from gevent import getcurrent, monkey

from lab.spec import http_address

READ, WRITE = 1, 2
# On Linux the kernel reports when the last of the received bytes arrived (socket(7)): a timespec of the wall clock.
SO_TIMESTAMPNS, STAMPED = 35, sys.platform == "linux"
_timespec = struct.Struct("@ll")
STAMP_BYTES = 64  # room for it and its head
# Linux discards received bytes without copying them (tcp(7)); elsewhere they are copied to where nobody looks.
DISCARD = MSG_TRUNC if STAMPED else 0
# It wakes the process when so many have come (SO_RCVLOWAT), or the last of them: not for each packet.
AWAITED_AT_ONCE = 1 << 20
_nowhere = memoryview(bytearray(1 << 20))
# What is compared is received here, in pieces that stay in the CPU's cache.
_comparing = bytearray(1 << 17)
_compared = memoryview(_comparing)
# What is to be decrypted is received here, and handed on before another greenlet runs.
_encrypted = memoryview(bytearray(1 << 17))
# The standard library's own, not the monkey-patched ones, which wait by themselves.
_Socket: Any = monkey.get_original("socket", "socket")
# Fewer than the ports of an address, as workers that reconnect at different rates meet at the same one now and then.
CONNECTIONS_AN_ADDRESS = 4000
IP_BIND_ADDRESS_NO_PORT = 24  # of ip(7)
_connects = itertools.count()
_worker, _workers = 0, 1
_poll: Any = monkey.get_original("select", "poll")
# What poll(2) reports where the other side has closed; where it does not know that, anything that came, as an end does.
ENDED = getattr(select, "POLLRDHUP", select.POLLIN)


class Connection(Protocol):
    """A connection. Both directions raise OSError where it breaks."""

    def send(self, data: bytes) -> None:
        """Send all of it."""

    def receive(self, most: int) -> bytes:
        """Wait for bytes and return at most so many of them; none if the server closed."""

    def receive_into(self, buffer: memoryview) -> int:
        """Wait for bytes and store them in ``buffer``; returns their number, 0 if the server closed."""

    def discard(self, count: int) -> None:
        """Wait for so many bytes, and drop them."""

    def matches(self, expected: memoryview) -> bool:
        """Wait for as many bytes as expected, and drop them; whether they were these."""

    def arrived_ns(self) -> int:
        """When the last of the bytes received last had reached this machine, on its monotonic clock; 0 if unknown.

        A busy process reads them later, and that delay is not the server's.
        """

    def has_ended(self) -> bool:
        """Whether the server has closed it, by what has reached this machine; does not wait."""

    def close(self) -> None:
        """Close it, whatever state it is in."""


class TcpConnection:
    """A TCP connection, without gevent's own socket in between.

    gevent's socket first tries to read an answer that cannot be there yet, at the cost of an exception each time. This
    one waits first: one wake-up of the event loop, then one system call. Its watcher stays active from the first wait
    on, and the event loop itself resumes the waiting greenlet: each saves a microsecond a request.
    """

    __slots__ = (
        *("_awaited", "_hub", "_readable", "_receive", "_receive_into"),
        *("_send", "_socket", "_stamps", "_waiting", "_watched"),
    )

    def __init__(self, connected: Any) -> None:
        self._socket = connected
        self._send = connected.send
        self._receive, self._receive_into = self._socket.recvmsg, self._socket.recvmsg_into
        self._stamps: list[tuple[int, int, bytes]] = []
        if STAMPED:
            self._socket.setsockopt(SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._hub = gevent.get_hub()
        self._readable = self._hub.loop.io(self._socket.fileno(), READ)
        self._watched, self._waiting = False, None
        self._awaited = 1

    def send(self, data: bytes) -> None:
        """Send all of it; a request fits into the kernel's buffer nearly always."""
        try:
            sent = self._send(data)
        except BlockingIOError:
            sent = 0
        if sent < len(data):
            self._send_rest(memoryview(data)[sent:])

    def _send_rest(self, rest: memoryview) -> None:
        writable = self._hub.loop.io(self._socket.fileno(), WRITE)
        try:
            while rest:
                self._hub.wait(writable)
                rest = rest[self._send(rest) :]
        finally:
            writable.close()

    def _wait(self) -> None:
        """Let other greenlets run until there are bytes, or the server has closed."""
        if not self._watched:
            self._readable.start(self._wake)
            self._watched = True
        self._waiting = getcurrent()
        try:
            self._hub.switch()
        finally:
            self._waiting = None

    def _wake(self) -> None:
        if self._waiting is not None:
            self._waiting.switch()
        else:  # no request is under way: the server has closed, which would wake the loop again and again
            self._readable.stop()
            self._watched = False

    def receive(self, most: int) -> bytes:
        """Wait for bytes and return at most so many of them; none if the server closed."""
        while True:
            self._wait()
            try:
                data: bytes
                data, self._stamps, _, _ = self._receive(most, STAMP_BYTES)
            except BlockingIOError:  # the kernel may wake a reader for nothing
                continue
            return data

    def receive_into(self, buffer: memoryview) -> int:
        """Wait for bytes and put them there; how many they were, 0 if the server closed."""
        return self._receive_to(buffer, 0)

    def discard(self, count: int) -> None:
        """Wait for so many bytes, and drop them; ConnectionResetError if the server closes before."""
        while count:
            self._await_together(count)
            received = self._receive_to(_nowhere[:count], DISCARD)
            if not received:
                raise ConnectionResetError
            count -= received
        self._await_together(1)

    def matches(self, expected: memoryview) -> bool:
        """Wait for as many bytes, and whether they are these; ConnectionResetError if the server closes before."""
        at, count, alike = 0, len(expected), True
        while at < count:
            self._await_together(count - at)
            self._wait()
            try:
                while at < count:
                    received, self._stamps, _, _ = self._receive_into((_compared[: count - at],), STAMP_BYTES)
                    if not received:
                        raise ConnectionResetError
                    alike = alike and _comparing.startswith(expected[at : at + received], 0, received)
                    at += received
            except BlockingIOError:  # the rest is still to come
                continue
        self._await_together(1)
        return alike

    def _await_together(self, count: int) -> None:
        """Have the process woken when so many bytes have come, or the connection has ended: not for each packet."""
        awaited = min(count, AWAITED_AT_ONCE)
        if STAMPED and awaited != self._awaited:
            self._socket.setsockopt(SOL_SOCKET, SO_RCVLOWAT, awaited)
            self._awaited = awaited

    def _receive_to(self, buffer: memoryview, flags: int) -> int:
        while True:
            self._wait()
            try:
                received: int
                received, self._stamps, _, _ = self._receive_into((buffer,), STAMP_BYTES, flags)
            except BlockingIOError:
                continue
            return received

    def arrived_ns(self) -> int:
        """When the kernel had received the last of the bytes received last, on the monotonic clock; 0 if unknown."""
        if not self._stamps:
            return 0
        seconds, nanoseconds = _timespec.unpack(self._stamps[0][2])
        # In this order: a pause between both readings makes the time too late, and never earlier than it was.
        wall_ns, now_ns = time_ns(), monotonic_ns()
        return int(now_ns - wall_ns + seconds * 1_000_000_000 + nanoseconds)

    def has_ended(self) -> bool:
        """Whether the server has closed it: one system call."""
        return _has_ended(self._socket)

    def close(self) -> None:
        """Close it, and take it out of the event loop first."""
        self._readable.close()
        self._socket.close()


class TlsConnection:
    """A TLS connection over a TCP connection, whose time of arrival is that of the last bytes that it decrypted.

    OpenSSL works in memory: if it read from the socket, it would drop what the kernel says of their arrival.
    """

    __slots__ = ("_received", "_tcp", "_tls", "_to_send", "arrived_ns", "close", "has_ended")

    def __init__(self, connected: Any, context: ssl.SSLContext, hostname: str) -> None:
        self._tcp = TcpConnection(connected)
        self.arrived_ns, self.has_ended, self.close = self._tcp.arrived_ns, self._tcp.has_ended, self._tcp.close
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        try:
            self._tls = context.wrap_bio(self._received, self._to_send, server_hostname=hostname)
            self._complete(self._tls.do_handshake)
        except BaseException:
            self.close()
            raise

    def _complete(self, operation: Callable[..., Any], *arguments: Any) -> Any:
        """What an operation returns when all that it had to wait for has come, and all that it made was sent."""
        while True:
            try:
                return operation(*arguments)
            except ssl.SSLWantReadError:
                self._send_made()
                received = self._tcp.receive_into(_encrypted)
                if received:
                    self._received.write(_encrypted[:received])
                else:
                    self._received.write_eof()
            finally:
                self._send_made()

    def _send_made(self) -> None:
        if self._to_send.pending:
            self._tcp.send(self._to_send.read())

    def send(self, data: bytes) -> None:
        """Send all of it."""
        rest = memoryview(data)
        while rest:
            rest = rest[self._complete(self._tls.write, rest) :]

    def receive(self, most: int) -> bytes:
        """Wait for bytes and return at most so many of them; none if the server closed."""
        try:
            received: bytes = self._complete(self._tls.read, most)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):  # many servers close without saying so
            return b""
        return received

    def receive_into(self, buffer: memoryview) -> int:
        """Wait for bytes and put them there; how many they were, 0 if the server closed."""
        try:
            received: int = self._complete(self._tls.read, len(buffer), buffer)
        except (ssl.SSLEOFError, ssl.SSLZeroReturnError):
            return 0
        return received

    def discard(self, count: int) -> None:
        """Wait for so many bytes, and drop them; ConnectionResetError if the server closes before."""
        while count:
            received = self.receive_into(_nowhere[:count])
            if not received:
                raise ConnectionResetError
            count -= received

    def matches(self, expected: memoryview) -> bool:
        """Wait for as many bytes, and whether they are these; ConnectionResetError if the server closes before."""
        at, alike = 0, True
        while at < len(expected):
            received = self.receive_into(_compared[: len(expected) - at])
            if not received:
                raise ConnectionResetError
            alike = alike and _comparing.startswith(expected[at : at + received], 0, received)
            at += received
        return alike


def _has_ended(opened: Any) -> bool:
    asked = _poll()
    asked.register(opened.fileno(), ENDED)
    return bool(asked.poll(0))


def share_addresses(worker: int, workers: int) -> None:
    """Say which worker this is, of how many: those of one machine share its ports, and connect from other addresses."""
    global _worker, _workers
    _worker, _workers = worker, workers


def reserve(connections: int) -> None:
    """Have the system make room for so many connections in this process's table of open files.

    It would double as they open, and each time Linux lets a process of several threads stand still until all cores
    have seen it (an RCU grace period): 8 to 17 ms were seen. It never shrinks.
    """
    opened = os.open(os.devnull, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # more than this process may open: connecting will say so
            os.close(fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, opened + connections))
    finally:
        os.close(opened)


def connect(address: tuple[Any, ...], tls: ssl.SSLContext | None, hostname: str) -> Connection:
    """Connect to one address of ``getaddrinfo``; OSError if that fails."""
    family, kind, protocol, _, where = address
    opened = _Socket(family, kind, protocol)
    try:
        opened.setblocking(False)
        opened.setsockopt(IPPROTO_TCP, TCP_NODELAY, 1)
        if source := _source(where[0], next(_connects)):
            opened.setsockopt(IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)  # the port is chosen as it connects
            opened.bind((source, 0))
        _await_connected(opened, where)
        if tls is None:
            return TcpConnection(opened)
        return TlsConnection(opened, tls, hostname)
    except BaseException:
        opened.close()
        raise


def _await_connected(opened: Any, where: tuple[Any, ...]) -> None:
    error = opened.connect_ex(where)
    if error == EINPROGRESS:  # over loopback it is connected nearly always by now, and asking is faster than waiting
        error = opened.connect_ex(where)
    if error in (EINPROGRESS, EALREADY):
        hub = gevent.get_hub()
        writable = hub.loop.io(opened.fileno(), WRITE)
        try:
            hub.wait(writable)
        finally:
            writable.close()
        error = opened.getsockopt(SOL_SOCKET, SO_ERROR)
    if error not in (0, EISCONN):
        raise OSError(error, os.strerror(error))


def _source(host: str, number: int) -> str:
    """The address to connect from with this process's n-th connection; empty where the system chooses.

    One address has not enough ports for tens of thousands of connections to one server. Workers deal the addresses out
    in turn, so that no two of them use the same before all are in use.
    """
    nth = (_worker + _workers * (number // CONNECTIONS_AN_ADDRESS)) % http_address.LOOPBACK_ADDRESSES
    return f"127.0.0.{1 + nth}" if nth and STAMPED and host.startswith("127.") else ""
