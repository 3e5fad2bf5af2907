"""The services that call another one: equal answers whatever that one does, and a pool that is as large as asked."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from patience import PATIENCE_S, await_that

from lab.errors import ComponentError
from lab.runtimes.process import ProcessRuntime
from lab.spec.limits import Limits
from lab.spec.system import Variant
from lab.system import build
from lab.system.launch import service_launch
from lab.telemetry import actuator
from lab.telemetry.pools import POOLS

pytestmark = [pytest.mark.java, pytest.mark.thorough]

# By its client, each service: its module, and what it is told besides.
SERVICES = {
    "RestClient": Variant("RestClient", "mvc-chain", ""),
    "RestTemplate": Variant("RestTemplate", "mvc-chain", "", {"lab.client": "rest-template"}),
    "WebClient": Variant("WebClient", "webflux-chain", ""),
}
POOL, AT_ONCE, DELAY_MS = 3, 12, 50
JSON = {"Content-Type": "application/json"}
# What the backend says to a delay of so many milliseconds instead: status, headers, body.
WRONG: dict[int, tuple[int, dict[str, str], bytes]] = {
    201: (201, JSON, b'{"millis":201}'),
    204: (204, {}, b""),
    301: (301, {"Location": "/delay/0"}, b""),
    404: (404, JSON, b"{}"),
    503: (503, JSON, b"{}"),
    1001: (200, {"Content-Type": "text/plain"}, b"millis"),
    1002: (200, JSON, b""),
    1003: (200, JSON, b'{"millis":'),
    1004: (200, JSON, b'{"millis":-1}'),
    1005: (200, {**JSON, "Content-Length": "100"}, b'{"millis":1'),
}
SILENT = 1006
# Answered once the test says so.
HELD = 150


class Backend(ThreadingHTTPServer):
    """A service that is asked for delays, and counts who asks at the same time."""

    request_queue_size = 100

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Asked)
        self.lock = threading.Lock()
        self.paths: Counter[str] = Counter()
        self.headers: list[set[str]] = []
        self.connections = self.under_way = self.most_under_way = 0
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"


class Asked(BaseHTTPRequestHandler):
    """One connection to the backend."""

    protocol_version = "HTTP/1.1"
    server: Backend

    def setup(self) -> None:
        """Count it."""
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_GET(self) -> None:
        """Wait and answer, or do what is wrong."""
        backend, millis = self.server, int(self.path.rpartition("/")[2])
        with backend.lock:
            backend.paths[self.path] += 1
            backend.headers.append({name.lower() for name in self.headers})
            backend.under_way += 1
            backend.most_under_way = max(backend.most_under_way, backend.under_way)
        if millis == HELD:
            backend.released.wait(PATIENCE_S)
        elif millis < min(WRONG):
            time.sleep(millis / 1000)
        with backend.lock:
            backend.under_way -= 1
        if millis == SILENT:
            self.close_connection = True
            return
        status, headers, body = WRONG.get(millis, (200, JSON, json.dumps({"millis": millis}).encode()))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" in headers:
            self.close_connection = True
        elif status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Not."""


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    """A backend that answers."""
    with Backend() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def running(tmp_path_factory, jdk, backend):
    """The services and their logs, by client, as the lab starts them; their pools are limited."""
    limits = Limits(pool=POOL, heap_mb=256)
    with ProcessRuntime() as runtime, ExitStack() as stack:
        jars = build.jars([variant.module for variant in SERVICES.values()], jdk, runtime, print)
        started = {}
        for name, variant in SERVICES.items():
            folder, jar = tmp_path_factory.mktemp(name), jars[variant.module]
            environment = {"LAB_BACKEND_URL": backend.url}
            launch = service_launch(variant, limits, 2, jdk.java, jar, folder, environment)
            started[name] = (stack.enter_context(runtime.started(launch)), folder, launch.log)
        yield {name: (actuator.await_ready(process, folder), log) for name, (process, folder, log) in started.items()}


def answers(running, path: str) -> set[tuple[int, str, str]]:
    """Status, type and body of each service, as often as they differ."""
    asked = [requests.get(service.url + path, timeout=PATIENCE_S) for service, _ in running.values()]
    return {(answer.status_code, answer.headers.get("Content-Type", ""), answer.text) for answer in asked}


