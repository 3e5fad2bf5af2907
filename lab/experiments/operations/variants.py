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
        calls=(database,),
        demands=_demands(database),
    )


VARIANTS = tuple(
    _on(database, variant, module)
    for database in (MYSQL, MONGO)
    for variant, module in (
        (MVC, "mvc-operations"),
        (MVC_VIRTUAL, "mvc-operations"),
        (WEBFLUX, "webflux-operations"),
    )
)
