"""Makes the plan of a run from its options, or raises a LabError with the reason why that is not possible."""

from __future__ import annotations

import math
import os
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lab.errors import LabError, did_you_mean
from lab.spec import numbers, prediction
from lab.spec.limits import DEFAULT, EQUAL, NOT_SET, TUNED, Limits
from lab.spec.options import ALTERNATIVES, LIMITS, Options, checked, option
from lab.spec.plan import Cell, Plan
from lab.spec.scenario import Scenario
from lab.spec.system import Link, Variant
from lab.spec.workload import Load

MOST_CELLS = 10_000
# The most requests of one cell, whose samples take gigabytes.
MOST_REQUESTS = 100_000_000
MASTER_PORT = 5557  # Locust's own
ADDRESS = re.compile(r"[^\s:/]+(:\d{1,5})?")
# The most sends of an open loop: a worker holds the planned times in memory, 8 bytes each.
MOST_SENDS = 10_000_000
# With --rate and no --users, users are enough for twice the time of a request, and for a service stall of one second.
SPARE_SHARE, SPARE_S = 2.0, 1.0


def make_plan(scenario: Scenario, given: Options) -> Plan:
    """Make the plan of a scenario; LabError where the options are not possible."""
    options = checked(scenario, given)
    variants = _variants(scenario, options.variants)
    plan = Plan(
        scenario=scenario,
        cells=(),
        parameters=options.parameters or {},
        limits=_limits(options),
        link=_link(scenario, options),
        seed=random.randrange(1_000_000) if options.seed is None else options.seed,
        pin=options.pin,
        stance=options.limits,  # type: ignore[arg-type] # checked: it is one of them
        own_limits=_own_limits(scenario, options),
    )
    loads = _loads(plan, options)
    count = len(loads) * len(variants) * options.repeat
    if count > MOST_CELLS:
        raise LabError(f"That would be {count:,} cells.", f"Ask for {MOST_CELLS:,} at most.")
    repeats = range(1, options.repeat + 1)
    cells = tuple(Cell(variant.name, load, repeat) for load in loads for variant in variants for repeat in repeats)
    return replace(plan, cells=cells, bind=_bind(options))


def _variants(scenario: Scenario, names: Sequence[str]) -> list[Variant]:
    known = {variant.name: variant for variant in scenario.variants}
    for name in names:
        if name not in known:
            raise LabError(
                f"The scenario {scenario.name} has no variant {name!r}{did_you_mean(name, known)}.",
                f"It has: {', '.join(known)}.",
            )
    return [known[name] for name in dict.fromkeys(names)] or list(scenario.variants)


def _loads(plan: Plan, options: Options) -> list[Load]:
    """The loads, one for each number of users."""
    if len(set(options.users)) < len(options.users):
        raise LabError("--users names a number twice.", "Name each number once, and use --repeat to measure it again.")
    if options.rate is None:
        shape = _shape(plan.scenario.load, options)
        users = options.users or (plan.scenario.load.users,)
    else:
        shape = _open_shape(plan.scenario.load, options)
        users = options.users or (max(_users_needed(plan, shape), options.workers or plan.scenario.load.workers),)
        if len(users) > 1:
            raise LabError(
                "An open loop takes one number of users.",
                "Measure one: python -m lab run, with one number after --users.",
            )
    return [_load(plan, options, shape, count) for count in users]


def _load(plan: Plan, options: Options, shape: dict[str, Any], users: int) -> Load:
    """The load of one number of users; LabError where options contradict one another."""
    default = plan.scenario.load
    load = Load(
        users=users,
        arrivals=options.arrivals or default.arrivals,  # type: ignore[arg-type] # checked: it is one of them
        timeout_s=default_timeout_s(plan, users) if options.timeout is None else options.timeout,
        workers=default.workers if options.workers is None else options.workers,
        remote_workers=options.remote_workers,
        **shape,
    )
    numbers.at_least("--workers", load.workers, 0 if load.remote_workers else 1)
    if (load.planned_requests or 0) > MOST_REQUESTS:
        raise LabError(
            "That would be too many requests for one cell.",
            f"Ask for {MOST_REQUESTS:,} at most: fewer --users, --loops or --requests.",
        )
    if load.duration_s and load.duration_s <= load.ramp_s:
        raise LabError(
            f"--duration {load.duration_s:g} is over before the ramp of {load.ramp_s:g} s is.",
            "Make it longer, or --ramp-up shorter.",
        )
    if load.workers + load.remote_workers > load.users:
        raise LabError(
            f"--workers {load.workers + load.remote_workers} is more than --users {load.users}.",
            "A worker needs a user: ask for fewer workers.",
        )
    return load


def _shape(default: Load, options: Options) -> dict[str, Any]:
    """The fields of a burst or a closed loop that do not depend on its users."""
    given = [name for name in ALTERNATIVES if getattr(options, name) is not None]
    if len(given) > 1:
        raise LabError("--loops, --duration and --requests exclude one another.", "Choose one of them.")
    return {
        "ramp_s": default.ramp_s if options.ramp_up is None else options.ramp_up,
        "loops": default.loops if options.loops is None else options.loops,
        "duration_s": (options.duration or 0.0) if given else default.duration_s,
        "requests": options.requests or 0,
    }


