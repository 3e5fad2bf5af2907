"""``python -m lab``."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn

from lab.runtimes.checkout import ROOT


def main() -> NoReturn:
    """Carry out a command, unless modules of others could take the place of the lab's own."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if foreign := [folder for folder in folders if folder and Path(folder).resolve() != ROOT]:
        # Before anything else is imported, which could be one of them already; no run would tell of it.
        print(f"error: PYTHONPATH names {foreign[0]}, and a module there could change results.", file=sys.stderr)
        print("  → Leave it out: env -u PYTHONPATH python -m lab …", file=sys.stderr)
        sys.exit(2)
    from lab.cli.main import main as carry_out

    carry_out()


if __name__ == "__main__":
    main()
