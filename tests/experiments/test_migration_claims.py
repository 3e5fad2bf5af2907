"""The claims about the application that moved to WebFlux: what confirms, refutes and leaves undecided each of them."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

import lab
from lab.experiments import find_publication
from lab.experiments.migration import claims, records, scenario
from lab.experiments.migration.scenario import POOL_WAIT, SCENARIO
from lab.experiments.reproduction import results
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    NOT_JUDGED,
    REFUTED,
    UNDECIDED,
    Repeat,
    ReproducedRow,
)

USERS = {part.name: part.options.users[0] for part in find_publication("migration").parts}


def row(variant: str, part: str, error_share: float = 0.0, **figures: float) -> ReproducedRow:
    """A row of three repeats that differ by a thousandth, with these figures."""
    repeats = tuple(
        Repeat(
            number,
            figures.get("mean_s", 1.0) * factor,
            1.0,
            1.0,
            error_share,
            "valid",
            True,
            {name: value * factor for name, value in figures.items()},
        )
        for number, factor in enumerate((0.999, 1.0, 1.001), 1)
    )
    return ReproducedRow(part, USERS[part], USERS[part], variant, None, None, None, None, 0.0, 0, 0.0, repeats)


def judged(beginning: str, *rows: ReproducedRow) -> str:
    """What is found of the only claim that begins so."""
    (claim,) = [each for each in find_publication("migration").claims if each.text.startswith(beginning)]
    return claim.judge(rows)[0]


def of_all(part: str, name: str, webflux: float, none: float, cached: float) -> list[ReproducedRow]:
    """A row of each variant with a figure."""
    values = {claims.WEBFLUX: webflux, claims.NO_CACHE: none, claims.CACHED: cached}
    return [row(variant, part, **{name: value}) for variant, value in values.items()]


@pytest.mark.parametrize(
    ("claim", "name", "values", "word"),
    [
        ("Normal and higher load: differences", "mean_s", (1.0, 1.1, 1.15), CONFIRMED),
        ("Normal and higher load: differences", "mean_s", (1.0, 1.1, 1.3), REFUTED),
        ("Normal and higher load: WebFlux has the best mean", "mean_s", (1.0, 1.1, 1.2), CONFIRMED),
        ("Normal and higher load: WebFlux has the best min", "min_s", (1.0, 1.1, 0.9), REFUTED),
        ("Normal load: WebFlux's longest", "max_s", (1.1, 1.2, 2.0), CONFIRMED),
        ("Normal load: WebFlux's longest", "max_s", (1.9, 1.2, 2.0), REFUTED),
        ("Normal load: the longest without cache", "max_s", (3.0, 1.9, 2.0), CONFIRMED),
        ("Normal load: the longest without cache", "max_s", (3.0, 2.1, 2.0), REFUTED),
        ("Normal load: no cache has the best p99", "p99_s", (1.2, 1.0, 1.1), CONFIRMED),
        ("Normal load: no cache has the slowest", "min_s", (1.0, 1.2, 1.1), CONFIRMED),
        ("Normal and higher load: the clustered cache is slower", "mean_s", (1.0, 1.1, 1.2), CONFIRMED),
        ("Normal load: every variant", "p99_s", (1.0, 2.0, 9.0), CONFIRMED),
        ("Normal load: every variant", "p99_s", (1.0, 2.0, 11.0), REFUTED),
    ],
)
def test_the_usual_load(claim, name, values, word):
    """Each claim by the figure that it is about."""
    assert judged(claim, *of_all(claims.NORMAL, name, *values)) == word


@pytest.mark.parametrize(
    ("claim", "name", "values", "word"),
    [
        ("Stress: WebFlux has the slowest mean", "all_mean_s", (3.0, 1.0, 2.0), CONFIRMED),
        ("Stress: a tenth", "p90_s", (175.0, 1.0, 1.0), CONFIRMED),
        ("Stress: a tenth", "p90_s", (17.5, 1.0, 1.0), REFUTED),
        ("Stress: WebFlux uses more memory", "jvm_bytes", (2e9, 1e9, 3e9), REFUTED),
        ("Stress: WebFlux uses more memory", "jvm_bytes", (3e9, 1e9, 2e9), CONFIRMED),
        ("Stress: WebFlux uses more CPU", "cpu_s", (20.0, 10.0, 15.0), CONFIRMED),
        ("Stress: for each right answer WebFlux", "cpu_s_per_1000_right", (1.02, 1.0, 1.1), CONFIRMED),
        ("Stress: for each right answer WebFlux", "cpu_s_per_1000_right", (1.2, 1.0, 1.1), REFUTED),
        ("Stress: for each right answer it has no more memory", "jvm_bytes_per_1000_right", (9e3, 8e3, 9e3), REFUTED),
        ("Stress: for each right answer it has no more heap", "heap_bytes_per_1000_right", (8e3, 9e3, 9e3), CONFIRMED),
    ],
)
def test_stress(claim, name, values, word):
    """WebFlux is held against both others, and one of them is enough to refute."""
    assert judged(claim, *of_all(claims.STRESS, name, *values)) == word


@pytest.mark.parametrize(
    ("webflux", "others", "word"),
    [
        (0.1, 0.4, CONFIRMED),
        (0.4, 0.1, REFUTED),
        (0.0, 0.0, UNDECIDED),
        (0.4, 0.4005, UNDECIDED),
        (0.0, 0.01, CONFIRMED),
    ],
)
def test_the_fewest_failures_are_fewer(webflux, others, word):
    """Where nobody fails, the load says nothing of who would fail least; nor do five more of ten thousand."""
    rows = [
        row(claims.WEBFLUX, claims.STRESS, webflux),
        *(row(variant, claims.STRESS, others) for variant in (claims.NO_CACHE, claims.CACHED)),
    ]
    assert judged("Stress: WebFlux has the fewest", *rows) == word


def test_what_rises_from_one_load_to_the_other_is_judged_across_them():
    """Higher over normal load, of WebFlux alone."""
    rows = [
        row(claims.WEBFLUX, claims.NORMAL, p90_s=1.0, p99_s=3.0),
        row(claims.WEBFLUX, claims.HIGHER, p90_s=2.0, p99_s=2.0),
    ]
    assert judged("Higher load: WebFlux's p90", *rows) == CONFIRMED
    assert judged("Higher load: WebFlux's p99", *rows) == CONFIRMED
    assert judged("Higher load: WebFlux's p90", rows[0]) == UNDECIDED


@pytest.mark.parametrize(("claim", "name"), [("the mean of each", "mean_s"), ("the minimum of each", "min_s")])
@pytest.mark.parametrize(
    ("at_higher", "word"),
    [((1.1, 1.1, 1.1), CONFIRMED), ((1.1, 0.9, 1.1), REFUTED), ((1.1, 1.1, 1.5), REFUTED), ((1.1, 1.1), UNDECIDED)],
)
def test_a_slight_rise_is_of_each_variant_and_no_large_one(claim, name, at_higher, word):
    """One that becomes faster, or much slower, is enough to refute."""
    normal = of_all(claims.NORMAL, name, 1.0, 1.0, 1.0)
    higher = [
        row(variant, claims.HIGHER, **{name: value})
        for variant, value in zip(claims.OF_THE_DOCUMENT, at_higher, strict=False)
    ]
    missing = [replace(row(claims.CACHED, claims.HIGHER), repeats=())] * (len(at_higher) < 3)
    assert judged(f"Higher load: {claim}", *normal, *higher, *missing) == word


@pytest.mark.parametrize(
    ("at_normal", "at_higher", "words"),
    [
        ((1.0, 1.5, 2.0), (1.0, 1.2, 3.0), (CONFIRMED, CONFIRMED)),
        ((1.0, 1.5, 2.0), (1.0, 1.8, 1.5), (REFUTED, REFUTED)),
        ((1.0, 1.5, 2.0), (1.5, 1.2, 3.0), (CONFIRMED, CONFIRMED)),  # whichever is longer
        ((1.0, 0.2, 2.0), (1.0, 1.5, 1.5), (CONFIRMED, REFUTED)),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_how_far_the_longest_lie_apart_is_compared_across_loads(at_normal, at_higher, words, together):
    """By the same starts, or by runs that were measured one after the other."""
    rows = [*of_all(claims.NORMAL, "max_s", *at_normal), *of_all(claims.HIGHER, "max_s", *at_higher)]
    rows = [replace(each, runs=frozenset(("both",) if together else (each.part,))) for each in rows]
    found = tuple(
        judged(f"Higher load: WebFlux's longest is {how}", *rows) for how in ("less far from that", "farther from that")
    )
    assert found == words
    without = [replace(each, repeats=()) if each.variant != claims.WEBFLUX else each for each in rows]
    assert judged("Higher load: WebFlux's longest is farther", *without) == UNDECIDED


def test_infinispans_place_is_said_to_be_taken():
    """Who reads "clustered cache" may think of the document's."""
    assert any("Infinispan" in note and "Hazelcast" in note for note in find_publication("migration").slips)


