"""Two checkouts on one machine and one engine: what one cleans, ends and deletes is its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import requests
from patience import PATIENCE_S

from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import CHECKOUT_LABEL

pytestmark = [pytest.mark.docker, pytest.mark.java, pytest.mark.thorough]
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
        return found | {path.name for path in (self.root / "data").glob("*/2*")}

    def up(self) -> dict:
        """Its stack that is up."""
        return dict(json.loads((self.root / "data" / "up" / "up.json").read_text()))


def test_what_one_checkout_removes_is_its_own(engine, tmp_path):
    """Containers, networks, images, folders and processes of the other stay as they are, and its stack answers."""
    mine, theirs = Checkout(tmp_path / "mine"), Checkout(tmp_path / "my läb 1")
    try:
        for checkout in (mine, theirs):
            checkout.types("up", "delay", "--variant", "webflux", "--runtime", "docker", "--heap-mb", "256")
        before, stack = theirs.has(engine), theirs.up()
        assert len(before) >= 5
        assert mine.has(engine).isdisjoint(before)
        mine.types("clean", "--runs", "--yes")
        mine.types("down")
        mine.types("clean", "--runs", "--yes")
        assert theirs.has(engine) == before
        assert psutil.pid_exists(stack["pid"])
        assert requests.get(f"{stack['url']}/delay/5", timeout=PATIENCE_S).ok
        assert not [name for name in mine.has(engine) if ":" not in name]  # images stay, to be used again
    finally:
        for checkout in (mine, theirs):
            if (checkout.root / "data" / "up" / "up.json").exists():
                checkout.types("down")
            for tag in {name for name in checkout.has(engine) if ":" in name}:
                engine.images.remove(tag)
