"""All stacks, styles and generations of the operations answer alike, and are what they say they are."""

from __future__ import annotations

import json
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
import requests
from machines import HERE
from patience import PATIENCE_S, await_that

from lab.analysis import verdict
from lab.experiments import scenarios
from lab.running import conductor, equivalence
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.system.databases import mysql
from lab.system.launch import promised_limits
from lab.system.service import Service
from lab.telemetry import actuator

if TYPE_CHECKING:
    from lab.running.testbed import Testbed

pytestmark = [pytest.mark.java]

SCENARIO = scenarios()["operations"]
# All requests of the contract but two, which have heads that are too large and reach no service.
WITHIN_SPRING = 70
# Those of methods that no controller has, which the first generation with Micrometer does not count.
UNCOUNTED = {name: len(SCENARIO.requests) for name in ("boot-1.5", "boot-1.5-mongo")}
# How often the contract has each database asked, by command.
ASKED = {"mysql": {"mysql insert": 3, "mysql update": 0}, "mongo": {"mongo insert": 3, "mongo update": 0}}
# Tomcat ends an answer that is made later after this time, unless it is told otherwise.
TOMCATS_OWN_S = 30.0
# Not the one that it is compared with.
CHANGED = "boot-2.7"
# More logins than any machine has threads of `parallel`; and fewer threads of Tomcat's.
LOGINS, THREADS = 40, 10


def proved(testbed: Testbed, name: str, folder: Path) -> None:
    """Assert that a variant meets the contract as those before it, asks its database as often, and keeps its limits."""
    variant = testbed.plan.scenario.variant(name)
    (database,) = variant.calls
    with testbed.runtime.started(testbed.launch(variant, folder)) as process:
        service, before = actuator.await_ready(process, folder), testbed.backing.queries()
        answers = equivalence.prove(service, testbed.backing.contract)
        equivalence.check_equal(testbed.proved, name, answers)
        after, limits = testbed.backing.queries(), actuator.limits(service)
        served = actuator.requests_served(service, WITHIN_SPRING - UNCOUNTED.get(name, 0))
        assert "mongodb_driver_commands" not in metrics(service)
        told = {name: requests.get(f"{service.management}/actuator/{name}", timeout=PATIENCE_S) for name in TELLING}
        assert {name for name, answer in told.items() if answer.status_code not in {404, 405}} == set()
    assert {counted: after[counted] - before[counted] for counted in ASKED[database]} == ASKED[database]
    promised = promised_limits(variant, testbed.plan.limits_of(name), testbed.cores.cpus, has_pool=True)
    assert verdict.broken_limits(promised, limits) == []
    assert served == WITHIN_SPRING - UNCOUNTED.get(name, 0)


# What a service would tell of its environment, its memory and itself to whoever asks.
TELLING = ("env", "heapdump", "dump", "threaddump", "configprops", "beans", "loggers", "mappings", "trace", "shutdown")


def metrics(service: Service) -> str:
    """The page that Prometheus reads."""
    page = requests.get(f"{service.management}/actuator/prometheus", timeout=PATIENCE_S)
    page.raise_for_status()
    return page.text


SAME_LIBRARIES = ("HikariCP-", "mysql-connector-j-", "jjwt-api-", "jjwt-impl-", "jjwt-jackson-")


def libraries(jar: Path) -> set[str]:
    """The file names of the libraries in an executable jar."""
    with zipfile.ZipFile(jar) as packed:
        return {Path(name).name for name in packed.namelist() if name.startswith("BOOT-INF/lib/")}


@contextmanager
def started(variants: Sequence[str], folder: Path, threads: int | None = None) -> Iterator[Testbed]:
    """What the cells of a run of these variants share."""
    names = variants or [variant.name for variant in SCENARIO.variants]
    plan = planning.make_plan(SCENARIO, Options(users=[1], heap_mb=256, variants=names, threads=threads), HERE)
    with set_up(plan, Invocation(["test"], folder, Reporter(quiet=True)), 1) as testbed:
        yield testbed


@pytest.fixture(scope="module")
def testbed(tmp_path_factory) -> Iterator[Testbed]:
    """What the cells of a run of all variants share."""
    with started([], tmp_path_factory.mktemp("runs")) as testbed:
        yield testbed


def test_the_first_variant_meets_the_contract(tmp_path):
    """Of the databases only the one that it calls is started."""
    with started(["mvc"], tmp_path) as testbed:
        assert set(testbed.backing.databases) == {"mysql"}
        proved(testbed, "mvc", tmp_path)


