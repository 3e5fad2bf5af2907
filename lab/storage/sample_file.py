"""Sample files of any length, written and read in bounded pieces."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lab.runtimes.temporary import whole_file
from lab.spec.sample import SCHEMA

ROW_GROUP, PIECE = 1_000_000, 250_000


def merge(stream: Path, into: Path) -> None:
    """Turn a stream of batches into one Parquet file; of a truncated stream all complete batches.

    The file is there whole or not at all.
    """
    with whole_file(into) as neighbour, pq.ParquetWriter(neighbour, SCHEMA, compression="zstd") as writer:
        for table in _in_groups(_whole_batches(stream)):
            writer.write_table(table, row_group_size=len(table))


def whole(path: Path, stream: Path) -> pa.Table:
    """All samples of a Parquet file, or of the stream if that file is missing; none if both are.

    Raises:
        pyarrow.ArrowInvalid: the Parquet file is damaged; OSError too.

    """
    return pq.read_table(path) if path.exists() else pa.Table.from_batches(_whole_batches(stream), SCHEMA)


def pieces(path: Path, stream: Path, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The samples of the measured load, at most :data:`PIECE` at a time.

    Args:
        path: the Parquet file.
        stream: what is read instead, in batches as they came, if the file was never made of it.
        columns: those that are needed; text of a Parquet file is categorical.

    Raises:
        pyarrow.ArrowInvalid: the file is damaged; OSError too.

    """
    for batch in _batches(path, columns) if path.exists() else _whole_batches(stream):
        measured = batch.filter(pc.equal(batch["warm_up"], 0)).select(list(columns))
        yield pd.DataFrame(measured.to_pandas())


def _batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    with pq.ParquetFile(path, read_dictionary=["name", "error"], pre_buffer=False) as file:
        yield from file.iter_batches(PIECE, columns=[*columns, "warm_up"])


def _whole_batches(stream: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a stream up to where it was cut off. Only errors of reading end it, not those of writing."""
    with contextlib.ExitStack() as stack:
        try:
            # Opened by name, the stream would be mapped into memory as a whole.
            reader = stack.enter_context(pa.ipc.open_stream(stack.enter_context(pa.OSFile(str(stream)))))
        except (pa.ArrowInvalid, OSError):
            return
        while True:
            try:
                batch = reader.read_next_batch()
            except (StopIteration, pa.ArrowInvalid, OSError):
                return
            yield batch


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
