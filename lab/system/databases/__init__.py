"""Databases: started or found, seeded, checked, and named for what they are.

The two kinds have the same shape: ``mysql.server`` and ``mongo.server`` yield a :class:`Database` that holds the
seeded data; ``counters.counted`` tells how often it was asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from lab.errors import LabError
from lab.runtimes import LOOPBACK, Running, Runtime
from lab.runtimes.checkout import ROOT

SEEDS = ROOT / "data" / "seeds"
# The only database the lab ever writes to, on its own servers and on those of others.
NAME = "lab"
# What to do where a database holds something else than what was just written.
NOT_AS_WRITTEN = (
    f"See that no other program writes to the database '{NAME}' there, and try again; a server that changes what it "
    "stores cannot be used."
)
# What the services call the kinds, and what people do.
TITLES = {"mysql": "MySQL", "mongo": "MongoDB"}


@dataclass(frozen=True)
class Database:
    """A database that answers, and how to reach it.

    Attributes:
        kind: ``mysql`` or ``mongo``: the protocol it speaks.
        product: what it really is, such as ``MariaDB 11.4.5``.
        stand_in: whether that is something else than the name of the kind says.
        name: the database on that server; always ``lab``.
        options: what follows the ``?`` of the URL, such as ``tls=true``; it may hold secrets too.
        scheme: of the URL, if it is not the kind's own (``mongodb+srv``).
        running: its process; None if it is not the lab's.

    """

    kind: str
    product: str
    stand_in: bool
    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)
    name: str = NAME
    options: str = field(default="", repr=False)
    scheme: str = ""
    running: Running | None = None

    @property
    def title(self) -> str:
        """Its title in tables and figures, such as ``MariaDB 11.4.5, standing in for MySQL``."""
        return f"{self.product}, standing in for {TITLES[self.kind]}" if self.stand_in else self.product

    @property
    def url(self) -> str:
        """Its URL, password and all: for environments and pipes, never for command lines, logs or run folders."""
        scheme = self.scheme or {"mysql": "mysql", "mongo": "mongodb"}[self.kind]
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}@" if self.user else ""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if scheme.endswith("+srv") else f":{self.port}"
        return f"{scheme}://{login}{host}{port}/{self.name}" + (f"?{self.options}" if self.options else "")

    def via(self, port: int, host: str = LOOPBACK) -> Database:
        """The same database as seen through a link that listens there. LabError if its URL names no single server."""
        if self.scheme.endswith("+srv"):
            raise LabError("A link cannot lead to a mongodb+srv:// URL, which names no server.", "Use mongodb://.")
        return replace(self, host=host, port=port)

    def as_json(self) -> dict[str, Any]:
        """The facts that a run stores: no address, no secret."""
        return {"kind": self.kind, "product": self.product, "stand_in": self.stand_in, "title": self.title}


@dataclass(frozen=True)
class Site:
    """Where a database of the lab's own runs, and where it keeps what.

    Attributes:
        folder: gets its data for this run, which are removed afterwards.
        logs: gets its log.
        java_home: the JDK for Maven and for what is written in Java.
        seeds: what is made once and serves all runs: unpacked servers, seeded data, keys, tokens.
        cores: the cores it may use; empty for all.
        stand_in: the jar of the stand-in for MongoDB, where it is built.

    """

    runtime: Runtime
    folder: Path
    logs: Path
    java_home: Path | None = None
    seeds: Path = SEEDS
    cores: frozenset[int] = frozenset()
    stand_in: Path | None = None
