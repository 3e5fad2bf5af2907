"""The claims about MongoDB: counts decide at once, times by their intervals, and a stand-in's speed decides nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machines import HERE
from made_runs import MACHINE, fill
from rich.console import Console

from lab.cli import tables
from lab.errors import LabError
from lab.experiments import find_publication, find_scenario
from lab.experiments.large_data import claims as large
from lab.experiments.mongo_access import claims as access
from lab.experiments.reproduction.publication import (
    CONFIRMED,
    NOT_JUDGED,
    REFUTED,
    UNDECIDED,
    Claim,
    Publication,
    Repeat,
    ReproducedRow,
)
from lab.experiments.reproduction.rows import Measured, rows_of
from lab.reporting import html, run_view
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


TWO = ("mvc-driver", "webflux-driver")


def claimed(publication: Publication, word: str) -> Claim:
    """The only claim with a word in it."""
    (claim,) = [claim for claim in publication.claims if word in claim.text]
    return claim


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


@pytest.mark.parametrize(
    ("means_s", "word"),
    [((1.0, 1.2, 1.3), CONFIRMED), ((1.0, 1.2, 0.5), REFUTED), ((1.0, 0.5, 1.2), REFUTED), ((1.03, 1.0, 1.2), REFUTED)],
)
def test_the_driver_is_fastest_only_if_both_others_take_longer(means_s, word):
    """Neither the template nor the repository may be faster."""
    names = ("driver", "template", "repository")
    rows = [row(f"mvc-{name}", "get-one", mean_s) for name, mean_s in zip(names, means_s, strict=True)]
    assert claimed(access.ACCESS, "fastest").judge(rows)[0] == word


@pytest.mark.parametrize(("reactive_s", "word"), [(1.0, CONFIRMED), (3.0, CONFIRMED), (0.8, REFUTED)])
def test_reactive_access_that_is_slower_is_no_faster(reactive_s, word):
    """That it takes three times as long does not contradict that it is no faster."""
    rows = [row("mvc-driver", "get-one"), row("webflux-driver", "get-one", reactive_s)]
    assert access.reactive_no_faster(rows)[0] == word


def test_what_one_user_did_once_is_compared_with_nothing():
    """A single request of each way: its rows are shown, and leave no claim undecided."""
    rows = [row("mvc-driver", "get-one"), row("webflux-driver", "get-one")]
    alone = [replace(row(name, "remove-one"), repeats=row(name, "remove-one").repeats[:1]) for name in TWO]
    assert access.reactive_no_faster(rows + alone)[0] == CONFIRMED
    assert {part.name for part in access.ACCESS.parts if part.most_repeats} == {
        "add-one, 1 user",
        "remove-one",
        "add-many",
        "get-many",
        "update-many",
    }


@pytest.mark.parametrize(("blocking_s", "word"), [(1.5, CONFIRMED), (1.0, REFUTED)])
def test_ten_threads_make_blocking_access_slower_or_not(blocking_s, word):
    """Only the part with ten threads says."""
    rows = [row("mvc-driver", access.FEW_THREADS, blocking_s), row("webflux-driver", access.FEW_THREADS)]
    assert access.few_threads(rows)[0] == word
    assert access.few_threads([replace(each, part="get-one") for each in rows])[0] == UNDECIDED


@pytest.mark.parametrize(("distinct_s", "word"), [(1.0, CONFIRMED), (10.0, REFUTED), (20.0, REFUTED)])
def test_updates_of_one_entity_are_compared_with_those_of_distinct_ones(distinct_s, word):
    """The same variant in two parts; a variant that one part lacks is compared with nothing."""
    rows = [
        row("mvc-driver", access.UPDATE_ONE, 10.0),
        row("mvc-repository", access.UPDATE_ONE, 20.0),
        row("mvc-driver", access.DISTINCT, distinct_s),
    ]
    assert access.distinct_faster(rows)[0] == word


@pytest.mark.parametrize(("mean_s", "word"), [(9.9, CONFIRMED), (10.2, CONFIRMED), (25.0, REFUTED), (1.0, REFUTED)])
@pytest.mark.parametrize("stack", ["mvc", "webflux"])
def test_ten_seconds_are_neither_one_nor_twenty_five(stack, mean_s, word):
    """On either stack; a repository's update is two commands, and not meant."""
    rows = [row(f"{stack}-template", access.UPDATE_ONE, mean_s), row(f"{stack}-repository", access.UPDATE_ONE, 19.1)]
    assert access.updates_wait(rows)[0] == word


