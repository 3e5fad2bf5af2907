"""The plan of a run: all of its cells and settings, fixed before anything is started."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import structs

from lab.formulas.digits import digits
from lab.spec import numbers
from lab.spec.limits import EQUAL, Limits, Stance
from lab.spec.own_load import Locustfile, OneRequest
from lab.spec.scenario import Scenario, Value
from lab.spec.system import Component, Link, Variant
from lab.spec.workload import Burst, Closed, Load, OpenLoop, Total

# What a sweep can vary besides a parameter: the number of users, or the rate of an open loop.
USERS, RATE = "users", "rate"
# The rate as a percentage of what each variant can do, so that each has a rate of its own.
CAPACITY = "percent of capacity"
# What the cells of a ramp are named by, which no sweep varies: where its rate goes.
RAMP = "ramp"
# What may be part of a path or a statement: a run that was received from somebody must not lead out of its folder, nor
# have a database do what nobody asked for.
IN_A_PATH = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# How variants take turns: a cell of one after a cell of another, or, while all of them are up, in short windows.
Interleave = Literal["cells", "windows"]
CELLS: Interleave = "cells"
WINDOWS: Interleave = "windows"
# The default length of a load where the CPU decides: compilers and collectors take turns of seconds.
CPU_BOUND_S = 20.0


@dataclass(frozen=True)
class Cell:
    """One measurement: one repeat of one variant under one load, with the values of what a sweep varies.

    Attributes:
        parameters: the parameter that differs from cell to cell; the others are the plan's.
        varied: what a sweep varies besides users, with its value, such as ``delay-ms500``, or the ramp; part of the id.
        percent: the rate as a percentage of the variant's capacity, where it was asked for so; else 0.

    """

    variant: str
    load: Load
    repeat: int = 1
    parameters: Mapping[str, Value] = field(default_factory=dict)
    varied: str = ""
    percent: float = 0.0

    @property
    def id(self) -> str:
        """The cell's folder name, such as ``mvc-u4000-r1`` or ``mvc-delay-ms500-r1``."""
        return f"{self.variant}-{self.varied or f'u{self.load.users}'}-r{self.repeat}"


