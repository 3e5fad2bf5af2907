"""A run's samples in the forms that other tools read: JMeter's JTL, plain CSV, HdrHistogram's percentiles.

One file a cell, and a second one of percentiles where requests failed, written in pieces, so that any number of samples
fits in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
import pandas as pd
from hdrh.histogram import HdrHistogram

from lab.errors import LabError
from lab.formulas import stats
from lab.reporting.run_view import Run
from lab.runtimes.temporary import whole_file
from lab.spec.sample import SCHEMA
from lab.storage.cell_folder import CellFolder

# A histogram of latencies from 1 µs to an hour, exact to three digits.
MOST_US = 3_600_000_000
DIGITS = 3
US_PER_MS = 1000.0
# What the name of a file of percentiles ends with that are of all requests.
WITH_FAILURES = "-with-failures"


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how many samples it holds."""

    path: Path
    samples: int


def export(run: Run, kind: str, folder: Path) -> Iterator[Exported]:
    """Write the measured samples of every cell to a file of its own, in the plan's order.

    Args:
        run: any run; a cell that was not measured gives a file that says so by holding no sample.
        kind: one of :data:`KINDS`.
        folder: gets the files; it is made.

    Raises:
        LabError: there is no such kind, the run is damaged, or the folder is not the run's own and has such files;
            where samples of a cell are missing, after all other cells.

    """
    if kind not in KINDS:
        raise LabError(f"There is no format {kind!r}.", f"There is: {', '.join(KINDS)}.")
    suffix, write = KINDS[kind]
    cells = run.folder.cells()
    paths = [folder / f"{cell.cell.id}.{suffix}" for cell in cells]
    _check_free(run, folder, paths)
    folder.mkdir(parents=True, exist_ok=True)
    for cell, path in zip(cells, paths, strict=True):
        if not cell.lacks_samples:
            yield from write(run, cell, path)
    if lacking := [cell for cell in cells if cell.lacks_samples]:
        raise LabError(
            f"The samples of {', '.join(cell.cell.id for cell in lacking)} are missing, so that nothing of these cells "
            "is exported.",
            f"Restore {lacking[0].kept}{' and the others' * (len(lacking) > 1)}, and export again.",
        )


def own_folder(run: Run) -> Path:
    """The folder of a run's own exports, which are written anew each time."""
    return run.path / "export"


def _check_free(run: Run, folder: Path, paths: Sequence[Path]) -> None:
    """LabError if files would be overwritten that may be another run's: cells of many runs have the same names."""
    both = (name for path in paths for name in (path, path.with_stem(f"{path.stem}{WITH_FAILURES}")))
    if folder.resolve() != own_folder(run).resolve() and (
        taken := next((path for path in both if path.exists()), None)
    ):
        raise LabError(
            f"{taken} exists, and may be of another run.", "Name another folder with -o, or delete the file."
        )


def _write_jtl(run: Run, cell: CellFolder, path: Path) -> list[Exported]:
    started_ms = _started_ms(run)
    return _write_rows(path, (_as_jtl(piece, cell, started_ms) for piece in _pieces(cell)))


def _write_csv(run: Run, cell: CellFolder, path: Path) -> list[Exported]:
    return _write_rows(path, _pieces(cell))


def _pieces(cell: CellFolder) -> Iterator[pd.DataFrame]:
    """The measured samples in pieces; the first one is empty, so that every file has at least its header."""
    columns = [name for name in SCHEMA.names if name != "warm_up"]
    yield SCHEMA.empty_table().select(columns).to_pandas()
    yield from cell.measured_pieces(columns)


def _write_rows(path: Path, pieces: Iterable[pd.DataFrame]) -> list[Exported]:
    count = 0
    with whole_file(path.resolve()) as unfinished, unfinished.open("w", newline="", encoding="utf-8") as file:
        for number, piece in enumerate(pieces):
            piece.to_csv(file, index=False, header=number == 0)
            count += len(piece)
    return [Exported(path, count)]


