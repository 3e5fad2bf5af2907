"""The claims about MongoDB: counts decide at once, times by their intervals, and a stand-in's speed decides nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import MACHINE, fill
from rich.console import Console

from lab.cli import tables
from lab.errors import LabError
from lab.experiments import find_publication, find_scenario
from lab.experiments.large_data import claims as large
from lab.experiments.mongo_access import claims as access
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.reporting import run_view
from lab.spec import planning, prediction
from lab.spec.options import Options
from lab.storage import published
from lab.storage.run_folder import RunFolder


def row(variant: str, part: str, mean_s: float = 1.0, stand_in: str = "", **calls: float) -> ReproducedRow:
    """A row of three repeats, of which each request had these commands executed."""
    counted = {f"mongo {name}": count for name, count in calls.items()}
    times = [0.99 * mean_s, mean_s, 1.01 * mean_s]
    repeats = tuple(Repeat(n, s, 1.0, 1.0, 0.0, "valid", True, figures=counted) for n, s in enumerate(times, 1))
    return ReproducedRow(part, 200, 200, variant, None, None, None, None, 0.0, 0, 0.0, repeats, stand_in=stand_in)


@pytest.mark.parametrize(("finds", "word"), [(1, CONFIRMED), (0, REFUTED), (1.005, REFUTED)])
def test_an_update_through_a_repository_is_exactly_two_commands(finds, word):
    """One find more in two hundred updates is one too many."""
    rows = [
        row("mvc-repository", "update-one", find=finds, update=1),
        row("webflux-template", "update-one", find=0, update=1),
    ]
    assert access.update_counts(rows)[0] == word


def test_one_count_is_enough():
    """It does not vary: a claim about counts needs no repeats."""
    once = row("mvc-driver", "update-one", find=0, update=1)
    assert access.update_counts([ReproducedRow(**{**vars(once), "repeats": once.repeats[:1]})])[0] == CONFIRMED


@pytest.mark.parametrize(("repository_s", "word"), [(19.139, CONFIRMED), (10.3, REFUTED)])
def test_a_repository_takes_about_twice_as_long(repository_s, word):
    """As published, and as the template does."""
    rows = [row("mvc-repository", "update-one", repository_s), row("mvc-template", "update-one", 10.243)]
    (claim,) = [claim for claim in access.ACCESS.claims if "twice" in claim.text]
    assert claim.judge(rows)[0] == word


def test_the_speed_of_a_stand_in_says_nothing_of_mongodb():
    """What is claimed of the database itself is undecided there, and judged on MongoDB."""
    rows = [row("mvc-driver", "update-one", 9.9), row("mvc-template", "update-one", 10.2)]
    on_stand_in = [row("mvc-driver", "update-one", 9.9, stand_in="a stand-in 1.0, standing in for MongoDB")]
    by_text = {claim.claim: claim for claim in access.ACCESS.judge(rows)}
    (found,) = [claim for text, claim in by_text.items() if "ten seconds" in text]
    assert found.word == CONFIRMED
    (found,) = [claim for claim in access.ACCESS.judge(on_stand_in) if "ten seconds" in claim.claim]
    assert (found.word, "standing in for MongoDB" in found.evidence) == (UNDECIDED, True)


@pytest.mark.parametrize(("more", "word"), [(9, CONFIRMED), (10, CONFIRMED), (8, REFUTED), (11, REFUTED)])
def test_all_entities_come_in_as_many_batches_as_they_need(more, word):
    """10,000 in batches of 1000: nine further ones, and one more where a server sees the end only on the next look."""
    assert large.batches_counted([row("webflux-driver", large.IN_BATCHES, find=1, getMore=more)])[0] == word


@pytest.mark.parametrize(("reactive", "word"), [(100, CONFIRMED), (1, REFUTED)])
def test_a_reactive_stream_asks_more_often_or_not(reactive, word):
    """Compared with a blocking stream of the same way of access."""
    rows = [
        row("mvc-driver", large.STREAMED, getMore=1),
        row("webflux-driver", large.STREAMED, getMore=reactive),
    ]
    assert large.streams_ask_more(rows)[0] == word
    assert large.streams_ask_more(rows[1:])[0] == UNDECIDED


@pytest.mark.parametrize(("reactive_s", "word"), [(18.0, CONFIRMED), (2.0, REFUTED)])
def test_parts_are_compared_with_one_another(reactive_s, word):
    """A reactive stream against the list of the same way of access."""
    rows = [row("mvc-template", large.COLLECTED, 2.0), row("webflux-template", large.STREAMED, reactive_s)]
    assert large.against_blocking(large.STREAMED, 2.0, 100.0)(rows)[0] == word


def test_published_rows_are_found_by_their_operation():
    """A table of several operations has a row for each; what was published for one user is not shown for 200."""
    publication = find_publication("mongo-access")
    found = {}
    for part in publication.parts:
        plan = publication.plan(part, 1.0)
        for cell in plan.cells:
            peer = published.row_for(plan, cell, plan.scenario.variant(cell.variant), part.table)
            found[part.name, cell.variant, cell.load.users] = peer and peer.mean_s
    assert found["update-one", "mvc-repository", 200] == 19.139
    assert found["get-by-query", "webflux-template", 200] == 3.755
    assert found["remove-one", "mvc-driver", 1] == 5.792
    assert found["add-one", "mvc-driver", 200] is None
    assert found["get-one, 10 threads", "mvc-driver", 200] is None
    assert sum(mean_s is not None for mean_s in found.values()) == 48


@pytest.mark.parametrize(
    ("batch", "more"),
    [("100", (99, 100)), ("1000", (9, 10)), ("default", None)],
)
def test_demands_say_how_many_batches_are_due(batch, more):
    """Of the driver's own batches nobody knows how many."""
    scenario = find_scenario("large-data")
    plan = planning.make_plan(scenario, Options(parameters={"batch_size": batch}))
    calls = prediction.calls_to(plan, scenario.variant("mvc-driver"), "mongo", plan.parameters)
    assert calls["mongo getMore"]["get-all"] == more
    assert calls["mongo find"]["get-all"] == (1, 1)
    assert calls["mongo update"]["get-all"] == (0, 0)


