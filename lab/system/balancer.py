"""HAProxy in front of the nodes of a service: round robin, and no request is ever sent twice."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import requests

from lab.errors import ComponentError, LabError
from lab.runtimes import LOOPBACK, Launch, Running, Runtime, loopback, process
from lab.spec import http_address
from lab.spec.plan import Plan
from lab.spec.system import BALANCER
from lab.system.free_port import server_on_free_port
from lab.system.service import Service

PROGRAM = "haproxy"
# Where Debian has it, which is not on the PATH of everybody.
SBIN = "/usr/local/sbin:/usr/sbin"
REMEDY = "Install it (Debian: apt-get install haproxy), or leave --nodes out."
# Connections beyond one a user: those of the contract, of a warm-up that ends as the load begins.
SPARE_CONNECTIONS = 256
# So long after the load's own timeout the balancer would end a request, or close a connection that rests: it does
# neither, not even between two loads. What a service itself does with a request that waits is the service's own.
SPARE_S = 3600
# In a container, which has all ports to itself; its folder is there under the same path.
INNER_PORT, INNER_MANAGEMENT_PORT = 8080, 9080
ANSWER_WITHIN_S = 5.0
STATISTICS, METRICS = "/statistics", "/metrics"
FRONT, BACK = "service", "nodes"
# Said of the connections to a node: then no queue can form in the balancer, and what waits does so in the nodes.
UNLIMITED = "unlimited"
# Statuses are counted by their first digit.
ANSWERS = ("hrsp_1xx", "hrsp_2xx", "hrsp_3xx", "hrsp_4xx", "hrsp_5xx", "hrsp_other")

CONFIGURATION = """\
global
    maxconn {connections}

defaults
    mode http
    balance roundrobin
    retries 0
    no option redispatch
    timeout connect {timeout_s}s
    timeout client {timeout_s}s
    timeout server {timeout_s}s
    timeout check {check_within_s}s

frontend {FRONT}
    bind {listens}
    maxconn {connections}
    default_backend {BACK}

backend {BACK}
    option httpchk GET {check_path}
    default-server check inter {check_every_s}s fall {check_fall} rise {check_rise}
{servers}

frontend management
    bind {manages}
    http-request use-service prometheus-exporter if {{ path {METRICS} }}
    stats enable
    stats uri {STATISTICS}
