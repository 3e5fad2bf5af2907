"""The printed formulas on a grid: every cell is near its formula, or named with what the formula leaves out."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lab.analysis.verdict import SUSPECT
from lab.experiments import find_publication
from lab.experiments.formulas import claims
from lab.experiments.formulas.claims import BY_NAME, CALLS, GRID, REACTIVE, SYNC, THREADS
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.experiments.reproduction.rows import Measured, rows_of


def setting(limits: str, threads: int) -> claims.Setting:
    """The setting of the grid with these limits and so many threads."""
    return next(each for each in GRID if (each.limits, each.threads) == (limits, threads))


def row(of: claims.Setting, variant: str, users: int, total_s: float, cpu_s: float = 0.0):
    """A cell whose requests took so long in all, measured three times."""
    figures = {"cpu_s_per_1000_requests": cpu_s / users * 1000}
    repeats = tuple(
        Repeat(n, None, users / (total_s * (1 + n / 1000)), 0.0, 0.0, "valid", True, figures=figures) for n in (1, 2, 3)
    )
    return ReproducedRow(of.name, users, users, variant, None, None, None, None, 0.0, 0, 0.0, repeats)


@pytest.mark.parametrize(
    ("limits", "threads", "variant", "users", "printed_s"),
    [
        ("one thread", 1, SYNC, 25, 25 * 0.2),
        ("one thread", 1, REACTIVE, 25, 0.2),
        (THREADS, 10, SYNC, 25, 3 * 1.0),
        (THREADS, 10, REACTIVE, 100, 1.0),
        ("T threads, N connections", 200, SYNC, 50, 3 * 0.2),
        ("T threads, N connections", 200, REACTIVE, 50, 3 * 0.2),
        (CALLS, 20, SYNC, 100, 5 * 0.2 * 5),
        (CALLS, 20, REACTIVE, 100, 5 * 0.2),
        (CALLS, 200, SYNC, 30, 2 * 0.2 * 5),
        (CALLS, 200, REACTIVE, 30, 8 * 0.2),
    ],
)
def test_the_formulas_are_those_that_are_printed(limits, threads, variant, users, printed_s):
    """By hand, from the document's tables."""
    assert setting(limits, threads).printed_s(variant, users) == pytest.approx(printed_s)


def test_every_cell_of_the_grid_has_its_setting():
    """The plan of each part has the T, N, x, t and R that its formula is told."""
    publication = find_publication("formulas")
    for part in publication.parts:
        plan, of = publication.plan(part, 1.0), BY_NAME[part.name]
        rows = rows_of(publication, part, 1.0, Measured(plan))
        assert {(each.users, each.variant) for each in rows} == {(r, v) for r in of.users for v in (SYNC, REACTIVE)}
        assert plan.limits.threads == of.threads
        assert plan.scenario.name == of.scenario
        assert {cell.load.ramp_s for cell in plan.cells} == {0.0}
        if of.connections:
            assert (plan.limits.pool, plan.link.latency_ms) == (of.connections, of.t_ms)
        else:
            assert plan.parameters["delay_ms"] == of.t_ms
        assert plan.parameters.get("calls", 0) == of.calls


@pytest.mark.parametrize(
    ("total_s", "cpu_s", "said"),
    [
        (3.2, 9.0, ""),
        (3.6, 0.5, "CPU may explain it: 0.4 s of 15 requests"),
        (3.6, 0.2, "not explained"),
        (3.6, 9.0, "not explained"),
        (2.0, 0.7, "not explained"),
    ],
)
def test_a_cell_that_is_off_has_a_reason(total_s, cpu_s, said):
    """Three waves of a second; what ten requests take is no CPU of the others. Within 10 % nothing is said."""
    first = row(setting(THREADS, 10), SYNC, 10, 1.0, 0.1)
    found = row(setting(THREADS, 10), SYNC, 25, total_s, cpu_s)
    assert claims.reason(found, (first, found)).startswith(said)
    assert bool(claims.reason(found, (first, found))) == bool(said)


def test_a_first_wave_that_takes_longer_is_the_reason():
    """Each of three takes 1.2 s, as that of ten requests does; which is off itself, and nobody knows why."""
    rows = [row(setting(THREADS, 10), SYNC, users, waves * 1.2, 9.0) for users, waves in ((10, 1), (25, 3))]
    assert claims.reason(rows[1], rows).startswith("a wave takes 1.20 t with 10 requests already")
    assert claims.reason(rows[0], rows) == "not explained by waves or CPU"


def test_a_deviation_that_is_suspect_is_said_to_be():
    """Other programs, say, may be all that there is."""
    found = row(setting(CALLS, 200), SYNC, 30, 8 * 0.2)
    doubtful = replace(found, repeats=tuple(replace(each, verdict=SUSPECT) for each in found.repeats))
    assert ", suspect): 1.6 s, not 2 s (waves" in claims.deviations([doubtful])[0]


def test_failures_are_not_answers():
    """They may come early: what they make of a formula is not known."""
    found = row(setting(THREADS, 10), SYNC, 25, 3.0)
    failed = replace(found, repeats=tuple(replace(each, error_share=0.2) for each in found.repeats))
    assert claims.formula(THREADS, SYNC).judge([failed])[0] == UNDECIDED
    assert claims.deviations([failed])[0].endswith("nothing was measured to judge it by")


def test_connections_that_are_handed_on_between_calls_are_the_reason():
    """30 requests of five calls on 20 connections: 8 waves of calls, not 2 waves of whole requests."""
    found = row(setting(CALLS, 200), SYNC, 30, 8 * 0.2)
    assert claims.reason(found, [found]).startswith("waves: connections are given back after each call, so all calls")
    word, evidence = claims.formula(CALLS, SYNC).judge([found])
    assert word == REFUTED
    assert "1.6 s, not 2 s (waves" in evidence


def test_a_cell_that_was_not_measured_is_named():
    """Also where another one refutes the formula already."""
    off, missing = row(setting(THREADS, 10), SYNC, 10, 2.0), row(setting(THREADS, 10), SYNC, 25, 3.0)
    word, evidence = claims.formula(THREADS, SYNC).judge([off, replace(missing, repeats=())])
    assert word == REFUTED
    assert "T 10, t 1000 ms): nothing was measured to judge it by" in evidence


def test_threads_that_limit_leave_connections_to_spare():
    """Ten requests on twenty threads and a hundred connections make their five calls one after the other."""
    assert setting(CALLS, 20).by_call_s(10) == 0
    assert setting(CALLS, 200).by_call_s(30) == pytest.approx(8 * 0.2)


def test_a_formula_that_holds_is_confirmed():
    """At every R of its settings."""
    rows = [row(setting(THREADS, 10), SYNC, users, -(-users // 10)) for users in (10, 25, 100)]
    assert claims.formula(THREADS, SYNC).judge(rows)[0] == CONFIRMED
    assert claims.deviations(rows) == []


def test_a_part_that_ships_is_judged_as_it_was_measured(typed, tmp_path):
    """From the command to the claims: those of its limits by what was measured, the others by nothing."""
    done = typed("reproduce", "formulas", "--from", "formulas-delay", "--json", "--data", str(tmp_path))
    assert done.returncode == 0
    found = json.loads(done.stdout)
    of_part = [row for row in found["rows"] if row["part"] == setting(THREADS, 10).name]
    assert len(of_part) == 6
    assert all(row["total_s"] and row["formula_s"] for row in of_part)
    undecided = [claim for claim in found["claims"] if "nothing was measured" in claim["evidence"]]
    assert len(undecided) == len(found["claims"]) - 2
