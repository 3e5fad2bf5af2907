"""The paths of a checkout, and the environment variables of its processes."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# What the generator can do, one file a machine.
CALIBRATIONS = ROOT / "data" / "calibration"
# In the environment of a Locust worker or master: the lab conducts it.
CONDUCTED = "LAB_CONDUCTED"
