"""Figures of a window, and of two variants in turns: what counts, what is left out, and what it rests on."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from machines import HERE

from lab.analysis import comparison, pairing, window_ratios
from lab.analysis.window_figures import by_round, of_windows
from lab.experiments import scenarios
from lab.formulas import inference
from lab.reporting.run_view import Run
from lab.runtimes import host
from lab.spec import in_turns, planning
from lab.spec.options import Options
from lab.spec.window import Window
from lab.spec.workload import Closed, Open
from lab.storage.run_folder import RunFolder
from lab.telemetry.sampler import MACHINE, PAUSED

LENGTH_S, USERS = 2.0, 10
LOAD = Closed(users=USERS, ramp_s=0.0, duration_s=4.0, windows=2)


def in_lockstep(samples_of, latency_s: float, window: int, began_s: float, length_s: float = LENGTH_S):
    """Users who all send together, again and again, until the window ends; each request takes as long."""
    sends = np.arange(0, length_s, latency_s)
    sent = np.repeat(began_s + sends, USERS)
    return samples_of([latency_s] * len(sent), sent_s=list(sent), window=window)


def windows(elapsed_s: float = 2.1) -> list[Window]:
    """Two windows, one after the other."""
    return [Window(k, 0, 100.0, k * elapsed_s, LENGTH_S, elapsed_s, 100, 0, 100) for k in range(2)]


def test_what_others_did_is_by_round_and_over_their_own_median():
    """The geometric mean over those that have the figure, at the moments of one's own windows."""
    own = [{"number": k, "began_s": 2.0 * k, "length_s": 2.0, "p50_s": 0.5, "ok_throughput_rps": 1.0} for k in range(4)]
    slow = [{"number": k, "p50_s": 1.0, "ok_throughput_rps": 10.0} for k in range(4)]
    slow[2] |= {"p50_s": 4.0, "ok_throughput_rps": None}
    fast = [{"number": k, "p50_s": 0.1, "ok_throughput_rps": 100.0} for k in (1, 7)]
    found = by_round(own, slow, fast)
    assert found["p50_s"]["own"].to_dict() == pytest.approx({1.0: 1.0, 3.0: 1.0, 5.0: 1.0, 7.0: 1.0})
    assert found["p50_s"]["others"].to_dict() == pytest.approx({1.0: 1.0, 3.0: 1.0, 5.0: 4.0, 7.0: 1.0})
    assert list(found["ok_throughput_rps"].index) == [1.0, 3.0, 7.0]
    assert found["cpu_s_per_1000_requests"].empty


def test_when_the_others_have_ended_what_a_variant_does_is_its_own():
    """None of its rounds is left out because nobody took turns with it any more, or ever did."""
    own = [{"number": k, "began_s": 2.0 * k, "length_s": 2.0, "p50_s": 0.5} for k in range(4)]
    other = [{"number": 0, "p50_s": 1.0}, {"number": 1, "p50_s": None}, {"number": 2, "p50_s": 1.0}]
    assert by_round(own, other)["p50_s"]["others"].to_dict() == pytest.approx({1.0: 1.0, 5.0: 1.0, 7.0: 1.0})
    assert by_round(own, [])["p50_s"]["others"].to_dict() == pytest.approx({1.0: 1.0, 3.0: 1.0, 5.0: 1.0, 7.0: 1.0})
    long = [{"number": k, "began_s": float(k), "length_s": 1.0, "p50_s": 0.5} for k in range(20)]
    slowed = [{"number": k, "p50_s": 1.0 if k < 10 else 1.3} for k in range(15)]
    assert set(by_round(long, slowed)["p50_s"]["others"][9.6:].round(2)) == {1.3}, "they stay as they were"


@pytest.mark.parametrize("latency_s", [0.01, 0.1, 0.3, 0.7, 1.1])
def test_the_rate_is_that_of_users_who_never_rest(samples_of, latency_s):
    """Ten users, each a request after the other: whatever the window cuts off, the rate is that of Little's law."""
    (found, _) = of_windows(windows(), LOAD, in_lockstep(samples_of, latency_s, 0, 0.0), ())
    assert found["ok_throughput_rps"] == pytest.approx(USERS / latency_s, rel=1e-4)
    assert found["mean_s"] == pytest.approx(latency_s)


