"""What theory predicts for a plan from its variants' demands: latencies, plateaus, durations. Times in seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from lab.formulas import queueing
from lab.formulas.calls import Calls
from lab.spec import schedule
from lab.spec.limits import Limits
from lab.spec.plan import Cell, Plan
from lab.spec.scenario import Value
from lab.spec.schedule import Seed
from lab.spec.system import COMMANDS_OF, SERVICE, Batches, Stage, Variant
from lab.spec.workload import Burst, Closed, Load, OpenLoop, Total

ANY_SEED: Seed = (0,)
# Where theory has no service time, an estimate by CPU seconds: of a request with a query, and of each byte of it. A
# document of 1 MB takes 2 ms.
WORK_S, WORK_S_PER_BYTE = 0.0003, 2e-9
Parameters = Mapping[str, Value]


def calls_of(plan: Plan, variant: Variant, parameters: Parameters) -> Calls | None:
    """The calls of a variant's requests with their limits; None where only measuring can tell how long one takes.

    That is so where requests are of several kinds, or what they call fails or is slow. Several stages are taken for
    calls of their mean time, one after the other.
    """
    stages = variant.stages
    times_s = [_time_s(plan, stage, parameters) for stage in stages]
    ranges = [_range(stage, parameters) for stage in stages]
    counts = [least for least, most in filter(None, ranges) if least == most]
    if not _is_steady(plan, variant, parameters):
        return None
    if len(variant.demands) != 1 or not stages or None in times_s or len(counts) < len(stages):
        return None
    total_s = sum(count * (time_s or 0.0) for count, time_s in zip(counts, times_s, strict=True))
    limits = _limits(plan, variant)
    return Calls(
        call_s=total_s / max(sum(counts), 1),
        calls=sum(counts),
        parallel=len(stages) == 1 and stages[0].parallel,
        threads=limits.threads if variant.thread_per_request else None,
        connections=_connections(plan, variant, parameters),
    )


def is_steady(plan: Plan, cell: Cell) -> bool:
    """Whether what a cell's requests call neither fails nor is slow for a time, as far as parameters say."""
    return _is_steady(plan, plan.scenario.variant(cell.variant), plan.parameters_of(cell))


def _is_steady(plan: Plan, variant: Variant, parameters: Parameters) -> bool:
    defaults = plan.scenario.defaults()
    return all(parameters[name] == defaults[name] for stage in variant.stages for name in stage.steady_at_default)


def _time_s(plan: Plan, stage: Stage, parameters: Parameters) -> float | None:
    """How long one call of a stage takes; None where only measuring can tell."""
    link_s = 0.0 if stage.component == SERVICE else plan.link.latency_ms / 1000
    if stage.time_parameter:
        return int(parameters[stage.time_parameter]) / 1000 + link_s
    return link_s or None


def _range(stage: Stage, parameters: Parameters) -> tuple[int, int] | None:
    """The least and the most calls that a stage makes; None where only counting can tell."""
    match stage.calls:
        case Batches(documents, size_parameter):
            size = str(parameters[size_parameter])
            if not size.isdecimal():
                return None
            least = math.ceil(documents / int(size)) - 1
            return least, documents // int(size)
        case None:
            return None
        case str(parameter):
            return int(parameters[parameter]), int(parameters[parameter])
        case number:
            return number, number


# By the name of a request, the least and the most calls that it makes; None where only counting can tell.
CallsMade = dict[str, tuple[int, int] | None]


def calls_to(plan: Plan, variant: Variant, component: str, parameters: Parameters) -> dict[str, CallsMade]:
    """The calls that each request of a variant makes to a component, by what is counted.

    Counted are its calls, by its name; and, where a stage names a command, each command, such as ``mongo find``: those
    of stages that name none are then counted by the component's name alone.
    """
    demands = {
        request.name: [stage for stage in variant.demands.get(request.name, ()) if stage.component == component]
        for request in plan.scenario.requests
    }
    named = {stage.command for stages in demands.values() for stage in stages} or {""}
    counted = {component: ""} if "" in named else {}
    commands = COMMANDS_OF.get(plan.scenario.component(component).database, ())
    counted |= {f"{component} {command}": command for command in commands} if any(named) else {}
    return {
        name: {
            request: _total([_range(stage, parameters) for stage in stages if stage.command == command])
            for request, stages in demands.items()
        }
        for name, command in counted.items()
    }


def _total(ranges: list[tuple[int, int] | None]) -> tuple[int, int] | None:
    known = [each for each in ranges if each is not None]
    return (sum(least for least, _ in known), sum(most for _, most in known)) if len(known) == len(ranges) else None


