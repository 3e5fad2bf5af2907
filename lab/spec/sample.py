"""The record of one request, and the columns of ``samples.parquet``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

# A worker packs one record a request into a flat buffer; times are microseconds since the planned start of the load.
RECORD = np.dtype(
    [
        ("planned_us", "<i8"),
        ("sent_us", "<i8"),
        ("latency_us", "<i8"),
        ("connect_us", "<i4"),
        ("bytes", "<i4"),
        ("user", "<i4"),
        ("status", "<i2"),
        ("name", "<i2"),
        ("error", "<i2"),
    ]
)
RECORD_FORMAT = "<qqqiiihhh"

# Classes of failure; a record holds the index. 0 is a right answer.
ERRORS = (
    "",
    "refused",
    "connect timeout",
    "connect failed",
    "reset",
    "timeout",
    "truncated",
    "malformed",
    "status",
    "wrong body",
)
OK, REFUSED, CONNECT_TIMEOUT, CONNECT_FAILED, RESET, TIMEOUT, TRUNCATED, MALFORMED, STATUS, WRONG_BODY = range(
    len(ERRORS)
)

# samples.parquet. connect_us is 0 where an open connection was reused. warm_up is the number of the warm-up round,
# 0 for the measured load. error is empty for a right answer.
SCHEMA = pa.schema(
    [
        ("planned_us", pa.int64()),
        ("sent_us", pa.int64()),
        ("latency_us", pa.int64()),
        ("connect_us", pa.int32()),
        ("bytes", pa.int32()),
        ("user", pa.int32()),
        ("status", pa.int16()),
        ("name", pa.string()),
        ("error", pa.string()),
        ("worker", pa.int16()),
        ("warm_up", pa.int16()),
    ]
)


def to_batch(records: bytes, names: list[str], worker: int, warm_up: int) -> pa.RecordBatch:
    """Turn the packed records of one worker into a batch of :data:`SCHEMA`.

    Args:
        records: any number of :data:`RECORD`, one after the other.
        names: the request names that the records' ``name`` points into.
        worker: index of the worker that recorded them.
        warm_up: number of the warm-up round, 0 for the measured load.

    """
    rows = np.frombuffer(records, dtype=RECORD)
    text = {"name": np.array(names, dtype=object)[rows["name"]], "error": np.array(ERRORS, dtype=object)[rows["error"]]}
    same = {"worker": worker, "warm_up": warm_up}
    columns = [
        pa.array(text[f.name], f.type)
        if f.name in text
        else pa.array(np.full(len(rows), same[f.name]) if f.name in same else rows[f.name], f.type)
        for f in SCHEMA
    ]
    return pa.record_batch(columns, schema=SCHEMA)
