"""Published experiments: scaled with ratios kept, beside their tables, and claims that can come out either way."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from machines import HERE
from one_sentence import assert_refused
from scipy import stats

import lab
from lab.analysis import comparison, verdict, window_ratios
from lab.cli.commands import reproduce
from lab.errors import LabError
from lab.experiments import find_publication, publications, scenarios
from lab.experiments.delay import claims as delay
from lab.experiments.document import claims as document
from lab.experiments.jwt import claims as jwt
from lab.experiments.reproduction import judging, results
from lab.experiments.reproduction.judging import NEAR, ClaimCheck, Noise, decide, pooled
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    NOT_JUDGED,
    REFUTED,
    UNDECIDED,
    VARIANTS,
    Repeat,
    ReproducedRow,
)
from lab.experiments.reproduction.rows import Measured, rows_of
from lab.formulas import queueing
from lab.reporting import formatting
from lab.reporting.run_view import Run
from lab.runtimes import host
from lab.runtimes.checkout import ROOT
from lab.spec import planning, prediction, schedule
from lab.spec.options import Options
from lab.spec.plan import Cell, Plan
from lab.spec.workload import Ramp
from lab.storage.published import PublishedRow
from lab.storage.run_folder import RunFolder

ALL = pytest.mark.parametrize("name", list(publications()))
T, T_S = 200, 2.0
# Three repeats this far apart have an interval of 2.5 % to either side: half of the tolerance.
APART = 0.01


def repeat(mean_s: float, rps: float = 1.0, failed: float = 0.0, number: int = 1, verdict: str = "valid") -> Repeat:
    """One measurement."""
    return Repeat(number, mean_s, rps, rps * (1 - failed), failed, verdict, usable=verdict != "invalid")


def thrice(mean_s: float, rps: float = 1.0, failed: float = 0.0, verdict: str = "valid") -> tuple[Repeat, ...]:
    """Three repeats around these figures; their ratios to three of another row are all the same."""
    apart = enumerate((1 - APART, 1.0, 1 + APART), 1)
    return tuple(repeat(factor * mean_s, factor * rps, failed, number, verdict) for number, factor in apart)


def row(
    variant: str, users: int, *repeats: Repeat, part: str = "", servers: float | None = None, **other
) -> ReproducedRow:
    """A row of the document with what was measured of it."""
    values = {"published": None, "model_mean_s": None, "service_s": T_S, "last_start_s": 0.0, "answer_bytes": 0}
    values |= {"link_rate": 0.0, **other}
    held = T if variant == "mvc" and servers is None else servers
    return ReproducedRow(
        part=part, users=users, measured_users=users, variant=variant, servers=held, repeats=repeats, **values
    )


@pytest.mark.parametrize(
    ("means_s", "word"),
    [((2.0, 2.04), CONFIRMED), ((2.0, 2.9), REFUTED), ((2.0, 2.09), UNDECIDED)],
)
def test_a_latency_that_is_said_to_stay_at_t(means_s, word):
    """Near t at every load, far from it at one, or so near the limit that three repeats cannot tell."""
    rows = [row("webflux", users, *thrice(mean)) for users, mean in zip((1, 4000), means_s, strict=True)]
    found, evidence = delay.keeps_t("webflux").judge(rows)
    assert found == word
    assert evidence.endswith(".")
    assert ("R = 4,000" in evidence) or word == CONFIRMED


@pytest.mark.parametrize(
    ("rates", "word"), [((98.0, 99.8), CONFIRMED), ((98.0, 160.0), REFUTED), ((98.0, 104.0), UNDECIDED)]
)
def test_a_plateau_at_t_threads_over_t_seconds(rates, word):
    """200 threads of 2 s each answer 100 a second, or they do not."""
    rows = [row("mvc", users, *thrice(9.0, rate)) for users, rate in zip((2000, 4000), rates, strict=True)]
    assert delay.plateau(rows)[0] == word


@pytest.mark.parametrize(
    ("mean_s", "total_s", "words"),
    [(20.5, 40.0, (CONFIRMED, REFUTED)), (40.0, 40.0, (CONFIRMED, CONFIRMED)), (20.5, 80.0, (REFUTED, REFUTED))],
)
def test_the_formula_is_tried_as_a_total_and_as_a_mean(mean_s, total_s, words):
    """⌈4000/200⌉·2 s are 40 s: for all requests, on average, or neither."""
    rows = [row("mvc", 4000, *thrice(mean_s, 4000 / total_s))]
    assert (delay.formula_total(rows)[0], delay.formula_mean(rows)[0]) == words


@pytest.mark.parametrize(("ratio", "times", "word"), [(1.57, 5, CONFIRMED), (1.01, 5, REFUTED), (1.57, 1, UNDECIDED)])
def test_a_size_that_was_claimed(ratio, times, word):
    """57 % faster is confirmed by 57 % in five repeats, refuted by 1 %, and one measurement decides nothing."""
    numbers = range(1, times + 1)
    fast = [replace(repeat(0.01, 1000 * ratio), number=number) for number in numbers]
    slow = [replace(repeat(0.01, 1000.0), number=number) for number in numbers]
    rows = [row("webflux", 50, *fast), row("mvc-virtual", 50, *slow)]
    assert jwt.by_as_much(rows, jwt.PUBLISHED_PAIR)[0] == word


@pytest.mark.parametrize(
    ("rates", "p99s_s", "word"),
    [
        ((1570.0, 1570.0), (0.01, 0.01), CONFIRMED),  # three points a load
        ((1570.0, 1000.0), (0.01, 0.01), CONFIRMED),
        ((1000.0, 1000.0), (0.01, 0.01), REFUTED),  # nobody has any
        ((1100.0, 1000.0), (0.01, 0.02), REFUTED),  # one point, and three for the other
    ],
)
def test_a_scorecard_that_is_won(rates, p99s_s, word):
    """By the points of all loads and measurements together, by hand; measured once it is undecided."""
    rows = []
    for users, rate, p99_s in zip((50, 300), rates, p99s_s, strict=True):
        for variant, rps, slowest_s in (("webflux", rate, p99_s), ("mvc-virtual", 1000.0, 0.01)):
            figures = {"p99_s": slowest_s, "cpu_s_per_1000_requests": 0.1}
            rows.append(row(variant, users, *(replace(each, figures=figures) for each in thrice(0.01, rps))))
    pair = ("webflux", "mvc-virtual")
    assert jwt.wins_the_scorecard(rows, pair)[0] == word
    once = [replace(each, repeats=each.repeats[:1]) for each in rows]
    assert jwt.wins_the_scorecard(once, pair)[0] == UNDECIDED
    assert jwt.wins_the_scorecard([], pair)[0] == UNDECIDED


def test_who_is_faster_is_not_encoded():
    """Whichever of two variants is the faster one, the same claim gives the word that fits."""
    for fast, slow, word in (("webflux", "mvc-virtual", CONFIRMED), ("mvc-virtual", "webflux", REFUTED)):
        rows = [row(fast, 50, *thrice(0.01, 2000.0)), row(slow, 50, *thrice(0.02, 1000.0))]
        assert jwt.is_faster(rows, jwt.PUBLISHED_PAIR)[0] == word


@pytest.mark.parametrize(
    ("short", "large", "words"),
    [
        (0.14, 0.0, (CONFIRMED, CONFIRMED)),
        (0.14, 0.14, (CONFIRMED, REFUTED)),
        (0.0, 0.0, (REFUTED, UNDECIDED)),
    ],
)
def test_errors_that_a_larger_backlog_should_cure(short, large, words):
    """Cured, not cured, or nothing to cure."""
    rows = [row("mvc", 4000, *thrice(9.0, 95.0, short), part=delay.SHORT)]
    rows += [row("mvc", 4000, *thrice(9.0, 95.0, large), part=delay.LARGE)]
    assert (delay.short_backlog_fails(rows)[0], delay.large_backlog_cures(rows)[0]) == words


def test_failures_by_a_short_backlog_are_judged_at_the_documents_size_alone():
    """A tenth of the users come at a tenth of the rate: whether any fail says nothing of the document's, either way."""
    for failed in (0.0, 0.1388):
        fewer = [replace(row("mvc", 4000, *thrice(9.0, 95.0, failed), part=delay.SHORT), measured_users=400)]
        for judge in (delay.short_backlog_fails, delay.fails_as_published):
            word, evidence = judge(fewer)
            assert word == NOT_JUDGED
            assert "made for 4,000 users, and this was measured with 400: python -m lab reproduce delay-ov" in evidence


