"""Comparing runs that were made up with known differences; whatever is odd gets a sentence, not a traceback."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from made_runs import LIMITS, MACHINE, fill, judge, said

import lab
from lab.analysis import scorecard
from lab.errors import LabError
from lab.spec import sample
from lab.storage.run_folder import RunFolder


def test_a_known_difference_is_found_and_no_other(made):
    """A service that takes a fifth longer is 20 % slower within the interval; an equal one is not called different."""
    run = made({"mvc": 0.100, "mvc-virtual": 0.120, "webflux": 0.100})
    found = lab.compare(str(run.path))
    table = found.table().set_index(["a", "b", "metric"])
    slower = table.loc[("mvc", "mvc-virtual", "mean s")]
    assert slower["low"] < 1.2 < slower["high"]
    assert slower["verdict"] == "different"
    assert "different" not in set(table.loc[("mvc", "webflux"), "verdict"])
    assert "mvc-virtual against mvc at 10 users (5 interleaved repeats)" in found.verdict
    assert "% lower with mvc" in found.verdict
    assert len(found.table()) == 3 * 6


def test_cpu_a_request_is_that_of_the_metrics(made):
    """CPU seconds per thousand requests are the service's readings over the load, unless the summary states them."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=2)
    cpu = lab.compare(str(run.path)).table().query("metric == 'CPU s per 1000 requests'").iloc[0]
    assert cpu["a_value"] == pytest.approx(1000 * 0.1 / 100, rel=0.05)
    for folder in run.cells():
        folder.keep("summary", {**folder.read("summary"), "cpu_s_per_1000_requests": 7.0})
    stated = lab.compare(str(run.path)).table().query("metric == 'CPU s per 1000 requests'").iloc[0]
    assert (stated["a_value"], stated["ratio"]) == pytest.approx((7.0, 1.0))


@pytest.mark.parametrize(("requests", "word", "comparisons"), [(99, "no value", 4), (100, "different", 5)])
def test_the_cpu_of_a_few_requests_is_not_compared(made, requests, word, comparisons):
    """What the JVM does on its own would be compared: it is not scored, and does not make other p values larger."""
    run = made({"mvc": 0.1, "webflux": 0.1})
    for folder in run.cells():
        stated = {"requests": requests, "cpu_s_per_1000_requests": 7.0 if folder.cell.variant == "mvc" else 14.0}
        folder.keep("summary", {**folder.read("summary"), **stated})
    found = lab.compare(str(run.path))
    assert found.table().set_index("metric").loc["CPU s per 1000 requests", "verdict"] == word
    assert f"corrected for {comparisons} comparisons" in found.correction


def test_the_cpu_of_a_service_whose_cores_changed_their_speed_is_not_compared(made):
    """Half of it was measured at another speed; latencies are compared all the same, and so is the CPU of others."""
    run = made({"mvc": 0.1, "webflux": 0.1})
    before = lab.compare(str(run.path)).table().set_index("metric")
    for folder in run.cells():
        if folder.cell.variant == "webflux":
            folder.keep("evidence", {"slowed": {"service": -0.2, "generator": 0.0}})
    after = lab.compare(str(run.path)).table().set_index("metric")
    assert before.loc["CPU s per 1000 requests", "verdict"] != "no value"
    assert after.loc["CPU s per 1000 requests", "verdict"] == "no value"
    assert after.loc["mean s", "ratio"] == before.loc["mean s", "ratio"]


def test_the_slowest_one_in_a_thousand_is_shown_and_not_tested(made, compared):
    """It is in the table with its ratio, but makes no other p value larger, scores nothing, and claims nothing."""
    run = made({"mvc": 0.1, "webflux": 0.13})
    without = lab.compare(str(run.path))
    for folder in run.cells():
        slow = 0.2 if folder.cell.variant == "mvc" else 0.5
        folder.keep("summary", {**folder.read("summary"), "p999_s": slow + folder.cell.repeat / 1000})
    found = lab.compare(str(run.path))
    assert "p99.9 s" not in set(without.table()["metric"])
    row = found.table().set_index("metric").loc["p99.9 s"]
    assert (row["verdict"], row["b_value"]) == ("not tested", pytest.approx(0.503, abs=0.001))
    assert row["low"] < row["ratio"] < row["high"]
    others = found.table().query("metric != 'p99.9 s'").reset_index(drop=True)
    pd.testing.assert_frame_equal(others, without.table())
    assert (found.scores, found.verdict, found.correction) == (without.scores, without.verdict, without.correction)
    assert "not tested" in said(compared(run.name))
    assert len(found.figure().axes[0].get_yticks()) == len(others) - 1  # there is no ratio of failures


