"""The samples that a load's steadiness is judged by, as one frame."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from lab.analysis import steadiness, window_figures
from lab.running import concluding
from lab.spec import sample
from lab.spec.plan import Cell
from lab.spec.workload import Burst, Closed, Open
from lab.storage import sample_file
from lab.storage.cell_folder import CellFolder

LOAD = Closed(users=5, duration_s=60.0)
OPEN = Open(users=5, duration_s=20.0, rate_rps=50.0, windows=10)
COLUMNS = list(steadiness.COLUMNS)


def batch(first: int, rows: int, name: str, error: int, warm_up: int = 0) -> pa.RecordBatch:
    """So many samples of one name and outcome."""
    records = np.zeros(rows, dtype=sample.RECORD)
    records["sent_us"] = np.arange(first, first + rows)
    records["error"] = error
    return sample.to_batch(records.tobytes(), [("GET", name)], 0, warm_up, window=first // 100)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> CellFolder:
    """A cell that is read in pieces, each with names and errors of its own, the first with a warm-up only."""
    monkeypatch.setattr(sample_file, "PIECE", 100)
    monkeypatch.setattr(sample_file, "ROW_GROUP", 100)
    found = CellFolder(tmp_path, Cell("mvc", LOAD))
    with found.stream.open("wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
        writer.write_batch(batch(0, 100, "/warm", sample.OK, warm_up=1))
        for first, name, error in ((0, "/a", sample.OK), (100, "/b", sample.TIMEOUT), (200, "/a", sample.RESET)):
            writer.write_batch(batch(first, 100, name, error))
    return found


@pytest.mark.parametrize("kept", [True, False], ids=["the file", "the stream"])
def test_they_are_those_of_the_file_with_text_as_categories(folder, kept):
    """Text of which pieces have not all the same is no object a sample, which takes several times as much."""
    expected = folder.measured()[COLUMNS].reset_index(drop=True)
    if kept:
        folder.keep_samples()
    found = concluding.steady_samples(SimpleNamespace(cell=folder.cell, folder=folder))
    assert len(found) == 300
    assert {name: str(dtype) for name, dtype in found.dtypes.items()} == {
        **dict.fromkeys(("planned_us", "sent_us", "latency_us"), "int64"),
        **dict.fromkeys(("error", "name"), "category"),
        **dict.fromkeys(("step", "window"), "int16"),
    }
    pd.testing.assert_frame_equal(found.astype({"error": "str", "name": "str"})[COLUMNS], expected)


@pytest.mark.parametrize("load", [Burst(users=5), LOAD, OPEN])
def test_there_are_none_of_a_load_that_is_never_steady_nor_of_one_without_samples(tmp_path, load):
    """Nothing is read of the one, and there is nothing to read of the other; the windows of none have no figures."""
    folder = CellFolder(tmp_path, Cell("mvc", load))
    with folder.stream.open("wb") as file, pa.ipc.new_stream(file, sample.SCHEMA):
        pass  # a service that did not start was sent nothing
    folder.keep_samples()
    found = concluding.steady_samples(SimpleNamespace(cell=folder.cell, folder=folder))
    assert (len(found), list(found.columns)) == (0, COLUMNS)
    assert window_figures.of_windows([], load, found, []) == []