@dataclass(frozen=True)
class Plan:
    """All settings of a run, fixed before anything is started; ``run.json`` holds it and the command line.

    Attributes:
        scenario: the scenario as it was defined when the run was planned.
        parameters: those that are the same for all cells: see :meth:`parameters_of`.
        axis: what differs from cell to cell besides variant and repeat: ``users``, ``rate``, ``percent of capacity``,
            or a parameter's name; ``ramp`` where a ramp is all there is.
        limits: the limits that are the same for all variants.
        stance: where the limits come from.
        own_limits: by variant, the limits of those that have their own (``tuned``).
        bind: host and port of this machine where workers on other machines find the master, such as
            ``192.168.1.20:5557``; services listen on that host too. Empty if there are none.
        header_names: names of additional headers for attached services. Their values may be secrets, and are not
            stored.
        one_request: what is sent to attached services; a GET if None.
        locustfile: what is played on attached services instead; None for one request.
        interleave: whether variants take turns by cells or by windows: see :attr:`groups`.
        nodes: how many times the service of a variant is started, behind a balancer where that is more than once.
        prometheus: whether Prometheus scrapes all parts that have metrics.

    """

    scenario: Scenario
    cells: tuple[Cell, ...]
    parameters: Mapping[str, Value]
    limits: Limits
    link: Link
    seed: int
    pin: bool
    axis: str = USERS
    stance: Stance = EQUAL
    own_limits: Mapping[str, Limits] = field(default_factory=dict)
    bind: str = ""
    header_names: tuple[str, ...] = ()
    one_request: OneRequest | None = None
    locustfile: Locustfile | None = None
    interleave: Interleave = CELLS
    nodes: int = 1
    prometheus: bool = False

    @property
    def is_closed_loop(self) -> bool:
        """Whether users of any cell wait for answers before they send again, so that tails lack what others would send.

        Of a burst of one request a user every send has its planned time, whatever the service does; and a program,
        executed again and again, has no arrivals that it could leave out.
        """
        loads = [cell.load for cell in self.cells]
        waits = any(isinstance(load, Closed | Total) or (isinstance(load, Burst) and load.loops > 1) for load in loads)
        return waits and self.unit != "execution"

    def limits_of(self, variant: str) -> Limits:
        """The limits that the lab sets for a variant; None for a limit that is left to the stack."""
        return self.own_limits.get(variant, self.limits)

    def parameters_of(self, cell: Cell) -> dict[str, Value]:
        """Every parameter of a cell by its name."""
        return {**self.parameters, **cell.parameters}

    def position(self, cell: Cell) -> float:
        """Where the cell stands on the plan's :attr:`axis`: the value that is varied, or the place of a name."""
        if self.axis == CAPACITY:
            return cell.percent
        if isinstance(cell.load, OpenLoop) and self.axis in (RATE, RAMP):
            return cell.load.highest_rps
        if self.axis == USERS:
            return cell.load.users
        value = self.parameters_of(cell)[self.axis]
        return self.scenario.choices(self.axis).index(value) if isinstance(value, str) else value

    def at(self, cell: Cell) -> str:
        """Where a cell stands, in words: ``400 users``, ``50 requests/s``, ``delay_ms 500``."""
        return self.at_position(self.position(cell))

    def label(self, cell: Cell) -> str:
        """A cell in words, as the beginning of a sentence: ``mvc at 400 users, repeat 2``."""
        repeat = f", repeat {cell.repeat}" * self.has_repeats
        return f"{cell.variant} at {self.at(cell)}{repeat}"

    @property
    def has_repeats(self) -> bool:
        """Whether anything is to be measured more than once."""
        return any(cell.repeat > 1 for cell in self.cells)

    def at_position(self, position: float) -> str:
        """A value of what is varied, in words."""
        if self.axis == CAPACITY:
            return f"{position:g} % of capacity"
        if self.axis in (RATE, RAMP):
            rate = f"{digits(position)} {self.unit}s/s"
            return f"a ramp to {rate}" if self.axis == RAMP else rate
        if self.axis == USERS:
            return f"{position:,.0f} user{'s' * (position != 1)}"
        if not self.scenario.choices(self.axis):
            return f"{self.axis} {position:,.0f}"
        name = self.value_at(position)
        return f"{self.axis} {name}" if name.isdigit() else name

    def value_at(self, position: float) -> str:
        """A value of what is varied, without saying what that is: a number, or a name."""
        choices = self.scenario.choices(self.axis)
        return choices[int(position)] if choices else digits(position)

    @property
    def is_balanced(self) -> bool:
        """Whether the service has several nodes, with a balancer in front of them."""
        return self.nodes > 1

    @property
    def cpu_decides(self) -> bool:
        """Whether the service's CPU decides: in its scenario always, or where no link is set."""
        return self.scenario.cpu_decides or (self.scenario.cpu_without_link and not self.link)

    @property
    def default_load(self) -> Burst | Closed | Total:
        """The load unless options shape another: the scenario's, or a loop if the CPU decides only for want of a link.

        Then the scenario's own load is there to show what a link does, and is over too soon to show what a CPU does.
        """
        load = self.scenario.load
        if self.scenario.cpu_without_link and not self.link:
            return structs.replace(load.as_closed(CPU_BOUND_S), ramp_s=load.ramp_s)
        return load

    @property
    def unit(self) -> str:
        """What a load counts: ``request``, ``session`` where several requests may be one, or ``execution``."""
        return "session" if self.locustfile else self.scenario.unit

    @property
    def positions(self) -> list[float]:
        """All values of what is varied, ascending."""
        return sorted({self.position(cell) for cell in self.cells})

    @property
    def is_sweep(self) -> bool:
        """Whether cells differ in more than variant and repeat."""
        return len(self.positions) > 1

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that are measured, in the order of the cells."""
        return tuple(map(self.scenario.variant, dict.fromkeys(cell.variant for cell in self.cells)))

    @property
    def components(self) -> tuple[Component, ...]:
        """What the variants that are measured call, and what that calls, in the order in which it is started."""
        everything = tuple(component.name for component in self.scenario.components)
        needed = {name for variant in self.variants for name in variant.calls or everything}
        in_order = self.scenario.start_order
        for component in reversed(in_order):  # a caller is started after what it calls
            needed |= set(component.calls) if component.name in needed else set()
        return tuple(component for component in in_order if component.name in needed)

    @property
    def groups(self) -> list[list[Cell]]:
        """The cells whose services are up at once: each alone, or, in windows, all variants of a start at one load."""
        if self.interleave == CELLS:
            return [[cell] for cell in self.cells]
        found: dict[tuple[int, float], list[Cell]] = {}
        for cell in self.cells:
            found.setdefault((cell.repeat, self.position(cell)), []).append(cell)
        return list(found.values())

    @property
    def starts(self) -> list[list[list[Cell]]]:
        """The groups that are measured with the same start of the services: each alone, or, in windows, all loads."""
        if self.interleave == CELLS:
            return [[group] for group in self.groups]
        found: dict[int, list[list[Cell]]] = {}
        for group in self.groups:
            found.setdefault(group[0].repeat, []).append(group)
        return list(found.values())

    @property
    def most_users(self) -> int:
        """The users of the largest load."""
        return max(cell.load.users for cell in self.cells)

    @property
    def peak_users(self) -> int:
        """The users of the largest load, or of the warm-up where that has more."""
        return max(self.scenario.rehearsal.users, self.most_users)

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types that :meth:`from_json` takes back."""
        return dict(msgspec.to_builtins(self))

    @staticmethod
    def from_json(value: Any) -> Plan:
        """The plan that :meth:`as_json` wrote; ValueError says what is damaged and where."""
        plan = msgspec.convert(value, Plan)
        if unknown := next(_unknown(value, plan.as_json()), ""):
            raise ValueError(f"the key {unknown} is unknown")
        if not plan.cells:
            raise ValueError("there are no cells")
        if strangers := {cell.variant for cell in plan.cells} - {variant.name for variant in plan.scenario.variants}:
            raise ValueError(f"the scenario {plan.scenario.name} has no variant {min(strangers)!r}")
        for name in _names(plan):
            if not IN_A_PATH.fullmatch(name):
                raise ValueError(f"{name!r} is no name, as it would be part of a path or a statement")
        if plan.axis not in (USERS, RATE, CAPACITY, RAMP, *plan.scenario.defaults()):
            raise ValueError(f"nothing is called {plan.axis!r}, which is said to be varied")
        for cell in plan.cells:
            _check_cell(plan, cell)
        return plan


