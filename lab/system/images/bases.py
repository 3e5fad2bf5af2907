"""Base images: official ones where a registry is reached, equivalents from Debian packages elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import requests
from docker.errors import DockerException  # type: ignore[import-untyped]

from lab.errors import LabError
from lab.runtimes import temporary
from lab.runtimes.docker import IMAGE_LABEL, connect, engine_asked
from lab.system.images.builder import Builder, Image, Recipe, dockerfile

REGISTRY_ANSWERS_WITHIN_S = 5
# Archives that stand still are older than their own statements of validity allow.
DEBIAN_OPTIONS = ("--variant=minbase", '--aptopt=Acquire::Check-Valid-Until "false"')
MMDEBSTRAP_REMEDY = "Install it (Debian: apt-get install mmdebstrap), or use --runtime process."
GO_REMEDY = "Install Go (Debian: apt-get install golang), pull the image on this machine, or use --runtime process."
_unreached: list[str] = []
FROM_BASE = "ARG BASE\nFROM ${BASE}\n"


@dataclass(frozen=True)
class BaseKind:
    """A program for base images, with its two sources: an official image, or Debian packages.

    Attributes:
        name: the first part of the tag.
        title: what it is; ``{0}`` and so on are the versions that ``asks`` prints.
        official: the image that has it.
        stand_in_title: what it is if Debian's packages are taken.
        suite: the Debian release with those packages, installed by the Dockerfile of that name.
        asks: the shell command that prints its version; ``stand_in_asks`` where Debian's answers to another.
        goes_in: a Go program that Debian does not have, built on the host.

    """

    name: str
    title: str
    official: str
    stand_in_title: str
    suite: str
    asks: str
    stand_in_asks: str = ""
    goes_in: str = ""


JRE = BaseKind("lab-jre", "Java {0}", "eclipse-temurin:25-jre", "OpenJDK {0}", "trixie", "java -version 2>&1")
PYTHON = BaseKind("lab-python", "Python {0}", "python:3.11-slim", "Python {0}", "trixie", "python3 --version")
MYSQL = BaseKind("lab-mysql-server", "MySQL {0}", "mysql:8.4", "MySQL {0}", "sid", "mysqld --version")
MONGO = BaseKind(
    "lab-mongo-server",
    "MongoDB {0}",
    "mongo:8",
    "FerretDB {0} over PostgreSQL {1}",
    "sid",
    "mongod --version",
    "ferretdb --version | grep ^version; /usr/lib/postgresql/18/bin/postgres --version",
    "github.com/FerretDB/FerretDB/v2/cmd/ferretdb@v2.7.0",
)
KINDS = (JRE, PYTHON, MYSQL, MONGO)
# Made for the first run that asks for them.
HAPROXY = BaseKind("lab-haproxy", "HAProxy {0}", "haproxy:3.0", "HAProxy {0}", "trixie", "haproxy -v")
PROMETHEUS = BaseKind(
    "lab-prometheus",
    "Prometheus {0}",
    "prom/prometheus:v3.5.0",
    "Prometheus {0}",
    "trixie",
    "prometheus --version 2>&1",
)


class Bases:
    """Finds or makes the image of a :class:`BaseKind`."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder

    def get(self, kind: BaseKind) -> Image:
        """The base, as decided when it was first made on this engine: the official one if it could be had."""
        official, stand_in = self._recipes(kind)
        if found := self._builder.find(official.tag) or self._builder.find(stand_in.tag):
            return found
        if why_not := self._pull(kind.official):
            self._make_debian(kind.suite)
            return self._labelled(kind, stand_in, f"{kind.official} cannot be pulled: {why_not}")
        return self._labelled(kind, official, f"{kind.official} can be had")

    def missing(self) -> list[BaseKind]:
        """The kinds of base that this engine does not have."""
        return [kind for kind in KINDS if not any(self._builder.find(recipe.tag) for recipe in self._recipes(kind))]

    def _pull(self, image: str) -> str:
        """Pull an official image, unless it is there; returns why that failed."""
        if self._builder.find(image):
            return ""
        if why_not := registry_obstacle(image):
            return why_not
        self._builder.say(f"pull {image}")
        try:
            self._builder.engine.images.pull(image)
        except (DockerException, requests.RequestException) as error:
            return _in_short(error)
        return ""

    def _recipes(self, kind: BaseKind) -> tuple[Recipe, Recipe]:
        """From the official image, and from Debian's packages."""
        text = dockerfile(kind.name.removeprefix("lab-"))
        return Recipe(kind.name, FROM_BASE, kind.official, repr(kind)), Recipe(
            kind.name, text, _debian(kind.suite), repr(kind), lambda folder: self._go_program(kind, folder)
        )

    def _labelled(self, kind: BaseKind, recipe: Recipe, why: str) -> Image:
        """Build it, ask it for its version, and write that on it; images made from it inherit the labels."""
        is_stand_in = recipe.base != kind.official
        raw, _ = self._builder.build(recipe)
        asks = kind.stand_in_asks if is_stand_in and kind.stand_in_asks else kind.asks
        asked, said = self._builder.build(Recipe(kind.name, f"{FROM_BASE}USER 0\nRUN {asks}\n", raw), cached=False)
        versions = [
            found[0] for line in said if not line.startswith("Step") if (found := re.search(r"\d+(\.\d+)+", line))
        ]
        title = (kind.stand_in_title if is_stand_in else kind.title).format(*versions, *["(unknown version)"] * 2)
        product = f"{title} ({f'Debian {kind.suite}' if is_stand_in else kind.official})"
        labels = {"lab.product": product, "lab.stand-in": str(is_stand_in).lower(), "lab.why": why}
        self._builder.build(Recipe(kind.name, FROM_BASE, raw), recipe.tag, labels)
        self._builder.forget(asked)  # not before: what it was built from would go with it
        return Image(recipe.tag, product, is_stand_in, why)

    def _make_debian(self, suite: str) -> None:
        if self._builder.find(_debian(suite)):
            return
        if not shutil.which("mmdebstrap"):
            raise LabError(
                "No image registry is reached, and mmdebstrap is not there to do without.", MMDEBSTRAP_REMEDY
            )
        self._builder.say(f"mmdebstrap {suite}")
        with temporary.folder() as folder:
            archive = f"{folder}/root.tar"
            self._builder.on_host((*_own_mounts(), "mmdebstrap", *DEBIAN_OPTIONS, suite, archive))
            name, _, digest = _debian(suite).partition(":")
            with engine_asked("import a Debian system"):
                self._builder.engine.api.import_image_from_file(
                    archive, repository=name, tag=digest, changes=[f"LABEL {IMAGE_LABEL}={name}"]
                )

    def _go_program(self, kind: BaseKind, folder: Path) -> Mapping[str, Path]:
        if not kind.goes_in:
            return {}
        if not shutil.which("go"):
            name = kind.stand_in_title.split()[0]
            raise LabError(
                f"{name}, which stands in for {kind.official}, is built with Go, which is missing.", GO_REMEDY
            )
        self._builder.say(f"go install {kind.goes_in}")
        self._builder.on_host(("go", "install", kind.goes_in), {"GOBIN": str(folder), "CGO_ENABLED": "0"})
        return {path.name: path for path in folder.iterdir()}


