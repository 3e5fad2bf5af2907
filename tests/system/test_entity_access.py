"""The six ways to MongoDB: after each operation the same documents are stored, whichever way it took."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
import requests
from patience import PATIENCE_S
from relays import refusing_more
from stored import seeded_entities

from lab.experiments import find_scenario
from lab.runtimes.process import ProcessRuntime
from lab.spec.limits import Limits
from lab.spec.system import Entities
from lab.system import build
from lab.system.databases import Site, entities, mongo
from lab.system.databases.restoring import restore
from lab.system.launch import service_launch
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.thorough]

OF = Entities(count=20, doubles=3, integers=4)
NEW = {"integer": 7, "text": "þ ✓", "doubles": [1.5, -2.25]}
CONTENT = {"text": "newer", "doubles": [0.5]}


@pytest.fixture(scope="module")
def place(jdk, tmp_path_factory):
    """A runtime, the built services, and a MongoDB."""
    folder = tmp_path_factory.mktemp("access")
    with ProcessRuntime() as runtime:
        jars = build.jars(["mongo-standin", "mvc-mongo", "webflux-mongo"], jdk, runtime, print)
        site = Site(runtime, folder, folder / "logs", jdk.home, folder / "seeds", stand_in=jars["mongo-standin"])
        with mongo.server(site) as database:
            yield runtime, jars, database


@pytest.fixture(scope="module", params=[variant.name for variant in find_scenario("mongo-access").variants])
def url(request, place, jdk, tmp_path_factory):
    """The service of a variant."""
    runtime, jars, database = place
    variant, folder = find_scenario("mongo-access").variant(request.param), tmp_path_factory.mktemp(request.param)
    limits, told = Limits(pool=5, heap_mb=256), {"LAB_MONGO_URI": database.url}
    with ExitStack() as stack:
        launch = service_launch(variant, limits, 2, jdk.java, jars[variant.module], folder, told)
        yield actuator.await_ready(stack.enter_context(runtime.started(launch)), folder).url


@pytest.fixture(scope="module", params=[variant.name for variant in find_scenario("mongo-access").variants])
def url_without_more(request, place, jdk, tmp_path_factory):
    """The service of a variant whose database refuses getMore."""
    runtime, jars, database = place
    variant, folder = find_scenario("mongo-access").variant(request.param), tmp_path_factory.mktemp(request.param)
    limits = Limits(pool=5, heap_mb=256)
    with ExitStack() as stack:
        port = stack.enter_context(refusing_more(database.host, database.port))
        told = {"LAB_MONGO_URI": database.via(port).url}
        launch = service_launch(variant, limits, 2, jdk.java, jars[variant.module], folder, told)
        yield actuator.await_ready(stack.enter_context(runtime.started(launch)), folder).url


@pytest.fixture
def stored(place):
    """The collection as it was seeded, read past the service."""
    *_, database = place
    restore(database, OF)
    with mongo.client(database) as client:
        yield lambda: {each["_id"]: each for each in client["lab"].entities.find()}


def ask(method: str, url: str, path: str, value: Any = None) -> int:
    """Send a request; its status."""
    return requests.request(method, f"{url}/entities{path}", json=value, timeout=PATIENCE_S).status_code


def seeded() -> dict[str, Any]:
    """The seeded documents by their keys."""
    return {each["_id"]: each for each in seeded_entities(OF)}


def test_every_operation_stores_the_same(url, stored):
    """Field by field and in the same order, without a trace of who wrote it."""
    due = seeded()
    assert ask("POST", url, "", {"id": "one", **NEW}) == 201
    due["one"] = {"_id": "one", **NEW}
    assert stored() == due
    assert list(stored()["one"]) == ["_id", "integer", "text", "doubles"]
    assert ask("POST", url, "", {"id": "one", **NEW, "text": "other"}) == 409
    assert stored() == due
    assert ask("PUT", url, "/one", CONTENT) == 204
    due["one"] |= CONTENT
    assert stored() == due
    assert list(stored()["one"]) == ["_id", "integer", "text", "doubles"]
    both = [{"id": key, **NEW} for key in ("two", "three")]
    assert ask("POST", url, "/many", both) == 201
    due |= {key: {"_id": key, **NEW} for key in ("two", "three")}
    assert stored() == due
    assert ask("POST", url, "/many", both) == 409
    assert stored() == due
    assert ask("PUT", url, "/by-ids/two,e000003,nobody", CONTENT) == 200
    due["two"] |= CONTENT
    due["e000003"] |= CONTENT
    assert stored() == due
    assert ask("PUT", url, "/by-integer/1001", CONTENT) == 200
    due |= {key: {**each, **CONTENT} for key, each in due.items() if each["integer"] == 1001}
    assert stored() == due
    assert ask("DELETE", url, "/two") == 204
    del due["two"]
    assert stored() == due
    assert ask("DELETE", url, "/two") == ask("PUT", url, "/two", CONTENT) == 404
    assert stored() == due
    assert {type(each["integer"]) for each in stored().values()} == {int}  # as 32 bits, and none as Int64


def test_what_the_database_names_itself_is_stored_too(url, stored):
    """An entity without a key gets one, and its fields are those of any other."""
    assert ask("POST", url, "", NEW) == 201
    (key,) = stored().keys() - seeded().keys()
    assert {**stored()[key], "_id": ""} == {"_id": "", **NEW}


def test_a_part_of_an_answer_does_not_pass_for_a_whole_one(url_without_more, place):
    """A database that sends no second batch ends the connection where the first one is on its way; else it is a 5xx."""
    *_, database = place
    restore(database, Entities(count=150, doubles=100, integers=4))
    path = "/entities?way={}&batch=100"
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        requests.get(url_without_more + path.format("streamed"), timeout=PATIENCE_S)
    assert requests.get(url_without_more + path.format("collected"), timeout=PATIENCE_S).status_code >= 500


@pytest.mark.parametrize("field", ["text", "id"])
def test_a_document_beyond_16_mb_is_refused_in_a_sentence(url, stored, field):
    """Before the database sees it, and nothing is stored."""
    answer = requests.post(f"{url}/entities", json={**NEW, field: "x" * (17 << 20)}, timeout=PATIENCE_S)
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith("An entity is a JSON object")
    assert stored() == seeded()


@pytest.mark.parametrize("body", ["{", "{}", '{"text": null, "doubles": []}', '{"text": "x", "doubles": [null]}'])
@pytest.mark.parametrize("path", ["/e000000", "/by-ids/e000000", "/by-integer/1001"])
def test_a_bad_update_is_told_what_an_update_is(url, stored, path, body):
    """And not what an entity to add is."""
    sent = {"data": body, "headers": entities.JSON, "timeout": PATIENCE_S}
    answer = requests.put(f"{url}/entities{path}", **sent)
    assert (answer.status_code, answer.json()["detail"].split(" of ")[0]) == (400, "A content is a JSON object")
    added = requests.post(f"{url}/entities", **sent)
    assert (added.status_code, added.json()["detail"].split(" of ")[0]) == (400, "An entity is a JSON object")
    assert stored() == seeded()


@pytest.mark.parametrize("way", ["collected", "streamed", "paged"])
def test_who_names_no_batch_is_told_which_there_are(url, stored, way):
    """As who names a wrong one."""
    for path in ("", "/by-integer/1001"):
        answers = [
            requests.get(f"{url}/entities{path}?way={way}{batch}", timeout=PATIENCE_S) for batch in ("", "&batch=7")
        ]
        assert [answer.status_code for answer in answers] == [400, 400]
        assert answers[0].json() == answers[1].json()
        assert "batch default, 100 or 1000" in answers[0].json()["detail"]
