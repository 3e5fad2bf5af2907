"""The claims about the session: each can be confirmed and refuted, and a fifth of the pace is a fifth of the users."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from machines import HERE
from made_runs import MACHINE, fill
from rich.console import Console

from lab.cli.commands import reproduce
from lab.errors import LabError
from lab.experiments import find_publication, find_scenario
from lab.experiments.operations import claims
from lab.experiments.operations.claims import OPERATIONS
from lab.experiments.reproduction import results
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.experiments.reproduction.rows import Measured, rows_of
from lab.reporting import formatting
from lab.reporting.run_view import Run
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.storage import published
from lab.storage.run_folder import RunFolder

ROWS = published.table("operations")["rows"]
AT_ONCE, LOGIN = "unauthenticated account", "authenticate"
REFUSED_S, LOGIN_S = 2.7, 4.2


def row(variant: str, mean_s: float = 1.0, users: int = 5000, percent: float = 0.0, **named: float) -> ReproducedRow:
    """A row of three repeats of about that mean, in which so many percent failed; sums by name as told."""
    others_s = (26 * mean_s - REFUSED_S - LOGIN_S) / (26 - 2)
    sums_s = {request.name: others_s * request.times for request in find_scenario("operations").requests}
    sums_s |= {AT_ONCE: named.get("refused_s", REFUSED_S), LOGIN: named.get("login_s", LOGIN_S)}
    repeats = tuple(
        Repeat(
            number,
            factor * mean_s,
            rps=100.0,
            ok_rps=100.0,
            error_share=factor * percent / 100,
            verdict="valid",
            usable=True,
            sums_s={name: factor * sum_s for name, sum_s in sums_s.items()},
            failed_shares={LOGIN: factor * named.get("logins_percent", 0.0) / 100},
        )
        for number, factor in enumerate((0.999, 1.0, 1.001), 1)
    )
    return ReproducedRow("MySQL", users, users, variant, None, None, None, None, 0.0, 0, 0.0, repeats)


def judged(claim: str, *rows: ReproducedRow) -> str:
    """What becomes of the one claim whose text has these words."""
    (found,) = [each for each in OPERATIONS.claims if claim in each.text]
    return found.judge(rows)[0]


@pytest.mark.parametrize(
    ("claim", "confirms", "refutes"),
    [
        ("no faster", [row("boot-1.5", 0.975), row("boot-2.0", 0.986)], [row("boot-1.5"), row("boot-2.0", 0.8)]),
        ("slower than", [row("mvc", 0.986), row("rest-parallel", 1.499)], [row("mvc"), row("rest-elastic", 1.0)]),
        (
            "and hardly any",
            [row("rest-parallel", users=10_000, percent=12.2), row("mvc", users=10_000)],
            [row("rest-parallel", users=10_000, percent=12.2), row("mvc", users=10_000, percent=12)],
        ),
        (
            "of their requests",
            [row("rest-parallel", users=10_000, percent=45)],
            [row("rest-parallel", users=10_000, percent=12.2)],
        ),
        (
            "of the logins",
            [row("rest-parallel", users=10_000, percent=12.2, logins_percent=45)],
            [row("rest-parallel", users=10_000, percent=12.2, logins_percent=12)],
        ),
        (
            "refuses at once",
            [row("mvc", refused_s=0.003), row("rest-parallel", refused_s=0.005)],
            [row("mvc"), row("rest-parallel", refused_s=2.6)],
        ),
        (
            "longer to log in",
            [row("mvc"), row("rest-parallel", login_s=5.536)],
            [row("mvc"), row("rest-parallel", login_s=4.2)],
        ),
    ],
)
def test_each_claim_can_be_confirmed_and_refuted(claim, confirms, refutes):
    """By the published figures, or by others; without any rows it is undecided."""
    assert (judged(claim, *confirms), judged(claim, *refutes), judged(claim)) == (CONFIRMED, REFUTED, UNDECIDED)


def test_what_happens_often_need_not_happen_always():
    """Two of three rows are most of them, one is not; styles whose logins are plain say nothing about logins."""
    rows = [row("rest-parallel", users=users, logins_percent=45, percent=45) for users in claims.OVERLOADS]
    seldom = [row("rest-parallel", users=users, logins_percent=12, percent=12) for users in claims.OVERLOADS]
    plain = [row("controller-parallel", users=users) for users in claims.OVERLOADS]
    for claim in ("of their requests", "of the logins"):
        assert judged(claim, *rows[:2], seldom[2]) == CONFIRMED
        assert judged(claim, rows[0], *seldom[1:]) == REFUTED
    assert judged("of the logins", *rows, *plain) == CONFIRMED
    assert judged("of their requests", *rows[:2], *plain) == REFUTED
    unknown = replace(rows[1], repeats=())
    assert judged("of the logins", rows[0], unknown, seldom[2]) == UNDECIDED


def test_who_stops_early_does_not_make_a_style_slower():
    """The mean over requests rises where sessions lack their last, fast ones; without all names nothing is decided."""
    slow_mean = row("rest-parallel")
    stopped = tuple(replace(each, mean_s=1.2 * each.mean_s, stopped=1) for each in slow_mean.repeats)
    assert judged("slower than", row("mvc"), replace(slow_mean, repeats=stopped)) == REFUTED
    lacking = tuple(replace(each, sums_s={AT_ONCE: 100.0}) for each in stopped)
    assert judged("slower than", row("mvc"), replace(slow_mean, repeats=lacking)) == UNDECIDED


@pytest.mark.parametrize(
    ("claim", "mvc", "style", "word"),
    [
        ("slower than", {"mean_s": 1.0}, {"mean_s": 1.0, "logins_percent": 5}, UNDECIDED),
        ("slower than", {"mean_s": 1.0}, {"mean_s": 1.5, "logins_percent": 5}, CONFIRMED),
        ("slower than", {"mean_s": 1.0, "logins_percent": 5}, {"mean_s": 1.5}, UNDECIDED),
        ("slower than", {"mean_s": 1.0, "logins_percent": 5}, {"mean_s": 1.0}, REFUTED),
        ("longer to log in", {}, {"logins_percent": 5}, UNDECIDED),
        ("longer to log in", {}, {"login_s": 5.5, "logins_percent": 5}, CONFIRMED),
        ("refuses at once", {}, {"refused_s": 0.005, "logins_percent": 5}, CONFIRMED),
    ],
)
def test_what_was_not_answered_does_not_make_a_style_fast(claim, mvc, style, word):
    """It would have taken longer: a side that lacks it may be slower than it looks, and is never faster."""
    rows = row("mvc", **mvc), row("rest-parallel", **style)
    assert judged(claim, *rows) == word
    (found,) = [each for each in OPERATIONS.claims if claim in each.text]
    said = found.judge(rows)[1]
    failing = "mvc" if "logins_percent" in mvc else "rest-parallel"
    assert "times (" in said or " s (" in said
    assert "More than" not in said
    assert (f"which decides nothing, as requests of {failing} failed" in said) == (word == UNDECIDED)


def test_who_is_not_refused_at_once_may_have_waited_longer():
    """Failures of the very requests count, where all that were answered came soon."""
    fast = row("rest-parallel", refused_s=0.005)
    failing = tuple(replace(each, failed_shares={AT_ONCE: 0.05}) for each in fast.repeats)
    assert judged("refuses at once", row("mvc"), replace(fast, repeats=failing)) == UNDECIDED


def test_the_errors_of_an_overload_decide_nothing_about_its_speed():
    """A style that is slower where others fail is not compared there: fewer users are left to wait."""
    overload = [row("mvc", users=10_000), row("rest-parallel", 9.0, users=10_000, percent=12)]
    assert judged("slower than", *overload) == UNDECIDED
    assert judged("refuses at once", *overload) == UNDECIDED


@pytest.mark.parametrize("of", [each for each in ROWS if each.sums_s], ids=lambda each: each.variant)
def test_the_published_mean_is_the_sum_over_26_but_for_rows_with_errors(of):
    """As their notes say: who stopped sent only the first requests, which are the slow ones."""
    mean_s = sum(of.sums_s.values()) / 26
    if of.errors_percent:
        assert 1.05 < of.figures["all_mean_s"] / mean_s < 1.08
    else:
        assert of.mean_s == pytest.approx(mean_s, rel=0.005)


def test_a_published_mean_stands_beside_ours_of_the_same_requests(tmp_path, capsys, monkeypatch):
    """Those are all, failed ones among them: where some failed, no mean of right answers was published."""
    assert {row.figures["all_mean_s"] == (row.mean_s or row.figures["all_mean_s"]) for row in ROWS} == {True}
    assert {row.mean_s is None for row in ROWS} == {True, False}
    assert all((row.mean_s is None) == (row.errors_percent > 0) for row in ROWS)
    full = replace(OPERATIONS, parts=OPERATIONS.parts[2:])
    done = results.Reproduction(full, 1.0, (), tuple(rows_of(full, full.parts[0], 1.0, Measured(overload()))))
    told = {(row["users"], row["variant"]): row for row in done.flat()}
    assert told[15_000, "rest-parallel"]["published_mean_s"] is None
    assert told[15_000, "rest-parallel"]["published_figures"] == {"all_mean_s": 11.163}
    monkeypatch.setattr(reproduce, "out", Console(width=300))
    reproduce._print(done)
    assert "11.163" in capsys.readouterr().out


def overload() -> Plan:
    """The plan of the loads that are too much, at the document's size."""
    return OPERATIONS.plan(OPERATIONS.parts[2], 1.0)


