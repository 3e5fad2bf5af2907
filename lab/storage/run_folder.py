"""The folders and files of runs and cells.

History of the format:
1 (2026-11-21) the first; run.json names its scenario (see :mod:`lab.storage.format_1`).
2 (2026-11-21) run.json holds the scenario's value, so that a run is read by what was measured, not by what is today.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock

from lab.errors import LabError
from lab.runtimes import process_id
from lab.runtimes.checkout import ROOT
from lab.runtimes.temporary import whole_file
from lab.spec.plan import Cell, Plan
from lab.storage import format_1, sample_file

FORMAT = 2
RUNS = ROOT / "data" / "runs"
EXAMPLES = ROOT / "data" / "example"
METRICS = ("t_s", "target", "name", "value")
# What no summary is without, even if nothing was answered.
COUNTED = ("requests", "throughput_rps", "ok_throughput_rps")


@dataclass(frozen=True)
class CellFolder:
    """The folder of one cell: what was measured first, its summary last."""

    path: Path
    cell: Cell

    @property
    def logs(self) -> Path:
        """Where whatever runs for this cell writes its logs."""
        return self.path / "logs"

    @property
    def stream(self) -> Path:
        """Where samples go while they arrive; :meth:`keep_samples` turns it into :attr:`kept`."""
        return self.path / "samples.arrows"

    @property
    def kept(self) -> Path:
        """Where samples are in the end. While it is not there, as after SIGKILL, they are read from the stream."""
        return self.path / "samples.parquet"

    def keep_samples(self) -> None:
        """Turn the stream into samples.parquet; a stream that was cut off gives what is whole in it."""
        sample_file.merge(self.stream, self.kept)
        self.stream.unlink(missing_ok=True)

    def samples(self) -> pd.DataFrame:
        """All samples, those of the warm-up too (``warm_up`` > 0); empty if there are none."""
        with _readable(self.kept):
            return pd.DataFrame(sample_file.whole(self.kept, self.stream).to_pandas())

    def measured(self) -> pd.DataFrame:
        """The samples of the measured load."""
        return self.samples().query("warm_up == 0")

    def measured_pieces(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The same in pieces of bounded size, for files of any length: see :func:`lab.storage.sample_file.pieces`."""
        with _readable(self.kept):
            yield from sample_file.pieces(self.kept, self.stream, columns)

    @property
    def lacks_samples(self) -> bool:
        """Whether the samples that its summary counts are not there any more."""
        there = self.kept.exists() or self.stream.exists()
        return self.complete and bool(self.read("summary").get("requests")) and not there

    def check(self) -> None:
        """LabError if a file is damaged in a way that shows without reading it whole: of samples the end is read."""
        for path, columns in ((self.kept, ("sent_us", "latency_us", "warm_up")), (self._metrics, METRICS)):
            if path.exists():
                with _readable(path):
                    names = pq.read_schema(path).names
                if not set(columns) <= set(names):
                    raise _damaged(path, f"its columns are {', '.join(names)}")
        if not all(isinstance(value, str | int | float | list | None) for value in self.read("limits").values()):
            raise _damaged(self.path / "limits.json", "a limit is neither a number nor a text")
        for key, value in self.read("summary").items():
            if not _fits(key, value):
                raise _damaged(self.path / "summary.json", f"it has a {key} of {value!r}")

    def keep_metrics(self, rows: Sequence[tuple[float, str, str, float]]) -> None:
        """Write metrics.parquet from rows of (seconds since the planned start, target, name, value)."""
        frame = pd.DataFrame(rows, columns=list(METRICS))
        frame.astype({"t_s": float, "value": float}).to_parquet(self._metrics, index=False)

    @property
    def _metrics(self) -> Path:
        return self.path / "metrics.parquet"

    def metrics(self) -> pd.DataFrame:
        """The metrics, one row a value; empty if there are none."""
        with _readable(self._metrics):
            return pd.read_parquet(self._metrics) if self._metrics.exists() else pd.DataFrame(columns=list(METRICS))

    def keep(self, name: str, value: Mapping[str, Any]) -> None:
        """Write ``name``.json, all of it or nothing."""
        write_json(self.path / f"{name}.json", value)

    def read(self, name: str) -> dict[str, Any]:
        """Read ``name``.json; empty if it is not there."""
        path = self.path / f"{name}.json"
        return read_json(path) if path.exists() else {}

    @property
    def complete(self) -> bool:
        """Whether the cell was measured to its end; the summary is written last."""
        return (self.path / "summary.json").exists()

    @property
    def settled(self) -> bool:
        """Whether nothing is left to measure: the cell is complete, and nobody interrupted it."""
        return self.complete and not self.read("evidence").get("interrupted", False)

    def set_aside(self) -> None:
        """Move what an interruption left to ``<id>.interrupted-N``, so that the cell can be measured anew."""
        if self.path.exists():
            self.path.rename(_free(self.path.parent, f"{self.path.name}.interrupted-{{}}"))