def test_the_first_tenth_of_a_window_is_left_out(samples_of):
    """However slow it was."""
    slow = samples_of([0.19] * USERS, sent_s=0.0, window=1)
    slow["sent_us"] += 2_100_000
    fast = in_lockstep(samples_of, 0.01, 1, 2.1 + 0.2, 1.8)
    (nothing, found) = of_windows(windows(), LOAD, _joined(slow, fast), ())
    assert found["p99_s"] == pytest.approx(0.01)
    assert found["ok_throughput_rps"] == pytest.approx(1000.0, rel=1e-4)
    assert (nothing["ok_throughput_rps"], nothing["mean_s"], nothing["p99_s"]) == (0.0, None, None)


def _joined(*pieces):
    return pd.concat(pieces, ignore_index=True)


def test_times_in_which_the_machine_stood_still_are_in_no_figure(samples_of):
    """All users waited for it: neither their latency nor the rate is the service's."""
    before, waiting, after = (
        samples_of([0.1 + waited] * count * USERS, sent_s=list(np.repeat(sent, USERS)))
        for waited, count, sent in (
            (0.0, 5, np.arange(0, 0.5, 0.1)),
            (0.6, 1, np.array([0.5])),
            (0.0, 8, np.arange(1.2, 2.0, 0.1)),
        )
    )
    pause = (0.55, MACHINE, PAUSED, 0.6)
    (found, _) = of_windows(windows(), LOAD, _joined(before, waiting, after), [pause])
    assert found["ok_throughput_rps"] == pytest.approx(USERS / 0.1, rel=1e-3)
    assert found["mean_s"] == pytest.approx(0.1, abs=1e-6)
    assert found["paused_s"] == pytest.approx(0.6)
    (blind, _) = of_windows(windows(), LOAD, _joined(before, waiting, after), [])
    assert blind["ok_throughput_rps"] < 0.8 * found["ok_throughput_rps"]


def test_the_plan_of_an_open_loop_goes_on_while_the_machine_stands_still(samples_of):
    """What was due meanwhile is sent at the end of the pause: the rate is the planned one."""
    planned = np.linspace(0, LENGTH_S, 1000, endpoint=False)
    sent = np.where((planned > 0.5) & (planned < 1.1), 1.1, planned)
    samples = samples_of([0.01] * 1000, sent_s=list(sent), planned_s=list(planned))
    load = Open(users=500, rate_rps=500.0, duration_s=4.0, windows=2)
    (found, _) = of_windows(windows(), load, samples, [(0.5, MACHINE, PAUSED, 0.6)])
    assert found["ok_throughput_rps"] == pytest.approx(500.0, rel=0.02)


def test_nothing_is_said_of_a_window_in_which_the_machine_hardly_ran(samples_of):
    """What is left of it is chance."""
    (found, _) = of_windows(windows(), LOAD, in_lockstep(samples_of, 0.1, 0, 0.0), [(0.0, MACHINE, PAUSED, 1.95)])
    assert (found["ok_throughput_rps"], found["mean_s"]) == (None, None)


def test_failed_requests_are_in_no_figure(samples_of):
    """Rates and latencies are of right answers."""
    right, wrong = in_lockstep(samples_of, 0.1, 0, 0.0), in_lockstep(samples_of, 0.05, 0, 0.0).assign(error="timeout")
    (found, _) = of_windows(windows(), LOAD, _joined(right, wrong), ())
    assert found["ok_throughput_rps"] == pytest.approx(100.0, rel=1e-4)
    assert found["p50_s"] == pytest.approx(0.1)


def test_an_open_loop_counts_from_the_plan(samples_of):
    """As its table does."""
    planned = np.linspace(0, LENGTH_S, 200, endpoint=False)
    samples = samples_of([0.01] * 200, sent_s=list(planned + 0.04), planned_s=list(planned))
    load = Open(users=10, rate_rps=100.0, duration_s=4.0, windows=2)
    (found, _) = of_windows(windows(), load, samples, ())
    assert found["mean_s"] == pytest.approx(0.05)
    assert found["ok_throughput_rps"] == pytest.approx(100.0, rel=0.02)


