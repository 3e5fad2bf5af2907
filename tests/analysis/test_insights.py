"""What a run says beyond its numbers."""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pytest
from machines import HERE
from made_runs import LIMITS, MACHINE, fill, keep
from open_loops import overloaded

import lab
from lab.analysis import insights
from lab.experiments import scenarios
from lab.runtimes.checkout import ROOT
from lab.spec import sample
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.storage.run_folder import RunFolder


@pytest.fixture
def slowed(tmp_path):
    """A function that gives the sentences on the example of jwt, each variant's cells on cores as slow as it says."""

    def sentences(**yardstick_s: float) -> list[str]:
        run = shutil.copytree(ROOT / "data" / "example" / "jwt-repeats", tmp_path / "run")
        for file in run.glob("cells/*/summary.json"):
            variant = file.parent.name.partition("-u")[0].replace("-", "_")
            file.write_text(json.dumps(json.loads(file.read_text()) | {"yardstick_s": yardstick_s[variant]}))
        return [sentence for sentence in lab.open_run(str(run)).insights() if "machine's speed changed" in sentence]

    return sentences


def test_a_machine_that_was_slower_under_one_variant_is_named_with_it(slowed):
    """What looks like a slow variant may be a slow machine."""
    (sentence,) = slowed(mvc=0.0005, mvc_virtual=0.0004, webflux=0.00042)
    assert "25% slower under mvc-u50-r" in sentence
    assert "than under mvc-virtual-u50-r" in sentence


def test_cores_that_differ_by_chance_are_not_worth_a_word(slowed):
    """Repeats of the same differ by as much."""
    assert slowed(mvc=0.0004, mvc_virtual=0.00041, webflux=0.000415) == []


@pytest.mark.parametrize(
    ("detectable", "said"), [(0.17, "a drift of less than 17%"), (1.0, ""), (0.03, ""), (None, "")]
)
def test_noise_that_could_hide_a_drift_is_told_with_the_size_that_it_hides(tmp_path, detectable, said):
    """Drifts that would not count are not worth a word; of older runs it is not known; of any the verdict tells."""
    plan = make_plan(scenarios()["jwt"], Options(variants=["mvc"], users=[50], duration=20.0, seed=1), HERE)
    folder = RunFolder.create(plan, ["test"], MACHINE, tmp_path)
    cell = folder.begin(plan.cells[0])
    fill(cell, 0.1, np.random.default_rng(1))
    cell.keep("evidence", {**cell.read("evidence"), "detectable_change": detectable})
    found = [sentence for sentence in lab.open_run(str(folder.path)).insights() if "noise" in sentence]
    assert found == [f"mvc at 50 users: noise would have hidden {said}: longer loads show smaller ones."] * bool(said)
    cell.keep("evidence", {**cell.read("evidence"), "course": "slowing"})
    assert not any("noise" in line for line in lab.open_run(str(folder.path)).insights()), "its drift was found"


@pytest.mark.parametrize(("backlog_set", "count"), [(False, 3), (True, 3), (False, 0)])
def test_connections_that_waited_in_the_services_own_backlog_are_told(tmp_path, backlog_set, count):
    """Where the lab set it, the verdict tells."""
    plan = make_plan(scenarios()["delay"], Options(variants=["mvc"], users=[50], limits="default", seed=1), HERE)
    folder = RunFolder.create(plan, ["test"], MACHINE, tmp_path)
    cell = folder.begin(plan.cells[0])
    fill(cell, 0.1, np.random.default_rng(1))
    cell.keep("evidence", {**cell.read("evidence"), "slow_connects": count, "backlog_set": backlog_set})
    said = [sentence for sentence in insights.sentences(folder) if "took a second or more" in sentence]
    assert len(said) == (count > 0 and not backlog_set)
    assert all("mvc at 50 users: 3 connections" in sentence for sentence in said)
    cell.keep("evidence", {**cell.read("evidence"), "untracked": 9})
    assert not any("took a second or more" in sentence for sentence in insights.sentences(folder))


def test_of_many_measurements_a_few_are_named_and_what_is_the_same_is_said_once():
    """The example of sessions has the samples of one repeat, and a core that is full while users log in."""
    said = lab.open_run("operations").insights()
    missing, counted = ([line for line in said if words in line] for words in ("are missing", "the database counted"))
    named = "boot-1.5-10-r2, boot-1.5-10-r3, boot-2.0-10-r2 and 33 more cells"
    assert missing == [f"The samples of {named} are missing: tables show these cells, figures do not."]
    assert counted == ["each measurement: the database counted 0.07692 delete and 0.07692 insert a request."]
    full = [
        line for line in said if re.fullmatch(r".* at bcrypt 10: The CPU was the bottleneck in \d+ of 31 s: .*", line)
    ]
    assert len(full) == len(lab.open_run("operations").plan.variants)


