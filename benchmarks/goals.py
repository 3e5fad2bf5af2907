"""A benchmark with goals as a command: its options, its two cores, what it prints, and its exit status."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable

from lab.errors import LabError
from lab.runtimes import host


def parser(description: str | None) -> argparse.ArgumentParser:
    """A parser that knows ``--json``, and shows the description as it is written."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--json", action="store_true", help="print one object")
    return made


def two_cores() -> tuple[frozenset[int], frozenset[int]]:
    """A core for the server, and another for the generator; LabError if there is one only."""
    cores = host.cores()
    if len(cores) < 2:
        raise LabError("Server and generator need a core each, and there is one.", "Use a machine with two.")
    return frozenset(cores[:1]), frozenset(cores[1:2])


def concluded(measured: Callable[[], dict], as_table: Callable[[dict], str], as_json: bool) -> int:
    """Measure and print; returns 1 if a goal is missed, 2 if it cannot be measured here.

    Args:
        measured: gives the figures, with the goals that were ``missed``.

    """
    try:
        result = measured()
    except LabError as error:
        print(f"error: {error.problem} {error.next_step}\n{error.detail}".rstrip(), file=sys.stderr)
        return 2
    print(json.dumps(result, indent=2) if as_json else as_table(result))
    return 1 if result["missed"] else 0