def test_everything_is_printed_and_in_json(made, compared):
    """The table, the sentence, the scorecard with its boundaries; --json holds the same numbers."""
    run = made({"mvc": 0.1, "webflux": 0.13})
    text = said(compared(run.name))
    for words in (
        "webflux against mvc",
        "95 % interval",
        "margin below 5 %: 0 points",
        "different, A better",
        "mean 2",
    ):
        assert words in text
    value = json.loads(compared(run.name, "--json").stdout)
    mean = next(row for row in value["rows"] if row["metric"] == "mean s")
    assert mean["ratio"]["low"] < 1.3 < mean["ratio"]["high"]
    assert (mean["finding"], mean["winner"], mean["points"]) == ("different", "mvc", 2)
    assert value["scorecard"]["mvc"]["found"] >= 6


def test_an_interval_that_misses_1_without_a_difference_is_explained(made, compared):
    """What was corrected for how many comparisons stands under the table; where nothing was tested it does not."""
    assert "corrected for 5 comparisons" in said(compared(made({"mvc": 0.1, "webflux": 0.1}).name))
    assert "corrected" not in said(compared(made({"mvc": 0.1, "webflux": 0.1}, repeat=1).name))


def test_a_metric_that_only_one_repeat_has_is_named(made, compared):
    """Where one repeat a side knows its CPU time the sentence says that this cannot tell, and nothing breaks."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=3)
    for folder in run.cells():
        (folder.path / "metrics.parquet").unlink()
        if folder.cell.repeat == 2:
            folder.keep("summary", {**folder.read("summary"), "cpu_s_per_1000_requests": 7.0})
    assert "measured once each: CPU per request" in said(compared(run.name))
    assert "CPU s per 1000 requests" not in set(lab.compare(str(run.path)).repeats_needed()["metric"])


@pytest.mark.parametrize("error", ["breaker open", "breaker fallback"])
def test_a_breaker_that_answers_wins_nothing(made, error):
    """It leaves out the requests that would have been slow, and those that it answers cost next to nothing."""
    run = made({"mvc": 0.1, "webflux": 0.05}, repeat=3)
    plain = lab.compare(str(run.path)).table().set_index("metric")
    assert plain.verdict["p99 s"] == "different"
    for folder in run.cells():
        if folder.cell.variant == "webflux":
            folder.keep("summary", {**folder.read("summary"), "errors": {error: 1}})
    found = lab.compare(str(run.path))
    table = found.table().set_index("metric")
    assert set(table.verdict[["mean s", "p50 s", "p99 s", "CPU s per 1000 requests"]]) == {"breaker answered"}
    assert table.verdict["throughput req/s"] == plain.verdict["throughput req/s"]
    assert sum(row.points for row in found.rows if row.metric not in ("throughput req/s", "failed %")) == 0


def test_a_breaker_that_answered_where_it_does_not_count_spoils_nothing(made):
    """In a cell that takes no part, since it is suspect, of the others all metrics are compared."""
    run = made({"mvc": 0.1, "webflux": 0.05}, repeat=4)
    last = next(cell for cell in run.cells() if (cell.cell.variant, cell.cell.repeat) == ("webflux", 4))
    last.keep("summary", {**last.read("summary"), "errors": {"breaker open": 9}, "verdict": "suspect"})
    table = lab.compare(str(run.path)).table().set_index("metric")
    assert table.verdict["p99 s"] == "different"


@pytest.mark.parametrize(
    ("ratio", "points"),
    [(1.0, 0), (1.049, 0), (1.05, 1), (1 / 1.05, 1), (1.199, 1), (1.2, 2), (1.5, 2), (1.501, 3), (0.1, 3)],
)
def test_the_scorecard_by_hand(ratio, points):
    """Below 5 % nothing, from 5 % one point, from 20 % two, above 50 % three, whichever side is on top."""
    assert scorecard.points(ratio) == points


def test_variants_of_different_runs_and_whole_runs_are_compared(made, compared):
    """RUN:mvc RUN:webflux is one pair; two runs give a pair a common variant, and each of them counts once."""
    one, two = made({"mvc": 0.1, "webflux": 0.1}), made({"mvc": 0.2}, seed=2)
    assert said(compared(f"{one.name}:mvc", f"{one.name}:webflux")).count("against A =") == 1
    text = said(compared(one.name, two.name))
    assert f"B = {two.name}:mvc against A = {one.name}:mvc" in text
    assert "Measured once each: repeats within one run share its build" in text
    assert "different," not in text
    assert text.count("against A =") == 1


def test_a_run_that_records_no_factors_differs_by_design_in_none(made):
    """What an older lab did not write down is not known, and is no design that differs."""
    runs = [made({"mvc": 0.1}, seed=seed) for seed in (1, 2)]
    document = runs[0].path / "run.json"
    stored = json.loads(document.read_text())
    for variant in stored["plan"]["scenario"]["variants"]:
        assert variant.pop("factors")
    document.write_text(json.dumps(stored))
    assert lab.compare(*(str(run.path) for run in runs), although_different=True).by_design == ()
    assert len(lab.compare(str(made({"mvc": 0.1, "webflux": 0.1}).path)).by_design) == 1


def test_the_java_that_both_variants_name_is_said(made):
    """Beside the comparison, and in the table of the run; nothing where variants name none."""
    run = made({"mvc": 0.1, "webflux": 0.1})
    assert not [sentence for sentence in lab.compare(str(run.path)).by_design if "Java" in sentence]
    assert "java" not in lab.open_run(str(run.path)).table()
    document = run.path / "run.json"
    stored = json.loads(document.read_text())
    for variant in stored["plan"]["scenario"]["variants"]:
        variant["jdk"] = 25
    document.write_text(json.dumps(stored))
    assert "On Java 25: mvc, webflux." in lab.compare(str(run.path)).by_design
    assert set(lab.open_run(str(run.path)).table()["java"]) == {25}


def test_the_pace_at_which_users_paused_is_said():
    """Where it is not that of the locustfile."""
    said = [lab.compare(name, allow_suspect=True).by_design for name in ("operations", "delay-sweep")]
    assert [[text[:11] for text in of if "pace" in text] for of in said] == [["At pace 0.2"], []]


def test_the_python_face_gives_table_figure_and_sentence(made):
    """lab.compare takes a run, or names; its result draws a forest plot and shows itself in a notebook."""
    run = made({"mvc": 0.1, "webflux": 0.13}, repeat=3)
    found = lab.compare(lab.open_run(str(run.path)))
    assert isinstance(found.table(), pd.DataFrame)
    assert found.figure()._repr_png_().startswith(b"\x89PNG")
    assert "<table" in found._repr_html_()
    assert found.verdict in lab.compare(f"{run.path}:mvc", f"{run.path}:webflux").verdict


def test_how_many_repeats_it_takes_grows_as_the_difference_shrinks(made):
    """A row for each metric with noise, and more repeats for less; the noise is that of one run against the next."""
    needed = lab.compare(str(made({"mvc": 0.1, "webflux": 0.1}).path)).repeats_needed((1.02, 1.05, 1.2))
    assert "mean s" in set(needed["metric"])
    mean = needed.set_index("metric").loc["mean s"]
    assert mean["2 %"] > mean["5 %"] >= mean["20 %"] >= 2
    assert 0.001 < mean["noise"] < 0.1


@pytest.mark.parametrize(
    ("claimed", "repeat", "words"),
    [
        (1.3, 5, "1.3 is possible"),
        (1.57, 5, "1.57 is not what was measured here"),
        (1.57, 1, "measured once each, which cannot be held against 1.57"),
    ],
)
def test_a_claim_is_held_against_the_interval(made, claimed, repeat, words):
    """A claimed ratio within the interval is possible, one outside is not, and one run a side says nothing."""
    found = lab.compare(str(made({"mvc": 0.1, "webflux": 0.13}, repeat=repeat).path))
    (sentence,) = found.against(claimed, "mvc", "webflux", "mean s")
    assert words in sentence
    assert found.against(claimed, "webflux", "mvc", "mean s") == []


@pytest.mark.parametrize(
    ("options", "environment", "named"),
    [
        ({}, {**MACHINE, "host": "there"}, "host is here and there"),
        ({}, {**MACHINE, "jdk": {"version": "21"}}, "jdk is 25 and 21"),
        ({}, {"cores": 2}, "host is here and not known"),
        ({"threads": 50}, None, "threads is 200 and 50"),
        ({"heap_mb": 512}, None, "heap mb is 2048 and 512"),
        ({"ramp_up": 3.0}, None, "ramp s is 1.0 and 3.0"),
        ({"nodes": 2}, None, "nodes is 1 and 2"),
        ({"prometheus": True}, None, "prometheus is False and True"),
    ],
)
def test_other_machines_and_limits_are_refused_unless_told(made, compared, options, environment, named):
    """What differs is said in one sentence; with --although-different it is compared, and said beside it."""
    one, two = made({"mvc": 0.1}), made({"mvc": 0.1}, environment=environment, seed=2, **options)
    refused = compared(one.name, two.name)
    assert refused.returncode == 2
    assert refused.stdout == ""
    assert named in said(refused)
    assert "--although-different" in said(refused)
    told = compared(one.name, two.name, "--although-different")
    assert told.returncode == 0
    assert f"Also different: {named}" in said(told)


@pytest.mark.parametrize(("memory_bytes", "is_refused"), [(25_276_510_208, False), (33_000_000_000, True)])
def test_a_machine_is_the_same_after_a_boot_and_whichever_way_java_was_found(made, compared, memory_bytes, is_refused):
    """The system had reserved some pages more of its memory, and JAVA_HOME was not set."""
    of_java = [{"version": "25", "found_in": found_in} for found_in in ("JAVA_HOME", "/usr/lib/jvm/*")]
    machines = [
        {**MACHINE, "jdk": jdk, "memory_bytes": size}
        for jdk, size in zip(of_java, (25_276_502_016, memory_bytes), strict=True)
    ]
    one, two = (made({"mvc": 0.1}, environment=machine, seed=seed) for seed, machine in enumerate(machines))
    text = said(compared(one.name, two.name))
    assert ("memory bytes is 25276502016 and 33000000000" in text) is is_refused
    assert ("differ in more than what is compared" in text) is is_refused
    assert "jdk is" not in text


def test_limits_that_a_service_states_otherwise_are_refused(made, compared):
    """Variants of one run that ran with different limits are not compared silently."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=2)
    for folder in run.cells():
        if folder.cell.variant == "webflux":
            folder.keep("limits", {**LIMITS, "cpus": 2})
    assert "cpus is 1 and 2" in said(compared(f"{run.name}:mvc", f"{run.name}:webflux"))
    assert "cpus is 1 and 2" in said(compared(run.name))


