"""The HTTP client, against a real server on a raw socket: what it sends, and how it reads what comes back."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from http import HTTPStatus

import gevent
import gevent.socket
import pytest
from patience import PATIENCE_S
from server import Connection, Server, Sink, always, answer, client_of

from lab.generator.locust import answer as answers
from lab.generator.locust import http, sockets
from lab.generator.locust.answer import Response
from lab.spec import sample

MEGABYTE = bytes(range(256)) * 4096
# More than is received at once, and no more than a socket holds.
LATE = bytes(range(100)) * 900
# By how much the clock that stamps packets may be off the one of latencies.
CLOCKS_NS = 2_000_000


def timed_send(connection: Connection, part: bytes) -> tuple[int, int]:
    """Send a part; when that began and when it was done, by the clock of latencies."""
    begun_ns = time.monotonic_ns()
    connection.say(part)
    return begun_ns, time.monotonic_ns()


def assert_ended_within(row, sent_ns: tuple[int, int]) -> None:
    """A latency ended while the last part of its answer was sent."""
    begun_ns, done_ns = sent_ns
    assert begun_ns - CLOCKS_NS <= row["ended_ns"] <= done_ns + CLOCKS_NS


def test_one_connection_serves_many_requests():
    """A kept-alive connection is used again; only the first request waits for a connect."""
    with Server(always(answer(b"hello"))) as server:
        client = client_of(server.url)
        answers = [client.get(f"/{n}", check=b"hello") for n in range(20)]
        client.close()
        assert server.connections == 1
        assert [head.split(b"\r\n")[0] for head in server.heads] == [f"GET /{n} HTTP/1.1".encode() for n in range(20)]
    assert {(a.status, a.body, a.error) for a in answers} == {(200, b"hello", sample.OK)}
    rows = client.sink.rows
    assert rows[0]["connect_ns"] > 0
    assert {row["connect_ns"] for row in rows[1:]} == {0}
    assert client.sink.begun == len(rows) == 20


@pytest.mark.skipif(not sockets.STAMPED, reason="only Linux says when bytes came in")
@pytest.mark.parametrize("parts", [[answer(b"x" * 100)], [answer(b"x" * 100)[:60], answer(b"x" * 100)[60:]]])
def test_a_latency_ends_when_the_answer_comes_and_not_when_somebody_has_time_for_it(parts):
    """The process is busy with something else when an answer comes; the server is not to be blamed for that."""
    *begin, end = parts
    sent_ns = []

    def script(connection: Connection) -> None:
        while connection.request():
            time.sleep(0.1)
            connection.say(*begin)
            sent_ns.append(timed_send(connection, end))

    with Server(script) as server:
        client = client_of(server.url)
        client.get("/")
        asking = gevent.spawn(client.get, "/")
        gevent.sleep(0)
        time.sleep(1)  # the whole process, greenlets and all
        assert asking.get().error == sample.OK
    row = client.sink.rows[1]
    assert row["taken_up_ns"] - row["sent_ns"] >= 1e9
    assert_ended_within(row, sent_ns[1])


@pytest.mark.skipif(not sockets.STAMPED, reason="only Linux says when bytes came in")
def test_a_latency_is_never_shorter_than_it_was(monkeypatch):
    """Not even where the process stands still while it reads the two clocks by which it knows when an answer came."""

    def time_ns_after_a_pause() -> int:
        time.sleep(0.02)
        return time.time_ns()

    def script(connection: Connection) -> None:
        while connection.request():
            time.sleep(0.1)
            connection.say(answer(b"x"))

    with Server(script) as server:
        client = client_of(server.url)
        client.get("/")
        monkeypatch.setattr(sockets, "time_ns", time_ns_after_a_pause)
        client.get("/")
    row = client.sink.rows[1]
    assert 0.1 <= (row["ended_ns"] - row["sent_ns"]) / 1e9 <= (row["taken_up_ns"] - row["sent_ns"]) / 1e9


def test_an_answer_of_the_same_bytes_is_judged_each_time():
    """Whether the bytes were seen before or not, what counts is what this request takes for right."""

    def script(connection: Connection) -> None:
        for body in (b"one", b"one", b"two", b"one", b"one"):
            connection.request()
            connection.say(answer(body))

    with Server(script) as server:
        client = client_of(server.url)
        answers = [client.get("/", check=check) for check in (b"one", b"two", b"two", 3, 4)]
        assert server.connections == 1
    assert [a.body for a in answers] == [b"one", b"one", b"two", b"one", b"one"]
    right, wrong = sample.OK, sample.WRONG_BODY
    assert [a.error for a in answers] == [right, wrong, right, right, wrong]


def test_a_first_packet_that_was_seen_before_does_not_stand_for_the_rest():
    """Answers that begin alike are read to their ends, which differ."""
    rest = [b"a" * 50, b"b" * 50, b"b" * 50]

    def script(connection: Connection) -> None:
        for body in rest:
            connection.request()
            head, end = answer(b"x" * 50 + body)[:-50], body
            connection.say(head, end, pause_s=0.05)

    with Server(script) as server:
        client = client_of(server.url)
        assert [client.get("/").body[50:] for _ in rest] == rest
        assert server.connections == 1


def test_a_connection_that_the_server_closes_costs_nothing_until_it_is_needed():
    """The event loop hears of it once, not for ever; the next request opens another."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(b"hello"))

    with Server(script) as server:
        client = client_of(server.url)
        assert client.get("/").error == sample.OK
        gevent.sleep(0.1)
        before = time.thread_time()
        gevent.sleep(1.0)
        assert time.thread_time() - before < 0.5
        assert client.get("/").error == sample.OK
        assert server.connections == 2


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_header_of_a_request_replaces_the_one_of_all_requests(method):
    """Two of a name, of which a server may take either, are never sent; the case of a name does not matter."""
    with Server(always(answer())) as server:
        client = http.HttpClient(server.url, Sink(), PATIENCE_S, {"Authorization": "Bearer all", "X-Kept": "kept"})
        getattr(client, method)("/", headers={"authorization": "Bearer mine"})
        client.get("/")
        own, general = server.heads
    assert own.lower().count(b"authorization: ") == 1
    assert b"\r\nauthorization: Bearer mine\r\n" in own
    assert b"\r\nX-Kept: kept\r\n" in own
    assert b"\r\nAuthorization: Bearer all\r\n" in general


