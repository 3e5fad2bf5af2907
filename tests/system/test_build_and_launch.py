"""From Maven modules to jars: which JDK, what is stale, and what a broken build says."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from lab.errors import LabError
from lab.experiments import scenarios
from lab.runtimes.process import ProcessRuntime
from lab.spec.limits import NOT_SET, Limits
from lab.system import build, maven
from lab.system import jdk as jdk_
from lab.system.jdk import Jdk, find_jdk, jdks
from lab.system.launch import FIXED_POOL, INSIDE, contained, service_launch

# Twins stand side by side.
SERVICE_MODULES = (
    "mvc",
    "webflux",
    "mvc-chain",
    "webflux-chain",
    "mvc-mongo",
    "webflux-mongo",
    "mvc-records",
    "webflux-records",
)


def fake_jdk(home: Path, version: str, javac: bool = True) -> Path:
    """A folder that looks like a JDK of that version, or, without a compiler, like a JRE."""
    (home / "bin").mkdir(parents=True)
    (home / "release").write_text(f'IMPLEMENTOR="Nobody"\nJAVA_VERSION="{version}"\nJAVA_VERSION_DATE="2026"\n')
    for name in ("java", "javac") if javac else ("java",):
        (home / "bin" / name).write_text("#!/bin/sh\nexit 1\n")
        (home / "bin" / name).chmod(0o755)
    return home


@pytest.fixture
def machine(tmp_path, monkeypatch) -> Path:
    """A machine without any JDK or Maven but those that a test puts there."""
    (tmp_path / "bin").mkdir()
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(jdk_, "JAVA_FOLDERS", (f"{tmp_path}/jvm/*",))
    return tmp_path


@pytest.fixture
def sources(tmp_path, monkeypatch) -> Path:
    """A copy of the services' sources, which a test may break."""
    folder = tmp_path / "services"
    shutil.copytree(build.SERVICES, folder, ignore=shutil.ignore_patterns("target", ".build.lock"))
    monkeypatch.setattr(build, "SERVICES", folder)
    return folder


def test_a_container_gets_a_folder_of_its_own(tmp_path):
    """Of all that the lab keeps of a cell it may write into that only."""
    variant = scenarios()["delay"].variant("mvc")
    launch = service_launch(variant, Limits(heap_mb=256), 1, "java", Path("a.jar"), tmp_path)
    inside = contained(launch, "image", "b.jar", 1)
    assert inside.folder == tmp_path / INSIDE
    assert inside.folder.is_dir()
    assert inside.log.parent == tmp_path


@pytest.mark.parametrize(
    ("changed", "module", "goes_in"),
    [
        ("mvc-operations", "boot-2.0", True),
        ("common", "boot-2.0", True),
        ("generations/mongo-3", "boot-2.0", True),
        ("generations/mongo-3", "boot-2.7", False),
        ("mvc-operations-wrapped", "boot-2.7", False),
        ("generations/boot-2", "mvc-operations", False),
    ],
)
def test_a_generation_is_built_anew_when_what_it_is_made_from_changes(sources, changed, module, goes_in):
    """Its sources lie among those of the current services, as the pom.xml says; it is a project beside them."""
    before = build.source_hash(module)
    (sources / changed / "src" / "main" / "java" / "New.java").write_text("class New {}")
    assert (build.source_hash(module) != before) == goes_in
    assert (build.folder_of(module).parent == sources / "generations") == module.startswith("boot-")


def test_java_home_is_preferred_if_it_is_new_enough(machine, monkeypatch):
    """JAVA_HOME decides, even where a newer JDK lies in a usual folder."""
    fake_jdk(machine / "jvm" / "new", "25.0.1")
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(machine / "mine", "21.0.2")))
    assert (find_jdk().major, find_jdk().found_in) == (21, "JAVA_HOME")


