"""What the lab starts of itself is this checkout, wherever it works and whatever is planted there."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab.generator import bench
from lab.runtimes.checkout import OWN_MODULES, ROOT
from lab.runtimes.process import ProcessRuntime
from lab.system import shaped_link

# Modules that each of these processes imports, by whatever way.
PLANTED = ("lab/__init__", "lab", "argparse", "asyncio", "contextlib", "json", "pip", "locust", "shutil")


@pytest.fixture(params=["the working directory", "PYTHONPATH"])
def planted(request, tmp_path, monkeypatch):
    """Modules that end whoever imports them, where a shell has gone, or by a variable that it has set."""
    for name in PLANTED:
        file = tmp_path / "planted" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("raise SystemExit('planted')")
    if request.param == "PYTHONPATH":
        monkeypatch.setenv("PYTHONPATH", str(tmp_path / "planted"))
    else:
        monkeypatch.chdir(tmp_path / "planted")


def test_a_link_is_this_checkouts(planted, runtime, tmp_path):
    """It accepts connections."""
    with shaped_link.running_link(runtime, ("127.0.0.1", 1), shaped_link.Shape(), tmp_path / "link") as (_, port):
        assert port


def test_a_reference_server_is_this_checkouts(planted, runtime, tmp_path):
    """It says where it listens."""
    with bench.running_server(runtime, frozenset(), tmp_path) as (_, url):
        assert url


def test_a_guard_is_this_checkouts(planted):
    """It goes on until it is dismissed, and then ends by itself."""
    with ProcessRuntime() as runtime:
        guard = runtime._guard
    assert guard.returncode == 0


# Plays a locustfile by itself, in a shell that has gone to a folder, or has a variable that leads there.
PLAYS = """if True:
    import os, sys
    from lab.generator.locust import token_pool
    folder = sys.argv[1]
    del os.environ["PYTHONSAFEPATH"]
    os.environ["PYTHONPATH"] = folder
    os.chdir(folder)
    print(token_pool._own_file())
"""


def test_tokens_are_made_by_this_checkout(tmp_path):
    """Also for whoever plays a locustfile by himself."""
    (tmp_path / "json.py").write_text("raise SystemExit('planted')")
    command, environment = (sys.executable, "-c", PLAYS, str(tmp_path)), {**os.environ, **OWN_MODULES}
    assert Path(subprocess.check_output(command, env=environment, text=True).strip()).exists()


def test_pip_is_the_environments(planted):
    """Which is started with the same variables."""
    command, environment = (sys.executable, "-m", "pip", "--version"), {**os.environ, **OWN_MODULES}
    assert subprocess.check_output(command, env=environment, text=True).startswith("pip ")


def test_whatever_runs_a_module_says_whose():
    """In the lab and in its benchmarks each file that has a command with ``-m`` gives it these variables."""
    forgotten = []
    for file in (*(ROOT / "lab").rglob("*.py"), *(ROOT / "benchmarks").glob("*.py")):
        tree = ast.parse(file.read_text())
        commands = [node for node in ast.walk(tree) if isinstance(node, ast.Tuple | ast.List) and runs_a_module(node)]
        if commands and "OWN_MODULES" not in {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}:
            forgotten.append(str(file.relative_to(ROOT)))
    assert forgotten == []


def runs_a_module(command: ast.Tuple | ast.List) -> bool:
    """Whether a command is Python's, with ``-m``."""
    words = [ast.unparse(word) for word in command.elts[:2]]
    return words == ["sys.executable", "'-m'"]
