"""Where things are in a checkout."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# What 'lab up' has started: a JSON object with scenario, variant, url, pid and created.
UP = ROOT / "data" / "up"
UP_STATE = UP / "up.json"
# What the generator can do, one file a machine.
CALIBRATIONS = ROOT / "data" / "calibration"
