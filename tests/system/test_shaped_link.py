"""The link between service and database, with real sockets on both sides."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import psutil
import pytest
from patience import PATIENCE_S, await_that

from lab.errors import LabError
from lab.runtimes.process import ProcessRuntime
from lab.system import shaped_link
from lab.system.shaped_link import Shape

# What a link may do sooner, by the resolution of timers, and later, as long as it is not half as fast.
SOONER, LATER = 0.96, 1.5


def assert_takes(seconds, action):
    """Bytes come never sooner than a link's shape says, and not much later, unless the machine is busy: then again."""

    def takes_that():
        took = action()
        assert np.all(np.greater_equal(took, np.multiply(SOONER, seconds))), took
        return np.all(np.less(took, np.multiply(LATER, seconds)))

    await_that(takes_that)


class Backend:
    """A server that answers each question of eight bytes, a length, with that many bytes; and notes what it sent."""

    def __init__(self):
        self.sent = 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection, contextlib.suppress(OSError):
            while question := connection.recv(8, socket.MSG_WAITALL):
                left = struct.unpack("!q", question)[0]
                while left:
                    n = connection.send(bytes(min(left, 65536)))
                    self.sent += n
                    left -= n


def ask(connection, size):
    """Ask for an answer of some size, and wait until all of it is there; seconds."""
    began = time.monotonic()
    connection.sendall(struct.pack("!q", size))
    return receive(connection, size) - began


def ask_all(connections, sizes):
    """Ask on all connections at once; the seconds until each has its whole answer, counted from the first question."""
    began = time.monotonic()
    for connection, size in zip(connections, sizes, strict=True):
        connection.sendall(struct.pack("!q", size))
    with ThreadPoolExecutor(len(connections)) as pool:
        return [end - began for end in pool.map(receive, connections, sizes)]


def receive(connection, size):
    """Wait until so many bytes are there; the time of the last."""
    while size:
        data = connection.recv(min(size, 1 << 18))
        assert data, "the connection ended in the middle of an answer"
        size -= len(data)
    return time.monotonic()


@pytest.fixture
def backend():
    """A server to be linked to."""
    server = Backend()
    yield server
    server.listener.close()


@pytest.fixture
def linked(runtime: ProcessRuntime, tmp_path, backend):
    """A function that starts a link of some shape, and connects through it so many times."""
    with contextlib.ExitStack() as stack:

        def connect(connections=1, to=None, **shape):
            running, port = stack.enter_context(
                shaped_link.running_link(runtime, to or backend.address, Shape(**shape), tmp_path / "link")
            )
            made = [
                stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
                for _ in range(connections)
            ]
            return running, made

        yield connect


def test_a_connection_gets_its_rate(linked):
    """The published case to a tenth of its size: 101,968 bytes at 90 kB/s take 1.13 s."""
    _, (connection,) = linked(connection_rate=90_000)
    assert_takes(101_968 / 90_000, lambda: ask(connection, 101_968))


@pytest.mark.thorough
def test_two_connections_have_a_connection_rate_each(linked):
    """Two connections of 400 kB/s take as long side by side as one alone."""
    _, connections = linked(2, connection_rate=400_000)
    assert_takes(1.0, lambda: max(ask_all(connections, [400_000] * 2)))


def test_all_connections_share_the_rate_in_all_fairly(linked):
    """Eight connections share 2 MB/s: they take turns, so that the first is not through long before the last."""
    _, connections = linked(8, rate=2_000_000)
    expected_s = 8 * 400_000 / 2_000_000

    def the_last():
        times = ask_all(connections, [400_000] * 8)
        assert min(times) > 0.4 * expected_s
        return max(times)

    assert_takes(expected_s, the_last)


@pytest.mark.thorough
def test_a_connection_keeps_its_rate_when_the_others_fall_silent(linked):
    """What a connection could not send while others did is not made up for later: its own rate holds on."""
    _, connections = linked(2, rate=400_000, connection_rate=300_000)
    # 200 kB/s each until the second has all, and then no more than its own rate for the first.
    assert_takes([1.0 + 400_000 / 300_000, 1.0], lambda: ask_all(connections, [600_000, 200_000]))


@pytest.mark.thorough
def test_the_smaller_rate_decides(linked):
    """Ten connections of 1 MB/s each cannot have more than the 1 MB/s in all."""
    _, connections = linked(10, rate=1_000_000, connection_rate=1_000_000)
    assert_takes(1.2, lambda: max(ask_all(connections, [120_000] * 10)))