def test_an_invalid_cell_is_left_out_by_name(made, compared):
    """It does not count, nor does its partner of the same repeat, and it is said which one and why."""
    run = made({"mvc": 0.1, "webflux": 0.1})
    judge(run.cells()[1], "invalid", "The generator was late.")
    judge(run.cells()[7], "suspect", "The service was not warm.")
    text = said(compared(run.name))
    assert "mvc-u10-r2 is invalid and left out: The generator was late." in text
    assert "webflux-u10-r3 is suspect and left out: The service was not warm. It had a mean of 0.1" in text
    assert set(lab.compare(str(run.path)).table()["repeats"]) == {3}


@pytest.mark.parametrize("word", ["valid", "suspect"])
def test_figures_of_survivors_are_said_to_be_theirs(made, compared, word):
    """Where sessions were stopped early those who went on had less load; of the others nothing is said."""
    run = made({"mvc": 0.1, "webflux": 0.1})
    cell = run.cells()[1]
    judge(cell, word, "Requests failed.")
    cell.keep("summary", {**cell.read("summary"), "sessions": {"begun": 40, "stopped": 3}})
    text = said(compared(run.name, "--allow-suspect"))
    assert "3 of 40 sessions were stopped early: its figures are of the users who went on." in text
    assert text.count("stopped early") == 1


