"""Measured in turns for real: windows of services that are all up, each with its own samples, counts and readings."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pandas as pd
import pytest
from any_server import serving
from made_runs import judge
from patience import assert_measured

import lab
from lab.analysis import window_ratios
from lab.analysis.checks import STOOD_STILL_SUSPECT_S
from lab.runtimes import host
from lab.spec import in_turns, memory
from lab.storage.cell_folder import CellFolder
from lab.telemetry.sampler import FIXED_WORK, PAUSED

USERS, WINDOWS = 4, 4
# Workers count every 50 ms: a stall is that much longer than it was, and more where one is late.
PAUSE_ERROR_S = 0.2


@pytest.fixture(scope="module")
def server():
    """A service that is there already."""
    with serving() as started:
        yield started


@pytest.fixture(scope="module")
def attached(server, tmp_path_factory):
    """Two paths of it, in four windows of a second each."""
    urls = {"old": f"{server.url}/ok", "new": f"{server.url}/ok?version=2"}
    options = {"users": USERS, "duration": WINDOWS, "ramp_up": 0, "seed": 1, "interleave": "windows"}
    return lab.load(urls, **options, data=tmp_path_factory.mktemp("runs"), quiet=True)


def windows_of(folder: CellFolder) -> pd.DataFrame:
    """The records of a cell's windows."""
    return pd.DataFrame(window_ratios.windows_of(folder))


def assert_windows_hold_their_own(folder: CellFolder, windows: int) -> None:
    """Samples, counts and times of each window are of this window, and go on where the one before it ended."""
    measured, records, evidence = folder.measured(), windows_of(folder), folder.read("evidence")
    assert list(records["number"]) == list(range(windows))
    counted = measured["window"].value_counts().reindex(range(windows), fill_value=0)
    assert counted.tolist() == records["requests"].tolist()
    assert (records["elapsed_s"] >= records["length_s"] - 0.001).all()
    assert records["requests"].sum() == evidence["begun"] == evidence["finished"] > 0
    assert not measured.duplicated(["user", "session", "step"]).any()
    for record in records.itertuples():
        mine = measured[measured["window"] == record.number]
        if mine.empty:  # its users begin none that is over already
            assert uncounted_s(folder) >= record.length_s
            continue
        begin_us, end_us = 1e6 * record.began_s, 1e6 * (record.began_s + record.elapsed_s)
        assert begin_us - 1 <= mine["sent_us"].min()
        assert (mine["sent_us"] + mine["latency_us"]).max() <= end_us + 1
        # By plan: what a machine that stands still holds up is sent later.
        assert mine["planned_us"].max() <= begin_us + 1e6 * record.length_s + 1
    assert (records["began_s"].diff()[1:] - records["elapsed_s"].to_numpy()[:-1]).abs().max() < 1e-6


def longest_pause_s(folder: CellFolder) -> float:
    """The longest time within the windows in which no request was sent: so long its worker may have stalled."""
    return float(folder.measured()["sent_us"].sort_values().diff().max()) / 1e6


def uncounted_s(folder: CellFolder) -> float:
    """The longest time within the windows without a count of its worker, which makes one every 50 ms: its stall."""
    return float(folder.metrics().query("name == 'under_way'")["t_s"].sort_values().diff().max())


def assert_read_in_own_turn(folder: CellFolder, folders: list[CellFolder]) -> None:
    """Nothing was read of a cell before the window of another that was before its first, or after its last."""
    own, metrics = windows_of(folder), folder.metrics()
    # The cores are watched all the time, whoever's turn it is.
    read_s = metrics.loc[~metrics["name"].isin((FIXED_WORK, PAUSED)), "t_s"]
    others = pd.concat([windows_of(other) for other in folders if other.path != folder.path])
    first, last = own.iloc[0], own.iloc[-1]
    before = others[others["unix_start"] < first["unix_start"]]
    ended = before["unix_start"] + before["elapsed_s"]
    after = others.loc[others["unix_start"] > last["unix_start"], "unix_start"]
    kept_at = (folder.path / "metrics.parquet").stat().st_mtime
    assert first["unix_start"] + read_s.min() >= max([0.0, *ended])
    assert last["unix_start"] + read_s.max() - last["began_s"] <= min([kept_at, *after])


