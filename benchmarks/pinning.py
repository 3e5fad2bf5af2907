"""How often, and for how long, virtual threads keep their carriers: ``python benchmarks/pinning.py [--users 50,100]``.

A virtual thread that waits while it is pinned keeps the thread of the system that carries it, so that no other can use
it. Java's flight recorder has an event for each (``jdk.VirtualThreadPinned``), here with no threshold. Before Java 24
this is of waits for something else in a synchronized block; who waits to enter one keeps its carrier too, and is
recorded as any thread is (``jdk.JavaMonitorEnter``), so these waits are counted beside them. From 24 on they keep
nothing. The measured load of a run of its own is recorded for each variant of ``jwt-ablations`` with virtual threads.
Recording costs time, so the rates of these runs are compared with nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from lab.analysis.verdict import INVALID
from lab.errors import LabError
from lab.experiments import find_scenario
from lab.running.conductor import conduct
from lab.running.invocation import Invocation
from lab.running.progress import Reporter, Update
from lab.runtimes import host, temporary
from lab.spec import planning
from lab.spec.options import Options
from lab.storage.json_file import read_json
from lab.system import java_releases
from lab.system.jdk import find_jdk

SCENARIO = find_scenario("jwt-ablations")
VIRTUAL = [variant.name for variant in SCENARIO.variants if variant.factors["threads"] == "virtual"]
EVENTS = ("jdk.VirtualThreadPinned", "jdk.JavaMonitorEnter")
# All of them: by default a recording forgets its oldest ones at 250 MB.
SETTINGS = (
    "settings=none",
    "maxsize=0",
    f"+{EVENTS[0]}#stackTrace=true",
    *(f"+{event}#{setting}" for event in EVENTS for setting in ("enabled=true", "threshold=0ms")),
)
# The release from which a virtual thread that waits for a monitor gives its carrier back.
UNPINNED = 24
READER = Path(__file__).with_name("Pinned.java")


@dataclass(frozen=True)
class Pinning:
    """The pinnings of one variant under its measured load.

    Attributes:
        events: how many there were.
        pinned_s: how long all of them lasted.
        waits: how often a virtual thread waited to enter a synchronized block.
        waits_s: how long all of these lasted.
        keeps: whether such a wait keeps the carrier, in the variant's release of Java.
        longest_in: the method, outside Java's own, in which pinnings lasted longest; empty if there were none.

    """

    variant: str
    users: int
    requests: int
    events: int
    pinned_s: float
    waits: int
    waits_s: float
    keeps: bool
    longest_in: str
    verdict: str

    @property
    def events_per_request(self) -> float:
        """How often a request was pinned."""
        return self.events / max(self.requests, 1)

    @property
    def kept_us_per_request(self) -> float:
        """How long a request kept a carrier while it waited, in microseconds."""
        return (self.pinned_s + self.waits_s * self.keeps) * 1e6 / max(self.requests, 1)


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


def pinnings(file: Path) -> tuple[int, float, int, float, str]:
    """What a recording has: pinnings and their seconds, waits for monitors and theirs, and the method; see Pinning."""
    said = _said((find_jdk().java, str(READER), str(file))).rstrip("\n")
    events, pinned_ns, waits, waits_ns, longest_in = said.split(" ", 4)
    return int(events), int(pinned_ns) / 1e9, int(waits), int(waits_ns) / 1e9, longest_in


def recording(folder: Path) -> Path:
    """The recording of a cell."""
    return folder.resolve() / "pinned.jfr"


def _said(command: Sequence[str]) -> str:
    """What a program prints; LabError if it fails."""
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        name = Path(command[0]).name
        raise LabError(f"{name} ended with status {done.returncode}: {done.stderr.strip()}", "Correct what it says.")
    return done.stdout


def measure(users: list[int], seconds: float, variants: list[str], runs: Path) -> list[Pinning]:
    """Measure each variant once at each load, recorded; LabError where one was not measured."""
    if strangers := sorted(set(variants) - set(VIRTUAL)):
        raise LabError(f"{strangers[0]} has no virtual threads.", f"Choose from: {', '.join(VIRTUAL)}")
    asked = Options(users=users, duration=seconds, heap_mb=512, variants=variants)
    run = conduct(
        planning.make_plan(SCENARIO, asked, host.machine()), Invocation(["benchmarks/pinning.py"], runs, Recorder(runs))
    )
    found = []
    for cell in run.cells():
        summary, load = cell.read("summary"), cell.cell.load
        if not recording(cell.path).exists():
            raise LabError(f"{cell.cell.id} was not measured: {' '.join(summary['reasons'])}", "Mend that first.")
        *counted, longest_in = pinnings(recording(cell.path))
        keeps = cell.read("limits")["java_release"] < UNPINNED
        about = (cell.cell.variant, load.users, summary["requests"])
        found.append(Pinning(*about, *counted, keeps, longest_in, summary["verdict"]))
    return found


def main() -> None:
    """Measure, and print one row a variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", default="100", help="one number, or several with commas")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--variants", default=",".join(VIRTUAL), help="with commas; those with virtual threads if none")
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    try:
        users = [int(each) for each in options.users.split(",")]
        with temporary.folder() as runs:
            found = measure(users, options.seconds, options.variants.split(","), runs)
    except (LabError, ValueError) as error:
        sys.exit(str(error))
    if options.json:
        print(json.dumps([asdict(each) for each in found], indent=2))
    else:
        _print(found)
    if any(each.verdict == INVALID for each in found):
        sys.exit("A cell is invalid: its figures say nothing.")


def _print(found: Sequence[Pinning]) -> None:
    heads = f"{'users':>5} {'requests':>9} {'pinned':>9} {'a request':>9} {'waits':>9} {'µs kept a request':>17}"
    print(f"{'variant':30} {heads}  longest in; verdict")
    for each in found:
        counts = (
            f"{each.users:5} {each.requests:9,} {each.events:9,} {each.events_per_request:9.3f} {each.waits:9,} "
            f"{each.kept_us_per_request:17.1f}"
        )
        print(f"{each.variant:30} {counts}  {each.longest_in or '–'}; {each.verdict}")


if __name__ == "__main__":
    main()