@pytest.mark.parametrize("millis", ["0", "1"])
def test_what_the_backend_answers_is_passed_on(running, millis):
    """By both alike."""
    assert answers(running, f"/chain/{millis}") == {(200, "application/json", f'{{"millis":{millis}}}')}


@pytest.mark.parametrize("millis", ["-1", "60001", "abc", "1.5"])
def test_what_is_no_delay_is_refused_without_the_backend(running, backend, millis):
    """By both alike, and as the backend would."""
    ((status, kind, body),) = answers(running, f"/chain/{millis}")
    assert (status, kind) == (400, "application/problem+json")
    assert "millis must be a whole number from 0 to 60000" in body
    assert not backend.paths[f"/delay/{millis}"]


@pytest.mark.parametrize("millis", [*WRONG, SILENT])
def test_a_backend_that_does_anything_else_is_a_bad_gateway(running, backend, millis):
    """By both alike; each asks it once, and writes one line."""
    lines = {log: len(log.read_text().splitlines()) for _, log in running.values()}
    given = answers(running, f"/chain/{millis}")
    assert len(given) == 1, given
    ((status, kind, body),) = given
    assert (status, kind) == (502, "application/problem+json")
    assert json.loads(body) == {"instance": f"/chain/{millis}", "status": 502, "title": "Bad Gateway"}
    assert backend.paths[f"/delay/{millis}"] == len(SERVICES)
    for log, before in lines.items():
        (line,) = log.read_text().splitlines()[before:]
        assert "WARN" in line


@pytest.mark.parametrize("name", SERVICES)
def test_as_many_calls_go_on_at_once_as_the_pool_has_connections(running, backend, name):
    """The others wait, and none fails; the service says how large its pool is."""
    service, _ = running[name]
    backend.most_under_way = 0
    with ThreadPoolExecutor(AT_ONCE) as threads:
        url = f"{service.url}/chain/{DELAY_MS}"
        asked = list(threads.map(lambda _: requests.get(url, timeout=PATIENCE_S).status_code, range(2 * AT_ONCE)))
    assert set(asked) == {200}
    assert backend.most_under_way == POOL
    limits = actuator.limits(service)
    assert (limits["pool_max"], limits["pool_live"], limits["pool to backend"]) == (POOL, POOL, POOL)


@pytest.mark.parametrize("name", SERVICES)
def test_the_pool_is_read_with_what_waits_for_it(running, backend, name):
    """Under the names that figures and insights know, while more calls are made than it has connections."""
    service, _ = running[name]
    (pool,) = [pool for pool in POOLS if pool.to == "backend"]
    backend.released.clear()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        url = f"{service.url}/chain/{HELD}"
        asked = [threads.submit(requests.get, url, timeout=PATIENCE_S) for _ in range(AT_ONCE)]
        try:
            await_that(lambda: reading(service, pool.waiting) == AT_ONCE - POOL)
            assert reading(service, pool.in_use) == POOL
        finally:
            backend.released.set()
    assert {each.result().status_code for each in asked} == {200}
    await_that(lambda: reading(service, pool.in_use) == reading(service, pool.waiting) == 0)


def reading(service, names: tuple[str, ...]) -> float:
    """What a service says of the pool by one of these metrics; 0 before its first connection."""
    return sum(value for name, value in actuator.scrape(service).items() if name in names)


def test_connections_are_kept(running, backend):
    """The requests of one after another share one."""
    for service, _ in running.values():
        requests.get(f"{service.url}/chain/0", timeout=PATIENCE_S)
    before = backend.connections
    for service, _ in running.values():
        for _ in range(5):
            assert requests.get(f"{service.url}/chain/0", timeout=PATIENCE_S).ok
    assert backend.connections == before


def test_neither_asks_for_what_the_other_does_not(running, backend):
    """Nothing of compression, cookies, or upgrades."""
    backend.headers.clear()
    answers(running, "/chain/0")
    sent = backend.headers
    assert len(sent) == len(SERVICES)
    assert all(headers - {"connection"} == {"accept", "host", "user-agent"} for headers in sent), sent


OFF: dict[str, int | str] = {"mode": "off", "window": 4, "percent": 50, "slowMs": 60000, "openMs": 600000}


