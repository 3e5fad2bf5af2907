"""How often, and for how long, virtual threads keep their carriers: ``python benchmarks/pinning.py [--users 100]``.

A virtual thread that waits while it is pinned keeps the thread of the system that carries it, so that no other can use
it. Java's flight recorder has an event for each (``jdk.VirtualThreadPinned``), here with no threshold. It records the
measured load of a run of its own for each variant of ``jwt-ablations`` with virtual threads. Recording costs time, so
the rates of these runs are compared with nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.experiments import find_scenario
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter, Update
from lab.runtimes import temporary
from lab.spec import planning
from lab.spec.options import Options
from lab.storage.json_file import read_json
from lab.system import java_releases
from lab.system.jdk import find_jdk

SCENARIO = find_scenario("jwt-ablations")
VIRTUAL = [variant.name for variant in SCENARIO.variants if variant.factors["threads"] == "virtual"]
EVENT = "jdk.VirtualThreadPinned"
SETTINGS = ("settings=none", f"+{EVENT}#enabled=true", f"+{EVENT}#threshold=0ms", f"+{EVENT}#stackTrace=true")
READER = Path(__file__).with_name("Pinned.java")


@dataclass(frozen=True)
class Pinning:
    """The pinnings of one variant under its measured load.

    Attributes:
        events: how many there were.
        pinned_s: how long all of them lasted.
        longest_in: the method, outside Java's own, in which they lasted longest; empty if there were none.

    """

    variant: str
    requests: int
    events: int
    pinned_s: float
    longest_in: str
    verdict: str

    @property
    def events_per_request(self) -> float:
        """How often a request was pinned."""
        return self.events / max(self.requests, 1)

    @property
    def pinned_us_per_request(self) -> float:
        """How long a request was pinned, in microseconds."""
        return self.pinned_s * 1e6 / max(self.requests, 1)


class Recorder(Reporter):
    """Records the service of each cell while it is measured, into the cell's folder.

    Args:
        runs: the folder of the run.

    """

    def __init__(self, runs: Path) -> None:
        super().__init__()
        self._runs = runs

    @contextmanager
    def phase(self, title: str, total: float | None = None) -> Iterator[Update]:
        """Show a phase, and record it if it is that of the measured load."""
        cell, _, what = title.partition(": ")
        with super().phase(title, total) as update:
            if not what.startswith("measure "):
                yield update
                return
            (folder,) = self._runs.glob(f"*/cells/{cell}")
            limits = read_json(folder / "limits.json")
            with recorded(limits["java_release"], limits["pid"], recording(folder)):
                yield update


@contextmanager
def recorded(release: int, pid: int, file: Path) -> Iterator[None]:
    """Record the pinnings of a JVM while the context lasts.

    Args:
        release: that of the JVM, which must have been installed.
        file: gets the recording; with its whole path, as the JVM writes it.

    """
    jcmd = (str(java_releases.home_of(release) / "bin" / "jcmd"), str(pid))
    _said((*jcmd, "JFR.start", "name=pinned", *SETTINGS))
    yield
    _said((*jcmd, "JFR.stop", "name=pinned", f"filename={file}"))


def pinnings(file: Path) -> tuple[int, float, str]:
    """How many a recording has, how many seconds they lasted, and in which method longest; empty if there are none."""
    events, nanoseconds, longest_in = _said((find_jdk().java, str(READER), str(file))).rstrip("\n").split(" ", 2)
    return int(events), int(nanoseconds) / 1e9, longest_in


def recording(folder: Path) -> Path:
    """The recording of a cell."""
    return folder.resolve() / "pinned.jfr"


def _said(command: Sequence[str]) -> str:
    """What a program prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def measure(users: int, seconds: float, variants: list[str], runs: Path) -> list[Pinning]:
    """Measure each variant once, recorded."""
    asked = Options(users=[users], duration=seconds, heap_mb=512, variants=variants)
    run = conduct(planning.make_plan(SCENARIO, asked), Invocation(["benchmarks/pinning.py"], runs, Recorder(runs)))
    found = []
    for cell in run.cells():
        summary = cell.read("summary")
        events, pinned_s, longest_in = pinnings(recording(cell.path))
        found.append(Pinning(cell.cell.variant, summary["requests"], events, pinned_s, longest_in, summary["verdict"]))
    return found


def main() -> None:
    """Measure, and print one row a variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--variants", default=",".join(VIRTUAL), help="with commas; those with virtual threads if none")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    with temporary.folder() as runs:
        found = measure(options.users, options.seconds, options.variants.split(","), runs)
    if options.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
        return
    print(f"{'variant':30} {'requests':>9} {'pinned':>9} {'a request':>9} {'µs a request':>12}  longest in; verdict")
    for each in found:
        counts = (
            f"{each.requests:9,} {each.events:9,} {each.events_per_request:9.3f} {each.pinned_us_per_request:12.1f}"
        )
        print(f"{each.variant:30} {counts}  {each.longest_in or '–'}; {each.verdict}")


if __name__ == "__main__":
    main()