def _limits(plan: Plan, variant: Variant) -> Limits:
    """The limits of a variant's service, threads and connections of all of its nodes together."""
    each = plan.limits_of(variant.name).or_else(variant.own)
    return replace(each, threads=_of_all(each.threads, plan.nodes), pool=_of_all(each.pool, plan.nodes))


def _of_all(limit: int | None, nodes: int) -> int | None:
    return None if limit is None else nodes * limit


def _connections(plan: Plan, variant: Variant, parameters: Parameters) -> int | None:
    """N: the connections of the pool to what a variant calls, or the calls that this serves at once, if fewer.

    None if it calls nothing, or nothing limits them.
    """
    called = {stage.component for stage in variant.stages}
    components = [component for component in plan.scenario.components if component.name in called]
    pools, pool = [_of_all(component.own_pool, plan.nodes) for component in components], _limits(plan, variant).pool
    of_pools = [pool] if pools and pool is not None else [own for own in pools if own is not None]
    of_called = [int(parameters[stage.servers_parameter]) for stage in variant.stages if stage.servers_parameter]
    return min((*of_pools, *filter(None, of_called)), default=None)


def service_s(plan: Plan, cell: Cell) -> float | None:
    """t: the service time, how long one request takes without queueing; None where only measuring can tell."""
    calls = calls_of(plan, plan.scenario.variant(cell.variant), plan.parameters_of(cell))
    return calls.alone_s if calls else None


def served_at_once(plan: Plan, variant: Variant, parameters: Parameters, rps: float) -> dict[str, tuple[float, float]]:
    """How many calls each component works on at once where requests are answered at a rate, by Little's law.

    Only of components that work on a limited number.

    Args:
        rps: requests a second.

    Returns:
        By the component's name, the calls that it works on, and the most that it can. Empty where it fails or is slow
        for a time, and where only counting can tell how many calls a request makes, or how long one takes.

    """
    found = dict[str, tuple[float, float]]()
    for stage in variant.stages if _is_steady(plan, variant, parameters) else ():
        limit = int(parameters[stage.servers_parameter]) if stage.servers_parameter else 0
        count = _range(stage, parameters)
        if limit and count and count[0] == count[1] and stage.time_parameter:
            # Not the time in a slow link: there a call is in nobody's work.
            found[stage.component] = rps * count[0] * int(parameters[stage.time_parameter]) / 1000, limit
    return found


def servers(plan: Plan, variant: Variant, parameters: Parameters) -> int | None:
    """How many requests a variant serves at once: T threads or N connections, whichever is fewer; None for no limit."""
    if calls := calls_of(plan, variant, parameters):
        return calls.servers
    limits = _limits(plan, variant)
    held = (limits.threads if variant.thread_per_request else None, _connections(plan, variant, parameters))
    return min((limit for limit in held if limit is not None), default=None)


def plateaus(plan: Plan) -> list[tuple[str, float]]:
    """The most answers a second that T threads or N connections allow, such as ``("T/t", 100.0)``.

    Only for the plan's variants. Limits that no load has enough users to reach are left out, and all where t is unknown
    or differs from cell to cell.
    """
    if plan.link.is_limited or any(cell.parameters for cell in plan.cells):
        return []
    found = set()
    for variant in plan.variants:
        calls = calls_of(plan, variant, plan.parameters)
        if calls and calls.call_s and calls.servers and calls.servers <= plan.most_users:
            by_connections = replace(calls, threads=None).capacity_rps
            letter = "N" if by_connections <= calls.capacity_rps else "T"
            found.add((f"{letter}/(x·t)" if calls.calls > 1 else f"{letter}/t", calls.capacity_rps))
    return sorted(found, key=lambda plateau: plateau[1])


def mean_latency(load: Load, calls: Calls, seed: Seed = ANY_SEED) -> float:
    """The mean latency that theory predicts for a load whose requests all make these calls."""
    match load:
        case Burst():
            return calls.burst_mean_s(schedule.planned_s(load, seed), load.loops)
        case Closed():
            return calls.closed_mean_s(load.users)
        case Total():
            return calls.closed_mean_s(min(load.users, load.requests))
        case _:
            return float(calls.open_latencies(schedule.planned_s(load, seed), load.users).mean())


def predict(plan: Plan, cell: Cell) -> float | None:
    """The mean latency that theory predicts for a cell.

    None where it predicts none: over a link of limited rate, of users that are ever more, and in an open loop whose
    queue becomes so long that requests time out. Then the right answers are those that waited little.
    """
    calls = _calls_of(plan, cell)
    if calls is None:
        return None
    if isinstance(cell.load, OpenLoop):
        # Each window begins without a queue.
        windows = [
            schedule.planned_s(cell.load.window(number), schedule.seed_of(plan, cell, number))
            for number in range(cell.load.windows)
        ]
        latencies_s = np.concatenate([calls.open_latencies(planned_s, cell.load.users) for planned_s in windows])
        return float(latencies_s.mean()) if latencies_s.max() <= cell.load.timeout_s else None
    return mean_latency(cell.load, calls, schedule.seed_of(plan, cell))