@pytest.mark.parametrize(
    ("ratio", "word"), [(0.5, CONFIRMED), (0.53, CONFIRMED), (0.479, REFUTED), (0.54, REFUTED), (1.0, REFUTED)]
)
def test_half_the_time_is_that_of_the_formula(ratio, word):
    """In waves of 5 s: (4·5 + 0.75)/(8·5 + 0.875) is 0.508, as those of the last wave start late in the ramp."""
    parts = ((50, 0.875, 1.0), (100, 0.75, 1 / ratio))
    rows = [
        row("mvc", 400, *thrice(20.0, rate), part=f"pool {pool}", servers=pool, service_s=5.0, last_start_s=last_s)
        for pool, last_s, rate in parts
    ]
    one_run = [replace(each, runs=frozenset({"together"})) for each in rows]
    assert document.more_connections_help(one_run)[0] == word


@pytest.mark.parametrize(("at_50_s", "word"), [(11.4, CONFIRMED), (28.2, REFUTED), (12.2, REFUTED)])
def test_the_story_of_a_hundred_connections(at_50_s, word):
    """If the pool decided, 50 users would be served as fast as one; the published 28.2 s refute it."""
    rows = [row(v, users, *thrice(s)) for v in VARIANTS for users, s in ((1, 11.4), (50, at_50_s))]
    assert document.flat_below_pool(rows)[0] == word


@pytest.mark.parametrize(("rate", "word"), [(3.43, CONFIRMED), (8.0, REFUTED)])
def test_the_plateau_of_a_link(rate, word):
    """3.5 MB/s are 3.43 documents a second."""
    rows = [row("mvc", 400, *thrice(69.0, rate), answer_bytes=1_019_684, link_rate=3.5e6)]
    assert document.plateau_of_link(rows)[0] == word


def as_theory_says(name: str, scale: float) -> list[ReproducedRow]:
    """An experiment in a world where each request takes t, and waits for nothing but a thread or a connection."""
    experiment, rows = find_publication(name), []
    for part in experiment.parts:
        plan = experiment.plan(part, scale)
        cells = [_queue(plan, cell) for cell in plan.cells]
        repeats = [{**cell, "repeat": number} for number in (1, 2, 3) for cell in cells]
        rows += rows_of(experiment, part, scale, Measured(plan, repeats))
    return rows


def _queue(plan: Plan, cell: Cell) -> dict[str, Any]:
    variant, parameters = plan.scenario.variant(cell.variant), plan.parameters_of(cell)
    t = prediction.service_s(plan, cell) or prediction.moved_bytes(plan) / plan.link.connection_rate
    starts_s = schedule.planned_s(cell.load, prediction.ANY_SEED)
    latencies = queueing.burst_latencies(starts_s, t, prediction.servers(plan, variant, parameters), cell.load.loops)
    rate = cell.load.users / (starts_s + latencies).max()
    figures = {"mean_s": latencies.mean(), "throughput_rps": rate, "ok_throughput_rps": rate, "errors": {}}
    about = {"variant": cell.variant, "users": cell.load.users, "repeat": 1, "verdict": "valid"}
    return {**figures, **about, "requests": len(latencies)}


def scales(name: str) -> list[float]:
    """Those at which all parts of an experiment are possible."""
    parts = find_publication(name).parts
    return [scale for scale in parts[0].scales if all(scale in part.scales for part in parts)]


@pytest.mark.parametrize(
    ("name", "refuted"),
    [
        (
            "delay",
            {"⌈R/T⌉·t is the mean latency."},
        ),
        ("document-latency", set()),
    ],
)
def test_a_scale_changes_no_word(name, refuted):
    """Where the model holds, every claim gets the same word at every scale that is possible, the smallest included."""
    for scale in scales(name):
        findings = find_publication(name).judge(as_theory_says(name, scale))
        assert {finding.claim for finding in findings if finding.word == REFUTED} == refuted, scale
        assert all(finding.word != UNDECIDED for finding in findings), (scale, findings)


def test_ten_threads_that_keep_their_formula_confirm_it():
    """Three repeats are enough at every scale, although the last of ten users starts late in the ramp."""
    for scale in scales("document-fixed"):
        found, evidence = document.ten_threads_wait(as_theory_says("document-fixed", scale))
        assert found == CONFIRMED, (scale, evidence)


def test_one_measurement_is_not_held_against_itself():
    """Where one user stands for R = 1 and R = 50, the story of the pool is open; where two do, the link refutes it."""
    words = {}
    for scale in (1.0, 0.04, 0.02):
        part = document.DOCUMENT.parts[0]
        rows = rows_of(document.DOCUMENT, part, scale, Measured(document.DOCUMENT.plan(part, scale)))
        over_link = [replace(row, repeats=thrice(row.model_mean_s)) for row in rows]
        words[scale], evidence = document.flat_below_pool(over_link)
    assert words == {1.0: REFUTED, 0.04: REFUTED, 0.02: UNDECIDED}
    assert "one measurement stands for R = 1 and for R = 50" in evidence


