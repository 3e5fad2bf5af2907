"""Builds the Maven modules whose sources have changed, and removes builds."""

from __future__ import annotations

import hashlib
import json
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock

from lab.runtimes import Runtime
from lab.runtimes.checkout import ROOT
from lab.system import artifacts, maven, unpacking
from lab.system.jdk import Jdk

SERVICES = ROOT / "services"
# The modules' group, and the namespace of what a pom.xml says.
OURS, POM = "lab", "{http://maven.apache.org/POM/4.0.0}"
# How a pom.xml names folders elsewhere.
HERE = "${project.basedir}/"


def jars(modules: Iterable[str], jdk: Jdk, runtime: Runtime, say: Callable[[str], None]) -> dict[str, Path]:
    """Build the modules whose sources changed since they were last built.

    Args:
        say: is told what Maven is doing, line by line.

    Returns:
        The jar of each module, as a copy that no later build overwrites; see :func:`lab.system.unpacking.started_from`.

    """
    modules = sorted(set(modules))
    with FileLock(SERVICES / ".build.lock"):
        stale = [module for module in modules if not _is_built(module)]
        for root in sorted({folder_of(module).parent for module in stale}):
            of_root = [module for module in stale if folder_of(module).parent == root]
            maven.run(root, of_root, maven.PACKAGE, jdk.home, runtime, say)
            for module in of_root:
                _stamp(module).write_text(json.dumps({"sources": source_hash(module)}))
        copies = {module: artifacts.kept(_jar(module)) for module in modules}
        for copy in copies.values():
            unpacking.unpack(copy, jdk.java, runtime)
        return copies


def folder_of(module: str) -> Path:
    """The folder of a module: among the services, or in a Maven project of its own beside them, as a generation is."""
    beside = (pom.parent for pom in SERVICES.glob(f"*/{module}/pom.xml"))
    return next(beside, SERVICES / module)


def _jar(module: str) -> Path:
    """The executable jar; of a service the one with everything in it, as the plain one is for other modules."""
    target = folder_of(module) / "target"
    executable, plain = target / f"{module}-exec.jar", target / f"{module}.jar"
    return executable if executable.exists() or not plain.exists() else plain


def _stamp(module: str) -> Path:
    return folder_of(module) / "target" / "lab-build.json"


def _is_built(module: str) -> bool:
    try:
        stamp = json.loads(_stamp(module).read_text())
    except (OSError, ValueError):
        return False
    return bool(stamp.get("sources") == source_hash(module)) and _jar(module).exists()


def source_hash(module: str) -> str:
    """SHA-256 over the names and contents of everything that goes into a module's jar."""
    digest = hashlib.sha256()
    files = [folder_of(module).parent / "pom.xml"]
    for part in _parts(module):
        folder = folder_of(part)
        files += [folder / "pom.xml", *(folder / "src").rglob("*")]
        files += [file for source in _sources_elsewhere(folder) for file in source.rglob("*")]
    for file in sorted({file for file in files if file.is_file()}):
        digest.update(str(file.relative_to(SERVICES)).encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _parts(module: str) -> list[str]:
    """A module and the others of ours that its jar has in it, as its pom.xml and theirs say."""
    parts = [module]
    for part in parts:  # grows while it is gone through
        project = ElementTree.parse(folder_of(part) / "pom.xml").getroot()
        for dependency in project.iterfind(f"{POM}dependencies/{POM}dependency"):
            if dependency.findtext(f"{POM}groupId") == OURS:
                parts.append(dependency.findtext(f"{POM}artifactId", ""))
    return list(dict.fromkeys(parts))


def _sources_elsewhere(folder: Path) -> Iterator[Path]:
    """The folders outside its own that a module is made from too, as its pom.xml and its parent's name them."""
    projects = [ElementTree.parse(pom).getroot() for pom in (folder.parent / "pom.xml", folder / "pom.xml")]
    properties = {
        f"${{{element.tag.removeprefix(POM)}}}": element.text or ""
        for project in projects
        for element in project.iterfind(f"{POM}properties/*")
    }
    for project in projects:
        for element in project.iter():
            if (element.text or "").startswith(HERE):
                path = (element.text or "").removeprefix(HERE)
                for name, value in properties.items():
                    path = path.replace(name, value)
                yield (folder / path).resolve()


def in_use() -> AbstractContextManager[None]:
    """Protect builds from cleaning while the context lasts: see :func:`lab.system.artifacts.in_use`."""
    return artifacts.in_use(SERVICES)


def unused() -> AbstractContextManager[bool]:
    """Yields whether no run uses the builds: see :func:`lab.system.artifacts.unused`."""
    return artifacts.unused(SERVICES)


def clean() -> int:
    """Remove all builds; returns the number of folders removed."""
    targets = [
        path
        for path in (SERVICES / "target", *SERVICES.glob("*/target"), *SERVICES.glob("*/*/target"))
        if path.is_dir()
    ]
    for target in targets:
        shutil.rmtree(target)
    return len(targets)
