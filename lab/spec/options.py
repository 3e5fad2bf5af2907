"""The options of a run, from the command line or from Python, and the one place that checks their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from lab.errors import LabError, did_you_mean
from lab.spec import numbers
from lab.spec.limits import DEFAULT, EQUAL, TUNED
from lab.spec.plan import CELLS, WINDOWS
from lab.spec.scenario import NEVER, Parameter, Scenario, Value
from lab.spec.workload import EVEN, POISSON

LEAST_RATE, MOST_RATE, MOST_PERCENT = 0.01, 10_000_000, 10_000
# At less, users hardly pause, and what they send is no session any more.
LEAST_PACE = 0.01
# A span of time, from a second on, for so many seconds: a week at most.
SPAN = re.compile(r"[0-9]{1,6}:[1-9][0-9]{0,5}")


class Percent(float):
    """A rate as a percentage of a variant's capacity, which is written ``50%``."""


LEAST_RAMP_S = 1.0
# Limits of the service that have an option of their own.
LIMITS = ("threads", "accept_count", "pool", "heap_mb")


@dataclass(frozen=True)
class Options:
    """The options of a run as the user gave them; None is the scenario's or the lab's default.

    Attributes:
        users: R, the number of users; several for a sweep; in an open loop the most requests under way at once.
        ramp_up: seconds over which the first requests are spread.
        loops: requests of each user, one after the other; sessions where a scenario or a locustfile has such, as in
            ``requests``, ``rate`` and ``ramp``.
        duration: seconds of a closed loop, instead of ``loops``, or of an open loop.
        requests: total number of requests of a closed loop, instead of ``loops``.
        rate: requests a second of an open loop, for ``duration``; several for a sweep. Or percentages of each variant's
            ``capacity``, as texts such as ``"50%"``.
        capacity: by variant, the most requests or sessions a second that it can do.
        ramp: from which to which rate an open loop goes in how many seconds, as ``0:1000:90`` or three numbers.
        arrivals: spacing of starts, or of the sends of an open loop: ``even`` or ``poisson``.
        timeout: seconds after which a request counts as failed.
        seed: of everything random: arrivals, order of cells; drawn if None.
        parameters: the scenario's parameters by name; several values of one for a sweep.
        limits: the stance: ``equal``, ``default`` or ``tuned``.
        remote_workers: number of workers on other machines to wait for.
        bind: this machine's address for those workers, optionally with the master's port.
        interleave: ``cells``, a variant after the other, or ``windows``: all are up, in turns of seconds. None for
            windows where the CPU decides, else cells: :func:`lab.spec.in_turns.by_default`.
        nodes: how many times the service is started, behind a balancer where that is more than once.
        prometheus: whether Prometheus scrapes all parts that have metrics.
        pace: how long pauses and the ramp of users take, as a multiple of what locustfile and ``ramp_up`` say.

    """

    users: Sequence[int] = ()
    variants: Sequence[str] = ()
    ramp_up: float | None = None
    loops: int | None = None
    duration: float | None = None
    requests: int | None = None
    rate: float | str | Sequence[float | str] | None = None
    capacity: Mapping[str, float] | None = None
    ramp: str | Sequence[float] | None = None
    arrivals: str | None = None
    timeout: float | None = None
    workers: int | None = None
    repeat: int = 1
    threads: int | None = None
    accept_count: int | None = None
    pool: int | None = None
    heap_mb: int | None = None
    link_latency_ms: int | None = None
    link_rate: int | None = None
    link_connection_rate: int | None = None
    seed: int | None = None
    pin: bool = True
    parameters: Mapping[str, Value | Sequence[Value]] | None = None
    limits: str = EQUAL
    remote_workers: int = 0
    bind: str | None = None
    interleave: str | None = None
    nodes: int = 1
    prometheus: bool = False
    pace: float | None = None


DEFAULTS = {field.name: field.default for field in fields(Options)}
# The fields that Python's ``lab.run`` takes as keywords; users, variants and parameters are passed differently.
OF_A_RUN = tuple(name for name in DEFAULTS if name not in ("users", "variants", "parameters"))
# The parser of each number, and its minimum.
NUMBERS: dict[str, tuple[Callable[[str, Any], float], float]] = {
    "ramp_up": (numbers.seconds, 0),
    "duration": (numbers.seconds, 1),
    "timeout": (numbers.seconds, 0.1),
    "pace": (numbers.real, LEAST_PACE),
    "loops": (numbers.whole, 1),
    "requests": (numbers.whole, 1),
    "workers": (numbers.whole, 0),
    "remote_workers": (numbers.whole, 0),
    "repeat": (numbers.whole, 1),
    "nodes": (numbers.whole, 1),
    "seed": (numbers.whole, 0),
    "threads": (numbers.whole, 1),
    "accept_count": (numbers.whole, 1),
    "pool": (numbers.whole, 1),
    "heap_mb": (numbers.whole, 64),
    "link_latency_ms": (numbers.whole, 0),
    "link_rate": (numbers.whole, 0),
    "link_connection_rate": (numbers.whole, 0),
}
# Options of services and of the workers that load them, which programs do not have.
OF_SERVICES = (
    *(
        "ramp_up",
        "requests",
        "rate",
        "capacity",
        "ramp",
        "arrivals",
        "pace",
        "workers",
        "remote_workers",
        "bind",
        "limits",
        *LIMITS,
    ),
    *("link_latency_ms", "link_rate", "link_connection_rate", "interleave", "nodes", "prometheus"),
)


