"""Runs on disk: what was written is read, what is damaged is named, and nothing is half there."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pandas as pd
import psutil
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from orphans import orphaned

from lab.analysis.evidence import Evidence
from lab.errors import LabError
from lab.formulas.stats import Summary
from lab.reporting.run_rows import LATER, OF_PROGRAMS, PARTS
from lab.runtimes import process_id, temporary
from lab.spec import sample
from lab.spec.own_load import Locustfile
from lab.storage import file_types, json_file, run_folder, sample_file
from lab.storage.run_folder import RunFolder


def batch(rows: int, warm_up: int = 0) -> pa.RecordBatch:
    """So many samples, as a worker sends them."""
    records = np.zeros(rows, dtype=sample.RECORD)
    records["user"] = np.arange(rows)
    return sample.to_batch(records.tobytes(), [("GET", "/delay")], 0, warm_up)


def stream(path, sizes) -> list[int]:
    """Write a stream of batches, and return where in the file each one ends."""
    ends = []
    with path.open("wb") as file:
        writer = pa.ipc.new_stream(file, sample.SCHEMA)
        for size in sizes:
            writer.write_batch(batch(size))
            file.flush()
            ends.append(file.tell())
        writer.close()
    return ends


@pytest.fixture
def run(plan, tmp_path) -> RunFolder:
    """A run that was created, and nothing more."""
    return RunFolder.create(plan, ["lab", "run"], {"host": "here"}, tmp_path / "runs")


def test_a_run_is_read_as_it_was_written(run, plan):
    """Plan, command and environment are what was given."""
    again = run_folder.find_run(run.name, run.path.parent)
    assert again.plan() == plan
    assert again.read()["command"] == ["lab", "run"]
    assert again.environment() == {"host": "here"}
    assert [folder.cell for folder in again.cells()] == list(plan.cells)


def test_a_plan_is_read_anew_when_its_file_has_changed(run, plan):
    """And not for every table: reading it takes as long as it is large."""
    assert run.plan() is run.plan()
    written = json.loads((run.path / "run.json").read_text())
    written["plan"]["seed"] = plan.seed + 1
    json_file.write_json(run.path / "run.json", written)
    assert run.plan().seed == plan.seed + 1
    (run.path / "run.json").write_text("{")
    with pytest.raises(LabError, match="is damaged"):
        run.plan()


def test_a_cell_is_read_as_it_was_written(run, plan):
    """Samples, metrics and summary are what was given; warm-up rounds are kept, but not measured."""
    cell = run.begin(plan.cells[0])
    with cell.stream.open("wb") as file:
        writer = pa.ipc.new_stream(file, sample.SCHEMA)
        writer.write_batch(batch(4, warm_up=1))
        writer.write_batch(batch(6))
        writer.close()
    cell.keep_samples()
    cell.keep_metrics([(0.5, "service", "cpu_s", 1.25), (1, "service", "threads", 7)])
    cell.keep("summary", {"requests": 6})
    assert (len(cell.samples()), len(cell.measured())) == (10, 6)
    assert list(cell.samples().columns) == sample.SCHEMA.names
    assert cell.metrics().to_numpy().tolist() == [[0.5, "service", "cpu_s", 1.25], [1.0, "service", "threads", 7.0]]
    assert cell.read("summary") == {"requests": 6}
    assert not cell.stream.exists()


@pytest.mark.parametrize("cut", [-1, 0, 1, 100])
def test_a_stream_that_was_cut_off_keeps_its_whole_batches(run, plan, cut):
    """Wherever a killed master stopped writing, the batches before that point are kept."""
    cell = run.begin(plan.cells[0])
    ends = stream(cell.stream, [5, 7, 9])
    data = cell.stream.read_bytes()[: ends[1] + cut]
    cell.stream.write_bytes(data)
    cell.keep_samples()
    assert len(cell.samples()) == (5 if cut < 0 else 12)


def test_samples_that_nobody_kept_are_read_from_the_stream(run, plan):
    """Where the lab was killed before samples.parquet was made, what is whole in the stream is there to be read."""
    cell = run.begin(plan.cells[0])
    with cell.stream.open("wb") as file:
        writer = pa.ipc.new_stream(file, sample.SCHEMA)
        writer.write_batch(batch(4, warm_up=1))
        writer.write_batch(batch(6))
    cell.stream.write_bytes(cell.stream.read_bytes() + b"half a batch")
    before = cell.measured()
    pieces = pd.concat(cell.measured_pieces(["user", "error"]))
    assert len(before) == len(pieces) == 6
    cell.keep_samples()
    pd.testing.assert_frame_equal(cell.measured(), before)
    kept = pd.concat(cell.measured_pieces(["user", "error"]))
    assert kept.astype(str).to_numpy().tolist() == pieces.astype(str).to_numpy().tolist()


def test_a_half_written_file_of_samples_does_not_hide_the_stream(run, plan):
    """The file is written under another name, so whatever cuts the writing off costs no sample."""
    cell = run.begin(plan.cells[0])
    stream(cell.stream, [5])
    (cell.path / ".samples.parquet.new").write_bytes(b"PAR1 and no more")
    assert len(cell.measured()) == 5
    cell.keep_samples()
    assert len(cell.measured()) == 5
    assert [path.name for path in cell.path.glob("samples*")] == ["samples.parquet"]


def test_samples_of_any_number_are_kept_in_groups_of_a_million(run, plan, monkeypatch):
    """Small batches become few groups of rows; read in pieces, they are all there, the warm-up left out."""
    monkeypatch.setattr(sample_file, "ROW_GROUP", 100)
    monkeypatch.setattr(sample_file, "PIECE", 30)
    cell = run.begin(plan.cells[0])
    with cell.stream.open("wb") as file, pa.ipc.new_stream(file, sample.SCHEMA) as writer:
        for number in range(40):
            writer.write_batch(batch(7, warm_up=number % 2))
    cell.keep_samples()
    metadata = pq.ParquetFile(cell.path / "samples.parquet").metadata
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    assert sum(sizes) == 280
    assert all(100 <= size < 107 for size in sizes[:-1])
    pieces = list(cell.measured_pieces(["user", "error"]))
    assert max(map(len, pieces)) <= 30
    assert sum(map(len, pieces)) == len(cell.measured()) == 140
    assert {tuple(piece.columns) for piece in pieces} == {("user", "error")}


def test_a_disk_that_takes_nothing_does_not_cost_the_stream(run, plan):
    """Where samples.parquet cannot be written, the error is raised and the stream stays where it is."""
    cell = run.begin(plan.cells[0])
    stream(cell.stream, [5])
    (cell.path / "samples.parquet").mkdir()
    with pytest.raises(OSError, match=r"samples\.parquet"):
        cell.keep_samples()
    assert cell.stream.exists()


def test_wherever_a_stream_was_cut_off_what_is_whole_before_that_is_read(tmp_path):
    """Byte by byte: no error that half a message causes is taken for one of the disk."""
    path = tmp_path / "samples.arrows"
    sizes = [2, 3]
    ends = stream(path, sizes)
    content = path.read_bytes()
    for length in range(len(content) + 1):
        path.write_bytes(content[:length])
        expected = sum(size for size, end in zip(sizes, ends, strict=True) if end <= length)
        assert len(sample_file.whole(tmp_path / "none", path)) == expected, f"{length} of {len(content)} bytes"


@pytest.mark.skipif(
    not Path("/proc/self/mem").exists(), reason="only Linux has a file that is there and cannot be read"
)
def test_a_stream_that_cannot_be_read_stays_and_is_named(run, plan):
    """A disk that fails is no end of the samples: they may be read later."""
    cell = run.begin(plan.cells[0])
    cell.stream.symlink_to("/proc/self/mem")  # of which nothing is at its first byte
    with pytest.raises(OSError, match=r"Input/output error: .*samples\.arrows"):
        cell.keep_samples()
    assert [path.name for path in cell.path.glob("*samples*")] == ["samples.arrows"]
    with pytest.raises(LabError, match=r"damaged: samples\.arrows: .*Input/output error"):
        cell.samples()


@pytest.mark.parametrize("content", [None, b"", b"\x00\x01nonsense" * 50, b"ARROW1"])
def test_a_stream_without_a_whole_batch_gives_no_samples(run, plan, content):
    """A stream that is missing, empty or no stream at all gives an empty table, not an error."""
    cell = run.begin(plan.cells[0])
    if content is not None:
        cell.stream.write_bytes(content)
    cell.keep_samples()
    assert len(cell.samples()) == 0
    assert list(cell.samples().columns) == sample.SCHEMA.names


def test_a_cell_that_never_ran_reads_as_empty(run, plan):
    """Before anything was measured there are no samples, no metrics and no summary."""
    cell = run.cell(plan.cells[1])
    assert (len(cell.samples()), len(cell.measured()), len(cell.metrics())) == (0, 0, 0)
    assert cell.read("summary") == {}
    assert not cell.complete


@pytest.mark.parametrize("content", ["", "{", "[]", '"text"', "{}", '{"format": 1}', "\x00\x00", '{"format": "3"}'])
def test_a_damaged_run_is_named(run, content):
    """Whatever run.json holds, reading it gives a sentence that names the run."""
    (run.path / "run.json").write_text(content)
    with pytest.raises(LabError) as caught:
        run.plan()
    assert run.name in caught.value.problem
    assert caught.value.next_step
    assert run.state() == "damaged"


@pytest.mark.parametrize(
    "damage",
    [
        lambda plan: plan.pop("cells"),
        lambda plan: plan.update(cells=3),
        lambda plan: plan.update(cells=["text"]),
        lambda plan: plan["cells"][0].pop("load"),
        lambda plan: plan["cells"][0]["load"].update(colour="red"),
        lambda plan: plan.update(limits=None),
        lambda plan: plan.update(parameters=3),
        lambda plan: plan.update(parameters=["ab", "c"]),
    ],
)
def test_a_damaged_plan_is_named(run, damage):
    """A run.json that is good JSON but no plan is refused as damaged."""
    value = json.loads((run.path / "run.json").read_text())
    damage(value["plan"])
    (run.path / "run.json").write_text(json.dumps(value))
    with pytest.raises(LabError) as caught:
        run.plan()
    assert run.name in caught.value.problem


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "..", "a/b", ".hidden", "a\nb", ""])
@pytest.mark.parametrize(
    "where", ["variant", "scenario", "locustfile", "module", "varied", "database", "files", "ending"]
)
def test_a_received_run_whose_names_lead_elsewhere_is_damaged(run, name, where):
    """Folders and files are named after them, so they are checked again when a run is read."""
    value = run.read()
    scenario, cells = value["plan"]["scenario"], value["plan"]["cells"]
    if where == "varied":
        cells[0]["varied"] = f"/{name}"
    elif where == "scenario":
        scenario["name"] = name
    elif where == "locustfile":
        scenario["locustfile"] = name or "../x"
    elif where == "module":
        scenario["variants"][0]["module"] = name or "../x"
    elif where == "database":
        scenario["components"] = [{"name": "x", "database": name or "../x"}]
    elif where in ("files", "ending"):
        files, ending = ({name: 1}, {}) if where == "files" else ({}, {"x": {"text": {f".{name}": 1.0}}})
        read = {"shape": "a", "content": "b", "megabytes": "c", "cache": "", "word": "w"}
        scenario["corpus"] = {**read, "file_bytes": files, "contents": ending}
    else:
        scenario["variants"][0]["name"] = name
        for cell in cells:
            cell["variant"] = name if cell["variant"] == "mvc" else cell["variant"]
    (run.path / "run.json").write_text(json.dumps(value))
    assert run.state() == "damaged"
    with pytest.raises(LabError, match="damaged"):
        run.cells()


@pytest.mark.parametrize("name", ["a`; drop table b; --", "a b", "", "a)"])
@pytest.mark.parametrize("where", ["table", "column", "index"])
def test_a_received_run_whose_tables_would_be_statements_is_damaged(run, name, where):
    """The server may be one of the reader's own."""
    value = run.read()
    columns = {name if where == "column" else "key": "text"}
    table = {"name": name if where == "table" else "a", "columns": columns, "rows": []}
    table["index"] = [name] if where == "index" else []
    value["plan"]["scenario"]["components"] = [{"name": "mysql", "database": "mysql", "tables": [table]}]
    (run.path / "run.json").write_text(json.dumps(value))
    assert run.state() == "damaged"


