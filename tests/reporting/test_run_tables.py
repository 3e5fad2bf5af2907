"""The tables of a run: the same columns wherever they are shown, and no figure where there is none."""

from __future__ import annotations

import re

import pytest

from lab.reporting import html, run_tables, run_view
from lab.reporting.run_tables import TextTable
from lab.reporting.run_view import Run


def headings(table: TextTable) -> list[str]:
    """The headings of a table, each in one line."""
    return [" ".join(column.heading.split()) for column in table.columns]


@pytest.fixture(scope="module")
def outage() -> Run:
    """A run of which there is a table by time window."""
    return run_view.open_run("chain-outage")


def test_a_program_has_what_its_executions_used_and_neither_users_nor_right_answers():
    """What every execution used is beside its time; it is no answer, and no user waits for it."""
    found = headings(run_tables.measurements(run_view.open_run("grep-large")))
    assert {"executions", "a second", "start s", "CPU s", "memory MiB"} <= set(found)
    assert not {"users", "requests", "ok/s", "CPU s/1000"} & set(found)


def test_of_many_names_some_are_shown_and_the_others_counted():
    """A row says how many are left out of each cell, and has no figures."""
    run = run_view.open_run("operations-pace")
    whole, few = (next(run_tables.parts(run, most)) for most in (None, 2))
    names = {len(of["by_name"]) for of in run.cells}
    assert len(whole.records) == sum(len(of["by_name"]) for of in run.cells)
    last = [column.text(few.records[2]) for column in few.columns]
    assert f"… and {min(names) - 2} more names" in last
    assert len(few.records) == 3 * len(run.cells)
    assert set(last[-6:]) == {""}


def test_each_time_of_a_session_has_a_row_and_its_counts_stand_in_the_first():
    """Sums, whole sessions and pauses; how many were begun is a count of all three."""
    run = run_view.open_run("operations-pace")
    sessions = next(table for table in run_tables.parts(run) if table.title == "sessions")
    begun = headings(sessions).index("begun")
    shown = [sessions.columns[begun].text(record) for record in sessions.records[:3]]
    assert shown[0].replace(",", "").isdigit()
    assert shown[1:] == ["", ""]


def test_what_the_generator_had_to_do_stands_beside_what_it_measured(outage):
    """One row a cell: of a core, of the ceiling, and how late; a dash where an older run lacks a figure."""
    *_, generator = run_tables.parts(outage)
    assert generator.title == "the generator"
    assert len(generator.records) == len(outage.cells)
    for row, record in zip(outage.cells, generator.records, strict=True):
        shown = {" ".join(column.heading.split()): column.text(record) for column in generator.columns}
        assert shown["busiest worker"] == f"{row['worker_cpu']:.0%}"
        assert shown["of its ceiling"] == f"{row['throughput_rps'] / row['ceiling_rps']:.0%}"
        assert shown["late s p99"] == f"{row['late_p99_s']:.5f}"
        assert shown["CPU s/1000"] == "–"


def test_programs_that_are_run_have_no_generator():
    """Nobody sends requests to them."""
    assert "the generator" not in [table.title for table in run_tables.parts(run_view.open_run("grep-large"))]


@pytest.mark.usefixtures("words_only")
def test_the_report_has_every_table_of_the_terminal(outage):
    """By window too: its headings, and a row for each of its records."""
    page = html.render(outage)
    text = re.sub(r"<[^>]+>", "\n", page)
    tables = [run_tables.measurements(outage), *run_tables.parts(outage), run_tables.limits(outage)]
    assert [table.title for table in tables[1:2]] == ["by time window"]
    for table in tables:
        assert table.records
        for column in table.columns:
            assert all(line in text for line in column.heading.splitlines())
    assert page.count("<tbody>") == len(tables)
    assert page.count("<tr class=") == sum(len(table.records) for table in tables)
