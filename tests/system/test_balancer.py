"""HAProxy in front of several nodes: it shares out what comes, sends nothing twice, and counts it all."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import pytest
from any_server import AnyServer, serving
from patience import await_that
from programs import needs_haproxy

from lab.errors import ComponentError, LabError
from lab.runtimes import loopback
from lab.system import balancer
from lab.system.balancer import Settings, Site
from lab.system.service import Service
from lab.telemetry.served import Served

SETTINGS = Settings(connections=100, timeout_s=60)
NAMES = ("node 1", "node 2")
# Nine answers of a node, of which eight have reached their clients.
STATISTICS = b"""\
# pxname,svname,qcur,status,slim,req_tot,hrsp_1xx,hrsp_2xx,hrsp_3xx,hrsp_4xx,hrsp_5xx,hrsp_other
service,FRONTEND,,OPEN,100,9,0,8,0,0,0,0
nodes,node-1,0,UP,,,0,9,0,0,0,0
nodes,BACKEND,0,UP,100,9,0,9,0,0,0,0
"""


class Balanced:
    """Two nodes that are servers of this process, and HAProxy in front of them."""

    def __init__(self, front: Service, servers: dict[str, AnyServer]) -> None:
        self.front = front
        self.servers = servers

    def status(self, path: str) -> int:
        """The status of a request to the balancer."""
        return loopback.get(f"{self.front.url}{path}", 30.0).status_code

    def counted(self) -> balancer.Counted:
        """What the balancer has counted; it answers."""
        found = balancer.counted(self.front, NAMES)
        assert found
        return found


@contextmanager
def balancing(runtime, folder, settings: Settings = SETTINGS) -> Iterator[Balanced]:
    """Two nodes and their balancer."""
    with ExitStack() as stack:
        servers = {name: stack.enter_context(serving()) for name in NAMES}
        nodes = {name: Service(None, server.url, server.url) for name, server in servers.items()}
        yield Balanced(stack.enter_context(balancer.balanced(nodes, settings, Site(runtime, folder))), servers)


@pytest.fixture
def balanced(runtime, tmp_path) -> Iterator[Balanced]:
    """Two nodes and their balancer."""
    with balancing(runtime, tmp_path / "balancer") as found:
        yield found


@needs_haproxy
def test_requests_are_shared_out_evenly_and_counted_exactly(balanced):
    """Each node has half of them, by its own count and by the balancer's; its management is in no count."""
    with ThreadPoolExecutor(8) as users:
        statuses = list(users.map(balanced.status, ["/ok"] * 100))
    assert statuses == [200] * 100
    await_that(lambda: sum(balanced.counted().passed_on.values()) == 100)
    found = balanced.counted()
    assert found.received == 100
    assert found.passed_on == {name: balanced.servers[name].asked("/ok") for name in NAMES} == dict.fromkeys(NAMES, 50)
    assert (found.refused, found.up) == (0, dict.fromkeys(NAMES, True))


@needs_haproxy
def test_an_error_of_a_node_is_passed_on_and_not_sent_to_another(balanced):
    """A request reaches one node, once, whatever that answers."""
    assert [balanced.status(f"/status/503/{number}") for number in range(10)] == [503] * 10
    asked = [server.asked(f"/status/503/{number}") for number in range(10) for server in balanced.servers.values()]
    assert sum(asked) == 10
    await_that(lambda: sum(balanced.counted().passed_on.values()) == 10)
    assert balanced.counted().refused == 0


@needs_haproxy
def test_every_other_request_fails_until_a_node_that_is_gone_is_taken_out(runtime, tmp_path):
    """The balancer answers them itself, for as long as it has not asked for the node's health twice."""
    with balancing(runtime, tmp_path / "balancer", replace(SETTINGS, check_every_s=600)) as balanced:
        gone = balanced.servers["node 2"]
        gone.shutdown()
        gone.server_close()
        assert sorted(balanced.status("/ok") for _ in range(4)) == [200, 200, 503, 503]
        await_that(lambda: balanced.counted().passed_on["node 1"] == 2)
        found = balanced.counted()
        assert (found.received, found.refused, found.up) == (4, 2, dict.fromkeys(NAMES, True))


@needs_haproxy
def test_no_request_fails_once_a_node_that_is_gone_is_taken_out(balanced):
    """The other one answers all of them."""
    gone = balanced.servers["node 2"]
    gone.shutdown()
    gone.server_close()
    await_that(lambda: not balanced.counted().up["node 2"])
    assert {balanced.status("/ok") for _ in range(10)} == {200}
    await_that(lambda: balanced.counted().passed_on["node 1"] == 10)
    found = balanced.counted()
    assert (found.received, found.refused, found.up["node 1"]) == (10, 0, True)


@needs_haproxy
def test_limits_are_those_of_the_running_balancer(balanced):
    """Its version and its connections as it reports them, and what it was told of the rest."""
    found = balancer.limits(balanced.front, SETTINGS)
    assert str(found["balancer"]).startswith("HAProxy ")
    assert found["balancer_max_connections"] == 100
    assert found["balancer_node_connections"] == "unlimited"
    assert found["balancer_policy"] == "round robin, no retries, no redispatch"


class NoMetrics(BaseHTTPRequestHandler):
    """The management of a balancer that ends between two questions: its statistics are there, its metrics are not."""

    def do_GET(self) -> None:  # the library's name
        """Answer with the statistics of a proxy, or not at all."""
        if not self.path.startswith(balancer.STATISTICS):
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(STATISTICS)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def ending_balancer() -> Iterator[Service]:
    """A balancer whose management is like that."""
    with ThreadingHTTPServer(("127.0.0.1", 0), NoMetrics) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        yield Service(SimpleNamespace(log_tail=lambda: "its log"), url, url, balancer.METRICS)
        server.shutdown()


def test_a_balancer_that_ends_while_it_is_asked_for_its_limits_is_named():
    """Whichever of the two questions it did not answer."""
    with ending_balancer() as ending, pytest.raises(ComponentError, match="did not report its limits"):
        balancer.limits(ending, SETTINGS)


def test_answers_on_their_way_are_no_refusals():
    """They are counted of a node before they are counted of the front: that makes no number below nothing."""
    with ending_balancer() as ending:
        found = balancer.counted(ending, ["node 1"])
    assert found
    assert (found.passed_on, found.refused) == ({"node 1": 9}, 0)
    assert Served(refused=1).since(Served(refused=3)).refused == 0


def test_without_haproxy_a_sentence_says_how_to_install_it(monkeypatch, tmp_path):
    """Before anything is started."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(balancer, "SBIN", str(tmp_path))
    with pytest.raises(LabError, match="HAProxy, which is not installed") as caught:
        balancer.program()
    assert "apt-get install haproxy" in caught.value.next_step


def test_what_a_balancer_passed_on_in_a_load_is_unknown_without_its_count_before():
    """Its count since it started is not that of the load."""
    nodes = {"node 1": 5}
    after = Served(nodes, nodes, 9, {"node 1": 9})
    assert after.since(Served(nodes, nodes, 4, {"node 1": 4})).passed_on == {"node 1": 5}
    silent_before = after.since(Served(nodes, nodes))
    assert (silent_before.passed_on, silent_before.received) == ({}, None)