def _debian(suite: str) -> str:
    """The tag of a Debian system, by how it is made."""
    return Recipe("lab-debian", " ".join(DEBIAN_OPTIONS), suite).tag


def _own_mounts() -> tuple[str, ...]:
    """What to put before a command that mounts, so that no mount of it outlives it, even if it is killed.

    Only root mounts where all of the machine sees it. Where root may not have mounts of its own, it may not mount.
    """
    command = ("unshare", "--mount")
    allowed = not os.getuid() and shutil.which(command[0])
    return command if allowed and not subprocess.run((*command, "true"), check=False).returncode else ()


def registry_obstacle(image: str) -> str:
    """Why the registry of an image is not reached, in a few words; once it was not, it is not asked again."""
    if not _unreached:
        _unreached.extend(filter(None, [_ask_registry(image)]))
    return _unreached[0] if _unreached else ""


def _ask_registry(image: str) -> str:
    try:
        with closing(connect(REGISTRY_ANSWERS_WITHIN_S)) as engine:
            engine.api.inspect_distribution(image)
    except LabError as error:
        return error.problem.rstrip(".")
    except (DockerException, requests.RequestException) as error:
        return _in_short(error)
    return ""


def _in_short(error: Exception) -> str:
    """The cause at the end of a long chain of errors."""
    if isinstance(error, requests.Timeout):
        return f"no answer within {REGISTRY_ANSWERS_WITHIN_S} s"
    text = str(getattr(error, "explanation", "") or error).strip().strip('"')
    return text.rsplit(": ", 1)[-1].strip('"')
