"""Connections that are kept: whoever has sent many requests on one is served as on a new one."""

from __future__ import annotations

import socket
import subprocess
from contextlib import ExitStack
from urllib.parse import urlsplit

import hostile_requests
import pytest
from kept_answers import read_answer
from machines import HERE
from patience import PATIENCE_S

from lab.experiments import scenarios
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.system.databases import SEEDS, rows, tokens
from lab.system.jdk import Jdk
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.thorough]

CONNECTIONS, REQUESTS = 8, 3000
# Longer than it takes to count objects.
UNDER_WAY_MS = 10_000
# Of Netty's server: one for each request, which it lets go of with the answer.
EXCHANGE = "reactor.netty.http.server.HttpServerOperations"


def kept(path: str, token: str) -> bytes:
    """A request that leaves its connection open: Reactor Netty 1.3.8 may drop one that closes it (docs/BIAS.md)."""
    return hostile_requests.honest(path, token).replace(b"Connection: close\r\n", b"")


def instances(jdk: Jdk, pid: int, of: str) -> int:
    """How many objects of a class a JVM holds on to, after a collection of garbage."""
    command = [jdk.home / "bin" / "jcmd", str(pid), "GC.class_histogram"]
    histogram = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return sum(int(line.split()[1]) for line in histogram.splitlines() if line.split()[3:4] == [of])


def test_a_kept_connection_holds_on_to_no_request_that_was_answered(jdk, tmp_path):
    """Reactor Netty up to 1.3.5 made each request the child of the one before it, and asked through all of them.

    Where the next request comes before the one before it has ended, as it does under load (its issue 4188).
    """
    plan = planning.make_plan(scenarios()["jwt"], Options(users=[1], heap_mb=256, variants=["webflux"]), HERE)
    with set_up(plan, Invocation(["test"], tmp_path / "runs", Reporter(quiet=True)), 1) as testbed, ExitStack() as all_:
        process = all_.enter_context(testbed.runtime.started(testbed.launch(plan.variants[0], tmp_path)))
        service = actuator.await_ready(process, tmp_path)
        token = tokens.token(rows.users()[0].email, tokens.signing_key(SEEDS))
        asked = kept("/users/me", token)
        at = urlsplit(service.url)
        connections = [
            all_.enter_context(socket.create_connection((at.hostname, at.port), PATIENCE_S)) for _ in range(CONNECTIONS)
        ]
        answers = [all_.enter_context(connection.makefile("rb")) for connection in connections]
        for _ in range(REQUESTS):
            for connection in connections:
                connection.sendall(asked)
            assert {read_answer(each)[0] for each in answers} == {200}
        for connection in connections:
            connection.sendall(kept(f"/delay/{UNDER_WAY_MS}", token))
        held = instances(jdk, process.pid, EXCHANGE)
        assert {read_answer(each)[0] for each in answers} == {200}
    assert CONNECTIONS <= held <= 2 * CONNECTIONS  # those under way, and the last one of each connection at most