def test_a_variant_that_was_never_measured_is_one_sentence(made, compared):
    """What it never stated is no difference: the others are compared, and it is said once what to do about it."""
    run = made({"mvc": 0.1, "mvc-virtual": 0.1, "webflux": 0.1}, users=(10, 20))
    for folder in run.cells():
        if folder.cell.variant == "webflux":
            shutil.rmtree(folder.path)
    text = said(compared(run.name))
    missing = f"{run.name}:webflux was not measured, so that it is left out; what is missing is measured by:"
    assert missing in text
    assert f"lab resume {run.path}" in text
    assert text.count("left out") == 1
    assert text.count("webflux against mvc: there is nothing to compare") == 1
    assert text.count("against A =") == 1
    alone = compared(f"{run.name}:mvc", f"{run.name}:webflux")
    assert alone.returncode == 1
    assert missing in said(alone)
    assert "Scorecard" not in said(alone)


def test_a_variant_whose_service_never_ran_is_left_out_with_the_reason(made, compared):
    """It stated no limits, which is not a difference from those of the others."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=1)
    judge(run.cells()[1], "invalid", "The service ended while it started.")
    (run.cells()[1].path / "limits.json").unlink()
    text = said(compared(run.name))
    assert "webflux-u10-r1 is invalid and left out: The service ended while it started." in text
    assert "differ in more" not in text


def test_one_run_a_side_gives_ratios_and_no_verdict(made, compared):
    """Without repeats nothing is called different, however large it looks."""
    text = said(compared(made({"mvc": 0.1, "webflux": 0.3}, repeat=1).name))
    assert "Measured once each, which cannot tell a difference from chance" in text
    assert "different," not in text
    assert "webflux 0 (0)" in text


def test_one_variant_is_nothing_to_compare(made, compared):
    """A run with one variant is refused with the next step; so are a run beside itself and half a pair."""
    run = made({"mvc": 0.1}, repeat=1)
    for words in ([run.name], [run.name, run.name], [run.name, f"{run.name}:mvc"], [f"{run.name}:mvc"]):
        done = compared(*words)
        assert done.returncode == 2
        assert done.stderr.count("→") == 1
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", [["nothing"], ["nothing:mvc"], ["{run}:mcv", "{run}:mvc"], []])
def test_what_is_not_there_is_said(made, compared, words):
    """A run or a variant that does not exist is named; without a name the newest is meant."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=1)
    done = compared(*(word.format(run=run.name) for word in words))
    assert done.returncode == (2 if words else 0)
    assert said(done)


