"""What is left when something is killed: ``python benchmarks/kills.py [--scenario delay] [--runtime docker] [--json]``.

A run of each system shows what is alive in which phase: build, images, seed, start, warm-up, measure, conclude. Then
one of these is killed by SIGKILL in each phase, the lab itself included, one in each run. The table shows what of it is
still running ten seconds after the run has ended, what it left on the disk outside its record, and how many samples
that were there before are lost. Goals: none. What a scenario starts is taken as it is, so that new components join by
themselves: a variant stands for all others, of whatever scenario, whose system has the same parts or fewer (databases,
services and programs that it calls, and what the lab does for it: restoring, a link, tokens, caches, releases of Java),
and the table says for whom. So the command without options takes about an hour; with ``--scenario`` variants stand for
others of the named scenarios only. Each is measured on as many nodes as ``--nodes`` says, and with Prometheus by
``--prometheus``. Services and images are built anew where their build is what is disturbed.
``--engine PID`` has the Docker engine killed too, and started again as it was: give it one of its own.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import goals
import psutil
from killed import LAB

from lab.errors import LabError
from lab.experiments import scenarios
from lab.runtimes import docker, temporary
from lab.runtimes.checkout import CALIBRATIONS, ROOT
from lab.spec.scenario import Scenario
from lab.spec.system import Variant
from lab.storage import run_folder
from lab.system import build, corpora
from lab.system.databases import SEEDS

SHAPE = ("--users", "20", "--ramp-up", "0", "--duration", "4", "--seed", "1", "--allow-suspect")
OF_SERVICES = ("--heap-mb", "256")
# What a checkout keeps for all runs.
KEPT = (SEEDS, corpora.CORPORA, CALIBRATIONS, build.SERVICES)
ENDS_WITHIN_S, GONE_WITHIN_S, ANSWERS_WITHIN_S = 300.0, 10.0, 60.0
HERE = Path(__file__).parent


@dataclass(frozen=True)
class Kill:
    """What one kill has left behind.

    Attributes:
        done: whether the victim was there.
        ended: the lab's exit status.
        running: command lines and containers that go on.
        on_disk: files and folders that are no part of the run's record.
        lost: samples that were there before the kill, and are not in the run.

    """

    scenario: str
    variant: str
    phase: str
    victim: str
    done: bool
    ended: int
    running: tuple[str, ...]
    on_disk: tuple[str, ...]
    lost: int


def main() -> int:
    """Kill, print; 1 if anything is left or lost, 2 if it cannot be tried here."""
    parser = goals.parser(__doc__)
    services = [name for name, scenario in scenarios().items() if scenario.entry == "service"]
    parser.add_argument("--scenario", action="append", choices=services, help="one of them; without, each system once")
    parser.add_argument("--runtime", choices=("process", "docker"), default="process")
    parser.add_argument("--phase", action="append", help="kill in this phase only, and in others that are named so")
    parser.add_argument("--victim", action="append", help="kill this only, and what else is named so")
    parser.add_argument("--nodes", default="1", help="processes of each service, behind HAProxy if several")
    parser.add_argument("--prometheus", action="store_true", help="have Prometheus beside it")
    parser.add_argument("--engine", type=int, metavar="PID", help="process of a Docker engine that may be killed too")
    options = parser.parse_args()
    engine = Engine(options.engine) if options.engine else None
    around = ("--runtime", options.runtime, "--nodes", options.nodes, *["--prometheus"] * options.prometheus)

    def chosen(phase: str, victim: str) -> bool:
        return phase in (options.phase or [phase]) and victim in (options.victim or [victim])

    representing = representatives(options.scenario or services)

    def measure() -> dict[str, Any]:
        kills = [kill for (name, variant) in representing for kill in kills_of(name, variant, around, chosen, engine)]
        missed = [
            f"{kill.scenario}, {kill.variant}: {kill.victim} in {kill.phase}"
            for kill in kills
            if kill.running or kill.on_disk or kill.lost or not kill.done
        ]
        stand_for = {f"{name}, {variant}": others for (name, variant), others in representing.items() if others}
        return {"kills": [asdict(kill) for kill in kills], "stand_for": stand_for, "missed": missed}

    return goals.concluded(measure, as_table, options.json)


class Engine:
    """A Docker engine that may be killed, and is started again as it was."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._command = self._process.cmdline()
        self._started: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id of the one that lives."""
        return self._process.pid

    def revive(self) -> None:
        """Start it again if it was killed, and wait until it answers; LabError if it does not.

        An engine ends at once where what is left of the one before is still there, so it is started until it stays.
        """
        deadline = time.monotonic() + ANSWERS_WITHIN_S
        while not self._lives() or not answers():
            if time.monotonic() > deadline:
                raise LabError("The engine that was killed cannot be started again.", " ".join(self._command))
            if not self._lives():
                nothing = subprocess.DEVNULL
                self._started = subprocess.Popen(
                    self._command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
                )
                self._process = psutil.Process(self._started.pid)
            time.sleep(1)

    def _lives(self) -> bool:
        if self._started:
            return self._started.poll() is None
        return self._process.is_running() and self._process.status() != psutil.STATUS_ZOMBIE


def answers() -> bool:
    """Whether an engine does."""
    with suppress(LabError):
        docker.connect().close()
        return True
    return False


def representatives(names: Iterable[str]) -> dict[tuple[str, str], list[str]]:
    """The scenarios and variants to measure, and for which other scenarios each stands.

    Args:
        names: of the scenarios.

    """
    systems = {
        (name, variant.name): parts(scenarios()[name], variant)
        for name in names
        for variant in scenarios()[name].variants
    }
    largest = {who: system for who, system in systems.items() if not any(system < more for more in systems.values())}
    found: dict[tuple[str, str], list[str]] = {}
    for (name, _), system in systems.items():
        who = next(other for other, has in largest.items() if system <= has)
        others = found.setdefault(who, [])
        if name not in (who[0], *others):
            others.append(name)
    return found


def parts(scenario: Scenario, variant: Variant) -> frozenset[str]:
    """What a run of a variant starts besides the service and its load, and what else may be left of it."""
    called = [part for part in scenario.components if not variant.calls or part.name in variant.calls]
    abilities = {
        "restored": any(part.changes for part in called),
        "link": bool(scenario.link),
        "tokens": scenario.sends_tokens or scenario.signs_tokens,
        "caches": variant.caches,
        "releases of Java": bool(variant.jdk),
    }
    return frozenset(
        [part.database or part.module or " ".join(part.command) for part in called]
        + [name for name, has in abilities.items() if has]
    )


def kills_of(
    scenario: str,
    variant: str,
    around: tuple[str, ...],
    chosen: Callable[[str, str], bool],
    engine: Engine | None = None,
) -> Iterator[Kill]:
    """One run that shows what there is to kill, and one for each of that in each phase.

    Args:
        around: options of ``lab run`` that say where and beside what it is measured.

    """
    command = ("run", scenario, "--variants", variant, *SHAPE, *OF_SERVICES, *around)
    for _ in range(2):  # the first builds and calibrates what is not there yet, which the others then find
        with tempfile.TemporaryDirectory() as folder:
            notes, _ = carried_out(command, "", "", Path(folder) / "runs", engine)
    pairs = dict.fromkeys((note["phase"], note["lives"]) for note in notes if "lives" in note and note["phase"])
    if not pairs:
        raise LabError(f"A run of {scenario} started nothing.", "Try it: python -m lab run " + scenario)
    for phase, victim in pairs:
        if chosen(phase, victim):
            with tempfile.TemporaryDirectory() as folder:
                yield killed(scenario, variant, command, phase, victim, Path(folder) / "runs", engine)


def killed(
    scenario: str,
    variant: str,
    command: tuple[str, ...],
    phase: str,
    victim: str,
    data: Path,
    engine: Engine | None,
) -> Kill:
    """Kill one thing in one run, and look what is left."""
    before = set(left_on_disk(data))
    notes, lab = carried_out(command, phase, victim, data, engine)
    if engine:
        engine.revive()
    kept = sum(len(cell.measured()) for run in run_folder.all_runs(data) for cell in run.cells())
    had = sum(note["samples"] for note in notes if "killed" in note)
    deadline = time.monotonic() + GONE_WITHIN_S
    while (running := lab.running()) and time.monotonic() < deadline:
        time.sleep(0.1)
    on_disk = tuple(sorted(set(left_on_disk(data)) - before))
    print(".", end="", flush=True, file=sys.stderr)
    done = any("killed" in note for note in notes)
    return Kill(scenario, variant, phase, victim, done, lab.status, tuple(running), on_disk, max(0, had - kept))


class Lab:
    """A run as a process of its own, and everything that descends from it."""

    def __init__(self, command: Iterable[str], output: Path) -> None:
        self._seen: dict[int, psutil.Process] = {}
        with output.open("wb") as file:
            self._process = subprocess.Popen(
                command, stdout=file, stderr=file, cwd=ROOT, start_new_session=True, env={**os.environ, **AROUND}
            )

    @property
    def status(self) -> int:
        """How it ended."""
        return int(self._process.returncode)

    def play(self) -> None:
        """Wait for its end, with an eye on what it starts."""
        deadline = time.monotonic() + ENDS_WITHIN_S
        while self._process.poll() is None:
            with suppress(psutil.Error):
                for child in psutil.Process(self._process.pid).children(recursive=True):
                    self._seen[child.pid] = child
            if time.monotonic() > deadline:
                os.killpg(self._process.pid, signal.SIGKILL)
                raise LabError(f"A run did not end within {ENDS_WITHIN_S:.0f} s.")
            time.sleep(0.02)

    def running(self) -> list[str]:
        """What of it goes on: processes by their command lines, and what the engine has."""
        left = []
        for process in self._seen.values():
            with suppress(psutil.Error):
                if process.is_running() and process.status() != psutil.STATUS_ZOMBIE:
                    left.append(" ".join(process.cmdline())[:80])
        with suppress(LabError):
            wanted = {"label": f"{docker.PID_LABEL}={self._process.pid}"}
            left += [container.name for container in docker.connect().containers.list(all=True, filters=wanted)]
            left += [network.name for network in docker.connect().networks.list(filters=wanted)]
        return left


AROUND = {"PYTHONPATH": str(ROOT)}


def carried_out(
    command: tuple[str, ...], phase: str, victim: str, data: Path, engine: Engine | None
) -> tuple[list[dict[str, Any]], Lab]:
    """Carry out a run in which the victim is killed in a phase; what it noted, and the lab."""
    record = data.with_name("record")
    record.touch()
    others = {"engine": engine.pid} if engine else {}
    order = json.dumps({"phase": phase, "victim": victim, "record": str(record), "others": others})
    lab = Lab((sys.executable, str(HERE / "killed.py"), order, *command, "--data", str(data)), data.with_name("output"))
    lab.play()
    if victim in ("", LAB) and lab.status not in (0, 1, -signal.SIGKILL):
        raise LabError("The run was not carried out.", "", data.with_name("output").read_text()[-2000:])
    return [json.loads(line) for line in record.read_text().splitlines()], lab


def left_on_disk(data: Path) -> list[str]:
    """What of a run is on the disk, but for its record: data of databases, port files, files not yet in their place.

    That is in the folder of runs, and in what the checkout keeps for all of them: seeds, corpora, builds, calibrations.
    Volumes of the engine count too, whoever has made them, so that nothing else should use it meanwhile. Temporary
    folders count once the next lab has tidied up, as every one does when it starts.
    """
    for folder in temporary.left_behind():
        with suppress(OSError):
            os.utime(folder, (0, 0))  # else they are too young to be told from those that are being made
    temporary.tidy()
    scratch = [str(path) for path in temporary.left_behind()]
    patterns = ("*/scratch/*", "*/**/application*.port", "*/**/*.new", "*/cells/*/logs/**/scratch")
    of_runs = [str(path.relative_to(data)) for pattern in patterns for path in data.glob(pattern)]
    return scratch + of_runs + [str(path) for folder in KEPT for path in unfinished(folder)] + volumes()


def unfinished(kept: Path) -> Iterator[Path]:
    """What was begun in a folder and has not got its name: hidden files and folders that no lock explains."""
    for folder, folders, files in os.walk(kept):
        begun = [name for name in (*folders, *files) if name.startswith(".") and not name.endswith(".lock")]
        yield from (Path(folder, name) for name in sorted(begun))
        folders[:] = [name for name in folders if name not in begun]


def volumes() -> list[str]:
    """The volumes that the engine has; none where there is no engine."""
    with suppress(LabError):
        return [f"volume {volume.name}" for volume in docker.connect().volumes.list()]
    return []


def as_table(found: dict[str, Any]) -> str:
    """Scenario, phase and victim, and how much is left; below it, what."""
    lines = ["| scenario | variant | phase | killed | lab's status | left running | left on disk | samples lost |"]
    lines += ["|---|---|---|---|---|---|---|---|"]
    for kill in found["kills"]:
        left = (len(kill["running"]), len(kill["on_disk"]), kill["lost"])
        ended = kill["ended"] if kill["done"] else "was not there"
        who = (kill["scenario"], kill["variant"], kill["phase"], kill["victim"], ended)
        lines.append("| " + " | ".join(map(str, (*who, *left))) + " |")
    for kill in found["kills"]:
        what = [*kill["running"], *kill["on_disk"]]
        if what:
            lines += ["", f"Left after {kill['victim']} in {kill['phase']} of {kill['scenario']}: {', '.join(what)}."]
    lines += ["", *(f"{who} stands for {', '.join(others)}." for who, others in found["stand_for"].items())]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