def test_an_invalid_cell_decides_nothing():
    """A claim that would be confirmed or refuted by an invalid measurement is undecided, and says why."""
    for mean_s in (2.0, 9.0):
        rows = [row("webflux", 1, *thrice(2.0)), row("webflux", 4000, *thrice(mean_s, verdict="invalid"))]
        found, evidence = delay.keeps_t("webflux").judge(rows)
        assert found == UNDECIDED
        assert "webflux at R = 4,000: nothing was measured to judge it by" in evidence


def test_a_cell_without_a_request_decides_nothing():
    """However its verdict reads, an empty cell neither failed nor kept up: every claim stays undecided."""
    plan = delay.DELAY.plan(delay.DELAY.parts[0], 1.0)
    empty = {"mean_s": None, "throughput_rps": 0.0, "ok_throughput_rps": 0.0, "errors": {}, "requests": 0}
    cells = [
        {**empty, "variant": c.variant, "users": c.load.users, "repeat": 1, "verdict": "valid"} for c in plan.cells
    ]
    rows = rows_of(delay.DELAY, delay.DELAY.parts[0], 1.0, Measured(plan, cells))
    assert {finding.word for finding in delay.DELAY.judge(rows)} == {UNDECIDED, NOT_JUDGED}


def test_a_suspect_cell_decides_and_is_called_so():
    """A measurement with a doubt counts, and the evidence says that it has one."""
    found, evidence = delay.keeps_t("webflux").judge([row("webflux", 4000, *thrice(2.0, verdict="suspect"))])
    assert found == CONFIRMED
    assert "webflux at R = 4,000 (suspect): 2 s" in evidence


def test_one_valid_counterexample_is_enough():
    """What is missing elsewhere does not save a claim."""
    rows = [row("webflux", 1), row("webflux", 4000, *thrice(9.0))]
    assert delay.keeps_t("webflux").judge(rows)[0] == REFUTED


def test_repeats_narrow_what_is_known():
    """Two that disagree decide nothing; five that agree decide what one could not."""
    single = ClaimCheck("x", (2.15,), 1.8, 2.2)
    assert single.word == UNDECIDED
    assert replace(single, values=(2.14, 2.15, 2.16, 2.15, 2.15)).word == CONFIRMED
    assert replace(single, values=(1.9, 2.4)).word == UNDECIDED


@pytest.mark.parametrize(("mean_s", "where"), [(2.0, "within"), (9.0, "outside")])
def test_what_was_measured_once_decides_nothing_and_says_what_it_can(mean_s, where):
    """Where nobody knows how far the next measurement would lie, the number stands beside the claim, without a word."""
    found, evidence = delay.keeps_t("webflux").judge([row("webflux", 4000, repeat(mean_s))])
    assert found == UNDECIDED
    assert evidence.startswith("Measured once, which gives no interval (--repeat 3 does): ")
    assert f"webflux at R = 4,000: {mean_s:.3g} s, {where} the claimed 1.9 to 2.1 s" in evidence


@pytest.mark.parametrize(("apart", "word"), [(0.001, CONFIRMED), (0.1, UNDECIDED)])
def test_earlier_repeats_on_this_machine_show_what_one_measurement_is_worth(apart, word):
    """If repeats of the same cell lay close together, one more decides; if they lay far apart, it does not."""
    earlier = {"before": tuple(repeat(2.0 * factor) for factor in (1 - apart, 1.0, 1 + apart))}
    found, evidence = delay.keeps_t("webflux").judge([row("webflux", 4000, repeat(2.0), earlier=earlier)])
    assert found == word
    assert "Measured once" not in evidence


def test_the_noise_of_a_ratio_is_that_of_earlier_ratios():
    """Sides that slow down together have a steady ratio, however far apart their rates are."""
    numbered = enumerate((500.0, 1000.0, 2000.0), 1)
    slow = {"before": tuple(repeat(1.0, rate, number=number) for number, rate in numbered)}
    fast = {"before": tuple(replace(r, ok_rps=1.3 * r.ok_rps) for r in slow["before"])}
    rows = [row("webflux", 50, repeat(1.0, 1300.0), earlier=fast)]
    rows += [row("mvc-virtual", 50, repeat(1.0, 1000.0), earlier=slow)]
    assert jwt.is_faster(rows, jwt.PUBLISHED_PAIR)[0] == CONFIRMED
    assert (
        jwt.is_faster([rows[0], replace(rows[1], earlier={"other": slow["before"]})], jwt.PUBLISHED_PAIR)[0]
        == UNDECIDED
    )


def test_what_took_turns_in_other_batches_is_paired_by_the_start_that_both_had(monkeypatch):
    """Memory holds two of three: the numbers of their repeats differ, and claims about both are judged all the same."""
    monkeypatch.setattr(host, "memory_mb", lambda: 10_000)
    jwt = find_publication("jwt")
    plan = jwt.plan(jwt.parts[0], 1.0, seed=1, repeat=3)
    rates = {"mvc": 5000.0, "mvc-virtual": 6000.0, "webflux": 9420.0}
    cells = [
        {
            **{"variant": cell.variant, "users": cell.load.users, "repeat": cell.repeat, "verdict": "valid"},
            **{"mean_s": 0.01, "throughput_rps": rates[cell.variant] * (1 + cell.repeat / 1000)},
            **{"ok_throughput_rps": rates[cell.variant] * (1 + cell.repeat / 1000), "requests": 1000, "errors": {}},
        }
        for cell in plan.cells
    ]
    rows = rows_of(jwt, jwt.parts[0], 1.0, Measured(plan, cells))
    numbers = {row.variant: [repeat.number for repeat in row.repeats] for row in rows}
    assert numbers == {"mvc": [1, 2, 3, 4, 5, 6], "mvc-virtual": [1, 3, 5], "webflux": [2, 4, 6]}
    words = {judged.claim: judged.word for judged in jwt.judge(rows)}
    assert words["WebFlux is 57 % faster than virtual threads."] == CONFIRMED
    assert words["Virtual threads are faster than platform threads."] == CONFIRMED