def _check_cell(plan: Plan, cell: Cell) -> None:
    """ValueError if a parameter has no value, or none that it may have, or if a load could not be."""
    given = plan.parameters_of(cell)
    for parameter in plan.scenario.parameters:
        value = given.get(parameter.name)
        named = isinstance(value, str) and (parameter.span or value in parameter.choices)
        if not (named if isinstance(parameter.default, str) else isinstance(value, int)):
            raise ValueError(f"the parameter {parameter.name} of {cell.id} has the value {value!r}")
    duration_s = getattr(cell.load, "duration_s", 0.0)
    if cell.load.users > numbers.MAX_INT or duration_s > numbers.MOST_SECONDS:
        raise ValueError(f"the load of {cell.id} has {cell.load.users:,} users and takes {duration_s:g} s")


def _names(plan: Plan) -> Iterator[str]:
    """All names of a plan that folders, files and tables are named after, or found by."""
    yield from (plan.scenario.name, plan.scenario.played_by)
    yield from (cell.id for cell in plan.cells)
    parts: tuple[Variant | Component, ...] = (*plan.scenario.variants, *plan.scenario.components)
    for part in parts:
        yield part.name
        yield part.module or part.name
    yield from (component.database for component in plan.scenario.components if component.database)
    for table in (table for component in plan.scenario.components for table in component.tables):
        yield from (table.name, *table.columns, *table.index)
    if corpus := plan.scenario.corpus:
        yield from (*corpus.file_bytes, *corpus.contents)
        yield from (ending.removeprefix(".") for content in corpus.contents.values() for ending in content.text)


def _unknown(value: Any, known: Any) -> Iterator[str]:
    """The keys of a JSON value, at any depth, that a known one of the same shape does not have."""
    if isinstance(value, Mapping) and isinstance(known, Mapping):
        yield from value.keys() - known.keys()
        pairs: Iterable[tuple[Any, Any]] = [(value[key], known[key]) for key in value.keys() & known.keys()]
    else:
        pairs = (
            zip(value, known, strict=True)
            if isinstance(value, list | tuple) and isinstance(known, list | tuple)
            else ()
        )
    for part, of in pairs:
        yield from _unknown(part, of)