@pytest.mark.thorough
def test_rates_hold_for_questions_too(linked, runtime, tmp_path):
    """A megabyte that the service stores travels as slowly as one that it fetches."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, (connection,) = linked(to=listener.getsockname(), connection_rate=500_000)
        with listener.accept()[0] as database:

            def store():
                began = time.monotonic()
                threading.Thread(target=connection.sendall, args=(bytes(600_000),), daemon=True).start()
                return receive(database, 600_000) - began

            assert_takes(1.2, store)


def test_a_round_trip_takes_the_latency_longer(linked):
    """Ten small answers, one after the other, take ten latencies."""
    _, (connection,) = linked(latency_ms=100)
    assert_takes(1.0, lambda: sum(ask(connection, 10) for _ in range(10)))


@pytest.mark.thorough
def test_latency_does_not_slow_down_a_large_answer(linked):
    """A document of a megabyte is one latency later, not one a piece."""
    _, (connection,) = linked(latency_ms=400)
    assert_takes(0.4, lambda: ask(connection, 1_019_684))


@pytest.mark.thorough
def test_latency_and_rate_add_up(linked):
    """An answer takes its latency, and then its size over the rate, on every one of many busy connections."""
    _, connections = linked(10, latency_ms=500, rate=2_000_000)
    assert_takes(0.5 + 10 * 300_000 / 2_000_000, lambda: max(ask_all(connections, [300_000] * 10)))


def test_every_byte_arrives_in_order_both_ways(linked):
    """What an echoing server sends back is what it was sent."""
    data = os.urandom(3_000_000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, (connection,) = linked(to=listener.getsockname(), latency_ms=20, rate=20_000_000)
        with listener.accept()[0] as database, ThreadPoolExecutor() as pool:
            pool.submit(echo, database)
            pool.submit(connection.sendall, data)
            back = b""
            while len(back) < len(data):
                back += connection.recv(1 << 18)
            connection.shutdown(socket.SHUT_WR)
    assert hashlib.sha256(back).digest() == hashlib.sha256(data).digest()


def echo(connection):
    """Send everything back."""
    while data := connection.recv(1 << 18):
        connection.sendall(data)


def test_half_a_close_leaves_the_other_half_open(linked):
    """A service that has said everything still gets the answer, and then the end."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, (connection,) = linked(to=listener.getsockname(), latency_ms=50)
        with listener.accept()[0] as database:
            connection.sendall(b"question")
            connection.shutdown(socket.SHUT_WR)
            assert database.recv(100, socket.MSG_WAITALL) == b"question"
            database.sendall(b"answer")
            database.shutdown(socket.SHUT_WR)
        assert connection.recv(100, socket.MSG_WAITALL) == b"answer"
        assert connection.recv(1) == b""


@pytest.mark.thorough
def test_a_reader_that_stops_holds_the_sender_back(linked, backend):
    """A link buffers no more than its window, however much the database would send."""
    running, (connection,) = linked(latency_ms=1)
    before = psutil.Process(running.pid).memory_info().rss
    connection.sendall(struct.pack("!q", 200_000_000))
    held = [-1]

    def sends_no_more():
        held.append(backend.sent)
        return held[-1] == held[-2] > 0

    await_that(sends_no_more, every_s=0.5)
    assert backend.sent < 50_000_000  # the window, and what the kernel buffers on both sides
    assert psutil.Process(running.pid).memory_info().rss - before < 16 << 20
    receive(connection, 200_000_000)


@pytest.mark.thorough
def test_four_hundred_connections_are_served(linked):
    """As many connections as the largest published load are all answered, no faster than the rate in all."""
    _, connections = linked(400, rate=8_000_000, connection_rate=1_000_000)
    assert max(ask_all(connections, [20_000] * 400)) >= SOONER * 1.0


def test_a_database_that_is_not_there_closes_the_connection(linked):
    """A service does not wait for a database that nobody can reach."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        gone = listener.getsockname()
    running, (connection,) = linked(to=gone, latency_ms=1)
    with contextlib.suppress(ConnectionResetError):
        assert connection.recv(1) == b""
    assert "is not to be reached" in running.log_tail()


def test_a_connection_that_is_torn_down_takes_its_other_half_along(linked):
    """When a database dies in the middle of an answer, the service hears of it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        _, (connection,) = linked(to=listener.getsockname(), latency_ms=1)
        database = listener.accept()[0]
        database.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        database.close()
        with contextlib.suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_a_closed_connection_leaves_nothing_open(linked, backend):
    """A link that has served many short connections holds none of them."""
    running, connections = linked(50, latency_ms=1)
    for connection in connections:
        ask(connection, 100)
        connection.close()
    await_that(lambda: open_connections(running) == 0)


def open_connections(running):
    """How many connections a link has open."""
    return sum(c.status != psutil.CONN_LISTEN for c in psutil.Process(running.pid).net_connections("tcp"))


def test_it_listens_on_loopback_only(linked):
    """Nobody else on the network reaches the database through the link."""
    running, _ = linked(latency_ms=1)
    listening = [c for c in psutil.Process(running.pid).net_connections("tcp") if c.status == psutil.CONN_LISTEN]
    assert [c.laddr.ip for c in listening] == ["127.0.0.1"]


def test_a_link_that_cannot_start_says_why(runtime, tmp_path):
    """A senseless shape is answered with the reason."""
    with (
        pytest.raises(LabError) as caught,
        shaped_link.running_link(runtime, ("127.0.0.1", 1), Shape(rate=-1), tmp_path),
    ):
        pass
    assert "not zero or more" in caught.value.detail
