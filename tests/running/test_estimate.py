"""How long a run will take: theory for the load, experience for the rest, and an order that a dry run shows."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machines import HERE

import lab
from lab.experiments import scenarios
from lab.experiments.document.scenario import TEXT_BYTES
from lab.running import estimate
from lab.running.turn_taking import deadline_s, session_s
from lab.spec import planning, prediction
from lab.spec.options import Options
from lab.storage.run_folder import RunFolder

DELAY, DOCUMENT = scenarios()["delay"], scenarios()["document"]


def load_s(scenario, **options) -> float:
    """How long the only cell of a plan takes by theory."""
    plan = planning.make_plan(scenario, Options(variants=["mvc"], **options), HERE)
    return prediction.load_s(plan, plan.cells[0])


def test_the_time_of_a_load_is_that_of_the_example():
    """On every cell of the example sweep, theory is within a tenth of what the load took."""
    run = lab.open_run("delay-sweep")
    for folder in run.folder.cells():
        expected = prediction.load_s(run.plan, folder.cell)
        assert expected == pytest.approx(folder.read("summary")["elapsed_s"], rel=0.1), folder.cell.id


def test_a_duration_is_taken_as_it_is():
    """A closed loop lasts as long as it was told to, and the last request."""
    assert load_s(DELAY, users=[10], duration=30.0) == 32.0


def test_requests_in_all_are_shared_by_the_threads():
    """1000 requests of 100 users on 50 threads are twenty rounds of 2 s."""
    assert load_s(DELAY, users=[100], requests=1000, threads=50, ramp_up=0.0) == 40.0


def test_a_shaped_link_decides_where_it_is_the_slowest():
    """Few documents take what a connection needs, many what the line needs for all of them."""
    size, shape = TEXT_BYTES, {"link_rate": 3_500_000, "link_connection_rate": 90_000, "ramp_up": 0.0}
    assert load_s(DOCUMENT, users=[1], **shape) == pytest.approx(size / 90_000)
    assert load_s(DOCUMENT, users=[400], **shape) == pytest.approx(400 * size / 3_500_000)


def test_the_mean_over_a_link_waits_for_earlier_waves():
    """Two full waves of 10 over a line that does 10 in a second: half wait one second, half two."""
    rate, options = 10 * TEXT_BYTES, {"variants": ["webflux"], "users": [20]}
    few, many = (planning.make_plan(DOCUMENT, Options(link_rate=rate, pool=pool, **options), HERE) for pool in (10, 20))
    assert prediction.predict_over_link(few, few.cells[0]) == pytest.approx(1.5)
    assert prediction.predict_over_link(many, many.cells[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("pace", [1.0, 0.2])
def test_a_session_lasts_as_long_as_its_pauses_at_the_pace(pace):
    """After the last user has begun; the work of all its requests is added."""
    plan = planning.make_plan(scenarios()["operations"], Options(users=[200], pace=pace, seed=1), HERE)
    load = plan.cells[0].load
    think_s, work_s = 5 + 1 + 2 * 5 + 2 * (7.5 + 5 + 24 + 5), 200 * 26 * prediction.WORK_S
    assert prediction.load_s(plan, plan.cells[0]) == pytest.approx(pace * (60 + think_s) + work_s)
    assert deadline_s(load) + session_s(plan, load) > load.ramp_s + 2 * pace * think_s + 26 * load.timeout_s


def test_the_estimate_learns_from_cells_that_were_measured(plan, tmp_path):
    """Without runs it is a documented guess; with runs the median of what their cells took besides the load."""
    guessed = estimate.estimate_run(plan, plan.cells, tmp_path)
    assert (guessed.learned, guessed.overhead_s) == (0, estimate.CELL_OVERHEAD_S)
    run = RunFolder.create(plan, [], {}, tmp_path)
    for cell, spent_s in zip(plan.cells, (7.0, 9.0), strict=True):
        folder = run.begin(cell)
        folder.keep("timing", {"elapsed_s": spent_s + 1.5})
        folder.keep("summary", {"elapsed_s": 1.5})
    broken = RunFolder.create(plan, [], {}, tmp_path)
    for cell in plan.cells:  # its service did not start
        folder = broken.begin(cell)
        folder.keep("timing", {"elapsed_s": 0.5})
        folder.keep("summary", {"elapsed_s": 0.0})
    learned = estimate.estimate_run(plan, plan.cells, tmp_path)
    assert (learned.learned, learned.overhead_s) == (2, 8.0)
    assert "as in 2 cells before" in str(learned)
    assert estimate.cell_overheads_s(planning.make_plan(DOCUMENT, Options(users=[5], seed=1), HERE), tmp_path) == []
    in_containers = estimate.estimate_run(plan, plan.cells, tmp_path, "docker")  # none of these was measured in one
    assert (in_containers.learned, in_containers.overhead_s) == (0, estimate.IN_CONTAINERS * estimate.CELL_OVERHEAD_S)
    together = estimate.estimate_run(plan, plan.cells, tmp_path, together=2)  # a start costs half as much a load
    assert (together.learned, together.overhead_s) == (0, estimate.CELL_OVERHEAD_S / 2 + estimate.WORKERS_S)
    for options, guess_s in (
        ({"link_latency_ms": 5}, estimate.CELL_OVERHEAD_S + 3 * estimate.ROUNDS),
        ({"interleave": "cells"}, estimate.BUSY_CELL_OVERHEAD_S + 3 * estimate.BUSY_ROUNDS),  # rounds of three seconds
    ):
        document = planning.make_plan(DOCUMENT, Options(seed=1, **options), HERE)
        assert estimate.estimate_run(document, document.cells, tmp_path).overhead_s == guess_s
    two_nodes = replace(plan, nodes=2)
    assert estimate.estimate_run(two_nodes, plan.cells, tmp_path).overhead_s == 2 * estimate.CELL_OVERHEAD_S
    run.add_to_environment("together", [broken.name])
    assert estimate.estimate_run(plan, plan.cells, tmp_path).learned == 0
    assert estimate.estimate_run(plan, plan.cells, tmp_path, together=2).overhead_s == 8.0


def test_a_burst_that_is_warmed_up_until_it_is_compiled_is_guessed_to_take_longer(tmp_path, monkeypatch):
    """By how many of its users come a second; the others of a sweep do not."""
    monkeypatch.setattr("lab.runtimes.host.cores", lambda: (0, 1))
    for users, guess_s in (
        ([4000], estimate.BUSY_CELL_OVERHEAD_S),
        ([100], estimate.CELL_OVERHEAD_S),
        ([100, 4000], (estimate.BUSY_CELL_OVERHEAD_S + estimate.CELL_OVERHEAD_S) / 2),
    ):
        delay = planning.make_plan(scenarios()["delay"], Options(users=users, seed=1), HERE)
        assert estimate.estimate_run(delay, delay.cells, tmp_path).overhead_s == guess_s


def test_the_estimate_learns_from_starts_that_served_as_many_loads(tmp_path):
    """In windows the overhead of a start is shared by its loads, so that with three it says nothing of one."""
    jwt = scenarios()["jwt"]
    one, three = (
        planning.make_plan(jwt, Options(users=users, duration=20.0, interleave="windows"), HERE)
        for users in ([50], [50, 100, 300])
    )
    run = RunFolder.create(one, [], {}, tmp_path)
    for cell in one.cells:
        folder = run.begin(cell)
        folder.keep("timing", {"elapsed_s": 60.0})
        folder.keep("summary", {"elapsed_s": 20.0})
    assert estimate.estimate_run(one, one.cells, tmp_path).overhead_s == 40.0
    assert estimate.estimate_run(three, three.cells, tmp_path).learned == 0


def test_a_runtime_that_is_left_to_the_lab_is_estimated_as_what_it_will_be(typed, plan, tmp_path, monkeypatch):
    """As processes, where no engine answers: from cells that ran as such."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
    run = RunFolder.create(plan, [], {"runtime": "process"}, tmp_path)
    for cell in plan.cells:
        folder = run.begin(cell)
        folder.keep("timing", {"elapsed_s": 8.0})
        folder.keep("summary", {"elapsed_s": 1.0})
    options = ("--users", "5", "--variants", "mvc,webflux", "--data", str(tmp_path))
    listed = typed("run", "delay", "--runtime", "auto", *options, "--dry-run")
    assert "7 s around each cell (as in 2 cells before)" in listed.stdout


@pytest.mark.parametrize(("seconds", "said"), [(40.4, "40 s"), (420, "7 min"), (9000, "2.5 h")])
def test_times_are_said_as_people_do(seconds, said):
    """Seconds, minutes or hours, as exact as an estimate is."""
    assert estimate.duration_text(seconds) == said


@pytest.mark.parametrize("verb", ["run", "sweep"])
def test_a_dry_run_starts_nothing(typed, tmp_path, verb):
    """It prints every cell in the order of its seed, and the time, and leaves no run."""
    arguments = (verb, "delay", "--users", "7", "--repeat", "2", "--seed", "5", "--data", str(tmp_path), "--dry-run")
    first, again = typed(*arguments), typed(*arguments)
    assert first.returncode == 0
    assert first.stdout == again.stdout
    assert sorted(line.split()[1] for line in first.stdout.splitlines()[:6]) == sorted(
        f"{variant.name}-u7-r{repeat}" for variant in DELAY.variants for repeat in (1, 2)
    )
    assert "about" in first.stdout
    assert list(tmp_path.iterdir()) == []
