"""The nouns of the lab: frozen values, without behaviour that touches the world."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

EVEN, POISSON = "even", "poisson"
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
class Limits:
    """What silently decides results; None leaves a limit to the stack itself.

    Attributes:
        threads: at most so many operating-system threads serve requests (T of the formulas).
        accept_count: connections the kernel holds ready before the server accepts them (listen backlog).
        pool: connections to the database (N of the formulas), where the scenario has one.
        heap_mb: the JVM's heap, fixed at this size from the start, in MiB.
        max_connections: connections the server takes at once.
        keep_alive_requests: requests on one connection, after which the server closes it; -1 for no limit.

    The values below are those of the stance ``equal``. Spring Boot passes on only a positive number of connections, so
    that "unlimited" has to be a number out of reach.

    """

    threads: int | None = 200
    accept_count: int | None = 4096
    pool: int | None = 100
    heap_mb: int | None = 2048
    max_connections: int | None = 1_000_000
    keep_alive_requests: int | None = -1

    def or_else(self, other: Limits) -> Limits:
        """These limits, and the other's where one is left open."""
        return Limits(**{name: getattr(other, name) if mine is None else mine for name, mine in asdict(self).items()})


NOT_SET = Limits(None, None, None, None, None, None)


@dataclass(frozen=True)
class Link:
    """What lies between service and database; zero leaves that alone.

    Attributes:
        latency_ms: by how much a round trip takes longer.
        rate: bytes a second of all connections together.
        connection_rate: bytes a second of each connection.

    """

    latency_ms: int = 0
    rate: int = 0
    connection_rate: int = 0

    def __bool__(self) -> bool:
        """Whether it does anything; a link that does not is left out."""
        return bool(self.latency_ms or self.rate or self.connection_rate)


@dataclass(frozen=True)
class Variant:
    """One way to run the service: a Maven module and its properties.

    Attributes:
        properties: Spring properties; values may name a limit, as in ``"{threads}"``. One whose limit is left to the
            stack is left out.
        jvm_arguments: the same for the command line of the JVM.
        promises: what the running service must state about its limits, filled in the same way; None is "unlimited".
        own: the limits that the stack has by its documentation if nobody sets them: for theory, never set or promised.
        tuned: the limits of the stance ``tuned``.
        thread_per_request: whether a request holds one of the T threads until it is answered.
        published_as: the column of the published tables that this variant reproduces.

    """

    name: str
    module: str
    title: str
    properties: Mapping[str, str] = field(default_factory=dict)
    jvm_arguments: tuple[str, ...] = ()
    promises: Mapping[str, str | None] = field(default_factory=dict)
    own: Limits = NOT_SET
    tuned: Limits = NOT_SET
    thread_per_request: bool = False
    published_as: str = ""


@dataclass(frozen=True)
class Load:
    """Who sends when.

    Attributes:
        users: R, how many users there are.
        ramp_s: their first requests are spread over so many seconds; an open loop has no ramp.
        loops: requests each user sends, one after the other, unless one of the next two decides.
        duration_s: closed loop: users repeat until so many seconds after the start.
        requests: closed loop: users repeat until they have sent so many requests in all.
        rate_rps: open loop: so many requests a second are planned for ``duration_s``, whatever the answers do; a user
            that is free sends the next one.
        arrivals: how planned sends are spread: ``even``, or ``poisson`` for independent moments.
        timeout_s: a request that takes longer counts as an error of class ``timeout``.
        workers: Locust worker processes on this machine that share the users.
        remote_workers: workers on other machines that share them too.

    """

    users: int
    ramp_s: float = 1.0
    loops: int = 1
    duration_s: float = 0.0
    requests: int = 0
    rate_rps: float = 0.0
    arrivals: str = EVEN
    timeout_s: float = 120.0
    workers: int = 1
    remote_workers: int = 0

    @property
    def planned_requests(self) -> int | None:
        """How many requests this load sends in all; None where only the duration decides."""
        if self.is_open:
            return self.planned_sends
        return None if self.duration_s else self.requests or self.users * self.loops

    @property
    def planned_sends(self) -> int:
        """How many sends an open loop plans: as many as fit into its duration; 0 for any other load."""
        return int(round(self.rate_rps * self.duration_s, 6))

    @property
    def is_open(self) -> bool:
        """Whether requests are planned at a rate, so that latency counts from the moment they were planned for."""
        return self.rate_rps > 0

    @property
    def is_burst(self) -> bool:
        """Whether every user sends a fixed number of requests, as in JMeter's thread group."""
        return not self.duration_s and not self.requests


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
        limits: those that are the same for all variants.
        stance: ``equal``, ``default`` or ``tuned``: where the limits come from.
        own_limits: by variant, the limits of those that have their own (``tuned``).
        bind: host and port of this machine where workers on other machines find the master, such as
            ``192.168.1.20:5557``; services listen on that host too. Empty if there are none.
        urls: by variant, the address of a service that is there already; empty where the lab starts what it measures.
        header_names: of what is sent along to those. The values may be secrets, and are kept nowhere.

    """

    scenario: str
    cells: tuple[Cell, ...]
    parameters: Mapping[str, int]
    limits: Limits
    link: Link
    seed: int
    pin: bool
    stance: str = "equal"
    own_limits: Mapping[str, Limits] = field(default_factory=dict)
    bind: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)
    header_names: tuple[str, ...] = ()

    def limits_of(self, variant: str) -> Limits:
        """The limits that the lab sets for a variant; None where it leaves one to the stack."""
        return self.own_limits.get(variant, self.limits)

    def as_json(self) -> dict[str, Any]:
        """A dictionary of JSON types that :meth:`from_json` takes back."""
        return asdict(self)

    @staticmethod
    def from_json(value: Mapping[str, Any]) -> Plan:
        """The plan that :meth:`as_json` wrote; KeyError, TypeError or ValueError where it is damaged."""
        cells = tuple(Cell(c["variant"], _load(c["load"]), c["repeat"]) for c in value["cells"])
        if not cells:
            raise ValueError("there are no cells")
        return Plan(
            scenario=value["scenario"],
            cells=cells,
            parameters=_numbers(value["parameters"]),
            limits=_limits(value["limits"]),
            link=Link(**_numbers(value["link"])),
            seed=value["seed"],
            pin=value["pin"],
            stance=value.get("stance", "equal"),
            own_limits={variant: _limits(limits) for variant, limits in value.get("own_limits", {}).items()},
            bind=value.get("bind", ""),
            urls=_texts(value.get("urls", {})),
            header_names=tuple(_texts(dict.fromkeys(value.get("header_names", ()), ""))),
        )


def _limits(value: Mapping[str, Any]) -> Limits:
    open_ = {name: limit for name, limit in value.items() if limit is None}
    return Limits(**_numbers({name: limit for name, limit in value.items() if limit is not None}), **open_)


def _load(value: Mapping[str, Any]) -> Load:
    fields = dict(value)
    arrivals = fields.pop("arrivals", EVEN)  # which older runs do not name
    if arrivals not in (EVEN, POISSON):
        raise ValueError(f"no such arrivals: {arrivals}")
    return Load(**_numbers(fields), arrivals=arrivals)


def _texts(value: Mapping[str, Any]) -> dict[str, str]:
    texts = dict(value)
    if not all(isinstance(text, str) for pair in texts.items() for text in pair):
        raise ValueError(f"not texts: {texts}")
    return texts


def _numbers(value: Mapping[str, Any]) -> dict[str, Any]:
    numbers = dict(value)
    if not all(isinstance(number, int | float) for number in numbers.values()):
        raise ValueError(f"not numbers: {numbers}")
    return numbers
