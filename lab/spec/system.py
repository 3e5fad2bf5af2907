"""The system under test as values: a variant of the service, what is behind it, and the links between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal

from lab.spec.limits import NOT_SET, Limits

# The component that is loaded, in stages, counts and readings; the others have names of their own.
SERVICE = "service"
# Where it has several nodes, readings and counts of each have a name that begins with this; SERVICE is all of them.
NODE = "node "
# What passes requests on to the nodes.
BALANCER = "balancer"
# What readings of the lab's own processes and of the machine are named.
RESERVED = (SERVICE, BALANCER, "prometheus", "lab", "machine", "master", "generator", "neighbours", "idle generators")
# What a variant is: a service that the lab builds and starts, one that is there already, or a program that is executed.
Entry = Literal["service", "attached", "program"]


@dataclass(frozen=True)
class Link:
    """The shaped link between the service and each component behind it; zero leaves a property unshaped.

    Attributes:
        latency_ms: added round-trip time.
        rate: bandwidth of all connections together, in bytes/s.
        connection_rate: bandwidth of each connection, in bytes/s.

    """

    latency_ms: int = 0
    rate: int = 0
    connection_rate: int = 0

    @property
    def is_limited(self) -> bool:
        """Whether its bandwidth is limited, so that the time of a request depends on the load."""
        return bool(self.rate or self.connection_rate)

    def __bool__(self) -> bool:
        """Whether it shapes anything; a link that does not is left out."""
        return bool(self.latency_ms or self.rate or self.connection_rate)


UNSHAPED = Link()


# By kind of database, its commands that are counted one by one, where the demands of a variant name one of them.
COMMANDS_OF = {
    "mongo": ("find", "getMore", "insert", "update", "delete"),
    "mysql": ("insert", "update", "delete"),
}
COMMANDS = tuple(dict.fromkeys(chain.from_iterable(COMMANDS_OF.values())))
# The kinds of a table's columns: keys that MySQL numbers by itself, and that are texts in MongoDB; and kinds of value.
COLUMN_KINDS = ("numbered", "text", "boolean", "time", "amount")


def command_of(counted: str) -> str:
    """The command that is counted under a name such as ``mongo find``; empty where it is all calls, as of ``mongo``."""
    last = counted.rpartition(" ")[2]
    return last if last in COMMANDS else ""


@dataclass(frozen=True)
class Entities:
    """A collection of entities in a MongoDB database, which is the same before each measured load, and after it.

    Entities have a key, an integer, a text and doubles: see :mod:`lab.system.databases.entities`.

    Attributes:
        count: how many there are.
        doubles: of each.
        integers: how many different integers they have, each as often as the others.
        index_parameter: the parameter that names the indexed field, or is ``none``; empty for no index ever.

    """

    count: int
    doubles: int
    integers: int
    index_parameter: str = ""


@dataclass(frozen=True)
class Table:
    """A table of MySQL, or a collection of MongoDB, that is the same before each measured load, and after it.

    Attributes:
        columns: by name, the kind of each, one of :data:`COLUMN_KINDS`; the first is the key, in MongoDB ``_id``.
        index: the columns of an index of MySQL's besides the key, if it has one.
        rows: the values of each row as texts: numbers and amounts in digits, ``true`` or ``false``, times in UTC as in
            ``2020-01-01T00:00:00``.

    ValueError where a column is of no such kind, or a row has more or fewer values than there are columns.

    """

    name: str
    columns: Mapping[str, str]
    rows: tuple[tuple[str, ...], ...]
    index: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check kinds and rows."""
        if unknown := set(self.columns.values()) - set(COLUMN_KINDS):
            raise ValueError(f"the table {self.name} has a column of the unknown kind {min(unknown)!r}")
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError(f"the table {self.name} has a row that does not fit its columns")