def test_all_published_rows_are_of_names_and_sizes_that_can_be_measured():
    """Fourteen with sums by name, and those of twice and three times the load; no variant claims another's row."""
    assert len([each for each in ROWS if each.sums_s]) == 14
    assert {each.users for each in ROWS} == {5000, 10_000, 15_000}
    named = [variant.published_as for variant in find_scenario("operations").variants if variant.published_as]
    assert sorted(named) == sorted({each.variant for each in ROWS})
    assert {request.name for request in find_scenario("operations").requests} == set(ROWS[0].sums_s)


def test_a_fifth_of_the_pace_is_a_fifth_of_the_users_of_the_ramp_and_of_the_timeout():
    """So that the requests a second are the same, and a queue has as little time to grow as it has to time out.

    Threads and connections are those of the scale alone.
    """
    part = OPERATIONS.parts[0]
    full, paced = OPERATIONS.plan(part, 0.2), OPERATIONS.at_pace(0.2)
    fifth = paced.plan(paced.parts[0], 0.2)
    loads = [plan.cells[0].load for plan in (full, fifth)]
    told = [(load.users, load.ramp_s, load.timeout_s, load.pace) for load in loads]
    assert told == [(1000, 60.0, 60.0, 1.0), (200, 12.0, 12.0, 0.2)]
    assert full.limits == fifth.limits
    with pytest.raises(LabError, match="do not pause"):
        find_publication("delay").at_pace(0.2)