@dataclass(frozen=True)
class RunFolder:
    """The folder of one run."""

    path: Path

    @property
    def name(self) -> str:
        """What people call the run, such as ``20261121T101500Z-delay``."""
        return self.path.name

    @property
    def called(self) -> str:
        """What to call it in a command: its name where that is enough to find it, else its path."""
        return self.name if self.path.parent in (RUNS, EXAMPLES) else str(self.path)

    @staticmethod
    def create(plan: Plan, command: Sequence[str], environment: Mapping[str, Any], runs: Path) -> RunFolder:
        """Make the folder of a new run, and write down what was decided and where, before anything is started."""
        stem = f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{plan.scenario.name}"
        runs.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, 1000):
            folder = RunFolder(runs / (stem if attempt == 1 else f"{stem}-{attempt}"))
            with contextlib.suppress(FileExistsError):
                folder.path.mkdir()
                break
        else:
            raise LabError(f"{runs} has {attempt} runs of this second already.", "Wait a second, then start it again.")
        run = {"format": FORMAT, "run": folder.name, "command": list(command), "owner": _me(), "plan": plan.as_json()}
        write_json(folder.path / "run.json", run)
        write_json(folder.path / "environment.json", environment)
        return folder

    def read(self) -> dict[str, Any]:
        """run.json, checked; LabError if it is damaged or from another format."""
        run = read_json(self.path / "run.json")
        if run.get("format") not in (1, FORMAT):
            raise LabError(
                f"Run {self.name} has format {run.get('format')}, this lab reads 1 to {FORMAT}.",
                "Use the lab's version that wrote it.",
            )
        return run

    def plan(self) -> Plan:
        """What was decided before the run; LabError if run.json is damaged, or names a scenario that is not known."""
        run = self.read()
        try:
            return Plan.from_json(format_1.upgraded(run["plan"]) if run["format"] == 1 else run["plan"])
        except format_1.UnknownScenarioError as error:
            raise LabError(
                f"Run {self.name} is of a scenario {error} that this lab does not know.",
                "Use the lab's version that made it.",
            ) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(self.path / "run.json", str(error)) from error

    def environment(self) -> dict[str, Any]:
        """environment.json."""
        return read_json(self.path / "environment.json")

    def add_to_environment(self, name: str, value: Mapping[str, Any]) -> None:
        """Record one more fact, which is known only now; one that is recorded already stays as it was."""
        write_json(self.path / "environment.json", {name: value, **self.environment()})

    def databases(self) -> list[dict[str, Any]]:
        """What the services talked to, one row a database with its title and whether it is a stand-in; [] for none."""
        path = self.path / "databases.json"
        found = list(read_json(path).values()) if path.exists() else []
        if not all(isinstance(database, dict) and "title" in database for database in found):
            raise _damaged(path, "a database has no title")
        return found

    def adopt(self, environment: Mapping[str, Any]) -> None:
        """Make an incomplete run this process's own, and write down where it goes on (``environment-resume-N.json``).

        LabError if it is going on, complete or damaged; of two processes that try at once, one gets it.
        """
        with FileLock(self.path / "adopt.lock"):
            self.check_incomplete()
            write_json(_free(self.path, "environment-resume-{}.json"), environment)
            write_json(self.path / "run.json", {**self.read(), "owner": _me()})
        (self.path / "error.txt").unlink(missing_ok=True)
        shutil.rmtree(self.scratch, ignore_errors=True)

    def check_incomplete(self) -> None:
        """LabError if the run is going on, complete or damaged."""
        if (state := self.state()) != "incomplete":
            raise LabError(
                f"Run {self.name} is {state}; only an incomplete run can be resumed.", _resumable(self.path.parent)
            )

    @property
    def logs(self) -> Path:
        """Where what serves the whole run writes its logs."""
        return self.path / "logs"

    @property
    def scratch(self) -> Path:
        """Where what serves the whole run keeps its data, until the run is over."""
        return self.path / "scratch"

    def keep(self, name: str, value: Mapping[str, Any]) -> None:
        """Write ``name``.json, all of it or nothing."""
        write_json(self.path / f"{name}.json", value)

    def note(self, name: str) -> dict[str, Any]:
        """What :meth:`keep` wrote under that name; empty if it is not there."""
        path = self.path / f"{name}.json"
        return read_json(path) if path.exists() else {}

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
        """Leave a word about why the run ended early."""
        with contextlib.suppress(OSError):
            (self.path / "error.txt").write_text(message + "\n")

    def state(self) -> str:
        """``complete``, ``running``, ``incomplete`` or ``damaged``."""
        try:
            if all(cell.settled for cell in self.cells()):
                return "complete"
            owner = self.read()["owner"]
            return "running" if process_id.lives(int(owner["pid"]), owner.get("born", 0.0)) else "incomplete"
        except (LabError, AttributeError, KeyError, TypeError, ValueError, OverflowError):
            return "damaged"


