"""Builds container images, tagged by what they are made of, so that nothing unchanged is built again."""

from __future__ import annotations

import contextlib
import hashlib
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import click
import docker  # type: ignore[import-untyped]
import requests
from docker.errors import APIError, DockerException, ImageNotFound  # type: ignore[import-untyped]

from lab.errors import LabError
from lab.runtimes import Launch, Runtime, identity, temporary
from lab.runtimes.docker import IMAGE_LABEL, engine_asked

HERE = Path(__file__).parent
TAIL_LINES = 15
DIGEST_LENGTH = 12
KEPT = 3


@dataclass(frozen=True)
class Image:
    """An image that is ready to be started.

    Attributes:
        tag: its name for the engine.
        product: what it runs, such as ``MySQL 9.7.4, from Debian sid``; results name it.
        stand_in: whether it is something else than the official image.
        why: why it was taken.

    """

    tag: str
    product: str
    stand_in: bool
    why: str


@dataclass(frozen=True)
class Recipe:
    """How an image is made.

    Attributes:
        name: the first part of its tag.
        dockerfile: its text; ``BASE`` is the argument that names the image it starts from.
        base: that image's tag or id.
        key: what else the image depends on: the tag changes with it.
        gather: given an empty folder, makes the files of the build context (name in the context, where it is).

    """

    name: str
    dockerfile: str
    base: str
    key: str = ""
    gather: Callable[[Path], Mapping[str, Path]] = lambda _: {}

    @property
    def tag(self) -> str:
        """Name and digest of everything that the image is made of."""
        made_of = "\0".join((self.dockerfile, self.base, self.key))
        return f"{self.name}:{hashlib.sha256(made_of.encode()).hexdigest()[:DIGEST_LENGTH]}"


def dockerfile(name: str) -> str:
    """The text of one of this folder's Dockerfiles."""
    return (HERE / f"{name}.Dockerfile").read_text()


def digest_of(files: Mapping[str, Path]) -> str:
    """SHA-256 over names and contents."""
    digest = hashlib.sha256()
    for name, path in sorted(files.items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


class Builder:
    """Builds recipes, and runs what has to run on the host for them.

    Args:
        engine: a client of the Docker engine.
        runtime: starts commands on the host (launches without an image).
        say: is told what the builders are doing, line by line.

    """

    def __init__(self, engine: docker.DockerClient, runtime: Runtime, say: Callable[[str], None]) -> None:
        self.engine = engine
        self._runtime = runtime
        self.say = say

    def find(self, tag: str) -> Image | None:
        """The image of that tag, if the engine has it."""
        try:
            with engine_asked("look for images"):
                labels = self.engine.images.get(tag).labels
        except ImageNotFound:
            return None
        return Image(
            tag, labels.get("lab.product", ""), labels.get("lab.stand-in") == "true", labels.get("lab.why", "")
        )

    def built(self, recipe: Recipe) -> Image:
        """The image of a recipe, built if it is not there. LabError with the builder's last lines if that fails."""
        tag = f"{recipe.tag}-{identity.mine()}"
        if found := self.find(tag):
            return found
        if not self._share(recipe, tag):
            self.build(recipe, tag)
        self._forget_older(recipe.name, tag)
        built = self.find(tag)
        assert built
        return built

    def _share(self, recipe: Recipe, tag: str) -> bool:
        """Give an equal image of another checkout this checkout's tag too, so that it stays for as long as either."""
        with engine_asked("look for images"):
            for image in self.engine.images.list(recipe.name):
                if any(other.startswith(f"{recipe.tag}-") for other in image.tags):
                    return bool(image.tag(*tag.split(":")))
        return False

    def forget(self, image: str) -> None:
        """Remove an image, unless something depends on it."""
        with contextlib.suppress(APIError):
            self.engine.images.remove(image)

    def _forget_older(self, name: str, newest: str) -> None:
        """Keep the last few of this checkout's images of a name: sources change often, and jars are not small."""
        with contextlib.suppress(DockerException, requests.RequestException):
            made = {tag: str(image.attrs["Created"]) for image in self.engine.images.list(name) for tag in image.tags}
            marks = tuple(f"-{mark}" for mark in identity.all_mine())
            mine = [tag for tag in made if tag.endswith(marks) and tag != newest]
            for tag in sorted(mine, key=made.__getitem__, reverse=True)[KEPT - 1 :]:
                self.forget(tag)

    def build(
        self, recipe: Recipe, tag: str | None = None, labels: Mapping[str, str] | None = None, cached: bool = True
    ) -> tuple[str, list[str]]:
        """Build a recipe, whether or not it is there.

        Args:
            cached: whether the engine may take steps from its cache, which then say nothing.

        Returns:
            The image's id, and what the builder said.

        """
        self.say(f"build {tag or recipe.name}")
        with temporary.folder() as folder, tempfile.TemporaryFile() as context:
            _pack(context, recipe.dockerfile, recipe.gather(folder))
            with engine_asked(f"build {recipe.name}"):
                news = self.engine.api.build(
                    fileobj=context,
                    custom_context=True,
                    tag=tag,
                    nocache=not cached,
                    rm=True,
                    forcerm=True,
                    decode=True,
                    buildargs={"BASE": recipe.base},
                    labels={IMAGE_LABEL: recipe.name, **(labels or {})},
                    network_mode="host",  # what the host reaches, the build reaches
                )
                return self._follow(news, recipe.name)

    def _follow(self, news: Iterator[dict[str, Any]], name: str) -> tuple[str, list[str]]:
        lines: list[str] = []
        image = ""
        for item in news:
            said = [line for line in click.unstyle(item.get("stream", "")).splitlines() if line.strip()]
            lines += said
            for line in said:
                self.say(line)
            image = item.get("aux", {}).get("ID", image)
            if "error" in item:
                detail = "\n".join([*lines, item["error"].strip()][-TAIL_LINES:])
                raise LabError(f"Building the image {name} failed.", "The builder's last lines show why.", detail)
        return image, lines

    def on_host(self, command: tuple[str, ...], environment: Mapping[str, str] | None = None) -> None:
        """Run a command on the host to its end. LabError with its last lines if it fails, or is not there."""
        with temporary.folder() as folder:
            surroundings = {**(environment or {}), "TMPDIR": str(folder)}  # where it leaves things if it is killed
            launch = Launch(command[0], command, folder / "log", surroundings)
            with self._runtime.started(launch) as running:
                ending = running.await_end()
                if not ending.ok:
                    raise LabError(f"{Path(command[0]).name} {ending}.", "Its last lines show why.", running.log_tail())


def _pack(context: IO[bytes], text: str, files: Mapping[str, Path]) -> None:
    """Write a build context; modes and owners do not depend on who packs it."""
    with tempfile.NamedTemporaryFile("w") as written, tarfile.open(fileobj=context, mode="w") as archive:
        written.write(text)
        written.flush()
        for name, path in {**files, "Dockerfile": Path(written.name)}.items():
            archive.add(path, name, filter=_anonymous)
    context.seek(0)


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
    return member
