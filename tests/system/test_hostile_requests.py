"""No hostile request gets a record, a 5xx or a stack trace from any variant of any scenario with tokens."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import hostile_requests
import pytest
from machines import HERE
from patience import PATIENCE_S

from lab.experiments import scenarios
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.scenario import Scenario
from lab.system.databases import SEEDS, rows, tokens
from lab.telemetry import actuator

if TYPE_CHECKING:  # pytest would take it for a class of tests
    from lab.running.testbed import Testbed

pytestmark = [pytest.mark.java, pytest.mark.thorough]

# A later scenario with tokens is among them by itself; where its services sign them, `SIGNED` has to say what for.
WITH_TOKENS = [scenario for scenario in scenarios().values() if scenario.sends_tokens or scenario.signs_tokens]


class Secret(NamedTuple):
    """What is behind a token: a path, the claim that says whose token it is, and two users who have one.

    Attributes:
        variants: those that are asked, besides one of each module on each release of Java; the ones that are measured
            where nobody names any if empty.
        shared: further paths, behind which is what the users have in common: a token of anybody's will do.

    """

    path: str
    claim: str
    users: tuple[str, str]
    variants: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()


# Of the operations one for each way to write controllers and each server, which hostile bodies meet too.
WRITTEN = ("mvc", "rest-parallel", "repository-elastic-mongo", "webflux")
SHARED = ("/api/operations", "/api/operations/100")
SIGNED = {"operations": Secret("/api/account", "sub", ("admin", "admin4"), WRITTEN, SHARED)}
AT_LEAST = 120
# Shorter texts than this, such as keys, are in answers that tell nothing.
SHORTEST_SECRET = 4
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


def asked(scenario: Scenario) -> tuple[str, ...]:
    """The names of the variants that are asked: the chosen ones, and one of each module on each release of Java."""
    secret = secret_of(scenario)
    chosen = [scenario.variant(name) for name in secret.variants or scenario.default_variants] or scenario.variants
    found = {(variant.module, variant.jdk) for variant in chosen}
    of_others = {(variant.module, variant.jdk): variant for variant in scenario.variants}
    others = [variant for of, variant in of_others.items() if of not in found]
    return tuple(variant.name for variant in (*chosen, *others))


def hostile_to(secret: Secret, key: bytes) -> list[hostile_requests.HostileRequest]:
    """All requests that must get nothing; of a path where a token of anybody's will do, but those of other users."""
    others = [
        each for each in tokens.hostile(key, secret.users[0], claim=secret.claim) if each.status == tokens.UNKNOWN
    ]
    of_others = (f"token: {secret.claim} ", *(f"token: {each.name}" for each in others))
    return [
        each._replace(name=f"{each.name} ({path})")
        for path in (secret.path, *secret.shared)
        for each in hostile_requests.requests(path, key, *secret.users, secret.claim)
        if path == secret.path or not each.name.startswith(of_others)
    ]


@pytest.mark.parametrize("scenario", WITH_TOKENS, ids=lambda scenario: scenario.name)
def test_every_module_is_asked_on_every_release_of_java(scenario):
    """Whichever variants are measured where nobody names any."""
    of_each = {(variant.module, variant.jdk) for variant in scenario.variants}
    assert {(scenario.variant(name).module, scenario.variant(name).jdk) for name in asked(scenario)} == of_each


@pytest.fixture(scope="module", params=WITH_TOKENS, ids=lambda scenario: scenario.name)
def testbed(request, tmp_path_factory) -> Iterator[Testbed]:
    """What the variants of a scenario share."""
    options = Options(users=[1], heap_mb=256, variants=asked(request.param))
    invocation = Invocation(["test"], tmp_path_factory.mktemp("runs"), Reporter(quiet=True))
    with set_up(planning.make_plan(request.param, options, HERE), invocation, 1) as testbed:
        yield testbed


def test_nothing_hostile_gets_anything(testbed, tmp_path, capsys):
    """Each variant answers each request by a refusal, in the same words as it would a stranger."""
    scenario, running = testbed.plan.scenario, testbed.plan.variants
    secret, key = secret_of(scenario), tokens.signing_key(SEEDS)
    hostile, paths = hostile_to(secret, key), (secret.path, *secret.shared)
    assert len({each.raw for each in hostile}) >= AT_LEAST
    records, failures, traces, silent = [], [], [], []
    statuses: dict[str, set[int]] = {}
    for variant in running:
        name, at = variant.name, tmp_path / variant.name
        with testbed.runtime.started(testbed.launch(variant, at)) as process:
            service, log = actuator.await_ready(process, at), process.launch.log
            signed = [tokens.token(each, key, secret.claim) for each in secret.users]
            permitted = [hostile_requests.honest(path, token) for path in paths for token in signed]
            honest = [answered(service.url, each) for each in permitted]
            told = set().union(*(texts_in(json.loads(text.rpartition("\r\n\r\n")[2])) for _, text in honest))
            secrets = {text for text in told if len(text) >= SHORTEST_SECRET}
            assert ({status for status, _ in honest}, len(secrets) > 1) == ({200}, True), honest
            with ThreadPoolExecutor(8) as threads:
                answers = list(threads.map(lambda each, at=service.url: answered(at, each.raw), hostile))
        for each, (status, text) in zip(hostile, answers, strict=True):
            statuses.setdefault(each.name, set()).add(status)
            got = f"{name}: {each.name}: {status} {text[-150:]!r}"
            records += [got] * any(kept in text for kept in secrets)  # whatever it calls that
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


def test_no_hostile_body_breaks_a_service_or_lets_anybody_in(tmp_path):
    """Who logs in or creates an operation by what nobody expects is refused, or served, alike by all of them."""
    plan = planning.make_plan(scenarios()["operations"], Options(users=[1], heap_mb=256, variants=WRITTEN), HERE)
    traces, found = [], dict[str, dict[str, tuple[int, str]]]()
    with set_up(plan, Invocation(["test"], tmp_path / "runs", Reporter(quiet=True)), 1) as testbed:
        for variant in plan.variants:
            with testbed.runtime.started(testbed.launch(variant, tmp_path / variant.name)) as process:
                service = actuator.await_ready(process, tmp_path / variant.name)
                hostile = hostile_requests.bodies(tokens.token("admin", tokens.signing_key(SEEDS), "sub"))
                for each in hostile:
                    found.setdefault(each.name, {})[variant.name] = answered(service.url, each.raw)
                traces += [line for line in process.launch.log.read_text().splitlines() if line.startswith("\tat ")]
    assert traces == []
    statuses = {name: {status for status, _ in of.values()} for name, of in found.items()}
    assert {name: found[name] for name, of in statuses.items() if len(of) > 1} == {}
    assert {name: of for name, of in statuses.items() if not of <= {201, 400, 401}} == {}
    assert {
        name for name, of in statuses.items() if hostile_requests.AUTHENTICATE in name and not of <= {400, 401}
    } == set()
