"""The MongoDB side, on the stand-in or a mongod: whatever this machine has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from one_sentence import assert_refused

from lab.errors import LabError
from lab.runtimes.process import ProcessRuntime
from lab.system import build
from lab.system.databases import Site, counters, mongo
from lab.system.databases.rows import DOCUMENT_ID, document

pytestmark = pytest.mark.java


@pytest.fixture(scope="module")
def site(jdk, tmp_path_factory):
    """A place for a server of these tests' own."""
    folder = tmp_path_factory.mktemp("mongo")
    with ProcessRuntime() as runtime:
        (jar,) = build.jars(["mongo-standin"], jdk, runtime, print).values()
        yield Site(runtime, folder / "data", folder / "logs", jdk.home, folder / "seeds", stand_in=jar)


@pytest.fixture(scope="module")
def server(site):
    """A seeded server."""
    with mongo.server(site) as database:
        yield database


@pytest.fixture
def lab(server):
    """The lab's database on it, in whatever state; seeded again afterwards."""
    with mongo.client(server) as client:
        yield client["lab"]
        for name in client["lab"].list_collection_names():
            client["lab"].drop_collection(name)
    mongo.seed_document(server)


def test_a_started_server_holds_the_document(server, lab):
    """The document has the published shape: an id and a text."""
    assert list(lab.documents.find()) == [{"_id": DOCUMENT_ID, "text": document()}]
    assert (server.kind, server.name, server.host) == ("mongo", "lab", "127.0.0.1")


def test_a_stand_in_says_so(server):
    """Whoever reads a table knows what was measured."""
    if server.stand_in:
        assert server.title == "mongo-java-server 1.47, standing in for MongoDB"
    else:
        assert server.title.startswith("MongoDB ")
    assert server.as_json()["title"] == server.title


def test_seeding_again_writes_nothing(server):
    """The check passes, so that nothing is to do."""
    assert mongo.seed_document(server) == 0


def test_another_seed_gives_another_document(server, lab):
    """The seed decides the text."""
    assert mongo.seed_document(server, 2) == 1
    assert lab.documents.find_one()["text"] == document(2)


@pytest.mark.parametrize("damage", ["half", "missing", "marked only", "more"])
def test_what_is_not_whole_is_made_whole(server, lab, damage):
    """However a lab was killed at it, or what its services stored: afterwards the seeded document is there, alone."""
    if damage == "half":
        lab.documents.update_one({"_id": DOCUMENT_ID}, {"$set": {"text": document()[:1000]}})
    elif damage == "missing":
        lab.documents.delete_one({"_id": DOCUMENT_ID})
    elif damage == "marked only":
        lab.drop_collection("documents")
    else:
        lab.documents.insert_one({"_id": "1001", "text": "posted"})
    assert mongo.seed_document(server) == 1
    assert list(lab.documents.find()) == [{"_id": DOCUMENT_ID, "text": document()}]


@pytest.mark.parametrize("collection", ["documents", "lab"])
def test_a_collection_that_is_not_the_labs_is_left_alone(site, server, lab, collection):
    """A database of the same name that belongs to somebody is refused, and untouched."""
    for name in lab.list_collection_names():
        lab.drop_collection(name)
    lab[collection].insert_one({"_id": 1, "precious": True})
    with pytest.raises(LabError, match="not the lab's"), mongo.server(site, server.url):
        pass
    assert lab.list_collection_names() == [collection]
    assert list(lab[collection].find()) == [{"_id": 1, "precious": True}]


def test_a_server_of_ones_own_is_used_and_left_as_it_was(site, server):
    """With --mongo-url nothing is started; the document is there, and stays."""
    with mongo.server(site, server.url) as database:
        assert database.running is None
        assert database.product
        assert mongo.seed_document(database) == 0
    assert mongo.seed_document(server) == 0


def test_finds_are_counted(server):
    """Seven finds are seven, and the lab's own questions are none."""
    with mongo.client(server) as client:
        before = counters.counted(server)[counters.QUERIES]
        for _ in range(7):
            client["lab"].documents.find_one({"_id": DOCUMENT_ID})
        assert counters.counted(server)[counters.QUERIES] - before == 7


