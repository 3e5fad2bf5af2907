"""What is claimed of grep: judged from programs that search the same, and from no others."""

from __future__ import annotations

import json

import pytest
from machines import HERE

from lab.experiments import find_publication, find_scenario
from lab.experiments.grep import claims
from lab.experiments.reproduction.publication import CONFIRMED, NOT_JUDGED, REFUTED, Repeat, ReproducedRow
from lab.experiments.reproduction.rows import Measured, rows_of
from lab.formulas.units import MIB
from lab.spec.options import Options
from lab.spec.planning import make_plan

SCENARIO = find_scenario("grep")
PUBLISHED = {"grep-published", "java-published"}


def row(variant: str, mean_s: float, read_mib: float = 256, part: str = claims.LARGE) -> ReproducedRow:
    """A program that was measured three times."""
    figures = {"read_bytes": read_mib * MIB, "execution_cpu_s": mean_s}
    repeats = tuple(Repeat(n, mean_s * (1 + n / 500), 1.0, 1.0, 0.0, "valid", True, figures=figures) for n in (1, 2, 3))
    return ReproducedRow(part, 1, 1, variant, None, None, None, None, 0.0, 0, 0.0, repeats, of_programs=True)


def word(judge, *rows: ReproducedRow) -> str:
    """The verdict on a claim."""
    return judge(rows)[0]


@pytest.mark.parametrize(
    ("grep_s", "words"), [(10.4, (CONFIRMED, CONFIRMED)), (2.0, (REFUTED, CONFIRMED)), (0.5, (REFUTED, REFUTED))]
)
def test_ten_times_as_fast_or_faster_or_neither(grep_s, words):
    """Java takes a second, and grep so many."""
    rows = (row("grep-utf8", grep_s), row("java-threads", 1.0))
    assert (word(claims.ten_times, *rows), word(claims.faster, *rows)) == words


def test_the_published_pair_is_compared_by_what_it_reads_and_never_by_its_speed():
    """However many times faster one of them is."""
    pair = (row("grep-published", 78.7, 192), row("java-published", 7.6, 128))
    assert word(claims.read_as_much, *pair) == REFUTED
    said, why = claims.as_published(pair)
    assert said == NOT_JUDGED
    assert "do not search the same" in why
    for claim in find_publication("grep").judge(pair):
        assert claim.word != CONFIRMED
    text = [
        row(name, mean_s, 256, claims.ONLY_TEXT) for name, mean_s in (("grep-published", 2.0), ("java-published", 1.0))
    ]
    assert word(claims.as_published, *pair, *text) == REFUTED
    assert word(claims.read_as_much, row("grep-published", 9.0, 256), row("java-published", 1.0, 256)) == CONFIRMED


def test_the_published_times_stand_beside_the_published_pair_only():
    """They were measured on other files, of which nothing is known, and are compared with none of ours."""
    publication = find_publication("grep")
    for part in publication.parts:
        rows = rows_of(publication, part, 1.0, Measured(publication.plan(part, 1.0)))
        times = {each.variant: each.published.mean_s for each in rows if each.published}
        assert times in ({"grep-published": 78.7, "java-published": 7.6}, {})
        assert times.keys() == PUBLISHED & {each.variant for each in rows}


def test_the_scopes_of_the_pair_are_said():
    """All other variants are of one scope, so that they must print the same before they are timed."""
    assert {variant.name for variant in SCENARIO.variants if variant.scope} == PUBLISHED
    assert len({variant.scope for variant in SCENARIO.variants}) == 3


def test_both_locales_are_measured():
    """The same command in each; what the shell says does not matter."""
    both = [SCENARIO.variant(name) for name in ("grep-c", "grep-utf8")]
    assert both[0].command == both[1].command
    assert [variant.environment["LC_ALL"] for variant in both] == ["C", "C.UTF-8"]
    assert all("LC_ALL" in variant.environment for variant in SCENARIO.variants)


def test_programs_have_all_cores():
    """Else a thread a file could win nothing on two cores."""
    assert not make_plan(SCENARIO, Options(), HERE).pin


def test_a_part_that_ships_is_judged_as_it_was_measured(typed, tmp_path):
    """From the command to the claims, with the published pair's times beside it and never in a claim about speed."""
    done = typed("reproduce", "grep", "--from", "grep-small", "--json", "--data", str(tmp_path))
    assert done.returncode == 0
    found = json.loads(done.stdout)
    words = {claim["claim"]: claim["word"] for claim in found["claims"]}
    assert words["As published: Java with a thread a file takes a tenth of grep's time."] == NOT_JUDGED
    rates = {row["variant"]: row["read_bytes_per_s"] for row in found["rows"] if row["repeats"]}
    assert rates["grep-c"] > rates["java-threads"] > MIB
    published = {row["variant"]: row["published_mean_s"] for row in found["rows"] if row["published_mean_s"]}
    assert published == {"grep-published": 78.7, "java-published": 7.6}
