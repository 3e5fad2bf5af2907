"""What theory predicts for a plan: requests served at once, mean latencies, plateaus, durations. Times in seconds."""

from __future__ import annotations

from lab.formulas import queueing
from lab.spec import schedule
from lab.spec.plan import Cell, Plan
from lab.spec.schedule import Seed
from lab.spec.system import Variant
from lab.spec.workload import Load

ANY_SEED: Seed = (0,)
# Where theory has no service time, an estimate by CPU seconds: of a request with a query, and of each byte of it.
WORK_S, WORK_S_PER_BYTE = 0.0003, 1e-8


def service_s(plan: Plan) -> float | None:
    """t: the service time, how long one request takes without queueing; None where only measuring can tell."""
    if plan.scenario.service_time:
        return plan.parameters[plan.scenario.service_time] / 1000
    return plan.link.latency_ms / 1000 or None


def servers(plan: Plan, variant: Variant) -> int | None:
    """How many requests a variant serves at once: T threads or N connections, whichever is fewer; None for no limit."""
    return min((limit for limit, _ in _limits(plan, variant)), default=None)


def fewest_servers(plan: Plan) -> int | None:
    """The fewest requests that any variant of the scenario serves at once: min(T, N); None if none is limited.

    Variants that are not measured count too, so that runs of one variant each have the same loads and are comparable.
    """
    counts = (servers(plan, variant) for variant in plan.scenario.variants)
    return min((count for count in counts if count is not None), default=None)


def _limits(plan: Plan, variant: Variant) -> list[tuple[int, str]]:
    """Each limit of the requests that a variant serves at once, with its letter in the formulas."""
    limits = plan.limits_of(variant.name).or_else(variant.own)
    pool = plan.scenario.own_pool if limits.pool is None else limits.pool
    known = [(limits.threads, "T")] * variant.thread_per_request + [(pool, "N")] * bool(plan.scenario.databases)
    return [(limit, letter) for limit, letter in known if limit is not None]


def plateaus(plan: Plan) -> list[tuple[str, float]]:
    """The most answers a second that T threads or N connections allow, as ``("T", T/t)`` and ``("N", N/t)``.

    Only for the plan's variants. Limits that no load has enough users to reach are left out, and all if t is unknown.
    """
    time_s = None if plan.link.is_limited else service_s(plan)
    if not time_s:
        return []
    least = {min(limits) for variant in plan.variants if (limits := _limits(plan, variant))}
    return [(letter, limit / time_s) for limit, letter in sorted(least) if limit <= plan.most_users]


def mean_latency(load: Load, service_s: float, servers: int | None, seed: Seed = ANY_SEED) -> float:
    """The mean latency that theory predicts for a load whose requests all take ``service_s``.

    Formulas of :mod:`lab.formulas.queueing`: ``burst_mean_s`` of a burst, the mean of ``queue_latencies`` of an open
    loop, where at most as many requests are under way as there are users, and ``closed_mean_s`` of a closed loop.
    """
    if load.is_open:
        at_once = min(load.users, servers or load.users)
        return float(queueing.queue_latencies(schedule.planned_s(load, seed), service_s, at_once).mean())
    if not load.is_burst:
        return queueing.closed_mean_s(min(load.users, load.requests or load.users), service_s, servers)
    return queueing.burst_mean_s(schedule.planned_s(load, seed), service_s, servers, load.loops)


def predict(plan: Plan, cell: Cell) -> float | None:
    """The mean latency that theory predicts for a cell; None where it predicts none, as over a link of limited rate."""
    time_s = service_s(plan)
    if plan.link.is_limited or time_s is None:
        return None
    at_once = servers(plan, plan.scenario.variant(cell.variant))
    return mean_latency(cell.load, time_s, at_once, schedule.seed_of(plan, cell))


def predict_over_link(plan: Plan, cell: Cell) -> float | None:
    """As :func:`predict`, but also for a burst over a link of limited rate, where waves wait for those before them.

    It ignores the ramp.
    """
    if not plan.link.is_limited:
        return predict(plan, cell)
    at_once, waited_s, total_s = servers(plan, plan.scenario.variant(cell.variant)), 0.0, 0.0
    for requests in queueing.wave_sizes(cell.load.users, at_once):
        waited_s += wave_s(plan, requests)
        total_s += requests * waited_s
    return total_s / cell.load.users


def wave_s(plan: Plan, requests: int) -> float:
    """How long requests take that start together; 0 where that is not known before measuring."""
    link, moved = plan.link, plan.scenario.answer_bytes
    return (service_s(plan) or 0.0) + queueing.transfer_s(requests, moved, link.rate, link.connection_rate)


def load_s(plan: Plan, cell: Cell) -> float:
    """How long the measured load of a cell takes, from the first request to the last answer."""
    load, time_s = cell.load, service_s(plan)
    if load.duration_s:
        return load.duration_s + (time_s or 0.0)
    if time_s is None and not plan.link.is_limited:
        work_s = WORK_S + WORK_S_PER_BYTE * plan.scenario.answer_bytes
        return load.ramp_s + work_s * (load.planned_requests or 0)
    at_once = servers(plan, plan.scenario.variant(cell.variant))
    return max(load.ramp_s, last_start_s(load, at_once) + all_answered_s(plan, load.users, at_once) * load.rounds)


def last_start_s(load: Load, servers: int | None) -> float:
    """When the first request of the wave that ends last starts within the ramp."""
    return load.ramp_s * ((load.users - 1) % (servers or load.users)) / load.users


def all_answered_s(plan: Plan, users: int, servers: int | None) -> float:
    """How long R requests that start together take until all are answered: the sum of their waves."""
    return sum(wave_s(plan, requests) for requests in queueing.wave_sizes(users, servers))