@pytest.mark.thorough
def test_a_server_that_is_not_there_is_a_lab_error(site):
    """It says where it looked, and not with which password."""
    url = "mongodb://me:geheim@127.0.0.1:1/"
    with pytest.raises(LabError, match=r"127\.0\.0\.1:1") as caught, mongo.server(site, url):
        pass
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    ["mysql://localhost", "mongodb://", "mongodb://a,b/", "mongodb://localhost/other", "mongodb://localhost:x"],
)
def test_a_url_that_will_not_do_is_refused(url):
    """Another protocol, several servers, or a database that is not the lab's."""
    with pytest.raises(LabError):
        mongo.parse(url)


@pytest.mark.parametrize(
    "url",
    [
        "mongodb://me:ge/heim@h",
        "mongodb://me:1?heim@h",
        "mongodb://h/?foo=heim",
        "mongodb://h/?tls=heim",
        "mongodb://h/?authMechanismProperties=heim",
    ],
)
def test_what_is_refused_of_a_url_is_not_repeated(url):
    """Passwords and the values of options may be secrets."""
    with pytest.raises(LabError) as caught:
        mongo.parse(url)
    assert "heim" not in f"{caught.value} {caught.value.next_step} {caught.value.detail}"


@pytest.mark.parametrize("name", ["tlsCAFile", "tlsallowinvalidcertificates", "tlsCertificateKeyFilePassword"])
def test_options_that_only_one_driver_has_are_refused(name):
    """The lab would honour them, and the variants would pass them over."""
    with pytest.raises(LabError, match=name) as caught:
        mongo.parse(f"mongodb://h/?tls=true&{name}=geheim")
    assert "geheim" not in str(caught.value)


@pytest.mark.parametrize("options", ["w=1;tlsAllowInvalidCertificates=geheim", "w=1;", "w=1&tls=true;fsync=geheim"])
def test_options_behind_a_semicolon_are_refused(options):
    """Drivers take them for options of their own, past every look at those that must not be."""
    with pytest.raises(LabError, match="by a semicolon") as caught:
        mongo.parse(f"mongodb://h/?{options}")
    assert caught.value.next_step == "Separate them by &."
    assert "geheim" not in str(caught.value)


def test_the_options_of_a_url_have_any_case_and_are_not_shown():
    """A database for logins that is named stays the one, and a session token is a secret too."""
    database = mongo.parse("mongodb://me:p@h/?authsource=x&authMechanismProperties=AWS_SESSION_TOKEN:geheim")
    assert database.url.count("=x") == 1
    assert "admin" not in database.url
    assert "geheim" not in repr(database)


def test_a_url_of_a_cluster_keeps_its_scheme_and_options():
    """What a hosted MongoDB hands out works as it is, and is used for the database ``lab``."""
    database = mongo.parse("mongodb+srv://me:p%40ss@cluster.example.net/?retryWrites=true")
    expected = "mongodb+srv://me:p%40ss@cluster.example.net/lab?retryWrites=true&authSource=admin"
    assert database.url == expected
    assert "p@ss" not in repr(database)
    with pytest.raises(LabError, match="link"):
        database.via(1234)


def test_a_server_that_does_not_answer_is_said_before_anything_is_built(typed, tmp_path):
    """No folder of a run is left, of which nothing could be measured."""
    done = typed("run", "document", "--mongo-url", "mongodb://127.0.0.1:1", "--data", str(tmp_path / "runs"))
    assert_refused(done, "MongoDB at 127.0.0.1:1 said", "Is the server up")
    assert "build" not in done.stderr
    assert not list((tmp_path / "runs").rglob("*"))


def test_without_a_server_to_start_it_says_how_to_get_one(site, tmp_path, monkeypatch):
    """No mongod, no stand-in: the next step is in the message."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError) as caught, mongo.server(replace(site, stand_in=None)):
        pass
    assert "--mongo-url" in caught.value.next_step
