"""Spells commands of the lab as they work in the reader's shell, and leaves secrets out of those that are kept."""

from __future__ import annotations

import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

HIDDEN = "…"
PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s]*@")
# Of a database's URL all that may hold a secret: what stands before the last @, but for the user, and all options.
LOGIN, OPTIONS = re.compile(r"(://[^/?#\s:@]*:?).*@", re.DOTALL), re.compile(r"\?.+", re.DOTALL)
# Where a secret is, instead of itself: a file or an environment variable.
ELSEWHERE = re.compile(r"@.+|env:\w+")


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
    """The words of a command line without values of headers, and without passwords and options in URLs."""
    for before, word in pairwise(("", *words)):
        option, equals, value = ("", "", word) if before in SECRET else word.partition("=")
        hide = SECRET.get(before) or (SECRET.get(option) if equals else None)
        if not hide:
            yield PASSWORD.sub(rf"\1{HIDDEN}@", word)
        else:
            yield option + equals + (value if ELSEWHERE.fullmatch(value) else hide(value))


def _without_value(header: str) -> str:
    return f"{header.partition(':')[0]}: {HIDDEN}"


def _without_login(url: str) -> str:
    if "://" not in url:  # nobody can tell which part of it is the password
        return HIDDEN
    return OPTIONS.sub(f"?{HIDDEN}", LOGIN.sub(rf"\1{HIDDEN}@", url))


# How the value of an option that holds a secret is written down.
SECRET: Mapping[str, Callable[[str], str]] = {
    "--join": lambda _: HIDDEN,
    "--header": _without_value,
    "--mysql-url": _without_login,
    "--mongo-url": _without_login,
}
