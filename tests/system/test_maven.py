"""Of what Maven says when a build fails, people are shown the cause, once."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.system import maven

SYNTAX = """\
[INFO] Compiling 21 source files with javac [debug parameters release 21] to target/classes
[ERROR] COMPILATION ERROR :
[ERROR] /src/Delay.java:[9,14] illegal start of type
[ERROR] /src/Delay.java:[11,30] implicitly declared classes are not supported in -source 21
  (use -source 25 or higher to enable implicitly declared classes)
[INFO] 2 errors
[INFO] BUILD FAILURE
\x1b[0m[ERROR] Failed to execute goal org.apache.maven.plugins:maven-compiler-plugin:3.14.1:compile on project mvc: \
Compilation failure: Compilation failure:
[ERROR] /src/Delay.java:[9,14] illegal start of type
[ERROR] /src/Delay.java:[11,30] implicitly declared classes are not supported in -source 21
[ERROR]   (use -source 25 or higher to enable implicitly declared classes)
[ERROR] -> [Help 1]
[ERROR]
[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.
[ERROR] [Help 1] https://maven.example/MojoFailureException
"""


def test_the_compilers_lines_are_shown_once():
    """A syntax error gives what the compiler said, and nothing of Maven's."""
    assert maven.cause(SYNTAX.splitlines()) == [
        "/src/Delay.java:[9,14] illegal start of type",
        "/src/Delay.java:[11,30] implicitly declared classes are not supported in -source 21",
        "(use -source 25 or higher to enable implicitly declared classes)",
    ]


def test_an_error_of_mavens_own_is_shown_without_its_advice():
    """What cannot be resolved is named."""
    lines = [
        "[INFO] Scanning for projects...",
        "[ERROR] Failed to execute goal on project mvc: Could not resolve lab:gone:jar:1 -> [Help 1]",
        "[ERROR]",
        "[ERROR] To see the full stack trace of the errors, re-run Maven with the -e switch.",
    ]
    assert maven.cause(lines) == ["Failed to execute goal on project mvc: Could not resolve lab:gone:jar:1"]


@pytest.fixture
def complaining_maven(tmp_path, monkeypatch) -> Path:
    """A Maven that says why it fails on standard error only, as it does where JAVA_HOME is wrong."""
    script = tmp_path / "bin" / "mvn"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\necho '[INFO] Scanning'\necho 'JAVA_HOME is not defined correctly' >&2\nexit 1\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:{Path(shutil.which('sh') or '/bin/sh').parent}")
    return script


def test_what_maven_says_on_standard_error_is_shown_and_kept(complaining_maven, runtime, tmp_path):
    """The cause is in the message, and the log has both streams."""
    heard: list[str] = []
    with pytest.raises(LabError) as caught:
        maven.run(tmp_path, ["mvc"], maven.PACKAGE, tmp_path, runtime, heard.append)
    assert caught.value.detail == "JAVA_HOME is not defined correctly"
    log = (tmp_path / "target" / "maven.log").read_text()
    assert "JAVA_HOME is not defined correctly" in log
    assert "[INFO] Scanning" in log
    assert heard == ["[INFO] Scanning"]


def test_flags_of_a_shell_decide_nothing_of_a_build(complaining_maven, runtime, tmp_path, monkeypatch):
    """Neither those of every JVM nor those of every Maven; those that name a proxy are obeyed."""
    names = (*maven.NOT_OBEYED, "MAVEN_OPTS")
    complaining_maven.write_text("#!/bin/sh\n" + "\n".join(f'echo "{name}=${name}"' for name in names))
    for name in names:
        monkeypatch.setenv(name, "planted")
    heard: list[str] = []
    maven.run(tmp_path, ["mvc"], maven.PACKAGE, tmp_path, runtime, heard.append)
    assert heard == [*(f"{name}=" for name in maven.NOT_OBEYED), "MAVEN_OPTS=planted"]


@pytest.mark.parametrize(
    "said",
    [
        "Could not resolve lab:mvc:jar:1: Could not find artifact com.mysql:connector:jar:0 in central (https://…)",
        "Could not resolve lab:mvc:jar:1: com.mysql:connector:jar:0 was not found in https://… before.",
        "Plugin a:b:1 or one of its dependencies could not be resolved: Failure to find com.mysql:connector:jar:0 in x",
    ],
)
def test_what_cannot_be_had_is_named_in_one_sentence(said, complaining_maven, runtime, tmp_path):
    """A driver of a version that there is not, the first time and where Maven remembers it."""
    complaining_maven.write_text(f"#!/bin/sh\necho '[ERROR] {said} -> [Help 1]'\nexit 1\n")
    with pytest.raises(LabError) as caught:
        maven.run(tmp_path, ["mvc"], maven.PACKAGE, tmp_path, runtime, lambda _: None)
    assert caught.value.problem == "Maven cannot get com.mysql:connector:jar:0, which the services are made from."
    assert "Name a version that there is" in str(caught.value)
    assert not caught.value.detail
