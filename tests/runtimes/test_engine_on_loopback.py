"""An engine on this machine is asked there, whatever the shell says about others."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lab.errors import LabError
from lab.runtimes.docker import connect

NOBODY = "http://127.0.0.1:1"


class Engine(ThreadingHTTPServer):
    """An engine, as far as it is asked for its version, which remembers the head of every request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.heads: list[dict[str, str]] = []


class Handler(BaseHTTPRequestHandler):
    """Answers everything with the version."""

    def do_GET(self) -> None:  # the library's name
        """Answer, and remember what was asked."""
        self.server.heads.append(dict(self.headers))
        body = json.dumps({"ApiVersion": "1.44"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def engine_there(monkeypatch, tmp_path) -> Iterator[Engine]:
    """An engine at loopback's TCP, in a shell full of proxies and logins."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password geheim\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, NOBODY)
    for name in ("NO_PROXY", "no_proxy", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH"):
        monkeypatch.delenv(name, raising=False)
    with Engine() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_an_engine_on_loopback_is_asked_past_proxies_and_without_a_login(engine_there, monkeypatch, host):
    """From the first question on, which is for its version."""
    monkeypatch.setenv("DOCKER_HOST", f"tcp://{host}:{engine_there.server_port}")
    with closing(connect()) as client:
        assert client.api.api_version == "1.44"
        assert client.version()["ApiVersion"] == "1.44"
    assert len(engine_there.heads) >= 2
    assert not [head for head in engine_there.heads if "Authorization" in head]


def test_an_engine_elsewhere_is_asked_as_the_shell_says(engine_there, monkeypatch):
    """It may be reached through the proxy only."""
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{engine_there.server_port}")
    monkeypatch.setenv("DOCKER_HOST", "tcp://engine.invalid:2375")
    with closing(connect()) as client:
        assert client.api.api_version == "1.44"


def test_what_is_no_engine_is_none(engine_there, monkeypatch):
    """It answers in JSON, and without a version."""
    monkeypatch.setattr(json, "dumps", lambda _: "[1]")
    with pytest.raises(LabError, match="No Docker engine answers"):
        connect()