def test_a_window_has_the_cpu_that_was_spent_in_it(samples_of):
    """By requests, and by the time in which the machine ran; without readings nothing is known."""
    readings = [(t, "service", "cpu_s", spent) for t, spent in ((0.0, 5.0), (2.1, 5.42), (4.2, 6.47))]
    samples, paused = in_lockstep(samples_of, 0.1, 0, 0.0), [(3.0, MACHINE, PAUSED, 0.7)]
    found = of_windows(windows(), LOAD, samples, readings + paused)
    assert [each["cpu_s_per_1000_requests"] for each in found] == pytest.approx([4.2, 10.5])
    assert [each["cores_used"] for each in found] == pytest.approx([0.2, 0.75])
    (nothing, _) = of_windows(windows(), LOAD, samples, ())
    assert (nothing["cpu_s_per_1000_requests"], nothing["cores_used"]) == (None, None)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A function that writes a run in windows: rates of variants by start and round, and verdicts of the first.

    In batches of two, ``starts`` is less than there are rows of rates.
    """

    def make(
        rates: dict[str, np.ndarray],
        verdicts: tuple[str, ...] = ("valid",) * 9,
        starts: int | None = None,
        duration: float | None = None,
    ) -> RunFolder:
        cells, rounds = next(iter(rates.values())).shape
        if starts:
            monkeypatch.setattr(host, "memory_mb", lambda: 10_000)
        lasting = {"duration": duration or rounds, "repeat": starts or cells, "interleave": "windows"}
        options = Options(users=[50], variants=list(rates), seed=1, **lasting)
        plan = planning.make_plan(scenarios()["jwt"], options, host.machine())
        folder = RunFolder.create(plan, ["test"], {}, tmp_path)
        for cell in plan.cells:
            written, own = folder.begin(cell), rates[cell.variant][cell.repeat - 1]
            rows = [
                {
                    **{"number": k, "place": 0, "unix_start": 10.0 * k, "elapsed_s": 1.0},
                    **{
                        "length_s": lasting["duration"] / rounds,
                        "ok_throughput_rps": rate,
                        "mean_s": 50 / rate if rate else None,
                        "cpu_s_per_1000_requests": None,
                    },
                }
                for k, rate in enumerate(own)
            ]
            written.keep("windows", {"windows": rows})
            written.keep("timing", {"elapsed_s": 100.0})
            word = verdicts[cell.repeat - 1] if cell.variant == next(iter(rates)) else "valid"
            counts = {"requests": 1000, "throughput_rps": 1.0, "ok_throughput_rps": 1.0, "errors": {}}
            written.keep("summary", {**counts, "verdict": word, "reasons": [], "neighbours_cpu": 0.004})
        return folder

    return make


def noisy(starts: int = 4, rounds: int = 10) -> dict[str, np.ndarray]:
    """A machine whose speed changes by a third from round to round, under two services that differ by 8 %."""
    chance = np.random.default_rng(1)
    speed = chance.choice([1.0, 1.5], (starts, rounds))
    luck = chance.normal(0, 0.01, (2, starts, rounds))
    return {"mvc": 1000 * speed * np.exp(luck[0]), "webflux": 1080 * speed * np.exp(luck[1])}


def test_neighbours_tell_what_a_machine_that_changes_hides(run):
    """Whole starts differ by a fifth; the ratio of neighbours is known to a percent or two."""
    found = {ratio.figure: ratio for ratio in window_ratios.of_run(run(noisy()))}
    ratio = found["throughput"]
    assert (ratio.a, ratio.b, ratio.at) == ("mvc", "webflux", "50 users")
    assert ratio.interval
    low, high = ratio.interval
    assert low < 1.08 < high < 1.11
    assert low > 1.05
    assert found["mean"].ratio == pytest.approx(1 / ratio.ratio)
    assert "CPU a request" not in found
    assert ratio.sentence.startswith("webflux against mvc at 50 users: throughput × 1.0")
    assert ratio.sentence.endswith("in 4 starts of 10 windows.")
    assert ratio.advice == ""


def test_starts_that_differ_ask_for_more_starts_and_windows_for_more_windows(run):
    """With what to type, and how long that takes."""
    rates = noisy(3, 10)
    rates["webflux"] *= np.array([0.9, 1.0, 1.1])[:, None]
    (ratio,) = window_ratios.of_run(run(rates), ("throughput",))
    assert ratio.advice.startswith("± 3% would take more starts:")
    assert "--repeat" in ratio.advice
    rates = noisy(3, 10)
    rates["webflux"] = rates["webflux"] * np.exp(np.tile([0.3, -0.3], (3, 5))) * np.array([0.95, 1.0, 1.05])[:, None]
    (ratio,) = window_ratios.of_run(run(rates), ("throughput",))
    assert "more windows" in ratio.advice


def test_what_is_advised_can_be_typed_and_says_which_of_both_is_more(run):
    """The starts and windows that it names are those that a run so typed has."""
    of_a_second = ((3, 12, 0.3, 12), (3, 30, 0.2, 30), (2, 6, 0.1, 6), (4, 30, 0.5, 30), (5, 6, 0.02, 6))
    for starts, rounds, spread, duration in (*of_a_second, (3, 18, 0.3, 20), (3, 24, 0.3, 21), (4, 18, 0.1, 16)):
        chance = np.random.default_rng(starts * rounds)
        luck = chance.normal(0, spread, (3, starts, rounds)) + chance.normal(0, 0.03, (3, starts, 1))
        names = ("mvc", "mvc-virtual", "webflux")
        folder = run(dict(zip(names, 1000 * np.exp(luck), strict=True)), duration=duration)
        for ratio in window_ratios.of_run(folder, ("throughput",)):
            said = re.search(r"take (.*): (\d+) starts of (\d+) .*--repeat (\d+) --duration (\d+)", ratio.advice)
            assert said, ratio.advice
            more, advised, windows = said[1], int(said[2]), int(said[3])
            typed = Options(users=[50], duration=int(said[5]), repeat=int(said[4]), interleave="windows", seed=1)
            plan = planning.make_plan(scenarios()["jwt"], typed, HERE)
            assert {cell.load.windows for cell in plan.cells} == {windows}
            assert len(plan.starts) == advised
            assert ("more starts" in more, "more windows" in more) == (advised > starts, windows > rounds)
            assert "more" in more


@pytest.mark.parametrize(("verdicts", "asked"), [(("valid",) * 6, 1), (("valid", "invalid") * 3, 2)])
def test_the_advice_allows_for_starts_that_do_not_count(run, verdicts, asked):
    """Where every second start was invalid, twice as many are asked for as are needed, and that takes twice as long."""
    chance = np.random.default_rng(5)
    apart = chance.normal(0, 0.1, (6, 1)) + chance.normal(0, 0.05, (6, 10))
    (ratio,) = window_ratios.of_run(
        run({"mvc": np.full((6, 10), 1e3), "webflux": 1e3 * np.exp(apart)}, verdicts), ("throughput",)
    )
    said = re.search(
        r": (\d+) starts of (\d+) windows, about (\d+) min .*: --repeat (\d+) --duration \d+(.*)\.$", ratio.advice
    )
    assert said, ratio.advice
    starts, windows, minutes = map(int, said.groups()[:3])
    assert int(said[4]) == asked * starts
    assert said[5] == ", as 3 of 6 starts did not count" * (asked == 2)
    assert minutes == pytest.approx(asked * starts * (ratio.start_s + windows * ratio.round_s) / 60, abs=1)


def test_one_start_of_several_asks_for_as_many_more(run):
    """One of four was valid: four that count take sixteen."""
    (ratio,) = window_ratios.of_run(run(noisy(), ("valid", "invalid", "invalid", "invalid")), ("throughput",))
    assert ratio.advice.endswith("--repeat 16, as 3 of 4 starts did not count.")


def test_two_that_never_took_turns_are_compared_by_what_both_took_turns_with(run):
    """The machine is half as fast in each second batch; what both batches share tells that from the variants."""
    starts, rounds, chance = 4, 10, np.random.default_rng(3)
    speed = np.tile([1.0, 0.5], starts)[:, None] * chance.choice([1.0, 1.4], (2 * starts, rounds))
    one, two, three = 1000 * speed * np.exp(chance.normal(0, 0.01, (3, 2 * starts, rounds)))
    folder = run({"mvc": one, "mvc-virtual": 1.1 * two, "webflux": 1.32 * three}, starts=starts)
    assert in_turns.batch_count(folder.plan()) == 2
    found = {(ratio.a, ratio.b): ratio for ratio in window_ratios.of_run(folder, ("throughput",))}
    ratio = found["mvc-virtual", "webflux"]
    assert (ratio.ratio, ratio.levels.starts, ratio.by_way_of) == (pytest.approx(1.2, rel=0.02), starts, "mvc")
    assert ratio.interval
    assert ratio.interval[0] > 1.15
    assert "in 4 starts of 10 windows, each beside mvc." in ratio.sentence
    assert found["mvc", "webflux"].by_way_of == ""
    compared = pairing.compare(
        f"{folder.path}:mvc-virtual", f"{folder.path}:webflux", pairing.Terms(), folder.path.parent
    )
    (row,) = [row for row in compared.rows if row.metric == "throughput req/s"]
    assert row.ratio
    assert (row.ratio.ratio, row.ratio.pairs) == (pytest.approx(ratio.ratio), starts)
    assert row.differs


def test_starts_that_one_side_lost_are_compared_with_none_of_another_batch(run):
    """Whenever the one that both batches share was up beside the other one, it was invalid: there is no pair."""
    rates = {name: np.full((8, 10), 1000.0) for name in ("mvc", "mvc-virtual", "webflux")}
    folder = run(rates, ("valid", "invalid") * 4, starts=4)
    for name, repeats in (("mvc-virtual", 4), ("webflux", 0)):
        found = pairing.compare(f"{folder.path}:mvc", f"{folder.path}:{name}", pairing.Terms(), folder.path.parent)
        assert {row.pairs for row in found.rows if row.metric in (comparison.FAILED, "throughput req/s")} == {repeats}


def test_one_start_has_no_interval_and_is_told_what_gives_one(run):
    """A thousand windows of one start say nothing of the next."""
    (ratio,) = window_ratios.of_run(run(noisy(1, 30)), ("throughput",))
    assert ratio.interval is None
    assert "which one start cannot judge" in ratio.sentence
    assert "--repeat" in ratio.advice


def test_a_start_that_was_not_measured_to_its_end_decides_nothing(run):
    """Nor does one with an invalid cell."""
    (ratio,) = window_ratios.of_run(run(noisy(), ("valid", "invalid", "suspect", "valid")), ("throughput",))
    assert ratio.levels.starts == 3


def test_a_window_without_a_right_answer_counts(run):
    """One that failed for a third of its windows is a third slower, and not as fast as in those that were good."""
    rates = noisy(3, 6)
    rates["webflux"][:, ::3] = 0.0
    folder = run(rates)
    (ratio,) = window_ratios.of_run(folder, ("throughput",))
    assert [len(logs) for logs in ratio.logs] == [1, 1, 1]
    expected = [webflux.mean() / mvc.mean() for mvc, webflux in zip(rates["mvc"], rates["webflux"], strict=True)]
    assert [math.exp(mean) for mean in ratio.levels.means] == pytest.approx(expected)
    compared = pairing.compare(str(folder.path), None, pairing.Terms(), folder.path.parent)
    (row,) = [row for row in compared.rows if row.metric == "throughput req/s"]
    assert row.ratio
    assert row.ratio.ratio == pytest.approx(ratio.ratio)
    of_starts = rates["webflux"].mean(axis=1)
    assert row.b_value == pytest.approx(inference.typical(of_starts.tolist()))


def test_one_that_answered_nothing_right_has_no_ratio(run):
    """Nor an interval made of what is left."""
    rates = noisy(2, 6)
    rates["webflux"][:] = 0.0
    assert window_ratios.of_run(run(rates), ("throughput",)) == []


@pytest.mark.parametrize(("short", "figures"), [(False, {"throughput", "mean", "p99"}), (True, {"throughput", "mean"})])
def test_a_tail_is_compared_only_where_each_window_has_one(run, short, figures):
    """The windows with enough answers for a 99th percentile are the fast ones."""
    folder = run(noisy(3, 6))
    for cell in folder.cells():
        rows = cell.read("windows")["windows"]
        for window in rows:
            window["p99_s"] = 0.1
        if short and cell.cell.variant == "webflux":
            rows[2]["p99_s"] = None
        cell.keep("windows", {"windows": rows})
    assert {ratio.figure for ratio in window_ratios.of_run(folder)} == figures
    tails = [window_ratios.typical(cell, "p99_s") for cell in folder.cells() if cell.cell.variant == "webflux"]
    assert tails == [None if short else pytest.approx(0.1)] * 3


@pytest.mark.parametrize("by_way_of_windows", [True, False])
def test_tails_are_compared_by_windows_only_where_those_of_all_starts_have_one(run, by_way_of_windows):
    """The starts whose windows have answers enough are the fast ones; else both sides are taken as a whole, all alike.

    The 99th percentile of a whole load is above those of most windows: one against the other is no ratio of anything.
    """
    folder = run(noisy(3, 6))
    for cell in folder.cells():
        short = not by_way_of_windows and (cell.cell.variant, cell.cell.repeat) == ("webflux", 2)
        rows = [{**window, "p99_s": None if short else 0.1} for window in cell.read("windows")["windows"]]
        cell.keep("windows", {"windows": rows})
        cell.keep("summary", {**cell.read("summary"), "p99_s": 0.3})
    assert ("p99" in {ratio.figure for ratio in window_ratios.of_run(folder)}) is by_way_of_windows
    found = pairing.compare(str(folder.path), None, pairing.Terms(), folder.path.parent)
    (row,) = [row for row in found.rows if row.metric == "p99 s"]
    value = 0.1 if by_way_of_windows else 0.3
    assert (row.a_value, row.b_value) == (pytest.approx(value), pytest.approx(value))
    assert row.ratio
    assert (row.ratio.ratio, row.ratio.pairs) == (pytest.approx(1), 3)


def test_the_cpu_of_a_few_requests_is_not_compared_in_windows(run):
    """It is the JVM's background work, whatever windows it is divided by."""
    folder = run(noisy(3, 6))
    for cell in folder.cells():
        rows = [{**window, "cpu_s_per_1000_requests": 2.0} for window in cell.read("windows")["windows"]]
        cell.keep("windows", {"windows": rows})
    for requests, compared in ((1000, True), (60, False)):
        for cell in folder.cells():
            cell.keep("summary", {**cell.read("summary"), "requests": requests})
        found = pairing.compare(str(folder.path), None, pairing.Terms(), folder.path.parent)
        assert any(row.metric == comparison.CPU and row.ratio for row in found.rows) is compared


