"""A service is started from its unpacked jar; what cannot be unpacked, from the jar itself."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.system import build
from lab.system.unpacking import TOOLS, started_from, unpack

# A launcher that writes what it unpacks into the folder that it is told, as Java does; or fails halfway.
LAUNCHER = """\
#!/bin/sh
echo "$@" >> {notes}
for folder; do :; done
mkdir "$folder" && echo unpacked > "$folder/service.jar" && exit {status}
"""


@pytest.fixture
def jar(tmp_path) -> Path:
    """A jar with what unpacks it."""
    return packed(tmp_path / "service.jar", f"{TOOLS}4.0.0.jar")


def packed(path: Path, name: str) -> Path:
    """A jar with one file in it."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, "")
    return path


def launcher(tmp_path: Path, status: int = 0) -> str:
    """The path of a launcher that ends with that status."""
    java = tmp_path / "java"
    java.write_text(LAUNCHER.format(notes=tmp_path / "starts", status=status))
    java.chmod(0o755)
    return str(java)


def test_a_jar_is_unpacked_once(jar, runtime, tmp_path):
    """And is what a service is started from."""
    java = launcher(tmp_path)
    for _ in range(2):
        unpack(jar, java, runtime)
    assert started_from(jar).read_text() == "unpacked\n"
    assert len((tmp_path / "starts").read_text().splitlines()) == 1


def test_one_that_was_half_unpacked_is_not_started(jar, runtime, tmp_path):
    """It is said, with where to look; and the next attempt begins anew."""
    with pytest.raises(LabError, match=r"unpacking of service\.jar exited with status 3") as failed:
        unpack(jar, launcher(tmp_path, status=3), runtime)
    assert str(tmp_path / "unpacking.log") in failed.value.next_step
    assert started_from(jar) == jar
    unpack(jar, launcher(tmp_path), runtime)
    assert started_from(jar) != jar


def test_a_jar_without_tools_is_started_as_it_is(runtime, tmp_path):
    """Those of early releases of Spring Boot, and plain ones."""
    jar = packed(tmp_path / "plain.jar", "lab/Main.class")
    unpack(jar, str(tmp_path / "no java"), runtime)
    assert started_from(jar) == jar


@pytest.mark.java
def test_an_unpacked_service_has_all_libraries_of_its_jar(jdk, runtime):
    """And no others."""
    jar = build.jars(["mvc"], jdk, runtime, print)["mvc"]
    within = {name.removeprefix("BOOT-INF/lib/") for name in zipfile.ZipFile(jar).namelist() if name.endswith(".jar")}
    assert {path.name for path in (started_from(jar).parent / "lib").iterdir()} == within