def test_gaps_that_scatter_more_than_they_differ_are_undecided():
    """As far apart as before, in runs that were measured one after the other."""
    rows = [
        replace(each, runs=frozenset((each.part,)))
        for part in (claims.NORMAL, claims.HIGHER)
        for each in of_all(part, "max_s", 1.0, 1.5, 2.0)
    ]
    for how in ("less far from that", "farther from that"):
        assert judged(f"Higher load: WebFlux's longest is {how}", *rows) == UNDECIDED


@pytest.mark.parametrize(("missed", "word"), [((2.0, 3.0), CONFIRMED), ((0.0, 1.0), CONFIRMED), ((0.0, 0.0), REFUTED)])
def test_a_scrape_that_is_lost_is_lost(missed, word):
    """Of whichever variant; the balancer's are nobody's."""
    variants = zip((claims.WEBFLUX, claims.NO_CACHE), missed, strict=True)
    rows = [row(name, claims.STRESS, service_scrapes_missed=lost, scrapes_missed=9.0) for name, lost in variants]
    assert judged("Stress: Prometheus", *rows) == word
    assert judged("Stress: Prometheus", row(claims.WEBFLUX, claims.STRESS)) == UNDECIDED


def test_a_scrape_that_was_lost_in_one_of_the_loads_was_lost():
    """All of them are counted, so that no mean hides it."""
    of_each = row(claims.WEBFLUX, claims.STRESS, service_scrapes_missed=0.0)
    last = replace(of_each.repeats[-1], figures={"service_scrapes_missed": 1.0})
    once = replace(of_each, repeats=(*of_each.repeats[:-1], last))
    assert (
        judged("Stress: Prometheus", once, row(claims.NO_CACHE, claims.STRESS, service_scrapes_missed=0)) == CONFIRMED
    )