def predict_wait(plan: Plan, cell: Cell) -> float | None:
    """How long requests of a cell take on average where nobody gives up; None as in :func:`predict`."""
    calls = _calls_of(plan, cell)
    return mean_latency(cell.load, calls, schedule.seed_of(plan, cell)) if calls else None


def _calls_of(plan: Plan, cell: Cell) -> Calls | None:
    if plan.link.is_limited or (isinstance(cell.load, Closed) and cell.load.is_ramp):
        return None
    return calls_of(plan, plan.scenario.variant(cell.variant), plan.parameters_of(cell))


def predict_over_link(plan: Plan, cell: Cell) -> float | None:
    """As :func:`predict`, but also for a burst over a link of limited rate, where waves wait for those before them.

    It ignores the ramp.
    """
    if not plan.link.is_limited:
        return predict(plan, cell)
    waited_s, total_s = 0.0, 0.0
    variant, parameters = plan.scenario.variant(cell.variant), plan.parameters_of(cell)
    for requests in queueing.wave_sizes(cell.load.users, servers(plan, variant, parameters)):
        waited_s += _wave_s(plan, variant, requests, parameters)
        total_s += requests * waited_s
    return total_s / cell.load.users


def _wave_s(plan: Plan, variant: Variant, requests: int, parameters: Parameters) -> float:
    """How long requests take that start together and wait for nobody; 0 where that is not known before measuring."""
    calls, link = calls_of(plan, variant, parameters), plan.link
    alone_s = calls.alone_s if calls else 0.0
    return alone_s + queueing.transfer_s(requests, _moved_bytes(variant), link.rate, link.connection_rate)


def slowest_alone_s(plan: Plan, parameters: Parameters) -> float:
    """How long a request takes that waits for nobody, of the slowest variant of the scenario; 0 where not known."""
    return max((_wave_s(plan, variant, 1, parameters) for variant in plan.scenario.variants), default=0.0)


def least_capacity_rps(plan: Plan, parameters: Parameters) -> float:
    """The most requests a second that every variant of the scenario can answer; infinite where nothing limits them."""
    rates = []
    for variant in plan.scenario.variants:
        at_once = servers(plan, variant, parameters)
        time_s = _wave_s(plan, variant, at_once or 1, parameters)
        calls = calls_of(plan, variant, parameters)
        if calls and not plan.link.is_limited:
            rates.append(calls.capacity_rps)
        elif at_once and time_s:
            rates.append(at_once / time_s)
    return min(rates, default=math.inf)


def _moved_bytes(variant: Variant) -> int:
    return sum(stage.answer_bytes for stage in variant.stages if stage.component != SERVICE)


def moved_bytes(plan: Plan) -> int:
    """Bytes that one request moves over the link; of the scenario's variants the most."""
    return max(map(_moved_bytes, plan.scenario.variants), default=0)


def work_s(plan: Plan) -> float:
    """A guess of the CPU time of a request, in seconds, for plans that are made before it is measured."""
    return WORK_S + WORK_S_PER_BYTE * moved_bytes(plan)


def load_s(plan: Plan, cell: Cell) -> float:
    """How long the measured load of a cell takes, from the first request to the last answer."""
    load, time_s = cell.load, service_s(plan, cell)
    parameters, variant = plan.parameters_of(cell), plan.scenario.variant(cell.variant)
    if isinstance(load, Closed | OpenLoop):
        return load.duration_s + (time_s or 0.0)
    if time_s is None and not plan.link.is_limited:
        requests = load.planned_sessions * max(plan.scenario.requests_a_session, 1)
        return load.ramp_s + load.rounds * load.pace * plan.scenario.think_s + work_s(plan) * requests
    all_s = all_answered_s(plan, variant, load.users, parameters)
    return max(load.ramp_s, last_start_s(load, servers(plan, variant, parameters)) + all_s * load.rounds)


def last_start_s(load: Burst | Closed | Total, servers: int | None) -> float:
    """When the first request of the wave that ends last starts within the ramp."""
    return load.ramp_s * ((load.users - 1) % (servers or load.users)) / load.users


def all_answered_s(plan: Plan, variant: Variant, users: int, parameters: Parameters) -> float:
    """How long R requests to a variant that start together take until all are answered."""
    calls = calls_of(plan, variant, parameters)
    if calls and not plan.link.is_limited:
        return calls.all_s(users)
    waves = queueing.wave_sizes(users, servers(plan, variant, parameters))
    return sum(_wave_s(plan, variant, requests, parameters) for requests in waves)
