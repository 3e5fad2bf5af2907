"""The services as they run: equal answers from all variants, and a locustfile that works without the lab."""

from __future__ import annotations

import csv
import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests
from kept_answers import read_answer
from patience import PATIENCE_S, await_that

from lab.analysis import verdict
from lab.experiments import scenarios
from lab.running import equivalence
from lab.runtimes import Launch, host
from lab.runtimes.process import ProcessRuntime
from lab.spec.limits import NOT_SET, Limits
from lab.storage.run_folder import ROOT
from lab.system import aot_cache, build, contract
from lab.system.jdk import Jdk
from lab.system.launch import promised_limits, service_launch
from lab.telemetry import actuator

pytestmark = pytest.mark.java

ASKED = ["/delay/0", "/delay/1", "/delay/-1", "/delay/60001", "/delay/abc", "/delay/1.5", "/delay/", "/nowhere", "/"]


def cached(launch: Launch, jdk: Jdk, runtime: ProcessRuntime) -> Launch:
    """The same, from the start-up cache that runs use, which halves what a start costs."""
    jar = Path(launch.command[launch.command.index("-jar") + 1])
    cache = aot_cache.train(jar, jdk.java, runtime, print, print) if jdk.major >= aot_cache.MINIMUM_JAVA else None
    return aot_cache.cached(launch, cache) if cache else launch


@pytest.fixture(scope="module")
def running(tmp_path_factory, jdk):
    """All three variants, by name, as the lab itself starts them."""
    variants, limits = scenarios()["delay"].variants, Limits(heap_mb=256)
    with ProcessRuntime() as runtime, ExitStack() as stack:
        jars = build.jars([variant.module for variant in variants], jdk, runtime, lambda line: None)
        started = {}
        for variant in variants:
            folder = tmp_path_factory.mktemp(variant.name)
            launch = cached(service_launch(variant, limits, 2, jdk.java, jars[variant.module], folder), jdk, runtime)
            started[variant.name] = (stack.enter_context(runtime.started(launch)), folder)
        yield {name: actuator.await_ready(process, folder) for name, (process, folder) in started.items()}


def answer_of(url: str, path: str) -> tuple[int, str, str]:
    """Status, type and body."""
    response = requests.get(url + path, timeout=PATIENCE_S)
    return response.status_code, response.headers.get("Content-Type", ""), response.text


@pytest.mark.parametrize("path", ASKED)
def test_all_variants_give_the_same_answer(running, path):
    """Status, type and body are equal, for right and for wrong requests."""
    answers = {name: answer_of(service.url, path) for name, service in running.items()}
    assert len(set(answers.values())) == 1, answers


def test_all_variants_refuse_wrong_methods_and_too_large_heads_alike(running):
    """405 with what is allowed, 414 and 431, each as the contract of every scenario has it."""
    asked = contract.common(scenarios()["delay"])
    answers = {name: equivalence.prove(service, asked) for name, service in running.items()}
    for name in ("mvc-virtual", "webflux"):
        assert equivalence.unequal_answers(answers["mvc"], answers[name]) == []
    assert [answer["headers"]["allow"] for answer in answers["mvc"].values() if answer["status"] == 405] == ["GET"]


@pytest.mark.parametrize(
    ("address", "field", "fields", "status"),
    [(15_000, 0, 0, 404), (17_000, 0, 0, 414), (0, 15_000, 0, 404), (0, 17_000, 0, 431), (0, 1, 300, 404)],
)
def test_how_large_a_head_may_be_is_the_same_for_all_variants(running, address, field, fields, status):
    """16 kB, in one field or in many: Tomcat's own limits are a hundred fields, Netty's an address of 4 kB."""
    headers = {f"X-{number}": "a" for number in range(fields)} | {"X-Large": "a" * field}
    for service in running.values():
        answer = requests.get(f"{service.url}/{'a' * address}", headers=headers, timeout=PATIENCE_S)
        assert answer.status_code == status


@pytest.mark.parametrize(("path", "status"), [(path, 200 if path[7:] in ("0", "1") else 400) for path in ASKED[:6]])
def test_only_delays_up_to_a_minute_are_waited_for(running, path, status):
    """JSON for a delay of 0 to 60000, and a 400 problem+json for anything else."""
    got, kind, body = answer_of(running["mvc"].url, path)
    assert got == status
    assert kind.startswith("application/json" if status == 200 else "application/problem+json")
    if status == 200:
        assert body == f'{{"millis":{path[7:]}}}'