@pytest.mark.parametrize(
    ("ramp_s", "p90_s", "word"),
    [
        (5.0, 1.0, REFUTED),
        (5.0, 200.0, NOT_JUDGED),
        (60.0, 1.0, REFUTED),
        (60.0, 200.0, CONFIRMED),
        (300.0, 1.0, NOT_JUDGED),
        (300.0, 200.0, NOT_JUDGED),
    ],
)
def test_a_steeper_ramp_than_the_documents_may_refute_and_another_judges_nothing(ramp_s, p90_s, word):
    """What even a heavier load does not show, a lighter one would not; what it shows, a lighter one need not."""
    here = find_publication("migration")
    stress = next(part for part in here.parts if part.name == claims.STRESS)
    other_s = 60.0 if ramp_s != 60.0 else 0.0
    asked = replace(stress, options=replace(stress.options, ramp_up=ramp_s), ramp_instead_of_s=other_s)
    found = replace(here, parts=(asked,)).judge(of_all(claims.STRESS, "p90_s", p90_s, 1.0, 1.0))
    (tenth,) = [each for each in found if each.claim.startswith("Stress: a tenth")]
    assert tenth.word == word
    assert ("It was made for a ramp of 60 s" in tenth.evidence) == bool(other_s)


@pytest.mark.parametrize("beginning", ["Stress: a tenth", "Stress: Prometheus"])
@pytest.mark.parametrize(("p90_s", "missed"), [(1.0, 0.0), (200.0, 9.0)])
def test_fewer_users_are_no_heavier_load_however_steep_their_ramp_is(beginning, p90_s, missed):
    """A thousand within 5 s come at a rate of 200/s, as 12,000 would within 60: nothing is said, either way."""
    rows = [row(claims.WEBFLUX, claims.STRESS, p90_s=p90_s, service_scrapes_missed=missed)]
    here = find_publication("migration")
    fewer = here.judge([replace(each, measured_users=1000) for each in rows])
    (found,) = [each for each in fewer if each.claim.startswith(beginning)]
    assert found.word == NOT_JUDGED
    assert "made for 10,000 users, and this was measured with 1,000" in found.evidence
    (found,) = [each for each in here.judge(rows) if each.claim.startswith(beginning)]
    assert found.word == (REFUTED if p90_s == 1.0 else NOT_JUDGED)
    assert "made for a ramp of 60 s" in found.evidence


