"""The prerequisites of a run on this machine: files, ports, memory, disk, programs; checked before the start."""

from __future__ import annotations

import math
import shutil
import socket
from dataclasses import replace

from lab.errors import LabError
from lab.generator.fleet import check_join_token, new_join_token
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.runtimes import DOCKER, LOOPBACK, PROCESS, checkout, host
from lab.runtimes.checkout import ROOT
from lab.spec import http_address, memory
from lab.spec.plan import Plan
from lab.spec.planning import split_address
from lab.spec.scenario import Scenario
from lab.system import balancer, images, prometheus
from lab.system.jdk import find_jdk

# The Locust master, the lab and its libraries keep some files open besides one socket a user.
SPARE_FILES = 256
# Of Linux: each container has its own, whatever range the machine was given.
PORTS_IN_CONTAINER = 60_999 - 32_768


def check(plan: Plan, users: int, invocation: Invocation) -> tuple[str, str]:
    """LabError if a plan cannot be carried out here, as far as that is known while nothing is started or written.

    It comes first in a run, and is all that a dry run does. What only a start shows is not in it, such as a database
    that does not answer.

    Args:
        users: the largest number of users of any cell.

    Returns:
        The runtime, ``process`` or ``docker``, and why.

    """
    invocation.endpoints.check()
    images.check_known(invocation.runtime)
    entry, chosen, why = plan.scenario.entry, PROCESS, ""
    if entry == "service":
        chosen, why = images.choose(invocation.runtime)
    elif entry == "program" and invocation.runtime == DOCKER:
        raise LabError("Programs are executed on this machine.", "Leave --runtime docker out.")
    check_machine(plan, users, invocation, chosen)
    if entry == "service":
        check_locustfile(plan.scenario)
        if chosen == PROCESS:
            check_programs(plan)
    if needs_jdk(plan):
        find_jdk()
    if entry != "program":
        check_master(plan, chosen, invocation.endpoints.join)
    return chosen, why


def needs_jdk(plan: Plan) -> bool:
    """Whether anything of a plan is built by Maven, or executed by Java."""
    words = [word for variant in plan.variants for word in variant.command]
    return any(variant.module for variant in plan.variants) or any("{java}" in word for word in words)


def check_machine(plan: Plan, users: int, invocation: Invocation, runtime: str) -> None:
    """LabError if this machine's limits, memory or disk space are too small for a plan."""
    check_open_files(plan, users)
    check_ports(plan, users, runtime)
    host.check_backlog(max(plan.limits_of(cell.variant).accept_count or 0 for cell in plan.cells))
    memory.check(plan, users, host.machine(), invocation.endpoints.databases)
    host.check_free_space(invocation.runs)


def check_open_files(plan: Plan, users: int) -> None:
    """LabError if one of a plan's processes would have more files open than the system allows."""
    sockets = 2 if plan.is_balanced else 1  # of a user: a balancer has one to a node too
    host.raise_open_file_limit(sockets * (users + SPARE_FILES) + min(users, _calls_at_once(plan)))


def check_ports(plan: Plan, users: int, runtime: str) -> None:
    """LabError if the connections of a load come from addresses that have too few ports for them."""
    load = plan.cells[0].load  # which workers play it is the same in all cells
    of_worker = math.ceil(users / (load.workers + load.remote_workers))
    who, most, remedy = "A worker", of_worker, "Use fewer users, or more --workers."
    if plan.is_balanced:
        # It reaches a node from one address, and the last node alone would get the connections of all users.
        who, most, remedy = "The balancer", users, "Use fewer users."
    if runtime == PROCESS:
        one_address = plan.is_balanced or not all(name.startswith("127.") for name in _loaded_hosts(plan))
        connections = users if plan.is_balanced else of_worker * load.workers
        host.check_ports(connections, 1 if one_address else http_address.LOOPBACK_ADDRESSES)
    elif most > PORTS_IN_CONTAINER:
        raise LabError(
            f"{who} has the connections of {most:,} users, which need as many local ports, and a container has "
            f"{PORTS_IN_CONTAINER:,}.",
            remedy,
        )