@pytest.mark.parametrize("version", [0, 99])
def test_a_run_of_another_version_of_the_lab_is_not_damaged(run, version):
    """It may be whole, so it is nothing to be thrown away; who owns it and whether it goes on is known all the same."""
    value = run.read()
    json_file.write_json(run.path / "run.json", {**value, "format": version})
    assert run.is_of_another_format
    assert run.state() == "of another format"
    assert run.goes_on
    assert not run.is_of_another_checkout
    owner = {**value["owner"], "checkout": "another", "machine": "another"}
    json_file.write_json(run.path / "run.json", {**value, "format": version, "owner": owner})
    assert run.is_of_another_checkout
    assert run.is_of_another_machine
    with pytest.raises(LabError, match=f"has format {version}, this lab reads"):
        run.read()


def test_a_run_that_is_not_text_is_named(run):
    """A run.json of arbitrary bytes is damaged, too."""
    (run.path / "run.json").write_bytes(b"\xff\xfe\x80abc")
    with pytest.raises(LabError):
        run.plan()


def test_a_missing_run_json_is_named(run):
    """A folder that looks like a run, but says nothing, is damaged."""
    (run.path / "run.json").unlink()
    assert run.state() == "damaged"
    with pytest.raises(LabError, match="missing"):
        run_folder.find_run(run.name, run.path.parent).plan()