def test_a_java_home_that_is_too_old_is_passed_over(machine, monkeypatch):
    """An old JAVA_HOME does not hide a JDK that is new enough."""
    monkeypatch.setenv("JAVA_HOME", str(fake_jdk(machine / "old", "17.0.9")))
    fake_jdk(machine / "jvm" / "new", "25.0.1")
    assert find_jdk().version == "25.0.1"
    assert [jdk.major for jdk in jdks()] == [17, 25]


def test_the_newest_of_the_usual_folders_is_taken(machine):
    """Among the usual folders, 25 comes before 21, and 1.8 last."""
    for version in ("21.0.2", "1.8.0_402", "25+36", "22-ea"):
        fake_jdk(machine / "jvm" / version, version)
    assert [jdk.major for jdk in jdks()] == [25, 22, 21, 1]


def test_the_path_is_searched(machine):
    """The javac on the PATH leads to its JDK, through links."""
    home = fake_jdk(machine / "somewhere" / "jdk", "23.0.1")
    (machine / "bin" / "javac").symlink_to(home / "bin" / "javac")
    assert (find_jdk().home, find_jdk().found_in) == (home, "PATH")


def test_a_jdk_is_listed_once(machine, monkeypatch):
    """The same JDK found in three ways is one JDK."""
    home = fake_jdk(machine / "jvm" / "jdk", "24.0.1")
    (machine / "bin" / "javac").symlink_to(home / "bin" / "javac")
    monkeypatch.setenv("JAVA_HOME", str(home))
    assert [jdk.home for jdk in jdks()] == [home]


def test_what_is_no_jdk_is_left_out(machine, monkeypatch):
    """A JRE, a folder without a release file, and a JAVA_HOME that does not exist are none."""
    fake_jdk(machine / "jvm" / "jre", "25.0.1", javac=False)
    (machine / "jvm" / "empty").mkdir()
    broken = fake_jdk(machine / "jvm" / "broken", "25.0.1")
    (broken / "release").write_bytes(b"JAVA_VERSION=\n")
    monkeypatch.setenv("JAVA_HOME", str(machine / "nowhere"))
    assert jdks() == []


def test_an_unreadable_release_file_is_left_out(machine):
    """A release file that is no text does not end the search."""
    broken = fake_jdk(machine / "jvm" / "broken", "25.0.1")
    (broken / "release").write_bytes(b"\xff\xfe\x00JAVA\x80")
    good = fake_jdk(machine / "jvm" / "good", "21.0.1")
    assert [jdk.home for jdk in jdks()] == [good]


def test_without_a_new_jdk_those_found_are_named(machine, monkeypatch):
    """The sentence names each JDK that is too old, and where it is."""
    old = fake_jdk(machine / "old", "17.0.9")
    monkeypatch.setenv("JAVA_HOME", str(old))
    fake_jdk(machine / "jvm" / "older", "11.0.2")
    with pytest.raises(LabError) as caught:
        find_jdk()
    assert f"17.0.9 in {old}" in caught.value.problem
    assert "11.0.2 in " in caught.value.problem
    assert "JAVA_HOME" in caught.value.next_step


def test_without_any_jdk_that_is_said(machine):
    """No JDK at all is 'none'."""
    with pytest.raises(LabError, match="none"):
        find_jdk()


def test_no_maven_is_said_with_how_to_get_it(machine):
    """Without Maven on the PATH there is one sentence and the line to type."""
    with pytest.raises(LabError) as caught:
        maven.find()
    assert "Maven" in caught.value.problem
    assert "maven" in caught.value.next_step


def test_a_stale_build_without_maven_is_said(machine, sources, runtime):
    """A build that is needed asks for Maven; the JDK alone does not help."""
    with pytest.raises(LabError, match="Maven"):
        build.jars(["mvc"], Jdk(machine, "25", "here"), runtime, lambda line: None)


