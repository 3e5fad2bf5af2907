"""A service that has been trained starts from its cache, and from no other."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE_S

from lab.runtimes import Launch
from lab.system import aot_cache, build
from lab.system.unpacking import started_from

# A launcher that listens until SIGTERM and then writes a cache, as Java does; or fails to start the service.
# It writes down each start, and each path that it is asked for.
LAUNCHER = """\
#!{python}
import signal, sys, threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def note(file, line):
    with Path("{notes}", file).open("a") as notes:
        notes.write(line + "\\n")


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        note("asked", self.path)
        self.send_response(200)
        self.end_headers()


note("starts", " ".join(sys.argv))
if {status}:
    sys.exit({status})
signals = {{signal.SIGTERM}}
signal.pthread_sigmask(signal.SIG_BLOCK, signals)
for file in ("application.port", "application-management.port"):
    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    Path(file).write_text(str(server.server_port))
signal.sigwait(signals)
(output,) = (word.partition("=")[2] for word in sys.argv if word.startswith("-XX:AOTCacheOutput="))
Path(output).write_text("a cache")
sys.exit(143)
"""


@pytest.fixture
def jar(tmp_path) -> Path:
    """A jar of which only the contents matter."""
    path = tmp_path / "target" / "service.jar"
    path.parent.mkdir()
    path.write_bytes(b"first")
    return path


def launcher(tmp_path: Path, status: int | str = 0) -> str:
    """The path of a launcher that ends with that status, a number or an expression of its arguments."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(LAUNCHER.format(python=sys.executable, notes=tmp_path, status=status))
    java.chmod(0o755)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="25.0.1"')
    return str(java)


def test_a_jar_of_other_contents_has_a_cache_of_its_own(jar, runtime, tmp_path):
    """Although its time of change is the same, as Maven makes it; the older cache stays for who uses it."""
    java, same_s = launcher(tmp_path), (1e9, 1e9)
    os.utime(jar, same_s)
    first = aot_cache.train(jar, java, runtime, print, print)
    jar.write_bytes(b"second")
    os.utime(jar, same_s)
    second = aot_cache.train(jar, java, runtime, print, print)
    assert first is not None
    assert second is not None
    assert first != second
    assert {(cache / "service.aot").read_text() for cache in (first, second)} == {"a cache"}


def test_another_version_of_java_has_a_cache_of_its_own(jar, runtime, tmp_path):
    """Also where it was installed in place of the one before."""
    java = launcher(tmp_path)
    first = aot_cache.train(jar, java, runtime, print, print)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="25.0.2"')
    assert aot_cache.train(jar, java, runtime, print, print) not in (None, first)


def test_a_training_that_failed_is_not_tried_again(jar, runtime, tmp_path):
    """It is said once, and the next run starts without a cache at once; another jar is tried."""
    java = launcher(tmp_path, status=3)
    warnings: list[str] = []
    assert aot_cache.train(jar, java, runtime, print, warnings.append) is None
    assert aot_cache.train(jar, java, runtime, print, warnings.append) is None
    assert len(warnings) == 1
    assert "exited with status 3" in warnings[0]
    assert len((tmp_path / "starts").read_text().splitlines()) == 1
    jar.write_bytes(b"second")
    assert aot_cache.train(jar, launcher(tmp_path), runtime, print, warnings.append) is not None


@pytest.mark.parametrize("failing", ["", "webflux"])
def test_all_that_are_compared_have_a_cache_or_none_has(runtime, tmp_path, failing):
    """What starts from a cache compiles otherwise, so one whose training failed has the others start without."""
    jars = {name: tmp_path / name / f"{name}.jar" for name in ("mvc", "webflux")}
    for name, jar in jars.items():
        jar.parent.mkdir()
        jar.write_bytes(name.encode())
    java = launcher(tmp_path, status=f"{bool(failing)} and any(word.endswith('/{failing}.jar') for word in sys.argv)")
    warnings: list[str] = []
    caches = aot_cache.train_all(jars, java, runtime, print, warnings.append)
    assert set(caches) == (set() if failing else {"mvc", "webflux"})
    assert len(warnings) == bool(failing)


@pytest.mark.parametrize("proxy", ["", "http://127.0.0.1:1"])
def test_a_training_ends_with_the_first_answers(jar, runtime, tmp_path, monkeypatch, proxy):
    """What every start is asked before it is loaded, so that the cache has the classes of that too; by no proxy."""
    monkeypatch.setenv("HTTP_PROXY", proxy)
    monkeypatch.setenv("http_proxy", proxy)
    cache = aot_cache.train(jar, launcher(tmp_path), runtime, print, print)
    assert cache is not None
    assert (cache / "service.aot").read_text() == "a cache"
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == ["/actuator/health", "/actuator/limits", "/actuator/prometheus", "/nowhere"]


@pytest.mark.java
@pytest.mark.thorough
def test_a_trained_service_starts_from_its_cache(jdk, runtime, tmp_path):
    """The cache is one that the JVM accepts, and is made anew only for another jar."""
    if jdk.major < aot_cache.MINIMUM_JAVA:
        pytest.skip(f"JDK {jdk.major} has no such cache")
    jar = build.jars(["mvc"], jdk, runtime, print)["mvc"]
    said: list[str] = []
    aot_cache.train(jar, jdk.java, runtime, print, print)
    cache = aot_cache.train(jar, jdk.java, runtime, said.append, said.append)
    assert not said
    assert cache is not None
    start = str(started_from(jar))
    launch = aot_cache.cached(Launch("service", (jdk.java, "-jar", start), tmp_path / "log"), cache)
    strict = (launch.command[0], "-XX:AOTMode=on", "-Dspring.context.exit=onRefresh", *launch.command[1:])
    assert subprocess.run([*strict, "--server.port=0"], cwd=tmp_path, timeout=PATIENCE_S, check=False).returncode == 0
