"""From what a person asks for to a plan, or to one sentence about why not. Shared by the command line and Python."""

from __future__ import annotations

import difflib
import math
import os
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from lab.errors import LabError
from lab.experiments import SCENARIOS
from lab.spec import durations, numbers, prediction
from lab.spec.scenario import EVEN, NOT_SET, POISSON, Cell, Limits, Link, Load, Plan, Scenario, Variant

MOST_CELLS = 10_000
# Of one cell; their samples take gigabytes already.
MOST_REQUESTS = 100_000_000
# Where limits come from: the same for all variants; what each stack has by itself; what suits each of them.
EQUAL, DEFAULT, TUNED = "equal", "default", "tuned"
LEAST_LIMITS = {"threads": 1, "accept_count": 1, "pool": 1, "heap_mb": 64}
MASTER_PORT = 5557  # Locust's own
ADDRESS = re.compile(r"[^\s:/]+(:\d{1,5})?")
# A worker holds the moments of an open loop in memory, 8 bytes each.
MOST_SENDS = 10_000_000
# With --rate alone there are users for twice the time that a request takes, and for a service that stops for a second.
SPARE_SHARE, SPARE_S = 2.0, 1.0
LEAST_RATE = 0.01
TIMES = ("ramp_up", "duration", "timeout")
COUNTS = (
    *("loops", "requests", "workers", "repeat", "threads", "accept_count", "pool", "heap_mb", "seed"),
    *("link_latency_ms", "link_rate", "link_connection_rate", "remote_workers"),
)


@dataclass(frozen=True)
class Wishes:
    """What may be asked for; None leaves the scenario's or the lab's default.

    Attributes:
        users: R; several for a sweep; in an open loop how many requests may be under way at once.
        ramp_up: seconds over which the first requests are spread.
        loops: requests of each user, one after the other.
        duration: seconds of a closed loop, instead of ``loops``, or of an open loop.
        requests: number of requests of a closed loop in all, instead of ``loops``.
        rate: requests a second of an open loop, for ``duration``.
        arrivals: how starts, or the sends of an open loop, are spread: ``even`` or ``poisson``.
        timeout: seconds after which a request counts as failed.
        seed: decides everything that chance decides; drawn if None.
        parameters: of the scenario, by name.
        limits: the stance: ``equal``, ``default`` or ``tuned``.
        remote_workers: how many workers on other machines to wait for.
        bind: this machine's address that those reach, perhaps with the master's port.

    """

    users: Sequence[int] = ()
    variants: Sequence[str] = ()
    ramp_up: float | None = None
    loops: int | None = None
    duration: float | None = None
    requests: int | None = None
    rate: float | None = None
    arrivals: str | None = None
    timeout: float | None = None
    workers: int | None = None
    repeat: int = 1
    threads: int | None = None
    accept_count: int | None = None
    pool: int | None = None
    heap_mb: int | None = None
    link_latency_ms: int = 0
    link_rate: int = 0
    link_connection_rate: int = 0
    seed: int | None = None
    pin: bool = True
    parameters: Mapping[str, int] | None = None
    limits: str = EQUAL
    remote_workers: int = 0
    bind: str | None = None


DEFAULTS = {field.name: field.default for field in fields(Wishes)}
# What people name as they like; the other fields have their own place everywhere.
OF_A_RUN = tuple(field.name for field in fields(Wishes) if field.name not in ("users", "variants", "parameters"))


def find_scenario(name: str) -> Scenario:
    """The scenario of that name; LabError offers the nearest."""
    if str(name) not in SCENARIOS:
        raise LabError(
            f"There is no scenario {name!r}{nearest(name, SCENARIOS)}.", f"There is: {', '.join(SCENARIOS)}."
        )
    return SCENARIOS[name]


def names(asked: str | Sequence[str] | None) -> list[str]:
    """Names as people give them, ``"a,b"`` or one by one, in a list; an empty one where nothing was asked for."""
    if asked is None:
        return []
    return [str(part).strip() for part in (asked if isinstance(asked, list | tuple) else str(asked).split(","))]


def nearest(name: str, known: Iterable[str]) -> str:
    """`` (did you mean …?)`` if something known is similar, else nothing."""
    close = difflib.get_close_matches(str(name), list(known), 1, 0.4)
    return f" (did you mean {close[0]}?)" if close else ""


