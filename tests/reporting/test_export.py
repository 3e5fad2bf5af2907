"""Exports: other tools read the same samples that the lab has, and come to the same numbers."""

from __future__ import annotations

import csv
import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from open_loops import REQUESTS, SERVICE_S, overloaded

from lab.errors import LabError
from lab.reporting import export, run_view
from lab.storage import run_folder, sample_file

# HdrHistogram keeps three digits: a value may be off by that share of itself.
HDR_PRECISION = 1e-3


@pytest.fixture(scope="module")
def run():
    """The run that ships with the lab."""
    return run_view.open_run("delay-sweep")


@pytest.fixture
def cell(run, tmp_path):
    """The smallest and the largest cell of platform threads in a copy, of which some requests failed."""
    folder, kept = tmp_path / "20260101T000000Z-delay", ("mvc-u1-r1", "mvc-u4000-r1")
    shutil.copytree(run.path, folder, ignore=lambda path, names: set(names) - {*kept} if path.endswith("cells") else ())
    value = json.loads((folder / "run.json").read_text())
    value["plan"]["cells"] = [
        cell for cell in value["plan"]["cells"] if cell["variant"] == "mvc" and cell["load"]["users"] in (1, 4000)
    ]
    (folder / "run.json").write_text(json.dumps(value))
    path = folder / "cells" / "mvc-u4000-r1" / "samples.parquet"
    samples = pd.read_parquet(path)
    samples.loc[samples.index[:7], ["error", "status"]] = ["timeout", 0]
    samples.loc[samples.index[7:10], ["error", "status"]] = ["status", 503]
    samples.to_parquet(path)
    return run_folder.RunFolder(folder)


def test_csv_holds_every_sample(run, tmp_path):
    """Read back, it is what the store has, warm-up left out, for every cell in the plan's order."""
    written = list(export.export(run, "csv", tmp_path))
    assert [file.path.stem for file in written] == [cell.id for cell in run.plan.cells]
    for file, cell in zip(written, run.folder.cells(), strict=True):
        again = pd.read_csv(file.path, keep_default_na=False)
        assert file.samples == len(again)
        measured = cell.measured().drop(columns="warm_up").reset_index(drop=True)
        pd.testing.assert_frame_equal(again, measured, check_dtype=False)


def test_jtl_gives_jmeter_the_same_counts_and_times(cell, tmp_path):
    """The columns that JMeter needs are there; successes, failures and milliseconds are the samples'."""
    file = next(f for f in export.export(run_view.Run(cell), "jtl", tmp_path / "x") if f.path.stem == "mvc-u4000-r1")
    with file.path.open() as lines:
        rows = list(csv.DictReader(lines))
    samples = next(c for c in cell.cells() if c.cell.id == file.path.stem).measured()
    assert {"timeStamp", "elapsed", "label", "responseCode", "threadName", "success", "bytes"} <= set(rows[0])
    assert len(rows) == len(samples) == file.samples
    assert sum(row["success"] == "false" for row in rows) == 10
    assert sorted({row["responseCode"] for row in rows}) == ["200", "503", "Non HTTP response code: timeout"]
    elapsed = np.array([int(row["elapsed"]) for row in rows])
    assert np.abs(elapsed - samples["latency_us"].to_numpy() / 1000).max() <= 0.5
    span_ms = int(rows[-1]["timeStamp"]) - int(rows[0]["timeStamp"])
    assert abs(span_ms - (samples["sent_us"].iloc[-1] - samples["sent_us"].iloc[0]) / 1000) <= 1


def percentiles_of(text: str) -> list[tuple[float, float, int]]:
    """The rows of a percentile file: value, percentile from 0 to 1, count."""
    rows = re.findall(r"^ *([\d.]+) +([\d.]+) +(\d+)", text, re.MULTILINE)
    return [(float(value), float(share), int(count)) for value, share, count in rows]