def test_the_request_is_one_that_servers_take():
    """Host with the port, and the headers asked for."""
    with Server(always(answer())) as server:
        client_of(server.url).get("/a?b=c", headers={"Authorization": "Bearer x"})
        lines = server.heads[0].split(b"\r\n")
    assert lines[0] == b"GET /a?b=c HTTP/1.1"
    assert f"Host: 127.0.0.1:{server.port}".encode() in lines
    assert b"Authorization: Bearer x" in lines


@pytest.mark.parametrize(
    ("parts", "body"),
    [
        ([answer(b"")], b""),
        ([answer(b"fixed")], b"fixed"),
        ([answer(b"fixed")[:10], answer(b"fixed")[10:-2], answer(b"fixed")[-2:]], b"fixed"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"3\r\nabc\r\n", b"0\r\n\r\n"], b"abc"),
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n"], b"abcdefg"),
        ([b"HTTP/1.1 204 No Content\r\n\r\n"], b""),
        ([answer(MEGABYTE)], MEGABYTE),
    ],
    ids=["empty", "fixed", "in pieces", "chunked", "two chunks", "204", "1 MB"],
)
def test_a_body_is_read_whole_however_it_is_sent(parts, body):
    """The body is the same for any framing, twice on one connection."""

    def script(connection: Connection) -> None:
        while connection.request():
            connection.say(*parts, pause_s=0.02 if len(parts) > 1 else 0)

    with Server(script) as server:
        client = client_of(server.url)
        answers = [client.get("/", check=body) for _ in range(2)]
        assert server.connections == 1
    assert [a.error for a in answers] == [sample.OK, sample.OK]
    assert all(a.body == body for a in answers)
    assert [row["size"] for row in client.sink.rows] == [len(body)] * 2


