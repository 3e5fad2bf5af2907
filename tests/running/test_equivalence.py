"""Equal before fast: what a variant answers is compared before its speed is."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lab.errors import ComponentError
from lab.experiments import scenarios
from lab.running import equivalence
from lab.spec.scenario import Exchange
from lab.telemetry.actuator import Service

ANSWERS = {
    "/good": (200, "application/json", b'{"millis":5}'),
    "/same": (200, "application/json; charset=utf-8", b'{"millis":5}'),
    "/other": (200, "application/json", b'{"millis":6}'),
    "/long": (200, "text/plain", b"x" * 100_000),
    "/long-too": (200, "text/plain", b"x" * 99_999 + b"y"),
    "/bad": (400, "application/problem+json", b"{}"),
}


class Handler(BaseHTTPRequestHandler):
    """Answers what the table says."""

    def do_GET(self) -> None:
        """One row of the table."""
        status, kind, body = ANSWERS[self.path]
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A server that is no Java at all, seen as a service."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    yield Service(None, url, url)
    server.shutdown()
    server.server_close()
    thread.join()


def answers(service: Service, path: str, status: int = 200) -> dict:
    """What one exchange gives."""
    return equivalence.prove(service, [Exchange("it", path, status)])


@pytest.mark.parametrize(("path", "differs"), [("/good", False), ("/same", False), ("/other", True), ("/bad", True)])
def test_answers_differ_by_status_type_or_body(service, path, differs):
    """Two variants are equal if status, type and body are; how the type names its charset does not matter."""
    found = equivalence.unequal_answers(answers(service, path, ANSWERS[path][0]), answers(service, "/good"))
    assert bool(found) == differs
    assert all(line.startswith("it: ") for line in found)


def test_a_difference_beyond_what_is_shown_counts(service):
    """Long bodies are compared whole, though only their beginning is kept."""
    assert equivalence.unequal_answers(answers(service, "/long"), answers(service, "/long-too"))


def test_a_wrong_status_is_a_component_error(service):
    """A status that the contract does not name ends the cell, with what was answered."""
    with pytest.raises(ComponentError) as caught:
        answers(service, "/bad", 200)
    for words in ("/bad", "status 400", "instead of 200"):
        assert words in caught.value.problem


def test_a_silent_service_is_a_component_error(service):
    """A service that does not answer ends the cell, in one sentence."""
    with pytest.raises(ComponentError) as caught:
        answers(Service(None, "http://127.0.0.1:1", ""), "/good")
    assert "/good" in caught.value.problem


def test_every_scenario_has_a_contract_of_good_and_bad():
    """Each scenario proves right answers and refusals."""
    for scenario in scenarios().values():
        statuses = {exchange.status for exchange in scenario.contract}
        assert (
            200 in statuses or scenario.sends_tokens
        )  # whose good answers need tokens, which lab.system.backends adds
        assert any(status >= 400 for status in statuses)
        assert len({exchange.name for exchange in scenario.contract}) == len(scenario.contract)
