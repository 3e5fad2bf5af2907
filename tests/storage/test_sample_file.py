"""The form of one sample, on its way from the worker to the store."""

from __future__ import annotations

import json
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from patience import PATIENCE_S

from lab.runtimes.checkout import ROOT
from lab.spec import sample
from lab.storage import run_folder, sample_file


def packed(*rows: tuple[int, ...]) -> bytes:
    """Records as a worker packs them."""
    return b"".join(struct.pack(sample.RECORD_FORMAT, *row) for row in rows)


def test_the_two_descriptions_of_a_record_agree():
    """What struct packs is what numpy reads."""
    assert struct.calcsize(sample.RECORD_FORMAT) == sample.RECORD.itemsize
    row = (1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    assert np.frombuffer(packed(row), sample.RECORD)[0].item() == row


def test_every_error_has_its_name():
    """The constants point at the names that they stand for."""
    assert sample.ERRORS[sample.OK] == ""
    assert sample.ERRORS[sample.WRONG_BODY] == "wrong body"
    assert sample.ERRORS[sample.CONNECT_TIMEOUT] == "connect timeout"
    assert len(set(sample.ERRORS)) == len(sample.ERRORS)


def test_a_batch_holds_what_was_packed():
    """Every field comes out as it went in, with names and classes spelled out."""
    first = (10, 11, 2_000_000, 7, 300, 15, 0, 4, 1, 200, 0, sample.FALLBACK)
    second = (-5, 2**40, 2**41, 2**42, 0, 2**30, 2**31 - 1, 2**31 - 1, 2**15 - 1, 503, 1, sample.STATUS)
    rows = sample.to_batch(packed(first, second), [("GET", "/delay"), ("POST", "/other")], 3, 2).to_pylist()
    assert rows[0] == {
        "planned_us": 10,
        "sent_us": 11,
        "latency_us": 2_000_000,
        "connect_us": 300,
        "bytes": 15,
        "user": 0,
        "session": 4,
        "step": 1,
        "status": 200,
        "name": "/delay",
        "method": "GET",
        "error": "",
        "fallback": True,
        "worker": 3,
        "warm_up": 2,
        "cut": False,
        "waited_us": 7,
        "window": 0,
        "stopped": False,
    }
    times = ("planned_us", "sent_us", "latency_us", "waited_us")
    assert [rows[1][key] for key in times] == [-5, 2**40, 2**41, 2**42]
    assert [rows[1][key] for key in ("bytes", "user", "session", "step")] == [2**30, 2**31 - 1, 2**31 - 1, 2**15 - 1]
    assert [rows[1][key] for key in ("name", "method", "error", "status")] == ["/other", "POST", "status", 503]
    assert not rows[1]["fallback"]


@pytest.mark.parametrize("names", [[], [("GET", "/delay")]])
def test_no_records_make_an_empty_batch(names):
    """A worker that sent nothing gives a batch without rows."""
    assert sample.to_batch(b"", names, 0, 0).num_rows == 0


def test_a_torn_record_is_refused():
    """Half a record is an error, not a sample."""
    with pytest.raises(ValueError, match="size"):
        sample.to_batch(packed((0,) * 12)[:-1], [("GET", "/delay")], 0, 0)


LATER = ("session", "step", "method", "fallback", "cut", "waited_us")


def test_samples_of_older_runs_have_the_columns_that_came_later(tmp_path, monkeypatch):
    """Each request was a GET and a session of its own, however the file is cut into pieces."""
    (old, *_) = sorted((run_folder.EXAMPLES / "document-link" / "cells").iterdir())
    monkeypatch.setattr(sample_file, "PIECE", 7)
    path = old / "samples.parquet"
    assert set(pq.read_schema(path).names).isdisjoint(LATER), "it is an older run"
    rows = sample_file.whole(path, tmp_path / "none").to_pandas()
    assert list(rows.columns) == sample.SCHEMA.names
    assert rows["session"].tolist() == list(range(len(rows)))
    same = rows[["step", "method", "fallback", "cut", "waited_us"]].drop_duplicates()
    assert same.to_numpy().tolist() == [[0, "GET", False, False, 0]]
    pieces = list(sample_file.pieces(path, tmp_path / "none", ("sent_us", *LATER)))
    measured = rows[rows["warm_up"] == 0]
    assert pd.concat(pieces)["session"].tolist() == measured["session"].tolist()
    assert list(pieces[0].columns) == ["sent_us", *LATER]


@pytest.mark.parametrize("mark", ["cut", "stopped"])
def test_sessions_that_were_cut_off_or_stopped_are_marked_when_samples_are_kept(tmp_path, mark):
    """By user and number, of the measured load only: the warm-up has sessions of the same numbers."""
    rows = [
        (0, 0, 1, 0, 0, 0, user, session, step, 200, 0, 0) for user in (1, 2) for session in (0, 1) for step in (0, 1)
    ]
    with pa.ipc.new_stream(tmp_path / "stream", sample.SCHEMA) as writer:
        for warm_up in (1, 0):
            writer.write_batch(sample.to_batch(packed(*rows), [("GET", "/")], 0, warm_up))
    sample_file.merge(tmp_path / "stream", tmp_path / "kept", **{mark: [(2, 1), (1, 7)]})
    kept = sample_file.whole(tmp_path / "kept", tmp_path / "stream").to_pandas()
    assert kept["cut"].sum() + kept["stopped"].sum() == 2
    assert kept.loc[kept[mark], ["user", "session", "step", "warm_up"]].to_numpy().tolist() == [
        [2, 1, 0, 0],
        [2, 1, 1, 0],
    ]


@pytest.mark.thorough
def test_the_benchmark_of_the_analysis_summarises_every_sample():
    """It writes and reads samples as a run does, so that it has to follow when that changes."""
    command = [sys.executable, ROOT / "benchmarks" / "analysis.py", "--millions", "0.02", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert [size["samples"] for size in json.loads(done.stdout)["sizes"]] == [20_000]