def _loaded_hosts(plan: Plan) -> set[str]:
    """The hosts that processes of a plan are loaded at, as an address has them."""
    if plan.scenario.entry == "attached":
        return {http_address.split(variant.url).hostname or "" for variant in plan.variants}
    return {split_address(plan.bind)[0] if plan.bind else LOOPBACK}


def _calls_at_once(plan: Plan) -> int:
    """For how many requests at once a service has a connection to another one, besides that to the client."""
    if all(component.database for component in plan.components):
        return 0
    return max(plan.limits_of(cell.variant).pool or 0 for cell in plan.cells)


def with_programs(plan: Plan, reporter: Reporter) -> Plan:
    """A plan without the programs that this machine does not have, each of which is told.

    LabError where variants were chosen, and the program of one of them is missing, or where all are.
    """
    missing = [variant for variant in plan.variants if variant.command and not _is_here(variant.command[0])]
    here = [variant for variant in plan.variants if variant not in missing]
    chosen = len(plan.variants) < len(plan.scenario.variants)
    for variant in missing:
        said = f"{variant.name} needs the program {variant.command[0]}, which is not installed here"
        if chosen or not here:
            others = ",".join(each.name for each in here)
            command = f"python -m lab run {plan.scenario.name} --variants {others}"
            step = f"Install it, or leave it out: {command}" if here else "Install it."
            raise LabError(f"{said}.", step)
        reporter.say(f"  {said}: it is left out", "left out", "yellow")
    return replace(plan, cells=tuple(cell for cell in plan.cells if plan.scenario.variant(cell.variant) in here))


def _is_here(program: str) -> bool:
    """Whether a program can be executed in the checkout; what has a placeholder is found when it is executed."""
    return "{" in program or shutil.which(str(ROOT / program) if "/" in program else program) is not None


def check_programs(plan: Plan) -> None:
    """LabError if a program that a plan needs besides its services is not on this machine."""
    if plan.is_balanced:
        balancer.program()
    if plan.prometheus:
        prometheus.program()


def check_locustfile(scenario: Scenario) -> None:
    """LabError if a scenario has no locustfile."""
    file = checkout.locustfile(scenario.played_by)
    if not file.exists():
        raise LabError(
            f"There is no locustfiles/{file.name}, which plays {scenario.name}.", "Write it, like the others there."
        )


def check_master(plan: Plan, runtime: str, given: str) -> None:
    """LabError if a plan's workers on other machines could not join; or if there are none, and a token is given.

    Args:
        given: the token that the user has chosen for them; one will be drawn if it is empty.

    """
    if not plan.bind:
        if given:
            raise LabError("--join is the token of workers on other machines.", "Add --remote-workers N.")
        return
    check_master_address(plan, runtime)
    if given:
        check_join_token(given)


def announce_master(plan: Plan, reporter: Reporter, given: str) -> str:
    """Print the command for workers on other machines, if a plan that was checked has any.

    Args:
        given: the token that the user has chosen for them; one is drawn if it is empty.

    Returns:
        The token that they join with; empty if there are none.

    """
    if not plan.bind:
        return ""
    token = given or new_join_token()
    shown = "…, the same as here" if given else token
    reporter.say(f"  on the other machines: python -m lab worker --master {plan.bind} --join {shown}")
    return token


def check_master_address(plan: Plan, runtime: str) -> None:
    """LabError if workers on other machines could not join: no such address, its port taken, or containers."""
    if runtime == DOCKER:
        raise LabError("Containers listen on this machine only.", "Use --remote-workers with --runtime process.")
    try:
        with socket.create_server(split_address(plan.bind)):
            pass
    except OSError as error:
        raise LabError(
            f"The lab cannot listen at {plan.bind}: {error.strerror}.",
            "Give --bind another address of this machine, or another port: --bind HOST:PORT.",
        ) from error