@pytest.fixture
def with_breaker(running) -> Iterator[Callable[..., None]]:
    """A function that gives all services a closed breaker with other settings; they have none before and after."""

    def use(**settings: int | str) -> None:
        for service, _ in running.values():
            asked = {**OFF, **settings}
            follows = {"leastCalls": asked["window"], "slowPercent": asked["percent"], "trialCalls": 10}
            assert actuator.settle(service, asked) == {**asked, **follows}

    use()
    yield use
    use()


REFUSAL = {
    "detail": "The circuit breaker is open",
    "instance": "/chain/0",
    "status": 503,
    "title": "Service Unavailable",
}


@pytest.mark.parametrize(
    ("mode", "status", "kind", "answer"),
    [
        ("refuse", 503, "application/problem+json", REFUSAL),
        ("fallback", 200, "application/json", {"outcome": "fallback"}),
    ],
)
def test_a_breaker_that_has_opened_keeps_calls_back(running, backend, with_breaker, mode, status, kind, answer):
    """By both alike, after as many failures as were asked for; neither asks the backend, and both say so."""
    with_breaker(mode=mode)
    for _ in range(4):
        assert {given[0] for given in answers(running, "/chain/404")} == {502}
    asked = backend.paths["/delay/0"]
    ((found, content, body),) = answers(running, "/chain/0")
    assert (found, content, json.loads(body)) == (status, kind, answer)
    assert backend.paths["/delay/0"] == asked
    assert {actuator.scrape(service)["lab_breaker_open"] for service, _ in running.values()} == {1}


def test_a_breaker_closes_again_once_the_backend_is_right(running, with_breaker):
    """It lets a few calls through after a while, by both alike."""
    with_breaker(mode="refuse", openMs=200)
    for _ in range(4):
        answers(running, "/chain/404")
    deadline = time.monotonic() + PATIENCE_S
    while {given[0] for given in answers(running, "/chain/0")} != {200}:
        assert time.monotonic() < deadline
    for _ in range(10):
        assert {given[0] for given in answers(running, "/chain/0")} == {200}
    assert {actuator.scrape(service)["lab_breaker_open"] for service, _ in running.values()} == {0}


def test_slow_calls_open_a_breaker_as_failures_do(running, with_breaker):
    """Where they take longer than was asked for."""
    with_breaker(mode="refuse", slowMs=50)
    for _ in range(4):
        assert {given[0] for given in answers(running, "/chain/100")} == {200}
    assert {given[0] for given in answers(running, "/chain/0")} == {503}


def test_a_breaker_learns_of_calls_whose_client_has_left(running, backend, with_breaker):
    """By both alike: the call goes on until it is answered, late, and counts as slow."""
    with_breaker(mode="refuse", slowMs=50)
    for service, _ in running.values():
        for _ in range(4):
            _leave_in_the_middle(service, backend)
    await_that(lambda: {actuator.scrape(service)["lab_breaker_open"] for service, _ in running.values()} == {1})


def _leave_in_the_middle(service, backend: Backend) -> None:
    """Ask, and close the connection while the backend has not answered yet; then have it answer."""
    address, before = urlsplit(service.url), backend.paths[f"/delay/{HELD}"]
    backend.released.clear()
    try:
        with socket.create_connection((address.hostname, address.port), PATIENCE_S) as client:
            client.sendall(f"GET /chain/{HELD} HTTP/1.1\r\nHost: {address.netloc}\r\n\r\n".encode())
            await_that(lambda: backend.paths[f"/delay/{HELD}"] > before)
        time.sleep(0.2)  # longer than a slow call, and for the service to notice
    finally:
        backend.released.set()
    await_that(lambda: not backend.under_way)


def test_without_a_breaker_every_call_is_made(running, with_breaker):
    """However many have failed."""
    for _ in range(8):
        assert {given[0] for given in answers(running, "/chain/404")} == {502}
    assert {given[0] for given in answers(running, "/chain/0")} == {200}


def test_a_setting_that_is_none_is_not_accepted(running):
    """The service says so, by name."""
    service, _ = running["RestTemplate"]
    with pytest.raises(ComponentError, match="settings"):
        actuator.settle(service, {**OFF, "mode": "sometimes"})
