"""What a comparison finds: different, alike or undecided, at the stated error rates, whichever side is named first."""

from __future__ import annotations

import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from made_runs import MACHINE, fail, fill, judge, said

import lab
from lab.analysis.comparison import FAILED, FAILED_MARGIN, MEAN, METRICS, THROUGHPUT, Comparison, MetricRow, corrected
from lab.errors import LabError
from lab.formulas import inference
from lab.spec import sample

TRIES = 400
NOISE = 0.03
TESTED = ("throughput req/s", "mean s", "p50 s", "p99 s", "CPU s per 1000 requests")
SWAPPED = {"left": "right", "right": "left"}


def compared(a, b, interleaved=True, failed=None, margin=0.05, requests=1000) -> Comparison:
    """A comparison of metrics by name, one array of repeats each; and of failures, of so many requests a repeat."""
    rows = [
        MetricRow("left", "right", 10, "10 users", metric, *map(inference.typical, (a[metric], b[metric])), ratio)
        for metric in a
        for ratio in [inference.ratio(a[metric], b[metric], interleaved)]
    ]
    rows = [MetricRow(**{**vars(row), "margin": margin}) for row in rows]
    if failed is not None:
        counts = [[(int(count), requests) for count in side] for side in failed]
        shares = [100 * float(np.mean(side)) / requests if len(side) else None for side in failed]
        difference = inference.percentage_difference(*counts, interleaved)
        rows.append(MetricRow("left", "right", 10, "10 users", FAILED, *shares, None, difference, margin=FAILED_MARGIN))
    return Comparison(tuple(corrected(rows)), interleaved, (), {})


def turned(text: str) -> str:
    """A text with the names of both sides exchanged."""
    return re.sub("|".join(SWAPPED), lambda name: SWAPPED[name[0]], text)


def drawn(chance, repeats: int, ratio: float = 1.0) -> tuple[dict, dict]:
    """Both sides' metrics in interleaved repeats; they share a drift, and some of their noise."""
    drift = chance.normal(0, 0.1, (repeats, 1))
    sides = []
    for factor in (1.0, ratio):
        shared = chance.normal(0, NOISE, (repeats, 1))
        values = factor * np.exp(drift + shared + chance.normal(0, NOISE, (repeats, len(TESTED))))
        sides.append(dict(zip(TESTED, values.T, strict=True)))
    return sides[0], sides[1]


def found(comparison: Comparison) -> set[str | None]:
    """What the rows of a comparison find."""
    return {row.finding for row in comparison.rows}


@pytest.mark.parametrize("repeats", [5, *(pytest.param(few, marks=pytest.mark.thorough) for few in (2, 3, 12))])
def test_equal_sides_are_called_different_in_at_most_one_of_twenty(repeats):
    """Of four hundred comparisons of a service with itself, each with five metrics, at most 5 % find any difference."""
    chance = np.random.default_rng(repeats)
    assert np.mean(["different" in found(compared(*drawn(chance, repeats))) for _ in range(TRIES)]) <= 0.05


@pytest.mark.parametrize("ratio", [1.05, 1 / 1.05])
def test_sides_that_differ_by_the_margin_are_called_alike_in_at_most_one_of_twenty(ratio):
    """The smallest difference that counts, in every metric, with many repeats: it seldom passes for none."""
    chance = np.random.default_rng(2)
    assert np.mean(["alike" in found(compared(*drawn(chance, 20, ratio))) for _ in range(TRIES)]) <= 0.05


def test_what_would_decide_is_what_decides():
    """With the repeats that are said to tell 5 % from nothing, nine of ten equal sides are alike, and 5 % are found."""
    chance = np.random.default_rng(3)
    needed = inference.repeats_to_decide(NOISE, 0.05)
    assert needed >= inference.repeats_needed(NOISE, 1.05)
    for ratio, word in ((1.0, "alike"), (1.05, "different")):
        a, b = chance.lognormal(0, NOISE, (2, TRIES, needed))
        words = [found(compared({MEAN: x}, {MEAN: ratio * y})) for x, y in zip(a, b, strict=True)]
        assert np.mean([word in each for each in words]) >= 0.90 - 2 * math.sqrt(0.09 / TRIES)


