"""Finds the JDKs on this machine."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from lab.errors import LabError

MINIMUM_JAVA = 21
JAVA_FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/java/*",
    "/opt/*jdk*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
)


@dataclass(frozen=True)
class Jdk:
    """A Java development kit: where it is, its full version, and where it was found."""

    home: Path
    version: str
    found_in: str

    @property
    def major(self) -> int:
        """The feature release, such as 25."""
        return int(re.split(r"[.+-]", self.version)[0])

    @property
    def java(self) -> str:
        """The path of its launcher."""
        return str(self.home / "bin" / "java")


def jdks() -> list[Jdk]:
    """Every JDK found, in order of preference: JAVA_HOME, the PATH, then the usual folders, newest first."""
    named = [("JAVA_HOME", Path(home).resolve())] if (home := os.environ.get("JAVA_HOME")) else []
    if javac := shutil.which("javac"):
        named.append(("PATH", Path(javac).resolve().parent.parent))
    found = [jdk for where, home in named if (jdk := _read_jdk(home, where))]
    usual = [
        jdk
        for pattern in JAVA_FOLDERS
        for path in sorted(Path("/").glob(str(Path(pattern).expanduser()).lstrip("/")))
        if (jdk := _read_jdk(path.resolve(), pattern))
    ]
    found += sorted(usual, key=lambda jdk: jdk.major, reverse=True)
    return list({jdk.home: jdk for jdk in reversed(found)}.values())[::-1]


def _read_jdk(home: Path, where: str) -> Jdk | None:
    version = version_of(home)
    return Jdk(home, version, where) if version and (home / "bin" / "javac").exists() else None


def version_of(home: Path) -> str:
    """The full version of the Java in a folder; empty if there is none."""
    try:
        release = (home / "release").read_text()
    except (OSError, ValueError):
        return ""
    version = re.search(r'^JAVA_VERSION="?(\d[^"\s]*)', release, re.MULTILINE)
    return version[1] if version else ""


def find_jdk() -> Jdk:
    """The first JDK that is new enough; LabError names those that are not."""
    found = jdks()
    for jdk in found:
        if jdk.major >= MINIMUM_JAVA:
            return jdk
    seen = ", ".join(f"{jdk.version} in {jdk.home}" for jdk in found) or "none"
    raise LabError(
        f"No JDK {MINIMUM_JAVA} or newer was found (found: {seen}).",
        f"Install one (Debian: openjdk-{MINIMUM_JAVA}-jdk; macOS: brew install openjdk) or set JAVA_HOME to it.",
    )
