"""The backends of services: databases, the links to them, and the key that signs tokens."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from lab.errors import ComponentError, LabError
from lab.runtimes import Running
from lab.spec.plan import Plan
from lab.spec.scenario import Exchange, Scenario
from lab.system import shaped_link
from lab.system.databases import TITLES, Database, Site, containers, counters, mongo, mysql, tokens
from lab.system.databases.rows import users

HONEST_USERS = (0, 49_999, 99_999)


@dataclass(frozen=True)
class Endpoints:
    """The user's own servers, used instead of the lab's; empty where there is none. All fields may hold secrets.

    Attributes:
        headers: additional headers of every request to an attached service.

    """

    mysql: str = ""
    mongo: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Backends:
    """The running backends of a run's services: databases, links and tokens.

    Attributes:
        databases: by kind, as the lab reaches them (never through the link).
        environment: environment variables of the services: endpoints, password, key; never on a command line.
        links: what runs between services and databases, by name.
        tokens: a file with a token of each seeded user, one a line; None if the scenario has none.
        contract: the scenario's exchanges, and those with honest and hostile tokens.

    """

    databases: Mapping[str, Database] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    links: Mapping[str, Running] = field(default_factory=dict)
    tokens: Path | None = None
    contract: tuple[Exchange, ...] = ()

    @property
    def title(self) -> str:
        """The databases' title in tables and figures."""
        return ", ".join(database.title for database in self.databases.values())

    def running(self) -> dict[str, Running]:
        """The processes on this machine: databases, and the links to them."""
        own = {kind: database.running for kind, database in self.databases.items() if database.running}
        return {**own, **self.links}

    def exit_reasons(self) -> list[str]:
        """One sentence for each process that has ended."""
        endings = {TITLES.get(name, name): running.exit_reason() for name, running in self.running().items()}
        return [f"The {name} of this run {ending}." for name, ending in endings.items() if ending]

    def check_alive(self) -> None:
        """ComponentError if a process has ended."""
        for exit_reason in self.exit_reasons():
            raise ComponentError(exit_reason)

    def shape_links(self, on: bool) -> None:
        """Switch the shaping of all links on or off."""
        for running in self.links.values():
            shaped_link.switch(running, on)

    def queries(self) -> int | None:
        """Queries the databases have answered; None if one does not count them. ComponentError if one has ended."""
        try:
            counts = [counters.queries(database) for database in self.databases.values()]
        except LabError as error:
            self.check_alive()
            raise ComponentError(error.problem, error.next_step) from error
        return sum(count for count in counts if count is not None) if counts and None not in counts else None


NO_ENDPOINTS = Endpoints()


def modules(scenario: Scenario, endpoints: Endpoints) -> set[str]:
    """The Maven modules to build for the backends of a scenario."""
    needs_stand_in = "mongo" in scenario.databases and not endpoints.mongo and not shutil.which("mongod")
    return {"mongo-standin"} if needs_stand_in else set()


@contextmanager
def running_backends(plan: Plan, site: Site, endpoints: Endpoints, images: Mapping[str, str]) -> Iterator[Backends]:
    """Start or find, seed and check the databases of a plan; the lab's own servers end with the context.

    Args:
        images: by kind of database, to start it in a container; none for processes.

    """
    scenario = plan.scenario
    with ExitStack() as stack:
        databases: dict[str, Database] = {}
        links: dict[str, Running] = {}
        environment: dict[str, str] = {}
        for kind in scenario.databases:
            databases[kind] = stack.enter_context(_database(kind, site, endpoints, images.get(kind, "")))
            seen, running = stack.enter_context(_through_link(databases[kind], plan, site))
            environment |= _database_environment(seen)
            if running:
                links[f"link to {kind}"] = running
        exchanges = scenario.contract
        file = None
        if scenario.bearer:
            key, file = tokens.signing_key(site.seeds), tokens.token_file(site.seeds)
            environment["LAB_JWT_KEY"] = base64.b64encode(key).decode()
            exchanges += _token_exchanges(scenario, key)
        yield Backends(databases, environment, links, file, exchanges)


def _database(kind: str, site: Site, endpoints: Endpoints, image: str) -> AbstractContextManager[Database]:
    if image and not getattr(endpoints, kind):
        return containers.database(kind, site, image)
    return mysql.server(site, endpoints.mysql) if kind == "mysql" else mongo.server(site, endpoints.mongo)


@contextmanager
def _through_link(database: Database, plan: Plan, site: Site) -> Iterator[tuple[Database, Running | None]]:
    if not plan.link:
        yield database, None
        return
    shape = shaped_link.Shape(plan.link.latency_ms, plan.link.rate, plan.link.connection_rate)
    with shaped_link.running_link(site.runtime, (database.host, database.port), shape, site.logs, site.cores) as (
        running,
        port,
    ):
        yield database.via(port, site.runtime.host), running


def _database_environment(database: Database) -> dict[str, str]:
    if database.kind == "mongo":
        return {"LAB_MONGO_URI": database.url}
    return {
        "LAB_MYSQL_HOST": database.host,
        "LAB_MYSQL_PORT": str(database.port),
        "LAB_MYSQL_USER": database.user,
        "LAB_MYSQL_PASSWORD": database.password,
    }


def _token_exchanges(scenario: Scenario, key: bytes) -> tuple[Exchange, ...]:
    everybody = users()
    honest = [everybody[number] for number in HONEST_USERS]
    good = [
        Exchange(f"token of {user.email}", scenario.path, 200, headers=_bearer(tokens.token(user.email, key)))
        for user in honest
    ]
    bad = [
        Exchange(f"token: {each.name}", scenario.path, each.status, headers=_bearer(each.token))
        for each in tokens.hostile(key, honest[0].email)
    ]
    return (*good, *bad)


def _bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}