def test_a_large_chunked_body_is_read_whole():
    """One megabyte in chunks of 1000 bytes."""
    chunks = [MEGABYTE[i : i + 1000] for i in range(0, len(MEGABYTE), 1000)]
    encoded = b"".join(f"{len(c):x}\r\n".encode() + c + b"\r\n" for c in chunks) + b"0\r\n\r\n"
    with Server(always(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + encoded)) as server:
        assert client_of(server.url).get("/", check=MEGABYTE).error == sample.OK


def test_a_connection_that_the_server_closes_is_opened_anew():
    """After 'Connection: close' each request connects again, and that time is counted."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(b"once", headers="Connection: close\r\n"))

    with Server(script) as server:
        client = client_of(server.url)
        assert [client.get("/", check=b"once").error for _ in range(3)] == [sample.OK] * 3
        assert server.connections == 3
    assert all(row["connect_ns"] > 0 for row in client.sink.rows)


def test_an_answer_that_ends_with_the_connection_is_whole():
    """Without a length and without chunks, the body ends where the connection does (RFC 9112, 6.3)."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end")

    with Server(script) as server:
        got = client_of(server.url).get("/")
    assert (got.error, got.status, got.body) == (sample.OK, 200, b"until the end")


def test_an_informational_answer_is_not_the_answer():
    """An early hint (103) precedes the answer; the answer is what counts."""

    def script(connection: Connection) -> None:
        while connection.request():
            connection.say(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", answer(b"real"), pause_s=0.1)

    with Server(script) as server:
        client = client_of(server.url)
        answers = [client.get("/", check=b"real") for _ in range(2)]
    assert [(a.status, a.body, a.error) for a in answers] == [(200, b"real", sample.OK)] * 2


def test_a_slow_accept_counts_as_latency():
    """Latency begins before the connect, and includes it."""

    def slow(connection: Connection) -> None:
        connection.request()
        time.sleep(0.3)
        connection.say(answer())

    with Server(slow) as server:
        client = client_of(server.url)
        client.get("/")
    row = client.sink.rows[0]
    assert row["ended_ns"] - row["sent_ns"] > 0.29e9
    assert 0 < row["connect_ns"] < row["ended_ns"] - row["sent_ns"]


@pytest.mark.parametrize(("status", "error"), [("200 OK", sample.WRONG_BODY), ("503 Busy", sample.STATUS)])
def test_a_wrong_answer_is_told_apart_from_a_bad_status(status, error):
    """Another body is wrong; a status of 400 or more is named by its status."""
    with Server(always(answer(b"other", status))) as server:
        client = client_of(server.url)
        got = [client.get("/", check=b"expected") for _ in range(2)]
        assert server.connections == 1, "an answer that was read whole keeps its connection"
    assert [(a.error, a.status) for a in got] == [(error, int(status[:3]))] * 2


@pytest.mark.parametrize(("status", "error"), [(299, sample.OK), (302, sample.STATUS), (599, sample.STATUS)])
def test_failures_begin_at_300(status, error):
    """Without a check, the status alone decides."""
    with Server(always(answer(b"", f"{status} Whatever"))) as server:
        assert client_of(server.url).get("/").error == error


@pytest.mark.parametrize(("right", "error"), [(True, sample.OK), (False, sample.WRONG_BODY)])
def test_a_function_may_decide(right, error):
    """A check of one's own sees the status and the body, and has the last word, also on a 404."""
    seen: list[Response] = []

    def check(response: Response) -> bool:
        seen.append(response)
        return right

    with Server(always(answer(b"gone", "404 Not Found"))) as server:
        assert client_of(server.url).get("/", check=check).error == error
    assert [(r.status, r.body) for r in seen] == [(404, b"gone")]


def test_the_planned_time_is_reported_once():
    """A planned start belongs to one request; the next one is planned for when it is sent."""
    with Server(always(answer())) as server:
        client = client_of(server.url)
        client.planned_ns = 12345
        client.get("/", name="first")
        client.get("/", name="second")
    first, second = client.sink.rows
    assert (first["name"], first["planned_ns"]) == ("first", 12345)
    assert (second["name"], second["planned_ns"]) == ("second", second["sent_ns"])


def test_ipv6_works():
    """An IPv6 address in brackets is an address like any other."""
    try:
        server = Server(always(answer(b"six")), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this machine has no IPv6 loopback")
    with server:
        assert client_of(server.url).get("/", check=b"six").error == sample.OK
        assert f"Host: [::1]:{server.port}".encode() in server.heads[0].split(b"\r\n")


def request_with(body: bytes):
    """A script that takes requests whose bodies have this length, and tells them back."""

    def script(connection: Connection) -> None:
        while head := connection.request():
            _, _, got = head.partition(b"\r\n\r\n")
            while len(got) < len(body):
                got += connection.socket.recv(65536)
            connection.say(answer(got))

    return script


@pytest.mark.parametrize(
    ("how", "body", "field"),
    [
        ({"body": "grüße"}, "grüße".encode(), b"Content-Length: 7"),
        ({"body": b"\x00\x01"}, b"\x00\x01", b"Content-Length: 2"),
        ({"json": {"a": [1]}}, b'{"a": [1]}', b"Content-Type: application/json"),
        ({"json": 0, "headers": {"content-type": "text/x"}}, b"0", b"content-type: text/x"),
        ({}, b"", b"Content-Length: 0"),
    ],
)
@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_a_body_is_sent_as_it_is_given(method, how, body, field):
    """With its length, and a type where it is JSON and none was given; the sink learns the method."""
    with Server(request_with(body)) as server:
        client = client_of(server.url)
        assert getattr(client, method)("/x", name="x", check=body, **how).ok
        client.close()
    (head,) = server.heads
    assert head.startswith(f"{method.upper()} /x HTTP/1.1\r\n".encode())
    assert field in head
    assert head.lower().count(b"content-type") == ("json" in how)
    assert [(row["method"], row["name"]) for row in client.sink.rows] == [(method.upper(), "x")]


def test_a_get_after_other_methods_is_the_same_as_before():
    """What is kept of the last GET is not mixed up with what came between."""
    with Server(always(answer(b'{"n": 5}'))) as server:
        client = client_of(server.url)
        answers = [client.get("/a"), client.post("/a"), client.request("GET", "/a"), client.get("/a")]
        client.close()
    assert [head.split(b" HTTP")[0] for head in server.heads] == [b"GET /a", b"POST /a", b"GET /a", b"GET /a"]
    assert b"Content-Length" not in server.heads[2]
    assert [each.json()["n"] for each in answers] == [5] * 4


@pytest.mark.parametrize(
    ("check", "error", "ok"),
    [
        (lambda response: "fallback", sample.FALLBACK, True),
        (lambda response: True, sample.OK, True),
        (lambda response: False, sample.WRONG_BODY, False),
        (lambda response: "breaker open", sample.BREAKER_OPEN, False),
        (lambda response: "status", sample.STATUS, False),
        (lambda response: "any other text", sample.OK, True),
        ("cache", sample.OK, True),
        ("cash", sample.WRONG_BODY, False),
        (HTTPStatus.OK, sample.OK, True),
        (HTTPStatus.CREATED, sample.STATUS, False),
    ],
)
def test_a_check_tells_right_answers_wrong_ones_and_fallbacks(check, error, ok):
    """A fallback is right, but counted apart; a failure may be named; a text must be somewhere in the answer."""
    with Server(always(answer(b"from the cache"))) as server:
        client = client_of(server.url)
        response = client.get("/", check=check)
        assert client.get("/", check=check).ok == ok
        assert server.connections == 1, "none closes the connection"
        client.close()
    assert (response.error, response.ok) == (error, ok)


def test_a_status_counts_before_a_text():
    """An error page with the right text on it is an error of its status."""
    with Server(always(answer(b"from the cache", "503 Service Unavailable"))) as server:
        client = client_of(server.url)
        assert client.get("/", check="cache").error == sample.STATUS
        client.close()


@pytest.mark.skipif(not sockets.STAMPED, reason="only on Linux is all of 127.0.0.0/8 this machine")
@pytest.mark.parametrize(
    ("worker", "workers", "addresses"),
    [(0, 1, (1, 1, 2, 2, 3, 3)), (1, 3, (2, 2, 5, 5, 8, 8))],
    ids=["the only worker", "the second of three"],
)
def test_connections_come_from_as_many_addresses_as_they_need_ports(monkeypatch, worker, workers, addresses):
    """The first thousands of a worker from one, the next from the next that no other uses, all to the same server."""
    monkeypatch.setattr(sockets, "_worker", worker)
    monkeypatch.setattr(sockets, "_workers", workers)
    monkeypatch.setattr(sockets, "CONNECTIONS_AN_ADDRESS", 2)
    monkeypatch.setattr(sockets, "_connects", itertools.count())
    seen = []

    def script(connection: Connection) -> None:
        seen.append(connection.socket.getpeername()[0])
        while connection.request():
            connection.say(answer())

    with Server(script) as server:
        clients = [client_of(server.url) for _ in range(6)]
        assert all(client.get("/").ok for client in clients)
        for client in clients:
            client.close()
    assert sorted(seen) == [f"127.0.0.{number}" for number in addresses]


@pytest.mark.skipif(not sockets.STAMPED, reason="only Linux says when bytes came in")
@pytest.mark.parametrize("check", [None, len(LATE), LATE], ids=["kept", "its length only", "compared"])
@pytest.mark.parametrize("known", [False, True], ids=["a new head", "a known head"])
@pytest.mark.parametrize("framing", ["length", "chunks", "chunks with a trailer"])
def test_the_latency_of_a_larger_answer_ends_by_the_same_clock(framing, known, check):
    """When its last bytes have come, in any framing; the first ones are read before the process is busy."""
    head, end = {
        "length": (b"Content-Length: %d\r\n\r\n" % len(LATE), b""),
        "chunks": (b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(LATE), b"\r\n0\r\n\r\n"),
        "chunks with a trailer": (b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(LATE), b"\r\n0\r\nA: b\r\n\r\n"),
    }[framing]
    whole = b"HTTP/1.1 200 OK\r\n" + head + LATE + end
    sent_ns, busy = [], threading.Event()

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(whole)
        connection.request()
        time.sleep(0.1)
        connection.say(whole[:30_000], whole[30_000:60_000], pause_s=0.05)
        assert busy.wait(PATIENCE_S)
        sent_ns.append(timed_send(connection, whole[60_000:]))

    with Server(script) as server:
        client = client_of(server.url)
        assert client.get("/", check=check).ok
        if not known:
            answers._known.clear()
        asking = gevent.spawn(client.get, "/", check=check)
        gevent.sleep(0.12)
        busy.set()
        time.sleep(1)  # the whole process, greenlets and all
        assert asking.get().ok
    row = client.sink.rows[1]
    assert row["taken_up_ns"] - row["sent_ns"] >= 1e9
    assert_ended_within(row, sent_ns[0])
    assert row["size"] == len(LATE)


def test_a_host_is_looked_up_once_for_thousands_of_users(monkeypatch):
    """Not by each of them, which all begin at once; a host that is not found is said by those who need it."""
    asked = []
    look_up = gevent.socket.getaddrinfo

    def counted(*what):
        asked.append(what)
        return look_up(*what)

    monkeypatch.setattr(gevent.socket, "getaddrinfo", counted)
    with Server(always(answer())) as server:
        http.resolve(server.url)
        gevent.joinall([gevent.spawn(client_of, server.url) for _ in range(100)], raise_error=True)
    assert len(asked) == 1
    http.resolve("http://host.invalid")
    http.resolve("no address")
    with pytest.raises(socket.gaierror):
        client_of("http://host.invalid")