"""


@dataclass(frozen=True)
class Settings:
    """The settings of a balancer.

    Attributes:
        connections: of clients at most; a node has as many as it takes, so that nothing queues in the balancer by its
            own limits.
        timeout_s: of everything.
        check_every_s: how often each node is asked whether it answers; the same outcome so many times in a row takes
            it out (``check_fall``) or back in (``check_rise``). It is not asked for its database, whose connections a
            load may all have in use: then checks would take a node out that answers as well as it can.

    """

    connections: int
    timeout_s: int
    check_every_s: int = 1
    check_within_s: int = 5
    check_fall: int = 2
    check_rise: int = 2

    @property
    def health_checks(self) -> str:
        """When a node is asked, and what comes of it, in words."""
        asked = f"every {self.check_every_s} s within {self.check_within_s} s"
        return f"{asked}, out after {self.check_fall}, in after {self.check_rise}"


def settings_for(plans: Iterable[Plan]) -> Settings:
    """The settings for all loads of all plans that have it in common."""
    found = list(plans)
    users = max(plan.peak_users for plan in found)
    longest_s = max(cell.load.timeout_s for plan in found for cell in plan.cells)
    return Settings(users + SPARE_CONNECTIONS, int(longest_s) + SPARE_S)


@dataclass(frozen=True)
class Site:
    """Where a balancer runs.

    Attributes:
        folder: for its configuration and its log.
        cores: that it may use; all if empty.
        image: empty for a process.
        host: the address for the load; that of the runtime if None.

    """

    runtime: Runtime
    folder: Path
    cores: frozenset[int] = frozenset()
    image: str = ""
    host: str | None = None


def program() -> str:
    """The path of HAProxy on this machine; LabError if there is none."""
    found = shutil.which(PROGRAM) or shutil.which(PROGRAM, path=SBIN)
    if not found:
        raise LabError("Several nodes are balanced by HAProxy, which is not installed.", REMEDY)
    return found


@contextmanager
def balanced(nodes: Mapping[str, Service], settings: Settings, site: Site) -> Iterator[Service]:
    """A balancer of services, by their names; it ends with the context.

    Returns:
        The balancer as a service: its ``url`` for the load, its ``management`` for :func:`counted`.

    Raises:
        LabError: it ended, or was not ready in time; with the last lines of its log.

    """
    site.folder.mkdir(parents=True, exist_ok=True)
    host = site.host or LOOPBACK
    management = ""

    def launch(port: int) -> Launch:
        nonlocal management
        listens, manages = f"{host}:{port}", f"{LOOPBACK}:{process.free_ports(1)[0]}"
        if site.image:
            listens, manages = f":{INNER_PORT}", f":{INNER_MANAGEMENT_PORT}"
        management = manages
        file = site.folder / "haproxy.cfg"
        file.write_text(configuration(nodes, settings, listens, manages))
        return Launch(
            BALANCER,
            (PROGRAM if site.image else program(), "-db", "-f", str(file)),
            site.folder / "haproxy.log",
            cores=site.cores,
            alone=True,
            folder=site.folder,
            image=site.image,
            reads_only=True,
        )

    def service(running: Running, port: int) -> Service:
        if not site.image:
            return Service(running, f"http://{host}:{port}", f"http://{management}", METRICS)
        url, asked = (f"http://{at}:{inner}" for at, inner in map(running.reach, (INNER_PORT, INNER_MANAGEMENT_PORT)))
        return Service(running, url, asked, METRICS)

    def is_ready(running: Running, port: int) -> bool:
        return counted(service(running, port)) is not None

    ports = [INNER_PORT] if site.image else None
    with server_on_free_port(site.runtime, launch, is_ready, ports) as (running, port):
        yield service(running, port)


def configuration(nodes: Mapping[str, Service], settings: Settings, listens: str, manages: str) -> str:
    """HAProxy's configuration file.

    Args:
        listens: the address for the load.
        manages: the address for its statistics and metrics.

    """
    return CONFIGURATION.format(
        **asdict(settings),
        FRONT=FRONT,
        BACK=BACK,
        METRICS=METRICS,
        STATISTICS=STATISTICS,
        listens=listens,
        manages=manages,
        check_path=next(node.check_path for node in nodes.values()),  # all run the same
        servers="\n".join(f"    server {_server(name)} {_addresses(node)}" for name, node in nodes.items()),
    )


def _server(name: str) -> str:
    """The name of a node in HAProxy, whose names have no spaces."""
    return name.replace(" ", "-")


def _addresses(node: Service) -> str:
    load, asked = (http_address.split(url) for url in (node.url, node.management))
    return f"{load.hostname}:{load.port} addr {asked.hostname} port {asked.port}"


@dataclass(frozen=True)
class Counted:
    """What a balancer has counted so far.

    Attributes:
        received: requests of clients.
        passed_on: by node, its answers that were passed on.
        refused: what clients were answered that no node had answered: 503 where none could be reached, 502 and 504
            where what a node sent broke off or never came, 400 and 408 to what was no whole request. A node may have
            counted a request all the same that was answered so.
        up: by node, whether it gets requests.

    """

    received: int
    passed_on: Mapping[str, int]
    refused: int
    up: Mapping[str, bool]


def counted(balancer: Service, nodes: Iterable[str] = (), within_s: float = ANSWER_WITHIN_S) -> Counted | None:
    """What a balancer has counted of its nodes; None if it does not answer.

    Args:
        nodes: their names.

    """
    rows = _statistics(balancer, within_s)
    if rows is None:
        return None
    front = rows[FRONT, "FRONTEND"]
    of_nodes = {name: rows[BACK, _server(name)] for name in nodes}
    passed_on = {name: _answers(row) for name, row in of_nodes.items()}
    return Counted(
        received=int(front["req_tot"]),
        passed_on=passed_on,
        # An answer that is on its way is counted of its node first.
        refused=max(0, _answers(front) - sum(passed_on.values())),
        up={name: row["status"].startswith("UP") for name, row in of_nodes.items()},
    )


def _statistics(balancer: Service, within_s: float) -> dict[tuple[str, str], dict[str, str]] | None:
    """HAProxy's statistics, by proxy and by what they are of; None if it does not answer."""
    page = _page(f"{balancer.management}{STATISTICS};csv", within_s)
    if page is None:
        return None
    return {(row["# pxname"], row["svname"]): row for row in csv.DictReader(page.splitlines())}


def _page(address: str, within_s: float) -> str | None:
    """A page of HAProxy's management; None if it does not answer."""
    try:
        page = loopback.get(address, within_s)
        page.raise_for_status()
    except requests.RequestException:
        return None
    return page.text


def _answers(row: Mapping[str, str]) -> int:
    return sum(int(row[name] or 0) for name in ANSWERS)


def limits(balancer: Service, settings: Settings) -> dict[str, int | str]:
    """The limits of a balancer, kept beside those of the service: as it says, where it does, else as it was told.

    ComponentError if it does not answer.
    """
    rows, metrics = _statistics(balancer, ANSWER_WITHIN_S), _page(balancer.metrics, ANSWER_WITHIN_S)
    if rows is None or metrics is None:
        raise ComponentError("The balancer did not report its limits.", "", balancer.running.log_tail())
    to_a_node = {row["slim"] for (proxy, name), row in rows.items() if proxy == BACK and name != "BACKEND"}
    version = re.search(r'haproxy_process_build_info\{version="([^"]+)"', metrics)
    return {
        "balancer": f"HAProxy {version[1]}" if version else "HAProxy",
        "balancer_policy": "round robin, no retries, no redispatch",
        "balancer_max_connections": int(rows[FRONT, "FRONTEND"]["slim"]),
        "balancer_node_connections": " or ".join(sorted(limit or UNLIMITED for limit in to_a_node)),
        "balancer_timeout_s": settings.timeout_s,
        "balancer_health_checks": settings.health_checks,
    }
