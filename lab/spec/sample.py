"""The record of one request, and the columns of ``samples.parquet``.

A *session* is one execution of a user's task, with all requests that it sends in order. Samples give of each session,
which user and number name within a cell: the sum of its latencies (Σ ``latency_us``), its wall time (from the first
``sent_us`` to the last end of an answer), and its think time, the difference of the two: pauses are no samples of their
own and in no latency. A pause before the first request or after the last one is in neither.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

# A worker packs one record a request into a flat buffer; times are microseconds since the planned start of the load.
RECORD = np.dtype(
    [
        ("planned_us", "<i8"),
        ("sent_us", "<i8"),
        ("latency_us", "<i8"),
        ("waited_us", "<i8"),
        ("connect_us", "<i4"),
        ("bytes", "<i4"),
        ("user", "<i4"),
        ("session", "<i4"),
        ("step", "<i2"),
        ("status", "<i2"),
        ("name", "<i2"),
        ("error", "<i2"),
    ]
)
RECORD_FORMAT = "<qqqqiiiihhhh"

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
    "exit status",
    "wrong output",
    "breaker open",
    "breaker fallback",
    "stale",
    "broken off",
)
OK, REFUSED, CONNECT_TIMEOUT, CONNECT_FAILED, RESET, TIMEOUT, TRUNCATED, MALFORMED, STATUS, WRONG_BODY = range(10)
EXIT_STATUS, WRONG_OUTPUT = 10, 11
# Answers with what was there before a save of the same user.
STALE = 14
# Under way when the load was broken off, by Ctrl-C or since a component had failed.
BROKEN_OFF = 15
# Answers of a service whose circuit breaker did not let its own call through: a refusal, or a substitute in its place.
# Both come fast, since nothing was done for them, so neither is a right answer.
BREAKER_OPEN, BREAKER_FALLBACK = 12, 13
BY_BREAKER = (ERRORS[BREAKER_OPEN], ERRORS[BREAKER_FALLBACK])
# What becomes of a request that nobody answers to its end; and with it what was not waited for to its end.
UNANSWERED = ("refused", "connect timeout", "connect failed", "reset", "timeout", "truncated")
NO_ANSWER = (*UNANSWERED, ERRORS[BROKEN_OFF])

# What a record holds in place of an error for a right answer that the check called a fallback.
FALLBACK = len(ERRORS)
# Sessions of more steps, and answers of more bytes, are recorded with these.
MOST_STEPS, MOST_BYTES = np.iinfo(np.int16).max, np.iinfo(np.int32).max

# samples.parquet. connect_us is 0 where an open connection was reused. bytes are those of the body, 2 GiB less one at
# most (MOST_BYTES): a larger one is recorded with that. session counts a user's sessions from 0, and step the requests
# of a session. warm_up is the number of the warm-up round, 0 for the measured load. error is empty for a right answer;
# fallback says of a right one that it is a substitute. cut says that the end of a closed loop, or who broke the load
# off, cut the session off, so that it is not complete; stopped that its user did, as a request failed that it needed.
# waited_us is for how long the planned start of the session waited for a free user, in an open loop: a user is busy
# until its last answer has come, or its last pause is over. window is the number of the window, from 0, in which it was
# sent; all times go on from one window to the next, without the time between them, as if the load had been in one
# piece.
SCHEMA = pa.schema(
    [
        ("planned_us", pa.int64()),
        ("sent_us", pa.int64()),
        ("latency_us", pa.int64()),
        ("connect_us", pa.int32()),
        ("bytes", pa.int32()),
        ("user", pa.int32()),
        ("session", pa.int32()),
        ("step", pa.int16()),
        ("status", pa.int16()),
        ("name", pa.string()),
        ("method", pa.string()),
        ("error", pa.string()),
        ("fallback", pa.bool_()),
        ("worker", pa.int16()),
        ("warm_up", pa.int16()),
        ("cut", pa.bool_()),
        ("waited_us", pa.int64()),
        ("window", pa.int16()),
        ("stopped", pa.bool_()),
    ]
)


def to_batch(
    records: bytes, names: Sequence[tuple[str, str]], worker: int, warm_up: int, window: int = 0
) -> pa.RecordBatch:
    """Turn the packed records of one worker into a batch of :data:`SCHEMA`; no session is cut off or stopped yet.

    Args:
        records: any number of :data:`RECORD`, one after the other.
        names: the (method, name) that the records' ``name`` points into.
        worker: index of the worker that recorded them.
        warm_up: number of the warm-up round, 0 for the measured load.
        window: number of the window, 0 where the load is in one piece.

    """
    rows = np.frombuffer(records, dtype=RECORD)
    text = {
        "name": _spelled([name for _, name in names], rows["name"]),
        "method": _spelled([method for method, _ in names], rows["name"]),
        "error": _spelled([*ERRORS, ""], rows["error"]),
    }
    same = {"worker": worker, "warm_up": warm_up, "cut": False, "window": window, "stopped": False}
    values = {
        **{name: np.full(len(rows), value) for name, value in same.items()},
        "fallback": rows["error"] == FALLBACK,
    }
    columns = [
        text[f.name] if f.name in text else pa.array(values[f.name] if f.name in values else rows[f.name], f.type)
        for f in SCHEMA
    ]
    return pa.record_batch(columns, schema=SCHEMA)


def _spelled(words: Sequence[str], indices: np.ndarray) -> pa.Array:
    """A column of words, of which each row has the index."""
    return pa.array(words, pa.string()).take(pa.array(indices))


def with_later_columns(batch: pa.RecordBatch, columns: Sequence[str], before: int) -> pa.RecordBatch:
    """Some columns of a batch, also of one of an older run, which lacks those that came later.

    In runs without sessions every request was a GET, and a session of its own; ``waited_us`` is 0 where it was not
    recorded, and ``window`` where there were none.

    Args:
        batch: with all columns but later ones.
        columns: the names of those that are needed.
        before: how many samples there are before it, so that each session has a number of its own.

    """
    if set(columns) <= set(batch.schema.names):
        return batch.select(list(columns))
    later = {
        "session": np.arange(before, before + len(batch)),
        "step": 0,
        "method": "GET",
        "fallback": False,
        "cut": False,
        "waited_us": 0,
        "window": 0,
        "stopped": False,
    }
    missing = {name: later[name] for name in columns if name not in batch.schema.names}
    filled = {
        name: pa.array(value) if isinstance(value, np.ndarray) else pa.repeat(value, len(batch))
        for name, value in missing.items()
    }
    values = [filled[name].cast(SCHEMA.field(name).type) if name in filled else batch[name] for name in columns]
    return pa.RecordBatch.from_arrays(values, names=list(columns))