def make_plan(scenario: Scenario, wishes: Wishes) -> Plan:
    """Check what was asked for and fill in defaults; LabError where it cannot be done."""
    wishes = _read(scenario, wishes)
    variants = _variants(scenario, wishes.variants)
    _at_least("--repeat", wishes.repeat, 1)
    _at_least("--seed", wishes.seed or 0, 0)
    plan = Plan(
        scenario=scenario.name,
        cells=(),
        parameters=_parameters(scenario, wishes.parameters or {}),
        limits=_limits(wishes),
        link=_link(scenario, wishes),
        seed=random.randrange(1_000_000) if wishes.seed is None else wishes.seed,
        pin=wishes.pin,
        stance=wishes.limits,
        own_limits=_own_limits(scenario, wishes),
    )
    loads = _loads(scenario, plan, wishes)
    count = len(loads) * len(variants) * wishes.repeat
    if count > MOST_CELLS:
        raise LabError(f"That would be {count:,} cells.", f"Ask for {MOST_CELLS:,} at most.")
    cells = tuple(
        Cell(variant.name, load, repeat)
        for load in loads
        for variant in variants
        for repeat in range(1, wishes.repeat + 1)
    )
    return replace(plan, cells=cells, bind=_bind(wishes))


def _loads(scenario: Scenario, plan: Plan, wishes: Wishes) -> list[Load]:
    """The loads, one for each number of users; ``plan`` says what serves them."""
    default = scenario.load if wishes.rate is None else _open(scenario.load, wishes)
    if default.is_open and not wishes.users:
        default = _with_users_enough(scenario, plan, default)
    loads = [_load(default, wishes, users) for users in wishes.users or (default.users,)]
    if wishes.timeout is None:
        loads = [replace(load, timeout_s=patience_s(scenario, plan, load)) for load in loads]
    if len({load.users for load in loads}) < len(loads):
        raise LabError(
            "A number of users is named twice.", "Name each number once, and use --repeat to measure it again."
        )
    if wishes.rate is not None and len(loads) > 1:
        raise LabError(
            "An open loop takes one number of users.", "Measure one: python -m lab run, with one number after --users."
        )
    return loads


def _read(scenario: Scenario, wishes: Wishes) -> Wishes:
    """The same wishes with every number read, before anything is computed from one; LabError names what is none."""
    asked = {name: value for name in (*TIMES, *COUNTS) if (value := getattr(wishes, name)) is not DEFAULTS[name]}
    read: dict[str, Any] = {name: numbers.seconds(_option(name), asked[name]) for name in TIMES if name in asked}
    read |= {name: numbers.whole(_option(name), asked[name]) for name in COUNTS if name in asked}
    if not isinstance(wishes.pin, bool):
        raise LabError(f"pin {wishes.pin!r} is neither True nor False.", "Leave it out, or choose one of them.")
    if wishes.rate is not None:
        read["rate"] = numbers.real("--rate", wishes.rate)
    known = {parameter.name for parameter in scenario.parameters}
    parameters = {
        name: numbers.whole(_option(name), value) if name in known else value
        for name, value in (wishes.parameters or {}).items()
    }
    users = [numbers.whole("--users", count) for count in wishes.users]
    return replace(wishes, users=users, parameters=parameters, **read)


def _with_users_enough(scenario: Scenario, plan: Plan, load: Load) -> Load:
    """An open loop with users for all that may be under way, by Little's law, and for the queue before the servers.

    LabError where it is not known how long a request takes.
    """
    alone_s, servers = _wave_s(scenario, plan, 1), _fewest_servers(scenario, plan)
    if not alone_s:
        raise LabError(
            f"How long a request of {scenario.name} takes is not known beforehand, so --rate needs --users.",
            "Say how many requests may be under way at once: --users 100.",
        )
    served_rps = servers / _wave_s(scenario, plan, servers) if servers else math.inf
    queued = max(0.0, load.rate_rps - served_rps) * load.duration_s
    users = math.ceil(load.rate_rps * (SPARE_SHARE * alone_s + SPARE_S) + queued)
    return replace(load, users=max(users, load.workers))


