"""No hostile request gets a record, a 5xx or a stack trace from any variant of any scenario with tokens."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import hostile_requests
import pytest
from patience import PATIENCE_S

from lab.experiments import scenarios
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.testbed import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.scenario import Scenario
from lab.system.databases import SEEDS, rows, tokens
from lab.system.service import Service
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.thorough]

# A later scenario with tokens is among them by itself.
WITH_TOKENS = [scenario for scenario in scenarios().values() if scenario.sends_tokens]
AT_LEAST = 120
# What RFC 9110 and 9112 have a server say to a method, an encoding or a version of HTTP that it does not have.
NOT_OF_HTTP = (501, 505)
# To these all variants answer alike; broken HTTP is refused by the servers below them, each in its own way.
OF_TOKENS = ("token: ", "Authorization: ", "scheme ", "two headers")
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


def texts_in(value: Any) -> set[str]:
    """All texts in a JSON value but its names."""
    if isinstance(value, dict | list):
        return set().union(*map(texts_in, value.values() if isinstance(value, dict) else value))
    return {value} if isinstance(value, str) else set()


Started = tuple[Scenario, dict[str, tuple[Service, Path]]]


@pytest.fixture(scope="module", params=WITH_TOKENS, ids=lambda scenario: scenario.name)
def started(request, tmp_path_factory) -> Iterator[Started]:
    """A scenario, and each of its variants as a run starts it, with its log."""
    plan, folder = planning.make_plan(request.param, Options(users=[1], heap_mb=256)), tmp_path_factory.mktemp("runs")
    invocation = Invocation(["test"], folder, Reporter(quiet=True))
    with ExitStack() as stack:
        testbed = stack.enter_context(set_up(plan, invocation, 1))
        running = {}
        for variant in plan.variants:
            at = folder / variant.name
            process = stack.enter_context(testbed.runtime.started(testbed.launch(variant, at)))
            running[variant.name] = actuator.await_ready(process, at), process.launch.log
        yield plan.scenario, running


def test_nothing_hostile_gets_anything(started, capsys):
    """Each variant answers each request by a refusal, in the same words as it would a stranger."""
    scenario, running = started
    path = next(request.path for request in scenario.requests if request.token)
    everybody, key = rows.users(), tokens.signing_key(SEEDS)
    me, other = everybody[0], everybody[1]
    hostile = hostile_requests.requests(path, key, me.email, other.email)
    assert len({each.raw for each in hostile}) >= AT_LEAST
    records, failures, traces, silent = [], [], [], []
    statuses: dict[str, set[int]] = {}
    for name, (service, log) in running.items():
        asked = [hostile_requests.honest(path, tokens.token(each.email, key)) for each in (me, other)]
        honest = [answered(service.url, each) for each in asked]
        secrets = set().union(*(texts_in(json.loads(text.rpartition("\r\n\r\n")[2])) for _, text in honest))
        assert ({status for status, _ in honest}, len(secrets) > 1) == ({200}, True), honest
        with ThreadPoolExecutor(8) as threads:
            answers = list(threads.map(lambda each, at=service.url: answered(at, each.raw), hostile))
        for each, (status, text) in zip(hostile, answers, strict=True):
            statuses.setdefault(each.name, set()).add(status)
            got = f"{name}: {each.name}: {status} {text[-150:]!r}"
            records += [got] * (status == 200 and any(secret in text for secret in secrets))
            failures += [got] * (status >= 500 and status not in NOT_OF_HTTP)
            traces += [got] * any(trace in text for trace in TRACES)
            silent += [got] * (status == 0)
        traces += [line for line in log.read_text().splitlines() if line.startswith("\tat ")]
    with capsys.disabled():
        print(
            f"\n{scenario.name}: {len(hostile)} hostile requests × {len(running)} variants: {len(records)} records, "
            f"{len(failures)} answers of 5xx, {len(traces)} stack traces, {len(silent)} closed without an answer"
        )
    of_tokens = {name: found for name, found in statuses.items() if name.startswith(OF_TOKENS)}
    assert {name: found for name, found in of_tokens.items() if len(found) > 1} == {}
    assert not records + failures + traces, "\n".join(records + failures + traces)