def test_the_hash_follows_the_sources(sources):
    """A changed, renamed, added or removed source changes a module's hash, and no other module's."""
    java = next((sources / "mvc" / "src").rglob("*.java"))
    other, seen = build.source_hash("webflux"), [build.source_hash("mvc")]
    java.write_text(java.read_text() + "// changed\n")
    seen.append(build.source_hash("mvc"))
    java = java.rename(java.with_name("Renamed.java"))
    seen.append(build.source_hash("mvc"))
    java.with_name("Added.java").write_text("class Added {}\n")
    seen.append(build.source_hash("mvc"))
    java.unlink()
    seen.append(build.source_hash("mvc"))
    assert len(set(seen)) == len(seen)
    assert build.source_hash("webflux") == other
    (sources / "pom.xml").write_text((sources / "pom.xml").read_text() + "\n")
    assert build.source_hash("webflux") != other


@pytest.mark.parametrize("part", ["pom.xml", "src/main/java/lab/delay/Delay.java"])
def test_the_hash_follows_what_the_services_share(sources, part):
    """A change to what is in all their jars makes them all stale, and leaves alone what is in none."""
    before = {module: build.source_hash(module) for module in (*SERVICE_MODULES, "mongo-standin")}
    shared = sources / "common" / part
    shared.write_text(shared.read_text() + "\n")
    assert stale(before) == SERVICE_MODULES


def test_the_hash_follows_the_service_that_a_service_is_made_from(sources):
    """A change to one makes stale itself and what has it inside, and not its twin."""
    before = {module: build.source_hash(module) for module in SERVICE_MODULES}
    java = next((sources / "mvc" / "src").rglob("*.java"))
    java.write_text(java.read_text() + "// changed\n")
    assert stale(before) == tuple(module for module in SERVICE_MODULES if module.startswith("mvc"))


def stale(before: dict[str, str]) -> tuple[str, ...]:
    """The modules whose hash is no longer what it was before."""
    return tuple(module for module, seen in before.items() if build.source_hash(module) != seen)


def test_a_change_to_what_is_shared_is_built(sources, runtime, tmp_path, monkeypatch):
    """A service whose own sources are as they were is built anew, and only once."""
    fake_maven(tmp_path, monkeypatch)
    jdk = Jdk(tmp_path, "25", "here")
    before = build.jars(["mvc"], jdk, runtime, lambda _: None)["mvc"]
    change(sources)
    after = build.jars(["mvc"], jdk, runtime, lambda _: None)["mvc"]
    assert after.read_bytes() != before.read_bytes()
    monkeypatch.setenv("PATH", "")
    assert build.jars(["mvc"], jdk, runtime, lambda _: None)["mvc"] == after


def test_only_a_limited_pool_is_no_longer_spring_boots_own(tmp_path):
    """Where a run leaves the pool to the stack, nothing that the lab says of pools reaches the service."""
    jdk = Jdk(tmp_path, "25", "here")
    for variant in scenarios()["jwt"].variants:
        left, fixed = (
            service_launch(variant, limits, 2, jdk.java, tmp_path / "x.jar", tmp_path).environment
            for limits in (NOT_SET, Limits(pool=7))
        )
        assert left == {}
        assert fixed == {"LAB_POOL": "7", "SPRING_PROFILES_ACTIVE": "fixed-pool"}


def test_every_service_says_what_a_fixed_pool_is(sources):
    """The profile that the lab names is one that each service knows."""
    for module in ("mvc", "webflux"):
        assert (sources / module / "src/main/resources" / f"application-{FIXED_POOL}.properties").exists()


@pytest.mark.parametrize(
    "twins", [SERVICE_MODULES[:2], SERVICE_MODULES[2:4], SERVICE_MODULES[4:6], SERVICE_MODULES[6:]], ids=" and ".join
)
def test_the_twins_have_no_file_alike(sources, twins):
    """What is the same on both sides is in common: of the twins' files no two have the same contents."""
    folders = [sources / module for module in twins]
    mvc, webflux = ({f.relative_to(d): f.read_bytes() for f in d.rglob("*") if f.is_file()} for d in folders)
    assert [name for name, contents in mvc.items() if webflux.get(name) == contents] == []