def assert_in_turns(folders: list[CellFolder]) -> None:
    """One after the other, never two at a time, each of them in each place equally often."""
    each = pd.concat([windows_of(folder).assign(variant=folder.cell.variant) for folder in folders])
    ordered = each.sort_values("unix_start")
    spans = list(zip(ordered["unix_start"], ordered["unix_start"] + ordered["elapsed_s"], strict=True))
    assert all(ended <= begins for (_, ended), (begins, _) in pairwise(spans))
    assert ordered["number"].is_monotonic_increasing
    assert len(set(Counter(zip(each["variant"], each["place"], strict=True)).values())) == 1


def test_what_would_be_measured_in_turns_is_listed(typed):
    """A line for each start and load, with who is up; what cannot be in windows is refused with the reason."""
    words = ("--interleave", "windows", "--dry-run")
    listed = typed("run", "jwt", "--repeat", "2", "--variants", "mvc,webflux", *words)
    assert listed.returncode == 0
    starts = [line for line in listed.stdout.splitlines() if "in 20 windows of 1 s each" in line]
    assert len(starts) == 2
    assert all("mvc-u50-r" in line and "webflux-u50-r" in line for line in starts)
    refused = typed("run", "delay", *words)
    assert refused.returncode == 2
    assert "A burst cannot be measured in windows" in refused.stderr
    assert "--duration" in refused.stderr


def test_batches_are_listed_with_the_reason(typed):
    """Where memory does not hold all variants at once; else nothing is said of it."""
    shared_mb = memory.BESIDES_HEAP_MB + memory.DATABASE_MB["mysql"] + memory.OWN_MB // 2
    half_mb = host.memory_mb() // 2 - shared_mb
    for heap_mb, said in ((half_mb, 1), (256, 0)):
        listed = typed("run", "jwt", "--interleave", "windows", "--heap-mb", str(heap_mb), "--dry-run")
        assert listed.returncode == 0
        assert listed.stdout.count("take turns in batches: mvc, mvc-virtual; mvc, webflux.") == said


def test_attached_services_have_their_windows_in_turns(attached, server):
    """The service counted what the samples hold, and the one request that asked whether anybody is there."""
    folders = attached.folder.cells()
    assert_in_turns(folders)
    for folder, path in zip(folders, ("/ok", "/ok?version=2"), strict=True):
        assert_windows_hold_their_own(folder, WINDOWS)
        assert server.asked(path) == len(folder.samples()) + 1


def test_connections_stay_open_between_windows(attached):
    """Users connect for their first request alone, and are idle while another service has its turn."""
    for folder in attached.folder.cells():
        measured = folder.measured().sort_values(["user", "sent_us"])
        assert ((measured["connect_us"] > 0) == ~measured["user"].duplicated()).all()
        assert measured["user"].nunique() == USERS


def test_time_between_windows_is_in_no_figure(attached):
    """The load lasted for its windows, and nothing that stands in the table is stretched by the others'."""
    for folder in attached.folder.cells():
        summary, evidence, records = folder.read("summary"), folder.read("evidence"), windows_of(folder)
        # A stall at the beginning delays the first send; one at the end comes after the last answer.
        missing_s = max(0.5, 2 * uncounted_s(folder))
        assert records["elapsed_s"].sum() - missing_s < summary["elapsed_s"] < records["elapsed_s"].sum() + 0.05
        assert evidence["stood_still_s"] < longest_pause_s(folder) + PAUSE_ERROR_S
        in_system = summary["in_system"] + evidence["awaiting_dispatch"]
        assert evidence["counted_in_system"] == pytest.approx(in_system, abs=1.0)
        assert_read_in_own_turn(folder, attached.folder.cells())