def test_a_pace_that_is_not_possible_is_refused_in_a_sentence(tmp_path):
    """Whether it is no number, or leaves no scale at which all numbers are whole, or none of the usual ones."""
    for name in ("delay", "operations"):
        for pace in (math.nan, math.inf, 0, -1):
            with pytest.raises(LabError, match=f"--pace {pace:g} is not possible"):
                find_publication(name).at_pace(pace)
    with pytest.raises(LabError, match=r"At --pace 0\.3333 no scale keeps"):
        OPERATIONS.at_pace(0.3333)
    with pytest.raises(LabError, match=r"none of the usual scales.*--scale"):
        results.scale_for_here(OPERATIONS.at_pace(0.0625), tmp_path)


def test_the_overload_is_measured_twice_where_the_published_rows_are_measured_more_often():
    """Else both would not fit into ninety minutes; who asks for one repeat gets one of each."""
    repeats = [
        [max(c.repeat for c in OPERATIONS.plan(part, 0.2, 1, n).cells) for n in (1, 3)] for part in OPERATIONS.parts
    ]
    assert repeats == [[1, 3], [1, 3], [1, 2]]


def stored(part: int, folder: Path, stopped: int = 0) -> Run:
    """A run of a part at a fifth of size and pace, of two repeats, all of whose requests took 0.1 s."""
    paced = OPERATIONS.at_pace(0.2)
    plan = paced.plan(paced.parts[part], 0.2, seed=1, repeat=2)
    folder = RunFolder.create(plan, ["test"], MACHINE, folder)
    for cell in plan.cells:
        kept = folder.begin(cell)
        fill(kept, 0.1, np.random.default_rng(cell.repeat))
        names = [{"name": r.name, "requests": 20, "failed": 2, "mean_s": 0.1} for r in plan.scenario.requests]
        counts = {"begun": 20, "complete": 20 - stopped, "failed": 0, "stopped": stopped, "cut": 0, "requests": 26.0}
        of_sessions = {"sessions": counts, "errors": {"timeout": 2} if stopped else {}}
        kept.keep("summary", {**kept.read("summary"), "by_name": names, **of_sessions})
    return Run(folder)


