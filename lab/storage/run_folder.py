"""The folders and files of runs and cells.

History of the format:
1 (2026-11-21) the first; run.json names its scenario (see :mod:`lab.storage.format_1`).
2 (2026-11-21) run.json holds the scenario's value, so that a run is read by what was measured, not by what is today.
3 (2026-11-22) a load has a type, and only its fields; a variant holds the address of an attached service, or the
  command of a program (see :mod:`lab.storage.format_2`).
4 (2026-11-27) a parameter names the values of another at which it has an effect (see :mod:`lab.storage.format_3`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from lab.errors import LabError, did_you_mean
from lab.runtimes import identity, process_id
from lab.runtimes.checkout import ROOT
from lab.runtimes.temporary import whole_file
from lab.spec.own_load import Locustfile
from lab.spec.plan import Cell, Plan
from lab.storage import file_types, format_1, format_2, format_3
from lab.storage.cell_folder import CellFolder
from lab.storage.json_file import damaged, free_path, read_json, write_json

FORMAT = 4
RUNS = ROOT / "data" / "runs"
EXAMPLES = ROOT / "data" / "example"
# How the name of a run begins: see :meth:`RunFolder.create`.
STAMP, NAMED = "%Y%m%dT%H%M%SZ", re.compile(r"\d{8}T\d{6}Z-")
# A process by its number and its birth, as a number is given again; of none where nothing tells.
Owner = tuple[object, object]
NOBODY: Owner = (None, None)


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def name(self) -> str:
        """The run's name, such as ``20261121T101500Z-delay``."""
        return self.path.name

    @property
    def is_renamed(self) -> bool:
        """Whether its folder has no name that the lab gives."""
        return not NAMED.match(self.name)

    @property
    def called(self) -> str:
        """Its argument in a command: its name where that is enough to find it, else its path."""
        return self.name if self.path.parent in (RUNS, EXAMPLES) else str(self.path)

    @staticmethod
    def create(plan: Plan, command: Sequence[str], environment: Mapping[str, Any], runs: Path) -> RunFolder:
        """Create the folder of a new run with its plan and environment, before anything is started.

        Where they cannot be written there is no folder: it would be a damaged run, and the newest one.
        """
        stem = f"{datetime.now(UTC):{STAMP}}-{plan.scenario.name}"
        runs.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, 1000):
            folder = RunFolder(runs / (stem if attempt == 1 else f"{stem}-{attempt}"))
            with contextlib.suppress(FileExistsError):
                folder.path.mkdir()
                break
        else:
            raise LabError(f"{runs} already has {attempt} runs of this second.", "Wait a second, then start it again.")
        planned = plan.as_json()
        run = {"format": FORMAT, "run": folder.name, "command": list(command), "owner": _me(), "plan": planned}
        try:
            write_json(folder.path / "run.json", {**run, "seal": identity.seal(_sealed(planned))})
            write_json(folder.path / "environment.json", environment)
        except BaseException:
            shutil.rmtree(folder.path, ignore_errors=True)
            raise
        return folder

    def read(self) -> dict[str, Any]:
        """run.json, checked; LabError if it is damaged or from another format."""
        run = file_types.read(self.path / "run.json")
        if run.get("format") not in range(1, FORMAT + 1):
            raise LabError(
                f"Run {self.name} has format {run.get('format')}, this lab reads 1 to {FORMAT}.",
                "Use the lab's version that wrote it.",
            )
        return run

    def plan(self) -> Plan:
        """The run's plan; LabError if run.json is damaged, or names an unknown scenario."""
        path = self.path / "run.json"
        try:
            state = path.stat()
        except FileNotFoundError:
            return self._read_plan()  # which says so
        except OSError as error:
            raise damaged(path, str(error)) from error
        return _plan_in(self, (state.st_ino, state.st_mtime_ns, state.st_size))

    def _read_plan(self) -> Plan:
        run = self.read()
        try:
            plan = run["plan"]
            if run["format"] < 2:
                plan = format_1.upgraded(plan)
            if run["format"] < 3:
                plan = format_2.upgraded(plan)
            if run["format"] < 4:
                plan = format_3.upgraded(plan)
            return Plan.from_json(plan)
        except format_1.UnknownScenarioError as error:
            raise LabError(
                f"Run {self.name} is of a scenario {error} that this lab does not know.",
                "Use the lab's version that made it.",
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise damaged(self.path / "run.json", str(error)) from error

    def environment(self) -> dict[str, Any]:
        """environment.json; LabError if it is damaged."""
        return file_types.read(self.path / "environment.json")

    def add_to_environment(self, name: str, value: Mapping[str, Any] | Sequence[str]) -> None:
        """Add a fact to environment.json; one that is recorded already is not changed."""
        write_json(self.path / "environment.json", {name: value, **self.environment()})

    def databases(self) -> list[dict[str, Any]]:
        """The databases of the run, a row each with title and whether it is a stand-in; [] for none."""
        path = self.path / "databases.json"
        found = list(read_json(path).values()) if path.exists() else []
        if not all(isinstance(database, dict) and "title" in database for database in found):
            raise damaged(path, "a database has no title")
        return found

    def adopt(self, environment: Mapping[str, Any]) -> None:
        """Take over an incomplete run in this process, and write ``environment-resume-N.json``.

        LabError if it is going on, complete or damaged; of two processes that try at once, one gets it.
        """
        with FileLock(self.path / "adopt.lock"):
            self.check_incomplete()
            write_json(free_path(self.path, "environment-resume-{}.json"), environment)
            write_json(self.path / "run.json", {**self.read(), "owner": _me()})
        (self.path / "error.txt").unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def check_incomplete(self) -> None:
        """LabError if the run is in progress, complete or damaged."""
        if (state := self.state()) != "incomplete":
            raise LabError(
                f"Run {self.name} is {state}; only an incomplete run can be resumed.", _resumable(self.path.parent)
            )

    @property
    def locustfile(self) -> Path:
        """The copy of the user's own locustfile, if there is one: the record of what was played, where it lay."""
        return self.path / "locustfile.py"

    def check_locustfile(self, locustfile: Locustfile) -> bytes:
        """The content of the locustfile that is played; LabError if it is not what the run was planned with."""
        copy = f" (a copy is {self.locustfile})" if self.locustfile.exists() else ""
        step = f"Put it back as it was{copy} and resume the run, or begin a new one."
        try:
            content = Path(locustfile.path).read_bytes()
        except OSError as error:
            raise LabError(f"The locustfile {locustfile.path} cannot be read: {error.strerror}.", step) from None
        if hashlib.sha256(content).hexdigest() != locustfile.sha256:
            raise LabError(f"The locustfile {locustfile.path} has changed since the run was planned.", step)
        return content

    def keep_locustfile(self, locustfile: Locustfile) -> None:
        """Copy a locustfile into the folder, unless it is there; LabError as in :meth:`check_locustfile`."""
        content = self.check_locustfile(locustfile)
        if not self.locustfile.exists():
            with whole_file(self.locustfile) as unfinished:
                unfinished.write_bytes(content)

    @property
    def logs(self) -> Path:
        """The folder of the logs of databases, links and other processes of the whole run."""
        return self.path / "logs"

    @property
    def scratch(self) -> Path:
        """The folder of the data of databases and other processes of the whole run, until it is over."""
        return self.path / "scratch"

    def keep(self, name: str, value: Mapping[str, Any]) -> None:
        """Write ``name``.json atomically."""
        write_json(self.path / f"{name}.json", value)

    def note(self, name: str) -> dict[str, Any]:
        """Read a file of :meth:`keep`; empty if it is missing, LabError if it is damaged."""
        path = self.path / f"{name}.json"
        return file_types.read(path) if path.exists() else {}

    def cell(self, cell: Cell) -> CellFolder:
        """The folder of one of its cells, which may not exist yet."""
        return CellFolder(self.path / "cells" / cell.id, cell)

    def begin(self, cell: Cell) -> CellFolder:
        """Make the folder of a cell that is about to be measured."""
        folder = self.cell(cell)
        folder.logs.mkdir(parents=True)
        return folder

    def cells(self) -> list[CellFolder]:
        """All planned cells, also those that were never begun."""
        return [self.cell(cell) for cell in self.plan().cells]

    def missing(self) -> list[Cell]:
        """The cells that are still to be measured, in the plan's order: never begun, cut off, or interrupted."""
        return [folder.cell for folder in self.cells() if not folder.settled]

    def fail(self, message: str) -> None:
        """Record why the run ended early."""
        with contextlib.suppress(OSError):
            (self.path / "error.txt").write_text(message + "\n")

    @property
    def is_run(self) -> bool:
        """Whether it holds what the lab writes into a run's folder, if only in one of two files."""
        return any(
            keys <= _keys(self.path / f"{name}.json")
            for name, keys in {"run": {"format", "run", "plan"}, "environment": {"commit", "host", "packages"}}.items()
        )

    @property
    def has_begun(self) -> bool:
        """Whether anything of it was written; a process that is killed as it makes the folder leaves it empty."""
        return any((self.path / f"{name}.json").exists() for name in ("run", "environment"))

    @property
    def is_of_another_checkout(self) -> bool:
        """Whether another checkout, user or machine has made it, or goes on with it."""
        return (mark := self._mark()) is not None and mark not in identity.all_mine()

    @property
    def is_of_another_user(self) -> bool:
        """Whether the folder is another user's, and no mark in it tells who has made the run."""
        return self._mark() is None and self.path.lstat().st_uid != os.getuid()

    @property
    def is_of_another_format(self) -> bool:
        """Whether another version of the lab has made it, whose runs this one cannot read: it may be whole."""
        try:
            version = read_json(self.path / "run.json").get("format")
        except LabError:
            return False
        return type(version) is int and not 1 <= version <= FORMAT

    def _owner(self) -> dict[str, Any]:
        """Who has made it, or goes on with it, which is read of runs of any format; empty where nothing tells."""
        with contextlib.suppress(OSError):
            state = (self.path / "run.json").stat()
            return _owner_in(self, (state.st_ino, state.st_mtime_ns, state.st_size))
        return {}

    @property
    def owned_by(self) -> Owner:
        """The process that has made it, or goes on with it: its number, and when it was born."""
        owner = self._owner()
        return owner.get("pid"), owner.get("born")

    def _mark(self) -> object:
        """The mark of the checkout that has made it, or goes on with it; None if there is none that can be read."""
        return self._owner().get("checkout")

    @property
    def is_of_another_machine(self) -> bool:
        """Whether a process of another machine or container is its owner: if that lives cannot be told here."""
        machine = self._owner().get("machine")
        return machine is not None and machine != identity.machine()

    @property
    def is_planned_here(self) -> bool:
        """Whether this checkout has made its plan, and nobody has changed it since: its seal says so, no owner does."""
        run = self.read()
        return identity.is_sealed(_sealed(run.get("plan")), run.get("seal"))

    @property
    def is_mine(self) -> bool:
        """Whether this very process has made it, or goes on with it."""
        owner, me = self.read()["owner"], _me()
        return (owner["pid"], owner.get("born")) == (me["pid"], me["born"])

    @property
    def goes_on(self) -> bool:
        """Whether the process that has made it, or has resumed it, still runs, even if all of its cells are measured.

        A process that measures several runs together keeps the data of their databases in one of these.
        """
        try:
            return _lives(self._owner())
        except (KeyError, TypeError, ValueError, OverflowError):
            return False

    def state(self) -> str:
        """``complete``, ``running``, ``incomplete``, ``damaged`` or ``of another format``."""
        if self.is_of_another_format:
            return "of another format"
        try:
            if all(cell.settled for cell in self.cells()):
                return "complete"
            return "running" if _lives(self.read()["owner"]) else "incomplete"
        except (LabError, OSError, AttributeError, KeyError, TypeError, ValueError, OverflowError):
            return "damaged"


@lru_cache(maxsize=32)
def _plan_in(folder: RunFolder, state: tuple[int, int, int]) -> Plan:
    """The plan in a run.json, read once for each state of the file: every table and comparison asks for it."""
    return folder._read_plan()


@lru_cache(maxsize=4096)
def _owner_in(folder: RunFolder, state: tuple[int, int, int]) -> dict[str, Any]:
    """The owner in a run.json, read once for each state of the file: each run looks through all others."""
    with contextlib.suppress(LabError):
        owner = read_json(folder.path / "run.json").get("owner")
        return owner if isinstance(owner, dict) else {}
    return {}


def _keys(path: Path) -> set[str]:
    """The keys of a JSON object in a file; none if there is no such thing."""
    with contextlib.suppress(LabError):
        return set(read_json(path))
    return set()


def _sealed(plan: object) -> bytes:
    """A plan as its seal covers it, whatever the order of its keys."""
    return json.dumps(plan, sort_keys=True).encode()


def _lives(owner: Mapping[str, Any]) -> bool:
    return process_id.lives(int(owner["pid"]), owner.get("born", 0.0))


def _me() -> dict[str, Any]:
    me = {"pid": os.getpid(), "born": process_id.birth(os.getpid())}
    return {**me, "checkout": identity.mine(), "machine": identity.machine()}


def expanded(folder: Path) -> Path:
    """The folder that is meant where it begins with ~, as shells leave it in ``--data=~/runs``.

    LabError if that is the home of nobody.
    """
    try:
        return folder.expanduser()
    except RuntimeError:
        raise LabError(f"{folder} is in the home of nobody.", "Name another folder of runs.") from None


def all_runs(runs: Path) -> list[RunFolder]:
    """Every run in a folder, oldest first; one whose folder was renamed stands where it was."""
    if not runs.is_dir():
        return []
    folders = (RunFolder(path) for path in runs.iterdir() if path.is_dir())
    return sorted((folder for folder in folders if not folder.is_renamed or folder.is_run), key=_order)


def _order(folder: RunFolder) -> tuple[str, int, str]:
    given = folder.name
    if folder.is_renamed:
        with contextlib.suppress(LabError):
            given = str(read_json(folder.path / "run.json").get("run"))
    stem, _, attempt = given.partition("-")
    number = attempt.rpartition("-")[2]
    return stem, int(number) if number.isdigit() else 1, folder.name


def none_in(runs: Path) -> LabError:
    """The error where a folder holds no run."""
    step = "Start one: python -m lab run SCENARIO; 'python -m lab run --help' names them."
    return LabError(f"There is no run in {runs} yet.", step)


def find_run(name: str | None, runs: Path) -> RunFolder:
    """A run by its name or path; the newest with any content if none is named. LabError if there is none."""
    known = all_runs(runs)
    if name is None:
        newest = next((run for run in reversed(known) if run.has_begun), None)
        if not newest:
            raise none_in(runs)
        return newest
    for path in (runs / name, Path(name), EXAMPLES / name):
        with contextlib.suppress(OSError):  # a name that no file could have
            if (path / "run.json").exists() or path in [run.path for run in known]:
                return RunFolder(path)
    names = [run.name for run in (*known, *all_runs(EXAMPLES))]
    raise LabError(
        f"There is no run {name!r} in {runs}{did_you_mean(name, names)}.",
        f"'{_list_of(runs)}' shows the runs there are.",
    )


def find_resumable(name: str | None, runs: Path) -> RunFolder:
    """An incomplete run by its name or path, or the newest; LabError if there is none, or if it is not incomplete."""
    if name is not None:
        named = find_run(name, runs)
        named.check_incomplete()
        return named
    incomplete = [run for run in all_runs(runs) if run.state() == "incomplete"]
    if not incomplete:
        raise LabError(f"No run in {runs} is incomplete.", _resumable(runs))
    return incomplete[-1]


def _resumable(runs: Path) -> str:
    return f"'{_list_of(runs)}' shows which runs are incomplete."


def _list_of(runs: Path) -> str:
    """The command that lists the runs of a folder."""
    return "python -m lab list" + (f" --data {shlex.quote(str(runs))}" if runs != RUNS else "")


def owners_beside(mine: RunFolder) -> set[Owner]:
    """The processes that have made the other runs in the same folder, or go on with them."""
    return {run.owned_by for run in all_runs(mine.path.parent) if run.path != mine.path}


def others_begun(mine: RunFolder, before: Collection[Owner], since: datetime) -> list[str]:
    """Names of other runs in the same folder that this machine began, or resumed, meanwhile; not of this process.

    What was copied, renamed, or made by another machine is none of them.

    Args:
        before: what :func:`owners_beside` was.
        since: when that was.

    """
    others = [run for run in all_runs(mine.path.parent) if run.path != mine.path and not run.is_of_another_machine]
    stamp, me = f"{since:{STAMP}}", (_me()["pid"], _me()["born"])
    return [
        run.name
        for run in others
        if run.owned_by not in (me, NOBODY)
        and (run.owned_by not in before or (run.name >= stamp and NAMED.match(run.name)))
    ]


def others_running(mine: RunFolder) -> list[str]:
    """Names of other runs in the same folder that are in progress; not of those that take turns in this process."""
    others = [run for run in all_runs(mine.path.parent) if run.path != mine.path and run.goes_on]
    return [run.name for run in others if run.state() == "running" and not run.is_mine]
