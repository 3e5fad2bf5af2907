"""The benchmarks are programs beside each other in a folder, and no package."""

from __future__ import annotations

import sys

from lab.runtimes.checkout import ROOT

sys.path.append(str(ROOT / "benchmarks"))