def test_a_start_that_one_side_lost_is_paired_with_none_of_another_batch(monkeypatch):
    """Which are pairs the plan says: where all of one's repeats beside the other are invalid, there is none."""
    monkeypatch.setattr(host, "memory_mb", lambda: 10_000)
    jwt = find_publication("jwt")
    plan = jwt.plan(jwt.parts[0], 1.0, seed=1, repeat=3)
    beside = {cell.repeat for cell in plan.cells if cell.variant == "mvc-virtual"}
    cells = [
        {
            **{"variant": cell.variant, "users": cell.load.users, "repeat": cell.repeat, "mean_s": 0.01},
            **{"throughput_rps": 1e3 + cell.repeat, "ok_throughput_rps": 1e3 + cell.repeat, "errors": {}},
            "verdict": "invalid" if cell.variant == "mvc" and cell.repeat in beside else "valid",
            "requests": 1000,
        }
        for cell in plan.cells
    ]
    rows = {row.variant: row for row in rows_of(jwt, jwt.parts[0], 1.0, Measured(plan, cells))}
    for pair, repeats in ((("mvc-virtual", "mvc"), 0), (("webflux", "mvc"), 3), (("webflux", "mvc-virtual"), 3)):
        (check,) = judging.ratios([tuple(rows[name] for name in pair)], judging.ok_rps, 1.05, math.inf)
        assert len(check.values) == repeats, pair


def test_parts_that_were_measured_one_after_the_other_are_independent():
    """Nothing pairs their repeats: the interval is Welch's, as scipy has it, whatever their numbers are."""
    short, long = (2.0, 2.1, 2.2), (1.0, 1.05, 1.1)
    one = row("mvc", 10, *(repeat(s, number=n) for n, s in enumerate(short, 1)), part="short")
    other = row("mvc", 10, *(repeat(s, number=n) for n, s in enumerate(long, 1)), part="long")
    (paired,) = judging.ratios([(one, replace(other, part="short"))], judging.mean_s, 1.9, 2.1)
    assert paired.interval == pytest.approx((2.0, 2.0))
    (check,) = judging.ratios([(one, other)], judging.mean_s, 1.9, 2.1)
    theirs = stats.ttest_ind(*(np.log(side) for side in (short, long)), equal_var=False).confidence_interval()
    assert check.interval == pytest.approx((math.exp(theirs.low), math.exp(theirs.high)))
    assert (check.mean, check.word) == (pytest.approx(2.0), UNDECIDED)
    assert check.repeats_needed
    enough = [replace(part, repeats=part.repeats * 8) for part in (one, other)]
    assert judging.ratios([tuple(enough)], judging.mean_s, 1.9, 2.1)[0].word == CONFIRMED
    reverse = replace(other, repeats=tuple(replace(each, number=4 - each.number) for each in other.repeats))
    assert judging.ratios([(one, reverse)], judging.mean_s, 1.9, 2.1)[0].interval == check.interval
    (less,) = judging.differences([(one, other)], judging.mean_s, 1.0, 1.1, " s")
    theirs = stats.ttest_ind(short, long, equal_var=False).confidence_interval()
    assert less.interval == pytest.approx((theirs.low, theirs.high))
    with_none = replace(one, repeats=(repeat(0.0), *one.repeats[1:]))
    (linear,) = judging.ratios([(with_none, other)], judging.mean_s, 1.9, 2.1)
    assert (linear.is_ratio, linear.mean) == (False, pytest.approx((2.1 + 2.2) / 3 / 1.05))
    assert linear.word == UNDECIDED


def test_parts_that_the_same_starts_served_are_paired():
    """Where either run names the other as measured with it; without a usable repeat of one there is nothing."""
    short, long = (
        row("mvc", 10, *thrice(mean), part=part, runs=frozenset("ab")) for mean, part in ((2.0, "short"), (1.0, "long"))
    )
    assert judging.alike([(short, long)], judging.mean_s)[0].interval == pytest.approx((2.0, 2.0))
    alone = replace(long, runs=frozenset("c"))
    low, high = judging.alike([(short, alone)], judging.mean_s)[0].interval
    assert low < 1.98 < 2.02 < high
    assert judging.alike([(short, replace(alone, repeats=()))], judging.mean_s)[0].values == ()


def test_one_measurement_of_either_part_is_judged_by_the_noise_of_both():
    """Earlier repeats of each say how far the next one lies; of one alone they do not."""
    earlier = {"before": tuple(repeat(s) for s in (1.98, 2.0, 2.02))}
    one, other = (row("mvc", 10, repeat(2.0), part=part, earlier=earlier) for part in ("short", "long"))
    (check,) = judging.ratios([(one, other)], judging.mean_s, 0.95, 1.05)
    deviation = float(np.log([1.98, 2.0, 2.02]).std(ddof=1))
    assert (check.noise.deviation, check.noise.freedom) == pytest.approx((math.sqrt(2) * deviation, 4))
    assert check.word == CONFIRMED
    assert judging.ratios([(one, replace(other, earlier={}))], judging.mean_s, 0.95, 1.05)[0].word == UNDECIDED


def test_what_took_turns_is_judged_by_its_windows():
    """As `lab compare` judges the same run: by neighbouring windows, start by start, in both directions."""
    run = lab.open_run("jwt-windows")
    found = results.from_runs(find_publication("jwt"), [run], Path())
    by_variant = {row.variant: row for row in found.rows if row.repeats}
    webflux, virtual = by_variant["webflux"], by_variant["mvc-virtual"]
    (ratio,) = window_ratios.of_run(run.folder, ("throughput",), ("mvc-virtual", "webflux"))
    (check,) = judging.ratios([(webflux, virtual)], judging.ok_rps, 1.05, math.inf)
    assert check.interval == pytest.approx(ratio.interval)
    (other,) = judging.ratios([(virtual, webflux)], judging.ok_rps, 1.05, math.inf)
    assert other.mean == pytest.approx(1 / check.mean)
    (tail,) = judging.ratios([(webflux, virtual)], judging.figure("p99_s"), 1.05, math.inf)
    assert tail.values == tuple(webflux.in_turns["mvc-virtual", "p99_s"])
    assert judging.ratios([(replace(webflux, part="other"), virtual)], judging.ok_rps, 1, 2)[0].values != check.values


@pytest.mark.parametrize(
    ("rates", "advice"),
    [
        ((1.1, 1.2, 1.35), r"About \d+ repeats would decide it \(--repeat \d+, about \d+ min\)\.$"),
        ((0.9, 1.05, 1.2), r"More than 50 repeats would be needed to decide it\.$"),
    ],
)
def test_what_is_undecided_says_what_it_would_take(rates, advice):
    """Repeats, and how long these last; or that no number of them does, as where the mean lies on the limit."""
    sides = [
        row(name, 50, *(repeat(1.0, rate, number=n) for n, rate in enumerate(of, 1)), repeat_s=300.0)
        for name, of in (("webflux", rates), ("mvc-virtual", (1.0, 1.0, 1.0)))
    ]
    word, evidence = jwt.is_faster(sides, jwt.PUBLISHED_PAIR)
    assert word == UNDECIDED
    assert re.search(advice, evidence), evidence


