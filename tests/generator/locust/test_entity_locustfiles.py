"""The locustfiles of the experiments on MongoDB: which entities a user asks for, and what is a right answer."""

from __future__ import annotations

import runpy

import pytest
from locust.env import Environment
from server import Connection, Server, Sink, answer

from lab.experiments import find_scenario
from lab.generator.locust import LabUser
from lab.generator.locust.http import HttpClient
from lab.runtimes.checkout import ROOT
from lab.spec import sample
from lab.spec.options import has_effect
from lab.system.databases import entities


def asked(scenario: str, number: int, said: bytes = b"", **parameters: str | int) -> tuple[str, int]:
    """The first line of the request that a user of a load sends, and how an answer with this body is recorded."""
    head, error = played(scenario, number, said, parameters)
    return head.splitlines()[0], error


def played(scenario: str, number: int, said: bytes, parameters: dict[str, str | int]) -> tuple[str, int]:
    """The head of the first request that a user of a load sends, and how an answer with this body is recorded."""

    def script(connection: Connection) -> None:
        connection.request()
        connection.say(answer(said))

    defined = runpy.run_path(str(ROOT / "locustfiles" / f"{scenario}.py")).values()
    (kind,) = (each for each in defined if isinstance(each, type) and issubclass(each, LabUser) and not each.abstract)
    with Server(script) as server:
        user, sink = kind(Environment(user_classes=[kind])), Sink()
        user.number, user.parameters = number, parameters
        user.client = HttpClient(server.url, sink, timeout_s=10)
        user.operate()
        user.client.close()
    lines = server.heads[0].decode().splitlines()
    return "\n".join(line for line in lines if not line.startswith("Host:")), sink.rows[0]["error"]


@pytest.mark.parametrize(("number", "key"), [(0, "e000000"), (9_999, "e009999"), (10_000, "e000000")])
def test_there_is_an_entity_for_every_user_of_large_data(number, key):
    """The first one again after the last."""
    assert asked("large-data", number, operation="get-one")[0] == f"GET /entities/{key} HTTP/1.1"


@pytest.mark.parametrize(
    ("operation", "elements", "path"),
    [
        ("get-one", 1, "e000002"),
        ("get-one", 50, "e000002"),
        ("get-many", 2, "by-ids/e000004,e000005"),
        ("get-by-query", 50, "by-integer/1002?way=collected&batch=default"),
    ],
)
def test_users_have_entities_of_their_own(operation, elements, path):
    """As many as an operation is about: one, whatever is said of operations on many."""
    found, _ = asked("mongo-access", 2, operation=operation, elements=elements, contention="distinct")
    assert found == f"GET /entities/{path} HTTP/1.1"


@pytest.mark.parametrize(
    ("scenario", "parameters", "matched"),
    [
        ("mongo-access", {"operation": "update-many", "elements": 3}, 3),
        ("large-data", {"operation": "update-many-1k"}, 1000),
    ],
)
def test_an_update_of_many_is_right_only_if_it_found_them_all(scenario, parameters, matched):
    """The answer says how many it found."""
    for count, error in ((matched, sample.OK), (matched - 1, sample.WRONG_BODY)):
        assert asked(scenario, 0, b'{"matched":%d}' % count, **parameters)[1] == error


@pytest.mark.parametrize(
    ("scenario", "name", "values"),
    [
        ("mongo-access", "contention", ["distinct", "same"]),
        ("mongo-access", "elements", [1, 3]),
        ("large-data", "way", ["collected", "streamed"]),
        ("large-data", "batch_size", ["default", "100"]),
    ],
)
def test_users_send_the_same_whatever_a_parameter_without_effect_is(monkeypatch, scenario, name, values):
    """And something else where it has one: of which operations that is so, the scenario says rightly."""
    monkeypatch.setattr(entities, "new_text", lambda: entities.text(0))  # else no two requests are the same
    found = find_scenario(scenario)
    for operation in found.choices("operation"):
        given = [{**found.defaults(), "operation": operation, name: value} for value in values]
        sent = {played(scenario, 2, b"", parameters)[0] for parameters in given}
        assert (len(sent) > 1) == has_effect(found, name, {"operation": [operation]}), operation