def test_a_steeper_ramp_leaves_what_was_not_measured_undecided():
    """No scrapes, no verdict."""
    found = find_publication("migration").judge(of_all(claims.STRESS, "p90_s", 1.0, 1.0, 1.0))
    assert [each.word for each in found if "loses scrapes" in each.claim] == [UNDECIDED]


@pytest.mark.parametrize(
    ("other", "webflux", "word"), [(0.0, 0.1, CONFIRMED), (0.1, 0.0, REFUTED), (0.0, 0.0, UNDECIDED)]
)
def test_collecting_for_longer_than_never_is_longer(other, webflux, word):
    """A ratio of nothing would not be."""
    assert judged("Stress: WebFlux collects", *of_all(claims.STRESS, "gc_pause_s", webflux, other, other)) == word


@pytest.mark.parametrize(
    ("hops", "here", "word"),
    [(1.0, 1.0, CONFIRMED), (0.3, 0.3, CONFIRMED), (0.5, 1.5, REFUTED), (0.0, 2.0, REFUTED), (0.0, 0.0, UNDECIDED)],
)
def test_hops_are_a_share_of_what_was_found(hops, here, word):
    """Whatever failed before it asked the cache is in neither number; without finds there is no share."""
    assert judged("Half of what", row(claims.CACHED, claims.NORMAL, **{"cache hops": hops, "cache here": here})) == word


@pytest.mark.parametrize("name", ["jvm_bytes", "cpu_s"])
@pytest.mark.parametrize(
    ("equal", "unequal", "word"),
    [(1.0, 0.5, CONFIRMED), (1.0, 1.0, REFUTED), (1.5, 1.2, REFUTED), (0.5, 0.3, REFUTED), (0.9, None, UNDECIDED)],
)
def test_equal_settings_are_the_reason_if_unequal_ones_bring_an_advantage(name, equal, unequal, word):
    """Of WebFlux with few threads and little memory over JPA with many and much; without both nothing is said."""
    rows = [row(claims.WEBFLUX, claims.STRESS, **{name: equal}), row(claims.NO_CACHE, claims.STRESS, **{name: 1.0})]
    if unequal:
        rows.append(row(claims.WEBFLUX, claims.SCARCE, **{name: unequal}))
    needs = {"jvm_bytes": "no less memory", "cpu_s": "no less CPU"}[name]
    assert judged(f"Stress: with JPA's threads and heap WebFlux needs {needs}", *rows) == word


