"""No hostile request gets a record, a 5xx or a stack trace from any variant of any scenario with tokens."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import hostile_requests
import pytest
from patience import PATIENCE_S

from lab.experiments import scenarios
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.testbed import Testbed, set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.scenario import Scenario
from lab.system.databases import SEEDS, rows, tokens
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.thorough]

# A later scenario with tokens is among them by itself; where its services sign them, `SIGNED` has to say what for.
WITH_TOKENS = [scenario for scenario in scenarios().values() if scenario.sends_tokens or scenario.signs_tokens]


class Secret(NamedTuple):
    """What is behind a token: a path, the claim that says whose token it is, and two users who have one.

    Attributes:
        variants: those that are asked; the ones that are measured where nobody names any if empty.

    """

    path: str
    claim: str
    users: tuple[str, str]
    variants: tuple[str, ...] = ()


# Of the operations one for each way to write controllers and each server. The class for tokens is the same in all.
WRITTEN = ("mvc", "rest-parallel", "repository-elastic-mongo", "webflux")
SIGNED = {"operations": Secret("/api/account", "sub", ("admin", "admin4"), WRITTEN)}
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


def secret_of(scenario: Scenario) -> Secret:
    """What the tokens of a scenario are for."""
    if scenario.signs_tokens:
        return SIGNED[scenario.name]
    me, other, *_ = rows.users()
    path = next(request.path for request in scenario.requests if request.token)
    return Secret(path, tokens.EMAIL, (me.email, other.email))


@pytest.fixture(scope="module", params=WITH_TOKENS, ids=lambda scenario: scenario.name)
def testbed(request, tmp_path_factory) -> Iterator[Testbed]:
    """What the variants of a scenario share."""
    options = Options(users=[1], heap_mb=256, variants=secret_of(request.param).variants)
    invocation = Invocation(["test"], tmp_path_factory.mktemp("runs"), Reporter(quiet=True))
    with set_up(planning.make_plan(request.param, options), invocation, 1) as testbed:
        yield testbed


def test_nothing_hostile_gets_anything(testbed, tmp_path, capsys):
    """Each variant answers each request by a refusal, in the same words as it would a stranger."""
    scenario, running = testbed.plan.scenario, testbed.plan.variants
    (path, claim, (me, other), _), key = secret_of(scenario), tokens.signing_key(SEEDS)
    hostile = hostile_requests.requests(path, key, me, other, claim)
    assert len({each.raw for each in hostile}) >= AT_LEAST
    records, failures, traces, silent = [], [], [], []
    statuses: dict[str, set[int]] = {}
    for variant in running:
        name, at = variant.name, tmp_path / variant.name
        with testbed.runtime.started(testbed.launch(variant, at)) as process:
            service, log = actuator.await_ready(process, at), process.launch.log
            asked = [hostile_requests.honest(path, tokens.token(each, key, claim)) for each in (me, other)]
            honest = [answered(service.url, each) for each in asked]
            secrets = set().union(*(texts_in(json.loads(text.rpartition("\r\n\r\n")[2])) for _, text in honest))
            assert ({status for status, _ in honest}, len(secrets) > 1) == ({200}, True), honest
            with ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda each, at=service.url: answered(at, each.raw), hostile))
        for each, (status, text) in zip(hostile, answers, strict=True):
            statuses.setdefault(each.name, set()).add(status)
            got = f"{name}: {each.name}: {status} {text[-150:]!r}"
            records += [got] * (200 <= status < 300 and any(secret in text for secret in secrets))
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
    if scenario.signs_tokens:  # whose users are all its own: there is nobody to be unknown
        assert {name: found for name, found in of_tokens.items() if name.startswith("token: ") and found != {401}} == {}
    assert not records + failures + traces, "\n".join(records + failures + traces)
