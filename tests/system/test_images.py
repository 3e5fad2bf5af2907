"""Images: built once, named for what is in them, and doing what they are for."""

from __future__ import annotations

import uuid
from contextlib import suppress
from dataclasses import replace

import mysql.connector
import pymongo
import pytest
import requests
from patience import PATIENCE_S, await_that

from lab.analysis.verdict import broken_limits
from lab.errors import LabError
from lab.experiments.variants import MVC, WEBFLUX
from lab.runtimes import Launch
from lab.runtimes.docker import IMAGE_LABEL, DockerRuntime
from lab.spec.limits import Limits
from lab.system import build
from lab.system.databases import mysql as mysql_database
from lab.system.databases.containers import MONGO_PORT, MYSQL_PORT, USER
from lab.system.images import JAR, Images
from lab.system.images.bases import FROM_BASE, BaseKind, Bases
from lab.system.images.builder import Builder, Recipe
from lab.system.launch import INSIDE, contained, promised_limits, service_launch
from lab.telemetry.actuator import await_ready, limits

pytestmark = [pytest.mark.docker, pytest.mark.thorough]


@pytest.fixture(scope="module")
def containers(engine):
    """A runtime of containers."""
    with DockerRuntime(f"test-{uuid.uuid4().hex[:8]}") as runtime:
        yield runtime


@pytest.fixture(scope="module")
def said():
    """What the builders said."""
    return []


@pytest.fixture(scope="module")
def images(containers, said):
    """Builds what is missing."""
    return Images(containers.engine, containers, said.append)


def eventually(action, error, running):
    """Try until a database answers."""

    def answer():
        assert not running.exit_reason(), running.log_tail(40)
        with suppress(error):
            return [action()]

    return await_that(answer)[0]


@pytest.mark.java
@pytest.mark.parametrize("variant", [MVC, WEBFLUX], ids=lambda variant: variant.name)
def test_service_answers_from_its_container(containers, images, variant, jdk, tmp_path, monkeypatch):
    """With the limits that were asked for, read back, whatever the shell has set."""
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Dplanted=1")
    jar = build.jars([variant.module], jdk, containers, lambda _: None)[variant.module]
    image = images.service(variant.module, jar, build.source_hash(variant.module))
    asked = Limits(threads=20, heap_mb=256)
    process = service_launch(variant, asked, 1, jdk.java, jar, tmp_path)
    launch = replace(contained(process, image.tag, JAR, 768), cores=frozenset({0}))
    with containers.started(launch) as running:
        service = await_ready(running, tmp_path)
        answer = requests.get(f"{service.url}/delay/5", timeout=PATIENCE_S)
        assert (answer.status_code, answer.text) == (200, '{"millis":5}')
        in_force = limits(service)
        assert broken_limits(promised_limits(variant, asked, 1), in_force) == []
        assert "-Dplanted=1" not in in_force["jvm_arguments"]
        assert "Java" in image.product or "OpenJDK" in image.product
        assert running.cpu_s() > 0.5
    assert "Started Application" in launch.log.read_text()
    assert (tmp_path / INSIDE / "gc.log").read_text()


def test_mysql_takes_the_labs_user_and_nobody_else(containers, images, tmp_path):
    """Root stays inside."""
    image = images.mysql()
    assert image.product.startswith("MySQL ")
    around = {"LAB_PASSWORD": "s3cret_-"}
    launch = Launch("MySQL", (), tmp_path / "mysql.log", around, image=image.tag, memory_mb=1024)
    with containers.started(launch) as running:
        host, port = running.reach(MYSQL_PORT)
        where = {"host": host, "port": port, "user": USER}
        connection = eventually(
            lambda: mysql.connector.connect(**where, password="s3cret_-"), mysql.connector.Error, running
        )
        cursor = connection.cursor()
        for statement in ("CREATE DATABASE lab", "CREATE TABLE lab.t (n INT)", "INSERT INTO lab.t VALUES (42)"):
            cursor.execute(statement)
        cursor.execute("SELECT n, VERSION() FROM lab.t")
        n, version = cursor.fetchone()
        assert n == 42
        assert version.split("-")[0] in image.product
        connection.close()
        for user, password in ((USER, "wrong"), ("root", "")):
            with pytest.raises(mysql.connector.Error, match=r"denied|not allowed"):
                mysql.connector.connect(**{**where, "user": user}, password=password)