def test_a_damaged_summary_is_named(run, plan):
    """A summary that is no JSON names the run and the file."""
    cell = run.begin(plan.cells[0])
    (cell.path / "summary.json").write_text("{")
    with pytest.raises(LabError) as caught:
        cell.read("summary")
    assert run.name in caught.value.problem
    assert "summary.json" in caught.value.problem


def test_damaged_samples_are_named(run, plan):
    """A samples.parquet that is none gives a sentence, not a traceback."""
    cell = run.begin(plan.cells[0])
    (cell.path / "samples.parquet").write_bytes(b"PAR1 or not")
    with pytest.raises(LabError):
        cell.samples()


def test_a_run_is_found_by_name_by_path_or_as_the_newest(plan, tmp_path):
    """The newest is the last one that was created, also within one second."""
    folders = [RunFolder.create(plan, [], {}, tmp_path) for _ in range(3)]
    assert run_folder.find_run(None, tmp_path) == folders[-1]
    assert run_folder.find_run(folders[0].name, tmp_path) == folders[0]
    assert run_folder.find_run(str(folders[1].path), tmp_path / "elsewhere") == folders[1]
    assert run_folder.all_runs(tmp_path) == folders


@pytest.mark.parametrize(("command", "environment"), [([object()], {}), ([], {"host": object()})])
def test_a_run_whose_first_files_cannot_be_written_leaves_no_folder(plan, tmp_path, command, environment):
    """Whatever the reason: an empty folder would be the newest run, and damaged."""
    with pytest.raises(TypeError, match="not JSON serializable"):
        RunFolder.create(plan, command, environment, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_in_which_nothing_was_written_is_not_the_newest_run(plan, tmp_path):
    """It is left by a kill at the very beginning; a run that has lost its plan is the newest, and is named."""
    (tmp_path / "29991231T235959Z-delay").mkdir()
    with pytest.raises(LabError, match="There is no run"):
        run_folder.find_run(None, tmp_path)
    older, newer = (RunFolder.create(plan, [], {}, tmp_path) for _ in range(2))
    assert run_folder.find_run(None, tmp_path) == newer
    (newer.path / "run.json").unlink()
    assert run_folder.find_run(None, tmp_path) == newer
    (newer.path / "environment.json").unlink()
    assert run_folder.find_run(None, tmp_path) == older
    assert [folder.state() for folder in run_folder.all_runs(tmp_path)] == ["running", "damaged", "damaged"]


def test_the_copy_of_a_locustfile_is_written_aside_first(run, tmp_path):
    """A kill in the middle of it leaves no half of a file that looks like what was played."""
    content, written = b"from lab.generator.locust import LabUser\n", []
    mine = tmp_path / "mine.py"
    mine.write_bytes(content)
    with temporary.told_of_unfinished(written.append):
        run.keep_locustfile(Locustfile(str(mine), hashlib.sha256(content).hexdigest()))
    assert [path.parent for path in written] == [run.path]
    assert written[0] != run.locustfile
    assert run.locustfile.read_bytes() == content


def test_twelve_runs_in_a_second_keep_their_order(tmp_path):
    """The tenth comes after the ninth, and not after the first."""
    names = ["20261121T101500Z-delay", *(f"20261121T101500Z-delay-{n}" for n in range(2, 13)), "20261121T101501Z-delay"]
    for name in reversed(names):
        (tmp_path / name).mkdir()
    assert [folder.name for folder in run_folder.all_runs(tmp_path)] == names


@pytest.mark.parametrize("name", [None, "20261121T101500Z-delay", "..", "", "/", "no\x00name"])
def test_a_run_that_does_not_exist_is_said_so(tmp_path, name):
    """No run of that name, or none at all: a sentence and the next step."""
    with pytest.raises(LabError) as caught:
        run_folder.find_run(name, tmp_path / "runs")
    assert caught.value.next_step


def test_other_files_are_not_runs(plan, tmp_path):
    """Whatever else lies in the folder is left out."""
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "old").mkdir()
    folder = RunFolder.create(plan, [], {}, tmp_path)
    assert run_folder.all_runs(tmp_path) == [folder]
    assert run_folder.all_runs(tmp_path / "none") == []