def test_the_windows_are_shown_and_compared(attached, typed):
    """Under the table, in the comparison, and as a figure."""
    data = str(attached.path.parent)
    for folder in attached.folder.cells():
        assert_measured(summary := folder.read("summary"))
        if summary["verdict"] == "invalid":  # as the generator had too little of a core
            judge(folder, "suspect", "The generator was late.")
    suspect = any(folder.read("summary")["verdict"] == "suspect" for folder in attached.folder.cells())
    # One in which a service was asked nothing, as its worker stalled, has no ratio.
    each = pd.concat([windows_of(folder) for folder in attached.folder.cells()])
    compared = (each["requests"] > 0).groupby(each["number"]).all().sum()
    expected = f"in 1 start{' (1 suspect)' * suspect} of {compared} windows."
    assert expected in typed("show", attached.name, "--data", data).stdout
    said = typed("compare", attached.name, "--allow-suspect", "--data", data).stdout
    assert "new against old at 4 users: throughput ×" in said
    assert (attached.path / "windows.png").stat().st_size > 10_000


@pytest.mark.java
@pytest.mark.thorough
@pytest.mark.usefixtures("brief")
class TestStarted:
    """Services that the lab starts: both are up while one is loaded."""

    @pytest.fixture(scope="class")
    @staticmethod
    def run(tmp_path_factory, brief):
        """Two kinds of thread, in four windows of a second."""
        options = {"users": [10, 20], "delay_ms": 50, "duration": 4, "heap_mb": 256, "variants": ["mvc", "mvc-virtual"]}
        return lab.run("delay", **options, interleave="windows", seed=1, data=tmp_path_factory.mktemp("r"), quiet=True)

    def test_each_service_counted_the_requests_of_its_windows(self, run):
        """In each of them."""
        for users in (10, 20):
            folders = [folder for folder in run.folder.cells() if folder.cell.load.users == users]
            assert_in_turns(folders)
            for folder in folders:
                assert_windows_hold_their_own(folder, 4)
                records = windows_of(folder)
                assert records["served"].tolist() == records["requests"].tolist()
                assert folder.read("evidence")["served"] == records["requests"].sum()

    def test_both_loads_are_served_by_the_same_start(self, run):
        """One log, one warm-up, and the limits, answers and verdict of each cell with it."""
        for variant in ("mvc", "mvc-virtual"):
            first, second = sorted(
                (folder for folder in run.folder.cells() if folder.cell.variant == variant),
                key=lambda folder: windows_of(folder)["unix_start"].min(),
            )
            assert [(each.logs / "service.log").exists() for each in (first, second)] == [True, False]
            for name in ("limits", "contract"):
                assert first.read(name) == second.read(name) != {}
            one, other = (folder.read("evidence") for folder in (first, second))
            assert other["warm_up_before"] == one["warm_up"][:-1]
            assert (one["warm_up_before"], len(other["warm_up"])) == ([], 1)  # in turns, right before its windows
            for folder in (first, second):
                assert_measured(folder.read("summary"))
            assert not list(first.logs.glob("application*.port"))

    def test_readings_are_of_the_windows_alone(self, run):
        """The service's CPU time is what it used in them; the other's is what it used meanwhile, and little."""
        for folder in run.folder.cells():
            metrics, summary = folder.metrics(), folder.read("summary")
            assert_read_in_own_turn(folder, run.folder.cells())
            for target in ("service", "neighbours", "worker 1"):
                rows = metrics[(metrics["target"] == target) & (metrics["name"] == "cpu_s")]
                assert rows["t_s"].is_monotonic_increasing
                assert (rows["value"].diff()[1:] > -1e-6).all()
            assert summary["neighbours_cpu"] < 1
            assert summary["cpu_s_per_1000_requests"] > 0

    def test_what_is_judged_of_a_load_in_one_piece_is_judged_of_its_windows(self, run):
        """Nothing is called a stall, an idle user or a broken law because windows end."""
        for row, folder in zip(run.cells, run.folder.cells(), strict=True):
            said = " ".join(row["reasons"])
            assert_measured(row)
            # Users of a worker that stalls are idle, and it counts none of the changes meanwhile.
            by_stalls = ("Little's law", "idle") if uncounted_s(folder) > STOOD_STILL_SUSPECT_S else ()
            for wrong in {"Little's law", "idle", "counted", "samples arrived", "answered nobody"}.difference(
                by_stalls
            ):
                assert wrong not in said
            assert folder.read("evidence")["stood_still_s"] < longest_pause_s(folder) + PAUSE_ERROR_S


