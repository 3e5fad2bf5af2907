"""The claims about the session: each can be confirmed and refuted, and a fifth of the pace is a fifth of the users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import MACHINE, fill
from rich.console import Console

from lab.cli.commands import reproduce
from lab.errors import LabError
from lab.experiments import find_publication, find_scenario
from lab.experiments.operations import claims
from lab.experiments.operations.claims import OPERATIONS
from lab.experiments.reproduction import results
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.reporting.run_view import Run
from lab.storage import published
from lab.storage.run_folder import RunFolder

ROWS = published.table("operations")["rows"]
AT_ONCE, LOGIN = "unauthenticated account", "authenticate"


def row(variant: str, mean_s: float = 1.0, users: int = 5000, percent: float = 0.0, **named: float) -> ReproducedRow:
    """A row of three repeats of about that mean, in which so many percent failed; sums by name as told."""
    repeats = tuple(
        Repeat(
            number,
            factor * mean_s,
            rps=100.0,
            ok_rps=100.0,
            error_share=factor * percent / 100,
            verdict="valid",
            usable=True,
            sums_s={AT_ONCE: factor * named.get("refused_s", 2.7), LOGIN: factor * named.get("login_s", 4.2)},
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
            "of their logins",
            [row("rest-parallel", users=10_000, percent=12.2, logins_percent=45)],
            [row("rest-parallel", users=10_000, percent=12.2, logins_percent=12)],
        ),
        (
            "refuses at once",
            [row("mvc"), row("rest-parallel", refused_s=0.005)],
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
        assert 1.05 < of.mean_s / mean_s < 1.08
    else:
        assert of.mean_s == pytest.approx(mean_s, rel=0.005)


def test_all_published_rows_are_of_names_and_sizes_that_can_be_measured():
    """Fourteen with sums by name, and those of twice and three times the load; no variant claims another's row."""
    assert len([each for each in ROWS if each.sums_s]) == 14
    assert {each.users for each in ROWS} == {5000, 10_000, 15_000}
    named = [variant.published_as for variant in find_scenario("operations").variants if variant.published_as]
    assert sorted(named) == sorted({each.variant for each in ROWS})
    assert {request.name for request in find_scenario("operations").requests} == set(ROWS[0].sums_s)


def test_a_fifth_of_the_pace_is_a_fifth_of_the_users_and_of_the_ramp():
    """So that the requests a second are the same; threads and connections are those of the scale alone."""
    part = OPERATIONS.parts[0]
    full, paced = OPERATIONS.plan(part, 0.2), OPERATIONS.at_pace(0.2)
    fifth = paced.plan(paced.parts[0], 0.2)
    loads = [plan.cells[0].load for plan in (full, fifth)]
    assert [(load.users, load.ramp_s, load.pace) for load in loads] == [(1000, 60.0, 1.0), (200, 12.0, 0.2)]
    assert full.limits == fifth.limits
    with pytest.raises(LabError, match="do not pause"):
        find_publication("delay").at_pace(0.2)


def test_the_overload_is_measured_twice_where_the_published_rows_are_measured_more_often():
    """Else both would not fit into ninety minutes; who asks for one repeat gets one of each."""
    repeats = [
        [max(c.repeat for c in OPERATIONS.plan(part, 0.2, 1, n).cells) for n in (1, 3)] for part in OPERATIONS.parts
    ]
    assert repeats == [[1, 3], [1, 3], [1, 2]]


@pytest.fixture
def measured(tmp_path):
    """A run of the first part at a fifth of size and pace, of two repeats, all of whose requests took 0.1 s."""
    paced = OPERATIONS.at_pace(0.2)
    plan = paced.plan(paced.parts[0], 0.2, seed=1, repeat=2)
    folder = RunFolder.create(plan, ["test"], MACHINE, tmp_path)
    for cell in plan.cells:
        kept = folder.begin(cell)
        fill(kept, 0.1, np.random.default_rng(cell.repeat))
        names = [{"name": r.name, "requests": 20, "failed": 2, "mean_s": 0.1} for r in plan.scenario.requests]
        kept.keep("summary", {**kept.read("summary"), "by_name": names})
    return Run(folder)


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


def test_sums_stand_beside_the_published_ones_and_the_pace_above_every_table(measured, tmp_path, capsys, monkeypatch):
    """In the terminal; a row that nobody published has its own alone."""
    published_row = next(each for each in ROWS if each.variant == "Spring 4, MySQL")
    done = results.from_runs(OPERATIONS, [measured], tmp_path)
    rows = tuple(replace(each, published=published_row) for each in done.rows)
    monkeypatch.setattr(reproduce, "out", Console(width=300))
    reproduce._print(replace(done, rows=rows))
    said = capsys.readouterr().out
    assert "1.600 (6.512)" in said
    assert said.count("pace 0.2") >= 2 * len(OPERATIONS.parts) - 1
    assert "users are 0.2 times as many" in said
    assert claims.OPERATIONS.title in said
