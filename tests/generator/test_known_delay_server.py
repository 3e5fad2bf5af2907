"""The server of known delay answers late by what it says, and only what the lab's client asks."""

from __future__ import annotations

import json
import socket
import sys
import time

import pytest
import requests
from patience import PATIENCE_S

from lab.generator.known_delay_server import body
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime
from lab.spec.scenario import KINDS

DELAY_MS = 30


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Where a server listens, the same for all of these tests."""
    launch = Launch(
        "reference server",
        (sys.executable, "-m", "lab.generator.known_delay_server"),
        tmp_path_factory.mktemp("reference") / "log",
        talks=True,
    )
    with ProcessRuntime() as runtime, runtime.started(launch) as running:
        yield f"http://127.0.0.1:{json.loads(running.stdout.readline())['port']}"


def test_an_answer_is_held_back_as_long_as_asked(url):
    """No answer comes before its time, and the server says how long it held them, once."""
    requests.get(f"{url}/held", timeout=PATIENCE_S)
    with requests.Session() as session:
        for _ in range(5):
            began = time.perf_counter()
            answer = session.get(f"{url}/small/{DELAY_MS}", timeout=PATIENCE_S)
            assert time.perf_counter() - began >= DELAY_MS / 1000
            assert answer.json()["millis"] == DELAY_MS
    held = requests.get(f"{url}/held", timeout=PATIENCE_S).json()
    assert held["count"] == 5
    assert DELAY_MS / 1000 <= held["mean_s"] <= held["p99_s"]
    assert requests.get(f"{url}/held", timeout=PATIENCE_S).json()["count"] <= 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("delay_ms", [0, 5])
def test_every_kind_comes_whole(url, kind, delay_ms):
    """Also the one that no socket takes at once, with its length or in chunks."""
    answer, expected = requests.get(f"{url}/{kind}/{delay_ms}", timeout=PATIENCE_S), body(kind, delay_ms)
    assert len(answer.content) == len(expected)
    assert answer.content[:20] == expected[:20]
    assert ("Transfer-Encoding" in answer.headers) == (kind == "chunked")


@pytest.mark.parametrize("kind", ["small", "token"])
def test_small_answers_all_differ(url, kind):
    """So that no client can be quicker by having seen one before."""
    answers = {requests.get(f"{url}/{kind}/0", timeout=PATIENCE_S).content for _ in range(5)}
    assert len(answers) == 5


@pytest.mark.parametrize(
    "request_",
    [b"GET /unknown/0 HTTP/1.1\r\n\r\n", b"GET /small/-1 HTTP/1.1\r\n\r\n", b"GET / HTTP/1.1\r\n\r\n", b"what?"],
)
def test_anything_else_ends_the_connection(url, request_):
    """It is a yardstick, not a web server; and it goes on."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as peer:
        peer.sendall(request_)
        assert peer.recv(100) == b""
    assert requests.get(f"{url}/small/0", timeout=PATIENCE_S).ok


def test_a_client_that_leaves_before_its_answer_is_not_waited_for(url):
    """An answer to nobody is dropped, and the server goes on."""
    host, port = url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as peer:
        peer.sendall(b"GET /small/50 HTTP/1.1\r\n\r\n")
    time.sleep(0.2)
    assert requests.get(f"{url}/small/0", timeout=PATIENCE_S).ok