def test_hdr_gives_the_exact_percentiles_within_three_digits(cell, tmp_path):
    """Right answers only; every row's value is the exact percentile of its count, as HdrHistogram promises."""
    file = next(f for f in export.export(run_view.Run(cell), "hdr", tmp_path / "x") if f.path.stem == "mvc-u4000-r1")
    samples = next(c for c in cell.cells() if c.cell.id == file.path.stem).measured()
    latency = np.sort(samples.loc[samples["error"] == "", "latency_us"].to_numpy())
    rows = percentiles_of(file.path.read_text())
    assert rows[-1][1:] == (1.0, len(latency))
    assert file.samples == len(latency) == 3990
    for value, _, count in rows:
        assert value == pytest.approx(latency[count - 1], rel=HDR_PRECISION)
    mean, deviation = re.search(r"Mean += +([\d.]+), StdDeviation += +([\d.]+)", file.path.read_text()).groups()
    assert float(mean) == pytest.approx(latency.mean(), rel=HDR_PRECISION)
    assert float(deviation) == pytest.approx(latency.std(), rel=HDR_PRECISION)


def test_hdr_of_all_requests_is_a_second_file_where_some_failed(cell, tmp_path):
    """Ten of 4,000 requests failed in one cell, and none in the other, which has one file."""
    files = {file.path.stem: file for file in export.export(run_view.Run(cell), "hdr", tmp_path / "x")}
    assert set(files) == {"mvc-u1-r1", "mvc-u4000-r1", "mvc-u4000-r1-with-failures"}
    every = files["mvc-u4000-r1-with-failures"]
    samples = next(c for c in cell.cells() if c.cell.id == "mvc-u4000-r1").measured()
    rows = percentiles_of(every.path.read_text())
    assert every.samples == rows[-1][2] == len(samples) == 4000
    latency = np.sort(samples["latency_us"].to_numpy())
    for value, _, count in rows:
        assert value == pytest.approx(latency[count - 1], rel=HDR_PRECISION)


def test_many_pieces_give_the_same_file_as_one(run, tmp_path, monkeypatch):
    """However small the pieces are, a file has one header and all rows in their order."""
    whole = [file.path.read_text() for file in export.export(run, "csv", tmp_path / "whole")]
    monkeypatch.setattr(sample_file, "PIECE", 700)
    assert [file.path.read_text() for file in export.export(run, "csv", tmp_path / "pieces")] == whole


@pytest.mark.parametrize("kind", export.KINDS)
def test_a_cell_that_was_not_measured_gives_a_file_that_holds_no_sample(cell, tmp_path, kind):
    """Not a traceback, and not a silent omission; a header where the format has one."""
    for name in ("samples.parquet", "summary.json"):
        (cell.path / "cells" / "mvc-u1-r1" / name).unlink()
    file = next(export.export(run_view.Run(cell), kind, tmp_path / "x"))
    assert file.samples == 0
    assert file.path.read_text().strip()


@pytest.mark.parametrize("kind", export.KINDS)
def test_lost_samples_are_an_error_after_the_other_cells_are_exported(cell, typed, tmp_path, kind):
    """No empty file passes for a measurement, and nothing else is lost."""
    (cell.path / "cells" / "mvc-u1-r1" / "samples.parquet").unlink()
    ended = typed("export", cell.name, "--format", kind, "--data", str(tmp_path))
    assert ended.returncode == 2
    assert "The samples of mvc-u1-r1 are missing" in ended.stderr
    assert {path.name.partition("-r1")[0] for path in (cell.path / "export").iterdir()} == {"mvc-u4000"}