def test_fewer_users_do_not_wait_ten_seconds_for_one_another():
    """At a smaller scale nothing is said of 200 users, and it is said what was measured."""
    fewer = replace(row("mvc-driver", access.UPDATE_ONE, 1.0), measured_users=20)
    word, evidence = access.updates_wait([fewer])
    assert word == NOT_JUDGED
    assert "measured with 20" in evidence


@pytest.mark.parametrize(("larger_s", "word"), [(1.0, CONFIRMED), (1.5, CONFIRMED), (0.5, REFUTED)])
def test_larger_pools_are_compared_with_the_default_one(larger_s, word):
    """Each of them, on the same stack."""
    rows = [row("mvc-template", "pool 100"), row("mvc-template", "pool 500", larger_s)]
    assert access.pools_no_faster(rows)[0] == word


@pytest.mark.parametrize(("virtual_s", "word"), [(1.0, CONFIRMED), (0.5, REFUTED), (2.0, REFUTED)])
def test_virtual_threads_are_compared_with_platform_threads(virtual_s, word):
    """By each way of access."""
    rows = [row("mvc-driver", "pool 100"), row("mvc-virtual-driver", "pool 100", virtual_s)]
    assert access.virtual_alike(rows)[0] == word


@pytest.mark.parametrize(("repository_s", "word"), [(19.139, CONFIRMED), (10.3, REFUTED)])
def test_a_repository_takes_about_twice_as_long(repository_s, word):
    """As published, and as the template does."""
    rows = [row("mvc-repository", "update-one", repository_s), row("mvc-template", "update-one", 10.243)]
    assert claimed(access.ACCESS, "twice").judge(rows)[0] == word


def test_the_speed_of_a_stand_in_says_nothing_of_mongodb():
    """What is claimed of the database itself is undecided there, and judged on MongoDB."""
    rows = [row("mvc-driver", access.UPDATE_ONE, 9.9), row("mvc-driver", access.DISTINCT, 1.0)]
    on_stand_in = [replace(each, stand_in="a stand-in 1.0, standing in for MongoDB") for each in rows]
    for text in ("ten seconds", "distinct ones"):
        (found,) = [claim for claim in access.ACCESS.judge(rows) if text in claim.claim]
        assert found.word == CONFIRMED
        (found,) = [claim for claim in access.ACCESS.judge(on_stand_in) if text in claim.claim]
        assert (found.word, "standing in for MongoDB" in found.evidence) == (UNDECIDED, True)


@pytest.mark.parametrize(("more", "word"), [(9, CONFIRMED), (10, CONFIRMED), (8, REFUTED), (11, REFUTED)])
def test_all_entities_come_in_as_many_batches_as_they_need(more, word):
    """10,000 in batches of 1000: nine further ones, and one more where a server sees the end only on the next look."""
    assert large.batches_counted([row("webflux-driver", large.IN_BATCHES, find=1, getMore=more)])[0] == word


@pytest.mark.parametrize(("reactive", "word"), [(100, CONFIRMED), (1, REFUTED)])
def test_a_reactive_stream_asks_more_often_or_not(reactive, word):
    """Compared with a blocking stream of the same way of access."""
    rows = [
        row("mvc-template", large.STREAMED, getMore=1),
        row("webflux-template", large.STREAMED, getMore=reactive),
    ]
    assert large.streams_ask_more(rows)[0] == word
    assert large.streams_ask_more(rows[1:])[0] == UNDECIDED
    once = [replace(each, repeats=each.repeats[:1]) for each in rows]
    assert large.streams_ask_more(once)[0] == word  # what is counted needs no repeats


@pytest.mark.parametrize("blocking", [{"repeats": ()}, {"repeats": row("mvc-template", large.STREAMED).repeats}])
def test_a_stream_with_nothing_to_compare_it_with_is_undecided(blocking):
    """No usable repeat of the blocking one, or none whose batches were counted: that refutes nothing."""
    rows = [
        replace(row("mvc-template", large.STREAMED), **blocking),
        row("webflux-template", large.STREAMED, getMore=51),
    ]
    word, evidence = large.streams_ask_more(rows)
    assert word == UNDECIDED
    assert evidence.startswith("mvc-template")
    assert "nothing was measured to judge it by" in evidence


@pytest.mark.parametrize(("updates", "word"), [(1000, CONFIRMED), (1, REFUTED)])
def test_a_repository_updates_a_thousand_one_by_one_or_not(updates, word):
    """The others send one command."""
    rows = [
        row("mvc-repository", large.UPDATE_MANY, update=updates),
        row("webflux-template", large.UPDATE_MANY, update=1),
    ]
    assert large.update_many_counts(rows)[0] == word