@pytest.fixture
def overload(tmp_path):
    """A run in an open loop whose users were too few, so that its queue grows from begin to end."""
    return lab.open_run(str(overloaded(tmp_path).path))


def test_intervals_of_an_open_loop_count_from_the_plan_as_its_table_does(overload):
    """What requests waited for a free user is in the mean and in the percentiles, as it is in summary.json."""
    intervals, row = overload.intervals().query("variant == 'mvc'").set_index("metric"), overload.cells[0]
    assert intervals["value"].to_dict() == pytest.approx({name: row[name] for name in intervals.index}, rel=1e-3)
    assert list(intervals.index) == ["mean_s", "p50_s", "p99_s", "p999_s"]
    assert row["mean_s"] > 100 * row["service_mean_s"]


def test_an_open_loop_whose_queue_grows_has_not_settled(overload):
    """Requests that are all sent too late take as long as ever once they are sent, which settles nothing."""
    said = " ".join(overload.insights())
    assert "mvc at 100 requests/s: The load had not settled" in said
    assert "had settled after" not in said


@pytest.mark.parametrize("course", ["slowing", "erratic"])
def test_a_longer_load_is_not_recommended_for_a_queue_that_grows(overload, course):
    """It would be longer only; whatever else has not settled may."""
    cell = overload.folder.cells()[0]
    cell.keep("evidence", {**cell.read("evidence"), "course": course})
    (said,) = (line for line in overload.insights() if line.startswith("mvc at") and "had not settled" in line)
    assert said.endswith("s." if course == "slowing" else "s: measure longer.")


@pytest.mark.parametrize(("slow_s", "added"), [(3.0, "its p99 of 3 s depends on how long it lasts"), (1.0, "")])
def test_a_transient_that_shows_in_p99_is_told_with_p99_after_it(tmp_path, slow_s, added):
    """As in a closed loop whose queue forms: its median settles soon, and its first waits are in p99 all the same."""
    plan = make_plan(scenarios()["delay"], Options(users=[400], duration=30.0, variants=["mvc"]), HERE)
    run = RunFolder.create(plan, [], MACHINE, tmp_path)
    (folder,) = run.cells()
    run.begin(folder.cell)
    chance = np.random.default_rng(2)
    fill(folder, 1.0, chance)
    records = np.zeros(12_000, dtype=sample.RECORD)
    ended_s = np.linspace(0.5, 30.0, len(records))
    took_s = np.where(ended_s < 6, 0.5, 1.0) * chance.normal(1, 0.01, len(records))
    took_s[(ended_s < 6) & (np.arange(len(records)) % 5 == 0)] = slow_s
    records["sent_us"] = records["planned_us"] = 1e6 * np.maximum(ended_s - took_s, 0)
    records["latency_us"], records["status"] = 1e6 * took_s, 200
    keep(folder, records)
    (said,) = (sentence for sentence in lab.open_run(str(run.path)).insights() if "settled after" in sentence)
    assert added in said
    assert ("from then on" in said) == bool(added)
    folder.keep("evidence", {**folder.read("evidence"), "course": "slowing"})
    said = " ".join(lab.open_run(str(run.path)).insights())
    assert "settled" not in said  # it went on to change, as a queue does until nobody arrives any more
    assert "Its load is classed as slowing (docs/VERDICT.md)." in said


def test_how_each_start_of_a_load_is_classed_is_told_together(tmp_path):
    """What most of them are comes first."""
    plan = make_plan(scenarios()["delay"], Options(users=[10], duration=30.0, variants=["mvc"], repeat=3), HERE)
    run = RunFolder.create(plan, [], MACHINE, tmp_path)
    chance = np.random.default_rng(2)
    for folder, course in zip(run.cells(), ("warming", "flat", "flat"), strict=True):
        run.begin(folder.cell)
        fill(folder, 1.0, chance)
        folder.keep("evidence", {**folder.read("evidence"), "course": course})
    said = " ".join(lab.open_run(str(run.path)).insights())
    assert "Its load, in 3 starts, is classed as flat (2 times) and warming (docs/VERDICT.md)." in said