@pytest.mark.parametrize(
    ("scenario", "parameters", "named"),
    [
        ("mongo-access", {"operation": "get-on"}, "get-one"),
        ("large-data", {"batch_size": 0}, "default, 100, 1000"),
        ("mongo-access", {"elements": 0}, "--elements"),
        ("mongo-access", {"contention": "some"}, "distinct, same"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_what_can(scenario, parameters, named):
    """A wrong operation, and a batch of none: one sentence, and the choices."""
    with pytest.raises(LabError) as caught:
        planning.make_plan(find_scenario(scenario), Options(parameters=parameters))
    assert named in f"{caught.value} {caught.value.next_step}"


def test_a_choice_that_is_a_number_may_be_written_as_one():
    """From Python it is."""
    plan = planning.make_plan(find_scenario("large-data"), Options(parameters={"batch_size": 1000}))
    assert plan.parameters["batch_size"] == "1000"


def test_a_repository_saves_as_many_as_it_has_found():
    """Updates of several by a repository are a find and an update of each."""
    scenario = find_scenario("mongo-access")
    plan = planning.make_plan(scenario, Options(parameters={"elements": 7}))
    calls = prediction.calls_to(plan, scenario.variant("webflux-repository"), "mongo", plan.parameters)
    assert (calls["mongo find"]["update-many"], calls["mongo update"]["update-many"]) == ((1, 1), (7, 7))
    calls = prediction.calls_to(plan, scenario.variant("webflux-template"), "mongo", plan.parameters)
    assert (calls["mongo find"]["update-many"], calls["mongo update"]["update-many"]) == ((0, 0), (1, 1))


@pytest.fixture
def counted_run(tmp_path):
    """A run of a repository and the template that updated 200 entities each, with what the database counted."""
    options = Options(variants=["mvc-template", "webflux-repository"], users=[200], seed=1)
    asked = replace(options, parameters={"operation": ["get-one", "update-one"], "contention": "same"})
    plan = planning.make_plan(find_scenario("mongo-access"), asked)
    folder = RunFolder.create(plan, ["test"], MACHINE, tmp_path)
    for cell in plan.cells:
        cell_folder = folder.begin(cell)
        fill(cell_folder, 0.1, np.random.default_rng(1))
        update, of_repository = cell.parameters["operation"] == "update-one", "repository" in cell.variant
        calls = {"find": 200 * (not update or of_repository), "update": 200 * update, "getMore": 0}
        named = {"mongo": calls["find"], **{f"mongo {name}": count for name, count in calls.items()}}
        cell_folder.keep("evidence", {"calls": named, "finished": 200})
    return run_view.Run(folder)


def test_a_run_says_which_commands_its_requests_made(counted_run):
    """In a sentence, in a table, and for programs; by the name of what was varied."""
    sentences = [sentence for sentence in counted_run.insights() if "the database counted" in sentence]
    assert sentences == [
        "mvc-template at get-one: the database counted 1 find a request.",
        "webflux-repository at get-one: the database counted 1 find a request.",
        "mvc-template at update-one: the database counted 1 update a request.",
        "webflux-repository at update-one: the database counted 1 find and 1 update a request.",
    ]
    assert list(counted_run.calls()["mongo find"]) == [1, 1, 0, 1]
    assert counted_run.cells[3]["calls"] == {"mongo": 200, "mongo find": 200, "mongo update": 200, "mongo getMore": 0}
    assert "calls" not in counted_run.table()


def test_the_table_of_operations_names_them(counted_run, capsys):
    """Not their places among the choices."""
    tables.print_run(counted_run, Console(width=200))
    printed = capsys.readouterr().out
    assert "get-one" in printed
    assert "0.920" in printed  # what is published, without a rate