def test_no_load_in_common_is_said(made, compared):
    """Runs at different numbers of users have nothing to compare."""
    one, two = made({"mvc": 0.1}, repeat=1), made({"mvc": 0.1}, repeat=1, users=(20,))
    assert "no load in common" in said(compared(one.name, two.name))
    three = made({"webflux": 0.1}, repeat=1)
    assert "no variant in common" in said(compared(one.name, three.name))


def test_what_has_no_counterpart_is_named(made, compared):
    """Loads and variants that only one of two runs has are not left out without a word."""
    one = made({"mvc": 0.1, "webflux": 0.1}, repeat=1, users=(10, 20))
    two = made({"mvc": 0.1, "mvc-virtual": 0.1}, repeat=1, users=(10, 30))
    text = said(compared(one.name, two.name))
    assert f"Only {one.name} has webflux, which is compared with nothing." in text
    assert f"Only {two.name} has mvc-virtual, which is compared with nothing." in text
    assert f"Only {one.name} has 20 users, which are compared with nothing." in text
    assert f"Only {two.name} has 30 users, which are compared with nothing." in text


def test_samples_that_are_gone_are_named(made, typed, tmp_path):
    """The table still has what its summary says, and figures would be empty without a word."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=1)
    run.cells()[0].kept.unlink()
    assert f"The samples of {run.cells()[0].cell.id} are missing" in said(
        typed("show", run.name, "--data", str(tmp_path))
    )


@pytest.mark.parametrize("value", [None, float("nan")])
def test_a_summary_without_its_figures_is_damaged(made, compared, typed, tmp_path, value):
    """Neither nothing nor 'not a number' is how many requests there were."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=1)
    folder = run.cells()[0]
    folder.keep("summary", {**folder.read("summary"), "requests": value})
    for done in (compared(run.name), typed("show", run.name, "--data", str(tmp_path))):
        assert done.returncode == 2
        assert "requests" in said(done)