def test_runs_of_one_second_get_folders_of_their_own(plan, tmp_path):
    """Many created at once never share a folder."""
    with ThreadPoolExecutor(8) as pool:
        folders = list(pool.map(lambda _: RunFolder.create(plan, [], {}, tmp_path), range(40)))
    assert len({folder.path for folder in folders}) == 40
    assert all(folder.plan() == plan for folder in folders)


def test_the_state_tells_running_incomplete_and_complete(run, plan):
    """Running while its process lives, incomplete after that, complete once every cell has a summary."""
    assert run.state() == "running"
    assert orphaned(run).state() == "incomplete"
    for cell in plan.cells:
        run.begin(cell).keep("summary", {})
    assert run.state() == "complete"


def test_a_complete_run_goes_on_with_its_process(run, plan):
    """Until that has ended, or nobody can read which one it is."""
    for cell in plan.cells:
        run.begin(cell).keep("summary", {})
    assert run.goes_on
    assert not orphaned(run).goes_on
    (run.path / "run.json").write_text("{")
    assert not run.goes_on


def test_others_running_are_the_others(run, plan):
    """A run sees those that go on in other processes; neither itself nor those that this process measures with it."""
    other, together = (RunFolder.create(plan, [], {}, run.path.parent) for _ in range(2))
    somebody = psutil.Process(os.getppid())
    written = {**other.read(), "owner": {"pid": somebody.pid, "born": process_id.birth(somebody.pid)}}
    json_file.write_json(other.path / "run.json", written)
    assert together.state() == "running"  # in this process, with which it takes turns
    assert run_folder.others_running(run) == [other.name]
    for _ in range(25):  # newer ones, all over: a resumed run is older than what was made meanwhile
        orphaned(RunFolder.create(plan, [], {}, run.path.parent))
    assert run_folder.others_running(run) == [other.name]
    orphaned(other)
    assert run_folder.others_running(run) == []


