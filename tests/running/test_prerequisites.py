"""Whether this machine has what a plan needs: a port for each connection, of as many addresses as these come from."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from machines import HERE

from lab.errors import LabError
from lab.experiments import scenarios
from lab.running import prerequisites
from lab.runtimes import DOCKER, PROCESS
from lab.spec import attached, planning
from lab.spec.options import Options
from lab.spec.plan import Plan

# More than the ports of one address, however wide their range, and fewer than those of all that loopback has.
USERS = 100_000
FEWER = "Use fewer users, or widen the range"


def service(**options: Any) -> Plan:
    """A plan of a service of the lab's own."""
    wanted = Options(users=[USERS], timeout=60.0, variants=["mvc"], **options)
    return planning.make_plan(scenarios()["delay"], wanted, HERE)


def at(*urls: str, **options: Any) -> Plan:
    """A plan of services that are there already."""
    names = [f"n{number}" for number in range(len(urls))]
    return attached.make_plan(urls, names, {}, Options(users=[USERS], timeout=60.0, **options), HERE)


def elsewhere(workers: int, remote: int, bind: str = "192.0.2.1") -> dict[str, Any]:
    """The options of so many workers here, and so many on other machines."""
    return {"workers": workers, "remote_workers": remote, "bind": bind}


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which ports it has")
@pytest.mark.parametrize(
    ("plan", "runtime"),
    [
        (service(), PROCESS),
        (at("http://127.0.0.1:8080/path", "http://127.0.0.2/"), PROCESS),
        (service(**elsewhere(workers=1, remote=1, bind="127.0.0.1")), PROCESS),
        (service(**elsewhere(workers=1, remote=9)), PROCESS),
        (at("http://192.0.2.1/", **elsewhere(workers=0, remote=1)), PROCESS),
        (service(workers=4), DOCKER),
    ],
)
def test_a_load_that_has_a_port_for_each_connection_is_not_refused(plan, runtime):
    """Over loopback they come from many addresses; each container has its own, as each other machine has."""
    prerequisites.check_ports(plan, USERS, runtime)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which ports it has")
@pytest.mark.parametrize(
    ("plan", "runtime", "step"),
    [
        (at("http://127.0.0.1/", "http://192.0.2.1/"), PROCESS, FEWER),
        (service(**elsewhere(workers=9, remote=1)), PROCESS, FEWER),
        (service(nodes=2), PROCESS, FEWER),
        (service(nodes=2, **elsewhere(workers=0, remote=1)), PROCESS, FEWER),
        (service(nodes=2, workers=4), DOCKER, "Use fewer users."),
        (service(workers=3), DOCKER, "Use fewer users, or more --workers."),
    ],
)
def test_a_load_of_more_connections_than_ports_is_refused(plan, runtime, step):
    """What reaches a service from one address has the ports of one: another machine's, a balancer's, a container's."""
    with pytest.raises(LabError, match="need as many local ports") as caught:
        prerequisites.check_ports(plan, USERS, runtime)
    assert caught.value.next_step.startswith(step)
