"""The collection of entities: whatever requests made of it, afterwards it is what was seeded."""

from __future__ import annotations

import json

import pytest
from relays import refusing_more
from stored import seeded_entities

from lab.errors import LabError
from lab.runtimes.process import ProcessRuntime
from lab.spec.system import COMMANDS, Entities
from lab.system import build
from lab.system.databases import Site, counters, entities, mongo
from lab.system.databases.restoring import restore

pytestmark = pytest.mark.java

# More than a batch, so that a look at all of them takes a getMore too.
OF = Entities(count=250, doubles=3, integers=10, index_parameter="index")


@pytest.fixture(scope="module")
def server(jdk, tmp_path_factory):
    """A server with the lab's document."""
    folder = tmp_path_factory.mktemp("mongo")
    with ProcessRuntime() as runtime:
        (jar,) = build.jars(["mongo-standin"], jdk, runtime, print).values()
        site = Site(runtime, folder / "data", folder / "logs", jdk.home, folder / "seeds", stand_in=jar)
        with mongo.server(site) as database:
            yield database


@pytest.fixture
def stored(server):
    """The collection, in whatever state; as seeded before and after."""
    restore(server, OF)
    with mongo.client(server) as client:
        yield client["lab"].entities
        client["lab"].drop_collection("entities")


def test_the_seeded_entities_are_stored(server, stored):
    """All of them, and a second time nothing is written."""
    assert list(stored.find()) == seeded_entities(OF)
    assert restore(server, OF) == 0


@pytest.mark.parametrize(
    ("change", "written"),
    [
        (lambda stored: stored.delete_many({"integer": 1003}), 250),
        (lambda stored: stored.update_many({"integer": 1003}, {"$set": {"text": "new"}}), 250),
        (lambda stored: stored.insert_many([{"_id": "x1", "integer": 0}, {"text": "without a key of its own"}]), 2),
        (lambda stored: stored.insert_many([{"_id": {"a": 1}}, {"_id": 7}]), 2),
        (lambda stored: stored.replace_one({"_id": "e000000"}, {"integer": "no number"}), 250),
        (lambda stored: stored.drop(), 250),
    ],
    ids=["removed", "updated", "added", "with keys of other kinds", "replaced", "dropped"],
)
def test_what_differs_is_restored(server, stored, change, written):
    """What was added is removed; else all are written anew, so that they come in the order of their seeding."""
    change(stored)
    assert restore(server, OF) == written
    assert list(stored.find()) == seeded_entities(OF)


def test_other_entities_take_the_place_of_those_of_another_experiment(server, stored):
    """The collection has one name: what was seeded last is there."""
    other = Entities(count=20, doubles=1, integers=2)
    assert restore(server, other) == 250
    assert list(stored.find()) == seeded_entities(other)


def test_an_index_is_there_while_it_is_asked_for(server, stored):
    """And no longer: the next cell may be without."""
    restore(server, OF, "integer")
    fields = [list(dict(of["key"])) for of in stored.index_information().values()]
    assert [each for each in fields if each != ["_id"]] == [["integer"]]
    restore(server, OF)
    assert [list(dict(of["key"])) for of in stored.index_information().values()] == [["_id"]]


def test_a_collection_of_somebody_elses_is_left_alone(server):
    """It is refused by name, and untouched."""
    with mongo.client(server) as client:
        lab = client["lab"]
        lab.lab.delete_one({"_id": "entities"})
        lab.drop_collection("entities")
        lab.entities.insert_one({"_id": 1, "precious": True})
        with pytest.raises(LabError, match="not the lab's"):
            restore(server, OF)
        assert list(lab.entities.find()) == [{"_id": 1, "precious": True}]
        lab.drop_collection("entities")


def test_commands_are_counted_however_many_documents_they_are_about(server, stored):
    """An insert of two hundred is one, and so is an update; a cursor's further batches are counted by themselves."""
    before = counters.counted(server)
    stored.insert_many([{"_id": f"x{number}"} for number in range(200)])
    stored.update_many({}, {"$set": {"integer": 1}})
    stored.delete_one({"_id": "x1"})
    assert len(list(stored.find(batch_size=100))) == 449
    after = counters.counted(server)
    counted = {name: after[name] - before[name] for name in COMMANDS}
    assert counted == {"find": 1, "getMore": 4, "insert": 1, "update": 1, "delete": 1}


def test_a_server_that_refuses_to_send_more_is_said(server, stored):
    """One sentence and a next step, and what is stored is untouched."""
    stored.update_one({"_id": "e000249"}, {"$set": {"text": "new"}})
    with refusing_more(server.host, server.port) as port, pytest.raises(LabError, match="getM0re") as caught:
        restore(server.via(port), OF)
    assert "getMore" in caught.value.next_step
    assert stored.count_documents({}) == OF.count
    assert stored.count_documents({"text": "new"}) == 1


def test_entities_are_alike_but_for_their_keys():
    """Bodies that are sent have all fields, and answers have the length that is expected."""
    assert len(seeded_entities(OF)) == OF.count
    assert {len(entities.as_json(each)) for each in seeded_entities(OF)} == {
        len(entities.as_json(entities.entity(OF, 0)))
    }
    text = entities.new_text()
    assert json.loads(entities.content(OF, text)) == {"text": text, "doubles": list(entities.doubles(3))}
    assert json.loads(entities.several(OF, 2))[1].keys() == {"id", "integer", "text", "doubles"}
    one = entities.entity(OF, 3)
    answer = {"id": one.pop("_id"), **one}
    assert entities.answer_bytes(OF) == len(entities.as_json(answer))
    assert entities.answer_bytes(OF, 2) == len(entities.as_json([answer, answer]))
    assert entities.keys(OF, 249, 3) == ["e000249", "e000000", "e000001"]
