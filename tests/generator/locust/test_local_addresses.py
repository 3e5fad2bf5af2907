"""Workers of one machine connect from different local addresses, so that each has ports of its own."""

from __future__ import annotations

import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from patience import PATIENCE_S

from lab.generator.fleet import LoadPhase, Placement, running_fleet
from lab.generator.locust import sockets
from lab.runtimes.process import ProcessRuntime
from lab.spec import http_address
from lab.spec.workload import Burst

# Of Linux: 32768 to 60999.
PORTS_OF_AN_ADDRESS = 28_232

pytestmark = pytest.mark.skipif(not sockets.STAMPED, reason="only on Linux is all of 127.0.0.0/8 this machine")


class Handler(BaseHTTPRequestHandler):
    """Answers, and notes where each connection comes from."""

    protocol_version = "HTTP/1.1"

    def setup(self) -> None:
        """Note the client's address."""
        super().setup()
        self.server.clients.append(self.client_address[0])

    def do_GET(self) -> None:  # the library's name
        """Answer."""
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_each_worker_of_a_machine_connects_from_an_address_of_its_own(tmp_path):
    """All users of a worker fit into the ports of one address, and those of another worker have the next."""
    shape = Burst(users=6, ramp_s=0.0, workers=2)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads, server.clients = True, []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        placement = Placement(ProcessRuntime(), frozenset(), tmp_path, tmp_path / "samples")
        with placement.runtime, running_fleet("load", shape, placement) as fleet:
            fleet.await_workers()
            fleet.spawn(shape.users)
            result = fleet.run_phase(LoadPhase(f"http://127.0.0.1:{server.server_port}/ok", shape), PATIENCE_S)
        server.shutdown()
    assert (result.finished, result.failed) == (6, 0)
    assert Counter(server.clients) == {"127.0.0.1": 3, "127.0.0.2": 3}


@pytest.mark.parametrize(("workers", "users_each"), [(8, 4000), (16, 4000), (8, 40_000), (3, 30_000)])
def test_no_address_is_asked_for_more_ports_than_it_has(monkeypatch, workers, users_each):
    """However many workers and users there are, as long as all addresses together have enough ports."""
    monkeypatch.setattr(sockets, "_worker", 0)  # is as before again in the end
    monkeypatch.setattr(sockets, "_workers", 1)
    asked: Counter[str] = Counter()
    for worker in range(workers):
        sockets.share_addresses(worker, workers)
        asked.update(sockets._source("127.0.0.1", number) or "127.0.0.1" for number in range(users_each))
    assert sum(asked.values()) == workers * users_each
    assert max(asked.values()) <= PORTS_OF_AN_ADDRESS
    of_each = -(-users_each // sockets.CONNECTIONS_AN_ADDRESS)
    assert len(asked) == min(workers * of_each, http_address.LOOPBACK_ADDRESSES)  # shared only when all are in use
