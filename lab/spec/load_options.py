"""Makes the load of a cell from its options, or raises a LabError with the reason why that is not possible."""

from __future__ import annotations

import math

from msgspec.structs import replace

from lab.errors import LabError
from lab.spec import numbers, prediction
from lab.spec.options import Options, option, several
from lab.spec.plan import Plan
from lab.spec.workload import Burst, Closed, Load, Open, OpenLoop, Ramp, Total

# The most requests of one cell, whose samples take gigabytes.
MOST_REQUESTS = 100_000_000
# How long an open loop lasts if nothing else is said: for most scenarios long enough to see a queue that grows.
OPEN_LOOP_S = 30.0
# The most sends of an open loop: a worker holds the planned times in memory, 8 bytes each.
MOST_SENDS = 10_000_000
# With --rate and no --users, users are enough for twice the time of a request, and for a service stall of one second.
SPARE_SHARE, SPARE_S = 2.0, 1.0
# Options that say how a load ends; only one may be given.
ENDS = ("loops", "duration", "requests")


def load_of(plan: Plan, options: Options, users: int | None, rate_rps: float | None = None) -> Load:
    """The load that checked options ask for; LabError where they contradict one another, or it is not possible.

    Args:
        plan: gives the scenario with its default load, and what theory needs.
        users: the number of users; if None, the scenario's, or as many as an open loop needs.
        rate_rps: the rate of an open loop; None for any other load.

    """
    default = plan.default_load
    shape = _shape(default, options, rate_rps)
    workers = default.workers if options.workers is None else options.workers
    if users is None:
        users = max(_users_needed(plan, shape), workers) if isinstance(shape, OpenLoop) else default.users
    load = replace(
        shape,
        users=users,
        arrivals=options.arrivals or default.arrivals,
        timeout_s=default.timeout_s if options.timeout is None else options.timeout,
        workers=workers,
        remote_workers=options.remote_workers,
        pace=pace_of(options),
    )
    _check(load)
    _check_entities(plan, users)
    # Not before: theory takes its time for more users than there can be.
    return load if options.timeout is not None else replace(load, timeout_s=default_timeout_s(plan, users))


def _shape(default: Burst | Closed | Total, options: Options, rate_rps: float | None) -> Load:
    """The load of the kind that options ask for, still with the users of the default."""
    users, asked_s = default.users, default.ramp_s if options.ramp_up is None else options.ramp_up
    ramp_s = pace_of(options) * asked_s
    if options.ramp is not None:
        _check_alone(options, "ramp", ("rate", *ENDS, "ramp_up"), "A ramp is written --ramp FROM:TO:SECONDS.")
        from_rps, to_rps, lasting_s = several(options.ramp)
        return Ramp(users=users, from_rps=from_rps, to_rps=to_rps, duration_s=lasting_s)
    if rate_rps is not None:
        _check_alone(options, "rate", ("loops", "requests", "ramp_up"), "An open loop has a --rate and a --duration.")
        usual_s = default.duration_s if isinstance(default, Closed) else OPEN_LOOP_S
        return Open(users=users, rate_rps=rate_rps, duration_s=options.duration or usual_s)
    if sum(getattr(options, name) is not None for name in ENDS) > 1:
        raise LabError("--loops, --duration and --requests exclude one another.", "Choose one of them.")
    if options.loops is not None:
        return Burst(users=users, ramp_s=ramp_s, loops=options.loops)
    if options.duration is not None:
        return Closed(users=users, ramp_s=ramp_s, duration_s=options.duration)
    if options.requests is not None:
        return Total(users=users, ramp_s=ramp_s, requests=options.requests)
    return replace(default, ramp_s=ramp_s)


def pace_of(options: Options) -> float:
    """How long pauses and the ramp of users take, as a multiple of what they do without ``--pace``."""
    return 1.0 if options.pace is None else options.pace


def _check_alone(options: Options, name: str, others: tuple[str, ...], step: str) -> None:
    """LabError where an option is given together with one that it excludes."""
    for other in others:
        if several(getattr(options, other)):
            raise LabError(f"{option(name)} and {option(other)} exclude one another.", step)


def _check(load: Load) -> None:
    """LabError where a load is not possible as a whole."""
    numbers.at_least("--workers", load.workers, 0 if load.remote_workers else 1)
    match load:
        case Open():
            _check_sends(f"--rate {load.rate_rps:.10g} for {load.duration_s:.10g} s", "Rate", load)
        case Ramp():
            asked = f"--ramp {load.from_rps:.10g}:{load.to_rps:.10g}:{load.duration_s:.10g}"
            _check_sends(asked, "The mean of both rates", load)
        case Closed() if load.duration_s < load.ramp_s:
            raise LabError(
                f"--duration {load.duration_s:.10g} is over before the ramp of {load.ramp_s:.10g} s is.",
                "Make it longer, or --ramp-up shorter.",
            )
    if max(load.users, load.planned_sessions or 0) > MOST_REQUESTS:
        fewer = "a lower rate" if isinstance(load, OpenLoop) else "fewer --users, --loops or --requests"
        raise LabError("That would be too many requests for one cell.", f"Ask for {MOST_REQUESTS:,} at most: {fewer}.")
    if load.workers + load.remote_workers > load.users:
        raise LabError(
            f"--workers {load.workers + load.remote_workers} is more than --users {load.users}.",
            "A worker needs a user: ask for fewer workers.",
        )


def _check_entities(plan: Plan, users: int) -> None:
    """LabError where users are to have entities of their own, and there are too few of them."""
    for own in plan.scenario.own_entities:
        of, each = plan.scenario.component(own.component).entities, int(plan.parameters.get(own.each, 1))
        if of is None or any(plan.parameters[name] not in values for name, values in own.where.items()):
            continue
        if users * each > of.count:
            others = " or ".join(map(option, own.where))
            some = f"{each:,} entities" if each > 1 else "an entity"
            raise LabError(
                f"{users:,} users cannot have {some} each of their own: there are {of.count:,}.",
                f"Ask for at most {of.count // each:,} --users, or another {others}.",
            )


def _check_sends(asked: str, factor: str, load: Open | Ramp) -> None:
    """LabError where an open loop plans no request at all, or more than a worker holds."""
    if not 1 <= load.planned_sessions < MOST_SENDS:
        raise LabError(
            f"{asked} is not possible.", f"{factor} times duration must be from 1 to {MOST_SENDS:,} requests."
        )


def _users_needed(plan: Plan, load: Open | Ramp) -> int:
    """The users an open loop needs: for the requests under way, by Little's law, and for the queue of an overload.

    LabError where it is not known how long a request takes.
    """
    alone_s = prediction.slowest_alone_s(plan, plan.parameters)
    if not alone_s:
        name = option("ramp" if isinstance(load, Ramp) else "rate")
        raise LabError(
            f"How long a request of {plan.scenario.name} takes is not known beforehand, so {name} needs --users.",
            "Say how many requests may be under way at once: --users 100.",
        )
    queued = load.backlog(prediction.least_capacity_rps(plan, plan.parameters))
    return math.ceil(load.highest_rps * (SPARE_SHARE * alone_s + SPARE_S) + queued)


def default_timeout_s(plan: Plan, users: int) -> float:
    """The default timeout of requests, in seconds: twice what theory predicts for all of them, up to a week."""
    # Of all variants, measured or not, so that runs of one each have the same loads and are comparable.
    variants = plan.scenario.variants
    all_s = max((prediction.all_answered_s(plan, variant, users, plan.parameters) for variant in variants), default=0.0)
    return max(plan.scenario.load.timeout_s, min(2 * all_s, numbers.MOST_SECONDS))