def test_what_would_decide_allows_for_repeats_that_cannot_be_used():
    """Where two of five were invalid, as many will be of the next: more are asked for than are needed."""
    rates = (1.1, 1.2, 1.35)
    sides = []
    for name, of in (("webflux", rates), ("mvc-virtual", (1.0, 1.0, 1.0))):
        valid = [repeat(1.0, rate, number=n) for n, rate in enumerate(of, 1)]
        sides.append(row(name, 50, *valid, *(repeat(1.0, number=n, verdict="invalid") for n in (4, 5)), repeat_s=60.0))
    for found in (
        jwt.is_faster(sides, jwt.PUBLISHED_PAIR),
        decide(judging.near(sides[:1], judging.ok_rps, lambda _: 1.2, "/s")),
    ):
        said = re.search(r"About (\d+) repeats would decide it \(--repeat (\d+), about .*, as some could not", found[1])
        assert said, found
        assert int(said[2]) == math.ceil(int(said[1]) * 5 / 3)
    unmeasured = [
        replace(each, repeats=(*each.repeats[:3], *(replace(r, verdict="incomplete") for r in each.repeats[3:])))
        for each in sides
    ]
    assert "could not" not in jwt.is_faster(unmeasured, jwt.PUBLISHED_PAIR)[1]


def test_scatter_is_taken_together_over_groups():
    """By hand: sums of squares about each group's own mean, over the degrees of freedom of all."""
    assert pooled([(1.0, 3.0), (10.0, 10.0, 13.0), (7.0,)]) == Noise(math.sqrt((2 + 6) / 3), 3)
    assert pooled([(1.0,), ()]) is None


def test_a_claim_for_other_settings_is_not_judged():
    """13.88 % failures belong to a listen backlog of 100: elsewhere that is said, with what to measure instead."""
    rows = [row("mvc", 4000, *thrice(15.7, 110.9, 0.1388)), row("webflux", 4000, *thrice(2.0))]
    (failures,) = [finding for finding in delay.DELAY.judge(rows) if "13.88" in finding.claim]
    assert failures.word == NOT_JUDGED
    assert "made for a listen backlog of 100, and this is measured with 4,096" in failures.evidence
    assert "reproduce delay-overload" in failures.evidence
    short = [row("mvc", 4000, *thrice(15.7, 110.9, failed), part=delay.SHORT) for failed in (0.1388, 0.2)]
    words = [[f.word for f in delay.DELAY_OVERLOAD.judge([each]) if "13.88" in f.claim] for each in short]
    assert words == [[CONFIRMED], [REFUTED]]


def test_the_tolerance_is_that_of_the_scorecard():
    """A value that is said to be something may lie 5 % off, and the third repeat in agreement shows it."""
    assert NEAR == 0.05
    for off, word in ((1.02, CONFIRMED), (1.1, REFUTED)):
        assert delay.keeps_t("webflux").judge([row("webflux", 10, *thrice(T_S * off))])[0] == word


def test_few_failures_are_as_few_for_claims_comparisons_and_verdicts():
    """One request in a thousand, in percent or in points."""
    assert judging.FEW_PERCENT == comparison.FAILED_MARGIN == 100 * verdict.FAILED_SUSPECT_SHARE == 0.1


def test_the_interval_is_students():
    """Three repeats: the mean and 4.303 standard errors, as in every table of t."""
    low, high = ClaimCheck("x", (1.0, 2.0, 3.0), 0, 9).interval
    assert ((low + high) / 2, (high - low) / 2) == pytest.approx((2.0, 4.303 / math.sqrt(3)), rel=1e-3)


@pytest.mark.parametrize(("users", "word"), [(300, UNDECIDED), (4000, CONFIRMED)])
def test_no_failure_in_few_requests_is_no_proof_that_few_fail(users, word):
    """Three repeats without a failure scatter by nothing; of 900 requests one in a thousand fails unseen."""
    rows = [replace(row("mvc", 4000, *thrice(2.0), part=delay.LARGE), measured_users=users)]
    (check,) = judging.at_most(rows, judging.error_percent, lambda _: 0.1, " % failed")
    assert check.word == word
    assert check.interval[1] == pytest.approx(100 * -math.log(0.025) / (3 * users), rel=0.01)  # rule of three, at 2.5 %
    if word == UNDECIDED:
        assert 3 * users * check.repeats_needed / 3 == pytest.approx(-math.log(0.025) / 0.001, rel=0.1)
    less = judging.differences([(rows[0], replace(rows[0], variant="webflux"))], judging.error_percent, -0.1, 0.1, "")
    assert less[0].word == word


def test_the_interval_of_ratios_is_that_of_their_logarithms():
    """By hand: 0.5, 1 and 2 lie evenly about 1, and no end of it is below zero."""
    check = ClaimCheck("x", (0.5, 1.0, 2.0), 0.9, math.inf, " times", is_ratio=True)
    assert check.mean == pytest.approx(1.0)
    reach = 4.303 * math.log(2) / math.sqrt(3)
    assert check.interval == pytest.approx((math.exp(-reach), math.exp(reach)), rel=1e-3)
    assert check.word == UNDECIDED
    assert replace(check, low=0.3).repeats_needed == 4


@ALL
def test_nothing_measured_is_undecided(name):
    """Every claim of every experiment can be judged without a measurement, and does not guess."""
    experiment = find_publication(name)
    assert decide(())[0] == UNDECIDED
    rows = [row(v, users) for v in VARIANTS for users in (1, 50, 100, 400, 4000)]
    for nothing in ([], rows):
        assert {finding.word for finding in experiment.judge(nothing)} <= {UNDECIDED, NOT_JUDGED}


def ramp_of(cell: Cell) -> tuple[float, ...]:
    """How the load of a cell grows."""
    load = cell.load
    return (load.from_rps, load.to_rps, load.duration_s) if isinstance(load, Ramp) else (load.ramp_s,)


@ALL
@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_a_scale_keeps_the_ratios(name, scale):
    """R/T, R/N, the link's bytes for each user and ramp/t are the document's."""
    experiment = find_publication(name)
    for part in experiment.parts:
        if scale not in part.scales:
            with pytest.raises(LabError, match="Leave --scale out" if part.instead_of else "possible"):
                experiment.plan(part, scale)
            continue
        if part.of_programs:  # which have no limits
            continue
        full, plan = experiment.plan(part, 1.0), experiment.plan(part, scale)
        users, mine = max(c.load.users for c in full.cells), max(c.load.users for c in plan.cells)
        if users == 1:
            assert mine == 1  # who waits for nobody, whatever the limits are
            continue
        for one, other in (
            (full.limits.threads, plan.limits.threads),
            (full.limits.pool, plan.limits.pool),
            (full.link.rate, plan.link.rate),
        ):
            assert other / mine == pytest.approx(one / users)
        assert plan.parameters == full.parameters
        assert plan.link.connection_rate == full.link.connection_rate
        assert {ramp_of(c) for c in plan.cells} == {ramp_of(c) for c in full.cells}