def test_others_that_began_meanwhile_are_named_though_they_are_over(run, plan):
    """Those that were resumed too; neither those of this process, nor what was renamed, or comes from elsewhere."""

    def of(pid: int, folder: RunFolder, **changed) -> RunFolder:
        owner = {**folder.read()["owner"], "pid": pid, **changed}
        json_file.write_json(folder.path / "run.json", {**folder.read(), "owner": owner})
        return folder

    runs = run.path.parent
    resumed, renamed = (of(pid, RunFolder.create(plan, [], {}, runs)) for pid in (11, 12))
    known, since = run_folder.owners_beside(run), datetime.now(UTC)
    assert len(known) == 2
    assert run_folder.others_begun(run, known, since + timedelta(seconds=1)) == []
    RunFolder.create(plan, [], {}, runs)
    short = of(13, RunFolder.create(plan, [], {}, runs))
    of(14, RunFolder.create(plan, [], {}, runs), machine="another")
    of(15, resumed)
    renamed.path.rename(runs / "mine")
    begun = run_folder.others_begun(run, known, since + timedelta(seconds=1))
    assert sorted(begun) == sorted([resumed.name, short.name])
    # A process that measures one run after the other, as a notebook does, is known by the name of the next one.
    by_name = run_folder.others_begun(run, run_folder.owners_beside(run), since)
    assert short.name in by_name
    assert "mine" not in by_name


