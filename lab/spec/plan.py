"""The plan of a run: all of its cells and settings, fixed before anything is started."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from lab.spec.limits import EQUAL, Limits, Stance
from lab.spec.own_load import Locustfile, OneRequest
from lab.spec.scenario import Scenario
from lab.spec.system import Link, Variant
from lab.spec.workload import Load


@dataclass(frozen=True)
class Cell:
    """One measurement: one repeat of one variant under one load."""

    variant: str
    load: Load
    repeat: int = 1

    @property
    def id(self) -> str:
        """The cell's folder name, such as ``mvc-u4000-r1``."""
        return f"{self.variant}-u{self.load.users}-r{self.repeat}"


@dataclass(frozen=True)
class Plan:
    """All settings of a run, fixed before anything is started; ``run.json`` holds it and the command line.

    Attributes:
        scenario: the scenario as it was defined when the run was planned.
        limits: the limits that are the same for all variants.
        stance: where the limits come from.
        own_limits: by variant, the limits of those that have their own (``tuned``).
        bind: host and port of this machine where workers on other machines find the master, such as
            ``192.168.1.20:5557``; services listen on that host too. Empty if there are none.
        urls: by variant, the address of an attached service; empty where the lab starts the services.
        header_names: names of additional headers for attached services. Their values may be secrets, and are not
            stored.
        one_request: what is sent to attached services; a GET if None.
        locustfile: what is played on attached services instead; None for one request.

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
    one_request: OneRequest | None = None
    locustfile: Locustfile | None = None

    def limits_of(self, variant: str) -> Limits:
        """The limits that the lab sets for a variant; None for a limit that is left to the stack."""
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
            raise ValueError(f"the key {unknown} is unknown")
        if not plan.cells:
            raise ValueError("there are no cells")
        if strangers := {cell.variant for cell in plan.cells} - {variant.name for variant in plan.scenario.variants}:
            raise ValueError(f"the scenario {plan.scenario.name} has no variant {min(strangers)!r}")
        return plan


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
