"""Command lines that work in the shell of the person who reads them, whether or not the environment is activated."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path


def typed(*arguments: str) -> str:
    """A command of the lab, called as this process was."""
    if shutil.which("lab") == sys.argv[0]:
        return shlex.join(("lab", *arguments))
    caller = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]  # as in: .venv/bin/python -m lab
    return shlex.join((*caller, *arguments))


def program(name: str) -> str:
    """A program of this environment: its name if the PATH leads to it, or else its path."""
    own = Path(sys.executable).with_name(name)
    return name if shutil.which(name) == str(own) else shlex.quote(str(own))