@pytest.fixture
def measured(tmp_path):
    """A run of the first part, in which no session was stopped."""
    return stored(0, tmp_path)


def test_a_run_belongs_to_the_part_that_has_its_variants_and_users(tmp_path):
    """Those on MongoDB are no rows of MySQL's, nor are overloads those of the published load."""
    runs = [stored(part, tmp_path) for part in range(len(OPERATIONS.parts))]
    for run, part in zip(runs, OPERATIONS.parts, strict=True):
        of = [row for row in results.from_runs(OPERATIONS, [run], tmp_path).rows if row.repeats]
        assert {row.part for row in of} == {part.name}
        assert len(of) == len(part.options.variants) * len(part.options.users)
    assert results.from_runs(OPERATIONS, runs[::-1], tmp_path).runs == tuple(runs[::-1])


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"variants": ["mvc", "webflux-mongo"]}, "variants webflux-mongo, not"),
        ({"variants": ["mvc", "mvc-mongo"]}, "variants m"),
        ({"users": (300,)}, "users 300, not "),
    ],
)
def test_a_run_of_other_variants_or_users_is_no_part(asked, named, tmp_path):
    """Even if it has all the settings of one; what it has besides is said."""
    paced = OPERATIONS.at_pace(0.2)
    options = replace(paced.parts[0].scaled(0.2), **asked)
    run = Run(RunFolder.create(planning.make_plan(find_scenario("operations"), options, HERE), [], {}, tmp_path))
    with pytest.raises(LabError, match=named):
        results.from_runs(OPERATIONS, [run], tmp_path)


def test_rows_of_survivors_are_marked_with_what_failed(tmp_path, capsys, monkeypatch):
    """In both tables, by a sentence under them, and in JSON; not where all sessions went on."""
    done = results.from_runs(OPERATIONS, [stored(0, tmp_path, stopped=3)], tmp_path)
    assert (done.flat()[0]["stopped"], done.flat()[0]["errors"]) == (6, {"timeout": 4})
    monkeypatch.setattr(reproduce, "out", Console(width=300))
    reproduce._print(done)
    said = capsys.readouterr().out
    tables, claimed = said.split("in brackets")
    marked = len(OPERATIONS.parts[0].options.variants)
    assert tables.count("mvc†") == 2
    assert tables.count("†") == 3 * marked
    assert "† mvc at R = 5,000: 6 sessions were stopped early (failed requests: timeout 4)" in said
    assert "rest-parallel† over mvc† at R = 5,000 (MySQL)" in claimed
    reproduce._print(results.from_runs(OPERATIONS, [stored(0, tmp_path)], tmp_path))
    assert "†" not in capsys.readouterr().out