def checked(scenario: Scenario, options: Options) -> Options:
    """The options with every value parsed and in its range; LabError names the first that is not possible.

    Single values are checked only here; :mod:`lab.spec.planning` checks what depends on several of them.
    """
    given = {name: value for name in NUMBERS if (value := getattr(options, name)) is not DEFAULTS[name]}
    read: dict[str, Any] = {name: _number(name, value) for name, value in given.items()}
    for name in ("pin", "prometheus"):
        check_flag(name, getattr(options, name))
    check_choice("stance --limits", options.limits, (EQUAL, DEFAULT, TUNED))
    if options.interleave is not None:
        check_choice("way to --interleave", options.interleave, (CELLS, WINDOWS))
    if options.arrivals is not None:
        check_choice("arrivals", options.arrivals, (EVEN, POISSON))
    users = [numbers.at_least("--users", numbers.whole("--users", count), 1) for count in options.users]
    rates = _rates(options)
    ramp = None if options.ramp is None else _ramp(options.ramp)
    parameters = _parameters(scenario, options.parameters or {})
    return replace(options, users=users, rate=rates, ramp=ramp, parameters=parameters, **read)


def _rates(options: Options) -> list[float]:
    """The rates, all of them in requests a second, or all as :class:`Percent` of a capacity that is known."""
    rates = [_rate(rate) for rate in several(options.rate)]
    of_capacity = [rate for rate in rates if isinstance(rate, Percent)]
    if of_capacity and len(of_capacity) < len(rates):
        raise LabError("--rate mixes percentages with requests a second.", "Ask for one of them.")
    if of_capacity and not options.capacity:
        raise LabError(
            "A --rate in percent is one of each variant's own capacity, which is not known.",
            "Name a run of closed loops that shows it, --capacity RUN, or the rates: --capacity mvc=900,webflux=1200.",
        )
    if options.capacity and not of_capacity:
        raise LabError("--capacity has no effect without a --rate in percent.", "Write --rate 10%,50%,80%.")
    for name, rps in (options.capacity or {}).items():
        _possible_rate(f"--capacity {name}=", rps)
    return rates


def _possible_rate(name: str, rps: object) -> float:
    """A rate in requests a second; LabError if it is none, or one that nothing can send."""
    found = numbers.at_least(name, numbers.real(name, rps), LEAST_RATE)
    if found > MOST_RATE:
        raise LabError(f"{name} {found:.10g} is not possible.", f"It must be at most {MOST_RATE:,} a second.")
    return found


def _rate(given: float | str) -> float:
    """One rate in requests a second, or in percent if it is written so."""
    if isinstance(given, Percent):
        return given
    if isinstance(given, str) and given.strip().endswith("%"):
        try:
            percent = float(given.strip().removesuffix("%"))
        except ValueError:
            raise LabError(f"--rate {given} is not a percentage.", "Write it such as 50%.") from None
        found = numbers.at_least("--rate", numbers.real("--rate", percent), LEAST_RATE)
        if found > MOST_PERCENT:
            raise LabError(f"--rate {found:.10g}% is not possible.", f"It must be at most {MOST_PERCENT:,}%.")
        return Percent(found)
    return _possible_rate("--rate", given)


def several(value: Any) -> list[Any]:
    """The values of an option that a sweep may vary: of one value, of several, or none of None."""
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


def _number(name: str, value: Any) -> float:
    read, least = NUMBERS[name]
    return numbers.at_least(option(name), read(option(name), value), least)