@pytest.mark.parametrize("name", ["samples.parquet", "metrics.parquet"])
def test_a_table_with_other_columns_is_damaged(made, compared, name):
    """It is named before anything is read from it."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=1)
    pd.DataFrame({"a": [1.0]}).to_parquet(run.cells()[0].path / name)
    done = compared(run.name)
    assert done.returncode == 2
    assert name in said(done)


def test_a_run_that_went_on_elsewhere_says_so(made, typed, tmp_path):
    """Whoever reads it later was not there when it was accepted."""
    run = made({"mvc": 0.1}, repeat=1)
    run.keep("environment-resume-1", {"different": []})
    run.keep("environment-resume-2", {"different": ["cores is 2 and 64"]})
    text = said(typed("show", run.name, "--data", str(tmp_path)))
    assert text.count("The run was resumed under different conditions") == 1
    assert "cores is 2 and 64" in text


def only_failures(run: RunFolder) -> None:
    """Every request of every cell was reset."""
    for folder in run.cells():
        fill(folder, 0.1, np.random.default_rng(1), error=sample.RESET)


def nothing_measured(run: RunFolder) -> None:
    """Every cell came to its end without a sample."""
    for folder in run.cells():
        fill(folder, 0.1, np.random.default_rng(1), requests=0)


def one_sample(run: RunFolder) -> None:
    """Every cell has one request."""
    for folder in run.cells():
        fill(folder, 0.1, np.random.default_rng(1), requests=1)


def never_begun(run: RunFolder) -> None:
    """No cell was measured to its end."""
    for folder in run.cells():
        (folder.path / "summary.json").unlink()


def all_invalid(run: RunFolder) -> None:
    """Every cell is invalid."""
    for folder in run.cells():
        judge(folder, "invalid", "The measurement was interrupted.")


def without_metrics(run: RunFolder) -> None:
    """Nothing is left of a cell but its summary."""
    for folder in run.cells():
        for name in ("metrics.parquet", "samples.parquet", "limits.json"):
            (folder.path / name).unlink()


ODD = [only_failures, nothing_measured, one_sample, never_begun, all_invalid, without_metrics]


@pytest.mark.parametrize("spoil", ODD, ids=lambda spoil: spoil.__name__)
@pytest.mark.parametrize("repeat", [1, 3])
def test_odd_runs_are_compared_and_shown_without_a_traceback(made, compared, typed, tmp_path, spoil, repeat):
    """Each gives a table or a sentence, from 'compare', 'show' and Python, and no cell is left out silently."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=repeat)
    spoil(run)
    done = compared(run.name)
    assert done.returncode in (0, 1)
    text = said(done)
    assert ("left out" in text) == (spoil in (never_begun, all_invalid))
    if spoil in (never_begun, all_invalid, nothing_measured):
        assert done.returncode == 1
        assert "there is nothing to compare" in text
    assert json.loads(compared(run.name, "--json").stdout)["rows"]
    assert said(typed("show", run.name, "--data", str(tmp_path))).count("mvc") >= 1
    opened = lab.open_run(str(run.path))
    assert len(opened.table()) == 2 * repeat
    assert isinstance(opened.intervals(), pd.DataFrame)
    lab.compare(opened).figure()


def test_a_run_of_an_older_format_is_named(made, compared):
    """A run that another version wrote is refused by name; a summary without newer fields is read for what it has."""
    run, other = made({"mvc": 0.1, "webflux": 0.1}), made({"mvc": 0.1}, seed=2)
    for folder in run.cells():
        summary = folder.read("summary")
        old = {key: summary[key] for key in ("requests", "errors", "mean_s", "p50_s", "ok_throughput_rps", "verdict")}
        folder.keep("summary", old)
    text = said(compared(f"{run.name}:mvc", f"{run.name}:webflux"))
    assert "no value" in text
    assert "alike" in text
    (run.path / "run.json").write_text(json.dumps({**run.read(), "format": 0}))
    for words in ([run.name], [other.name, run.name]):
        done = compared(*words)
        assert done.returncode == 2
        assert f"Run {run.name} has format 0" in said(done)