def test_a_run_that_cannot_be_read_stops_no_other(run, plan, monkeypatch):
    """Such as another user's: it counts as damaged, and nobody waits for it."""
    other = RunFolder.create(plan, [], {}, run.path.parent)
    stat = Path.stat

    def refused(path, **how):
        if other.path in path.parents:
            raise PermissionError(13, "Permission denied", str(path))
        return stat(path, **how)

    monkeypatch.setattr(Path, "stat", refused)
    assert other.state() == "damaged"
    with pytest.raises(LabError, match=f"Run {other.name} is damaged"):
        other.plan()
    assert run_folder.others_running(run) == []


def test_a_file_is_never_seen_half_written(tmp_path):
    """Whoever reads while it is replaced sees the old one or the new one."""
    path, stop, torn = tmp_path / "value.json", threading.Event(), []
    json_file.write_json(path, {"n": 0, "filler": ["x" * 50] * 2000})

    def read():
        while not stop.is_set():
            value = json_file.read_json(path)
            if len(value["filler"]) != 2000:
                torn.append(value["n"])

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for n in range(1, 60):
            json_file.write_json(path, {"n": n, "filler": ["x" * 50] * 2000})
    finally:
        stop.set()
        reader.join()
    assert not torn
    assert json_file.read_json(path)["n"] == 59


def test_a_write_that_fails_leaves_the_old_file(tmp_path):
    """A value that cannot be written does not harm what was there."""
    path = tmp_path / "value.json"
    json_file.write_json(path, {"n": 1})
    with pytest.raises(TypeError):
        json_file.write_json(path, {"n": object()})
    assert json_file.read_json(path) == {"n": 1}


def test_a_fact_that_is_known_later_joins_the_environment(plan, tmp_path):
    """It is recorded once: a run that is resumed keeps what its first cells were measured with."""
    run = RunFolder.create(plan, [], {"host": "here"}, tmp_path)
    run.add_to_environment("jars", {"mvc": "first"})
    run.add_to_environment("jars", {"mvc": "second"})
    assert run.environment() == {"host": "here", "jars": {"mvc": "first"}}


@pytest.mark.parametrize("pid", [-5, 10**30, "text", None])
def test_an_owner_that_is_no_process_does_not_stop_other_runs(run, plan, pid):
    """A run.json with such a process id is damaged; whoever looks for runs beside it goes on."""
    other = RunFolder.create(plan, [], {}, run.path.parent)
    value = other.read()
    value["owner"]["pid"] = pid
    json_file.write_json(other.path / "run.json", value)
    assert run_folder.others_running(run) == []
    assert other.state() in ("damaged", "incomplete")


class _At(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz=None):
        """A quarter past ten."""
        return cls(2026, 11, 21, 10, 15, tzinfo=tz)


def test_a_folder_is_never_taken_from_another_run(plan, tmp_path, monkeypatch):
    """Where no name is free, a sentence says so, and nothing is written."""
    monkeypatch.setattr(run_folder, "datetime", _At)
    for number in range(1, 1000):
        (tmp_path / f"20261121T101500Z-delay{f'-{number}' * (number > 1)}").mkdir()
    with pytest.raises(LabError, match="runs of this second"):
        RunFolder.create(plan, [], {}, tmp_path)
    assert not list(tmp_path.glob("*/*"))


