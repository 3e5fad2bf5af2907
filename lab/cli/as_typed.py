"""Spells commands of the lab as they work in the reader's shell, and leaves secrets out of those that are kept."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

HIDDEN = "…"
# The password in a URL, and the value of a header.
PASSWORD, HEADER = re.compile(r"(://[^/\s:@]*:)[^/\s]*@"), re.compile(r"^(--header=)?([^:]*).*", re.DOTALL)


def typed(*arguments: str) -> str:
    """A command line of the lab, with the program called as this process was."""
    if shutil.which("lab") == sys.argv[0]:
        return shlex.join(("lab", *arguments))
    caller = sys.orig_argv[: len(sys.orig_argv) - len(sys.argv) + 1]  # as in: .venv/bin/python -m lab
    return shlex.join((*caller, *arguments))


def as_typed(text: str) -> str:
    """A text whose ``python -m lab`` is replaced by the call that works in the user's shell."""
    mine = Path(__file__).parents[1] / "__main__.py", Path(sys.executable).with_name("lab")
    return text.replace("python -m lab", typed()) if Path(sys.argv[0]).absolute() in mine else text


def program(name: str) -> str:
    """How to call a program of this virtual environment: by name if it is on the PATH, else by path."""
    own = Path(sys.executable).with_name(name)
    return name if shutil.which(name) == str(own) else shlex.quote(str(own))


def without_secrets(words: Sequence[str]) -> Iterator[str]:
    """The words of a command line without values of headers and passwords in URLs."""
    for before, word in pairwise(("", *words)):
        if before == "--header" or word.startswith("--header="):
            yield HEADER.sub(rf"\1\2: {HIDDEN}", word)
        else:
            yield PASSWORD.sub(rf"\1{HIDDEN}@", word)
