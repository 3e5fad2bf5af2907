"""A shell full of variables that other programs obey changes no result."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from checkouts import BRIEF_LAB
from patience import PATIENCE_S

import lab
from lab.runtimes.checkout import ROOT

NOWHERE = "http://127.0.0.1:1"
# Wherever one of these is obeyed, something does not start, does not answer, or runs into a limit.
HOSTILE = {
    **{f"{kind}_{case}": NOWHERE for kind in ("HTTP", "HTTPS", "ALL") for case in ("PROXY",)},
    **{f"{kind}_proxy": NOWHERE for kind in ("http", "https", "all")},
    "SERVER_PORT": "1",
    "SERVER_TOMCAT_MAX_CONNECTIONS": "1",
    "SPRING_APPLICATION_JSON": '{"server.tomcat.accept-count": 1, "spring.main.lazy-initialization": true}',
    "SPRING_PROFILES_ACTIVE": "planted",
    "SPRING_MAIN_WEB_APPLICATION_TYPE": "none",
    "LAB_ACCEPT_COUNT": "1",
    "LAB_CONDUCTED": "",
    "LAB_JOIN_TOKEN": "planted",
    "LAB_JWT_KEY": "planted",
    "LAB_MONGO_URI": "mongodb://127.0.0.1:1/planted",
    "LAB_MYSQL_HOST": "127.0.0.1",
    "LAB_MYSQL_PORT": "1",
    "LAB_POOL": "1",
    "LOCUST_HEADLESS": "true",
    "LOCUST_PROCESSES": "2",
    "LOCUST_RUN_TIME": "1s",
    "LOCUST_USERS": "1",
    "JAVA_TOOL_OPTIONS": "-Dplanted=1 -Dserver.port=1 -Xmx32m",
    "JDK_JAVA_OPTIONS": "-Dplanted=1 -Xmx32m",
    "_JAVA_OPTIONS": "-Dplanted=1",
    "MAVEN_ARGS": "--planted",
    "MYSQL_HOST": "planted",
    "MARIADB_TLS_DISABLE_PEER_VERIFICATION": "1",
    "LANG": "tr_TR.UTF-8",
    "LC_ALL": "tr_TR.UTF-8",
}
SHAPE = ("--users", "20", "--duration", "3", "--ramp-up", "0", "--heap-mb", "256", "--seed", "1", "--allow-suspect")


def measured(data: Path, *arguments: str, **around: str) -> lab.Run:
    """A run, carried out by a process of its own with more variables around it."""
    done = subprocess.run(
        [sys.executable, *BRIEF_LAB, "run", *arguments, *SHAPE, "--data", str(data)],
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
        cwd=ROOT,
        env={**os.environ, **around},
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return lab.open_run(data=data)


@pytest.mark.thorough
@pytest.mark.java
def test_a_hostile_shell_changes_no_result(tmp_path):
    """Every variant starts, is right, counts what was sent, and has the limits and flags that it has elsewhere."""
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in ("locust", "gevent", "zmq"):  # found before the real ones by whoever obeys PYTHONPATH
        (modules / f"{name}.py").write_text("raise SystemExit('planted')")
    asked = ("jwt", "--variants", "mvc,webflux")
    quiet = measured(tmp_path / "quiet", *asked)
    loud = measured(tmp_path / "loud", *asked, **HOSTILE, PYTHONPATH=f"{ROOT}{os.pathsep}{modules}")
    assert [cell.cell.id for cell in loud.folder.cells()] == [cell.cell.id for cell in quiet.folder.cells()]
    for with_it, without in zip(loud.folder.cells(), quiet.folder.cells(), strict=True):
        evidence, limits = with_it.read("evidence"), with_it.read("limits")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert not evidence["limits_broken"], evidence["limits_broken"]
        assert evidence["begun"] == evidence["finished"] == evidence["served"] > 20
        assert set(with_it.measured()["error"]) == {""}
        assert "planted" not in " ".join(limits["jvm_arguments"])
        changing = {"pid", "jvm_arguments", "process_cpu_s", "request_threads_live", "pool_live"}
        assert {k: v for k, v in limits.items() if k not in changing} == {
            k: v for k, v in without.read("limits").items() if k not in changing
        }
        assert with_it.read("contract").keys() == without.read("contract").keys()