@pytest.mark.parametrize(
    ("name", "scale"),
    [("document", 0.333), ("document", 0.05), ("document-latency", 0.05), ("document-fixed", 0.05)],
)
def test_a_scale_that_would_judge_something_else_is_refused(name, scale):
    """Half a connection, or two and a half users: what is possible is offered, and is."""
    experiment = find_publication(name)
    with pytest.raises(LabError, match=f"--scale {scale:g}") as caught:
        experiment.plan(experiment.parts[0], scale)
    offered = [float(number) for number in re.findall(r"\d\S*\d", caught.value.next_step)]
    assert offered
    assert all(experiment.plan(part, number) for part in experiment.parts for number in offered)


@pytest.mark.parametrize("scale", [0.0, -1.0, 0.001, 1.5, math.nan])
def test_a_scale_that_is_not_possible_is_said(scale):
    """Less than one connection, more than the document, or no number at all."""
    with pytest.raises(LabError, match="--scale"):
        delay.DELAY.plan(delay.DELAY.parts[0], scale)


def test_the_default_scale_is_the_largest_that_fits():
    """Cores and memory bound it; time does only where a smaller scale takes less."""
    small = delay.DELAY
    assert results.default_scale(small, 2, 16.0, lambda _: 400.0)[0] == 1.0
    assert results.default_scale(small, 1, 16.0, lambda _: 400.0)[0] == 0.5
    assert results.default_scale(small, 2, 1.0, lambda _: 400.0)[0] == 0.1
    assert results.default_scale(small, 8, 64.0, lambda _: 9000.0)[0] == 1.0
    refused = results.default_scale(small, 8, 64.0, lambda _: 400.0, lambda scale: "Too many files." * (scale > 0.5))
    assert refused == (0.5, "not the document's size: Too many files")
    scale, why = results.default_scale(small, 8, 64.0, lambda scale: 36_000 * scale)
    assert scale == 0.1
    assert "10.0 h" in why


def test_the_example_run_is_the_delay_experiment():
    """Seven published loads on three variants, each beside ours and the model, and every claim judged with numbers."""
    done = lab.reproduce("delay", from_run="delay-sweep")
    table = done.table()
    assert done.scale == 1.0
    assert sorted(set(table["users"])) == [1, 10, 100, 500, 1000, 2000, 4000]
    published = table[table["variant"] == "mvc"]
    assert list(published["published_mean_s"]) == [2.004, 2.002, 2.003, 3.284, 5.643, 10.115, 15.729]
    assert (abs(published["mean_s"] / published["model_mean_s"] - 1) < 0.02).all()
    words = {finding.claim: finding.word for finding in done.claims}
    assert len(words) == len(delay.DELAY.claims)
    assert set(words.values()) == {UNDECIDED, NOT_JUDGED}  # it was measured once
    formula = next(finding.evidence for finding in done.claims if finding.claim == "⌈R/T⌉·t is the mean latency.")
    assert "mvc at R = 4,000: 20.6 s, outside the claimed 38 to 42 s" in formula


def test_a_part_that_was_not_measured_is_undecided():
    """The example has the large backlog only: what is said about the short one stays open."""
    done = lab.reproduce("delay-overload", from_run="delay-sweep")
    assert {finding.word for finding in done.claims} == {UNDECIDED}
    assert done.table()["mean_s"].notna().sum() == 3


def made(folder: Path, name: str, options: Options) -> Run:
    """A run of an experiment's scenario as it is on disk before its first cell."""
    plan = planning.make_plan(scenarios()[find_publication(name).scenario], options, HERE)
    return Run(RunFolder.create(plan, [], {}, folder))


@pytest.mark.parametrize("name", list(publications()))
def test_a_run_has_the_scale_that_it_was_made_with(name, tmp_path):
    """Whichever of the loads it has."""
    experiment = find_publication(name)
    for scale in {1.0, 0.3, 0.1}.intersection(*([round(scale, 9) for scale in p.scales] for p in experiment.parts)):
        runs = []
        for part in experiment.parts:
            wish = part.scaled(scale)
            plan = planning.make_plan(experiment.scenario_of(part), replace(wish, users=wish.users[:1]), HERE)
            runs.append(Run(RunFolder.create(plan, [], {}, tmp_path)))
        done = results.from_runs(experiment, runs, tmp_path)
        assert done.scale == pytest.approx(scale)
        assert done.runs == tuple(runs)


@pytest.mark.parametrize(
    ("name", "asked", "named"),
    [
        ("delay", {"loops": 3}, "loops 3, not 1"),
        ("delay", {"arrivals": "poisson"}, "arrivals poisson, not even"),
        ("delay", {"timeout": 3.0}, "timeout_s 3, not 120"),
        ("delay", {"rate": 100.0, "duration": 20.0, "users": (300,)}, "load open, not burst"),
        ("delay", {"duration": 20.0}, "load closed, not burst"),
        ("delay", {"threads": 150}, "threads 150, not 200"),
        ("jwt", {"duration": 10.0}, "duration_s 10, not 20"),
        ("jwt", {"duration": None, "requests": 20_000, "interleave": "cells"}, "load total, not closed"),
        ("jwt", {"rate": 100.0, "users": (50,)}, "load open, not closed"),
        ("migration", {"nodes": 1}, "nodes 1, not 2"),
        ("migration", {"prometheus": False}, "prometheus off, not on"),
        (
            "migration",
            {"users": (10_000,), "loops": 4, "ramp_up": 5.0, "threads": 20, "variants": ("mvc-jpa", "webflux-r2dbc")},
            "heap_mb 2,048, not 256",
        ),
    ],
)
def test_another_load_is_not_judged(name, asked, named, tmp_path):
    """What the model or the claim is not about is refused, and what differs is said."""
    experiment = find_publication(name)
    run = made(tmp_path, name, replace(experiment.parts[0].options, **asked))
    with pytest.raises(LabError, match=re.escape(named)):
        results.from_runs(experiment, [run], tmp_path)