def test_a_comparison_is_of_the_windows_by_start(run):
    """`lab compare` gives the same ratio and the same interval, and says what they rest on."""
    folder = run(noisy())
    found = pairing.compare(str(folder.path), None, pairing.Terms(), folder.path.parent)
    (row,) = [row for row in found.rows if row.metric == "throughput req/s"]
    (ratio,) = window_ratios.of_run(folder, ("throughput",))
    assert row.ratio
    assert row.ratio.ratio == pytest.approx(ratio.ratio)
    assert (row.ratio.low, row.ratio.high) == pytest.approx(ratio.interval)
    assert row.ratio.pairs == 4
    assert row.differs
    assert found.in_windows == (ratio.sentence,)
    assert json.dumps(found.as_json()["in_windows"])


def test_the_table_of_ratios_and_what_idle_services_cost(run):
    """For notebooks; and a sentence under the run's table."""
    folder = run(noisy())
    table = Run(folder).window_ratios()
    row = table[table["figure"] == "throughput"].iloc[0]
    assert (row["starts"], row["windows"]) == (4, 10)
    assert row["within"] == pytest.approx(0.014, rel=0.4)
    assert math.log(row["high"] / row["low"]) < 0.06
    assert "used 0.4% of a core meanwhile" in window_ratios.of_idle_services(folder)
    assert Run(folder).windows_figure().png()


def test_a_run_by_cells_has_no_ratios_of_windows(plan, tmp_path):
    """And nothing is said of neighbours, as nobody was up meanwhile."""
    folder = RunFolder.create(plan, ["test"], {}, tmp_path)
    assert window_ratios.of_run(folder) == []
    assert window_ratios.of_idle_services(folder) == ""