def made_up(chance) -> tuple[list[dict], bool, list]:
    """Any two sides: few or many repeats, much or little noise, large differences or none, values that are missing."""
    repeats, interleaved = int(chance.integers(0, 7)), bool(chance.integers(2))
    counts = (repeats, repeats) if interleaved else (repeats, int(chance.integers(0, 7)))
    noise, size = chance.choice([0.0, 0.001, 0.03, 0.5]), chance.choice([0.0, 0.01, 0.2, 2.0])
    sides = [
        {metric: np.exp(factor * size + chance.normal(0, noise, count)) for metric in TESTED}
        for count, factor in zip(counts, (0, chance.choice([-1, 1])), strict=True)
    ]
    for side in sides:
        for values in side.values():
            values[chance.random(len(values)) < 0.1] = np.nan
    failed = [chance.poisson(chance.choice([0, 1, 100]), count) for count in counts]
    return sides, interleaved, failed


@pytest.mark.parametrize("tries", [50, pytest.param(TRIES, marks=pytest.mark.thorough)])
def test_whichever_side_is_named_first_every_word_is_the_same(tries):
    """Many pairs of sides, compared both ways: names are exchanged, ratios turned over, and nothing else."""
    chance = np.random.default_rng(4)
    seen = set()
    for _ in range(tries):
        (a, b), interleaved, failed = made_up(chance)
        one = compared(a, b, interleaved, failed)
        other = compared(b, a, interleaved, failed[::-1])
        assert turned(other.verdict).replace("left against right", "right against left") == one.verdict
        assert (other.correction, other.tested) == (one.correction, one.tested)
        assert {turned(side): score for side, score in other.scores.items()} == one.scores
        for row, back in zip(one.rows, other.rows, strict=True):
            assert (row.word, row.finding, row.points, row.pairs) == (back.word, back.finding, back.points, back.pairs)
            assert row.winner == (back.winner and turned(back.winner))
            assert (row.a_value, row.b_value) == (back.b_value, back.a_value)
            assert (row.p, row.alike_p) == pytest.approx((back.p, back.alike_p))
            if row.ratio:
                assert row.ratio.ratio * back.ratio.ratio == pytest.approx(1)
            if row.effect and row.effect.low is not None:
                low = 1 / back.ratio.high if row.ratio else -back.difference.high
                assert row.effect.low == pytest.approx(low)
        seen |= found(one)
    assert seen == {"different", "alike", "undecided", None}


def test_a_stored_run_reads_the_same_both_ways(made):
    """With failures, cells that take no part, and others that are suspect, too."""
    run = made({"mvc": 0.1, "webflux": 0.13}, repeat=6)
    judge(run.cells()[1], "invalid", "The generator was late.")
    fail(run, "webflux", 20)
    names = {"mvc": "webflux", "webflux": "mvc"}
    one, other = (lab.compare(*(f"{run.path}:{side}" for side in sides)) for sides in (names, reversed(names)))
    for row, back in zip(one.rows, other.rows, strict=True):
        assert (row.word, row.winner, row.points) == (back.word, back.winner, back.points)
    assert sorted(one.notes) == sorted(other.notes)
    first, second = (comparison.verdict.partition("): ")[2] for comparison in (one, other))
    assert first == second


