"""The locustfiles of the experiments on MongoDB: which entities a user asks for, and what is a right answer."""

from __future__ import annotations

import runpy

import pytest
from locust.env import Environment
from server import Connection, Server, Sink, answer

from lab.generator.locust import LabUser
from lab.generator.locust.http import HttpClient
from lab.runtimes.checkout import ROOT
from lab.spec import sample


def asked(scenario: str, number: int, said: bytes = b"", **parameters: str | int) -> tuple[str, int]:
    """The first line of the request that a user of a load sends, and how an answer with this body is recorded."""

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
    return server.heads[0].decode().splitlines()[0], sink.rows[0]["error"]


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
