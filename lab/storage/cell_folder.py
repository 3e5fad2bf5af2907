"""The folder of one cell: samples, metrics, limits in force, contract answers, evidence and summary."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from lab.spec.plan import Cell
from lab.storage import file_types, sample_file
from lab.storage.json_file import damaged, free_path, write_json

METRICS = ("t_s", "target", "name", "value")
# What no summary is without, of whichever version of the lab.
NEEDED = ("requests", "errors", "verdict")


@dataclass(frozen=True)
class CellFolder:
    """The folder of one cell, whose summary is written last."""

    path: Path
    cell: Cell

    @property
    def logs(self) -> Path:
        """The folder of the logs of this cell's processes."""
        return self.path / "logs"

    @property
    def stream(self) -> Path:
        """The file of samples during the measurement; :meth:`keep_samples` turns it into :attr:`kept`."""
        return self.path / "samples.arrows"

    @property
    def kept(self) -> Path:
        """The final file of samples. If it is missing, as after SIGKILL, samples are read from the stream."""
        return self.path / "samples.parquet"

    @property
    def _read_from(self) -> Path:
        return self.kept if self.kept.exists() else self.stream

    def keep_samples(self, cut: Collection[tuple[int, int]] = (), stopped: Collection[tuple[int, int]] = ()) -> None:
        """Turn the stream into samples.parquet; of a truncated stream all complete batches.

        OSError where the one cannot be read or the other cannot be written: then the stream stays.

        Args:
            cut: user and number of each session that the end of the load cut off.
            stopped: the same of those that their user stopped early.

        """
        sample_file.merge(self.stream, self.kept, cut, stopped)
        self.stream.unlink(missing_ok=True)

    def samples(self) -> pd.DataFrame:
        """All samples, those of the warm-up too (``warm_up`` > 0); empty if there are none."""
        with _readable(self._read_from):
            return pd.DataFrame(sample_file.whole(self.kept, self.stream).to_pandas())

    def measured(self) -> pd.DataFrame:
        """The samples of the measured load."""
        return self.samples().query("warm_up == 0")

    def measured_pieces(self, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
        """The measured samples in pieces of bounded size: see :func:`lab.storage.sample_file.pieces`."""
        with _readable(self._read_from):
            yield from sample_file.pieces(self.kept, self.stream, columns)

    @property
    def lacks_samples(self) -> bool:
        """Whether the summary counts samples whose file is missing."""
        there = self.kept.exists() or self.stream.exists()
        return self.complete and bool(self.read("summary").get("requests")) and not there

    def check(self) -> None:
        """LabError if a file is damaged, as far as can be seen without reading all samples."""
        for path, columns in ((self.kept, ("sent_us", "latency_us", "warm_up")), (self._metrics, METRICS)):
            if path.exists():
                with _readable(path):
                    names = pq.read_schema(path).names
                if not set(columns) <= set(names):
                    raise damaged(path, f"its columns are {', '.join(names)}")
        for name in file_types.OF_A_CELL:
            self.read(name)  # LabError where a value has another type
        if not all(isinstance(value, str | int | float | list | None) for value in self.read("limits").values()):
            raise damaged(self.path / "limits.json", "a limit is neither a number nor a text")
        if self.complete:
            self.check_summary(NEEDED)

    def check_summary(self, needed: Iterable[str]) -> None:
        """LabError if the summary lacks one of these."""
        summary = self.read("summary")
        if missing := [name for name in needed if name not in summary]:
            raise damaged(self.path / "summary.json", f"it has no {', '.join(missing)}")

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
        """Write ``name``.json atomically."""
        write_json(self.path / f"{name}.json", value)

    def read(self, name: str) -> dict[str, Any]:
        """Read ``name``.json; empty if it is missing. LabError if a value has another type: see :mod:`file_types`."""
        path = self.path / f"{name}.json"
        if not path.exists():
            return {}
        return file_types.read(path)

    @property
    def complete(self) -> bool:
        """Whether the cell was measured to its end; the summary is written last."""
        return (self.path / "summary.json").exists()

    @property
    def settled(self) -> bool:
        """Whether nothing is left to measure: the cell is complete and was not interrupted."""
        return self.complete and not self.read("evidence").get("interrupted", False)

    def set_aside(self) -> None:
        """Move an interrupted cell to ``<id>.interrupted-N``, so that it can be measured again."""
        if self.path.exists():
            self.path.rename(free_path(self.path.parent, f"{self.path.name}.interrupted-{{}}"))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn pyarrow's errors for a damaged file into LabError."""
    try:
        yield
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise damaged(path, str(error)) from error