def of_each_kind() -> list[str]:
    """All variants with MySQL, and one of each jar with MongoDB: threads are the same with either."""
    with_mysql = [variant.name for variant in SCENARIO.variants if variant.calls == ("mysql",)]
    with_mongo = {variant.module: variant.name for variant in SCENARIO.variants if variant.calls == ("mongo",)}
    return [*with_mysql, *with_mongo.values()]


@pytest.mark.thorough
@pytest.mark.parametrize("name", of_each_kind())
def test_a_variant_answers_as_the_others_do(testbed, name, tmp_path):
    """Stacks, styles and generations alike."""
    proved(testbed, name, tmp_path)


@pytest.mark.thorough
def test_generations_have_the_same_libraries_where_these_are_not_compared(testbed):
    """Pool, driver and tokens are of one release in all of them, so that none of these is called a generation."""
    found = {
        module: {library for library in libraries(jar) if library.startswith(SAME_LIBRARIES)}
        for module, jar in testbed.artifacts.jars.items()
        if module == "mvc-operations" or module.startswith("boot-")
    }
    assert len(found) == 5
    assert all(len(libraries) == len(SAME_LIBRARIES) for libraries in found.values())
    assert len(set(map(frozenset, found.values()))) == 1, found


@pytest.mark.thorough
def test_one_that_answers_otherwise_is_named_and_not_measured(tmp_path):
    """A generation whose JSON has other names, say; the others are measured, and nothing goes on running."""
    renamed = {"spring.jackson.property-naming-strategy": "UPPER_CAMEL_CASE"}
    changed = [
        replace(each, properties={**each.properties, **(renamed if each.name == CHANGED else {})})
        for each in SCENARIO.variants
    ]
    options = Options(users=[1], heap_mb=256, variants=["mvc", CHANGED], seed=1, pace=0.02)
    brief = replace(SCENARIO.rehearsal, requests=8, rounds=1)
    plan = planning.make_plan(replace(SCENARIO, variants=tuple(changed), rehearsal=brief), options, HERE)
    before = set(psutil.Process().children(recursive=True))
    folder = conductor.conduct(plan, Invocation(["test"], tmp_path, Reporter(quiet=True)))
    measured = {cell.cell.variant: cell.read("summary") for cell in folder.cells()}
    (named,) = [name for name, summary in measured.items() if not summary["requests"]]
    (other,) = set(measured) - {named}
    (said,) = [reason for reason in measured[named]["reasons"] if "not equal" in reason]
    assert f"{named} and {other} are not equal: account, a hash of strength 4: status 200, application/json, " in said
    assert measured[other]["requests"] == 26
    assert set(psutil.Process().children(recursive=True)) <= before


@pytest.mark.thorough
def test_a_rest_layer_on_parallel_refuses_while_logins_wait_and_ends_none_of_these(tmp_path):
    """A token is looked at on Tomcat's thread; what waits for a database has as much time as in plain controllers.

    More logins wait than Tomcat has threads: it is by asynchronous requests that it serves them, and these keep none.
    """
    with started(["rest-parallel"], tmp_path, THREADS) as testbed, ThreadPoolExecutor(LOGINS) as users:
        launch = testbed.launch(SCENARIO.variant("rest-parallel"), tmp_path)
        database = testbed.backing.databases["mysql"]
        with testbed.runtime.started(launch) as process, mysql.connection(database) as link:
            service = actuator.await_ready(process, tmp_path)
            assert actuator.limits(service)["request_threads_max"] == THREADS
            cursor = link.cursor()
            cursor.execute("lock tables accounts write")
            logins = [users.submit(log_in, service) for _ in range(LOGINS)]
            await_that(lambda: waiting_for_a_lock(database))
            begun = time.monotonic()
            for path in ("/api/account", "/api/operations"):
                assert requests.get(service.url + path, timeout=PATIENCE_S).status_code == 401
            assert not any(login.done() for login in logins)
            time.sleep(max(0.0, begun + TOMCATS_OWN_S + 5 - time.monotonic()))
            cursor.execute("unlock tables")
            assert {login.result() for login in logins} == {200}


def log_in(service: Service) -> int:
    """The status of a login by the weak hash."""
    said = json.dumps({"username": "admin4", "password": "admin", "rememberMe": False})
    headers = {"Content-Type": "application/json"}
    return requests.post(f"{service.url}/api/authenticate", said, headers=headers, timeout=PATIENCE_S).status_code


def waiting_for_a_lock(database) -> int:
    """How many statements wait for a table that another connection has locked."""
    with mysql.connection(database) as link:
        cursor = link.cursor()
        cursor.execute("select count(*) from information_schema.processlist where state like 'Waiting for table%'")
        return cursor.fetchone()[0]
