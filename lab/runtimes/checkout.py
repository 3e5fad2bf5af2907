"""The paths of a checkout, and the environment variables of its processes."""

from __future__ import annotations

import hashlib
import os
import platform
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Marks what this checkout has made on an engine or a disk that others use too: of this user, on this machine.
IDENTITY = hashlib.sha256("\0".join((platform.node(), str(os.getuid()), str(ROOT))).encode()).hexdigest()[:12]
# Calibrations of the generator, one file a machine.
CALIBRATIONS = ROOT / "data" / "calibration"
# Environment variable that marks a Locust master or worker as started by the lab.
RUN_BY_LAB = "LAB_CONDUCTED"
# Environment variable that tells a Locust master and its workers the secret by which they know each other.
JOIN_TOKEN = "LAB_JOIN_TOKEN"
