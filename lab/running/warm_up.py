"""Warms a service up by rounds of its load until the CPU cost of a request has settled, or its compiler rests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import structs

from lab.analysis.observations import Observed
from lab.errors import ComponentError
from lab.generator.fleet import Fleet, LoadPhase, LoadTimeoutError
from lab.running.progress import Update
from lab.running.testbed import Testbed
from lab.spec.plan import Cell
from lab.spec.workload import Burst, Load
from lab.system.deployment import Deployment
from lab.system.launch import GC_LOG
from lab.telemetry import actuator, gc_log

MIN_ROUNDS = 3
# Enough for thousands of requests a second, and few enough to leave the compiler a core of two.
FEW_USERS = 3
SETTLED_SHARE, AT_REST_SHARE = 0.15, 0.10
WITHIN_S = 120.0
# Of the cores, by what a request costs: from there on what requests wait for is the CPU more and more.
BUSY_SHARE = 0.5


def warm_up(
    testbed: Testbed, cell: Cell, deployment: Deployment, fleet: Fleet, observed: Observed, update: Update
) -> None:
    """Run rounds of the load, without waiting times and pauses, until the service is warm: see :func:`is_warm`.

    Where the CPU decides, its compiler must rest, in three stages: with a few users, since busy threads leave it no
    time; with as many as will be measured, since they take other code paths; and with these, pinned to the service's
    cores. Elsewhere it must before a burst that keeps the cores busy, as long as there are rounds left: see
    :func:`is_busy`.
    A start that was warm before, for another load, is warmed up for this one in the last of these stages.
    """
    scenario = testbed.plan.scenario
    rounds = scenario.rehearsal
    parameters = {**testbed.plan.parameters_of(cell), **rounds.parameters}
    path = scenario.path(parameters)
    watched = [*deployment.running, *testbed.backing.needed().values()]
    first, many = first_users(testbed, cell), at_most(rounds.most_users, cell.load.users)
    acts = [(first, False), (many, False), (many, True)] if testbed.plan.cpu_decides else [(first, False)]
    if observed.warm_up_before:
        acts = acts[-1:]
    before = actuator.cpu_times(deployment)
    for users, alone in acts:
        if alone:
            deployment.confine(testbed.cores.service)
        rehearsal: Load = cell.load.as_burst(ramp_s=0.0, users=users, loops=max(1, rounds.requests // users))
        if rounds.duration_s:
            rehearsal = rehearsal.as_closed(rounds.duration_s)
        rehearsal = structs.replace(rehearsal, pace=0.0)
        begun, warm = len(observed.warm_up), False
        for number in range(begun + 1, begun + rounds.rounds + 1):
            phase = LoadPhase(deployment.url, rehearsal, parameters, path, number)
            # For the measured load too, before which the service is not to rest.
            if testbed.tracked.await_room(testbed.connections(users + cell.load.users), testbed.reporter):
                before = actuator.cpu_times(deployment)
            try:
                result = fleet.run_phase(phase, WITHIN_S, watched)
            except LoadTimeoutError as error:
                if not has_full_heap(deployment):
                    raise
                raise ComponentError(f"{error} The service's heap is full: raise --heap-mb.") from error
            after = actuator.cpu_times(deployment)
            spent = after.since(before, result.finished)
            before = after
            observed.warm_up.append({**spent, "users": users})
            cost, compiler = f"{spent['cpu_us_per_request']:.0f} µs CPU a request", f"compiler {spent['jit_share']:.0%}"
            update(number - begun, f"round {number}: {cost}, {compiler}")  # the bar restarts with each stage
            stage = observed.warm_up[begun:]
            warm = warm or is_warm(stage, testbed.plan.cpu_decides)
            busy = is_busy(cell.load, spent["cpu_us_per_request"], testbed.cores.cpus)
            if warm and (is_warm(stage, until_compiled=True) or not busy):
                break
        observed.warm = warm


def is_busy(load: Load, cost_us: float, cores: int) -> bool:
    """Whether a burst keeps a service's cores busy for more than half of the time while its requests come.

    By the utilization law, U = λ·S. A burst has no trend, so that nothing else would show that its service was cold.

    Args:
        cost_us: S, the CPU time of a request in microseconds, with that of the compilers.
        cores: how many the service has.

    """
    if not isinstance(load, Burst):
        return False
    rate_rps = load.users / load.ramp_s if load.ramp_s else math.inf
    return rate_rps * cost_us / 1e6 > BUSY_SHARE * cores


def has_full_heap(deployment: Deployment) -> bool:
    """Whether the heap of one of a service's nodes stays full: see :func:`lab.telemetry.gc_log.shows_full_heap`."""
    folders = [node.running.launch.folder for node in deployment.nodes.values()]
    logs = [log for folder in folders if folder and (log := folder / GC_LOG).exists()]
    return any(gc_log.shows_full_heap(log.read_text(errors="replace")) for log in logs)


def first_users(testbed: Testbed, cell: Cell) -> int:
    """The number of users of the first stage of the warm-up.

    Those of an open loop are a reserve for its overload, and those of a ramp come one by one: all of them at once would
    be an overload before it has begun.
    """
    scenario = testbed.plan.scenario
    if testbed.plan.cpu_decides:
        users = FEW_USERS
    else:
        grows = cell.load.independent or cell.load.is_ramp
        users = scenario.rehearsal.users if grows else max(cell.load.users, scenario.rehearsal.users)
    return at_most(scenario.rehearsal.most_users, users)


def at_most(most: int, users: int) -> int:
    """So many users, or as many as there may be at most; 0 is no limit."""
    return min(users, most or users)


def is_warm(rounds: Sequence[Mapping[str, float]], until_compiled: bool) -> bool:
    """Whether a service is warm: in the last two rounds its compiler was idle, or the CPU cost was the same.

    Args:
        rounds: rows of :meth:`lab.telemetry.actuator.CpuTimes.since`, oldest first.
        until_compiled: whether the same cost is not enough, as it may be about to fall while the compiler works.

    """
    if len(rounds) < MIN_ROUNDS:
        return False
    if max(row["jit_share"] for row in rounds[-2:]) <= AT_REST_SHARE:
        return True
    before, last = (row["cpu_us_per_request"] for row in rounds[-2:])
    return not until_compiled and abs(before - last) <= SETTLED_SHARE * max(before, last)