def test_a_renamed_run_is_listed_where_it_was_and_found(plan, tmp_path, typed):
    """By the name of its folder, as it is shown; a folder without a run is none."""
    first, second, third = (RunFolder.create(plan, [], {}, tmp_path) for _ in range(3))
    second = RunFolder(second.path.rename(tmp_path / "baseline"))
    (tmp_path / "notes").mkdir()
    assert run_folder.all_runs(tmp_path) == [first, second, third]
    assert run_folder.find_run("baseline", tmp_path) == second
    listed = typed("list", "--data", str(tmp_path)).stdout.splitlines()[1:]
    assert [line.split()[0] for line in listed] == [first.name, "baseline", third.name]


def test_a_renamed_run_is_the_newest_if_it_was(plan, tmp_path):
    """What is read without a name is the last one of the list."""
    older, newer = (RunFolder.create(plan, [], {}, tmp_path) for _ in range(2))
    newer = RunFolder(newer.path.rename(tmp_path / "baseline"))
    assert run_folder.find_run(None, tmp_path) == newer
    assert run_folder.all_runs(tmp_path) == [older, newer]


def test_a_mistyped_name_gets_the_most_similar_one(plan, tmp_path):
    """Of the runs in the folder, and of the examples, which are found by name too."""
    run = RunFolder.create(plan, [], {}, tmp_path)
    for name, meant in ((f"{run.name}x", run.name), ("delay-swep", "delay-sweep")):
        with pytest.raises(LabError, match=rf"did you mean {meant}\?"):
            run_folder.find_run(name, tmp_path)


