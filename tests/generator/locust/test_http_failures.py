"""The HTTP client where something goes wrong: each failure has its class, and the next request has a fresh start."""

from __future__ import annotations

import contextlib
import socket
import ssl
import sys
import threading
import time

import any_server
import gevent
import pytest
from any_server import Handler
from patience import PATIENCE_S, await_that
from server import Connection, Server, always, answer, client_of

from lab.generator.locust import http
from lab.spec import sample


def test_an_idle_connection_that_was_closed_is_tried_once_more():
    """A server may close an idle connection: the request goes out again, once, on a new one."""

    def closes(connection: Connection) -> None:
        connection.request()
        connection.say(answer())

    with Server(closes, always(answer(b"again"))) as server:
        client = client_of(server.url)
        client.get("/")
        time.sleep(0.2)
        got = client.get("/", check=b"again")
        assert (got.error, server.connections) == (sample.OK, 2)
    assert len(client.sink.rows) == client.sink.begun == 2
    assert client.sink.again == 1
    assert client.sink.rows[1]["connect_ns"] > 0


def test_a_second_reset_in_a_row_is_a_failure():
    """The second try is the last one."""

    def closes(connection: Connection) -> None:
        connection.request()
        connection.say(answer())

    def resets(connection: Connection) -> None:
        connection.request()
        connection.reset()

    with Server(closes, resets) as server:
        client = client_of(server.url)
        client.get("/")
        time.sleep(0.2)
        assert client.get("/").error == sample.RESET
        assert server.connections == 2


def await_end(client: http.HttpClient) -> None:
    """Wait until the server's end of the connection has reached this side."""
    await_that(client._connection.has_ended)


def closes_after_one(connection: Connection) -> None:
    """Answer one request, and close the connection."""
    connection.request()
    connection.say(answer())


@pytest.mark.parametrize("method", ["POST", "PATCH", "PUT", "DELETE"])
def test_what_is_sent_after_the_server_has_closed_goes_out_on_a_new_connection(method):
    """Whatever its method, as nobody has had it yet."""
    with Server(closes_after_one, always(answer(b"again"))) as server:
        client = client_of(server.url)
        client.get("/")
        await_end(client)
        got = client.request(method, "/", body="x", check=b"again")
        assert (got.error, server.connections) == (sample.OK, 2)
        assert [head.split()[0] for head in server.heads] == [b"GET", method.encode()]
    assert client.sink.rows[1]["connect_ns"] > 0


@pytest.mark.parametrize("method", ["POST", "PATCH", "MOVE"])
def test_what_may_have_been_applied_is_not_sent_again(method):
    """A connection that closes with the request on it: of a method that is not idempotent that is a failure."""

    def takes_and_closes(connection: Connection) -> None:
        closes_after_one(connection)
        connection.request()

    with Server(takes_and_closes, always(answer(b"again"))) as server:
        client = client_of(server.url)
        client.get("/")
        assert client.request(method, "/").error == sample.RESET
        assert [head.split()[0] for head in server.heads] == [b"GET", method.encode()]
        assert server.connections == 1
        assert client.request(method, "/", check=b"again").ok, "the next one has a fresh start"
    assert len(client.sink.rows) == client.sink.begun == 3


@pytest.mark.parametrize("method", ["POST", "GET"])
def test_a_tls_connection_that_was_closed_while_idle_is_opened_anew(method, tmp_path, monkeypatch):
    """The end is seen under the encryption, and an open connection is not taken for a closed one."""

    class Closing(Handler):
        """Closes after its second answer, and does not say so."""

        def _answer(self, status: int, body: bytes) -> None:
            super()._answer(status, body)
            self.close_connection = len(self.server.heads + self.server.bodies) == 2

    monkeypatch.setattr(any_server, "Handler", Closing)
    certificate = any_server.certificate_for_loopback(tmp_path)
    monkeypatch.setattr(http, "_tls_context", lambda: ssl.create_default_context(cafile=str(certificate)))
    with any_server.serving(certificate) as server:
        client = client_of(server.url)
        for connects in (True, False, True):
            assert client.request(method, "/ok", body="x" * (method == "POST")).ok
            assert (client.sink.rows[-1]["connect_ns"] > 0) == connects
            if len(client.sink.rows) == 2:
                await_end(client)
        client.close()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says when packets arrived")