def patience_s(scenario: Scenario, plan: Plan, load: Load) -> float:
    """How long users wait if nobody says: twice what all of them take by theory, from the default up to a week."""
    at_once = _fewest_servers(scenario, plan) or load.users
    full, rest = divmod(load.users, at_once)
    all_s = full * _wave_s(scenario, plan, at_once) + (_wave_s(scenario, plan, rest) if rest else 0.0)
    return max(load.timeout_s, min(2 * all_s, numbers.MOST_SECONDS))


def _fewest_servers(scenario: Scenario, plan: Plan) -> int | None:
    """How many requests the most limited variant works on at once: min(T, N) of the model; None if nothing limits any.

    Also of variants that are not measured, so that runs of one variant each have the same loads, and can be compared.
    """
    servers = (prediction.servers(scenario, plan, variant) for variant in scenario.variants)
    return min((count for count in servers if count is not None), default=None)


def _wave_s(scenario: Scenario, plan: Plan, requests: int) -> float:
    """How long so many requests take that start together; 0 where that is not known before measuring."""
    return durations.wave_s(requests, prediction.service_s(scenario, plan) or 0.0, scenario.answer_bytes, plan.link)


def _variants(scenario: Scenario, names: Sequence[str]) -> list[Variant]:
    known = {variant.name: variant for variant in scenario.variants}
    for name in names:
        if name not in known:
            raise LabError(
                f"The scenario {scenario.name} has no variant {name!r}{nearest(name, known)}.",
                f"It has: {', '.join(known)}.",
            )
    return [known[name] for name in dict.fromkeys(names)] or list(scenario.variants)


def _load(default: Load, wishes: Wishes, users: int) -> Load:
    if sum(wish is not None for wish in (wishes.loops, wishes.duration, wishes.requests)) > 1:
        raise LabError("--loops, --duration and --requests exclude one another.", "Choose one of them.")
    asks_nothing = wishes.loops is None and wishes.duration is None and wishes.requests is None
    load = replace(
        default,
        users=users,
        ramp_s=default.ramp_s if wishes.ramp_up is None else wishes.ramp_up,
        loops=default.loops if wishes.loops is None else wishes.loops,
        duration_s=default.duration_s if asks_nothing else wishes.duration or 0.0,
        requests=default.requests if wishes.requests is None else wishes.requests,
        arrivals=_arrivals(wishes.arrivals or default.arrivals),
        timeout_s=default.timeout_s if wishes.timeout is None else wishes.timeout,
        workers=default.workers if wishes.workers is None else wishes.workers,
        remote_workers=wishes.remote_workers,
    )
    _at_least("--users", load.users, 1)
    _at_least("--ramp-up", load.ramp_s, 0)
    _at_least("--loops", load.loops, 1)
    _at_least("--duration", load.duration_s, 1 if wishes.duration is not None else 0)
    _at_least("--requests", load.requests, 1 if wishes.requests is not None else 0)
    _at_least("--timeout", load.timeout_s, 0.1)
    _at_least("--remote-workers", load.remote_workers, 0)
    _at_least("--workers", load.workers, 0 if load.remote_workers else 1)
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


def _open(default: Load, wishes: Wishes) -> Load:
    """An open loop at the rate asked for; LabError where something else is asked for that it does not have."""
    rate_rps = wishes.rate or 0.0
    _at_least("--rate", rate_rps, LEAST_RATE)
    for option, wish in (("--loops", wishes.loops), ("--requests", wishes.requests), ("--ramp-up", wishes.ramp_up)):
        if wish is not None:
            raise LabError(f"--rate and {option} exclude one another.", "An open loop has a --rate and a --duration.")
    if wishes.duration is None and not default.duration_s:
        raise LabError("--rate needs --duration.", "Say for how long: --duration 30.")
    workers = default.workers if wishes.workers is None else wishes.workers
    duration_s = wishes.duration or default.duration_s
    load = replace(default, rate_rps=rate_rps, ramp_s=0.0, duration_s=duration_s, workers=workers)
    if not 1 <= load.rate_rps * load.duration_s < MOST_SENDS:
        raise LabError(
            f"--rate {load.rate_rps:g} for {load.duration_s:g} s is not possible.",
            f"Rate times duration must be from 1 to {MOST_SENDS:,} requests.",
        )
    return load


def _arrivals(name: str) -> str:
    if name not in (EVEN, POISSON):
        raise LabError(
            f"There are no arrivals {name!r}{nearest(name, (EVEN, POISSON))}.", f"There is: {EVEN}, {POISSON}."
        )
    return name