def test_mysql_that_has_no_tls_for_its_login_is_refused(containers, images, tmp_path):
    """Before any service starts: whether its driver gets in would depend on whom the server has let in before."""
    command, around = ("start-mysql", "--tls-version="), {"LAB_PASSWORD": "s3cret_-"}
    launch = Launch("MySQL", command, tmp_path / "mysql.log", around, image=images.mysql().tag, memory_mb=1024)
    with containers.started(launch) as running:
        host, port = running.reach(MYSQL_PORT)
        database = mysql_database.parse(f"mysql://{USER}:s3cret_-@{host}:{port}")

        def is_up():
            assert not running.exit_reason(), running.log_tail(40)
            return "ready for connections" in running.log_tail(60)

        await_that(is_up)
        with pytest.raises(LabError, match=r"caching_sha2_password|denied|secure connection"):
            mysql_database.identified(database)


def test_mongo_keeps_a_document_of_a_megabyte(containers, images, tmp_path):
    """Longer than one network packet, or one page of a database."""
    image = images.mongo()
    assert image.product.startswith("FerretDB" if image.stand_in else "MongoDB"), image.product
    launch = Launch("MongoDB", (), tmp_path / "mongo.log", image=image.tag, memory_mb=2048)
    with containers.started(launch) as running:
        client = pymongo.MongoClient(*running.reach(MONGO_PORT), serverSelectionTimeoutMS=1000)
        eventually(lambda: client.admin.command("ping"), pymongo.errors.PyMongoError, running)
        document = {"_id": "1000", "text": "x" * 1_019_684}
        client.lab.documents.insert_one(document)
        assert client.lab.documents.find_one({"_id": "1000"}) == document
        client.close()


def test_second_build_has_nothing_to_do(images, said):
    """The builders are not even asked."""
    first = images.mysql(), images.mongo(), images.worker()
    said.clear()
    assert (images.mysql(), images.mongo(), images.worker()) == first
    assert said == []


def test_no_image_runs_as_root(containers, images, tmp_path):
    """Each says which user it is."""
    for image in (images.mysql(), images.mongo(), images.worker()):
        launch = Launch("id", ("id", "-u"), tmp_path / f"{image.tag.split(':')[0]}.log", image=image.tag)
        with containers.started(launch) as running:
            assert running.await_end().ok
        assert launch.log.read_text() == "10001\n"


def test_failing_build_shows_the_builders_last_lines(containers, images):
    """And which image it was."""
    builder = Builder(containers.engine, containers, lambda _: None)
    broken = Recipe("lab-broken", FROM_BASE + "RUN echo that is the reason && exit 3\n", images.worker().tag)
    with pytest.raises(LabError, match="Building the image lab-broken failed") as error:
        builder.built(broken)
    assert "that is the reason" in error.value.detail
    assert "returned a non-zero code: 3" in error.value.detail


def test_official_image_is_taken_where_it_is_there(containers, images):
    """No Debian package is asked for then."""
    engine = containers.engine
    official = "lab-pretended-official:1"
    engine.images.get(images.worker().tag).tag(*official.split(":"))
    kind = BaseKind("lab-jre", "Python {0}", official, "", "sid", "python3 --version")
    image = Bases(Builder(engine, containers, lambda _: None)).get(kind)
    engine.images.remove(official)
    engine.images.remove(image.tag)
    assert engine.images.list(filters={"label": f"{IMAGE_LABEL}=lab-jre", "dangling": True}) == []
    assert (image.stand_in, image.why) == (False, f"{official} can be had")
    assert image.product.startswith("Python 3.")
    assert image.product.endswith(f"({official})")