@pytest.mark.parametrize(("reactive_s", "word"), [(8.0, CONFIRMED), (35.0, REFUTED)])
def test_a_reactive_repository_updates_a_thousand_in_half_the_time_or_not(reactive_s, word):
    """As published, and as the blocking one does."""
    rows = [row("mvc-repository", large.UPDATE_MANY, 35.0), row("webflux-repository", large.UPDATE_MANY, reactive_s)]
    assert large.update_many_faster(rows)[0] == word


@pytest.mark.parametrize(("reactive_s", "word"), [(18.0, CONFIRMED), (2.0, REFUTED)])
def test_parts_are_compared_with_one_another(reactive_s, word):
    """A reactive stream against the list of the same way of access."""
    rows = [row("mvc-template", large.COLLECTED, 2.0), row("webflux-template", large.STREAMED, reactive_s)]
    assert large.against_blocking(large.STREAMED, 2.0, 100.0)(rows)[0] == word


@pytest.mark.parametrize(
    ("streamed_s", "in_batches_s", "word"),
    [(18.0, 2.0, CONFIRMED), (18.0, 3.0, REFUTED), (2.1, 2.0, UNDECIDED), (3.0, 2.0, UNDECIDED)],
)
def test_a_cure_is_judged_where_there_is_something_to_cure(streamed_s, in_batches_s, word):
    """A stream that is as fast as a list by itself is not cured by anything."""
    rows = [
        row("mvc-template", large.COLLECTED, 2.0),
        row("webflux-template", large.STREAMED, streamed_s),
        row("webflux-template", large.IN_BATCHES, in_batches_s),
    ]
    assert large.cured_by(large.IN_BATCHES)(rows)[0] == word


def test_a_driver_that_is_fast_refutes_nothing_of_templates():
    """The document speaks of templates and repositories; the driver is shown beside them."""
    rows = [
        row("mvc-template", large.COLLECTED, 2.0),
        row("webflux-template", large.STREAMED, 18.0),
        row("webflux-driver", large.STREAMED, 1.0),
    ]
    assert large.against_blocking(large.STREAMED, large.SEVERAL_TIMES, 100.0)(rows)[0] == CONFIRMED


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
    assert found["update-one, distinct ids", "mvc-driver", 200] is None
    assert sum(mean_s is not None for mean_s in found.values()) == 48


def test_the_time_for_all_users_stands_beside_ours():
    """Of a thousand users with one operation each it was published, and no mean."""
    publication, found = find_publication("large-data"), {}
    for part in publication.parts:
        plan = publication.plan(part, 1.0)
        for each in rows_of(publication, part, 1.0, Measured(plan)):
            if each.published:
                found[part.name, each.variant] = (each.published.mean_s, each.published.total_s)
    assert found["insert-one", "mvc-template"] == (None, 9.5)
    assert found["get-one", "webflux-repository"] == (None, 4.833)
    assert found["all, collected", "mvc-template"] == (4.333, None)
    assert len(found) == 12 + 12


def test_a_run_shows_the_published_time_for_all_users(tmp_path, capsys):
    """In the column of published means, where there is no mean."""
    asked = Options(variants=["mvc-template"], users=[1000], loops=1, parameters={"operation": "get-one"}, seed=1)
    plan = planning.make_plan(find_scenario("large-data"), asked, HERE)
    folder = RunFolder.create(plan, ["test"], MACHINE, tmp_path)
    fill(folder.begin(plan.cells[0]), 0.1, np.random.default_rng(1))
    run = run_view.Run(folder)
    tables.print_run(run, Console(width=200))
    assert "all in 5.667" in capsys.readouterr().out
    assert html.render(run)
    assert run.sweep_figure()


@pytest.mark.parametrize(
    ("operation", "way", "find", "more"),
    [
        ("query-1k", "collected", 1, (9, 10)),
        ("query-1k-paged", "paged", 2, None),
        ("get-all-paged", "paged", 11, None),
    ],
)
def test_demands_of_a_query_and_of_pages(operation, way, find, more):
    """A thousand entities in batches of a hundred, or in a full page and an empty one."""
    scenario = find_scenario("large-data")
    plan = planning.make_plan(scenario, Options(parameters={"batch_size": "100", "way": way}), HERE)
    calls = prediction.calls_to(plan, scenario.variant("webflux-repository"), "mongo", plan.parameters)
    assert (calls["mongo find"][operation], calls["mongo getMore"][operation]) == ((find, find), more)


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"users": (1001,)}, "1,001 users cannot have an entity each of their own: there are 1,000"),
        ({"users": (500, 2000)}, "2,000 users"),
        ({"users": (200,), "parameters": {"operation": "update-many", "elements": 6}}, "at most 166 --users"),
        ({"users": (200,), "parameters": {"operation": ["get-many"], "elements": [5, 6]}}, "at most 166 --users"),
    ],
)
def test_more_users_than_entities_cannot_all_have_their_own(asked, named):
    """They would share some, unsaid."""
    with pytest.raises(LabError) as caught:
        planning.make_plan(find_scenario("mongo-access"), Options(**asked), HERE)
    assert named in f"{caught.value} {caught.value.next_step}"