@pytest.mark.parametrize("variant", ["mvc", "mvc-virtual", "webflux"])
def test_requests_that_come_early_are_answered_in_turn(running, variant):
    """The second before the first has its answer, and a third one later: no connection is left unread.

    As Reactor Netty 1.3.6 and 1.3.7 do (its issue 4361).
    """
    address = urlsplit(running[variant].url)
    asked = [f"GET /delay/{millis} HTTP/1.1\r\nHost: a\r\n\r\n".encode() for millis in (50, 0, 1)]
    with socket.create_connection((address.hostname, address.port), PATIENCE_S) as connection:
        answers = connection.makefile("rb")
        connection.sendall(asked[0] + asked[1])
        got = [read_answer(answers), read_answer(answers)]
        connection.sendall(asked[2])
        got.append(read_answer(answers))
    assert got == [(200, b'{"millis":50}'), (200, b'{"millis":0}'), (200, b'{"millis":1}')]


@pytest.mark.parametrize("variant", ["mvc", "mvc-virtual", "webflux"])
def test_the_limits_are_those_promised(running, variant):
    """What the running server states is what the variant promises."""
    asked = promised_limits(scenarios()["delay"].variant(variant), Limits(heap_mb=256), 2)
    assert verdict.broken_limits(asked, actuator.limits(running[variant])) == []


# Variables of a shell that would set what the lab leaves to Spring Boot: each of these is read by any such service.
PLANTED = {
    "SERVER_PORT": "1",
    "SERVER_TOMCAT_MAX_CONNECTIONS": "7",
    "SPRING_APPLICATION_JSON": '{"server.tomcat.accept-count": 7, "server.tomcat.threads.max": 7}',
    "SPRING_PROFILES_ACTIVE": "fixed-pool",
    "LAB_ACCEPT_COUNT": "7",
    "LAB_MONGO_URI": "mongodb://127.0.0.1:1/lab",
    "LAB_POOL": "7",
    "JAVA_TOOL_OPTIONS": "-Dreactor.netty.ioWorkerCount=7",
}


@pytest.mark.parametrize("variant", ["mvc", "webflux"])
def test_what_the_shell_has_set_reaches_no_service(variant, runtime, jdk, tmp_path, monkeypatch):
    """Neither its server, its pools nor its JVM: with limits that are the stack's own, it reports these."""
    for name, value in PLANTED.items():
        monkeypatch.setenv(name, value)
    described = scenarios()["delay"].variant(variant)
    jar = build.jars([described.module], jdk, runtime, lambda _: None)[described.module]
    launch = service_launch(described, replace(NOT_SET, heap_mb=256), 2, jdk.java, jar, tmp_path)
    with runtime.started(cached(launch, jdk, runtime)) as process:
        stated = actuator.limits(actuator.await_ready(process, tmp_path))
    assert stated["pool_max"] is None
    assert not [argument for argument in stated["jvm_arguments"] if "ioWorkerCount" in argument]
    assert 7 not in [stated[limit] for limit in ("request_threads_max", "accept_count", "max_connections")]
    if variant == "mvc":
        own = described.own
        assert stated["request_threads_max"] == own.threads
        assert stated["accept_count"] == own.accept_count
        assert stated["max_connections"] == own.max_connections
        assert stated["keep_alive_timeout_ms"] == own.keep_alive_timeout_ms
        assert stated["processor_cache"] == 200


def test_tomcats_threads_and_connections_are_read_as_ever(running):
    """Under the names that older runs have; a virtual thread a request has no pool whose threads could be busy."""
    pool = {"tomcat_threads_busy_threads", "tomcat_threads_current_threads"}
    for name, own in (("mvc", pool), ("mvc-virtual", set()), ("webflux", None)):
        expected = set() if own is None else {"tomcat_connections_current_connections", *own}
        assert {metric for metric in actuator.scrape(running[name]) if metric.startswith("tomcat_")} == expected
    port = urlsplit(running["mvc"].url).port
    with ExitStack() as stack:
        for _ in range(3):
            asking = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
            asking.sendall(b"GET /delay/60000 HTTP/1.1\r\nHost: a\r\n\r\n")
        await_that(lambda: actuator.scrape(running["mvc"])["tomcat_threads_busy_threads"] >= 3)
        assert actuator.scrape(running["mvc"])["tomcat_connections_current_connections"] >= 3


