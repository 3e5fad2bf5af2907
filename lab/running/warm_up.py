"""Warms a service up by rounds of its load until the CPU cost of a request has settled, or its compiler rests."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from msgspec import structs

from lab.analysis.checks import AT_REST_ROUNDS, AT_REST_SHARE, CHANGE_SUSPECT_SHARE, SETTLED_ROUNDS, SETTLED_SHARE
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

MIN_ROUNDS, LAST_ROUNDS = 3, 5
# Enough for thousands of requests a second, and few enough to leave the compiler a core of two.
FEW_USERS = 3
WITHIN_S = 120.0
# Of the cores, by what a request costs: from there on what requests wait for is the CPU more and more.
BUSY_SHARE = 0.5


def warm_up(
    testbed: Testbed, cell: Cell, deployment: Deployment, fleet: Fleet, observed: Observed, update: Update
) -> None:
    """Run rounds of the load, without waiting times and pauses, until the service is warm: see :func:`is_warm`.

    Where the CPU decides, its compiler must rest, in three stages: with a few users, since busy threads leave it no
    time; with as many as will be measured, since they take other code paths; and with these, pinned to the service's
    cores. Elsewhere it must before a burst that keeps the cores busy (see :func:`is_busy`), with as many users as will
    be measured in the end.
    A start that was warm before, for another load, is warmed up for this one in the last of these stages.
    """
    plan = testbed.plan
    first, many = first_users(testbed, cell), at_most(plan.scenario.rehearsal.most_users, cell.load.users)
    stages = [(first, False), (many, False), (many, True)] if plan.cpu_decides else [(first, False)]
    if observed.warm_up_before:
        stages = stages[-1:]
    for users, alone in stages:
        if alone:
            deployment.confine(testbed.cores.service)
        observed.warm = _run_stage(testbed, cell, deployment, fleet, observed, update, users)
    cost_us = observed.warm_up[-1]["cpu_us_per_request"]
    if not plan.cpu_decides and first < cell.load.users and is_busy(cell.load, cost_us, testbed.cores.cpus):
        observed.warm = _run_stage(testbed, cell, deployment, fleet, observed, update, cell.load.users)


def _run_stage(
    testbed: Testbed, cell: Cell, deployment: Deployment, fleet: Fleet, observed: Observed, update: Update, users: int
) -> bool:
    """Run rounds with so many users until the service is warm, or as many as there may be; whether it is warm."""
    plan, rounds = testbed.plan, testbed.plan.scenario.rehearsal
    parameters = {**plan.parameters_of(cell), **rounds.parameters}
    path = plan.scenario.path(parameters)
    watched = [*deployment.running, *testbed.backing.needed().values()]
    rehearsal: Load = cell.load.as_burst(ramp_s=0.0, users=users, loops=max(1, rounds.requests // users))
    if rounds.duration_s:
        rehearsal = rehearsal.as_closed(rounds.duration_s)
    rehearsal = structs.replace(rehearsal, pace=0.0)
    begun, settled, busy = len(observed.warm_up), False, False
    before = actuator.cpu_times(deployment)
    for number in range(1, rounds.rounds + 1):
        phase = LoadPhase(deployment.url, rehearsal, parameters, path, begun + number)
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
        update(number, f"round {begun + number}: {cost}, {compiler}")  # the bar restarts with each stage
        stage = observed.warm_up[begun:]
        settled = settled or is_warm(stage, plan.cpu_decides)
        busy = is_busy(cell.load, spent["cpu_us_per_request"], testbed.cores.cpus)
        if settled and (not busy or is_warm(stage, until_compiled=True) or cost_has_settled(stage)):
            return True
        if rounds.restored_after and number % rounds.restored_after == 0:
            testbed.backing.restore(plan.scenario, parameters)
            before = actuator.cpu_times(deployment)
    return settled and not busy


def is_busy(load: Load, cost_us: float, cores: int) -> bool:
    """Whether a burst keeps a service's cores busy for more than half of the time while its requests come.

    By the utilization law, U = λ·S, with λ as if answers took no time: then all loops are sent while users come. A
    burst has no trend, so that nothing else would show that its service was cold.

    Args:
        cost_us: S, the CPU time of a request in microseconds, with that of the compilers.
        cores: how many the service has.

    """
    if not isinstance(load, Burst):
        return False
    rate_rps = load.planned_sessions / load.ramp_s if load.ramp_s else math.inf
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
    """Whether a service is warm: its compiler rested in the last two rounds, or the last three cost the same.

    The same is within 15 %. Of fewer than three rounds it may be that of a service that has hardly been compiled.

    Args:
        rounds: rows of :meth:`lab.telemetry.actuator.CpuTimes.since`, oldest first.
        until_compiled: whether the same cost is not enough, as it may be about to fall while the compiler works.

    """
    if len(rounds) < MIN_ROUNDS:
        return False
    if max(row["jit_share"] for row in rounds[-AT_REST_ROUNDS:]) <= AT_REST_SHARE:
        return True
    costs = [row["cpu_us_per_request"] for row in rounds[-SETTLED_ROUNDS:]]
    return not until_compiled and max(costs) - min(costs) <= SETTLED_SHARE * max(costs)


def cost_has_settled(rounds: Sequence[Mapping[str, float]]) -> bool:
    """Whether what compilers still do makes no request cheaper: five rounds cost as much as the five before, or more.

    Compilers of a burst's service may never rest: each round begins with as many threads as it has users.

    Args:
        rounds: as for :func:`is_warm`.

    """
    if len(rounds) < 2 * LAST_ROUNDS:
        return False
    costs = [row["cpu_us_per_request"] for row in rounds[-2 * LAST_ROUNDS :]]
    return fmean(costs[LAST_ROUNDS:]) >= (1 - CHANGE_SUSPECT_SHARE) * fmean(costs[:LAST_ROUNDS])
