"""No hostile request gets a record, a 5xx or a stack trace from any variant of any scenario with tokens."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import hostile_requests
import pytest
from patience import PATIENCE_S

from lab.experiments import scenarios
from lab.runtimes.process import ProcessRuntime
from lab.spec import planning
from lab.spec.options import Options
from lab.system import backends, build
from lab.system.backends import NO_ENDPOINTS
from lab.system.databases import SEEDS, Site, rows, tokens
from lab.system.launch import service_launch
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.thorough]

# A later scenario with tokens is among them by itself.
WITH_TOKENS = [scenario for scenario in scenarios().values() if scenario.sends_tokens]
AT_LEAST = 120
TRACES = ("\tat ", "Exception", "java.", "org.springframework")


def answered(url: str, raw: bytes) -> tuple[int, str]:
    """Status and text of the answer to some bytes; 0 where the connection was closed without one."""
    parts, said = urlsplit(url), b""
    with closing(socket.create_connection((parts.hostname, parts.port), PATIENCE_S)) as connection:
        try:
            connection.sendall(raw)
            while piece := connection.recv(65_536):
                said += piece
        except ConnectionError:
            pass
    text = said.decode(errors="replace")
    words = text.split(maxsplit=2)
    return (int(words[1]) if len(words) > 1 and words[0].startswith("HTTP/") else 0), text


@pytest.fixture(scope="module", params=WITH_TOKENS, ids=lambda scenario: scenario.name)
def services(request, jdk, tmp_path_factory) -> Iterator[dict[str, tuple[actuator.Service, Path]]]:
    """Every variant of a scenario, on its databases, and the log of each."""
    plan = planning.make_plan(request.param, Options(users=[1], heap_mb=256))
    folder = tmp_path_factory.mktemp("hostile")
    with ExitStack() as stack:
        runtime = stack.enter_context(ProcessRuntime())
        modules = {variant.module for variant in plan.variants} | backends.modules(plan.scenario, NO_ENDPOINTS)
        jars = build.jars(modules, jdk, runtime, lambda _: None)
        site = Site(runtime, folder / "data", folder / "logs", jdk.home, stand_in=jars.get("mongo-standin"))
        backing = stack.enter_context(backends.running_backends(plan, site, NO_ENDPOINTS, {}))
        started = {}
        for variant in plan.variants:
            at = folder / variant.name
            described = service_launch(
                variant, plan.limits_of(variant.name), 2, jdk.java, jars[variant.module], at, backing.environment
            )
            started[variant.name] = stack.enter_context(runtime.started(described)), at
        yield (
            plan.scenario,
            {name: (actuator.await_ready(running, at), running.launch.log) for name, (running, at) in started.items()},
        )


def test_nothing_hostile_gets_anything(services, capsys):
    """Each variant answers each request by a refusal, in the same words as it would a stranger."""
    scenario, running = services
    path = next(request.path for request in scenario.requests if request.token)
    everybody, key = rows.users(), tokens.signing_key(SEEDS)
    me, other = everybody[0], everybody[1]
    secrets = {me.first, me.last, me.city, other.last, f'"{me.email}"'}
    hostile = hostile_requests.requests(path, key, me.email, other.email)
    assert len({each.raw for each in hostile}) >= AT_LEAST
    slow = []
    records, failures, traces, silent = [], [], [], []
    for name, (service, log) in running.items():
        status, text = answered(
            service.url, hostile_requests._get(path, [f"Authorization: Bearer {tokens.token(me.email, key)}"])
        )
        assert (status, me.last in text) == (200, True), text
        for each in hostile:
            status, text = answered(service.url, each.raw)
            got = f"{name}: {each.name}: {status} {text[-150:]!r}"
            records += [got] * (status == 200 and ('"email"' in text or any(secret in text for secret in secrets)))
            failures += [got] * (status >= 500)
            traces += [got] * any(trace in text for trace in TRACES)
            silent += [got] * (status == 0)
        traces += [line for line in log.read_text().splitlines() if line.startswith("\tat ")]
    with capsys.disabled():
        print(
            f"\n{scenario.name}: {len(hostile)} hostile requests × {len(running)} variants: {len(records)} records, "
            f"{len(failures)} answers of 5xx, {len(traces)} stack traces, {len(silent)} closed without an answer"
        )
    print(slow, __import__("sys").stderr)
    Path("/tmp/t13h.slow").write_text(str(slow))
    assert not records + failures + traces, "\n".join(records + failures + traces)
