"""A scenario as data: its requests, parameters, variants, contract and default load."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from string import Formatter
from typing import NamedTuple

from lab.errors import did_you_mean
from lab.spec.corpus import Corpus
from lab.spec.limits import ALL_EQUAL, Limits
from lab.spec.system import SERVICE, UNSHAPED, Batches, Component, Entry, Link, Variant
from lab.spec.workload import Burst, Closed, Total

# Kinds of request by their cost for the generator: a small answer, a small one for a token, 1 MB whose length the head
# says, and 1 MB in chunks.
KINDS = ("small", "token", "large", "chunked")
# What the generator receives at once: answers that are larger cost it more, and have a ceiling of their own.
LARGE_BYTES = 65_536


# A value of a parameter: a whole number, one of its choices, or a span of time.
Value = int | str
# The default of a parameter that is a span of time.
NEVER = "never"


@dataclass(frozen=True)
class Parameter:
    """A parameter of a scenario, such as a whole number; ``delay_ms`` becomes the option ``--delay-ms``.

    Attributes:
        minimum: of a whole number, as ``maximum``.
        unit: of its value, such as ``ms``; empty for a count.
        choices: the names it may have; none if it is a number. Figures and tables keep their order.
        span: whether it is a span of time, ``30:60`` from the thirtieth second on for a minute, or ``never``; no sweep
            varies it.
        needs: by another parameter, its values at which this one has an effect, or none for any but its default; empty
            where it always has one.

    ValueError if its default is none of its choices.

    """

    name: str
    default: Value
    minimum: int = 0
    maximum: int = 0
    unit: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()
    span: bool = False
    needs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check the default."""
        if self.choices and self.default not in self.choices:
            raise ValueError(f"the parameter {self.name} has no choice {self.default!r}, its default")


class Weight(NamedTuple):
    """What a request costs the generator: which of :data:`KINDS` it is, and the bytes of its bodies."""

    kind: str
    body_bytes: int = 0


@dataclass(frozen=True)
class Request:
    """A request of the load by its name; what a right answer is, its locustfile says.

    Attributes:
        path: ``{delay_ms}`` and the like are filled from the parameters; a word such as ``KEY`` stands for what differs
            from request to request. With the method it names the endpoint that must have counted the request.
        token: whether it carries the bearer token of a seeded user.
        unknown_user: the status of the answer to a valid token of somebody else.
        answer_bytes: bytes of a right answer, where they cost the generator something; 0 for a few.
        sent_bytes: the same of its own body.
        times_bytes: the parameter that says how many times so many both are; empty for once.
        chunked: whether the answer comes in chunks, instead of with its length; also where only some variants send it
            so, which costs the generator more.
        needs: by parameter, the values with which a load sends it; with any value of the others.
        times: how often a session sends it that goes through to its end; 0 where that is not always the same.

    """

    name: str
    path: str
    method: str = "GET"
    token: bool = False
    unknown_user: int = 404
    answer_bytes: int = 0
    sent_bytes: int = 0
    times_bytes: str = ""
    chunked: bool = False
    needs: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    times: int = 0

    def is_sent(self, parameters: Mapping[str, Value]) -> bool:
        """Whether a load with these parameters may send it."""
        return all(parameters[name] in values for name, values in self.needs.items())

    def weight(self, parameters: Mapping[str, Value]) -> Weight:
        """What it costs the generator in a load with these parameters."""
        size = (self.answer_bytes + self.sent_bytes) * (int(parameters[self.times_bytes]) if self.times_bytes else 1)
        if size >= LARGE_BYTES:
            return Weight("chunked" if self.chunked else "large", size)
        return Weight("token" if self.token else "small", size)


@dataclass(frozen=True)
class Exchange:
    """A request of the contract and its right status; all variants must give equal answers to it.

    Attributes:
        name: the name in messages, such as ``not a number``.
        status: the status of the only right answer.
        headers: the value of each; several where a header is sent as often.
        unordered: whether the answer is a JSON list in any order, as of a database that nobody asked for one.
        bearer: the number of the seeded user whose token it carries; None for no token of the lab's.
        saves: by name, what to keep of the answer, such as the key of what was created: a regular expression with one
            group, searched in its fields (``Location: /things/1``), then in its body. In the paths, headers and bodies
            of later exchanges the name in braces stands for it; in answers, where they are compared, too.

    """

    name: str
    path: str
    status: int
    method: str = "GET"
    headers: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    body: str = ""
    unordered: bool = False
    bearer: int | None = None
    saves: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rehearsal:
    """The warm-up of a scenario's services, in rounds: see :func:`lab.running.warm_up.warm_up`.

    Attributes:
        parameters: those that remove waiting but keep the CPU work.
        requests: requests of a round, at least.
        rounds: rounds of a stage of the warm-up, at most.
        users: of a round, at least, where it is not the CPU time of a request that decides.
        most_users: of a round, at most; 0 for as many as are measured. Without their pauses, as many users as think
            would be another load, and busy threads leave compilers no time; a burst that keeps the cores busy has more
            rounds with all of its users.
        duration_s: of a round, instead of a number of requests: where it is not known how long one takes.
        restored_after: after how many rounds databases are put into the state that was seeded, where requests add
            more to them than they are to hold; 0 for not before the measured load.

    """

    requests: int
    rounds: int
    parameters: Mapping[str, Value] = field(default_factory=dict)
    users: int = 200
    duration_s: float = 0.0
    most_users: int = 0
    restored_after: int = 0