def test_a_name_longer_than_a_file_may_have_is_no_run(tmp_path):
    """It is answered as any other name that is not known."""
    with pytest.raises(LabError, match="There is no run"):
        run_folder.find_run("x" * 300, tmp_path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("samples.parquet", "PAR1 cut off"),
        ("metrics.parquet", "PAR1 cut off"),
        ("limits.json", '{"gc": '),
        ("limits.json", '{"gc": {}}'),
        ("summary.json", '{"mean_s": "fast"}'),
        ("summary.json", '{"p50_s": {}}'),
        ("summary.json", '{"reasons": [-1]}'),
        ("summary.json", '{"errors": {"timeout": "many"}}'),
        ("summary.json", '{"a": ' * 3000),
    ],
)
@pytest.mark.parametrize("command", ["show", "compare"])
def test_a_damaged_file_is_named_before_anything_is_shown(run, plan, typed, name, content, command):
    """In one sentence, and no table is printed."""
    cell = run.begin(plan.cells[0])
    (cell.path / name).write_text(content)
    shown = typed(command, run.name, "--data", str(run.path.parent))
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "is damaged" in shown.stderr
    assert name in shown.stderr
    assert typed("list", "--data", str(run.path.parent)).returncode == 0


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A copy of each of some example runs, by its name: in windows, of sessions, of nodes, and a ramp."""
    copies = tmp_path_factory.mktemp("examples")
    for name in ("jwt-windows", "operations", "migration", "chain-ramp"):
        wanted = shutil.ignore_patterns("*.parquet")  # a check of what JSON files hold needs no sample
        shutil.copytree(run_folder.EXAMPLES / name, copies / name, ignore=wanted)
    return lambda name: RunFolder(copies / name)


@pytest.mark.parametrize(
    ("name", "file", "where", "value"),
    [
        ("jwt-windows", "windows", "windows", 3),
        ("jwt-windows", "windows", "windows.0.mean_s", "x"),
        ("jwt-windows", "windows", "windows.0.elapsed_s", None),
        ("jwt-windows", "timing", "elapsed_s", "x"),
        ("operations", "summary", "sessions.failed", "x"),
        ("operations", "summary", "by_name.0.p99_s", [3]),
        ("operations", "evidence", "calls", None),
        ("migration", "evidence", "not_judged", [3]),
        ("migration", "evidence", "scrapes.balancer.missed", None),
        ("migration", "limits", "cpus", "x"),
        ("migration", "summary", "verdict", "good"),
        ("chain-ramp", "summary", "elapsed_s", 1e300),
        ("chain-ramp", "summary", "began_s", None),
        ("chain-ramp", "summary", "ramp.knee.at_s", "x"),
        ("chain-ramp", "summary", "ramp.windows.0.offered", 10**30),
        ("chain-ramp", "summary", "ramp.waiting", "x"),
        ("chain-ramp", "summary", "ramp.waiting.threads", float("nan")),
    ],
)
def test_a_value_of_another_type_is_named_with_its_place(example, name, file, where, value):
    """In one sentence, by whatever reads the file."""
    cells = example(name).cells()
    folder = next((each for each in cells if each.read("summary").get("ramp", {}).get("knee")), cells[0])
    path = folder.path / f"{file}.json"
    whole = path.read_text()
    *before, last = where.split(".")
    stored = inner = json.loads(whole)
    for key in before:
        inner = inner[int(key) if key.isdigit() else key]
    inner[last] = value
    path.write_text(json.dumps(stored))
    try:
        with pytest.raises(LabError, match="is damaged") as caught:
            folder.read(file)
        assert f"{file}.json: {where.partition('.')[0]}" in caught.value.problem
    finally:
        path.write_text(whole)


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        *((command, missing) for command in ("show", "compare", "export") for missing in ("requests", "verdict")),
        *(("show", missing) for missing in ("errors", "elapsed_s", "began_s", "p99_s")),
    ],
)
def test_a_summary_that_lacks_what_all_have_is_named(example, typed, tmp_path, command, missing):
    """Before anything is shown, by each command that reads runs; the list says that the run is damaged."""
    run = RunFolder(Path(shutil.copytree(example("jwt-windows").path, tmp_path / "20261121T101500Z-jwt")))
    path = run.cells()[0].path / "summary.json"
    path.write_text(json.dumps({key: value for key, value in json.loads(path.read_text()).items() if key != missing}))
    how = ("--format", "csv") if command == "export" else ()
    ended = typed(command, run.name, *how, "--data", str(tmp_path))
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"is damaged: summary.json: it has no {missing}" in " ".join(ended.stderr.split())
    assert "damaged" in typed("list", "--data", str(tmp_path)).stdout


@pytest.mark.parametrize(
    ("where", "value"),
    [
        ("axis", "x"),
        ("parameters.delay_ms", None),
        ("parameters.delay_ms", "x"),
        ("cells.0.load.duration_s", 1e300),
        ("cells.0.load.users", 10**30),
    ],
)
def test_a_plan_of_what_could_not_be_measured_is_damaged(example, tmp_path, where, value):
    """It is refused as it is read, and not in the middle of what is derived from it; None leaves a value out."""
    run = RunFolder(Path(shutil.copytree(example("chain-ramp").path, tmp_path / "20261121T101500Z-chain")))
    stored = run.read()
    inner, (*before, last) = stored["plan"], where.split(".")
    for key in before:
        inner = inner[int(key) if key.isdigit() else key]
    if value is None:
        del inner[last]
    else:
        inner[last] = value
    json_file.write_json(run.path / "run.json", stored)
    with pytest.raises(LabError, match=r"is damaged: run\.json"):
        run.plan()


@pytest.mark.parametrize("facts", [{"generator_cores": 3}, {"calibration": {"ceilings": [3]}}, {"together": None}])
def test_facts_of_the_machine_that_are_calculated_with_are_checked(run, facts):
    """Others are only shown, or compared, as they are."""
    json_file.write_json(run.path / "environment.json", {**facts, "host": 7})
    with pytest.raises(LabError, match=rf"is damaged: environment\.json: {next(iter(facts))}"):
        run.environment()


def test_the_types_of_files_know_each_field_that_is_stored():
    """A field that is added to what is stored must be added there too, or nobody checks it."""
    known = {name: get_type_hints(kind) for name, kind in file_types.TYPES.items() if name in ("summary", "evidence")}
    assert Evidence().as_json().keys() <= known["evidence"].keys()
    assert {field.name for field in dataclasses.fields(Summary)} <= known["summary"].keys()
    assert {*LATER, *PARTS, *OF_PROGRAMS} - {"calls"} <= known["summary"].keys()