def _ramp(given: str | Sequence[float]) -> tuple[float, float, float]:
    """The rates and the duration of a ramp; LabError if they are no three numbers, or none of a rate that grows."""
    step = "Write --ramp FROM:TO:SECONDS, such as 0:1000:90: from no request a second to 1000 within 90 seconds."
    try:
        parts = [float(part) for part in given.split(":")] if isinstance(given, str) else list(given)
        from_rps, to_rps, duration_s = (numbers.real("--ramp", part) for part in parts)
    except (TypeError, ValueError):
        raise LabError(f"--ramp {given!r} is not three numbers.", step) from None
    written = f"--ramp {from_rps:.10g}:{to_rps:.10g}:{duration_s:.10g}"
    if min(from_rps, to_rps) < 0:
        raise LabError(f"{written} has a rate below zero.", step)
    if from_rps > to_rps:
        raise LabError(f"{written} is a ramp that goes back.", "Write the lower rate first.")
    if from_rps == to_rps:
        raise LabError(f"{written} is no ramp: both rates are the same.", "Write --rate and --duration for one rate.")
    if to_rps > MOST_RATE:
        raise LabError(f"{written} has a rate that is not possible.", f"It must be at most {MOST_RATE:,} a second.")
    if duration_s < LEAST_RAMP_S:
        raise LabError(f"{written} is too short.", f"It must last at least {LEAST_RAMP_S:g} second.")
    return from_rps, to_rps, numbers.seconds("--ramp", duration_s)


def check_flag(name: str, value: Any) -> None:
    """LabError if the value of a flag is none."""
    if not isinstance(value, bool):
        raise LabError(
            f"{name} {numbers.shown(value)} is neither True nor False.", "Leave it out, or choose one of them."
        )


def check_choice(what: str, name: Any, known: Sequence[str]) -> None:
    """LabError if a name is none of those that are known."""
    if name not in known:
        raise LabError(
            f"There is no {what} {name!r}{did_you_mean(str(name), known)}.", f"There is: {', '.join(known)}."
        )


def _parameters(scenario: Scenario, given: Mapping[str, Value | Sequence[Value]]) -> dict[str, list[Value]]:
    """The values of every parameter of a scenario: as given, or its default."""
    known = {parameter.name: parameter for parameter in scenario.parameters}
    values = {name: [value] for name, value in scenario.defaults().items()}
    for name, asked in given.items():
        if name not in known:
            raise LabError(
                f"The scenario {scenario.name} has no parameter {name!r}{did_you_mean(name, known)}.",
                f"It has: {', '.join(known)}.",
            )
        values[name] = [_value(known[name], value) for value in several(asked)] or values[name]
        if known[name].span and len(values[name]) > 1:
            raise LabError(f"{option(name)} has several values.", "A sweep varies numbers and names: give it one span.")
    for name, parameter in known.items():
        if values[name] != [parameter.default] and not has_effect(scenario, name, values):
            step = f"Leave it out, or change {' and '.join(map(option, parameter.needs))}."
            raise LabError(f"{option(name)} has no effect without {needed(parameter)}.", step)
    return values


def has_effect(scenario: Scenario, name: str, values: Mapping[str, Sequence[Value]]) -> bool:
    """Whether a parameter has an effect with any of the values that the parameters have which it needs."""
    parameters = {parameter.name: parameter for parameter in scenario.parameters}
    return all(
        any(value in effective if effective else value != parameters[other].default for value in values[other])
        for other, effective in parameters[name].needs.items()
    )


def needed(parameter: Parameter) -> str:
    """The options without which a parameter has no effect, such as ``--operation get-one or get-many``."""
    return " and ".join(_one_of(option(name), values) for name, values in parameter.needs.items())


def _one_of(name: str, values: Sequence[Value]) -> str:
    *others, last = [name, *map(str, values)]
    if not others:
        return name
    return f"{name} {' or '.join(filter(None, (', '.join(others[1:]), last)))}"


def _value(parameter: Parameter, value: Any) -> Value:
    """A value of a parameter; LabError if it is none of its choices, or no whole number from minimum to maximum."""
    if parameter.choices:
        check_choice(option(parameter.name), str(value), parameter.choices)  # from Python, 1000 is "1000"
        return str(value)
    if parameter.span:
        return _span(option(parameter.name), value)
    number, least, most = numbers.whole(option(parameter.name), value), parameter.minimum, parameter.maximum
    if not least <= number <= most:
        step = f"Choose from {least} to {most} {parameter.unit}".rstrip() + "."
        raise LabError(f"{option(parameter.name)} {value} is out of range.", step)
    return number


def _span(name: str, value: Any) -> str:
    """A span of time, FROM:FOR in whole seconds, or ``never``; LabError if it is none."""
    if value == NEVER or (isinstance(value, str) and SPAN.fullmatch(value)):
        return str(value)
    step = "Write it FROM:FOR in whole seconds, such as 30:60: from the thirtieth second on, for a minute."
    raise LabError(f"{name} {value} is no span of time.", step)


def option(name: str) -> str:
    """An option's name on the command line, such as ``--ramp-up``."""
    return f"--{name.replace('_', '-')}"


def names(asked: str | Sequence[str] | None) -> list[str]:
    """A list of names from ``"a,b"`` or a list; empty for None."""
    if asked is None:
        return []
    return [str(part).strip() for part in (asked if isinstance(asked, list | tuple) else str(asked).split(","))]