def test_the_hash_ignores_what_is_built(sources):
    """What a build leaves behind does not make the next one stale."""
    before = build.source_hash("mvc")
    (sources / "mvc" / "target").mkdir()
    (sources / "mvc" / "target" / "mvc-exec.jar").write_bytes(b"jar")
    assert build.source_hash("mvc") == before


def test_all_variants_get_the_same_flags(tmp_path):
    """Heap, cores and garbage collector are the same; what differs is what the variant says."""
    jdk = Jdk(tmp_path, "25", "here")
    variants = scenarios()["delay"].variants
    commands = [
        service_launch(v, Limits(heap_mb=512), 2, jdk.java, tmp_path / "x.jar", tmp_path).command for v in variants
    ]
    for command in commands:
        assert {"-Xms512m", "-Xmx512m", "-XX:ActiveProcessorCount=2"} <= set(command)
        assert not [part for part in command if "{" in part]
    own = [{*command} - {*commands[0]} for command in commands]
    assert own[0] == set()
    assert own[1] == {"--spring.threads.virtual.enabled=true"}


def fake_maven(folder: Path, monkeypatch) -> None:
    """A Maven that packs common's Delay.java as mvc's jar, always with the same time, as the real one does."""
    script = folder / "mvn"
    script.write_text(
        f'#!/bin/sh\ncd "{build.SERVICES}/mvc" && mkdir -p target\n'
        "cat $(find ../common/src -name Delay.java) > target/mvc-exec.jar; touch -d 2026-01-01 target/mvc-exec.jar\n"
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def change(sources: Path) -> None:
    """Change what both services are made from."""
    java = next((sources / "common" / "src").rglob("Delay.java"))
    java.write_text(java.read_text() + "// changed\n")


def test_a_later_build_leaves_the_jar_of_a_run_alone(sources, runtime, tmp_path, monkeypatch):
    """Each build's jar has a path of its own, and the earlier one keeps its contents."""
    fake_maven(tmp_path, monkeypatch)
    jdk = Jdk(tmp_path, "25", "here")
    with build.in_use():
        first = build.jars(["mvc"], jdk, runtime, lambda _: None)["mvc"]
        before = first.read_bytes()
        change(sources)
        second = build.jars(["mvc"], jdk, runtime, lambda _: None)["mvc"]
        assert second != first
        assert second.read_bytes() != before
        assert first.read_bytes() == before


def test_old_jars_are_removed_only_when_nobody_uses_them(sources, runtime, tmp_path, monkeypatch):
    """While one run goes on, another one's begin removes nothing; afterwards two are kept."""
    fake_maven(tmp_path, monkeypatch)
    jdk, built = Jdk(tmp_path, "25", "here"), []
    with build.in_use():
        for age_s in (300, 200, 100):
            built.append(build.jars(["mvc"], jdk, runtime, lambda _: None)["mvc"])
            os.utime(built[-1], (time.time() - age_s,) * 2)
            change(sources)
        with build.in_use():
            assert all(jar.exists() for jar in built)
    with build.in_use():
        assert [jar.exists() for jar in built] == [False, True, True]


@pytest.mark.java
@pytest.mark.thorough
def test_a_build_that_fails_shows_the_compilers_lines(sources, jdk):
    """A broken source gives one sentence, where the log is, and the compiler's own lines."""
    java = next((sources / "common" / "src").rglob("Delay.java"))
    java.write_text(java.read_text().replace("record Delay", "record Delai"))
    heard: list[str] = []
    with ProcessRuntime() as runtime, pytest.raises(LabError) as caught:
        build.jars(["mvc"], jdk, runtime, heard.append)
    assert "failed" in caught.value.problem
    assert "maven.log" in caught.value.next_step
    assert "Delay.java" in caught.value.detail
    lines = caught.value.detail.splitlines()
    assert len(lines) == len(set(lines))
    assert not [line for line in lines if "[ERROR]" in line or "COMPILATION ERROR" in line or "Help" in line]
    assert any("BUILD FAILURE" in line for line in heard)
    assert not (sources / "mvc" / "target" / "lab-build.json").exists()
