"""A called service that fails, is slow, or is dead for a time: what callers answer, and what they hold meanwhile."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
from machines import HERE

from lab.experiments import scenarios
from lab.reporting import run_view
from lab.running import conductor
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.plan import Cell
from lab.storage.run_folder import RunFolder
from lab.telemetry.pools import POOLS

pytestmark = [pytest.mark.java, pytest.mark.usefixtures("cold")]


@pytest.mark.thorough
def test_a_called_service_that_fails_or_is_slow_does_so_when_it_was_asked_to(measured):
    """Its failures are those of the first second, it is slow from the second one on, and counts agree all the while."""
    parameters = {"delay_ms": 5, "b_fails": "0:1", "b_slow": "2:60", "b_slower_ms": 300}
    run = measured("chain", "process", "webflux", users=[40], rate=20, duration=5, parameters=parameters)
    (cell,) = run.folder.cells()
    samples, evidence, limits = cell.measured(), cell.read("evidence"), cell.read("limits")
    assert evidence["begun"] == evidence["calls"]["backend"] == 100
    sent_s, ended_s, first_s = sent_and_ended(samples)
    failed = samples["error"] != ""
    assert set(samples["status"][failed]) == {502}
    assert failed[ended_s < first_s + 1].all()
    assert not failed[sent_s > ended_s.min() + 1].any()
    assert (samples["latency_us"][sent_s > ended_s.min() + 2] >= 300_000).all()
    assert (sent_s > ended_s.min() + 2).sum() > 20
    assert (limits["backend fails"], limits["backend slow"], limits["backend slowerMs"]) == ("0:1", "2:60", 300)
    assert "predicted_mean_s" not in {name for name, value in cell.read("summary").items() if value is not None}


# A breaker that was open tries ten calls. It takes answers of earlier ones for theirs, and so may try ten more before
# it has these: of so many threads some are always free.
TRIED, THREADS = 20, 32
# Threads that are busy for a moment besides: with what is refused, and with who reads the metrics.
AT_ONCE = 4
# Of an outage after the first call: when it begins and is over, and what a call takes meanwhile. It is so long that it
# can be seen, although a machine that stands still for some seconds has a breaker opened later.
SLOW_FROM_S, SLOW_TO_S, SLOWER_S = 2, 13, 2
# With less than these all threads wait for what is slow; a breaker has opened; and is closed again after the outage.
ALL_WAIT_S, OPENS_WITHIN_S, CLOSES_WITHIN_S = 3, 5, 5.5


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("variant", "breaker"),
    [("mvc", "off"), ("mvc", "refuse"), ("webflux", "refuse")],
)
def test_an_outage_is_over_when_the_called_service_is_as_before(variant, breaker, measured):
    """Before and after it all answers are right; meanwhile only a breaker keeps threads and connections free.

    It refuses by name, tries again, and closes. Every send has an outcome, and counts agree exactly.
    """
    slow = {"delay_ms": 5, "b_slow": f"{SLOW_FROM_S}:{SLOW_TO_S - SLOW_FROM_S}", "b_slower_ms": 1000 * SLOWER_S}
    settings = {"breaker": breaker}
    if breaker != "off":
        settings |= {"breaker_window": 10, "breaker_slow_ms": 1500, "breaker_open_ms": 1000}
    options = {"users": [200], "rate": 20, "duration": 21, "threads": THREADS, "pool": 400}
    run = measured("chain", "process", variant, **options, parameters=slow | settings)
    (cell,) = run.folder.cells()
    samples, evidence = cell.measured(), cell.read("evidence")
    refused, took_s = samples["error"] == "breaker open", samples["latency_us"] / 1e6
    assert evidence["begun"] == evidence["served"] == len(samples) == 20 * 21
    assert evidence["calls"]["backend"] == (~refused).sum()
    assert evidence["calls_expected"]["backend"] == [(~refused).sum()] * 2
    assert not any("counted" in reason for reason in run.cells[0]["reasons"]), run.cells[0]["reasons"]
    assert set(samples["error"]) <= {"", "breaker open"}
    sent_s, ended_s, first_s = sent_and_ended(samples)
    from_s, over_s = ended_s.min() + SLOW_FROM_S, first_s + SLOW_TO_S
    # Whatever is held up on its way takes as long, too.
    assert (took_s[(sent_s > from_s) & (sent_s < over_s - SLOWER_S) & ~refused] >= SLOWER_S).all()
    # A busy machine sends later, and so opens and closes a breaker later.
    late_s = (samples["sent_us"] - samples["planned_us"]).max() / 1e6
    if breaker == "refuse":
        # Once some calls have been slow; those that were under way by then end first.
        opened_s = ended_s[refused].min()
        assert first_s + SLOW_FROM_S + SLOWER_S <= opened_s < first_s + SLOW_FROM_S + OPENS_WITHIN_S + late_s
        assert refused[(sent_s > opened_s) & (sent_s < over_s)].mean() > 0.5
        from_s = ended_s[sent_s <= opened_s].max()
    else:
        assert not refused.any()
        from_s += ALL_WAIT_S
    # It closes when its trials are slow no more, and no slow call ends among them, which would open it once more.
    slow_until_s = ended_s[(took_s >= SLOWER_S) & (sent_s < ended_s.min() + SLOW_TO_S)].max()
    closed_s = ended_s[~refused & (sent_s > slow_until_s)].nsmallest(TRIED).max()
    assert closed_s < over_s + CLOSES_WITHIN_S + late_s
    assert not refused[sent_s > closed_s].any()
    assert (sent_s > closed_s).sum() > TRIED
    (to_backend,) = [pool for pool in POOLS if pool.to == "backend"]
    in_use = [values for name in to_backend.in_use if len(values := readings_during(cell, name, from_s, over_s))]
    assert held_are_few(*in_use) == (breaker == "refuse")
    if variant == "mvc":
        threads = readings_during(cell, "tomcat_threads_busy_threads", from_s, over_s)
        assert held_are_few(threads, besides=AT_ONCE) == (breaker == "refuse")
    for within_s, is_open in (((from_s, over_s), breaker == "refuse"), ((closed_s, 21), False)):
        states = readings_during(cell, "lab_breaker_open", *within_s)
        assert len(states) > 0
        assert ((states > 0) == is_open).all(), states.to_list()


# Of an outage from 4 s to 10 s after the first call: when it begins and ends.
DIES_S, LIVES_S = 4, 10
# How many are sent in a second: few enough for a service that is cold, on a core that others use too.
RATE = 40


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("variant", "breaker"),
    [("mvc", "fallback"), ("mvc-virtual-resttemplate", "refuse"), ("webflux", "off")],
)
def test_a_called_service_that_is_dead_for_a_time(variant, breaker, measured):
    """By window: nothing is right while it is dead, all is before and after; an open breaker keeps most calls back."""
    settings = {"breaker": breaker} | ({"breaker_window": 10, "breaker_open_ms": 2000} if breaker != "off" else {})
    options = {"users": [200], "rate": RATE, "duration": 16, "threads": THREADS, "pool": 400}
    run = measured("chain", "process", variant, **options, parameters={"b_dead": "4:6"} | settings)
    (cell,) = run.folder.cells()
    samples, evidence = cell.measured(), cell.read("evidence")
    assert evidence["begun"] == evidence["served"] == len(samples) == RATE * 16
    assert evidence["succeeded"] == (samples["status"] == 200).sum()
    kept_back = {"off": "", "refuse": "breaker open", "fallback": "breaker fallback"}[breaker]
    assert set(samples["error"]) <= {"", "status", kept_back}
    (sent_s, ended_s, first_s), is_right = sent_and_ended(samples), samples["error"] == ""
    # When it is surely dead: by plan, as windows are. What a busy machine holds up may reach one that lives again.
    from_s = max(ended_s.min() + DIES_S, ended_s[samples["error"] == "status"].min())
    to_s = samples["planned_us"][ended_s > first_s + LIVES_S].min() / 1e6
    # A breaker is closed when those that it tried have been answered.
    alive_s = ended_s[is_right & (sent_s > from_s)].nsmallest(TRIED).max()
    assert to_s - from_s > 3
    dead, answered = (sent_s > from_s) & (sent_s < to_s), ended_s < first_s + DIES_S
    assert is_right[answered | (sent_s > alive_s)].all()
    assert min(answered.sum(), (sent_s > alive_s).sum()) > 50
    assert (samples["error"][dead] != "").all()
    assert ((samples["error"][dead] == kept_back).mean() > 0.8) == (breaker != "off")
    windows = run.windows()
    inside = windows[(windows["from_s"] > from_s) & (windows["to_s"] < to_s)]
    outcome = {"off": "failed", "refuse": "refused", "fallback": "fallback"}[breaker]
    assert inside["right"].sum() == 0
    assert inside[outcome].sum() > 0.8 * inside["offered"].sum()
    (to_backend,) = [pool for pool in POOLS if pool.to == "backend"]
    (in_use,) = [values for name in to_backend.in_use if len(values := readings_during(cell, name, from_s, to_s))]
    # A machine that is kept busy may be slow to refuse for a moment, not for most of an outage; connections are held by
    # what is under way, never by what has ended.
    answered_at_once = most_under_way(samples, in_use.index) <= TRIED
    assert answered_at_once.mean() > 0.5
    assert held_are_few(in_use[answered_at_once])
    # What was under way when it died has had no answer; it may have been counted.
    right, under_way = (samples["error"] == "").sum(), ((samples["error"] == "status") & (sent_s < from_s)).sum()
    assert right <= evidence["calls"]["backend"] <= right + under_way
    assert not [reason for reason in cell.read("summary")["reasons"] if "counted" in reason]
    if variant == "mvc":
        busy = readings_during(cell, "tomcat_threads_busy_threads", from_s, to_s)
        assert held_are_few(busy[most_under_way(samples, busy.index) <= TRIED], besides=AT_ONCE)


@pytest.mark.thorough
def test_an_outage_that_outlasts_its_load_is_over_before_the_next_variant_is_proved(measured):
    """The called service is that of the whole run: each variant finds it as the first one did."""
    run = measured("chain", "process", "mvc,webflux", users=[50], rate=20, duration=3, parameters={"b_dead": "1:600"})
    for cell in run.folder.cells():
        samples, evidence = cell.measured(), cell.read("evidence")
        assert (evidence["component_errors"], evidence["limits_broken"]) == ([], [])
        sent_s, ended_s, first_s = sent_and_ended(samples)
        assert set(samples["error"]) == {"", "status"}
        assert (samples["error"][ended_s < first_s + 1] == "").all()
        assert (samples["error"][sent_s > ended_s.min() + 1] == "status").all()


def sent_and_ended(samples: pd.DataFrame) -> tuple[pd.Series, pd.Series, float]:
    """When each request was sent and answered, and when the first was sent, in seconds of the load.

    The time of what is called begins with its first call, which was between the first send and the first answer.
    """
    sent_s = samples["sent_us"] / 1e6
    return sent_s, sent_s + samples["latency_us"] / 1e6, float(sent_s.min())


def readings_during(cell, name: str, from_s: float, to_s: float) -> pd.Series:
    """What the service was read to say by one of its metrics in these seconds of the load, by the second of each."""
    rows, samples = cell.metrics(), cell.measured()
    held_up = samples["sent_us"] - samples["planned_us"] > 3e5
    late_s = samples["sent_us"][held_up] / 1e6
    # Not while all that a machine that stood still has held up is sent at once.
    is_calm = ~rows["t_s"].map(lambda t_s: late_s.between(t_s - 0.5, t_s + 0.5).any())
    is_it = (rows["target"] == "service") & (rows["name"] == name) & rows["t_s"].between(from_s, to_s)
    return rows[is_it & is_calm].set_index("t_s")["value"]


def most_under_way(samples: pd.DataFrame, at_s: pd.Index) -> np.ndarray:
    """The most requests that were under way at one time, in the quarter of a second around each of these seconds."""
    sent_s, ended_s, _ = sent_and_ended(samples)
    sent_s, ended_s = np.sort(sent_s), np.sort(ended_s)
    near_s = np.add.outer(np.asarray(at_s), np.linspace(-0.125, 0.125, 11))
    return (np.searchsorted(sent_s, near_s, "right") - np.searchsorted(ended_s, near_s, "right")).max(axis=1)


def held_are_few(held: pd.Series, besides: int = 0) -> bool:
    """Whether at no time more are held than by the calls that a breaker tries; else it is by all threads, or more.

    Args:
        besides: so many may be held for another reason.

    """
    assert held.max() <= TRIED + besides or held.median() >= THREADS - 3, held.to_list()
    return bool(held.max() <= TRIED + besides)


@pytest.mark.thorough
def test_a_called_service_that_dies_makes_the_cell_invalid_by_name(tmp_path):
    """SIGKILL in the middle of the load: the verdict says who ended, and how."""
    options = Options(users=[20], duration=6.0, variants=["webflux"], seed=1, heap_mb=256, parameters={"delay_ms": 50})
    plan = planning.make_plan(scenarios()["chain"], options, HERE)
    with set_up(plan, Invocation(["test"], tmp_path, Reporter(quiet=True)), 200) as testbed:
        backend = testbed.backing.services["backend"].running
        threading.Thread(target=_kill_once_loaded, args=(testbed.run, plan.cells[0], backend.pid), daemon=True).start()
        conductor.measure_start(testbed, [[plan.cells[0]]])
    (row,) = run_view.Run(testbed.run).cells
    assert row["verdict"] == "invalid"
    assert any("backend" in reason and "SIGKILL" in reason for reason in row["reasons"]), row["reasons"]


def _kill_once_loaded(run: RunFolder, cell: Cell, pid: int) -> None:
    """Kill a process as soon as samples of the measured load arrive: limits are read just before it begins."""
    while not (run.cell(cell).path / "limits.json").exists():
        time.sleep(0.05)
    time.sleep(1)
    os.kill(pid, signal.SIGKILL)