@pytest.mark.parametrize("name", ["samples.parquet", "metrics.parquet", "summary.json"])
def test_a_damaged_file_is_named(made, compared, typed, tmp_path, name):
    """Whatever file is damaged, comparing and showing say which, or do without it."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=1)
    (run.cells()[0].path / name).write_bytes(b"\x00nonsense")
    for done in (compared(run.name), typed("show", run.name, "--data", str(tmp_path))):
        assert name in said(done) or done.returncode == 0


def test_objectives_set_the_exit_status(made, compared):
    """A cell that misses an objective is named with its value, and the status is 1; an invalid cell meets none."""
    run = made({"mvc": 0.1, "webflux": 0.3}, repeat=2)
    assert compared(run.name, "--slo", "p99<1s", "--slo", "errors<1%").returncode == 0
    missed = compared(run.name, "--slo", "p99<200ms", "--slo", "errors<1%")
    assert missed.returncode == 1
    assert "webflux-u10-r1 does not meet p99<200ms" in said(missed)
    assert "mvc-u10" not in missed.stderr
    judge(run.cells()[0], "invalid", "The measurement was interrupted.")
    assert "mvc-u10-r1 is invalid, so that p99<1s is not met" in said(compared(run.name, "--slo", "p99<1s"))
    assert compared(run.name, "--slo", "p99<1").returncode == 2


def test_the_intervals_of_a_run_say_what_they_rest_on(made):
    """Repeats give intervals between runs, one closed loop one within it, and a single burst none."""
    repeated = lab.open_run(str(made({"mvc": 0.1}).path)).intervals()
    assert set(repeated["scope"]) == {"between runs"}
    assert set(repeated["metric"]) == {"mean_s", "p50_s", "p99_s"}
    assert ((repeated["low"] < repeated["value"]) & (repeated["value"] < repeated["high"])).all()
    single = lab.open_run(str(made({"mvc": 0.1}, repeat=1, duration=5.0).path)).intervals()
    assert set(single["scope"]) == {"within one run only"}
    assert lab.open_run(str(made({"mvc": 0.1}, repeat=1).path)).intervals().empty
    without_samples = made({"mvc": 0.1}, repeat=1, duration=5.0)
    without_samples.cells()[0].kept.unlink()
    assert lab.open_run(str(without_samples.path)).intervals().empty


def test_a_closed_loop_says_when_it_settled(made):
    """What decided and when the load settled are said of the largest load."""
    sentences = lab.open_run(str(made({"mvc": 0.1}, repeat=1, duration=5.0).path)).insights()
    assert any("settled after" in sentence for sentence in sentences)
    assert any(sentence.startswith("mvc at 10 users:") for sentence in sentences)


def test_a_load_is_part_of_what_is_compared(made):
    """A plan whose cells have other loads than the other's is refused in Python too."""
    one, two = made({"mvc": 0.1}, duration=5.0), made({"mvc": 0.1}, seed=2)
    with pytest.raises(LabError, match="load is closed and burst"):
        lab.compare(str(one.path), str(two.path))
    assert lab.compare(str(one.path), str(two.path), although_different=True).notes
    assert one.cells()[0].cell.load.as_burst(ramp_s=1.0) == two.cells()[0].cell.load


def test_two_ramps_to_the_same_rate_are_compared_by_where_they_begin(made):
    """They stand at the same place, and differ in the rate of the start."""
    one, two = made({"mvc": 0.1}, ramp="0:50:10"), made({"mvc": 0.1}, ramp="10:50:10", seed=2)
    with pytest.raises(LabError, match=r"from rps is 0\.0 and 10\.0"):
        lab.compare(str(one.path), str(two.path))


def test_only_loads_that_both_have_must_be_alike(made, compared):
    """What follows from another number of users, as how long they wait, does not keep equal cells apart."""
    sweep = made({"mvc": 0.1}, users=(100, 4000), threads=1)
    one = made({"mvc": 0.1}, users=(4000,), threads=1, seed=2)
    timeouts = [cell.cell.load.timeout_s for cell in sweep.cells()[::5]]
    assert timeouts[0] < timeouts[1]
    done = compared(sweep.name, one.name)
    assert done.returncode == 0, done.stderr
    assert "4,000" in done.stdout
    impatient = made({"mvc": 0.1}, users=(100, 4000), threads=1, timeout=timeouts[0], seed=3)
    assert "timeout s is 120.0 and 800.0" in said(compared(impatient.name, one.name))


def test_runs_whose_path_has_a_comma_are_compared(made, compared, tmp_path):
    """Alone, by a variant, in a list of several, and from Python; elsewhere a comma separates runs."""
    mine, yours, theirs = (made({"mvc": 0.1, "webflux": seconds}, repeat=3) for seconds in (0.1, 0.2, 0.2))
    one, other = (run.path.rename(tmp_path / name) for run, name in ((mine, "mine, first"), (yours, "yours,2")))
    for words in ((one,), (f"{one}:mvc", f"{other}:mvc"), ("mine, first", f"yours,2,{theirs.name}")):
        done = compared(*map(str, words), "--although-different")
        assert done.returncode in (0, 1), done.stderr
        assert "yours,2" in done.stdout or len(words) == 1
    assert lab.compare(one, [other, theirs.path], although_different=True).rows
    assert "There is no run 'nobody'" in said(compared(f"{one},nobody", str(other)))