def test_equal_services_are_alike_and_a_narrower_margin_is_undecided(made, typed, tmp_path):
    """Within 5 %, surely; within half a percent nobody knows yet, and it is said what that takes."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=8)
    wide, narrow = lab.compare(str(run.path)), lab.compare(str(run.path), margin=0.005)
    assert "alike within ±5 %: throughput, mean, p50" in wide.verdict
    assert "different" not in set(narrow.table()["verdict"])
    assert re.search(
        r"undecided: .*mean \([\d,]+\).* how many usable repeats would tell 0.5 % from nothing", narrow.verdict
    )
    printed = said(typed("compare", run.name, "--margin", "0.5 %", "--data", str(tmp_path)))
    assert "0.5 % from nothing" in printed
    assert "alike within ±0.5 %" not in printed


@pytest.mark.parametrize("margin", ["0", "-1", "101", "five", "nan"])
def test_a_margin_that_is_none_is_said(made, typed, tmp_path, margin):
    """Nothing is surely within no margin, and what is no percentage is named."""
    done = typed("compare", made({"mvc": 0.1, "webflux": 0.1}).name, f"--margin={margin}", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "is not a percentage above 0" in said(done)


def test_a_small_difference_is_a_difference():
    """One that is found, and lies within the margin, is called different, with its size."""
    values = np.exp(np.linspace(0, 0.001, 10))
    (row,) = compared({MEAN: values}, {MEAN: values[::-1] * 1.01}).rows
    assert (row.finding, row.winner, row.points) == ("different", "left", 0)
    assert row.alike_p < inference.LEVEL


def test_failures_are_compared_and_named_first(made):
    """One side in ten fails: that is a finding in percentage points, although its cells are suspect for just that."""
    run = made({"mvc": 0.1, "webflux": 0.1})
    fail(run, "webflux", 20)
    found = lab.compare(str(run.path))
    row = found.rows[0]
    assert (row.metric, row.a_value, row.b_value, row.winner) == (FAILED, 0.0, 10.0, "mvc")
    assert row.difference.low < 10.0 < row.difference.high
    assert "(5 interleaved repeats): failures 7.4 to 13 percentage points fewer with mvc" in found.verdict
    assert {row.word for row in found.rows[1:]} == {"no value"}
    assert any("webflux-u10-r1 is suspect and left out but for its failures" in note for note in found.notes)
    allowed = lab.compare(str(run.path), allow_suspect=True)
    assert {row.word for row in allowed.rows} >= {"different", "alike"}
    assert json.loads(json.dumps(allowed.as_json()))["rows"][0]["finding"] == "different"


def test_a_few_equal_failures_are_no_difference():
    """One request in a thousand, in each repeat of one side, does not scatter, and is chance all the same."""
    (row,) = compared({}, {}, failed=([0, 0, 0], [1, 1, 1])).rows
    assert row.finding == "undecided"
    (row,) = compared({}, {}, failed=([0, 0, 0], [139, 139, 139])).rows
    assert row.finding == "different"


@pytest.mark.parametrize(("requests", "word"), [(100, "undecided"), (1000, "undecided"), (1200, "alike")])
def test_no_failure_of_few_requests_is_no_proof(requests, word):
    """By hand: of 3,600 requests none fails in less than 3 % of cases if one in 1,000 does, of 3,000 in 5 %."""
    found = compared({}, {}, failed=([0, 0, 0], [0, 0, 0]), requests=requests)
    (row,) = found.rows
    assert (row.finding, row.p) == (word, None)
    assert row.alike_p == pytest.approx((1 - FAILED_MARGIN / 100) ** (3 * requests) if requests > 100 else 1.0)
    of_few = f"of so few that one side may have {row.difference.high:.2g} percentage points more by chance."
    assert found.verdict.endswith(f"no request failed, {of_few}" if word == "undecided" else "no request failed.")


def test_no_failure_of_few_requests_on_one_side_is_no_proof_either(made):
    """Whatever the other side has shown; and all of a hundred may fail on both although one in a thousand does not."""
    few, many = [(0, 50)] * 4, [(0, 50_000)] * 4
    for a, b in ((few, many), (many, few), ([(100, 100)] * 4, [(100, 100)] * 4)):
        assert inference.percentage_difference(a, b, paired=True).alike_p(FAILED_MARGIN) > inference.LEVEL
    assert inference.percentage_difference(many, many, paired=True).alike_p(FAILED_MARGIN) < 1e-6
    found = lab.compare(str(made({"mvc": 0.1, "webflux": 0.1}).path))
    assert (found.rows[0].metric, found.rows[0].word) == (FAILED, "undecided")
    assert "no request failed, of so few that" in found.verdict


def test_what_is_suspect_takes_part_if_that_is_allowed(made, typed, tmp_path):
    """Without a word it is shown, with its figures, and decides nothing; the status says that nothing was compared."""
    run = made({"mvc": 0.1, "webflux": 0.2})
    for folder in run.cells():
        if folder.cell.variant == "webflux":
            judge(folder, "suspect", "The service was not warm.")
    refused = typed("compare", run.name, "--data", str(tmp_path))
    assert refused.returncode == 1
    assert said(refused).count("Suspect measurements take part with --allow-suspect.") == 1
    assert "Scorecard" not in said(refused)
    allowed = typed("compare", run.name, "--allow-suspect", "--data", str(tmp_path))
    assert allowed.returncode == 0
    assert "different, A better" in said(allowed)
    assert "webflux-u10-r3 is suspect: The service was not warm." in said(allowed)


def test_throughput_and_mean_of_a_closed_loop_are_one_fact(made):
    """They count once on the scorecard and among the comparisons; in a burst each is a fact of its own."""
    closed = lab.compare(str(made({"mvc": 0.1, "webflux": 0.13}, duration=5.0).path))
    burst = lab.compare(str(made({"mvc": 0.1, "webflux": 0.13}).path))
    by_metric = {row.metric: row for row in closed.rows}
    assert (by_metric[MEAN].word, by_metric[MEAN].finding, by_metric[MEAN].points) == ("as throughput", None, 0)
    assert by_metric[MEAN].ratio is not None
    assert "N = X·(R + Z)" in closed.correction
    assert "N = X" not in burst.correction
    assert (closed.tested, burst.tested) == (4, 5)
    assert THROUGHPUT in METRICS


def test_a_repeat_that_was_interrupted_makes_no_two_facts_of_one(made):
    """What takes no part in a comparison says nothing of how users wait either."""
    run = made({"mvc": 0.1, "webflux": 0.13}, duration=5.0)
    (run.cell(run.plan().cells[0]).path / "summary.json").unlink()
    found = lab.compare(str(run.path))
    assert {row.metric: row for row in found.rows}[MEAN].word == "as throughput"


def test_of_users_who_pause_throughput_does_not_show_latency(made):
    """They wait for answers a tenth of their time, so that a mean 30 % longer is a fact of its own, and is tested."""
    run = made({"mvc": 0.1, "webflux": 0.13}, duration=5.0, users=(200,))
    found = lab.compare(str(run.path))
    by_metric = {row.metric: row for row in found.rows}
    assert (by_metric[MEAN].finding, by_metric[MEAN].winner) == ("different", "mvc")
    assert "N = X" not in found.correction


def test_separate_runs_count_once_each(made):
    """Five repeats in each of two runs are one measurement a side; three runs a side find what they differ by."""
    runs = {mean_s: [made({"mvc": mean_s}, seed=seed) for seed in range(3)] for mean_s in (0.1, 0.13)}
    fast, slow = ([str(run.path) for run in runs[mean_s]] for mean_s in (0.1, 0.13))
    once = lab.compare(fast[0], slow[0])
    assert set(once.table()["verdict"]) == {"measured once"}
    assert once.rows[1].ratio.low is None
    several = lab.compare(fast, slow)
    mean = next(row for row in several.rows if row.metric == MEAN)
    assert (mean.finding, mean.pairs) == ("different", 3)
    assert "(3 runs a side)" in several.verdict
    with pytest.raises(LabError, match="named twice"):
        lab.compare(fast, fast[:1])
    with pytest.raises(LabError, match="several runs of one side"):
        lab.compare(fast)
    elsewhere = Path(slow[0]).parent / "elsewhere" / Path(fast[0]).name
    shutil.copytree(slow[0], elsewhere)
    with pytest.raises(LabError, match="Two of these runs are called"):
        lab.compare(fast[0], str(elsewhere))


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"commit": "b" * 40}, "lab is 0.1.0, commit aaaaaaaaaaaa and 0.1.0, commit bbbbbbbbbbbb"),
        ({"packages": {"lab": "0.2.0"}}, "lab is 0.1.0, commit aaaaaaaaaaaa and 0.2.0, commit aaaaaaaaaaaa"),
        ({"uncommitted_changes": True}, "and 0.1.0, commit aaaaaaaaaaaa with changes"),
    ],
)
def test_another_version_of_the_lab_is_a_difference(made, other, named):
    """By its number, its commit, or changes on top: it measures and judges otherwise, so it is named."""
    here = {**MACHINE, "commit": "a" * 40, "packages": {"lab": "0.1.0"}, "uncommitted_changes": False}
    one, two = (str(made({"mvc": 0.1}, environment=environment).path) for environment in (here, {**here, **other}))
    with pytest.raises(LabError, match=re.escape(named)):
        lab.compare(one, two)
    assert any(named in note for note in lab.compare(one, two, although_different=True).notes)


def test_only_failures_on_both_sides_are_compared(made):
    """Where no request succeeded on either side, there is nothing but that to compare, and 600 do not decide it."""
    run = made({"mvc": 0.1, "webflux": 0.1}, repeat=3)
    for folder in run.cells():
        fill(folder, 0.1, np.random.default_rng(1), error=sample.RESET)
    found = lab.compare(str(run.path))
    assert (found.rows[0].word, found.rows[0].a_value, found.rows[0].b_value) == ("undecided", 100.0, 100.0)