def _parameters(scenario: Scenario, wishes: Mapping[str, int]) -> dict[str, int]:
    known = {parameter.name: parameter for parameter in scenario.parameters}
    for name, value in wishes.items():
        if name not in known:
            raise LabError(
                f"The scenario {scenario.name} has no parameter {name!r}{nearest(name, known)}.",
                f"It has: {', '.join(known)}.",
            )
        limits = known[name].minimum, known[name].maximum
        if not limits[0] <= value <= limits[1]:
            option = f"--{name.replace('_', '-')}"
            raise LabError(
                f"{option} {value} is out of range.", f"Choose from {limits[0]} to {limits[1]} {known[name].unit}."
            )
    return {**scenario.defaults(), **wishes}


def _limits(wishes: Wishes) -> Limits:
    """The limits that are the same for all variants: in the stances but ``equal``, only those that were asked for."""
    if wishes.limits not in (EQUAL, DEFAULT, TUNED):
        raise LabError(f"There is no stance --limits {wishes.limits}.", f"Choose {EQUAL}, {DEFAULT} or {TUNED}.")
    asked = {name: value for name in LEAST_LIMITS if (value := getattr(wishes, name)) is not None}
    for name, value in asked.items():
        _at_least(_option(name), value, LEAST_LIMITS[name])
    if asked and wishes.limits == DEFAULT:
        raise LabError(
            f"--limits default leaves every limit to the stacks, but {_option(next(iter(asked)))} sets one.",
            "Leave one of them out.",
        )
    return replace(Limits() if wishes.limits == EQUAL else NOT_SET, **asked)


def _own_limits(scenario: Scenario, wishes: Wishes) -> dict[str, Limits]:
    """By variant, what is tuned for it where nothing else was asked for."""
    if wishes.limits != TUNED:
        return {}
    pool = replace(NOT_SET, pool=tuned_pool(os.cpu_count() or 1, bool(wishes.link_latency_ms)))
    rest = replace(NOT_SET, max_connections=Limits.max_connections, keep_alive_requests=Limits.keep_alive_requests)
    return {v.name: _limits(wishes).or_else(v.tuned).or_else(pool).or_else(rest) for v in scenario.variants}


def tuned_pool(cores: int, link_is_slow: bool) -> int:
    """How many connections keep a database busy without queues inside it.

    Two a core and one more, as HikariCP's "About Pool Sizing" takes over from PostgreSQL's; connections that wait for
    a slow link keep nothing busy, and then there are as many as in the stance ``equal``.
    """
    assert Limits.pool
    return Limits.pool if link_is_slow else 2 * cores + 1


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _bind(wishes: Wishes) -> str:
    """The address for workers on other machines, with its port; empty if there are none."""
    if not wishes.remote_workers:
        if wishes.bind is not None:
            raise LabError("--bind is the address for workers on other machines.", "Add --remote-workers N.")
        return ""
    host, port = split_address("127.0.0.1" if wishes.bind is None else str(wishes.bind))
    if host in ("0.0.0.0", "*", "::"):
        raise LabError(
            f"--bind {host} is no address that another machine could go to.",
            "Name the one at which others reach this machine.",
        )
    return f"{host}:{port}"


def split_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST[:PORT]``, the port being Locust's own if there is none. LabError if it is neither."""
    host, _, port = text.partition(":")
    if not ADDRESS.fullmatch(text) or not 0 < int(port or MASTER_PORT) < 65536:
        raise LabError(f"{text!r} is not an address.", "Write HOST or HOST:PORT, such as 192.168.1.20:5557.")
    return host, int(port or MASTER_PORT)


def _link(scenario: Scenario, wishes: Wishes) -> Link:
    link = Link(wishes.link_latency_ms, wishes.link_rate, wishes.link_connection_rate)
    for name, value in (
        ("latency-ms", link.latency_ms),
        ("rate", link.rate),
        ("connection-rate", link.connection_rate),
    ):
        _at_least(f"--link-{name}", value, 0)
    if link and not scenario.databases:
        raise LabError(f"The scenario {scenario.name} has no database, so no link to one.", "Leave --link-… out.")
    return link


def _at_least(option: str, value: float, least: float) -> None:
    if not least <= value < float("inf"):
        raise LabError(f"{option} {value:g} is not possible.", f"It must be at least {least:g}.")
