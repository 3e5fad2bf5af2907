"""The server of known delay whose answers are chunked."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys

import pytest

from lab.generator import known_delay_server
from lab.runtimes.checkout import ROOT


@pytest.fixture
def connection():
    """A connection to a running server."""
    command = (sys.executable, ROOT / "benchmarks" / "chunked_server.py")
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": str(ROOT)}) as server:
        client = http.client.HTTPConnection("127.0.0.1", json.loads(server.stdout.readline())["port"], timeout=30)
        yield client
        client.close()
        server.terminate()


@pytest.mark.parametrize("kind", ["small", "large"])
def test_its_answers_are_those_of_the_server_of_known_delay_in_chunks(connection, kind):
    """Both of its answers, on a connection that is kept alive."""
    for _ in range(2):
        connection.request("GET", f"/{kind}/1")
        answer = connection.getresponse()
        begin, body = known_delay_server.body(kind, 1)[:20], answer.read()
        assert (body[:20], len(body)) == (begin, len(known_delay_server.body(kind, 1)))
        assert answer.getheader("Transfer-Encoding") == "chunked"
        assert answer.getheader("Content-Length") is None
