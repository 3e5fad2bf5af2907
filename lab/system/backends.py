"""The backends of a service: databases and other services, the links to them, and the key that signs tokens."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.errors import ComponentError, LabError
from lab.runtimes import Running
from lab.runtimes.waiting import await_exit_reasons
from lab.spec import http_address
from lab.spec.plan import Plan
from lab.spec.scenario import Exchange, Scenario, Value
from lab.spec.system import Component
from lab.system import contract, shaped_link
from lab.system.databases import TITLES, Database, Site, tokens
from lab.system.service import Service


@dataclass(frozen=True)
class Endpoints:
    """The user's own servers, used instead of the lab's; empty where there is none. All fields may hold secrets.

    Attributes:
        headers: additional headers of every request to an attached service.
        join: the token of workers on other machines.

    """

    mysql: str = field(default="", repr=False)
    mongo: str = field(default="", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    join: str = field(default="", repr=False)

    @property
    def databases(self) -> frozenset[str]:
        """The kinds of database of which the user's own server is used."""
        return frozenset(kind for kind, url in (("mysql", self.mysql), ("mongo", self.mongo)) if url)

    def check(self) -> None:
        """LabError if an address is none that the lab can use: before anything is written that could repeat it."""
        if self.mysql:
            from lab.system.databases import mysql  # here, since the databases' clients take long to import

            mysql.parse(self.mysql)
        if self.mongo:
            from lab.system.databases import mongo

            mongo.parse(self.mongo)

    def check_answering(self, plan: Plan) -> None:
        """LabError unless each server that a plan needs answers, and lets the lab in."""
        kinds = self.databases & {component.database for component in plan.components}
        if "mysql" in kinds:
            from lab.system.databases import mysql

            mysql.check_lets_in(mysql.parse(self.mysql))
        if "mongo" in kinds:
            from lab.system.databases import mongo

            mongo.check_lets_in(mongo.parse(self.mongo))


@dataclass(frozen=True)
class Backends:
    """The running backends of a run's services: components, links and tokens.

    Attributes:
        databases: by component, as the lab reaches them (never through the link).
        services: by component, other services and programs, as the lab reaches them.
        told: by component, the environment variables with its address, and its password if it has one; never on a
            command line. Those of :data:`TOKENS` hold the key of the tokens.
        links: what runs between services and components, by name.
        observers: what runs beside all of them and reads them, by name, such as Prometheus. Nothing needs them: that
            one has ended ends nothing else.
        tokens: a file with a token of each seeded user, one a line; None if the scenario has none.
        contract: the scenario's exchanges, and those of :mod:`lab.system.contract`.

    """

    databases: Mapping[str, Database] = field(default_factory=dict)
    services: Mapping[str, Service] = field(default_factory=dict)
    told: Mapping[str, Mapping[str, str]] = field(default_factory=dict, repr=False)
    links: Mapping[str, Running] = field(default_factory=dict)
    observers: Mapping[str, Running] = field(default_factory=dict)
    tokens: Path | None = None
    contract: tuple[Exchange, ...] = ()

    @property
    def title(self) -> str:
        """The databases' title in tables and figures."""
        return ", ".join(database.title for database in self.databases.values())

    def environment(self, calls: Iterable[str] = ()) -> dict[str, str]:
        """The environment variables of the service that is loaded, and the key.

        Args:
            calls: the components that it calls; all if empty.

        """
        return self.environment_of((*calls, TOKENS) if calls else self.told)

    def environment_of(self, components: Iterable[str]) -> dict[str, str]:
        """The environment variables of what calls only these components."""
        return {variable: value for name in components for variable, value in self.told.get(name, {}).items()}

    def telling(
        self, component: str, environment: Mapping[str, str], links: Mapping[str, Running] | None = None
    ) -> Backends:
        """The same backends, with the environment variables of one more component, and the link to it."""
        return replace(self, told={**self.told, component: environment}, links={**self.links, **(links or {})})

    def needed(self) -> dict[str, Running]:
        """The processes on this machine that services need: components, and the links to them."""
        own = {name: database.running for name, database in self.databases.items() if database.running}
        return {
            **own,
            **{name: service.running for name, service in self.services.items()},
            **self.links,
        }

    def running(self) -> dict[str, Running]:
        """The processes on this machine: what is needed, and the observers that have not ended."""
        return {**self.needed(), **{name: each for name, each in self.observers.items() if not each.exit_reason()}}

    def exit_reasons(self) -> list[str]:
        """One sentence for each process that has ended, of those that are needed."""
        return list(self._ended())

    def check_alive(self) -> None:
        """ComponentError if a process has ended that is needed; with the last lines of its log."""
        for exit_reason, running in self._ended().items():
            raise ComponentError(exit_reason, f"The whole log is in {running.launch.log}.", running.log_tail())

    def _ended(self) -> dict[str, Running]:
        """The needed processes that have ended, each by a sentence about that."""
        endings = ((name, running.exit_reason(), running) for name, running in self.needed().items())
        return {f"The {TITLES.get(name, name)} of this run {ending}.": each for name, ending, each in endings if ending}

    @contextmanager
    def links_unshaped(self) -> Iterator[None]:
        """While the context lasts, however it ends, no link delays or limits what passes it."""
        self._shape_links(on=False)
        try:
            yield
        finally:  # the other variants of a start are measured behind the same links, whatever this one has met
            self._shape_links(on=True)

    def _shape_links(self, on: bool) -> None:
        for running in self.links.values():
            shaped_link.switch(running, on)

    def queries(self) -> dict[str, int]:
        """Queries that each database has answered, and each of its commands, such as ``mongo find``, if it counts them.

        ComponentError if a database has ended.
        """
        if not self.databases:
            return {}
        from lab.system.databases import counters

        with self._alive():
            return {
                f"{name} {what}".rstrip(): count
                for name, database in self.databases.items()
                for what, count in counters.counted(database).items()
            }

    def restore(self, scenario: Scenario, parameters: Mapping[str, Value]) -> None:
        """Put the entities and tables that requests may have changed into the state that was seeded.

        ComponentError if a database has ended, or refuses that.
        """
        for component in scenario.components:
            if component.changes and component.name in self.databases:
                with self._alive():
                    _restore(self.databases[component.name], component, parameters)

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """A database that has ended is the cause of what fails here, and said instead."""
        try:
            yield
        except LabError as error:
            await_exit_reasons(self.exit_reasons)
            self.check_alive()
            raise ComponentError(error.problem, error.next_step) from error