def test_ports_are_on_loopback_and_differ(running):
    """No two services share a port, and none is offered to the network."""
    urls = [url for service in running.values() for url in (service.url, service.management)]
    assert len(set(urls)) == 6
    assert all(url.startswith("http://127.0.0.1:") for url in urls)
    mine = {address for _, _, _, _, (address, _) in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    for address in mine - {"127.0.0.1"}:
        for url in urls:
            with socket.socket() as probe:
                probe.settimeout(2)
                assert probe.connect_ex((address, int(url.rpartition(":")[2]))) != 0


def locust(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Plain Locust on the locustfile of the delay."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("LAB_", "LOCUST_"))}
    return subprocess.run(
        [sys.executable, "-m", "locust", "-f", "locustfiles/delay.py", "--headless", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=ROOT,
        env=environment,
        check=False,
    )


def test_the_locustfile_works_alone(running, tmp_path):
    """Plain Locust loads a service with it, and its statistics show requests and no failures."""
    url = running["webflux"].url
    arguments = ["-u", "20", "-r", "20", "-t", "3s", "-H", url, "--delay-ms", "50", "--csv", str(tmp_path / "out")]
    done = locust(*arguments)
    assert done.returncode == 0, done.stderr[-2000:]
    with (tmp_path / "out_stats.csv").open() as file:
        rows = {row["Name"]: row for row in csv.DictReader(file)}
    assert int(rows["Aggregated"]["Request Count"]) > 20
    assert int(rows["Aggregated"]["Failure Count"]) == 0
    assert float(rows["Aggregated"]["Average Response Time"]) >= 50


@pytest.mark.thorough
def test_the_locustfile_alone_counts_failures_and_pauses_after_them(tmp_path):
    """Where nobody listens, Locust shows failures by class, but no flood of them, and its exit status says so."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        done = locust("-u", "2", "-t", "3s", "-H", url, "--csv", str(tmp_path / "out"))
    assert done.returncode == 1
    assert "refused" in (tmp_path / "out_failures.csv").read_text()
    with (tmp_path / "out_stats.csv").open() as file:
        assert 0 < int(list(csv.DictReader(file))[-1]["Failure Count"]) < 60


@pytest.mark.thorough
def test_the_locustfile_alone_asks_for_a_host():
    """Without -H it says in one sentence what to do, and fails."""
    done = locust("-u", "20", "-t", "2s")
    assert done.returncode != 0
    assert "-H http" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.thorough
def test_the_locustfile_alone_asks_for_a_proper_address():
    """One sentence, instead of an exception in every user."""
    done = locust("-H", "localhost:9", "-t", "2s")
    assert done.returncode != 0
    assert "is not an http or https address" in done.stderr
    assert "Traceback" not in done.stderr


NARROW = Limits(threads=4, heap_mb=256, accept_count=2**31 - 1)


@pytest.fixture(scope="module", params=["mvc", "webflux"])
def narrow(request, tmp_path_factory, jdk):
    """A variant and its service, on a disk that Spring would call full, with a backlog beyond every kernel's cap."""
    variant, folder = scenarios()["delay"].variant(request.param), tmp_path_factory.mktemp("narrow")
    with ProcessRuntime() as runtime:
        jar = build.jars([variant.module], jdk, runtime, lambda _: None)[variant.module]
        launch = service_launch(variant, NARROW, 2, jdk.java, jar, folder)
        launch = cached(launch, jdk, runtime)
        full = replace(launch, command=(*launch.command, "--management.health.diskspace.threshold=1000000TB"))
        with runtime.started(full) as process:
            yield variant, actuator.await_ready(process, folder)


@pytest.mark.thorough
def test_a_full_disk_does_not_make_a_service_ill(narrow):
    """It is ready all the same: the lab looks at the disk, before a run."""
    _, service = narrow
    assert requests.get(f"{service.management}/actuator/health", timeout=PATIENCE_S).json()["status"] == "UP"


@pytest.mark.thorough
def test_a_backlog_beyond_the_kernels_cap_is_not_said_to_be_in_force(narrow):
    """The service states what the kernel grants, so that the promise is seen to be broken."""
    if (cap := host.somaxconn()) is None:
        pytest.skip("this system does not say what its cap is")
    variant, service = narrow
    stated = actuator.limits(service)
    assert stated["accept_count"] == cap
    assert verdict.broken_limits(promised_limits(variant, NARROW, 2), stated)