def test_what_an_answer_under_tls_waits_in_a_busy_generator_is_not_in_its_latency(tmp_path, monkeypatch):
    """It ends when the encrypted bytes arrived, as it does without encryption."""
    certificate = any_server.certificate_for_loopback(tmp_path)
    monkeypatch.setattr(http, "_tls_context", lambda: ssl.create_default_context(cafile=str(certificate)))
    with any_server.serving(certificate) as server:
        client = client_of(server.url)
        client.get("/ok")
        busy = gevent.spawn(time.sleep, 0.5)
        assert client.get("/ok", check=b"ok").ok
        busy.join()
        client.close()
    row = client.sink.rows[-1]
    assert row["ended_ns"] - row["sent_ns"] < 0.25e9
    assert row["taken_up_ns"] - row["sent_ns"] >= 0.5e9


def test_a_large_body_under_tls_is_compared_as_it_comes(tmp_path, monkeypatch):
    """One byte that is another makes it wrong, wherever it is."""
    certificate = any_server.certificate_for_loopback(tmp_path)
    monkeypatch.setattr(http, "_tls_context", lambda: ssl.create_default_context(cafile=str(certificate)))
    with any_server.serving(certificate) as server:
        client = client_of(server.url)
        assert client.get("/large", check=any_server.LARGE).ok
        for at in (0, 50_000, len(any_server.LARGE) - 1):
            other = any_server.LARGE[:at] + b"y" + any_server.LARGE[at + 1 :]
            assert client.get("/large", check=other).error == sample.WRONG_BODY
        client.close()


def test_an_answer_to_nobody_before_the_end_is_not_that_of_the_next_request():
    """Servers tell a connection that has rested for too long that it timed out, and close it."""
    answered = threading.Event()

    def times_out(connection: Connection) -> None:
        closes_after_one(connection)
        answered.wait(PATIENCE_S)  # else both answers might be received at once
        connection.say(answer(b"", "408 Request Timeout"))

    with Server(times_out, always(answer(b"again"))) as server:
        client = client_of(server.url)
        client.get("/")
        answered.set()
        await_end(client)
        assert client.post("/", check=b"again").error == sample.OK


def test_a_post_keeps_its_connection():
    """One that is open is used again, also over requests of other methods."""
    with Server(always(answer())) as server:
        client = client_of(server.url)
        for method in ("POST", "POST", "GET", "PATCH", "POST"):
            assert client.request(method, "/", body="x").ok
        assert server.connections == 1


def test_a_new_connection_that_is_reset_is_not_tried_again():
    """Only an idle connection gets a second try."""

    def resets(connection: Connection) -> None:
        connection.request()
        connection.reset()

    with Server(resets) as server:
        assert client_of(server.url).get("/").error == sample.RESET
        assert server.connections == 1


def test_nobody_listening_is_refused():
    """A refused connection is a class of its own, and the next request tries again."""
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    client = client_of(f"http://127.0.0.1:{port}")
    assert [client.get("/").error for _ in range(2)] == [sample.REFUSED] * 2
    assert [row["status"] for row in client.sink.rows] == [0, 0]


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([answer(b"whole body")[:-3]], sample.TRUNCATED),
        ([b"HTTP/1.1 200 OK\r\nContent-Le"], sample.TRUNCATED),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"], sample.TRUNCATED),
        ([b"what is this\r\n\r\n"], sample.MALFORMED),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n"], sample.MALFORMED),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"], sample.MALFORMED),
    ],
)
def test_a_bad_answer_has_its_class(parts, error):
    """An answer that was cut off or makes no sense is a failure, and the next request gets a new connection."""

    def bad(connection: Connection) -> None:
        connection.request()
        connection.say(*parts)

    with Server(bad, always(answer(b"good"))) as server:
        client = client_of(server.url)
        assert client.get("/").error == error
        assert client.get("/", check=b"good").error == sample.OK
        assert server.connections == 2


def test_an_answer_that_does_not_come_is_a_timeout():
    """The timeout ends the request, closes the connection, and the next request is not late because of it."""

    def silent(connection: Connection) -> None:
        connection.request()
        connection.request()

    with Server(silent, always(answer())) as server:
        client = client_of(server.url, timeout_s=1.5)
        assert client.get("/").error == sample.TIMEOUT
        assert client.get("/").error == sample.OK
    waited_s = (client.sink.rows[0]["ended_ns"] - client.sink.rows[0]["sent_ns"]) / 1e9
    assert waited_s >= 1.5