def _restore(database: Database, component: Component, parameters: Mapping[str, Value]) -> None:
    from lab.system.databases import restoring, tables

    if of := component.entities:
        index = str(parameters[of.index_parameter]) if of.index_parameter else restoring.NO_INDEX
        restoring.restore(database, of, index)
    for table in component.tables:
        tables.restore(database, table)


NO_ENDPOINTS = Endpoints()
# What stands for the tokens among components: a component cannot have this name.
TOKENS = ""


def modules(plan: Plan, endpoints: Endpoints) -> set[str]:
    """The Maven modules to build for the databases of a plan."""
    kinds = {component.database for component in plan.components}
    needs_stand_in = "mongo" in kinds and not endpoints.mongo and not shutil.which("mongod")
    return {"mongo-standin"} if needs_stand_in else set()


def without_components(scenario: Scenario) -> Backends:
    """The backends of a service that calls nothing, or nothing yet."""
    return Backends(contract=scenario.contract + contract.common(scenario))


@contextmanager
def running_backends(plan: Plan, site: Site, endpoints: Endpoints, images: Mapping[str, str]) -> Iterator[Backends]:
    """Start or find, seed and check the databases of a plan; the lab's own servers end with the context.

    Args:
        images: by kind of database, to start it in a container; none for processes.

    """
    scenario = plan.scenario
    with ExitStack() as stack:
        found = without_components(scenario)
        for component in plan.components:
            if kind := component.database:
                database = stack.enter_context(_database(kind, site, endpoints, images.get(kind, "")))
                found = replace(found, databases={**found.databases, component.name: database})
                with_link = _through_link(component, (database.host, database.port), plan, site)
                address, links = stack.enter_context(with_link)
                seen = database.via(address[1], address[0]) if links else database
                found = found.telling(component.name, _database_environment(seen), links)
        found.restore(scenario, plan.parameters_of(plan.cells[0]))
        if scenario.sends_tokens or scenario.signs_tokens:
            key = tokens.signing_key(site.seeds)
            found = found.telling(TOKENS, {"LAB_JWT_KEY": base64.b64encode(key).decode()})
        if scenario.sends_tokens:
            file = tokens.token_file(site.seeds)
            signed = contract.with_tokens(found.contract, key)
            found = replace(found, tokens=file, contract=(*signed, *contract.of_tokens(scenario, key)))
        yield found


@contextmanager
def with_service(
    backing: Backends, component: Component, service: Service, plan: Plan, site: Site
) -> Iterator[Backends]:
    """The backends with one more service, of which its callers are told as ``LAB_<NAME>_URL``."""
    parts = http_address.split(service.url)
    with _through_link(component, (parts.hostname or "", http_address.port(parts)), plan, site) as (address, links):
        variable = f"LAB_{component.name.upper().replace('-', '_')}_URL"
        added = replace(backing, services={**backing.services, component.name: service})
        yield added.telling(component.name, {variable: f"http://{address[0]}:{address[1]}"}, links)


def _database(kind: str, site: Site, endpoints: Endpoints, image: str) -> AbstractContextManager[Database]:
    # Here, since their clients take long to import, and most commands have nothing to do with databases.
    from lab.system.databases import containers, mongo

    if image and not getattr(endpoints, kind):
        return containers.database(kind, site, image)
    return _mysql(site, endpoints.mysql) if kind == "mysql" else mongo.server(site, endpoints.mongo)


@contextmanager
def _mysql(site: Site, url: str | None) -> Iterator[Database]:
    """A MySQL database whose users are in use all the time: see :func:`lab.system.databases.mysql.users_in_use`."""
    from lab.system.databases import mysql

    with mysql.server(site, url) as database, mysql.users_in_use(database):
        yield database


Address = tuple[str, int]


@contextmanager
def _through_link(
    component: Component, address: Address, plan: Plan, site: Site
) -> Iterator[tuple[Address, dict[str, Running]]]:
    """The address of a component as the service sees it, and the link in between, if the plan has one."""
    if not plan.link:
        yield address, {}
        return
    shape = shaped_link.Shape(plan.link.latency_ms, plan.link.rate, plan.link.connection_rate)
    folder = site.logs / f"link-to-{component.name}"
    with shaped_link.running_link(site.runtime, address, shape, folder, site.cores) as (running, port):
        yield (site.runtime.host, port), {f"link to {component.name}": running}


def _database_environment(database: Database) -> dict[str, str]:
    if database.kind == "mongo":
        return {"LAB_MONGO_URI": database.url}
    return {
        "LAB_MYSQL_HOST": database.host,
        "LAB_MYSQL_PORT": str(database.port),
        "LAB_MYSQL_USER": database.user,
        "LAB_MYSQL_PASSWORD": database.password,
    }
