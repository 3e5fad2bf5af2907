"""The application that is migrated: what it answers and stores, and what two nodes know of each other."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import mkdtemp

import pytest
import requests
from patience import PATIENCE_S, await_that
from programs import needs_haproxy, needs_prometheus

from lab.errors import ComponentError
from lab.experiments.migration import records
from lab.experiments.migration.scenario import SCENARIO
from lab.runtimes import loopback
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime, free_ports
from lab.spec.limits import Limits
from lab.system import balancer, build
from lab.system.databases import SEEDS, Site, mysql, rows, tables, tokens
from lab.system.deployment import Deployment
from lab.system.launch import service_launch
from lab.system.prometheus import Prometheus, running_prometheus
from lab.system.service import Service
from lab.telemetry import actuator

pytestmark = [pytest.mark.java, pytest.mark.thorough]

CACHED = "mvc-jpa-cached"
NUMBER = 7
GRAFANA = ROOT / "lab" / "system" / "grafana"


@pytest.fixture(scope="module")
def place(jdk, tmp_path_factory):
    """A runtime, the built services, and a MySQL with the seeded records."""
    folder = tmp_path_factory.mktemp("records")
    with ProcessRuntime() as runtime:
        jars = build.jars({variant.module for variant in SCENARIO.variants}, jdk, runtime, print)
        site = Site(runtime, folder, folder / "logs", jdk.home, SEEDS)
        with mysql.server(site) as database:
            yield runtime, jars, database, jdk, folder


def seed(database) -> list[int]:
    """Put the tables back; how many rows of each were written."""
    return [tables.restore(database, table) for table in (records.RECORDS, records.REGISTRY)]


def new_content() -> str:
    """A content that no record has."""
    return records.content(secrets.randbits(4 * records.CONTENT_DIGITS))


class Node:
    """A started service of a variant, asked as the first seeded user."""

    def __init__(self, service: Service) -> None:
        self.service = service
        token = tokens.token(rows.users()[0].email, tokens.signing_key(SEEDS))
        self.bearer = {"Authorization": f"Bearer {token}"}

    def contents(self) -> list[str]:
        """The contents of the records that a lookup finds."""
        url = self.service.url + records.path(NUMBER)
        answer = requests.get(url, headers=self.bearer, timeout=PATIENCE_S)
        assert answer.json()["success"] is True
        return [record["content"] for record in answer.json()["records"]]

    def save(self, content: str) -> int:
        """The status of a save."""
        url = f"{self.service.url}/records/{records.key(NUMBER)}"
        return requests.put(url, json={"content": content}, headers=self.bearer, timeout=PATIENCE_S).status_code

    def counts(self) -> dict[str, int]:
        """What its cache has counted."""
        return actuator.counted(self.service)


@contextmanager
def nodes(place, variant: str, *told: dict[str, str], pool: int = 5) -> Iterator[list[Node]]:
    """A node of a variant for each that is told something, all started at once."""
    runtime, jars, database, jdk, folder = place
    seed(database)
    environment = {
        "LAB_MYSQL_HOST": database.host,
        "LAB_MYSQL_PORT": str(database.port),
        "LAB_MYSQL_USER": database.user,
        "LAB_MYSQL_PASSWORD": database.password,
        "LAB_JWT_KEY": tokens.key_file(SEEDS).read_text(),
    }
    made = SCENARIO.variant(variant)
    with ExitStack() as stack:
        started = []
        for more in told:
            at = Path(mkdtemp(prefix=f"{more.get('LAB_CLUSTER', variant)}-", dir=folder))
            launch = service_launch(
                made, Limits(pool=pool, heap_mb=256), 2, jdk.java, jars[made.module], at, {**environment, **more}
            )
            started.append((stack.enter_context(runtime.started(launch)), at))
        yield [Node(actuator.await_ready(running, at)) for running, at in started]
    seed(database)


def of_cluster(name: str, ports: list[int], node: int) -> dict[str, str]:
    """What a node of a cluster is told."""
    members = ",".join(f"127.0.0.1:{port}" for port in ports)
    return {"LAB_CLUSTER": name, "LAB_CLUSTER_MEMBERS": members, "LAB_NODES": str(len(ports)), "LAB_NODE": str(node)}


@pytest.mark.parametrize("variant", [variant.name for variant in SCENARIO.variants])
def test_a_save_is_stored_and_read_back(place, variant):
    """As often as one likes, whatever was cached before; and nothing else is changed."""
    *_, database, _, _ = place
    with nodes(place, variant, {}) as (node,):
        seeded = [records.content(number) for number in range(NUMBER, records.COUNT, records.LOOKUPS)]
        assert node.contents() == node.contents() == seeded
        for content in ("newer", "þ ✓", ""):
            assert node.save(content) == 200
            assert node.contents() == [content, *seeded[1:]]
        with mysql.connection(database) as link:
            cursor = link.cursor()
            cursor.execute("select id, content from records where content not regexp '^[0-9a-f]{60}$'")
            assert cursor.fetchall() == [(records.key(NUMBER), "")]
        assert seed(database) == [records.COUNT, 0]


@needs_haproxy
@pytest.mark.parametrize("variant", ["webflux-r2dbc", "mvc-jpa"])
def test_a_node_whose_connections_are_all_in_use_gets_requests_as_before(place, variant):
    """It is as well as a node under load can be: to take it out would be our doing, and of one side only."""
    *_, database, _, folder = place
    site = balancer.Site(place[0], folder / f"balancer-{variant}")
    settings = balancer.Settings(connections=10, timeout_s=60)
    # As long as checks that are not answered would take to put it out, and longer.
    until_out_s = settings.check_fall * (settings.check_within_s + settings.check_every_s) + 3
    with (
        nodes(place, variant, {}, pool=1) as (node,),
        balancer.balanced({"node 1": node.service}, settings, site) as front,
        mysql.connection(database) as link,
        ThreadPoolExecutor(1) as user,
    ):
        cursor = link.cursor()
        cursor.execute("select id from records where id = %s for update", (records.key(NUMBER),))
        cursor.fetchall()
        save = user.submit(node.save, new_content())  # with the only connection, it waits for this transaction
        await_that(lambda: not can_reach_its_database(node, settings.check_within_s))
        until, seen = time.monotonic() + until_out_s, set()
        while time.monotonic() < until:
            seen.add(balancer.counted(front, ["node 1"]).up["node 1"])
            time.sleep(0.1)
        held = not save.done()
        link.rollback()
        assert save.result() == 200
    assert (held, seen) == (True, {True})


@needs_haproxy
@needs_prometheus
def test_grafanas_dashboard_asks_prometheus_for_what_it_has(place):
    """It understands each expression, and has series for it where requests are answered, and fail, of either stack."""
    dashboard = json.loads((GRAFANA / "dashboards" / "lab.json").read_text())
    asked = {target["expr"] for panel in dashboard["panels"] for target in panel["targets"]}
    settings, folder = balancer.Settings(connections=10, timeout_s=60), place[-1] / "dashboard"
    with running_prometheus(place[0], folder, folder / "data") as prometheus:
        for variant, others in {"webflux-r2dbc": "hikaricp_", "mvc-jpa": "r2dbc_"}.items():
            site = balancer.Site(place[0], folder / variant)
            with (
                nodes(place, variant, {}) as (node,),
                balancer.balanced({"node 1": node.service}, settings, site) as front,
                prometheus.scraping(variant, Deployment({"node 1": node.service}, front.url, front).metrics),
            ):
                jcmd = Path(place[3].home) / "bin" / "jcmd"  # pauses of the collector are counted from the first one on
                subprocess.run([jcmd, str(node.service.running.pid), "GC.run"], check=True, capture_output=True)
                node.contents()
                with mysql.connection(place[2]) as link:
                    link.cursor().execute("drop table records")
                failed = requests.get(front.url + records.path(NUMBER), headers=node.bearer, timeout=PATIENCE_S)
                assert failed.status_code // 100 == 5
                for expression in asked:
                    if others not in expression:
                        await_that(partial(has_series, prometheus, expression))
    assert len(asked) > 10


def has_series(prometheus: Prometheus, expression: str) -> bool:
    """Whether Prometheus has series for an expression now; it must be one that it understands."""
    answer = requests.get(f"{prometheus.url}/api/v1/query", {"query": expression}, timeout=PATIENCE_S).json()
    assert answer["status"] == "success", answer
    return bool(answer["data"]["result"])


def can_reach_its_database(node: Node, within_s: float) -> bool:
    """Whether a node says in time how all that it depends on is, for which it needs a connection."""
    try:
        return loopback.get(f"{node.service.management}/actuator/health", within_s).ok
    except requests.Timeout:
        return False


@pytest.fixture(scope="module")
def cluster(place):
    """Two nodes of a cluster, and one of another cluster that knows their addresses, all started at once."""
    ports = free_ports(3)
    pair = [of_cluster("first", ports[:2], number) for number in (1, 2)]
    stranger = {**of_cluster("second", ports, 3), "LAB_NODES": "1"}
    with nodes(place, CACHED, *pair, stranger) as started:
        yield started


def test_two_nodes_share_what_they_have_cached(cluster):
    """An object lies at one node, where the other one asks for it; a save at either is read at the other at once."""
    one, other, _ = cluster
    assert one.contents() == other.contents()
    for writer, reader in ((one, other), (other, one)) * 3:
        content = new_content()
        assert writer.save(content) == 200
        assert reader.contents()[0] == writer.contents()[0] == content
    before = [node.counts() for node in (one, other)]
    for node in (one, other) * 10:
        node.contents()
    grown = [
        {name: node.counts()[name] - count for name, count in counts.items()}
        for node, counts in zip((one, other), before, strict=True)
    ]
    # The registry and the lookup: each lies at one of the nodes, and is a hop from the other.
    assert [sum(each.values()) for each in grown] == [20, 20]
    assert [each["cache misses"] for each in grown] == [0, 0]
    assert grown[0]["cache hops"] == grown[1]["cache here"]
    assert grown[0]["cache here"] == grown[1]["cache hops"]


def test_emptied_at_one_node_is_emptied_at_both(cluster):
    """So that nothing of before is left when the lab has put the database back."""
    one, other, _ = cluster
    one.contents()
    before = other.counts()["cache misses"]
    actuator.empty_caches(one.service)
    other.contents()
    assert other.counts()["cache misses"] - before == 2


def test_a_node_of_another_cluster_is_not_let_in(cluster):
    """Though it knows the addresses: it stays alone, and finds nothing of theirs."""
    *pair, stranger = cluster
    assert [members_of(node) for node in (*pair, stranger)] == [2, 2, 1]
    pair[0].contents()
    actuator.empty_caches(stranger.service)
    before = stranger.counts()
    stranger.contents()
    grown = {name: stranger.counts()[name] - count for name, count in before.items()}
    assert grown == {"cache here": 0, "cache hops": 0, "cache misses": 2}


def members_of(node: Node) -> int:
    """How many nodes a node knows of, by the gauge of its cluster."""
    return int(actuator.scrape(node.service)["lab_cluster_nodes"])


def test_a_port_that_is_taken_is_said(place):
    """The service does not start, and the sentence says which one it is, and what to do."""
    (port,) = free_ports(1)
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(ComponentError, match=f"another program has taken 127.0.0.1:{port}, its address") as caught,
        nodes(place, CACHED, of_cluster("taken", [port], 1)),
    ):
        pass
    assert "Try again" in caught.value.next_step