def test_an_answer_that_trickles_is_a_timeout_too():
    """The timeout is for the whole answer, not for the pauses in it."""

    def trickles(connection: Connection) -> None:
        connection.request()
        connection.say(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n", *[b"x"] * 100, pause_s=0.1)

    with Server(trickles) as server:
        assert client_of(server.url, timeout_s=0.5).get("/").error == sample.TIMEOUT


def test_an_address_that_does_not_answer_is_a_connect_timeout():
    """A full listen queue drops connects; that is told apart from a slow answer."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        waiting = [socket.socket() for _ in range(8)]
        for opened in waiting:
            opened.setblocking(False)
            opened.connect_ex(full.getsockname())
        time.sleep(0.1)
        got = client_of(f"http://127.0.0.1:{full.getsockname()[1]}", timeout_s=0.5).get("/")
        for opened in waiting:
            opened.close()
    assert got.error == sample.CONNECT_TIMEOUT


def test_a_check_that_raises_still_ends_its_request():
    """Whatever a check does, a request that began is reported as ended."""
    with Server(always(answer(b"no json"))) as server:
        client = client_of(server.url)
        with contextlib.suppress(ZeroDivisionError):
            client.get("/", check=lambda response: 1 / 0)
        assert client.sink.begun == len(client.sink.rows) == 1


@pytest.mark.parametrize("url", ["", "127.0.0.1:80", "ftp://127.0.0.1", "http://"])
def test_what_is_no_address_is_refused(url):
    """A bad address is said at once, not with the first request."""
    with pytest.raises(ValueError, match="address"):
        client_of(url)


@pytest.mark.parametrize(
    "parts",
    [
        [b"HTTP/1.1 200 OK\r\nServer: x\r\n", b"Content-Length: 100\r\n\r\nonly this"],
        [b"HTTP/1.1 200 OK\r\nServer: x\r\n", b"Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n"],
        [b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly HTTP/1.1 this"],
        [b"HTTP/1.1 103 Early Hints\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this"],
    ],
    ids=["a late length", "late chunks", "hints before", "hints in a packet of their own"],
)
def test_an_answer_that_is_cut_off_is_truncated_wherever_its_head_was_split(parts):
    """The length stands in the head, all of which counts."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(*parts, pause_s=0.05)

    with Server(script) as server:
        assert client_of(server.url).get("/").error == sample.TRUNCATED


def test_a_request_that_was_taken_and_failed_is_not_sent_again():
    """A connection that was closed while idle fails at once; this server has worked on the request."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer())
        connection.request()
        time.sleep(0.5)
        connection.reset()

    with Server(script) as server:
        client = client_of(server.url)
        assert client.get("/").error == sample.OK
        assert client.get("/").error == sample.RESET
        assert len(server.heads) == 2


def test_an_answer_that_nobody_waits_for_any_more_is_not_that_of_the_next_request():
    """A task that gives up leaves its answer on the connection, which is not used again."""

    def script(connection: Connection) -> None:
        while request := connection.request():
            time.sleep(0.3 if b"slow" in request else 0)
            connection.say(answer(request.split()[1]))

    with Server(script, script) as server:
        client = client_of(server.url)
        with contextlib.suppress(gevent.Timeout), gevent.Timeout(0.1):
            client.get("/slow")
        assert client.get("/b").body == b"/b"
    assert [row["error"] for row in client.sink.rows] == [sample.TIMEOUT, sample.OK]
    assert client.sink.begun == 2


def test_two_answers_to_one_request_are_malformed():
    """The second is nobody's."""
    with Server(always(answer(b"A") + answer(b"B"))) as server:
        client = client_of(server.url)
        assert client.get("/").error == sample.MALFORMED


def test_a_server_that_switches_protocols_gives_a_malformed_answer():
    """Nobody has asked for another one."""
    head = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"
    with Server(always(head)) as server:
        client = client_of(server.url)
        assert client.get("/").error == sample.MALFORMED
    assert len(client.sink.rows) == client.sink.begun == 1


def test_an_answer_that_came_in_time_counts_although_the_process_was_held_up():
    """Timers ring before what came meanwhile is looked at."""

    def script(connection: Connection) -> None:
        while connection.request():
            connection.say(answer())

    with Server(script) as server:
        client = client_of(server.url, timeout_s=0.5)
        client.get("/")
        asking = gevent.spawn(client.get, "/")
        gevent.sleep(0)
        time.sleep(1)  # the whole process
        assert asking.get().error == sample.OK
