"""The variants of the operations: stacks, styles and generations of Spring, each by MySQL and by MongoDB."""

from __future__ import annotations

from dataclasses import replace

from lab.experiments.variants import MVC, MVC_VIRTUAL, WEBFLUX
from lab.spec.system import SERVICE, Component, Stage, Table, Variant

MYSQL, MONGO = "mysql", "mongo"
# BCrypt hashes of "admin", the published password, as hashing takes longer than all else that a run prepares. Whoever
# logs in as the other user has a hash of strength 4: 1/64 of the work.
HASHES = {
    "admin": "$2a$10$mDjf5oAJyZPrBTLhw5ZjVuW2QXfBKTCQki8GUsBIgICI22EoYth.6",
    "admin4": "$2a$04$OqVRh4M.USIVsJ3r2qG7fOGtdZVcj6Bin88tds.BKFha.Eqz/W0rC",
}
ACCOUNTS = Table(
    "accounts",
    {"login": "text", "password_hash": "text", "email": "text", "activated": "boolean"},
    tuple((login, hash_, f"{login}@example.org", "true") for login, hash_ in HASHES.items()),
)
# Keys of three digits, so that they have the same order as numbers and as texts, and those of MongoDB come later.
OPERATIONS = Table(
    "operations",
    {"id": "numbered", "date": "time", "description": "text", "amount": "amount"},
    tuple((str(100 + n), f"2020-01-01T00:{n % 60:02}:00", f"Operation {n}", f"{n}.50") for n in range(100)),
)
TABLES = (ACCOUNTS, OPERATIONS)
COMPONENTS = (
    Component(MYSQL, database="mysql", own_pool=10, tables=TABLES),
    Component(MONGO, database="mongo", own_pool=100, tables=TABLES),
)


def _demands(database: str) -> dict[str, tuple[Stage, ...]]:
    """What each request of the session asks of a database; SELECTs are counted without a name."""
    read = Stage(database) if database == MYSQL else Stage(database, command="find")
    return {
        "unauthenticated account": (),
        "authenticate": (Stage(SERVICE, cpu=True), read),
        "account": (read,),
        "all operations": (read,),
        "create operation": (Stage(database, command="insert"),),
        "get operation": (read,),
        "delete operation": (Stage(database, command="delete"),),
    }


def _on(database: str, variant: Variant, module: str) -> Variant:
    """A variant whose service keeps accounts and operations in that database."""
    titles = {MYSQL: "MySQL", MONGO: "MongoDB"}
    return replace(
        variant,
        name=variant.name + f"-{MONGO}" * (database == MONGO),
        module=module,
        title=f"{variant.title}, {titles[database]}",
        factors={**variant.factors, "database": titles[database]},
        promises={
            **variant.promises,
            "server": "netty" if variant.factors["stack"] == WEBFLUX.factors["stack"] else "tomcat",
        },
        calls=(database,),
        demands=_demands(database),
    )


def _current(variant: Variant, style: str = "plain", accounts: str = "plain", operations: str = "plain") -> Variant:
    """A variant on the current generation, whose controllers are written so, each as the service is told."""
    return replace(
        variant,
        factors={**variant.factors, **_generation("4.0", NEWEST_JAVA), "style": style},
        properties={**variant.properties, "lab.accounts": accounts, "lab.operations": operations},
        jdk=NEWEST_JAVA,
    )


def _generation(boot: str, jdk: int) -> dict[str, str]:
    return {"generation": f"Spring Boot {boot}", "java": str(jdk)}


def _wrapped(style: str, accounts: str, operations: str, scheduler: str) -> Variant:
    """Spring MVC whose controllers return Monos, by a scheduler of Reactor's: it is Tomcat that serves them."""
    variant = _current(MVC, style, accounts, operations)
    return replace(
        variant,
        name=f"{style.split()[0]}-{SCHEDULERS[scheduler]}",
        title=f"Spring MVC on Tomcat, reactive {style} on {scheduler}",
        # In one factor: controllers that block have no scheduler, and would differ from these in two.
        factors={**variant.factors, "style": f"{style} on {scheduler}"},
        properties={**variant.properties, "lab.scheduler": scheduler},
        # A request gives its thread back while it waits for the scheduler's.
        thread_per_request=False,
    )


def _of_generation(boot: str, spring: str, jdk: int, suffix: str = "") -> Variant:
    """Spring MVC on Tomcat and platform threads, on a generation of Spring Boot and a release of Java."""
    variant = _current(MVC)
    return replace(
        variant,
        name=f"boot-{boot}{suffix}",
        title=f"Spring Boot {boot} (Spring {spring}), Java {jdk}",
        factors={**variant.factors, **_generation(boot, jdk)},
        jdk=jdk,
    )


NEWEST_JAVA = 25
# By what Reactor calls them, what the published variants do.
SCHEDULERS = {"boundedElastic": "elastic", "parallel": "parallel"}
# A Maven module for each variant.
STACKS = (
    (_current(MVC), "mvc-operations"),
    (_current(MVC_VIRTUAL), "mvc-operations"),
    (_current(WEBFLUX, "reactive to the driver"), "webflux-operations"),
)
STYLES = tuple(
    (_wrapped(style, accounts, "wrapped", scheduler), "mvc-operations-wrapped")
    for scheduler in SCHEDULERS
    for style, accounts in (("controller of operations", "plain"), ("rest layer", "wrapped"))
)
# MongoDB's alone: MySQL has no such repository.
REPOSITORY = tuple(
    (_wrapped("repository", "plain", "repository", scheduler), "mvc-operations-repository") for scheduler in SCHEDULERS
)
# Each on a release of Java of its time.
GENERATIONS = (
    (_of_generation("1.5", "4.3", 11), "boot-1.5"),
    (_of_generation("2.0", "5.0", 11), "boot-2.0"),
    (_of_generation("2.7", "5.3", 17), "boot-2.7"),
    (_of_generation("3.5", "6.2", 21), "boot-3.5"),
)
# So that generation and Java are told apart: 1.5, 2.0 and 2.7 are all on 11, and 2.7, 3.5 and 4.0 all on 21.
OTHER_JAVA = (
    (_of_generation("2.7", "5.3", 11, "-java11"), "boot-2.7"),
    (_of_generation("2.7", "5.3", 21, "-java21"), "boot-2.7"),
    (_of_generation("4.0", "7.0", 21, "-java21"), "mvc-operations"),
)
VARIANTS = (
    *(_on(MYSQL, variant, module) for variant, module in (*STACKS, *STYLES, *GENERATIONS, *OTHER_JAVA)),
    *(_on(MONGO, variant, module) for variant, module in (*STACKS, *STYLES, *REPOSITORY, *GENERATIONS, *OTHER_JAVA)),
)
