"""Runs that ship with the lab, and made ones, compared both ways: which side is named first changes no word."""

from __future__ import annotations

import re
from itertools import combinations, permutations

import numpy as np
import pytest
from made_runs import MACHINE, fail, judge

import lab
from lab.analysis.comparison import MEAN, Comparison
from lab.errors import LabError
from lab.runtimes.checkout import ROOT

EXAMPLES = sorted(path.parent for path in (ROOT / "data" / "example").glob("*/run.json"))
FEW = ("document-pool",)
# The ratio of windows and its interval, which are turned over.
OF_WINDOWS = re.compile(r"× \S+( \(95 %: \S+ to \S+\))?")


def assert_same(one: Comparison, other: Comparison) -> None:
    """The findings of A against B, and of B against A, have the same words, and ratios that are turned over."""
    for row, back in zip(one.rows, other.rows, strict=True):
        assert (row.a, row.b, row.at, row.metric) == (back.b, back.a, back.at, back.metric)
        assert (row.word, row.finding, row.points, row.pairs) == (back.word, back.finding, back.points, back.pairs)
        assert (row.winner, row.a_value, row.b_value) == (back.winner, back.b_value, back.a_value)
        assert (row.p, row.alike_p) == pytest.approx((back.p, back.alike_p), abs=1e-9)
        if row.ratio:
            assert row.ratio.ratio * back.ratio.ratio == pytest.approx(1)
        if row.effect and row.effect.low is not None:
            assert row.effect.low == pytest.approx(1 / back.ratio.high if row.ratio else -back.difference.high)
    assert unlabelled(one) == unlabelled(other)
    assert (one.correction, one.tested, one.scores) == (other.correction, other.tested, other.scores)
    assert sorted(one.notes) == sorted(other.notes)
    assert len(one.by_design) == len(other.by_design)


def unlabelled(comparison: Comparison) -> list[str]:
    """Its sentences without which side is held against which, and the ratios of windows."""
    for row in comparison.rows:
        label, turned = (
            rf"(?m)^{re.escape(b)} against {re.escape(a)}(:| at )" for a, b in permutations((row.a, row.b))
        )
        comparison_text = "\n".join((comparison.verdict, *comparison.in_windows))
        assert not re.search(turned, comparison_text)
        assert re.search(label, comparison_text) or "against" not in comparison_text
    text = re.sub(r"(?m)^\S+ against \S+?(?= at |: )", "", "\n".join((comparison.verdict, *comparison.in_windows)))
    return OF_WINDOWS.sub("×", text).splitlines()


@pytest.mark.parametrize(
    "path",
    [pytest.param(path, marks=() if path.name in FEW else pytest.mark.thorough, id=path.name) for path in EXAMPLES],
)
@pytest.mark.parametrize("allow_suspect", [False, True])
def test_variants_of_a_stored_run_read_the_same_both_ways(path, allow_suspect):
    """Pairs of the variants of each example that may be compared."""
    names = [variant.name for variant in lab.open_run(str(path)).plan.variants]
    for a, b in list(combinations(names, 2))[:3]:
        found: list[Comparison | str] = []
        for sides in ((a, b), (b, a)):
            try:
                found.append(lab.compare(*(f"{path}:{side}" for side in sides), allow_suspect=allow_suspect))
            except LabError as error:
                found.append(error.next_step)
        if isinstance(found[0], Comparison):
            assert_same(*found)
        else:
            assert found[0] == found[1]


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 20))])
def test_made_runs_read_the_same_both_ways(made, seed):
    """Within one run and between several, with cells that are invalid, suspect, missing, or failed in part."""
    chance = np.random.default_rng(seed)
    means = {name: 0.1 * float(chance.choice([1.0, 1.02, 1.3])) for name in ("mvc", "webflux")}
    runs = [made(means, repeat=int(chance.integers(1, 7)), seed=10 * seed + n) for n in range(3)]
    for run in runs:
        if chance.random() < 0.5:
            fail(run, str(chance.choice(list(means))), int(chance.choice([1, 20])))
        for folder in run.cells():
            spoilt = chance.random()
            if spoilt < 0.1:
                judge(folder, "invalid", "The generator was late.")
            elif spoilt < 0.2:
                judge(folder, "suspect", "The service was not warm.")
            elif spoilt < 0.25:
                (folder.path / "summary.json").unlink()
    one, *others = (str(run.path) for run in runs)
    variants = [[f"{one}:{name}"] for name in means]
    of_runs = [[f"{run}:{name}" for run in several] for several, name in (((one,), "mvc"), (others, "mvc"))]
    for sides in (variants, of_runs, [[one], others]):
        for suspect in (False, True):
            there, back = (lab.compare(*order, allow_suspect=suspect) for order in permutations(sides))
            assert_same(there, back)


def test_a_closed_loop_beside_a_burst_reads_the_same_both_ways(made):
    """Throughput and mean are one fact only where both are of closed loops."""
    closed, burst = (
        [str(made({"mvc": 0.1}, seed=seed, **lasting).path) for seed in range(2)] for lasting in ({"duration": 5.0}, {})
    )
    there, back = (lab.compare(*sides, although_different=True) for sides in permutations((closed, burst)))
    words = [{row.metric: row.word for row in found.rows} for found in (there, back)]
    assert words[0] == words[1]
    assert words[0][MEAN] != "as throughput"
    assert there.tested == back.tested


def test_differences_of_several_runs_are_named_whichever_comes_first(made):
    """Also one between two runs of the same side."""
    machines = [{**MACHINE, "cores": cores} for cores in (2, 4, 8)]
    one, two, three = (str(made({"mvc": 0.1}, environment=machine).path) for machine in machines)
    told = []
    for sides in (([one], [two, three]), ([two, three], [one])):
        notes = lab.compare(*sides, although_different=True).notes
        told.append({frozenset(map(int, re.findall(r"cores is (\d) and (\d)", note)[0])) for note in notes})
    assert told[0] == told[1] == {frozenset(pair) for pair in combinations((2, 4, 8), 2)}


def test_a_run_by_its_name_and_by_its_path_is_one_run(made, typed, tmp_path):
    """Its variants took turns, however either is written."""
    run = made({"mvc": 0.1, "webflux": 0.13})
    other = tmp_path / "other" / ".." / run.name
    (tmp_path / "other").mkdir()
    found = lab.compare(f"{run.path}:mvc", f"{other}:webflux")
    assert found.interleaved
    assert "(5 interleaved repeats)" in found.verdict
    done = typed("compare", f"{run.name}:mvc", f"{other}:webflux", "--data", str(tmp_path))
    assert "5 interleaved repeats" in " ".join(done.stdout.split())


def test_two_variants_of_the_same_several_runs_count_all_of_them(made):
    """Each run counts once for either variant, and none is left out without a word."""
    runs = [made({"mvc": 0.1, "webflux": 0.13}, seed=seed) for seed in range(3)]
    sides = [[f"{run.path}:{name}" for run in runs] for name in ("mvc", "webflux")]
    there, back = (lab.compare(*order) for order in permutations(sides))
    assert {row.pairs for row in there.rows} == {3}
    assert "(3 runs a side)" in there.verdict
    assert_same(there, back)
