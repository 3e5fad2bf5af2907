"""Two checkouts on one machine and one engine: what one cleans, ends and deletes is its own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import uuid
from pathlib import Path

import psutil
import pytest
import requests
from patience import PATIENCE_S, await_that

from lab.cli.console import INTERRUPTED
from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import CHECKOUT_LABEL, RUN_LABEL
from lab.storage.run_folder import RunFolder

pytestmark = [pytest.mark.docker, pytest.mark.java, pytest.mark.thorough]
# A run of one cell that is in progress until it is interrupted.
LASTS = ("--users", "5", "--ramp-up", "0", "--duration", "3600", "--heap-mb", "256", "--seed", "1")
COPIED = ("lab", "locustfiles", "services", "constraints.txt", "pyproject.toml")


class Checkout:
    """A copy of this checkout, with what is built and calibrated there."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in COPIED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            root.mkdir(parents=True, exist_ok=True)
            copy(ROOT / name, root / name)
        if (ROOT / "data" / "calibration").exists():
            shutil.copytree(ROOT / "data" / "calibration", root / "data" / "calibration")

    def types(self, *arguments: str) -> str:
        """Carry out a command of its lab, and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "lab", *arguments],
            capture_output=True,
            text=True,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            timeout=10 * PATIENCE_S,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def begins(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Carry out a command that lasts."""
        with (self.root / "log").open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "lab", *arguments],
                stdout=log,
                stderr=log,
                cwd=self.root,
                env={**os.environ, "PYTHONPATH": str(self.root)},
            )

    def identity(self) -> str:
        """How it marks what is its own."""
        script = "from lab.runtimes import identity; print(identity.mine())"
        around = {**os.environ, "PYTHONPATH": str(self.root)}
        done = subprocess.run(
            [sys.executable, "-c", script], cwd=self.root, env=around, capture_output=True, check=True
        )
        return done.stdout.decode().strip()

    def has(self, engine) -> set[str]:
        """Its containers, networks, images and folders of runs."""
        wanted = {"label": f"{CHECKOUT_LABEL}={self.identity()}"}
        found = {thing.name for thing in engine.containers.list(all=True, filters=wanted)}
        found |= {network.name for network in engine.networks.list(filters=wanted)}
        found |= {t for image in engine.images.list() for t in image.tags if t.endswith(f"-{self.identity()}")}
        return found | {str(path) for path in (self.root / "data").glob("*/20*Z-*")}

    def up(self) -> dict:
        """Its stack that is up."""
        return dict(json.loads((self.root / "data" / "up" / "up.json").read_text()))


def test_what_one_checkout_removes_is_its_own(engine, tmp_path):
    """Each has a run in progress and a stack up; the other's go on, to the last request, and all they have stays."""
    mine, theirs = Checkout(tmp_path / "mine"), Checkout(tmp_path / "my läb 1")
    stranger, running = f"stranger-{uuid.uuid4().hex[:8]}", {}
    try:
        for checkout in (mine, theirs):
            checkout.types("up", "delay", "--variant", "webflux", "--runtime", "docker", "--heap-mb", "256")
            running[checkout] = checkout.begins("run", "delay", "--variants", "webflux", "--runtime", "docker", *LASTS)
        for checkout in (mine, theirs):
            await_that(lambda at=checkout: list(at.root.glob("data/runs/*/cells/*/limits.json")))
        engine.networks.create(stranger, labels={RUN_LABEL: "1"})  # as the lab once marked what it made
        own, before, stack = mine.has(engine), theirs.has(engine), theirs.up()
        assert len(before) >= 8  # two stacks with a network each, a worker, a run's folder, and images
        assert own.isdisjoint(before)
        mine.types("clean", "--runs", "--yes")
        assert mine.has(engine) == own
        mine.types("down")
        running[mine].send_signal(signal.SIGINT)
        assert running[mine].wait(PATIENCE_S) == INTERRUPTED, (mine.root / "log").read_text()
        mine.types("clean", "--runs", "--yes")
        mine.types("clean")
        assert theirs.has(engine) == before
        assert psutil.pid_exists(stack["pid"])
        assert requests.get(f"{stack['url']}/delay/5", timeout=PATIENCE_S).ok
        assert not [name for name in mine.has(engine) if ":" not in name]  # images stay, to be used again
        assert [network.name for network in engine.networks.list(names=[stranger])] == [stranger]
        theirs.types("down")  # beside a run of its own
        (folder,) = theirs.root.glob("data/runs/2*")
        (cell,) = RunFolder(folder).cells()
        size = cell.stream.stat().st_size
        await_that(lambda: cell.stream.stat().st_size > size)  # its samples keep coming
        assert running[theirs].poll() is None, (theirs.root / "log").read_text()
        running[theirs].send_signal(signal.SIGINT)
        assert running[theirs].wait(PATIENCE_S) == INTERRUPTED, (theirs.root / "log").read_text()
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        assert set(cell.measured()["error"]) == {""}
    finally:
        for network in engine.networks.list(names=[stranger]):
            network.remove()
        for process in running.values():
            process.kill()
            process.wait(PATIENCE_S)
        for checkout in (mine, theirs):
            if (checkout.root / "data" / "up" / "up.json").exists():
                checkout.types("down")
            for tag in {name for name in checkout.has(engine) if ":" in name}:
                engine.images.remove(tag)
