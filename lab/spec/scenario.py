"""A scenario as data: its endpoint, parameters, variants, contract and default load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.spec.system import Variant
from lab.spec.workload import Load

# The kinds of request that cost the generator alike: a small answer, one of 1 MB, a small one for a token.
KINDS = ("small", "large", "token")


@dataclass(frozen=True)
class Parameter:
    """A whole number that a scenario lets people vary; ``delay_ms`` becomes the option ``--delay-ms``."""

    name: str
    default: int
    minimum: int
    maximum: int
    unit: str
    help: str


@dataclass(frozen=True)
class Exchange:
    """A request that all variants must answer alike, before their speed is compared.

    Attributes:
        name: what people call it, such as ``not a number``.
        status: the status of the only right answer.

    """

    name: str
    path: str
    status: int
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""


@dataclass(frozen=True)
class Scenario:
    """An experiment as data: its question, its endpoint, what may be varied, and what a right answer is.

    Attributes:
        path: the endpoint's path; ``{delay_ms}`` and the like are filled from the parameters.
        contract: requests, good and bad, that all variants must answer alike.
        databases: kinds of database it needs: ``mysql``, ``mongo``.
        own_pool: connections in the pools of these databases' drivers, if nobody says how many.
        bearer: whether each request carries the token of a seeded user.
        answer_bytes: what one request moves over the link to the database, where that may take time; else 0.
        service_time: the parameter that says how long one request takes without any queue, in ms (t of the formulas);
            empty where only the link to the database has a time that is known beforehand.
        rehearsal: parameters during warm-up, so that it costs the service work but not waiting.
        rehearsal_requests: how many requests a warm-up round has at least.
        rehearsal_rounds: how many rounds an act of the warm-up has at most.
        cpu_decides: whether the service's CPU time decides what is measured, so that it must be as good as it gets.
        kind: which of :data:`KINDS` its requests are, for the generator's ceiling.
        sweep_users: the loads of ``lab sweep`` if none are named.

    """

    name: str
    question: str
    path: str
    contract: tuple[Exchange, ...]
    parameters: tuple[Parameter, ...]
    variants: tuple[Variant, ...]
    load: Load
    service_time: str
    rehearsal: Mapping[str, int]
    rehearsal_requests: int
    rehearsal_rounds: int
    cpu_decides: bool
    sweep_users: tuple[int, ...]
    databases: tuple[str, ...] = ()
    own_pool: int | None = None
    bearer: bool = False
    answer_bytes: int = 0
    kind: str = "small"

    def defaults(self) -> dict[str, int]:
        """Every parameter at its default."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def variant(self, name: str) -> Variant:
        """The variant of that name; KeyError if there is none."""
        return {variant.name: variant for variant in self.variants}[name]