@pytest.mark.parametrize("taken", ["mvc-u4000-r1.hgrm", "mvc-u1-r1-with-failures.hgrm"])
def test_files_that_may_be_of_another_run_are_not_overwritten(cell, typed, tmp_path, taken):
    """Nothing is written beside them either; a run's own folder is written anew each time."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / taken).write_text("of another run")
    words = ("export", cell.name, "--format", "hdr", "--data", str(tmp_path))
    ended = typed(*words, "-o", str(tmp_path / "out"))
    assert ended.returncode == 2
    assert f"{taken} exists, and may be of another run." in " ".join(ended.stderr.split())
    assert [path.read_text() for path in (tmp_path / "out").iterdir()] == ["of another run"]
    assert [typed(*words).returncode for _ in range(2)] == [0, 0]


def test_an_unknown_format_names_the_known_ones(run, tmp_path):
    """And writes nothing."""
    with pytest.raises(LabError, match="no format 'xml'") as error:
        list(export.export(run, "xml", tmp_path / "x"))
    assert "jtl, csv, hdr" in error.value.next_step
    assert not (tmp_path / "x").exists()


def test_the_command_line_names_what_it_wrote(cell, typed, tmp_path):
    """One line a file, with its count: one a cell, and one of all requests where some failed."""
    ended = typed("export", cell.name, "--format", "hdr", "--data", str(tmp_path), "-o", str(tmp_path / "out"))
    assert ended.returncode == 0
    assert len(ended.stdout.strip().splitlines()) == 3
    assert "mvc-u4000-r1.hgrm: 3,990 samples" in ended.stdout


@pytest.fixture
def overload(tmp_path):
    """A run in an open loop whose users were too few."""
    return overloaded(tmp_path)


def test_jtl_of_an_open_loop_counts_from_the_plan_and_keeps_the_service_time(overload, tmp_path):
    """JMeter's percentiles of elapsed are those of the lab's table; what the service took is in Latency."""
    file = next(export.export(run_view.Run(overload), "jtl", tmp_path / "x"))
    rows, samples = pd.read_csv(file.path), overload.cells()[0].measured()
    assert rows["Latency"].unique().tolist() == [1000 * SERVICE_S]
    assert rows["elapsed"].tolist() == [10 * number + 1000 * SERVICE_S for number in range(REQUESTS)]
    assert (rows["timeStamp"] - rows["timeStamp"][0]).tolist() == (samples["planned_us"] // 1000).tolist()
    assert rows["elapsed"].quantile(0.5, "lower") == pytest.approx(1000 * run_view.Run(overload).cells[0]["p50_s"])


def test_hdr_of_an_open_loop_counts_from_the_plan(overload, tmp_path):
    """Its largest value is what the last request waited for a user, and took."""
    file = next(export.export(run_view.Run(overload), "hdr", tmp_path / "x"))
    longest_us = 1e6 * run_view.Run(overload).cells[0]["max_s"]
    assert percentiles_of(file.path.read_text())[-1][0] == pytest.approx(longest_us, rel=HDR_PRECISION)


@pytest.mark.parametrize(
    "said",
    [
        "For an open loop, latencies in jtl and hdr count from the planned send",
        "Times are in ms in jtl, and in µs in csv and hdr",
    ],
)
def test_the_help_says_from_when_and_in_which_unit_times_count(typed, said):
    """Whoever exports learns what the columns mean."""
    assert said in " ".join(typed("export", "--help").stdout.split())


def test_an_export_that_fails_leaves_the_file_of_an_earlier_one(cell, monkeypatch):
    """However much it had written by then, as where the disk is full."""
    (first, *_) = export.export(run_view.Run(cell), "csv", cell.path / "export")
    whole, write = first.path.read_bytes(), pd.DataFrame.to_csv

    def fails_after_the_head(frame, file, **how):
        write(frame, file, **how)
        if len(frame):
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", fails_after_the_head)
    with pytest.raises(OSError, match="No space left"):
        list(export.export(run_view.Run(cell), "csv", cell.path / "export"))
    assert first.path.read_bytes() == whole
    assert not [path for path in first.path.parent.iterdir() if path.suffix == ".new"]
