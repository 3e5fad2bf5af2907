"""The paths of a checkout, and the environment variables of its processes."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The environment of each process that runs a module (python -m): where Python finds the lab, and that no module of the
# working directory or of the shell's PYTHONPATH, which are anybody's, goes before that of this checkout.
OWN_MODULES = {"PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1"}
# Calibrations of the generator, one file a machine.
CALIBRATIONS = ROOT / "data" / "calibration"
# The folder of locustfiles, here and in the image of Locust's workers.
LOCUSTFILES_HERE = ROOT / "locustfiles"
LOCUSTFILES = "/lab/locustfiles"
# Environment variable that marks a Locust master or worker as started by the lab.
RUN_BY_LAB = "LAB_CONDUCTED"
# Environment variable that tells a Locust master and its workers the secret by which they know each other.
JOIN_TOKEN = "LAB_JOIN_TOKEN"


def locustfile(name: str) -> Path:
    """The locustfile of a name, which plays the scenarios that name it."""
    return LOCUSTFILES_HERE / f"{name}.py"