@pytest.mark.parametrize("settled", [True, False])
def test_a_level_that_the_machine_changed_is_not_called_unsettled(tmp_path, settled):
    """The verdict has judged that with the speed of the cores, of which the samples alone say nothing."""
    plan = make_plan(scenarios()["delay"], Options(users=[400], duration=30.0, variants=["mvc"]), HERE)
    run = RunFolder.create(plan, [], MACHINE, tmp_path)
    (folder,) = run.cells()
    run.begin(folder.cell)
    fill(folder, 1.0, np.random.default_rng(2))
    records = np.zeros(12_000, dtype=sample.RECORD)
    ended_s = np.linspace(0.5, 30.0, len(records))
    records["latency_us"], records["status"] = np.where(ended_s < 20, 0.3e6, 0.5e6), 200
    records["sent_us"] = records["planned_us"] = 1e6 * ended_s - records["latency_us"]
    keep(folder, records)
    folder.keep("evidence", {**folder.read("evidence"), "course": "flat", "settled": settled})
    assert any("had not settled" in said for said in lab.open_run(str(run.path)).insights()) == (not settled)


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (
            {"pool to mongo": 100, "pool to backend": 5, "pool_max": None},
            "The pool to backend was the bottleneck: 5 of 5 connections were in use",
        ),
        ({"pool to mongo": 100, "pool to backend": 40, "pool_max": None}, "No resource that was read was at its limit"),
        ({"pool_max": 5}, "The pool to backend was the bottleneck: 5 of 5"),  # as older runs have it
    ],
)
def test_whichever_pool_is_full_is_named_with_its_own_limit(tmp_path, limits, sentence):
    """Of a service that has two, each is compared with what it may open itself."""
    plan = make_plan(scenarios()["chain-mongo"], Options(users=[20], variants=["mvc"], limits="default"), HERE)
    run = RunFolder.create(plan, [], MACHINE, tmp_path)
    (folder,) = run.cells()
    run.begin(folder.cell)
    fill(folder, 0.4, np.random.default_rng(1))
    read = {"mongodb_driver_pool_checkedout": 1.0, "mongodb_driver_pool_waitqueuesize": 0.0}
    read |= {"httpcomponents_httpclient_pool_leased_connections": 5.0}
    read |= {"httpcomponents_httpclient_pool_total_pending": 15.0}
    rows = [(t, "service", name, value) for name, value in read.items() for t in (0.25, 0.5, 0.75)]
    folder.keep_metrics(rows)
    folder.keep("limits", {**LIMITS, **limits})
    assert sentence in " ".join(lab.open_run(str(run.path)).insights())


def test_what_was_compiled_in_a_load_without_a_course_is_told_by_start():
    """From its readings, so that older runs tell it too: where the CPU decides, or it was more than a tenth."""
    said = [sentence for sentence in lab.open_run("migration").insights() if "compilers" in sentence]
    assert len(said) == 3
    assert said[0] == (
        "webflux-r2dbc at 5,000 users: Its just-in-time compilers, two in each of 2 nodes, were at work for 36%, 77% "
        "and 20% of the load's time in its 3 starts, which is in its figures."
    )
    assert not [sentence for sentence in lab.open_run("jwt-windows").insights() if "compilers" in sentence]
    waiting = [sentence for sentence in lab.open_run("document-link").insights() if "compilers" in sentence]
    assert [sentence.split()[0] for sentence in waiting] == ["webflux"]


def test_what_changed_for_all_that_took_turns_is_told_once(tmp_path):
    """With the cell in which it was most; a few percent are not worth a word."""
    run = shutil.copytree(ROOT / "data" / "example" / "jwt-windows", tmp_path / "run")

    def told(**changes: float) -> list[str]:
        for cell in (run / "cells").iterdir():
            path = cell / "evidence.json"
            change = changes.get(cell.name.replace("-", "_"), 0.0)
            path.write_text(json.dumps({**json.loads(path.read_text()), "shared_change": change}))
        return [sentence for sentence in lab.open_run(str(run)).insights() if "in the same rounds" in sentence]

    assert told(mvc_u50_r1=0.04) == []
    assert told(mvc_u50_r1=0.08, webflux_u50_r2=-0.15) == [
        "In 2 of 15 cells latency changed during the load as that of the other variants did in the same rounds, by "
        "-15% at most (webflux-u50-r2): the machine changed, or something that all share."
    ]


@pytest.mark.parametrize(
    ("example", "why"),
    [("grep-small", "the program had all cores"), ("document-link", "pauses of the machine were not read")],
)
def test_of_an_older_run_it_is_told_why_nobody_knows_of_pauses(example, why):
    """Its evidence does not say so, but what is known of the machine does."""
    said = insights.not_checked(lab.open_run(example).folder)
    assert [line for line in said if "pauses" in line] == [
        f"Not checked, as {why}: that the machine ran without pauses."
    ]
