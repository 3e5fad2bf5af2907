"""Databases in containers: empty when they start, seeded each time, gone with the run."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lab.errors import LabError
from lab.runtimes import Launch, Running
from lab.system.databases import Database, Site, mongo, mysql
from lab.system.free_port import server_on_free_port

USER = "lab"
MYSQL_PORT, MONGO_PORT = 3306, 27017
MEMORY_MB = 2048


@contextmanager
def database(kind: str, site: Site, image: str) -> Iterator[Database]:
    """A database of a kind from its image, with what is seeded into it.

    Raises:
        LabError: it ended, or was not ready in time; with the last lines of its log.

    """
    password = secrets.token_urlsafe(24)
    told = {"LAB_PASSWORD": password} if kind == "mysql" else {}
    port = MYSQL_PORT if kind == "mysql" else MONGO_PORT
    launch = Launch(kind, (), site.logs / f"{kind}.log", told, site.cores, image=image, memory_mb=MEMORY_MB)

    def reached(running: Running) -> Database:
        host, at = running.reach(port)
        user, secret = (USER, password) if kind == "mysql" else ("", "")
        return Database(kind, "", False, host, at, user, secret, running=running)

    identify: Callable[[Database], Database] = mysql.identified if kind == "mysql" else mongo.identified

    def is_ready(running: Running, _: int) -> bool:
        try:
            identify(reached(running))
        except LabError:
            return False
        return True

    with server_on_free_port(site.runtime, lambda _: launch, is_ready, ports=[port]) as (running, _):
        database = identify(reached(running))
        (mysql.seed_users if kind == "mysql" else mongo.seed_document)(database)
        yield database
