"""Large bodies, which go past the parser, and time limits, which share one timer a user."""

from __future__ import annotations

import gc
import time

import gevent
import pytest
from patience import PATIENCE_S
from server import Connection, Server, always, answer, client_of

from lab.generator.locust.deadline import Deadline, DeadlinePassed
from lab.spec import sample

MEGABYTE = bytes(range(256)) * 4096


def test_many_large_bodies_share_a_connection():
    """Each large body is whole, small ones in between too, and nobody has to connect again."""

    def script(connection: Connection) -> None:
        while head := connection.request():
            connection.say(answer(MEGABYTE if head.startswith(b"GET /large") else b"small"))

    with Server(script) as server:
        client = client_of(server.url)
        for _ in range(3):
            assert client.get("/large", check=MEGABYTE).error == sample.OK
            assert client.get("/small", check=b"small").error == sample.OK
        assert server.connections == 1


def test_a_large_body_on_a_connection_that_closes():
    """After a large answer that says 'Connection: close' the next request connects anew."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(MEGABYTE, headers="Connection: close\r\n"))

    with Server(script) as server:
        client = client_of(server.url)
        assert [client.get("/", check=MEGABYTE).error for _ in range(2)] == [sample.OK] * 2
        assert server.connections == 2


def test_a_large_body_that_is_cut_off_is_truncated():
    """A body that ends early is a failure however large it is."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(MEGABYTE)[:-1])

    with Server(script, always(answer())) as server:
        client = client_of(server.url)
        assert client.get("/").error == sample.TRUNCATED
        assert client.get("/").error == sample.OK


def test_a_large_body_of_which_only_the_length_counts():
    """The right length passes, any other fails, and the size noted is that of the whole body."""

    def script(connection: Connection) -> None:
        while connection.request():
            connection.say(answer(MEGABYTE))

    with Server(script) as server:
        client = client_of(server.url)
        whole = client.get("/", check=len(MEGABYTE))
        assert (whole.error, whole.size) == (sample.OK, len(MEGABYTE))
        assert client.get("/", check=len(MEGABYTE) - 1).error == sample.WRONG_BODY
        assert client.get("/", check=MEGABYTE).error == sample.OK
        assert server.connections == 1


@pytest.mark.parametrize("at", [0, 70, 500_000, len(MEGABYTE) - 1])
def test_a_large_body_of_which_one_byte_is_another_is_wrong(at):
    """Wherever that is; what follows on the connection is read as ever."""
    wrong = bytearray(MEGABYTE)
    wrong[at] ^= 1

    def script(connection: Connection) -> None:
        while head := connection.request():
            connection.say(answer(bytes(wrong) if head.startswith(b"GET /wrong") else MEGABYTE))

    with Server(script) as server:
        client = client_of(server.url)
        found = [client.get(path, check=MEGABYTE) for path in ("/right", "/wrong", "/right")]
        assert [each.error for each in found] == [sample.OK, sample.WRONG_BODY, sample.OK]
        assert {each.size for each in found} == {len(MEGABYTE)}
        assert server.connections == 1


def test_large_bodies_that_come_at_the_same_time_are_each_compared_with_their_own():
    """Piece by piece, in turns, and with the same buffer."""
    bodies = {name: bytes([name[-1]]) * len(MEGABYTE) for name in (b"GET /1", b"GET /2")}

    def script(connection: Connection) -> None:
        while head := connection.request():
            whole = answer(bodies[head[:6]])
            connection.say(*(whole[at : at + 200_000] for at in range(0, len(whole), 200_000)), pause_s=0.01)

    with Server(script) as server:
        clients = {name: client_of(server.url) for name in bodies}
        for expects in (bodies, dict(zip(bodies, reversed(bodies.values()), strict=True))):
            asking = [
                gevent.spawn(client.get, name[4:].decode(), check=expects[name]) for name, client in clients.items()
            ]
            right = {each.get().error for each in asking}
            assert right == {sample.OK if expects is bodies else sample.WRONG_BODY}


def test_a_large_body_that_is_compared_and_cut_off_is_truncated():
    """It is not called another one."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(MEGABYTE)[:-1])

    with Server(script) as server:
        assert client_of(server.url).get("/", check=MEGABYTE).error == sample.TRUNCATED


def test_a_large_body_of_which_only_the_length_counts_that_is_cut_off():
    """A body that ends early is truncated, though its head promised the right length."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(MEGABYTE)[:-1])

    with Server(script) as server:
        assert client_of(server.url).get("/", check=len(MEGABYTE)).error == sample.TRUNCATED


@pytest.mark.parametrize(
    "parts",
    [
        [b"HTTP/1.1 103 Early Hints\r\n\r\n" + answer(MEGABYTE)],
        [answer(MEGABYTE)[:20], answer(MEGABYTE)[20:]],
        [answer(MEGABYTE).replace(b"Content-Length", b"content-LENGTH")],
        [answer(MEGABYTE)[:60], answer(MEGABYTE)[60:]],
    ],
    ids=["after a hint", "head in two packets", "other case", "little body at first"],
)
def test_a_large_body_is_whole_however_it_begins(parts):
    """What the first packet holds does not matter."""

    def script(connection: Connection) -> None:
        while connection.request():
            connection.say(*parts, pause_s=0.05)

    with Server(script) as server:
        client = client_of(server.url)
        assert [client.get("/", check=MEGABYTE).error for _ in range(2)] == [sample.OK] * 2
        assert server.connections == 1


def test_a_request_larger_than_the_buffers_is_sent_whole():
    """A server that reads slowly makes the client wait, and gets every byte."""
    long = "x" * 8_000_000

    def script(connection: Connection) -> None:
        time.sleep(0.2)
        head = connection.request()
        connection.say(answer(str(head.count(b"x")).encode()))

    with Server(script) as server:
        assert client_of(server.url).get("/", headers={"Long": long}, check=b"8000000").error == sample.OK


def test_a_later_request_has_its_whole_time():
    """The timer of an early request does not end a later one, which has a limit of its own."""
    deadline = Deadline(1.0)
    for _ in range(6):  # together longer than the limit, each within it
        deadline.begin(time.monotonic_ns())
        gevent.sleep(0.2)
        deadline.end()
    began_ns = time.monotonic_ns()
    deadline.begin(began_ns)
    with pytest.raises(DeadlinePassed):
        gevent.sleep(PATIENCE_S)
    assert (time.monotonic_ns() - began_ns) / 1e9 >= 1.0


@pytest.mark.parametrize("stop", ["end", "cancel"])
def test_a_limit_does_not_hold_between_requests(stop):
    """After the end of a request nothing is raised, however long its user waits."""
    deadline = Deadline(0.05)
    deadline.begin(time.monotonic_ns())
    getattr(deadline, stop)()
    gevent.sleep(0.2)


def test_a_client_keeps_nothing_of_its_answers():
    """A thousand answers later there are no more objects than before."""
    with Server(always(answer(b"hello"))) as server:
        client = client_of(server.url)
        client.get("/")
        gc.collect()
        before = len(gc.get_objects()) - len(client.sink.rows)
        for _ in range(1000):
            client.get("/")
        gc.collect()
        after = len(gc.get_objects()) - len(client.sink.rows)
    assert after - before < 500