@pytest.mark.parametrize(
    ("stale", "beside", "word"), [(0, 300, CONFIRMED), (1, 300, REFUTED), (1, 0, REFUTED), (0, 0, UNDECIDED)]
)
def test_one_stale_read_refutes_that_there_is_none(stale, beside, word):
    """Counted where many save, once; where nobody looked up what was being saved, nothing could be stale."""
    of_cached, of_other = (
        replace(each, repeats=(replace(each.repeats[0], requests={scenario.BESIDE: count} if count else {}),))
        for each, count in ((row(claims.CACHED, claims.SAVING), beside), (row(claims.NO_CACHE, claims.SAVING), 300))
    )
    repeats = (replace(of_cached.repeats[0], errors={"stale": stale} if stale else {}),)
    assert judged("Half save", replace(of_cached, repeats=repeats), of_other) == word
    assert judged("Half save", row(claims.CACHED, claims.STRESS)) == UNDECIDED


def test_a_wait_for_a_connection_is_ended_by_nothing_but_the_load():
    """So that answers as slow as the document's are answers, and no failures."""
    for variant in SCENARIO.variants:
        assert int(variant.properties[POOL_WAIT]) > 1000 * claims.TIMEOUT_S


WHOLE = b'{"success":true,"records":[{"id":"r1","content":"000a"}]}'.ljust(records.ANSWER_BYTES)


@pytest.mark.parametrize(
    ("status", "body", "saved", "said"),
    [
        (200, WHOLE, {}, True),
        (200, WHOLE, {"r1": "000a"}, True),
        (200, WHOLE, {"r1": "0009"}, True),
        (200, WHOLE, {"r1": "000b"}, "stale"),
        (200, WHOLE, {"r1": "000a", "r2": "0001"}, "stale"),
        (200, WHOLE.replace(b"true", b"nope"), {}, False),
        (200, WHOLE[:-1], {}, False),
        (503, b"", {}, "status"),
        (403, WHOLE, {"r1": "000a"}, "status"),
    ],
)
def test_an_answer_is_right_if_it_says_success_and_has_all_records(status, body, saved, said):
    """As the document's own check asks, by its length, and none older than it may be; what is wrong is named."""
    assert records.check(status, body, saved) == said


def test_scrapes_of_which_prometheus_told_nothing_are_no_figure(tmp_path):
    """They count as missed where they are told, and decide no claim."""
    copy = tmp_path / "migration"
    shutil.copytree(lab.open_run("migration").folder.path, copy)
    evidence = next(copy.glob("cells/*-r1/evidence.json"))
    evidence.write_text(json.dumps({**json.loads(evidence.read_text()), "prometheus_lost": "was killed by SIGKILL"}))
    rows = lab.open_run(str(copy)).cells
    assert sum(claims.MISSED in each for each in rows) == len(rows) - 1


def test_the_example_is_judged_as_the_part_that_it_is(tmp_path):
    """It has the loads of its part alone, at half of the document's size."""
    done = results.from_runs(find_publication("migration"), [lab.open_run("migration")], tmp_path)
    measured = {(row.part, row.variant): len(row.usable) for row in done.rows if row.repeats}
    assert done.scale == 0.5
    assert measured == {(claims.STRESS, variant): 3 for variant in claims.OF_THE_DOCUMENT}


def test_a_ramp_that_is_not_the_documents_is_told(typed, tmp_path):
    """A reader would take it for the document's own: its other settings are."""
    done = typed("reproduce", "migration", "--from", "migration", "--data", str(tmp_path))
    assert done.returncode == 0, done.stderr
    printed = " ".join(done.stdout.split())
    assert "R/T, R/N and t are the document's" in printed
    assert "The ramp of normal and higher lasts 30 s instead of 60 s." in printed
    assert "The ramp of stress lasts 5 s instead of 60 s." in printed