@pytest.mark.parametrize(
    "parameters",
    [
        {"contention": "same"},
        {"operation": "add-one"},
        {"operation": "add-many", "elements": 100},
    ],
)
def test_users_who_share_or_bring_their_entities_are_as_many_as_asked(parameters):
    """Nothing of what is seeded is theirs alone."""
    assert planning.make_plan(find_scenario("mongo-access"), Options(users=(2000,), parameters=parameters), HERE).cells


@pytest.mark.parametrize(
    ("batch", "more"),
    [("100", (99, 100)), ("1000", (9, 10)), ("default", None)],
)
def test_demands_say_how_many_batches_are_due(batch, more):
    """Of the driver's own batches nobody knows how many."""
    scenario = find_scenario("large-data")
    plan = planning.make_plan(scenario, Options(parameters={"batch_size": batch}), HERE)
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
        planning.make_plan(find_scenario(scenario), Options(parameters=parameters), HERE)
    assert named in f"{caught.value} {caught.value.next_step}"


@pytest.mark.parametrize(
    ("scenario", "parameters", "problem", "step"),
    [
        (
            "large-data",
            {"operation": "update-many-1k", "way": "streamed"},
            "--way has no effect without --operation query-1k or get-all.",
            "Leave it out, or change --operation.",
        ),
        (
            "large-data",
            {"operation": ["insert-one", "get-one"], "batch_size": "100"},
            "--batch-size has no effect without --operation query-1k or get-all.",
            "Leave it out, or change --operation.",
        ),
        (
            "mongo-access",
            {"operation": "remove-one", "contention": "same"},
            "--contention has no effect without "
            "--operation get-one, update-one, get-many, update-many or get-by-query.",
            "Leave it out, or change --operation.",
        ),
        (
            "mongo-access",
            {"operation": "get-one", "elements": 3},
            "--elements has no effect without --operation add-many, get-many or update-many.",
            "Leave it out, or change --operation.",
        ),
    ],
)
def test_what_has_no_effect_on_an_operation_is_refused(scenario, parameters, problem, step):
    """It would stand in a title, and be compared, as if it had one."""
    with pytest.raises(LabError) as caught:
        planning.make_plan(find_scenario(scenario), Options(parameters=parameters), HERE)
    assert (caught.value.problem, caught.value.next_step) == (problem, step)


def test_what_has_an_effect_on_one_of_the_operations_of_a_sweep_is_taken():
    """The others do without it."""
    parameters = {"operation": ["add-one", "get-one"], "contention": "same"}
    assert planning.make_plan(find_scenario("mongo-access"), Options(users=(2000,), parameters=parameters), HERE).cells


def test_a_choice_that_is_a_number_may_be_written_as_one():
    """From Python it is."""
    plan = planning.make_plan(find_scenario("large-data"), Options(parameters={"batch_size": 1000}), HERE)
    assert plan.parameters["batch_size"] == "1000"


def test_a_repository_saves_as_many_as_it_has_found():
    """Updates of several by a repository are a find and an update of each."""
    scenario = find_scenario("mongo-access")
    plan = planning.make_plan(
        scenario, Options(parameters={"operation": "update-many", "contention": "same", "elements": 7}), HERE
    )
    calls = prediction.calls_to(plan, scenario.variant("webflux-repository"), "mongo", plan.parameters)
    assert (calls["mongo find"]["update-many"], calls["mongo update"]["update-many"]) == ((1, 1), (7, 7))
    calls = prediction.calls_to(plan, scenario.variant("webflux-template"), "mongo", plan.parameters)
    assert (calls["mongo find"]["update-many"], calls["mongo update"]["update-many"]) == ((0, 0), (1, 1))


@pytest.fixture
def counted_run(tmp_path):
    """A run of a repository and the template that updated 200 entities each, with what the database counted."""
    options = Options(variants=["mvc-template", "webflux-repository"], users=[200], seed=1)
    asked = replace(options, parameters={"operation": ["get-one", "update-one"], "contention": "same"})
    plan = planning.make_plan(find_scenario("mongo-access"), asked, HERE)
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
        "mvc-template at get-one; webflux-repository at get-one: the database counted 1 find a request.",
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