@dataclass(frozen=True)
class OwnEntities:
    """Entities of a component that users do not share under some parameters, so that there must be enough of them.

    Attributes:
        where: by parameter, the values under which it is so.
        each: the parameter that says how many a user has; one if empty.

    """

    component: str
    where: Mapping[str, tuple[Value, ...]]
    each: str = ""


def _check_known(scenario: Scenario, what: str, names: Iterable[str], known: Collection[str]) -> None:
    """ValueError if a scenario speaks of something that it does not have."""
    for name in names:
        if name not in known:
            raise ValueError(f"the scenario {scenario.name} has no {what} {name!r}{did_you_mean(name, known)}")


def _is_no_database(component: Component) -> bool:
    return not component.database


@dataclass(frozen=True)
class Scenario:
    """A scenario as data: question, requests, parameters, variants, what is behind them, and the default load.

    Attributes:
        requests: what a user's session sends, as its locustfile names them; ``lab up`` shows the first as an example.
            Theory is of scenarios with one; the calls that components must have counted are of any number.
        contract: requests, good and bad, that all variants must answer alike.
        rehearsal: the warm-up.
        sweep: the values that ``lab sweep`` varies if none are named, by axis: ``users``, ``rate``, or a parameter.
        components: what is behind the service: see :attr:`start_order`.
        limits: the limits of the stance ``equal``.
        link: the link to each component, unless options say otherwise.
        corpus: the files that its programs read; None if they read none that the lab makes.
        signs_tokens: whether its services sign tokens themselves, so that they are told the key.
        default_variants: the names of those that are measured where nobody names any; all if empty.
        own_entities: what no two users of a load share.
        cpu_without_link: whether the CPU decides where no link is set: see :attr:`lab.spec.plan.Plan.cpu_decides`.
        think_s: the pauses of a session in all, in seconds on average; 0 where users do not pause.
        all_cores: whether its programs are executed on all cores, as where several threads are what is compared; else
            on half of them, and what watches over them on the others.
        locustfile: the name of the scenario whose locustfile plays this one too; its own if empty.

    ValueError where services are to be compared with programs, programs have more than one user, a variant's demands
    are of an unknown request, or components call unknown ones, or one another in a circle.

    """

    name: str
    question: str
    requests: tuple[Request, ...]
    contract: tuple[Exchange, ...]
    parameters: tuple[Parameter, ...]
    variants: tuple[Variant, ...]
    load: Burst | Closed | Total
    rehearsal: Rehearsal
    sweep: Mapping[str, tuple[Value, ...]]
    components: tuple[Component, ...] = ()
    limits: Limits = ALL_EQUAL
    link: Link = UNSHAPED
    corpus: Corpus | None = None
    all_cores: bool = False
    default_variants: tuple[str, ...] = ()
    locustfile: str = ""
    signs_tokens: bool = False
    think_s: float = 0.0
    own_entities: tuple[OwnEntities, ...] = ()
    cpu_without_link: bool = False

    def __post_init__(self) -> None:
        """Check that its variants are of one kind and speak of its requests, and who calls whom."""
        _ = self.start_order
        if self.entry == "program" and (self.load.users, self.load.ramp_s) != (1, 0.0):
            raise ValueError(f"the scenario {self.name} compares programs, so its load has one user and no ramp")
        known = {request.name for request in self.requests}
        _check_known(self, "parameter", self._parameter_names(), {parameter.name for parameter in self.parameters})
        _check_known(self, "variant", self.default_variants, {variant.name for variant in self.variants})
        _check_known(self, "component", self._component_names(), {part.name for part in self.components} | {SERVICE})
        for variant in self.variants:
            if unknown := variant.demands.keys() - known:
                raise ValueError(
                    f"the scenario {self.name} has no request {min(unknown)!r}, of which {variant.name} speaks"
                )
            try:
                re.compile(variant.output)
            except re.error as error:
                raise ValueError(f"the output of {variant.name} is no regular expression: {error}") from error
        if len(kinds := {variant.entry for variant in self.variants}) > 1:
            raise ValueError(f"the scenario {self.name} compares {' with '.join(sorted(kinds))}")

    def _parameter_names(self) -> Iterator[str]:
        """The names of all parameters that it speaks of."""
        for request in self.requests:
            yield from (name for _, name, _, _ in Formatter().parse(request.path) if name)
            yield from (*request.needs, *filter(None, (request.times_bytes,)))
        for variant in self.variants:
            yield from variant.settings.values()
            yield from (stage.time_parameter for stage in variant.stages if stage.time_parameter)
            yield from (stage.calls for stage in variant.stages if isinstance(stage.calls, str))
            yield from (stage.servers_parameter for stage in variant.stages if stage.servers_parameter)
            yield from (name for stage in variant.stages for name in stage.steady_at_default)
            yield from (stage.calls.size_parameter for stage in variant.stages if isinstance(stage.calls, Batches))
        for component in self.components:
            yield from component.settings.values()
            if component.entities and component.entities.index_parameter:
                yield component.entities.index_parameter
        for own in self.own_entities:
            yield from own.where
            yield from filter(None, (own.each,))
        yield from (name for parameter in self.parameters for name in parameter.needs)
        yield from self.rehearsal.parameters
        yield from self.corpus.parameters if self.corpus else ()
        yield from (axis for axis in self.sweep if axis not in ("users", "rate"))

    def _component_names(self) -> Iterator[str]:
        """The names of all components that variants are said to call."""
        yield from (name for variant in self.variants for name in variant.calls)
        yield from (stage.component for variant in self.variants for stage in variant.stages)
        yield from (own.component for own in self.own_entities)

    @property
    def entry(self) -> Entry:
        """What its variants are, and so how they are driven."""
        return self.variants[0].entry if self.variants else "service"

    @property
    def played_by(self) -> str:
        """The name of the locustfile that plays it."""
        return self.locustfile or self.name

    @property
    def start_order(self) -> tuple[Component, ...]:
        """Its components, databases first, and each after those that it calls; otherwise in their own order."""
        by_name = {component.name: component for component in sorted(self.components, key=_is_no_database)}
        if unknown := {name for component in self.components for name in component.calls} - by_name.keys():
            raise ValueError(f"the scenario {self.name} has no component {min(unknown)!r}, which another calls")
        sorter, order = TopologicalSorter({name: component.calls for name, component in by_name.items()}), list[str]()
        try:
            sorter.prepare()
        except CycleError as error:
            raise ValueError(f"the components {' and '.join(error.args[1][1:])} call one another") from error
        while sorter.is_active():
            ready = sorted(sorter.get_ready(), key=list(by_name).index)
            order += ready
            sorter.done(*ready)
        return tuple(by_name[name] for name in order)

    @property
    def databases(self) -> tuple[str, ...]:
        """The kinds of database that it needs."""
        return tuple(component.database for component in self.components if component.database)

    @property
    def played_parameters(self) -> tuple[Parameter, ...]:
        """The parameters that decide what users send; the others are settings of services, which are told them."""
        settings = (*(part.settings for part in self.components), *(variant.settings for variant in self.variants))
        told = {name for of_one in settings for name in of_one.values()}
        return tuple(parameter for parameter in self.parameters if parameter.name not in told)

    @property
    def sends_tokens(self) -> bool:
        """Whether a request carries the token of a seeded user."""
        return any(request.token for request in self.requests)

    @property
    def requests_a_session(self) -> int:
        """How many requests a session sends that goes through to its end; 0 where that is not always the same."""
        return sum(request.times for request in self.requests)

    @property
    def unit(self) -> str:
        """What its load counts: ``request``, ``session`` where several requests may be one, or ``execution``."""
        if self.entry == "program":
            return "execution"
        return "session" if len(self.requests) > 1 else "request"

    @property
    def cpu_decides(self) -> bool:
        """Whether the CPU time of a request determines the result, so that the code must be fully compiled."""
        return any(stage.cpu for variant in self.variants for stage in variant.stages)

    def weight(self, parameters: Mapping[str, Value]) -> Weight:
        """The weight of the request that costs the generator most, of those that a load with these parameters sends."""
        weights = [request.weight(parameters) for request in self.requests if request.is_sent(parameters)]
        return max(weights, key=lambda weight: (KINDS.index(weight.kind), weight.body_bytes), default=Weight(KINDS[0]))

    def defaults(self) -> dict[str, Value]:
        """Every parameter at its default."""
        return {parameter.name: parameter.default for parameter in self.parameters}

    def variant(self, name: str) -> Variant:
        """The variant of that name; KeyError if there is none."""
        return {variant.name: variant for variant in self.variants}[name]

    def component(self, name: str) -> Component:
        """The component of that name; KeyError if there is none."""
        return {component.name: component for component in self.components}[name]

    def choices(self, name: str) -> tuple[str, ...]:
        """The names that a parameter may have; none if it is a number, or no parameter."""
        return next((parameter.choices for parameter in self.parameters if parameter.name == name), ())

    def path(self, parameters: Mapping[str, Value]) -> str:
        """The path of its first request with these parameters; empty if it has none."""
        return self.requests[0].path.format(**parameters) if self.requests else ""