def test_a_run_of_jwt_says_that_it_is_measured_for_a_time(typed, tmp_path):
    """Twenty seconds are not the document's 5,000,000 requests."""
    run = made(tmp_path, "jwt", find_publication("jwt").parts[0].options)
    printed = typed("reproduce", "jwt", "--from", str(run.path)).stdout
    assert "for 20 s instead of 5,000,000 requests" in printed
    assert "At the document's size" not in printed
    assert results.from_runs(find_publication("jwt"), [run], tmp_path).scale == 1


def test_variants_take_turns_as_asked(typed):
    """By cells, or by windows where a load lasts; a burst has none, and says so."""
    by_cells, refused = (
        typed("reproduce", name, "--interleave", how, "--repeat", "1", "--dry-run")
        for name, how in (("jwt", "cells"), ("delay", "windows"))
    )
    assert by_cells.returncode == 0
    assert refused.returncode == 2
    assert "A burst cannot be measured in windows" in refused.stderr
    assert [part.options.interleave for part in find_publication("jwt").parts] == ["windows"]
    assert [part.options.interleave for part in find_publication("jwt").taking_turns("cells").parts] == ["cells"]


def test_a_scaled_run_shows_how_many_stood_for_r(typed, tmp_path):
    """Its own users are beside those of the document; at the document's size they would be the same."""
    run = made(tmp_path, "delay", delay.DELAY.parts[0].scaled(0.1))
    printed = typed("reproduce", "delay", "--from", str(run.path)).stdout
    assert "At 0.1 of the document's users" in printed
    assert re.search(r"^ *4,000 +mvc +400 ", printed, re.MULTILINE)
    assert not re.search("variant +users", typed("reproduce", "delay", "--from", "delay-sweep").stdout)


def test_runs_of_parts_that_differ_in_users_alone_are_told_apart(tmp_path):
    """In whichever order they are named."""
    experiment = find_publication("mongo-access")
    runs = [
        Run(RunFolder.create(experiment.plan(part, 1.0, seed=1), [], {}, tmp_path))
        for part in experiment.parts
        if part.name.startswith("add-one")
    ]
    assert [{cell.load.users for cell in run.plan.cells} for run in runs] == [{1}, {200}]
    for named in (runs, runs[::-1]):
        assert results.from_runs(experiment, named, tmp_path).runs == tuple(named)


def test_the_time_for_all_users_is_of_users_who_send_one_request():
    """Loops, and sessions of two requests, are no time for all."""
    once = row("mvc", 100, *thrice(1.0, 50.0))
    twice = replace(once, repeats=tuple(replace(each, requests_each=2.0) for each in once.repeats))
    assert results.flat(once)["total_s"] == pytest.approx(2.0, rel=1e-3)
    assert results.flat(twice)["total_s"] is None


FIGURES = ("mongo find", "before_knee_s", "prompt_share")


def with_figures() -> results.Reproduction:
    """The rows of two variants with figures, published ones beside those of one."""
    published = PublishedRow(50, "reactive", figures={"prompt_share": 0.35, "unnamed": 1.0})
    measured = [replace(repeat(0.01, number=n), figures={"mongo find": 2.0, "prompt_share": 0.1 * n}) for n in (1, 2)]
    rows = (row("webflux", 50, *measured, published=published), row("mvc", 50, repeat(0.01)))
    return results.Reproduction(replace(delay.DELAY, figures=FIGURES), 1.0, (), rows)


def test_figures_that_a_publication_names_stand_beside_published_ones():
    """As means over repeats for programs, and as columns of a notebook's table."""
    done = with_figures()
    ours, other = done.as_json()["rows"]
    assert ours["figures"] == {"mongo find": 2.0, "before_knee_s": None, "prompt_share": pytest.approx(0.15)}
    assert ours["published_figures"] == {"prompt_share": 0.35}
    assert (other["figures"], other["published_figures"]) == (dict.fromkeys(FIGURES), {})
    table = done.table()
    assert next(iter(table["mongo find"])) == 2.0
    assert next(iter(table["published prompt_share"])) == 0.35
    assert not {"figures", "published mongo find"} & set(table)
    assert "published prompt_share" in done._repr_html_()


def test_the_command_shows_figures_by_their_units(capsys):
    """A column for each that was measured or published, ours before the document's."""
    reproduce._print(with_figures())
    lines = [re.split("  +", line.strip()) for line in capsys.readouterr().out.splitlines()]
    (heading,) = [line for line in lines if "mongo find" in line]
    assert heading[-3:] == ["mongo find", "prompt %", "prompt %"]
    (ours,) = [line for line in lines if "webflux" in line]
    assert ours[-3:] == ["2", "15", "35"]


@pytest.mark.parametrize("name", ["delay", "delay-overload"])
def test_where_requests_failed_the_mean_of_all_stands_beside_the_published_one(name, capsys):
    """15.729 s are a mean of all requests, failed ones among them; where none failed that is the mean anyway."""
    experiment = find_publication(name)
    published = PublishedRow(4000, "sync", mean_s=15.729, errors_percent=13.88)
    figures = {"figures": {"all_mean_s": 15.5}}
    means = []
    for errors in ({"connect": 555}, {}):
        measured = [replace(each, **figures, errors=errors) for each in thrice(18.0, 110.0, 0.14 if errors else 0.0)]
        one = row("mvc", 4000, *measured, part=experiment.parts[0].name, published=published)
        reproduce._print(results.Reproduction(experiment, 1.0, (), (one,)))
        (ours,) = [line for line in capsys.readouterr().out.splitlines() if re.match(r" *4,000 +mvc ", line)]
        means.append([each for each in ours.split() if each in ("18.000", "15.500", "15.729")])
    assert means == [["18.000", "15.500", "15.729"], ["18.000", "15.729"]]


@pytest.mark.parametrize(
    ("name", "value", "heading", "text"),
    [
        ("mongo getMore", 51.13, "mongo getMore", "51.13"),
        ("mongo update", 1000.0, "mongo update", "1,000"),
        ("before_knee_s", 0.3, "before knee s", "0.300"),
        ("collapse_rps", 350.0, "collapse /s", "350.0"),
        ("prompt_share", 0.12, "prompt %", "12"),
        ("memory_bytes", 2_500_000.0, "memory MB", "2.5"),
        ("threads", None, "threads", "–"),
    ],
)
def test_a_figure_is_written_as_its_name_says(name, value, heading, text):
    """The end of a name is its unit."""
    assert (formatting.figure_heading(name), formatting.figure_text(name, value)) == (heading, text)


@pytest.mark.parametrize(("name", "runs"), [("jwt", ["delay-sweep"]), ("delay", ["delay-sweep", "delay-sweep"])])
def test_runs_that_do_not_belong_are_refused(name, runs):
    """A run of something else, or the same part twice, is named."""
    with pytest.raises(LabError, match="delay-sweep") as caught:
        lab.reproduce(name, from_run=runs)
    assert "reproduce" in caught.value.next_step


