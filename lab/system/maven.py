"""Runs Maven, and extracts the reason why a build failed."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import click

from lab.errors import LabError
from lab.runtimes import LANGUAGE, Launch, Runtime

# Makes the jars, without what only tests need.
PACKAGE = ("package", "-Dmaven.test.skip")
SHOWN = 12
# From here on Maven explains itself, not the error.
ADVICE = "To see the full stack trace"
HELP = re.compile(r"\s*-> \[Help \d+\]$")
# How Maven 3 and 4 say, the first time and later, that they could not get an artifact.
UNRESOLVED = re.compile(
    r"(?:Could not find artifact|Could not transfer artifact|Failure to find) (\S+)|(\S+) was not found"
)
# What a shell may have for other programs: flags of every JVM, and of every Maven, which decide what is built.
# MAVEN_OPTS, as a proxy is named by it, and settings.xml are obeyed.
NOT_OBEYED = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "MAVEN_ARGS")
COMPILER_FAILED = re.compile(r"Failed to execute goal .*Compilation failure")


def find() -> str:
    """The path of Maven; LabError if there is none."""
    if maven := shutil.which("mvn"):
        return maven
    raise LabError(
        "Maven (mvn) is not on the PATH.", "Install it (Debian: apt-get install maven; macOS: brew install maven)."
    )


def run(
    project: Path,
    modules: Sequence[str],
    goals: Sequence[str],
    java_home: Path,
    runtime: Runtime,
    say: Callable[[str], None],
) -> None:
    """Build some modules of a project, and those they are made from; LabError shows why that failed.

    Args:
        project: the folder of the parent's pom.xml; gets the whole log as ``target/maven.log``.
        goals: what Maven is to do, with its options.
        say: is told what Maven is doing, line by line.

    """
    without = [word for name in NOT_OBEYED for word in ("-u", name)]
    command = (
        "env",
        *without,
        find(),
        "-B",
        "-ntp",
        "-f",
        str(project / "pom.xml"),
        "-pl",
        ",".join(modules),
        "-am",
        *goals,
    )
    log = project / "target" / "maven.log"
    log.unlink(missing_ok=True)
    environment = {"JAVA_HOME": str(java_home), **LANGUAGE}  # the compiler's output is the same in all locales
    launch = Launch("Maven", command, log, environment=environment, talks=True)
    # Its standard error goes into the same file by itself.
    with runtime.started(launch) as maven, log.open("a", buffering=1) as file:
        for line in maven.stdout:
            file.write(line)
            say(line.rstrip())
        ending = maven.await_end()
    if not ending.ok:
        causes = cause(log.read_text(errors="replace").splitlines())
        if missing := unresolved(causes):
            raise LabError(
                f"Maven cannot get {missing}, which the services are made from.",
                f"Name a version that there is, or see that Maven reaches its repository; the whole log is in {log}.",
            )
        raise LabError(
            f"Building the services failed: Maven {ending}.",
            f"Correct the errors above; the whole log is in {log}.",
            "\n".join(causes),
        )


def unresolved(causes: Iterable[str]) -> str:
    """The artifact that a failed build could not get, as in ``com.mysql:mysql-connector-j:jar:8``; empty if none."""
    found = next((found for line in causes if (found := UNRESOLVED.search(line))), None)
    return (found[1] or found[2]) if found else ""


def cause(lines: Iterable[str]) -> list[str]:
    """The error lines of a failed build, each once: the compiler's, else Maven's, else all that are left.

    Args:
        lines: standard output and standard error of Maven.

    """
    # Maven resets the terminal's colours on standard error, whatever that is.
    lines = [click.unstyle(line) for line in lines]
    errors = [line.removeprefix("[ERROR]") for line in lines if line.startswith("[ERROR]")]
    advice = next((number for number, line in enumerate(errors) if ADVICE in line), len(errors))
    errors = [HELP.sub("", line.strip()) for line in errors[:advice]]
    # The compiler's lines come as they are found, and once more after the goal that failed.
    if goal := next((number for number, line in enumerate(errors) if COMPILER_FAILED.match(line)), 0):
        errors = errors[goal + 1 :]
    found = [line for line in dict.fromkeys(errors) if line]
    return found[:SHOWN] or [line for line in lines if line and not line.startswith("[INFO]")][-SHOWN:]
