"""The plan of a run: all of its measurements, decided before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lab.spec.limits import EQUAL, Limits, Stance
from lab.spec.scenario import Scenario
from lab.spec.system import Link, Variant
from lab.spec.workload import Load


@dataclass(frozen=True)
class Cell:
    """One measurement: one variant under one load, once."""

    variant: str
    load: Load
    repeat: int = 1

    @property
    def id(self) -> str:
        """The cell's folder name, such as ``mvc-u4000-r1``."""
        return f"{self.variant}-u{self.load.users}-r{self.repeat}"


@dataclass(frozen=True)
class Plan:
    """Everything that was decided before anything was started; ``run.json`` is this and the command line.

    Attributes:
        scenario: what is measured, as it was defined when the run was planned.
        limits: those that are the same for all variants.
        stance: where the limits come from.
        own_limits: by variant, the limits of those that have their own (``tuned``).
        bind: host and port of this machine where workers on other machines find the master, such as
            ``192.168.1.20:5557``; services listen on that host too. Empty if there are none.
        urls: by variant, the address of a service that is there already; empty where the lab starts what it measures.
        header_names: of what is sent along to those. The values may be secrets, and are kept nowhere.

    """

    scenario: Scenario
    cells: tuple[Cell, ...]
    parameters: Mapping[str, int]
    limits: Limits
    link: Link
    seed: int
    pin: bool
    stance: Stance = EQUAL
    own_limits: Mapping[str, Limits] = field(default_factory=dict)
    bind: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)
    header_names: tuple[str, ...] = ()

    def limits_of(self, variant: str) -> Limits:
        """The limits that the lab sets for a variant; None where it leaves one to the stack."""
        return self.own_limits.get(variant, self.limits)

    @property
    def variants(self) -> tuple[Variant, ...]:
        """The variants that are measured, in the order of the cells."""
        return tuple(map(self.scenario.variant, dict.fromkeys(cell.variant for cell in self.cells)))

    @property
    def most_users(self) -> int:
        """The users of the largest load."""
        return max(cell.load.users for cell in self.cells)

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types that :meth:`from_json` takes back."""
        return dict(msgspec.to_builtins(self))

    @staticmethod
    def from_json(value: Any) -> Plan:
        """The plan that :meth:`as_json` wrote; ValueError says what is damaged and where."""
        plan = msgspec.convert(value, Plan)
        if unknown := next(_unknown(value, plan.as_json()), ""):
            raise ValueError(f"nothing is known of {unknown}")
        if not plan.cells:
            raise ValueError("there are no cells")
        if strangers := {cell.variant for cell in plan.cells} - {variant.name for variant in plan.scenario.variants}:
            raise ValueError(f"the scenario {plan.scenario.name} has no variant {min(strangers)!r}")
        return plan


def _unknown(value: Any, known: Any) -> Iterator[str]:
    """The keys of a JSON value, in any depth, that are not in another one of the same shape."""
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