def test_the_command_prints_rows_claims_and_slips(typed):
    """A line a load and variant, narrow enough for any terminal, a word for each claim, and the document's slips."""
    done = typed("reproduce", "delay", "--from", "delay-sweep")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    table = [line for line in lines if re.match(r"[ \d,]{5}  mvc ", line)]
    assert [line.split()[0] for line in table] == ["1", "10", "100", "500", "1,000", "2,000", "4,000"]
    assert re.split("  +", table[-1]) == [
        "4,000",
        "mvc",
        "20.564",
        "20.525",
        "99.7",
        "0 %",
        "15.729",
        "110.9",
        "13.9 %",
    ]
    assert max(map(len, table)) <= 80
    words = [line.split()[0] for line in lines if line.startswith((CONFIRMED, REFUTED, UNDECIDED, NOT_JUDGED))]
    assert len(words) == len(delay.DELAY.claims)
    assert "ramp of 2 s" in done.stdout


def test_the_command_prints_json(typed):
    """One object, with the rows and the claims of the Python object."""
    printed = json.loads(typed("reproduce", "delay", "--from", "delay-sweep", "--json").stdout)
    assert printed == json.loads(json.dumps(lab.reproduce("delay", from_run="delay-sweep").as_json()))
    assert len(printed["rows"]) == 21


def test_it_repeats_what_fits_into_the_time(typed, tmp_path):
    """Three times what is quick, once what is slow; --repeat decides otherwise, and one time says what it is worth."""
    assert results.repeats_for_here(find_publication("chain"), 1.0, tmp_path) == 3
    assert results.repeats_for_here(find_publication("document"), 1.0, tmp_path) == 1
    wanted = find_publication("delay")
    times = results.repeats_for_here(wanted, 1.0, tmp_path)
    assert results.total_s(results.expected(wanted, 1.0, tmp_path, times)) <= 1500
    assert results.total_s(results.expected(wanted, 1.0, tmp_path, times + 1)) > 1500
    by_default, asked, once = (
        typed("reproduce", "delay", "--scale", "1", *more, "--dry-run", "--data", str(tmp_path)).stdout
        for more in ([], ["--repeat", "2"], ["--repeat", "1"])
    )
    assert f"each cell {times} times, as fits into 25 minutes" in by_default
    assert f"{21 * times} cells" in by_default
    assert "each cell 2 times\n" in asked
    assert "so claims are undecided" in once


def test_one_measurement_learns_from_an_earlier_run_with_repeats(tmp_path):
    """A run with repeats, of the same settings on the same machine, decides what a single one could not."""
    example = ROOT / "data" / "example" / "delay-sweep"
    single, repeated, elsewhere = (shutil.copytree(example, tmp_path / f"2026010{n}T000000Z-delay") for n in (1, 2, 3))
    assert not lab.reproduce("delay", str(single), data=tmp_path).rows[0].earlier
    for path, name in ((repeated, "example"), (elsewhere, "another")):
        thrice_on_disk(path)
        facts = json.loads((path / "environment.json").read_text())
        (path / "environment.json").write_text(json.dumps({**facts, "host": name}))
    done = lab.reproduce("delay", str(single), data=tmp_path)
    assert {tuple(row.earlier) for row in done.rows} == {(repeated.name,)}
    assert {finding.word for finding in done.claims} == {CONFIRMED, REFUTED, NOT_JUDGED}
    assert not lab.reproduce("delay", str(repeated), data=tmp_path).rows[0].earlier


def thrice_on_disk(path: Path) -> None:
    """Give a run that was measured once two more repeats of each cell, all alike."""
    stored = json.loads((path / "run.json").read_text())
    cells = stored["plan"]["cells"]
    stored["plan"]["cells"] = [{**cell, "repeat": number} for number in (1, 2, 3) for cell in cells]
    (path / "run.json").write_text(json.dumps(stored))
    for cell in list((path / "cells").iterdir()):
        for number in (2, 3):
            shutil.copytree(cell, cell.with_name(cell.name.removesuffix("1") + str(number)))


def test_the_command_lists_and_estimates(typed, tmp_path):
    """Without a name it lists the experiments; a dry run says what each part takes, and starts nothing."""
    listed = typed("reproduce").stdout
    assert all(name in listed for name in publications())
    planned = typed("reproduce", "document-latency", "--scale", "0.1", "--dry-run", "--data", str(tmp_path))
    assert planned.returncode == 0
    assert all(f"pool {pool}: 12 cells" in planned.stdout for pool in document.POOLS)
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_refuses_what_cannot_be_measured_here(typed, tmp_path, monkeypatch):
    """As the command itself does, and nothing is planned that could not be."""
    monkeypatch.setattr(host, "memory_mb", lambda: 1024)
    asked = ("reproduce", "delay", "--scale", "1", "--repeat", "1", "--data", str(tmp_path / "runs"))
    dry, wet = (typed(*asked, *more) for more in (["--dry-run"], []))
    assert_refused(dry, "this machine has 1,024 MiB")
    assert dry.stderr == wet.stderr[wet.stderr.index("error:") :]
    assert (dry.stdout, list(tmp_path.iterdir())) == ("", [])


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["dela"], "did you mean delay?"),
        (["delay", "--scale", "7"], "--scale 7"),
        (["delay", "--from", "delay-sweep", "--scale", "0.5"], "--scale has no effect"),
        (["delay", "--from", "nowhere"], "nowhere"),
    ],
)
def test_bad_input_is_said(typed, arguments, named):
    """One sentence, the next step, status 2."""
    done = typed("reproduce", *arguments)
    assert done.returncode == 2
    assert named in done.stderr
    assert "→" in done.stderr


@ALL
def test_an_experiment_names_its_document_and_its_slips(name):
    """Where it is from, what is odd about it, and a scenario that exists."""
    experiment = find_publication(name)
    assert experiment.scenario in scenarios()
    assert experiment.document
    assert experiment.slips


def test_a_run_that_lacks_a_cell_ends_with_what_to_do(typed, tmp_path):
    """The command that says why is printed as it can be typed, on one line, and the status is not zero."""
    run = shutil.copytree(ROOT / "data" / "example" / "delay-sweep", tmp_path / "20260101T000000Z-delay")
    next(run.glob("cells/*/summary.json")).unlink()
    done = typed("reproduce", "delay", "--from", str(run))
    assert done.returncode == 1
    assert re.search(r"^ .*[–%] +incomplete$", done.stdout, re.MULTILINE)
    assert "lab show RUN' shows the reason." in done.stderr
    assert "{" not in done.stderr
