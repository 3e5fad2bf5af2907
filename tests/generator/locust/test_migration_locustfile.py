"""The locustfile of the migration: what is stale for whom, and which look-ups began while somebody saved."""

from __future__ import annotations

import json
import runpy
import threading
from collections.abc import Callable

import gevent
import pytest
from locust.env import Environment
from patience import PATIENCE_S
from server import Connection, Script, Server, Sink, answer

from lab.experiments.migration import records
from lab.experiments.migration.scenario import BESIDE, LOOK_UP, SAVE
from lab.generator.locust import LabUser, token_pool
from lab.generator.locust.http import HttpClient
from lab.runtimes.checkout import ROOT
from lab.spec import sample

TOKEN = "none.eyJlbWFpbCI6Im5vYm9keSJ9.signed"
SAVES, ASKS = 100, 0


@pytest.fixture(autouse=True)
def _tokens(monkeypatch):
    """Tokens that no service would accept, and that none is asked to."""
    monkeypatch.setattr(token_pool, "_texts", ["\n".join([TOKEN] * records.LOOKUPS)])
    token_pool.pairs.cache_clear()
    yield
    token_pool.pairs.cache_clear()


def seeded() -> dict[str, str]:
    """By key, the contents of the records that the first requester asks for."""
    return {records.key(number): records.content(number) for number in range(0, records.COUNT, records.LOOKUPS)}


def node(contents: dict[str, str], before: Callable[[], object] = bool, status: str = "200 OK") -> Script:
    """A node that saves into these contents, before which it does something, and finds what is in them."""

    def script(connection: Connection) -> None:
        while request := connection.request():
            line, _, rest = request.partition(b" HTTP")
            if line.startswith(b"PUT"):
                before()
                content = json.loads(rest.partition(b"\r\n\r\n")[2])["content"]
                contents[line.decode().rpartition("/")[2]] = content
                connection.say(answer(content.encode(), status))
            else:
                connection.say(answer(found(contents)))

    return script


def found(contents: dict[str, str]) -> bytes:
    """The answer to a look-up."""
    partner, category = records.lookup(0)
    rows = [{"id": key, "partner": partner, "category": category, "content": of} for key, of in contents.items()]
    return json.dumps({"success": True, "records": rows}, separators=(",", ":")).encode()


@pytest.fixture
def users():
    """A function that makes users of one load and one worker, the first of which saves, and the others ask."""
    defined = runpy.run_path(str(ROOT / "locustfiles" / "migration.py")).values()
    (kind,) = (each for each in defined if isinstance(each, type) and issubclass(each, LabUser) and not each.abstract)

    def make(url: str, *saves: int) -> list[LabUser]:
        made, shared = [], {}
        for number, percent in enumerate(saves):
            made.append(kind(Environment(user_classes=[kind])))
            made[-1].number, made[-1].shared = number, shared
            made[-1].parameters = {"requesters": 1, "saves": percent}
            made[-1].client = HttpClient(url, Sink(), timeout_s=PATIENCE_S)
        return made

    return make


def rows_of(user: LabUser) -> list[tuple[str, int]]:
    """The names of a user's requests, and how their answers are recorded."""
    return [(row["name"], row["error"]) for row in user.client.sink.rows]


def test_what_somebody_else_saved_before_is_stale_if_it_is_not_found(users):
    """Who saved finds it, at the same node; the other node has forgotten nothing, and so others find what was there."""
    with Server(node(seeded()), node(seeded())) as server:
        saving, asking = users(server.url, SAVES, ASKS)
        saving.work()
        asking.work()
    assert rows_of(saving) == [(SAVE, sample.OK), (LOOK_UP, sample.OK)]
    assert rows_of(asking) == [(LOOK_UP, sample.STALE)]


def test_what_is_found_as_saved_or_newer_is_right(users):
    """Of however many saves: the last one is what counts, whoever asks."""
    contents = seeded()
    with Server(node(contents)) as server:
        one, other, asking = users(server.url, SAVES, SAVES, ASKS)
        for user in (one, other, asking, one, asking):
            user.work()
        contents[records.key(0)] = records.content(2**200)
        asking.work()
    assert {error for user in (one, other, asking) for _, error in rows_of(user)} == {sample.OK}


def test_a_look_up_beside_a_save_is_counted_and_may_find_either(users):
    """It began before the save was answered: what it found may be of before. Its name says so."""
    contents, asked = seeded(), threading.Event()
    with Server(node(contents, lambda: asked.wait(PATIENCE_S)), node(contents)) as server:
        saving, asking = users(server.url, SAVES, ASKS)
        save = gevent.spawn(saving.work)
        gevent.sleep(0)  # it begins, and waits
        asking.work()
        asked.set()
        save.join(PATIENCE_S)
        asking.work()
    assert rows_of(asking) == [(BESIDE, sample.OK), (LOOK_UP, sample.OK)]


def test_of_a_save_that_failed_nothing_is_expected(users):
    """It may come into force later, or never: not even what is saved after it need be the last."""
    contents = seeded()
    with Server(node(contents, status="503 Gone")) as server:
        saving, asking = users(server.url, SAVES, ASKS)
        saving.work()
        contents[records.key(0)] = records.content(0)
        asking.work()
    assert rows_of(saving)[0] == (SAVE, sample.STATUS)
    assert rows_of(asking) == [(LOOK_UP, sample.OK)]


@pytest.mark.parametrize("requesters", range(1, records.LOOKUPS + 1))
def test_each_user_saves_a_record_that_nobody_else_saves(requesters):
    """One of those that its requester asks for, as long as there are any; more users than records save none."""
    own = [records.own(user, requesters) for user in range(records.COUNT)]
    assert sorted(own) == list(range(records.COUNT))
    of_requesters = requesters * (records.COUNT // records.LOOKUPS)
    assert all(own[user] % records.LOOKUPS == user % requesters for user in range(of_requesters))
    assert records.own(records.COUNT, requesters) is None