@dataclass(frozen=True)
class Component:
    """A part of the system behind the service that is loaded: a database, another service, or a program.

    Exactly one of ``database``, ``module`` and ``command`` says what it is. A database calls nothing.

    Attributes:
        name: its name in messages, readings and counts, such as ``mongo`` or ``backend``. What calls it finds its
            address in ``LAB_<NAME>_URL`` (in Spring ``lab.<name>-url``).
        database: the kind of database, started and seeded by :mod:`lab.system.databases`: ``mysql`` or ``mongo``.
        module: the Maven module of a service of ours.
        command: the command line of a program, started in the checkout; ``{python}`` is the lab's own Python. It
            listens on a free port of the address in ``LAB_HOST``, and writes the port into the file that
            ``LAB_PORT_FILE`` names.
        calls: names of the components that it calls: it is started after them, and told of their addresses as the
            service that is loaded is.
        own_pool: how many connections to it the service's client opens at most by default; None if unlimited or
            unknown.
        entities: what a database of the kind ``mongo`` holds besides its document, which requests may change.
        tables: what a database of either kind holds besides, which requests may change.
        settings: what a service of ours is told before each load at ``/actuator/settings``: by the names that it has
            for them, the parameters that hold their values. It answers what is in force, which must be the same.

    """

    name: str
    database: str = ""
    module: str = ""
    command: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    own_pool: int | None = None
    entities: Entities | None = None
    tables: tuple[Table, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """ValueError where its name is that of another target of readings, or it is not one thing."""
        if not self.name or self.name in RESERVED or self.name.startswith(("worker", NODE)):
            raise ValueError(f"a component cannot be named {self.name!r}: readings of the lab itself are")
        if sum(map(bool, (self.database, self.module, self.command))) != 1:
            raise ValueError(f"the component {self.name} is not one of database, module and command")
        if self.entities and self.database != "mongo":
            raise ValueError(f"the component {self.name} holds entities, and is no database of the kind mongo")
        if self.tables and not self.database:
            raise ValueError(f"the component {self.name} holds tables, and is no database")
        if self.settings and not self.module:
            raise ValueError(f"the component {self.name} has settings, and is no service of ours")

    @property
    def changes(self) -> bool:
        """Whether it holds something that requests may change, so that it is put back before and after each load."""
        return bool(self.entities or self.tables)


@dataclass(frozen=True)
class Batches:
    """How often a cursor fetches more after its first batch: ⌈documents / size⌉ − 1.

    A server that notices only on the next look that nothing is left is asked once more where the last batch is full.

    Attributes:
        size_parameter: the parameter that is the size of a batch. Where that is no number, the driver chooses it, and
            how often is unknown.

    """

    documents: int
    size_parameter: str


@dataclass(frozen=True)
class Stage:
    """What one request asks of one component: calls that take a time, move bytes, or cost CPU.

    Attributes:
        component: :data:`SERVICE` where the service itself takes the time, else the name of what it calls.
        time_parameter: the parameter that is the time of one call in ms; empty where only the link's latency is known
            beforehand.
        calls: how many calls a request makes, or the parameter that says so; None where only counting can tell.
        parallel: whether a request makes all its calls at once; else one after the other.
        answer_bytes: bytes of the answer to one call, where the link to the component may take time for them.
        cpu: whether it is the CPU time of the call that takes long, so that the code must be fully compiled.
        servers_parameter: the parameter that is how many calls the component works on at once; 0 for any number.
        steady_at_default: parameters that have it fail or be slow where they are not at their defaults: then theory
            predicts nothing.
        command: which of :data:`COMMANDS` each call is, where the component is a database whose commands are counted
            one by one; then requests make no other of these than their stages say.
        guarded: whether calls go through the service's circuit breaker, which may keep them back; and where one fails,
            it may not have reached the component, which then has not counted it.

    """

    component: str
    time_parameter: str = ""
    calls: int | str | Batches | None = 1
    parallel: bool = False
    answer_bytes: int = 0
    cpu: bool = False
    command: str = ""
    servers_parameter: str = ""
    steady_at_default: tuple[str, ...] = ()
    guarded: bool = False

    def __post_init__(self) -> None:
        """ValueError where its command is none that is counted."""
        if self.command and self.command not in COMMANDS:
            raise ValueError(f"nobody counts the command {self.command!r} of {self.component}")

    @property
    def counted_as(self) -> str:
        """What its calls are counted as: the component's name, or that and the command, such as ``mongo find``."""
        return f"{self.component} {self.command}".rstrip()


@dataclass(frozen=True)
class Variant:
    """One of the things that are compared: a way to run the service, the address of one, or a program.

    Exactly one of these says what it is: ``url``, ``command``, or (without these) ``module``. The module of a
    ``command`` is what Maven makes before it is executed.

    Attributes:
        factors: what it is an example of, such as ``{"threads": "virtual"}``: by these its results are to differ from
            those of the others.
        module: the Maven module of the service; of a program, the one whose jar its command names, if any.
        properties: Spring properties; values may name a limit, as in ``"{threads}"``. One whose limit is left to the
            stack is left out.
        jvm_arguments: the same for the command line of the JVM.
        promises: the limits that the running service must report, filled in the same way, and what must be in force
            besides, in words such as ``netty``; None is "unlimited".
        own: the stack's default limits by its documentation: for theory only.
        tuned: the limits of the stance ``tuned``.
        thread_per_request: whether a request holds one of the T threads until it is answered.
        demands: by request, its stages, one after the other. Theory, the calls that each component must have counted,
            and the candidates for the binding resource follow from them.
        published_as: the column of the published tables that this variant reproduces.
        url: the address of an attached service.
        command: the command line of a program, executed in the checkout. In its words, a parameter's name in braces is
            the parameter's value, ``{python}`` the lab's own Python, ``{java}`` the JDK's launcher, ``{jar}`` the
            module's jar, and ``{corpus}`` the folder of the files that the lab has made for the scenario.
        settings: what the service is told before each load, as :attr:`Component.settings`.
        calls: names of the components that the service calls, and is told of; all if empty.
        caches: whether the service keeps what it has read of a database. Its caches are emptied before each load, when
            the database is as it was seeded, and it is asked what it has found in them: its counters ``lab.…``.
        environment: environment variables of the program. Of those of the shell it gets no others than ``PATH``,
            ``HOME`` and the like, so that no shell decides what it does.
        output: a regular expression for the whole standard output of a right execution, with parameters filled in as in
            ``command``; any does if empty. All variants of one scope must print the same lines, in any order.
        scope: what the program works on, in words, where that is not what the others do: then it may print something
            else, and is faster or slower at another task.
        jdk: the release of Java that the service runs on, such as 21, which the lab installs; 0 for that of the lab's
            own JDK. Where a variant of a scenario names one, no variant of it starts from a start-up cache, as not
            every release has one.

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
    demands: Mapping[str, tuple[Stage, ...]] = field(default_factory=dict)
    published_as: str = ""
    factors: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    command: tuple[str, ...] = ()
    output: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    scope: str = ""
    jdk: int = 0
    settings: Mapping[str, str] = field(default_factory=dict)
    calls: tuple[str, ...] = ()
    caches: bool = False

    @property
    def entry(self) -> Entry:
        """What it is, and so how it is driven."""
        return "attached" if self.url else "program" if self.command else "service"

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages of all its requests, each made once."""
        return tuple(stage for stages in self.demands.values() for stage in stages)

    @property
    def guarded(self) -> frozenset[str]:
        """What is counted behind its circuit breaker, as :attr:`Stage.counted_as`."""
        return frozenset(stage.counted_as for stage in self.stages if stage.guarded)