def test_the_release_of_java_of_each_variant_is_named(measured, tmp_path, capsys, monkeypatch):
    """Above the tables of a run, and under that of each part; where none is named nothing is said."""
    assert "; Java 11 (boot-1.5, boot-2.0), Java 25 (mvc, " in formatting.settings(measured.plan)
    assert "Java" not in formatting.settings(planning.make_plan(find_scenario("delay"), Options(users=[1]), HERE))
    monkeypatch.setattr(reproduce, "out", Console(width=300))
    reproduce._print(results.from_runs(OPERATIONS, [measured], tmp_path))
    said = capsys.readouterr().out
    assert "Java 11 (boot-1.5, boot-2.0), Java 25 (mvc, " in said
    assert "Java 11 (boot-1.5-mongo, boot-2.0-mongo), Java 25 (mvc-mongo, " in said


def test_what_failed_is_told_by_kind_where_nobody_was_stopped_too(tmp_path, capsys, monkeypatch):
    """As where somebody reads an operation in vain, who goes on."""
    done = results.from_runs(OPERATIONS, [stored(0, tmp_path)], tmp_path)
    failing = replace(done.rows[0].repeats[0], errors={"timeout": 3, "reset": 2})
    first = replace(done.rows[0], repeats=(failing, *done.rows[0].repeats[1:]))
    monkeypatch.setattr(reproduce, "out", Console(width=300))
    reproduce._print(replace(done, rows=(first, *done.rows[1:])))
    assert f"{first.variant} at R = 5,000: failed requests: timeout 3, reset 2" in capsys.readouterr().out


def test_an_existing_run_is_judged_at_its_own_pace(measured, tmp_path):
    """Its rates are scaled to the document's size by the scale alone; sums are of a session's requests of a name."""
    done = results.from_runs(OPERATIONS, [measured], tmp_path)
    (of, *_), (cell, *_) = done.rows, measured.cells
    assert (done.experiment.pace, done.scale) == (0.2, 0.2)
    assert (of.users, of.measured_users) == (5000, 200)
    assert of.repeats[0].rps == pytest.approx(cell["throughput_rps"] / 0.2)
    assert of.repeats[0].sums_s["get operation"] == pytest.approx(1.6)
    assert of.repeats[0].failed_shares[LOGIN] == pytest.approx(0.1)
    assert done.as_json()["pace"] == 0.2
    assert done.flat()[0]["sums_s"]["get operation"] == pytest.approx(1.6)
    assert done.flat()[0]["session_mean_s"] == pytest.approx(0.1)
    lacking = replace(of, repeats=tuple(replace(each, sums_s={LOGIN: 0.1}) for each in of.repeats), published=None)
    assert results.flat(lacking)["session_mean_s"] is None


def test_sums_stand_beside_the_published_ones_and_the_pace_above_every_table(measured, tmp_path, capsys, monkeypatch):
    """In the terminal; a row that nobody published has its own alone."""
    published_row = next(each for each in ROWS if each.variant == "Spring 4, MySQL")
    done = results.from_runs(OPERATIONS, [measured], tmp_path)
    rows = tuple(replace(each, published=published_row) for each in done.rows)
    monkeypatch.setattr(reproduce, "out", Console(width=300))
    reproduce._print(replace(done, rows=rows))
    said = capsys.readouterr().out
    assert "1.600 (6.512)" in said
    assert f"0.100 ({sum(published_row.sums_s.values()) / 26:.3f})" in said
    assert said.count("pace 0.2") >= 2 * len(OPERATIONS.parts) - 1
    assert "users are 0.2 times as many" in said
    assert "so are R/T and R/N" in said
    assert "R/T, R/N, ramp and t are the document's" not in said
    assert claims.OPERATIONS.title in said