def _started_ms(run: Run) -> int:
    """When the run began, in ms since 1970; 0 if that is not recorded. Samples know only their own load's start."""
    try:
        return int(datetime.fromisoformat(run.folder.environment()["time"]).timestamp() * 1000)
    except (KeyError, TypeError, ValueError):
        return 0


def _as_jtl(samples: pd.DataFrame, cell: CellFolder, started_ms: int) -> pd.DataFrame:
    """Samples as rows of JMeter's CSV log, with the columns of its default configuration that have a meaning here.

    JMeter's times are in whole ms. The first byte of an answer is not timed apart, so that ``Latency`` is ``elapsed``.
    In an open loop ``timeStamp`` and ``elapsed`` count from the planned moment, as the lab does, or the percentiles of
    ``elapsed`` would hide the queue; ``Latency`` is the service time then. Failures without an answer have a response
    code in JMeter's own words.
    """
    failed = stats.error_class(samples)
    asked = _as_users_see(samples, cell)
    users = cell.cell.load.users
    return pd.DataFrame(
        {
            "timeStamp": started_ms + asked["sent_us"] // 1000,
            "elapsed": _whole_ms(asked["latency_us"]),
            "label": samples["name"],
            "responseCode": np.where(
                samples["status"] > 0, samples["status"].astype(str), "Non HTTP response code: " + failed.astype(str)
            ),
            "responseMessage": np.where(failed == "", "OK", failed),
            "threadName": f"{cell.cell.variant} 1-" + (samples["user"] + 1).astype(str),
            "dataType": "text",
            "success": np.where(failed == "", "true", "false"),
            "failureMessage": failed,
            "bytes": samples["bytes"],
            "grpThreads": users,
            "allThreads": users,
            "Latency": _whole_ms(samples["latency_us"]),
            "IdleTime": 0,
            "Connect": _whole_ms(samples["connect_us"]),
        }
    )


def _whole_ms(times_us: pd.Series) -> pd.Series:
    return (times_us / US_PER_MS).round().astype("int64")


def _as_users_see(samples: pd.DataFrame, cell: CellFolder) -> pd.DataFrame:
    return stats.as_planned(samples) if cell.cell.load.independent else samples


def _write_hdr(run: Run, cell: CellFolder, path: Path) -> list[Exported]:
    """Write the percentiles of right answers in µs, in the text form that HdrHistogram's plotter takes.

    Where requests failed, a second file has those of all requests.
    """
    right, every = (HdrHistogram(1, MOST_US, DIGITS) for _ in range(2))
    for piece in cell.measured_pieces(["planned_us", "sent_us", "latency_us", "error"]):
        latency_us = _as_users_see(piece, cell)["latency_us"].clip(1, MOST_US)
        _count(right, latency_us[piece["error"] == ""])
        _count(every, latency_us)
    written = [_write_histogram(right, path)]
    if every.get_total_count() > right.get_total_count():
        written.append(_write_histogram(every, path.with_stem(f"{path.stem}{WITH_FAILURES}")))
    return written


def _count(histogram: HdrHistogram, latency_us: pd.Series) -> None:
    for value, count in zip(*np.unique(latency_us, return_counts=True), strict=True):
        histogram.record_value(int(value), int(count))


def _write_histogram(histogram: HdrHistogram, path: Path) -> Exported:
    with whole_file(path.resolve()) as unfinished, unfinished.open("wb") as file:
        histogram.output_percentile_distribution(file, 1.0)  # another ratio would leave its deviation in µs
    return Exported(path, int(histogram.get_total_count()))


KINDS: dict[str, tuple[str, Callable[[Run, CellFolder, Path], list[Exported]]]] = {
    "jtl": ("jtl", _write_jtl),
    "csv": ("csv", _write_csv),
    "hdr": ("hgrm", _write_hdr),
}
