"""Checkouts beside this one, in folders of any name, whose lab is called as people call it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from patience import PATIENCE_S

from lab.runtimes.checkout import ROOT
from lab.runtimes.docker import CHECKOUT_LABEL

COPIED = ("lab", "locustfiles", "services", "constraints.txt", "pyproject.toml")
LAB = ("-m", "lab")
# Compiles each method once, quickly: that saves CPU time where a service is started, asked little, and ended.
ONE_COMPILER = "-XX:TieredStopAtLevel=1"
# The same as `LAB`, but for the length of the warm-up, and for the second compiler of JVMs.
BRIEFLY = f"""
from dataclasses import replace
from lab.cli.main import main
from lab.experiments import scenarios
from lab.system import launch
launch.MEMORY_READY += ("{ONE_COMPILER}",)
for name, scenario in scenarios().items():
    rounds = scenario.rehearsal
    short = replace(rounds, requests=rounds.requests // 20, duration_s=rounds.duration_s / 20, rounds=1)
    scenarios()[name] = replace(scenario, rehearsal=short)
main()
"""
BRIEF_LAB = ("-c", BRIEFLY)


class Checkout:
    """A copy of this checkout, with what is calibrated there, and with releases of Java that are installed.

    Args:
        built: whether what is built is copied too.

    """

    def __init__(self, root: Path, built: bool = True) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        for name in COPIED:
            if (ROOT / name).is_dir():
                ignored = shutil.ignore_patterns() if built else shutil.ignore_patterns("target")
                shutil.copytree(ROOT / name, root / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, root / name)
        for java in () if built else (ROOT / "services" / "target").glob("java-*"):
            shutil.copytree(java, root / "services" / "target" / java.name, symlinks=True)
        if (ROOT / "data" / "calibration").exists():
            shutil.copytree(ROOT / "data" / "calibration", root / "data" / "calibration")

    def types(self, *arguments: str, lab: tuple[str, ...] = LAB, ends: tuple[int, ...] = (0,)) -> str:
        """Carry out a command of its lab, which ends with one of these statuses, and return what it prints."""
        done = subprocess.run(
            [sys.executable, *lab, *arguments],
            capture_output=True,
            text=True,
            cwd=self.root,
            env={**os.environ, "PYTHONPATH": str(self.root)},
            timeout=10 * PATIENCE_S,
            check=False,
        )
        assert done.returncode in ends, done.stderr
        return done.stdout + done.stderr

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
        found = {thing.name for thing in engine.containers.list(all=True, filters=wanted, ignore_removed=True)}
        found |= {network.name for network in engine.networks.list(filters=wanted)}
        found |= {t for image in engine.images.list() for t in image.tags if t.endswith(f"-{self.identity()}")}
        folders = (path for pattern in ("runs/20*Z-*", "up/*/20*Z-*") for path in (self.root / "data").glob(pattern))
        return found | set(map(str, folders))

    def up(self) -> dict:
        """The record of its stack that is up; empty if none is."""
        states = (self.root / "data").glob("up/*/up.json")
        return next((dict(json.loads(state.read_text())) for state in states), {})
