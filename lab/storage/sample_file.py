"""Sample files of any length, written and read in bounded pieces."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.runtimes.temporary import whole_file
from lab.spec.sample import SCHEMA, with_later_columns

ROW_GROUP, PIECE = 1_000_000, 250_000


def merge(
    stream: Path,
    into: Path,
    cut: Collection[tuple[int, int]] = (),
    stopped: Collection[tuple[int, int]] = (),
) -> None:
    """Turn a stream of batches into one Parquet file; of a truncated stream all complete batches.

    The file is there whole or not at all: OSError where the stream cannot be read, or the file cannot be written.

    Args:
        cut: user and number of each session of the measured load that its end cut off.
        stopped: the same of those that their user stopped early.

    """
    with whole_file(into) as unfinished, pq.ParquetWriter(unfinished, SCHEMA, compression="zstd") as writer:
        for table in _in_groups(_whole_batches(stream)):
            for column, sessions in (("cut", cut), ("stopped", stopped)):
                table = _marked(table, column, sessions) if sessions else table
            writer.write_table(table, row_group_size=len(table))


def _marked(table: pa.Table, column: str, sessions: Collection[tuple[int, int]]) -> pa.Table:
    """The same samples, with those of some sessions marked in a column."""
    keys = _session_keys(*np.array(sorted(sessions), dtype=np.int64).T)
    of_rows = _session_keys(table["user"].to_numpy(), table["session"].to_numpy())
    marks = np.isin(of_rows, keys) & (table["warm_up"].to_numpy() == 0)
    return table.set_column(SCHEMA.get_field_index(column), SCHEMA.field(column), pa.array(marks))


def _session_keys(users: np.ndarray, sessions: np.ndarray) -> np.ndarray:
    """One number for each pair of user and session."""
    return (users.astype(np.int64) << 32) | sessions.astype(np.int64)


def whole(path: Path, stream: Path) -> pa.Table:
    """All samples of a Parquet file, or of the stream if that file is missing; none if both are.

    Raises:
        pyarrow.ArrowInvalid: the Parquet file is damaged; OSError too, and where the stream cannot be read.

    """
    batches = list(_whole_file(path) if path.exists() else _whole_batches(stream))
    return pa.Table.from_batches(batches) if batches else SCHEMA.empty_table()


def pieces(path: Path, stream: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The samples of the measured load, at most :data:`PIECE` at a time.

    Args:
        path: the Parquet file.
        stream: what is read instead, in batches as they came, if the file was never made of it.
        columns: those that are needed; text of a Parquet file is categorical. Samples of older runs are given the
            columns that came later: see :func:`lab.spec.sample.with_later_columns`.

    Raises:
        pyarrow.ArrowInvalid: the file is damaged; OSError too, and where the stream cannot be read.

    """
    wanted = list(dict.fromkeys((*columns, "warm_up")))
    for batch in _batches(path, wanted) if path.exists() else _whole_batches(stream):
        measured = batch.filter(pc.equal(batch["warm_up"], 0)).select(list(columns))
        yield pd.DataFrame(measured.to_pandas())


def _whole_file(path: Path) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path) as file:
        yield from _completed(file.iter_batches(PIECE), SCHEMA.names)


def _batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    known = pq.read_schema(path).names
    text = [name for name in ("name", "method", "error") if name in known]
    with pq.ParquetFile(path, read_dictionary=text, pre_buffer=False) as file:
        yield from _completed(file.iter_batches(PIECE, columns=[name for name in columns if name in known]), columns)


def _completed(batches: Iterable[pa.RecordBatch], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """These columns of all batches: see :func:`lab.spec.sample.with_later_columns`."""
    rows = 0
    for batch in batches:
        yield with_later_columns(batch, columns, rows)
        rows += len(batch)


def _whole_batches(stream: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a stream up to where it was cut off; none of one that is missing. OSError if it cannot be read."""
    return _completed(_stream_batches(stream), SCHEMA.names)


def _stream_batches(stream: Path) -> Iterator[pa.RecordBatch]:
    with contextlib.ExitStack() as stack:
        try:
            # Opened by name, the stream would be mapped into memory as a whole.
            reader = stack.enter_context(pa.ipc.open_stream(stack.enter_context(pa.OSFile(str(stream)))))
        except FileNotFoundError:
            return
        except (pa.ArrowInvalid, OSError) as error:
            _check_cut_off(error, stream)
            return
        while True:
            try:
                batch = reader.read_next_batch()
            except (StopIteration, pa.ArrowInvalid, OSError) as error:
                _check_cut_off(error, stream)
                return
            yield batch


def _check_cut_off(error: Exception, stream: Path) -> None:
    """OSError that names the stream if the system could not read it; then there may be more of it.

    Half a message is an OSError of pyarrow's too, but one without a number.
    """
    if isinstance(error, OSError) and error.errno is not None:
        raise OSError(error.errno, os.strerror(error.errno), str(stream)) from error


def _in_groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """The same rows in tables of :data:`ROW_GROUP` or a little more; a worker sends far fewer at a time."""
    group: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        group.append(batch)
        rows += len(batch)
        if rows >= ROW_GROUP:
            yield pa.Table.from_batches(group)
            group, rows = [], 0
    if rows:
        yield pa.Table.from_batches(group)
