"""A scenario as data: its endpoint, parameters, variants, contract and default load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lab.spec.system import Variant
from lab.spec.workload import Load

# Kinds of request by their cost for the generator: a small answer, one of 1 MB, a small one for a token.
KINDS = ("small", "large", "token")


@dataclass(frozen=True)
class Parameter:
    """A whole-number parameter of a scenario; ``delay_ms`` becomes the option ``--delay-ms``."""

    name: str
    default: int
    minimum: int
    maximum: int
    unit: str
    help: str


@dataclass(frozen=True)
class Exchange:
    """A request of the contract and its right status; all variants must give equal answers to it.

    Attributes:
        name: the name in messages, such as ``not a number``.
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
    """A scenario as data: question, endpoint, parameters, variants, contract and default load.

    Attributes:
        path: the endpoint's path; ``{delay_ms}`` and the like are filled from the parameters.
        contract: requests, good and bad, that all variants must answer alike.
        databases: kinds of database it needs: ``mysql``, ``mongo``.
        own_pool: the default pool size of these databases' drivers.
        bearer: whether each request carries the token of a seeded user.
        answer_bytes: bytes that one request moves over the link to the database, where that may take time; else 0.
        service_time: the parameter that is the service time of a request in ms (t of the formulas); empty where only
            the link to the database has a time that is known beforehand.
        rehearsal: parameters during warm-up that remove waiting but keep the CPU work.
        rehearsal_requests: requests of a warm-up round, at least.
        rehearsal_rounds: rounds of a stage of the warm-up, at most.
        cpu_decides: whether the service's CPU time determines the result, so that its code must be fully compiled.
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
