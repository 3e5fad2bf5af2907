"""Makes the plan of a run from its options, or raises a LabError with the reason why that is not possible."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

from lab.errors import LabError, did_you_mean
from lab.spec import in_turns
from lab.spec.in_turns import Point
from lab.spec.limits import DEFAULT, EQUAL, NOT_KNOWN, NOT_SET, TUNED, Limits
from lab.spec.load_options import load_of
from lab.spec.machine import Machine
from lab.spec.options import LIMITS, OF_SERVICES, Options, Percent, checked, option, several
from lab.spec.plan import CAPACITY, RAMP, RATE, USERS, WINDOWS, Cell, Plan
from lab.spec.scenario import Scenario, Value
from lab.spec.system import Link, Variant

MOST_CELLS = 10_000
MASTER_PORT = 5557  # Locust's own
ADDRESS = re.compile(r"[^\s:/]+(:\d{1,5})?")


def make_plan(scenario: Scenario, given: Options, machine: Machine) -> Plan:
    """Make the plan of a scenario for a machine; LabError where the options are not possible."""
    options = checked(scenario, given)
    if scenario.entry == "program":
        _check_program(scenario, options)
    if scenario.entry == "service" and not scenario.think_s:
        check_pauses(options, f"The users of {scenario.name}")
    variants = _variants(scenario, options.variants)
    parameters = _parameters(options)
    axis = _axis(options)
    plan = Plan(
        scenario=scenario,
        cells=(),
        parameters={name: values[0] for name, values in parameters.items() if name != axis or len(values) == 1},
        limits=_limits(scenario, options),
        link=_link(scenario, options),
        seed=random.randrange(1_000_000) if options.seed is None else options.seed,
        pin=options.pin and not scenario.all_cores,
        axis=axis,
        nodes=options.nodes,
        prometheus=options.prometheus,
        stance=NOT_KNOWN if scenario.entry == "program" else options.limits,  # type: ignore[arg-type] # checked
    )
    plan = replace(plan, own_limits=_own_limits(plan, options, machine), bind=_bind(options))
    if axis == CAPACITY:
        if options.interleave == WINDOWS:
            raise LabError(
                "Windows compare variants at the same rate, and a --rate in percent gives each one its own.",
                "Leave --interleave windows out.",
            )
        _check_count(len(several(options.rate)) * len(variants) * options.repeat)
        return replace(plan, cells=tuple(_of_capacity(plan, variants, options)))
    points = _points(plan, options)
    _check_count(len(points) * len(variants) * options.repeat)
    if options.interleave == WINDOWS:
        return in_turns.planned(plan, variants, points, options.repeat, machine)
    if options.interleave is None:
        by_default = in_turns.by_default(plan, variants, points, options.repeat, machine)
        if by_default:
            return by_default
    cells = tuple(
        Cell(variant.name, load, repeat, parameters, varied)
        for load, parameters, varied in points
        for variant in variants
        for repeat in range(1, options.repeat + 1)
    )
    return replace(plan, cells=cells)


def _check_count(cells: int) -> None:
    """LabError if a plan would have too many cells."""
    if cells > MOST_CELLS:
        raise LabError(f"That would be {cells:,} cells.", f"Ask for {MOST_CELLS:,} at most.")


def _check_program(scenario: Scenario, options: Options) -> None:
    """LabError where options are not for programs, which are executed one at a time and have no limits to set."""
    default = Options()
    for name in OF_SERVICES:
        if getattr(options, name) not in (getattr(default, name), []):
            step = f"Leave {option(name)} out: python -m lab run {scenario.name} --help"
            raise LabError(f"{scenario.name} compares programs, which have no {option(name)}.", step)
    if set(options.users) - {1}:
        raise LabError("A program is executed by one user at a time.", "Leave --users out, or vary a parameter.")


def check_pauses(options: Options, who: str) -> None:
    """LabError where pauses are to be longer or shorter, of users who have none."""
    if options.pace is not None:
        raise LabError(f"{who} do not pause, so that --pace has no effect.", "Leave it out.")


def _parameters(options: Options) -> dict[str, list[Value]]:
    """The values of every parameter, as :func:`lab.spec.options.checked` leaves them."""
    return {name: several(values) for name, values in (options.parameters or {}).items()}


def _axis(options: Options) -> str:
    """What is varied: users, unless a rate or a parameter has several values. LabError where two have."""
    asked = {USERS: list(options.users), RATE: several(options.rate), **_parameters(options)}
    for name, values in asked.items():
        if len(set(values)) < len(values):
            raise LabError(
                f"{option(name)} names a value twice.", "Name each value once, and use --repeat to measure it again."
            )
    varied = [name for name, values in asked.items() if len(values) > 1]
    if len(varied) > 1:
        both = " and ".join(map(option, varied))
        raise LabError(f"{both} have several values.", "Vary one of them at a time: a run for each value of the other.")
    if any(isinstance(rate, Percent) for rate in several(options.rate)):
        if varied not in ([], [RATE]):
            raise LabError(f"{option(varied[0])} and a --rate in percent are both varied.", "Vary one at a time.")
        return CAPACITY
    return varied[0] if varied else RATE if options.rate else RAMP if options.ramp else USERS


def _points(plan: Plan, options: Options) -> list[Point]:
    """Every point of a sweep: its load, its value of a parameter, and its name; both empty where users vary."""
    rates = several(options.rate) or [None]
    users: Sequence[int | None] = options.users or [None]
    if len(users) > 1 and (options.rate or options.ramp):
        raise LabError(
            "An open loop takes one number of users.",
            "Vary its --rate instead, or measure one: python -m lab run, with one number after --users.",
        )
    if plan.axis == RATE:
        return [(load_of(plan, options, users[0], rate), {}, f"rate{rate:.12g}") for rate in rates]
    if plan.axis == RAMP:
        from_rps, to_rps, _ = several(options.ramp)
        return [(load_of(plan, options, users[0]), {}, f"ramp{from_rps:.12g}to{to_rps:.12g}")]
    if plan.axis == USERS:
        return [(load_of(plan, options, count), {}, "") for count in users]
    name = plan.axis
    return [
        (
            load_of(replace(plan, parameters={**plan.parameters, name: value}), options, users[0], rates[0]),
            {name: value},
            _varied(name, value),
        )
        for value in _parameters(options)[name]
    ]


def _of_capacity(plan: Plan, variants: Sequence[Variant], options: Options) -> Iterator[Cell]:
    """The cells of rates that are percentages of what each variant can do; LabError where that is not known of one."""
    capacity = options.capacity or {}
    if missing := [variant.name for variant in variants if variant.name not in capacity]:
        raise LabError(
            f"The capacity of {', '.join(missing)} is not known.",
            f"Name it: --capacity {','.join(f'{name}=N' for name in (*capacity, *missing))}",
        )
    if len(options.users) > 1:
        raise LabError("An open loop takes one number of users.", "Name one number after --users.")
    users = next(iter(options.users), None)
    for percent in several(options.rate):
        for variant in variants:
            load = load_of(plan, options, users, percent / 100 * capacity[variant.name])
            for repeat in range(1, options.repeat + 1):
                yield Cell(variant.name, load, repeat, {}, f"capacity{percent:.12g}", float(percent))


def _varied(name: str, value: Value) -> str:
    return value if isinstance(value, str) else f"{name.replace('_', '-')}{value}"


def _variants(scenario: Scenario, names: Sequence[str]) -> list[Variant]:
    known = {variant.name: variant for variant in scenario.variants}
    for name in names:
        if name not in known:
            raise LabError(
                f"The scenario {scenario.name} has no variant {name!r}{did_you_mean(name, known)}.",
                f"It has: {', '.join(known)}.",
            )
    return [known[name] for name in dict.fromkeys(names or scenario.default_variants)] or list(scenario.variants)


def _limits(scenario: Scenario, options: Options) -> Limits:
    """The limits that are the same for all variants; except in the stance ``equal``, only those set by options."""
    if scenario.entry == "program":
        return NOT_SET
    given = {name: value for name in LIMITS if (value := getattr(options, name)) is not None}
    if given and options.limits == DEFAULT:
        raise LabError(
            f"--limits default leaves every limit to the stacks, but {option(next(iter(given)))} sets one.",
            "Leave one of them out.",
        )
    return replace(scenario.limits if options.limits == EQUAL else NOT_SET, **given)


def _own_limits(plan: Plan, options: Options, machine: Machine) -> dict[str, Limits]:
    """The limits of each variant in the stance ``tuned``; options take precedence. Empty in the others."""
    if options.limits != TUNED:
        return {}
    calls_databases = all(component.database for component in plan.scenario.components)
    size = tuned_pool(machine.cores, bool(plan.link.latency_ms)) if calls_databases else plan.scenario.limits.pool
    pool = replace(NOT_SET, pool=size)
    rest = replace(Limits(), threads=None, accept_count=None, pool=None, heap_mb=None)
    return {v.name: plan.limits.or_else(v.tuned).or_else(pool).or_else(rest) for v in plan.scenario.variants}


def tuned_pool(cores: int, link_is_slow: bool) -> int:
    """The size of a connection pool that keeps a database busy without queues inside it.

    Two a core and one more, as HikariCP's "About Pool Sizing" takes over from PostgreSQL's; connections that wait for
    a slow link keep nothing busy, and then there are as many as in the stance ``equal``.
    """
    assert Limits.pool
    return Limits.pool if link_is_slow else 2 * cores + 1


def _link(scenario: Scenario, options: Options) -> Link:
    """The link to the components; the scenario's where no option says otherwise."""
    given = {name: value for name in asdict(scenario.link) if (value := getattr(options, f"link_{name}")) is not None}
    link = replace(scenario.link, **given)
    if link and not scenario.components:
        raise LabError(f"The scenario {scenario.name} has no database, so no link to one.", "Leave --link-… out.")
    return link


def _bind(options: Options) -> str:
    """The address for workers on other machines, with its port; empty if there are none."""
    if not options.remote_workers:
        if options.bind is not None:
            raise LabError("--bind is the address for workers on other machines.", "Add --remote-workers N.")
        return ""
    if options.bind is None:
        raise LabError(
            "--remote-workers needs an address at which other machines reach this one.",
            "Name this machine's: --bind 192.168.1.20; or 127.0.0.1 for an ssh tunnel.",
        )
    host, port = split_address(str(options.bind))
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