def _open_shape(default: Load, options: Options) -> dict[str, Any]:
    """The fields of an open loop that do not depend on its users; LabError for options that it does not have."""
    for name in ("loops", "requests", "ramp_up"):
        if getattr(options, name) is not None:
            step = "An open loop has a --rate and a --duration."
            raise LabError(f"--rate and {option(name)} exclude one another.", step)
    rate_rps, duration_s = options.rate or 0.0, options.duration or default.duration_s
    if not duration_s:
        raise LabError("--rate needs --duration.", "Say for how long: --duration 30.")
    if not 1 <= rate_rps * duration_s < MOST_SENDS:
        raise LabError(
            f"--rate {rate_rps:g} for {duration_s:g} s is not possible.",
            f"Rate times duration must be from 1 to {MOST_SENDS:,} requests.",
        )
    return {"ramp_s": 0.0, "duration_s": duration_s, "rate_rps": rate_rps}


def _users_needed(plan: Plan, shape: dict[str, Any]) -> int:
    """The users an open loop needs: for the requests under way, by Little's law, and for the queue of an overload.

    LabError where it is not known how long a request takes.
    """
    alone_s, servers = prediction.wave_s(plan, 1), prediction.fewest_servers(plan)
    if not alone_s:
        raise LabError(
            f"How long a request of {plan.scenario.name} takes is not known beforehand, so --rate needs --users.",
            "Say how many requests may be under way at once: --users 100.",
        )
    rate_rps, duration_s = shape["rate_rps"], shape["duration_s"]
    served_rps = servers / prediction.wave_s(plan, servers) if servers else math.inf
    queued = max(0.0, rate_rps - served_rps) * duration_s
    users: int = math.ceil(rate_rps * (SPARE_SHARE * alone_s + SPARE_S) + queued)
    return users


def default_timeout_s(plan: Plan, users: int) -> float:
    """The default timeout of requests, in seconds: twice what theory predicts for all of them, up to a week."""
    all_s = prediction.all_answered_s(plan, users, prediction.fewest_servers(plan))
    return max(plan.scenario.load.timeout_s, min(2 * all_s, numbers.MOST_SECONDS))


def _limits(options: Options) -> Limits:
    """The limits that are the same for all variants; except in the stance ``equal``, only those set by options."""
    given = {name: value for name in LIMITS if (value := getattr(options, name)) is not None}
    if given and options.limits == DEFAULT:
        raise LabError(
            f"--limits default leaves every limit to the stacks, but {option(next(iter(given)))} sets one.",
            "Leave one of them out.",
        )
    return replace(Limits() if options.limits == EQUAL else NOT_SET, **given)


def _own_limits(scenario: Scenario, options: Options) -> dict[str, Limits]:
    """The limits of each variant in the stance ``tuned``; options take precedence. Empty in the others."""
    if options.limits != TUNED:
        return {}
    pool = replace(NOT_SET, pool=tuned_pool(os.cpu_count() or 1, bool(options.link_latency_ms)))
    rest = replace(NOT_SET, max_connections=Limits.max_connections, keep_alive_requests=Limits.keep_alive_requests)
    return {v.name: _limits(options).or_else(v.tuned).or_else(pool).or_else(rest) for v in scenario.variants}


def tuned_pool(cores: int, link_is_slow: bool) -> int:
    """The size of a connection pool that keeps a database busy without queues inside it.

    Two a core and one more, as HikariCP's "About Pool Sizing" takes over from PostgreSQL's; connections that wait for
    a slow link keep nothing busy, and then there are as many as in the stance ``equal``.
    """
    assert Limits.pool
    return Limits.pool if link_is_slow else 2 * cores + 1


def _link(scenario: Scenario, options: Options) -> Link:
    link = Link(options.link_latency_ms, options.link_rate, options.link_connection_rate)
    if link and not scenario.databases:
        raise LabError(f"The scenario {scenario.name} has no database, so no link to one.", "Leave --link-… out.")
    return link


def _bind(options: Options) -> str:
    """The address for workers on other machines, with its port; empty if there are none."""
    if not options.remote_workers:
        if options.bind is not None:
            raise LabError("--bind is the address for workers on other machines.", "Add --remote-workers N.")
        return ""
    host, port = split_address("127.0.0.1" if options.bind is None else str(options.bind))
    if host in ("0.0.0.0", "*", "::"):
        raise LabError(
            f"--bind {host} is no address that another machine can connect to.",
            "Name the one at which others reach this machine.",
        )
    return f"{host}:{port}"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST[:PORT]``, the port being Locust's own if there is none. LabError if it is neither."""
    host, _, port = text.partition(":")
    if not ADDRESS.fullmatch(text) or not 0 < int(port or MASTER_PORT) < 65536:
        raise LabError(f"{text!r} is not an address.", "Write HOST or HOST:PORT, such as 192.168.1.20:5557.")
    return host, int(port or MASTER_PORT)
