"""The form of one sample, on its way from the worker to the store."""

from __future__ import annotations

import json
import struct
import subprocess
import sys

import numpy as np
import pytest
from patience import PATIENCE_S

from lab.runtimes.checkout import ROOT
from lab.spec import sample


def packed(*rows: tuple[int, ...]) -> bytes:
    """Records as a worker packs them."""
    return b"".join(struct.pack(sample.RECORD_FORMAT, *row) for row in rows)


def test_the_two_descriptions_of_a_record_agree():
    """What struct packs is what numpy reads."""
    assert struct.calcsize(sample.RECORD_FORMAT) == sample.RECORD.itemsize
    row = (1, -2, 3, 4, 5, 6, 7, 8, 9)
    assert np.frombuffer(packed(row), sample.RECORD)[0].item() == row


def test_every_error_has_its_name():
    """The constants point at the names that they stand for."""
    assert sample.ERRORS[sample.OK] == ""
    assert sample.ERRORS[sample.WRONG_BODY] == "wrong body"
    assert sample.ERRORS[sample.CONNECT_TIMEOUT] == "connect timeout"
    assert len(set(sample.ERRORS)) == len(sample.ERRORS)


def test_a_batch_holds_what_was_packed():
    """Every field comes out as it went in, with names and classes spelled out."""
    first = (10, 11, 2_000_000, 300, 15, 0, 200, 0, sample.OK)
    second = (-5, 2**40, 2**41, 0, 2**30, 2**31 - 1, 503, 1, sample.STATUS)
    rows = sample.to_batch(packed(first, second), ["/delay", "/other"], 3, 2).to_pylist()
    assert rows[0] == {
        "planned_us": 10,
        "sent_us": 11,
        "latency_us": 2_000_000,
        "connect_us": 300,
        "bytes": 15,
        "user": 0,
        "status": 200,
        "name": "/delay",
        "error": "",
        "worker": 3,
        "warm_up": 2,
    }
    assert [rows[1][key] for key in ("planned_us", "sent_us", "latency_us")] == [-5, 2**40, 2**41]
    assert [rows[1][key] for key in ("bytes", "user")] == [2**30, 2**31 - 1]
    assert (rows[1]["name"], rows[1]["error"], rows[1]["status"]) == ("/other", "status", 503)


@pytest.mark.parametrize("names", [[], ["/delay"]])
def test_no_records_make_an_empty_batch(names):
    """A worker that sent nothing gives a batch without rows."""
    assert sample.to_batch(b"", names, 0, 0).num_rows == 0


def test_a_torn_record_is_refused():
    """Half a record is an error, not a sample."""
    with pytest.raises(ValueError, match="size"):
        sample.to_batch(packed((0,) * 9)[:-1], ["/delay"], 0, 0)


@pytest.mark.thorough
def test_the_benchmark_of_the_analysis_summarises_every_sample():
    """It writes and reads samples as a run does, so that it has to follow when that changes."""
    command = [sys.executable, ROOT / "benchmarks" / "analysis.py", "--millions", "0.02", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert [size["samples"] for size in json.loads(done.stdout)["sizes"]] == [20_000]
