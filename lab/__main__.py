"""``python -m lab``."""

from __future__ import annotations

import codecs
import locale
import os
import sys
from pathlib import Path
from typing import NoReturn

from lab.runtimes.checkout import ROOT

# Which of a shell's variables decides how texts are written: the first that is set.
LANGUAGES = ("LC_ALL", "LC_CTYPE", "LANG")


def main() -> NoReturn:
    """Carry out a command, unless the shell has modules take the place of the lab's own, or texts not be in UTF-8."""
    told = os.environ.get("PYTHONPATH", "")
    # An empty one among several is the working directory for Python, and so it is for Path.
    folders = told.split(os.pathsep) if told else []
    if foreign := [folder for folder in folders if Path(folder).resolve() != ROOT]:
        # Before anything else is imported, which could be one of them already; no run would tell of it.
        named = foreign[0] or f"{Path.cwd()} by an empty entry"
        print(f"error: PYTHONPATH names {named}, and a module there could change results.", file=sys.stderr)
        print("  → Leave it out: env -u PYTHONPATH python -m lab …", file=sys.stderr)
        sys.exit(2)
    encoding = locale.getpreferredencoding(False)
    if not _is_utf8(encoding):
        # Files of a run would hold other bytes than elsewhere. An arrow could not be printed either.
        named = next((f"{name}={os.environ[name]}" for name in LANGUAGES if os.environ.get(name)), "This shell")
        print(f"error: {named} has texts written as {encoding}, and those of a run are UTF-8.", file=sys.stderr)
        print("  -> Take another language: LC_ALL=C.UTF-8 python -m lab ...", file=sys.stderr)
        sys.exit(2)
    if sys.stdout and not _is_utf8(sys.stdout.encoding):
        print(f"error: PYTHONIOENCODING has output written as {sys.stdout.encoding}, not UTF-8.", file=sys.stderr)
        print("  -> Leave it out: env -u PYTHONIOENCODING python -m lab ...", file=sys.stderr)
        sys.exit(2)
    from lab.cli.main import main as carry_out

    carry_out()


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name == "utf-8"


if __name__ == "__main__":
    main()