@pytest.mark.java
@pytest.mark.thorough
@pytest.mark.alone
@pytest.mark.usefixtures("brief")
def test_an_open_loop_of_more_variants_than_fit_is_measured_in_batches(tmp_path, monkeypatch):
    """The first variant is in both; what each was sent is what was planned, within its own windows."""
    monkeypatch.setattr(host, "memory_mb", lambda: 4_000)
    # So slow that even the lateness of a busy generator falsifies little of it.
    options = {"rate": 30.125, "delay_ms": 400, "duration": 8, "heap_mb": 256, "repeat": 1}
    run = lab.run("delay", **options, interleave="windows", seed=1, data=tmp_path, quiet=True)
    groups = run.folder.plan().groups
    assert [[cell.variant for cell in group] for group in groups] == [["mvc", "mvc-virtual"], ["mvc", "webflux"]]
    for group in groups:
        folders = [run.folder.cell(cell) for cell in group]
        assert_in_turns(folders)
        for folder in folders:
            assert_windows_hold_their_own(folder, 2)
            assert windows_of(folder)["requests"].tolist() == [120, 121]
            assert_measured(folder.read("summary"))
    assert set(run.window_ratios()["b"]) == {"mvc-virtual", "webflux"}


@pytest.mark.java
@pytest.mark.thorough
@pytest.mark.usefixtures("brief")
class TestBatches:
    """Three variants, a database and their generators, where two of the variants are all that fits."""

    SAID_MB = 4_500

    @pytest.fixture(scope="class")
    @staticmethod
    def run(tmp_path_factory, brief):
        """One start, in two batches."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(host, "memory_mb", lambda: TestBatches.SAID_MB)
            options = {"users": 8, "duration": 4, "heap_mb": 256, "seed": 1, "interleave": "windows"}
            return lab.run("jwt", **options, data=tmp_path_factory.mktemp("r"), quiet=True)

    def test_each_batch_has_the_first_variant_and_what_it_counted(self, run):
        """Two starts of the first one, one of each other; each window with its own requests, rows and answers."""
        groups = run.folder.plan().groups
        assert [[cell.variant for cell in group] for group in groups] == [["mvc", "mvc-virtual"], ["mvc", "webflux"]]
        for group in groups:
            folders = [run.folder.cell(cell) for cell in group]
            assert_in_turns(folders)
            for folder in folders:
                assert_windows_hold_their_own(folder, 4)
                evidence = folder.read("evidence")
                assert evidence["served"] == evidence["calls"]["mysql"] == evidence["begun"]

    def test_all_that_was_up_at_once_stayed_within_the_memory_that_there_was_said_to_be(self, run):
        """By what each process held at most: services, generators, the database, and the lab."""
        for group in run.folder.plan().groups:
            held = [run.folder.cell(cell).metrics().query("name == 'rss_bytes'") for cell in group]
            most = [rows.groupby("target")["value"].max() for rows in held]
            shared = max(each["mysql"] + each["lab"] for each in most)
            own = sum(each["service"] + each["worker 1"] + each["master"] for each in most)
            assert 0 < shared + own < self.SAID_MB << 20
            for each in most:
                assert each["service"] < (run.folder.plan().limits.heap_mb + memory.BESIDES_HEAP_MB) << 20
                assert each["mysql"] < memory.DATABASE_MB["mysql"] << 20

    def test_who_never_took_turns_is_compared_by_way_of_the_first(self, run):
        """Who took turns with whom is said, and the run says why."""
        found = window_ratios.of_run(run.folder, ("throughput",), takes_part=lambda folder: folder.settled)
        ways = {(ratio.a, ratio.b): ratio.by_way_of for ratio in found}
        assert ways == {("mvc", "mvc-virtual"): "", ("mvc", "webflux"): "", ("mvc-virtual", "webflux"): "mvc"}
        assert all(ratio.levels.starts == 1 for ratio in found)
        assert "in batches: mvc, mvc-virtual; mvc, webflux." in in_turns.batched(run.folder.plan())