def _fits(key: str, value: Any) -> bool:
    """Whether a value of summary.json has the type that its key promises: numbers, but for what is in words."""
    if key == "errors":
        return isinstance(value, dict) and all(isinstance(count, int) for count in value.values())
    if key == "reasons":
        return isinstance(value, list) and all(isinstance(reason, str) for reason in value)
    if key == "verdict":
        return isinstance(value, str)
    if value is None:
        return key not in COUNTED
    return isinstance(value, int | float) and value == value  # NaN is no figure


def _me() -> dict[str, Any]:
    return {"pid": os.getpid(), "born": process_id.birth(os.getpid())}


def _free(folder: Path, pattern: str) -> Path:
    """The first path of a numbered pattern that is not taken."""
    return next(path for number in itertools.count(1) if not (path := folder / pattern.format(number)).exists())


def all_runs(runs: Path) -> list[RunFolder]:
    """Every run in a folder, oldest first."""
    if not runs.is_dir():
        return []
    paths = (path for path in runs.iterdir() if re.match(r"\d{8}T\d{6}Z-", path.name) and path.is_dir())
    return [RunFolder(path) for path in sorted(paths, key=_order)]


def _order(path: Path) -> tuple[str, int]:
    stem, _, attempt = path.name.partition("-")
    return stem, int(attempt.rpartition("-")[2]) if attempt.rpartition("-")[2].isdigit() else 1


def find_run(name: str | None, runs: Path) -> RunFolder:
    """A run by its name or path; the newest if none is named. LabError if there is none."""
    known = all_runs(runs)
    if name is None:
        if not known:
            raise LabError(f"There is no run in {runs} yet.", "Start one: python -m lab run delay --users 400")
        return known[-1]
    for path in (runs / name, Path(name), EXAMPLES / name):
        with contextlib.suppress(OSError):  # a name that no file could have
            if (path / "run.json").exists() or path in [run.path for run in known]:
                return RunFolder(path)
    raise LabError(f"There is no run {name!r} in {runs}.", f"'{_list_of(runs)}' shows the runs there are.")


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


def others_running(mine: RunFolder) -> list[str]:
    """Names of other runs in the same folder whose lab process lives right now."""
    others = [run for run in all_runs(mine.path.parent)[-20:] if run.path != mine.path]
    return [run.name for run in others if run.state() == "running"]


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON file whole or not at all."""
    with whole_file(path) as neighbour:
        neighbour.write_text(json.dumps(value, indent=2) + "\n")


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object; LabError if it is missing or damaged."""
    try:
        value = json.loads(path.read_text())
    except FileNotFoundError:
        raise _damaged(path, "the file is missing") from None
    except (ValueError, OSError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(value, dict):
        raise _damaged(path, "not a JSON object")
    return value


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn what pyarrow says of a damaged Parquet file into LabError."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: Path, why: str) -> LabError:
    folder = path.parent.parent.parent if path.parent.parent.name == "cells" else path.parent
    return LabError(f"Run {folder.name} is damaged: {path.name}: {why}.", f"Restore {path} or delete the run's folder.")
