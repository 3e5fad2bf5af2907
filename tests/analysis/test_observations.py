"""From readings to what they mean: whose cores were taken, what a request cost, whether it stayed the same."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from lab.analysis import observations, window_figures
from lab.analysis.evidence import Steadiness
from lab.analysis.service_cost import generator_cost, of_all_pools, of_pools, service_cost
from lab.analysis.steadiness import slowness, steadiness
from lab.formulas import trend
from lab.formulas.queueing import queue_latencies
from lab.formulas.stats import summarise
from lab.generator.fleet import PhaseResult
from lab.spec.window import Window
from lab.spec.workload import Burst, Closed, Load, Open, Ramp, Total
from lab.telemetry.actuator import COMPILED_MS, GC_PAUSES
from lab.telemetry.running_clock import RunningClock
from lab.telemetry.sampler import (
    CORES_BUSY,
    FIXED_WORK,
    IDLE_SERVICES,
    INTERRUPTS,
    MACHINE,
    PAUSED,
    PAUSES_UNREAD,
    SPEED_UNREAD,
    TRACKED_SHARE,
    UNTRACKED,
    Telemetry,
)

CORES = {"service": frozenset({0}), "generator": frozenset({1})}


def readings(target: str, name: str, rate: float, seconds: int = 11, first: float = 100.0):
    """One reading a second of a counter that grows at a rate."""
    return [(float(t), target, name, first + rate * t) for t in range(seconds)]


def telemetry(generator_busy: float, service_busy: float = 0.5) -> Telemetry:
    """Ten seconds in which the service takes half of its core, and worker, master and lab 40 % of theirs."""
    rows = readings("service", "cpu_s", 0.5) + readings("worker 1", "cpu_s", 0.3)
    rows += readings("master", "cpu_s", 0.06) + readings("lab", "cpu_s", 0.04)
    rows += readings("generator", CORES_BUSY, generator_busy) + readings("service", CORES_BUSY, service_busy)
    return Telemetry(rows + readings(MACHINE, "cpu_s", generator_busy + service_busy))


def test_what_is_left_of_a_core_was_taken_by_others():
    """A core busy to 90 %, of which ours used 40 %, was taken to 50 %."""
    shares = observations.foreign_cores(telemetry(generator_busy=0.9), CORES)
    assert shares["generator"] == pytest.approx(0.5)
    assert shares["service"] == pytest.approx(0.0)


def test_interrupts_that_programs_are_charged_for_hide_no_other_program():
    """A tenth of a full core is somebody else's, and a fifth interrupts, nearly all of it in the service's time."""
    found = telemetry(generator_busy=0.42, service_busy=0.8)
    found.rows = [row for row in found.rows if row[1:3] != ("service", "cpu_s")]
    found.rows += readings("service", INTERRUPTS, 0.19) + readings("service", "cpu_s", 0.88)
    assert observations.foreign_cores(found, CORES, interrupts_in_programs=True)["service"] == pytest.approx(
        0.108, abs=0.001
    )
    assert observations.foreign_cores(found, CORES)["service"] == 0.0, "they would have been counted apart"


def test_cores_of_nobody_were_taken_by_nobody():
    """Without pinning there is nothing to say of anybody's cores."""
    assert observations.foreign_cores(telemetry(0.9), {}) == {}


def test_services_that_are_up_in_turns_are_idle_services_and_no_other_programs():
    """What they use of the service's core is theirs, and is no component's either; alone, a service has none."""
    found = telemetry(generator_busy=0.42, service_busy=0.6)
    found.rows += readings("neighbours", "cpu_s", 0.1) + readings("idle generators", "cpu_s", 0.02)
    assert observations.foreign_cores(found, CORES) == pytest.approx({"service": 0.0, "generator": 0.0})
    assert observations.idle_services(found, cores=1) == pytest.approx(0.1)
    assert observations.idle_services(found, cores=2) == pytest.approx(0.05)
    assert observations.beside(found) == {}
    assert service_cost(found.rows, 0.0, 10.0, 100)["neighbours_cpu"] == pytest.approx(0.1)
    assert observations.idle_services(telemetry(0.9), cores=1) is None


def test_nodes_are_the_service_and_counted_once():
    """What each of them uses is in the service's own reading already, and so is their pool; a balancer is beside it."""
    found = telemetry(generator_busy=0.42, service_busy=0.5)
    found.rows += (
        readings("node 1", "cpu_s", 0.2) + readings("node 2", "cpu_s", 0.3) + readings("balancer", "cpu_s", 0.02)
    )
    found.rows += readings("node 1", "r2dbc_pool_acquired", 0.0, first=5.0)
    found.rows += readings("service", "r2dbc_pool_acquired", 0.0, first=9.0)
    assert observations.foreign_cores(found, CORES) == pytest.approx({"service": 0.0, "generator": 0.0})
    assert observations.foreign_cpu(found, cores=1) == pytest.approx(0.0)
    assert observations.beside(found) == pytest.approx({"balancer": 0.02})
    assert of_pools(found.rows, 0.0, 10.0, 100, {})["pool to mysql"]["in_use"] == pytest.approx(9.0)


def test_the_cost_of_a_request_is_cut_to_the_load():
    """Of ten seconds that were watched, the load lasted four; only their CPU counts, read between the seconds too."""
    rows = readings("service", "cpu_s", 0.5) + readings("service", "jvm_gc_pause_seconds_sum", 0.01)
    rows += readings("service", "hikaricp_connections_active", 1.0, first=0.0)
    rows += readings("service", "jvm_compilation_time_ms_total", 250.0)
    cost = service_cost(rows, 2.5, 6.5, requests=1000)
    assert cost["jit_share"] == pytest.approx(0.25)
    assert cost["cpu_s_per_1000_requests"] == pytest.approx(2.0)
    assert cost["gc_pause_s"] == pytest.approx(0.04)
    pools = of_all_pools(of_pools(rows, 2.5, 6.5, 1000, {}))
    assert pools["pool_in_use"] == pytest.approx(np.mean([3, 4, 5, 6]))
    assert pools["pool_wait"] is None


MONGO, TO_BACKEND = "mongodb_driver_pool_", "httpcomponents_httpclient_pool_"


def test_two_pools_are_two_and_not_the_mean_of_both():
    """Each by its name, with the limit of all nodes, and its own queue; what is said of all pools is the sum."""
    in_use = {f"{MONGO}checkedout": 2.0, f"{TO_BACKEND}leased_connections": 10.0}
    waiting = {f"{MONGO}waitqueuesize": 0.0, f"{TO_BACKEND}total_pending": 30.0}
    rows = [row for name, value in (in_use | waiting).items() for row in readings("service", name, 0.0, first=value)]
    limits = {"pool to mongo": 100, "pool to backend": 5, "pool_max": None, "nodes": 2}
    found = of_pools(rows, 2.0, 6.0, 1000, limits)
    assert found == {
        "pool to mongo": {"limit": 200, "in_use": 2.0, "wait": 0.0, "acquire_s": 0.0},
        "pool to backend": {"limit": 10, "in_use": 10.0, "wait": 30.0, "acquire_s": pytest.approx(0.12)},
    }
    of_all = {"pool_in_use": 12.0, "pool_wait": 30.0, "pool_acquire_s": pytest.approx(0.12)}
    assert of_all_pools(found) == of_all


def test_a_pool_of_an_older_run_has_the_limit_of_all_pools():
    """Pools had no limits by name then, and were equally large; a pool that nothing was read of is left out."""
    rows = readings("service", "r2dbc_pool_acquired", 0.0, first=7.0)
    found = of_pools(rows, 2.0, 6.0, 1000, {"pool_max": 20})
    assert found == {"pool to mysql": {"limit": 20, "in_use": 7.0, "wait": None, "acquire_s": None}}


def test_failures_make_a_right_answer_dearer():
    """Of a thousand requests four hundred were answered: they bear the cost of all; memory is the process's own."""
    rows = readings("service", "cpu_s", 0.5) + readings("service", "jvm_gc_pause_seconds_sum", 0.01)
    rows += readings("service", "rss_bytes", 0.0, first=1e9) + readings(
        "service", "jvm_heap_used_bytes", 0.0, first=5e8
    )
    rows += readings("service", "jvm_memory_used_bytes", 0.0, first=6e8)
    rows += readings("mysql", "rss_bytes", 0.0, first=9e9)
    cost = service_cost(rows, 2.5, 6.5, requests=1000, right=400)
    assert (cost["cpu_s"], cost["cpu_s_per_1000_right"]) == (pytest.approx(2.0), pytest.approx(5.0))
    assert cost["gc_pause_s_per_1000_right"] == pytest.approx(0.1)
    memory = [cost[name] for name in ("memory_bytes", "jvm_bytes", "heap_bytes")]
    assert memory == pytest.approx([1e9, 6e8, 5e8])
    of_right = [cost[f"{name}_per_1000_right"] for name in ("jvm_bytes", "heap_bytes")]
    assert of_right == pytest.approx([1.5e9, 1.25e9])
    assert service_cost(rows, 2.5, 6.5, requests=1000)["cpu_s_per_1000_right"] is None


def test_what_was_not_read_is_not_known():
    """No readings, no requests: no figure, rather than a wrong one."""
    assert set(service_cost([], 0.0, 1.0, 10).values()) == set(of_all_pools({}).values()) == {None}
    assert service_cost(readings("service", "cpu_s", 1.0), 0.0, 1.0, 0)["cpu_s_per_1000_requests"] is None
    for target, name, figure in (("service", COMPILED_MS, "jit_share"), (IDLE_SERVICES, "cpu_s", "neighbours_cpu")):
        assert service_cost(readings(target, name, 50.0), 0.0, 0.0, 0)[figure] is None


def test_a_request_costs_the_generator_what_all_workers_used():
    """Two workers on this machine together; nothing is known where one is on another machine, and so not read."""
    rows = readings("worker 1", "cpu_s", 0.3) + readings("worker 2", "cpu_s", 0.2) + readings("master", "cpu_s", 0.1)
    assert generator_cost(rows, 2.5, 6.5, 1000) == {"generator_cpu_s_per_1000_requests": pytest.approx(2.0)}
    elsewhere = readings("worker 3", "under_way", 0.0)
    for unknown in ([], rows + elsewhere):
        assert generator_cost(unknown, 2.5, 6.5, 1000) == {"generator_cpu_s_per_1000_requests": None}


def test_what_nobody_read_after_the_end_is_not_known():
    """A counter that was last read in mid-load would show too little."""
    rows = readings("service", "cpu_s", 0.5) + readings("service", "jvm_gc_pause_seconds_sum", 0.01, seconds=5)
    cost = service_cost(rows, 2.5, 6.5, requests=1000)
    assert cost["cpu_s_per_1000_requests"] == pytest.approx(2.0)
    assert cost["gc_pause_s"] is None


def played(ticks, whole: bool = True) -> PhaseResult:
    """What one worker counted: (seconds, requests under way)."""
    return PhaseResult(ticks={"0": [(round(t * 1e6), n) for t, n in ticks]}, whole=whole)


@pytest.mark.parametrize(
    ("workers", "cores", "share"), [(1, 1, 0.48), (2, 1, 0.96), (2, 2, 0.48), (3, 2, 0.72), (2, 4, 0.48), (2, 0, None)]
)
def test_workers_that_share_cores_fill_them_together(workers, cores, share):
    """Two on one core keep it busy, although neither uses half of it; without cores of their own nobody knows."""
    found = [row for k in range(1, workers + 1) for row in readings(f"worker {k}", "cpu_s", 0.48)]
    found += readings("service", "cpu_s", 0.5) + readings("master", "cpu_s", 0.06)
    elsewhere = {"9": [(0.0, 0.0), (10.0, 5.0)]}  # by its own count: on which cores it was is not known
    result = PhaseResult(cpu=elsewhere)
    assert observations.workers_cpu(Telemetry(found), result, 0.0, 10.0, cores) == (share and pytest.approx(share))
    assert observations.worker_cpu(Telemetry(found), result, 0.0, 10.0) == pytest.approx(0.5)
    assert observations.workers_cpu(Telemetry([]), result, 0.0, 10.0, cores) is None


def test_the_generator_of_a_ramp_is_judged_by_its_end(samples_of):
    """Its mean is half of what the end asks: of the rate, and of the CPU of the worker that sends it."""
    used = [(float(t), "worker 1", "cpu_s", t**2 / 40) for t in range(21)]
    result = PhaseResult(begun=4000, sessions=2000, whole=True)
    observed = observations.Observed(result=result, telemetry=Telemetry(used))
    samples = samples_of([0.1] * 200, sent_s=[t / 10 for t in range(200)])
    conditions = observations.Conditions(True, "service", {}, 2000.0, (0, 0), {}, {}, (), (), 0, True, ())

    def judged(load):
        summary = summarise(samples, from_planned=True)
        sends = observations.sends(in_pieces(samples), load, summary.elapsed_s)
        found = observations.evidence(observed, replace(conditions, sends=sends), load, summary, samples[:0])
        return found.generator.worker_cpu, found.generator.peak_rps

    assert judged(Ramp(users=9, from_rps=0, to_rps=900, duration_s=20.0)) == (pytest.approx(0.925, abs=0.03), 1800)
    assert judged(Open(users=9, rate_rps=900, duration_s=20.0)) == (
        pytest.approx(0.5, abs=0.03),
        pytest.approx(10, abs=0.1),
    )
    growing = Closed(users=9, ramp_s=20.0, duration_s=20.0)
    assert judged(growing) == (pytest.approx(0.925, abs=0.03), pytest.approx(10, abs=0.5))
    steady = Closed(users=9, ramp_s=10.0, duration_s=20.0)
    assert judged(steady) == (pytest.approx(0.75, abs=0.03), pytest.approx(10, abs=0.2))
    result.pauses = 2000  # so that what sessions send comes long after they began
    assert judged(Ramp(users=9, from_rps=0, to_rps=900, duration_s=20.0))[1] == 0


@pytest.mark.parametrize(
    ("load", "late_s"),
    [
        (Closed(users=10, duration_s=20.0), 30.0),
        (Closed(users=10, duration_s=20.0, windows=10), 29.0),
        (Open(users=10, rate_rps=10.0, duration_s=20.0), 30.0),
        (Burst(users=10), 0.0),
    ],
)
def test_one_request_that_keeps_a_load_is_told_from_its_latencies(samples_of, load, late_s):
    """What 99 % take is usual, once, or in each window; a burst is over with its last answer."""
    sent_s = [at / 10 for at in range(201)]
    conditions = observations.Conditions(False, "service", {}, None, (0, 0), {}, {}, (), (), 0, True, ())

    def outlasted_s(latency_s, **of_result):
        samples, observed = samples_of(latency_s, sent_s=sent_s), observations.Observed()
        observed.result = PhaseResult(**{"whole": True, "finished": 201, **of_result})
        known = replace(conditions, sends=observations.sends(in_pieces(samples), load, 0.0))
        found = observations.evidence(observed, known, load, summarise(samples), samples)
        return found.generator.outlasted_s

    assert outlasted_s([0.1] * 200 + [30.1]) == pytest.approx(late_s, abs=0.2)
    assert outlasted_s([0.1] * 201) == pytest.approx(0.0, abs=0.01)
    assert outlasted_s([30.1] * 201) == pytest.approx(0.0, abs=0.01)
    assert outlasted_s([0.1] * 200 + [30.1], whole=False) == 0.0


@pytest.mark.parametrize(("last_s", "error", "late_s"), [(120.0, "timeout", 117.9), (120.0, "", 0.0), (2.1, "", 0.0)])
def test_a_burst_is_over_when_the_last_is_answered(samples_of, last_s, error, late_s):
    """One that only times out later keeps it, and all rates are of that time; what is answered late is its own."""
    samples = samples_of([2.0] * 99 + [last_s], sent_s=[at / 1000 for at in range(100)])
    samples["error"] = [""] * 99 + [error]
    sends = observations.sends(in_pieces(samples), Burst(users=100), 0.0)
    conditions = observations.Conditions(False, "service", {}, None, (0, 0), {}, {}, (), (), 0, True, (), sends=sends)
    observed = observations.Observed(result=PhaseResult(whole=True, finished=100))
    found = observations.evidence(observed, conditions, Burst(users=100), summarise(samples), samples[:0])
    assert found.generator.outlasted_s == pytest.approx(late_s, abs=0.2)
    assert observations.sends(in_pieces(samples.assign(error="timeout")), Burst(users=1), 0.0).answered_until_s is None


def in_pieces(samples):
    """The way in which the samples of a cell are read: columns of two pieces; by one worker, unless they say."""
    samples = samples if "worker" in samples else samples.assign(worker=0)
    return lambda columns: [samples[columns][:50], samples[columns][50:]]


def test_a_load_that_a_number_of_requests_ends_is_judged_until_the_first_worker_has_sent_its_part(samples_of):
    """Its users have nothing left to send; and until the last request was sent, not until it was answered."""
    samples = samples_of([0.1] * 199 + [50.0], sent_s=[at / 10 for at in range(200)])
    samples["worker"] = [at % 2 if at < 100 else 0 for at in range(200)]
    load = Total(users=9, ramp_s=1.0, requests=200)
    found = observations.sends(in_pieces(samples), load, 70.0)
    assert (found.sent_by_all_until_s, found.sent_until_s, found.answered_until_s) == pytest.approx((9.9, 19.9, 69.9))
    assert observations.busiest_span_s(load, 70.0, found) == pytest.approx((1.0, 19.9))
    assert found.busiest_rps == pytest.approx(10, abs=0.1)
    assert observations.sends(in_pieces(samples[:0]), load, 0.0) == observations.NO_SENDS


@pytest.mark.parametrize(("ended_s", "known"), [(9.0, False), (25.0, True), (None, True)])
def test_of_a_machine_that_nobody_watches_any_more_no_pauses_and_no_speed_are_known(samples_of, ended_s, known):
    """What watched it had ended in the load; after it that does not matter."""
    rows = [(t, MACHINE, name, 1.0) for t in (ended_s,) if t is not None for name in (PAUSES_UNREAD, SPEED_UNREAD)]
    samples = samples_of([0.1] * 200, sent_s=[at / 10 for at in range(200)])
    owned = {"service": frozenset({0}), "generator": frozenset({1})}
    conditions = observations.Conditions(True, "service", owned, None, (0, 0), {}, {}, (), (), 0, True, ())
    observed = observations.Observed(
        result=PhaseResult(whole=True), telemetry=Telemetry([*core_speed(lambda at: 1.0), *rows])
    )
    found = observations.evidence(observed, conditions, Closed(users=9, duration_s=20.0), summarise(samples), samples)
    assert (found.interference.paused, bool(found.steadiness.slowed)) == (0.0 if known else None, known)


def test_what_a_pause_of_the_machine_adds_to_the_highest_percentile_is_known(samples_of):
    """Where it holds more than one request in a hundred; in an open loop what was due meanwhile too."""
    sent_s = np.arange(0, 30, 0.01)
    held = (sent_s > 9.0) & (sent_s < 10.0)
    samples = samples_of(list(np.where(held, 1.4, 1.0)), sent_s=list(sent_s))
    closed, burst = Closed(users=100, duration_s=30.0), Burst(users=100)
    clock = RunningClock(np.array([10.0]), np.array([0.4]))
    assert observations.paused_in_p99_s(closed, samples, clock) == pytest.approx(0.4, abs=0.01)
    assert observations.paused_in_p99_s(burst, pd.DataFrame(), clock) == 0.0
    assert observations.paused_in_p99_s(closed, samples.assign(error="timeout"), clock) == 0.0
    assert observations.paused_in_p99_s(closed, samples, RunningClock(np.zeros(0), np.zeros(0))) == 0.0
    late = samples_of(
        [0.01] * 3000, sent_s=[max(at, 10.4) if at > 10.0 else at for at in sent_s], planned_s=list(sent_s)
    )
    late = late[late["planned_us"] < 10_400_000]
    assert observations.paused_in_p99_s(closed, late, clock) == pytest.approx(0.0, abs=0.01)
    assert observations.paused_in_p99_s(Open(users=9, rate_rps=100, duration_s=30.0), late, clock) > 0.2


def test_the_cores_that_workers_fill_are_those_of_the_generator(samples_of):
    """As they were when it was measured; where all were shared that is noted, and each worker is judged by itself."""
    found = [row for k in (1, 2) for row in readings(f"worker {k}", "cpu_s", 0.48)]
    observed = observations.Observed(result=PhaseResult(whole=True), telemetry=Telemetry(found))
    samples = samples_of([10.0])
    for cores, share in ((CORES, 0.96), ({}, None)):
        conditions = observations.Conditions(
            cpu_decides=False,
            entry="service",
            owned_cores=cores,
            ceiling_rps=None,
            succeeded_expected=(0, 0),
            answers_expected={},
            calls_expected={},
            called_services=(),
            unknown_names=(),
            slow_connects=0,
            backlog_set=True,
            others=(),
        )
        found = observations.evidence(observed, conditions, Burst(users=1), summarise(samples), samples)
        assert (found.interference.shared_cores, found.interference.paused) == ((False, 0.0) if cores else (True, None))
        state = found.generator
        assert state.worker_cpu == pytest.approx(0.48)
        assert state.workers_cpu == (share and pytest.approx(share))


def test_requests_under_way_are_counted_to_the_last_one():
    """Four seconds with ten of them, and what came between the last tick and the end too."""
    ticks = [(0.0, 10), (2.0, 10), (4.0, 10)]
    assert observations.counted_in_system(played(ticks), 4.0) == pytest.approx(10.0)
    assert observations.counted_in_system(played(ticks[:-1]), 4.0) == pytest.approx(5.0)


def test_a_worker_that_stands_still_is_seen_by_the_counts_that_it_did_not_make():
    """Before the load and after its end it may do as it likes."""
    ticks = [(-5.0, 0), (-0.05, 0), (0.0, 10), (0.05, 10), (2.85, 10), (2.9, 10), (4.0, 0), (9.0, 0)]
    never = RunningClock.of([])
    assert observations.stood_still_s(played(ticks), 4.0, never) == pytest.approx(2.8)
    of_the_machine = RunningClock.of([(0.1, MACHINE, PAUSED, 2.0)])
    assert observations.stood_still_s(played(ticks), 4.0, of_the_machine) == pytest.approx(1.1)
    assert observations.stood_still_s(played([]), 4.0, never) == 0.0


def test_a_worker_with_nothing_left_to_send_in_a_window_does_not_stand_still():
    """It counts until the window's last answer; what it misses from the next one's begin on counts."""
    ticks = [(0.0, 1), (0.05, 1), (0.1, 0), (2.0, 1), (2.05, 1), (2.1, 0), (4.4, 1)]
    windows = [Window(k, 0, 0.0, 2.0 * k, 2.0, 2.0, 1, 0, None) for k in range(3)]
    assert observations.stood_still_s(played(ticks), 6.0, RunningClock.of([]), windows) == pytest.approx(0.4)
    assert observations.stood_still_s(played(ticks), 6.0, RunningClock.of([]), windows[:1]) == pytest.approx(2.3)


@pytest.mark.parametrize(("elapsed_s", "whole"), [(4.0, False), (0.0, True)])
def test_a_load_that_is_cut_off_or_empty_has_no_count(elapsed_s, whole):
    """Part of it would be missing."""
    assert observations.counted_in_system(played([(0.0, 10), (4.0, 10)], whole), elapsed_s) is None


def test_counting_errs_by_what_changes_between_two_counts():
    """A hundred requests for a tenth of a second are missed by half; for a minute, by a thousandth."""
    counts = [(t / 20, 100) for t in range(3)]
    assert observations.counting_error(played(counts), Burst(users=100), 0.1) == pytest.approx(50.0)
    assert observations.counting_error(played(counts), Burst(users=100), 60.0) == pytest.approx(100 / 1200)
    open_loop = Open(users=100, rate_rps=3000.0, duration_s=60.0)
    assert observations.counting_error(played(counts), open_loop, 60.0) == pytest.approx(3.0 + 100 / 1200)
    ramp = Ramp(users=100, from_rps=0.0, to_rps=3000.0, duration_s=60.0)
    assert observations.counting_error(played(counts), ramp, 60.0) == pytest.approx(3.0 + 100 / 1200)
    assert observations.counting_error(played([]), Burst(users=100), 60.0) == 0.0


def test_the_waves_of_a_burst_are_no_trend(samples_of):
    """Latencies that change by design over twelve seconds leave a burst without a doubt, and a ramp."""
    sent = np.linspace(0, 12, 6000)
    samples = samples_of(list(2.0 - sent / 12), sent_s=list(sent))
    assert steadiness(Burst(users=6000), samples, (), True) == Steadiness()
    ramp = Ramp(users=6000, from_rps=0.0, to_rps=1000.0, duration_s=12.0)
    assert steadiness(ramp, samples, (), True) == Steadiness()
    assert steadiness(Open(users=6000, rate_rps=500.0, duration_s=12.0), samples, (), True).latency_change < -0.3
    assert steadiness(Closed(users=6000, duration_s=12), samples, (), True).latency_change < -0.3


def test_a_short_loop_is_not_asked_for_trends(samples_of):
    """Five seconds are not enough to tell a trend from chance."""
    sent = np.linspace(0, 5, 6000)
    samples = samples_of(list(2.0 - sent / 5), sent_s=list(sent))
    found = steadiness(Closed(users=600, duration_s=5), samples, (), True)
    assert found == Steadiness(not_judged="it lasted less than 9 s after its ramp")


def test_a_loop_whose_steady_part_begins_between_two_seconds_has_its_throughput_judged(samples_of):
    """Nine seconds of it hold eight points, whatever its ramp is."""
    sent = np.linspace(0, 9.6, 6000)
    samples = samples_of([0.01] * 6000, sent_s=list(sent))
    found = steadiness(Closed(users=600, ramp_s=0.5, duration_s=9.6), samples, (), True)
    assert len(trend.throughput_over_time(samples, 1.5, 9.6)) == trend.MIN_POINTS
    assert found.not_judged == ""


def test_speed_of_cores_that_was_read_too_seldom_is_not_known(samples_of):
    """Seven readings show no trend."""
    samples, cpu = closed_loop(samples_of, lambda at: 1.0)
    rows = core_speed(lambda at: 1.0)
    seldom = [row for row in rows if row[1] != "generator" or row[0] < 3.5]
    generator = [(float(at), "generator", FIXED_WORK, 0.001) for at in range(2, 9)]
    found = steadiness(Closed(users=50, duration_s=20), samples, [*cpu, *seldom, *generator], True)
    assert "generator" not in found.slowed
    assert "service" in found.slowed


@pytest.mark.parametrize("cpu_decides", [True, False])
def test_cpu_time_a_request_may_fall_only_where_it_does_not_decide(samples_of, cpu_decides):
    """A compiler that still works in the background is no doubt where requests only wait."""
    sent = np.linspace(0, 20, 20_000)
    samples = samples_of([0.01] * 20_000, sent_s=list(sent))
    cpu = np.cumsum(np.linspace(0.8, 0.4, 21))
    rows = [(float(t), "service", "cpu_s", value) for t, value in enumerate(cpu)]
    found = steadiness(Closed(users=10, duration_s=20), samples, rows, cpu_decides)
    assert (found.cpu_change < -0.3) == cpu_decides
    assert found.latency_change == 0.0
    assert found.course == ("warming" if cpu_decides else "flat")


def test_a_series_that_hardly_moves_hides_no_drift(samples_of):
    """A thousandth less from the fifth second on, and the same from then on: however alike neighbours are."""
    sent = np.linspace(0, 30, 12_000)
    samples = samples_of(list(0.5 * (1 - 0.001 * (sent > 5))), sent_s=list(sent))
    found = steadiness(Closed(users=200, ramp_s=0.0, duration_s=30), samples, (), False)
    assert found.detectable_change <= 0.002
    by_neighbours = trend.latency_over_time(samples, 1.0, 30.0).to_numpy(dtype=float)
    assert trend.detectable(by_neighbours) == math.inf


def test_cpu_time_a_request_is_known_of_few_requests_a_second_too(samples_of):
    """Fifteen a second that become twice as dear are found; of too few nobody can say, and that is said."""
    load, sent = Open(users=10, rate_rps=15.0, duration_s=60.0), np.arange(0, 60, 1 / 15)
    samples = samples_of([0.01] * len(sent), sent_s=list(sent))
    cpu = [(float(t), "service", "cpu_s", float(value)) for t, value in enumerate(np.cumsum(np.linspace(0.1, 0.2, 61)))]
    assert steadiness(load, samples, cpu, True).cpu_change == pytest.approx(1.0, abs=0.2)
    seldom_read = cpu[::9]
    assert "to know the CPU time of each" in steadiness(load, samples, seldom_read, True).not_judged
    assert steadiness(load, samples, seldom_read, False).not_judged == ""
    assert steadiness(load, samples, (), True).not_judged == "", "nobody reads an attached service"


def test_of_what_noise_hides_the_noisier_series_counts_where_the_other_does_not_show_it(samples_of):
    """With pauses throughput says nothing of latency, which may be noisy however steady the pauses are."""
    chance = np.random.default_rng(3)
    users, sent = 20, np.arange(0, 20, 0.01)
    noise = np.repeat(chance.normal(0, 0.5, 40), 50)
    noisy = samples_of(list(0.02 * np.exp(noise)), sent_s=list(sent))
    pausing = steadiness(Closed(users=users, duration_s=20), noisy, (), False)
    even = steadiness(Closed(users=users, duration_s=20), samples_of([0.02] * 2000, sent_s=list(sent)), (), False)
    assert even.detectable_change < 0.05 < 0.3 < pausing.detectable_change <= 1.0
    wave = samples_of(list(0.02 * (1 + 0.5 * np.sin(sent / 3))), sent_s=list(sent))
    assert steadiness(Closed(users=users, duration_s=20), wave, (), False).detectable_change == 1.0


def core_speed(at, owner: str = "service"):
    """Twelve readings a second, for 20 seconds, of a core that is ``at(seconds)`` times as slow as it can be."""
    return [(float(t), owner, FIXED_WORK, 0.0004 * at(t)) for t in np.arange(-0.5, 20.5, 0.08)]


def closed_loop(samples_of, slow_at, users: int = 50):
    """Samples and CPU readings of 20 seconds of a saturated closed loop on a core that is so slow at a moment."""
    sent, latencies, at = [], [], 0.0
    while at < 20:
        took = 0.0005 * slow_at(at)
        sent.append(at)
        latencies.append(users * took)
        at += took
    return samples_of(latencies, sent_s=sent), [(float(t), "service", "cpu_s", float(t)) for t in range(21)]


def test_a_machine_that_changes_is_not_the_service_that_changes(samples_of):
    """Cores that become a third faster raise throughput: it is told from a service that warms up."""
    samples, cpu = closed_loop(samples_of, lambda at: 1.5 - at / 40)
    load = Closed(users=50, duration_s=20)
    unknown = steadiness(load, samples, cpu, True)
    assert max(unknown.latency_change, unknown.cpu_change, -unknown.throughput_change) < -0.15
    shares = {"cores_busy_s": 0.75, "interrupts_s": 0.05}
    busy = [(t, "service", name, share * t) for name, share in shares.items() for t in np.arange(0, 20.5).tolist()]
    known = steadiness(load, samples, cpu + busy + core_speed(lambda at: 1.5 - at / 40), True)
    assert known.cores_busy == {"service": pytest.approx(0.8)}
    assert max(map(abs, (known.latency_change, known.cpu_change, known.throughput_change))) < 0.03
    assert known.slowed["service"] == pytest.approx(-1 / 3, abs=0.05)


@pytest.mark.parametrize("slower", [0.0, 0.1])
def test_full_cores_are_seen_to_become_slower_although_many_readings_are_disturbed(samples_of, slower):
    """Of each second the faster readings tell it; the mean of all scatters too much."""
    chance = np.random.default_rng(5)

    def slow(at: float) -> float:
        disturbed = chance.exponential(0.8) if chance.random() < 0.4 else 0.0
        return (1 + slower * (at > 10)) * (chance.normal(1.0, 0.05) + disturbed)

    samples, cpu = closed_loop(samples_of, lambda at: 1.0)
    rows = core_speed(slow)
    assert trend.change(np.array([spent_s for *_, spent_s in rows])) == 0.0
    load = Closed(users=50, duration_s=20)
    assert steadiness(load, samples, cpu + rows, True).slowed["service"] == pytest.approx(slower, abs=0.02)
    assert steadiness(load, samples, cpu + rows, False).slowed["service"] == 0.0, "cores that wait are not disturbed"


def test_full_cores_that_are_at_their_slower_speed_more_often_are_seen(samples_of):
    """Of each second the faster readings stay the same: only the mean of all tells it."""
    samples, cpu = closed_loop(samples_of, lambda at: 1.0)
    chance = np.random.default_rng(5)
    rows = core_speed(lambda at: 1.0 + 0.4 * (chance.random() < (0.1 if at < 10 else 0.5)))
    found = steadiness(Closed(users=50, duration_s=20), samples, cpu + rows, True)
    assert found.slowed["service"] == pytest.approx(1.2 / 1.04 - 1, abs=0.05)


def shared_machine(chance: np.random.Generator):
    """How slow both cores of a machine are at a moment that other guests make a fifth slower for seconds at a time."""
    turns = np.cumsum(chance.exponential(3.0, 30))
    return lambda at: 1.0 + 0.2 * (np.searchsorted(turns, at) % 2)


def readings_of(slow_at, chance: np.random.Generator):
    """The speed of both cores as it is read, which scatters by a twentieth."""
    return [
        (t, owner, name, value * chance.lognormal(0, 0.05))
        for core in ("service", "generator")
        for t, owner, name, value in core_speed(slow_at, core)
    ]


@pytest.mark.parametrize("seed", range(10))
def test_a_slow_leak_is_found_on_cores_that_keep_changing_their_speed(samples_of, seed):
    """12 % within 20 s, where latency changes by a fifth every three seconds; and none where there is none."""
    chance = np.random.default_rng(seed)
    slow_at = shared_machine(chance)
    load, readings = Closed(users=50, duration_s=20), readings_of(slow_at, chance)

    def found(leak: float) -> Steadiness:
        samples, cpu = closed_loop(samples_of, lambda at: slow_at(at) * (1 + leak * at / 20))
        return steadiness(load, samples, cpu + readings, True)

    assert found(0.0).course == "flat"
    leaking = found(0.12)
    assert max(changes(leaking)) > 0.05
    assert leaking.course == "slowing"


@pytest.mark.parametrize("seed", range(3))
def test_a_load_may_follow_cores_that_change_and_is_settled(samples_of, seed):
    """From 12 s on the machine is a third slower: throughput has two levels, and the service one."""
    chance = np.random.default_rng(seed)

    def slow_at(at: float) -> float:
        return 1.0 if at < 12 else 1.35

    samples, cpu = closed_loop(samples_of, slow_at)
    load = Closed(users=50, duration_s=20)
    assert not steadiness(load, samples, cpu, True).settled
    assert steadiness(load, samples, cpu + readings_of(slow_at, chance), True).settled


def test_a_leak_on_cores_that_become_slower_meanwhile_is_not_all_theirs(samples_of):
    """What both explain together is no more than one and a half times what the readings say."""

    def slow_at(at: float) -> float:
        return 1 + at / 200

    samples, cpu = closed_loop(samples_of, lambda at: slow_at(at) * (1 + at / 80))
    found = steadiness(
        Closed(users=50, duration_s=20), samples, cpu + readings_of(slow_at, np.random.default_rng(1)), True
    )
    assert 0.1 < found.latency_change < 0.25
    assert found.course == "slowing"


def test_seconds_without_an_answer_keep_nobody_from_following_the_cores(samples_of):
    """They say nothing of how fast the cores were, and the load that ends with them is not called steady."""
    slow_at = shared_machine(np.random.default_rng(2))
    samples, cpu = closed_loop(samples_of, slow_at)
    mute = samples[samples["sent_us"] < 17e6]
    found = steadiness(
        Closed(users=50, duration_s=20), mute, cpu + readings_of(slow_at, np.random.default_rng(3)), True
    )
    assert found.throughput_change < -0.5
    assert found.course != "flat"
    assert abs(found.latency_change) < 0.05


def test_a_short_load_follows_the_cores_too(samples_of):
    """With ten points the mean of both owners' cores is followed."""

    def slow_at(at: float) -> float:
        return 1.0 if at < 7 else 1.2

    samples, cpu = closed_loop(samples_of, slow_at)
    load = Closed(users=50, duration_s=12)
    readings = readings_of(slow_at, np.random.default_rng(4))
    found = steadiness(load, samples[samples["sent_us"] < 12e6], cpu + readings, True, until_s=12.0)
    assert max(map(abs, changes(found))) < 0.05


@pytest.mark.parametrize("held", [0.1, 0.0])
def test_a_service_that_is_held_up_uses_less_cpu(samples_of, held):
    """However the speed of cores hides it in the throughput; only where the CPU decides, and users never pause."""
    chance = np.random.default_rng(4)
    slow_at = shared_machine(chance)

    def running(at: float) -> float:
        return 1 - held * at / 20

    samples, _ = closed_loop(samples_of, lambda at: slow_at(at) / running(at))
    used = np.cumsum([running(t - 0.5) * chance.normal(0.98, 0.007) for t in range(21)])
    cpu = [(float(t), "service", "cpu_s", value) for t, value in enumerate(used)]
    load = Closed(users=50, duration_s=20)
    found = steadiness(load, samples, cpu + readings_of(slow_at, chance), True)
    assert found.cpu_used_change == pytest.approx(-0.9 * held, abs=0.02)
    assert found.course == ("slowing" if held else "flat")
    assert steadiness(load, samples, cpu, False).cpu_used_change == 0.0
    pausing = Closed(users=500, duration_s=20)
    assert steadiness(pausing, samples, cpu, True).cpu_used_change == 0.0


def both_sides_busy(ends_at, generator: float = 0.9):
    """Readings of cores that are busy to 90 % at the beginning of 20 s, and to so many times as much at their end."""
    noise = np.random.default_rng(6).normal(0.0, 0.03, 21)  # what keeps one side busier leaves the other less to do
    rows = [*core_speed(lambda _: 1.0), *core_speed(lambda _: 1.0, "generator")]
    for owner, sign, share, end in zip(("service", "generator"), (1, -1), (0.9, generator), ends_at, strict=True):
        busy = np.cumsum([share * (1 + (end - 1) * t / 20) + sign * share * noise[t] for t in range(21)])
        rows += [(float(t), owner, CORES_BUSY, float(value)) for t, value in enumerate(busy)]
        rows += readings(owner, INTERRUPTS, 0.01, seconds=21)
    return rows


@pytest.mark.parametrize(
    ("ends_at", "expected"),
    [
        ((0.90, 0.90), -0.08),  # requests waited for something else
        ((1.06, 1.10), 0.08),
        ((0.80, 1.05), 0.0),  # cores of the service became faster, so that others are busier
        ((1.00, 0.80), 0.0),  # those of the generator, while the service's were busy all the time
    ],
)
def test_cores_of_both_sides_that_are_less_busy_show_that_requests_waited(samples_of, ends_at, expected):
    """However noisy either of them is; only where the CPU decides, users never pause, and nobody takes turns."""
    samples, cpu = closed_loop(samples_of, lambda _: 1.0)
    rows = [*cpu, *both_sides_busy(ends_at)]
    load = Closed(users=50, duration_s=20)
    found = steadiness(load, samples, rows, True)
    assert found.both_sides_busy_change == pytest.approx(expected, abs=0.025)
    assert found.course == ("slowing" if expected < 0 else "warming" if expected else "flat")
    unread = [row for row in rows if row[1:3] != ("generator", INTERRUPTS)]
    others = [
        (load, rows, False),
        (IN_TURNS, rows, True),
        (Closed(users=500, duration_s=20), rows, True),
        (Closed(users=50, duration_s=20, remote_workers=1), rows, True),
        (load, unread, True),
    ]
    assert not any(steadiness(load, samples, *seen).both_sides_busy_change for load, *seen in others)


def test_a_generator_that_has_next_to_nothing_to_do_does_not_hide_that_requests_waited(samples_of):
    """Its cores are busy with what goes on whether anybody asks or not."""
    samples, cpu = closed_loop(samples_of, lambda _: 1.0)
    rows = both_sides_busy((0.8, 1.0), generator=0.1)
    found = steadiness(Closed(users=50, duration_s=20), samples, [*cpu, *rows], True)
    assert found.both_sides_busy_change == pytest.approx(-0.13, abs=0.07)


def test_a_machine_that_stands_still_is_no_busier(samples_of):
    """The kernel counts it as busy time of the programs that ran."""
    samples, cpu = closed_loop(samples_of, lambda _: 1.0)
    at_s = [13.5, 14.5, 15.5, 16.5, 17.5, 18.5]
    pauses = [(at, MACHINE, PAUSED, 0.01) for at in at_s]
    rows = both_sides_busy((1.0, 1.0))
    steady = steadiness(Closed(users=50, duration_s=20), samples, [*cpu, *rows], True)
    held = [
        (t, owner, name, value + 0.12 * sum(at < t for at in at_s)) if name == CORES_BUSY else (t, owner, name, value)
        for t, owner, name, value in rows
    ]
    assert steady.both_sides_busy_change == 0.0
    unnoticed = steadiness(Closed(users=50, duration_s=20), samples, [*cpu, *held], True)
    noticed = steadiness(Closed(users=50, duration_s=20), samples, [*cpu, *held, *pauses], True)
    assert unnoticed.both_sides_busy_change > 0.05
    assert noticed.both_sides_busy_change == 0.0


@pytest.mark.parametrize(("held", "expected"), [(0.12, -0.07), (0.04, 0.0)])
def test_requests_that_become_cheaper_explain_no_more_than_they_save(samples_of, held, expected):
    """The service uses less CPU by what a request takes less of it; for what is missing besides, it waited."""
    chance = np.random.default_rng(5)

    def running(at: float) -> float:
        return 1 - held * at / 20

    def cost(at: float) -> float:
        return 1 - 0.05 * at / 20

    samples, _ = closed_loop(samples_of, lambda at: cost(at) / running(at))
    used = np.cumsum([running(t - 0.5) * chance.normal(0.98, 0.004) for t in range(21)])
    cpu = [(float(t), "service", "cpu_s", value) for t, value in enumerate(used)]
    found = steadiness(Closed(users=50, duration_s=20), samples, cpu, True)
    assert found.cpu_change == pytest.approx(-0.045, abs=0.02)
    assert found.cpu_used_change == pytest.approx(expected, abs=0.02)


IN_TURNS = Closed(users=50, duration_s=20, windows=20)


def test_in_turns_the_load_is_judged_to_its_end(samples_of):
    """The last answers of each window take half a second more, so that 20 s of sending are 30 s of load."""
    sent = np.linspace(0, 30, 30_000)
    samples = samples_of(list(np.where(sent < 21, 0.01, 0.02)), sent_s=list(sent))
    assert steadiness(IN_TURNS, samples, (), True).latency_change > 0.5


def rounds_of(own, *others, noise: float = 0.001, seed: int = 1):
    """What windows say of a load in twenty of a second, of a variant and of others that were so slow at a moment."""
    chance = np.random.default_rng(seed)

    def records(slow):
        took = [slow(number + 0.5) * chance.lognormal(0.0, noise) for number in range(20)]
        return [
            {
                **{"number": number, "began_s": float(number), "length_s": 1.0},
                **{"p50_s": 0.02 * by, "ok_throughput_rps": 2500 / by, "cpu_s_per_1000_requests": 0.4 * by},
            }
            for number, by in enumerate(took)
        ]

    return window_figures.by_round(records(own), *map(records, others))


def changes(found: Steadiness) -> tuple[float, float, float]:
    """By how much it became slower."""
    return found.latency_change, found.cpu_change, -found.throughput_change


def test_what_happened_to_all_that_took_turns_is_no_change_of_one(samples_of):
    """A machine that becomes a fifth faster, while no yardstick of its cores shows it."""

    def slow(at: float) -> float:
        return 1.25 - at / 80

    samples, cpu = closed_loop(samples_of, slow)
    alone = steadiness(IN_TURNS, samples, cpu, True)
    found = steadiness(IN_TURNS, samples, cpu, True, rounds=rounds_of(slow, slow, slow, noise=0.03))
    assert max(changes(alone)) < -0.12
    assert (alone.course, alone.shared_change) == ("warming", 0.0)
    assert max(map(abs, changes(found))) < 0.03
    assert found.course == "flat"
    assert found.shared_change == pytest.approx(-0.2, abs=0.03)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_slow_leak_is_found_beside_others_that_have_none(samples_of, seed):
    """A tenth within the load, while the machine's noise lets each window of the others differ by 3 %."""

    def slow(at: float) -> float:
        return 1 + at / 200

    samples, cpu = closed_loop(samples_of, slow)
    in_turns = rounds_of(slow, lambda at: 1.0, lambda at: 1.0, noise=0.03, seed=seed)
    found = steadiness(IN_TURNS, samples, cpu, True, rounds=in_turns)
    assert min(changes(found)) > 0.05
    assert found.course == "slowing"


@pytest.mark.parametrize(("others_held", "expected"), [(0.0, -0.09), (0.1, 0.0)])
def test_a_service_that_is_held_up_in_turns_uses_less_cpu(samples_of, others_held, expected):
    """By window, and not where the others use less too; only where the CPU decides, and users never pause."""
    chance = np.random.default_rng(6)

    def used(held: float) -> list[dict]:
        cores = (1 - held * np.arange(20) / 20) * chance.normal(0.95, 0.01, 20)
        return [
            {"number": k, "began_s": float(k), "length_s": 1.0, "cores_used": of_window}
            for k, of_window in enumerate(cores)
        ]

    in_turns = window_figures.by_round(used(0.1), used(others_held), used(others_held))
    samples, cpu = closed_loop(samples_of, lambda at: 1.0)
    found = steadiness(IN_TURNS, samples, cpu, True, rounds=in_turns)
    assert found.cpu_used_change == pytest.approx(expected, abs=0.03)
    assert found.course == ("slowing" if expected else "flat")
    assert steadiness(IN_TURNS, samples, cpu, False, rounds=in_turns).cpu_used_change == 0.0
    pausing = Closed(users=500, duration_s=20, windows=20)
    assert steadiness(pausing, samples, cpu, True, rounds=in_turns).cpu_used_change == 0.0


def test_what_the_speed_of_the_cores_explains_is_not_called_shared(samples_of):
    """Cores that all have are no reason for doubt in turns, however much they change."""

    def slow(at: float) -> float:
        return 1.5 - at / 40

    samples, cpu = closed_loop(samples_of, slow)
    found = steadiness(IN_TURNS, samples, cpu + core_speed(slow), True, rounds=rounds_of(slow, slow))
    assert found.slowed["service"] == pytest.approx(-1 / 3, abs=0.05)
    assert found.shared_change == pytest.approx(0.0, abs=0.03)


def test_an_open_loop_beyond_the_capacity_is_slowing_in_turns_too(samples_of):
    """Although each of its windows is as the one before: in each, who asks later waits for longer."""
    within_s = np.tile(np.arange(0.0, 1.0, 0.01), 20)
    sent_s = within_s + np.repeat(np.arange(20.0), 100)
    load = Open(users=500, rate_rps=100.0, duration_s=20.0, windows=20)
    overloaded = samples_of(list(0.01 + within_s), sent_s=list(sent_s), window=[int(at) for at in sent_s])
    found = steadiness(load, overloaded, (), True)
    assert found.latency_change == 0.0
    assert found.queue_growth > 0.5
    assert found.course == "slowing"
    assert steadiness(load, overloaded.assign(latency_us=10_000), (), True).course == "flat"


def test_one_that_did_not_change_is_not_blamed_for_others_that_did(samples_of):
    """What it would have been beside them is no measurement."""
    samples, cpu = closed_loop(samples_of, lambda at: 1.0)
    in_turns = rounds_of(lambda at: 1.0, lambda at: 1 + at / 100)
    found = steadiness(IN_TURNS, samples, cpu, True, rounds=in_turns)
    assert changes(found) == pytest.approx((0.0, 0.0, 0.0), abs=0.02)
    assert (found.course, found.shared_change) == ("flat", 0.0)


def test_a_level_that_all_left_together_is_one(samples_of):
    """A step of the machine keeps nobody from having settled; one of this variant alone does."""

    def stepping(at: float) -> float:
        return 1.0 if at < 12 else 1.3

    samples, cpu = closed_loop(samples_of, stepping)
    assert not steadiness(IN_TURNS, samples, cpu, True, rounds=rounds_of(stepping, lambda at: 1.0)).settled
    assert steadiness(IN_TURNS, samples, cpu, True, rounds=rounds_of(stepping, stepping)).settled


def test_a_service_that_warms_up_on_a_steady_machine_is_still_found(samples_of):
    """What the yardstick does not show is the service's own doing."""
    samples, cpu = closed_loop(samples_of, lambda at: 1.5 - at / 40)
    found = steadiness(Closed(users=50, duration_s=20), samples, cpu + core_speed(lambda at: 1.0), True)
    assert max(found.latency_change, found.cpu_change, -found.throughput_change) < -0.15
    assert found.course == "warming"
    assert found.slowed == {"service": pytest.approx(0.0)}


def test_a_machine_that_stands_still_is_not_a_service_that_does(samples_of):
    """Pauses that come to a third of the second half of a load are neither a stall nor a rise of latency."""
    paused = [(12.0 + k, MACHINE, PAUSED, 0.34) for k in range(8)]
    wall = RunningClock.of(paused)
    at_wall = np.linspace(0, 20, 400_001)
    sent, latency_s = np.arange(0, 17, 0.001), 0.05
    by_wall = np.interp(np.column_stack([sent, sent + latency_s]), wall(at_wall), at_wall)
    samples = samples_of(list(by_wall[:, 1] - by_wall[:, 0]), sent_s=list(by_wall[:, 0]))
    cpu = [(float(t), "service", "cpu_s", float(wall(np.array([t]))[0])) for t in range(21)]
    load = Closed(users=50, duration_s=20)
    assert steadiness(load, samples, cpu, True).stalled_s > 0.2
    found = steadiness(load, samples, cpu + paused, True)
    assert found.stalled_s < 0.01
    assert max(map(abs, (found.latency_change, found.cpu_change, found.throughput_change))) < 0.01
    assert found.settled


def test_a_core_is_as_slow_as_its_readings_around_a_moment():
    """One reading that holds an interrupt counts for little, and where nobody measured, nothing is known."""
    rows = core_speed(lambda at: 2.0 if at >= 10 else 1.0)
    rows[60] = (*rows[60][:3], 1.0)
    slow = slowness(rows, "service", np.array([0.0, rows[60][0], 9.0, 11.0, 20.0]))
    assert slow / slow[0] == pytest.approx([1.0, 1.0, 1.0, 2.0, 2.0], abs=0.25)


def test_a_core_of_two_speeds_is_as_slow_as_it_was_on_average():
    """One that others share changes between them many times a second; half the time is half the way."""
    rows = core_speed(lambda at: 2.0 if round(at / 0.08) % 2 and at >= 10 else 1.0)
    slow = slowness(rows, "service", np.array([5.0, 15.0]))
    assert slow[1] / slow[0] == pytest.approx(1.5, abs=0.05)
    assert slowness(rows, "generator", np.array([1.0, 2.0])) == pytest.approx([1.0, 1.0])


def test_the_speed_of_the_cores_is_kept_for_the_time_of_the_load():
    """So that cells of a run can be told apart by it."""
    rows = core_speed(lambda at: 2.0 if at >= 10 else 1.0) + core_speed(lambda at: 9.0, owner="generator")
    assert service_cost(rows, 0.0, 9.0, 1)["yardstick_s"] == pytest.approx(0.0004)
    assert service_cost(rows, 10.0, 20.0, 1)["yardstick_s"] == pytest.approx(0.0008)


def steady_loop(samples_of, latency_at, users: int = 100, seconds: float = 12.0):
    """The steadiness of a closed loop whose users repeat requests that take what ``latency_at(s)`` says."""
    sent, latencies = [], []
    for user in range(users):
        at = user / users
        while at < seconds:
            sent.append(at)
            latencies.append(latency_at(at))
            at += latencies[-1]
    load = Closed(users=users, duration_s=seconds)
    return steadiness(load, samples_of(latencies, sent_s=sent), (), False)


def test_a_service_that_stands_still_for_half_a_second_is_seen(samples_of):
    """All who ask in that time, or wait for an answer, get it late; slow requests among fast ones are no stall."""
    paused = steady_loop(samples_of, lambda at: 6.5 - at if 5.8 < at < 6.3 else 0.2)
    assert paused.stalled_s == pytest.approx(0.5, abs=0.06)
    assert paused.course == "erratic"
    mixed = steady_loop(samples_of, lambda at: 0.8 if round(at * 1e4) % 7 == 0 else 0.2)
    assert mixed.stalled_s < 0.1


def using(target: str, seconds: int, share: float = 0.1, once_s: float = 0.0, by_s: float = 64.5):
    """Readings of the CPU time that a process used: a share of each second, and so much at once."""
    return [(float(t), target, "cpu_s", share * t + once_s * (t > by_s)) for t in range(seconds) if not 60 < t < 65]


def collecting(target: str, seconds: int, each_s: float = 0.0, once_s: float = 0.0, by_s: float = 64.5):
    """Readings of the collector's pauses: so much each second, and so much at once; none in a stall from 60 to 65 s."""
    return [(float(t), target, GC_PAUSES, each_s * t + once_s * (t > by_s)) for t in range(seconds) if not 60 < t < 65]


def test_the_collectors_share_is_that_of_one_node():
    """Two nodes that pause for a tenth of the time each do not stop their service for a fifth of it."""
    nodes = collecting("node 1", 50, each_s=0.1) + collecting("node 2", 50, each_s=0.05)
    assert observations.gc_share(Telemetry(collecting("service", 50, each_s=0.15) + nodes)) == pytest.approx(0.1)
    assert observations.gc_share(Telemetry(collecting("service", 50, each_s=0.15))) == pytest.approx(0.15)
    assert observations.gc_share(Telemetry([])) is None


@pytest.mark.parametrize(
    ("pauses", "explains_s", "course"),
    [
        ([], 0.0, "erratic"),
        (collecting("service", 601, each_s=0.01), 0.06, "erratic"),  # in all as long as the stall
        (collecting("service", 601, once_s=5.05), 5.05, "flat"),
        (collecting("service", 601, once_s=5.05, by_s=30.5), 0.0, "erratic"),
        (collecting("service", 601, once_s=5.05) + using("service", 601), 0.6, "erratic"),
        (collecting("service", 601, once_s=5.05) + using("service", 601, once_s=5.0), 5.05, "flat"),
        (
            collecting("service", 601, once_s=6.0)
            + collecting("node 1", 601, once_s=3.0)
            + collecting("node 2", 601, once_s=3.0),
            3.0,
            "erratic",
        ),  # at the same time
    ],
    ids=["none", "short", "long", "at another time", "held while it collects", "computes", "nodes"],
)
def test_a_stall_is_excused_by_what_the_collector_did_about_that_time(samples_of, pauses, explains_s, course):
    """By a long pause of one node in which it used its CPU; neither by many short ones nor by the sum of all nodes."""
    sent_s = np.arange(0, 600, 0.05)
    took_s = np.where((sent_s >= 60) & (sent_s < 65), 65.05 - sent_s, 0.05)
    samples = samples_of(list(took_s), sent_s=list(sent_s), planned_s=list(sent_s))
    found = steadiness(Open(users=200, rate_rps=20.0, duration_s=600.0), samples, pauses, False)
    assert found.stalled_s == pytest.approx(5.0, abs=0.1)
    assert found.collecting_s == pytest.approx(explains_s, abs=0.02)
    assert found.course == course


@pytest.mark.parametrize(
    ("begin_s", "end_s", "found_s"),
    [(4.0, 7.0, 3.0), (0.5, 5.0, 3.0), (9.0, 30.0, 21.0)],
    ids=["within", "first", "last"],
)
def test_a_service_that_stands_still_for_few_users_is_seen_wherever_it_does(samples_of, begin_s, end_s, found_s):
    """All of them wait: from before the time that is judged, which begins after 2 s, or longer than the load lasts."""

    def latency_s(at: float) -> float:
        return end_s - at + 0.05 if begin_s < at + 0.05 < end_s else 0.05

    assert steady_loop(samples_of, latency_s, users=3).stalled_s == pytest.approx(found_s, abs=0.06)
    assert steady_loop(samples_of, latency_s, users=2).stalled_s == 0.0  # both may be slow by chance


@pytest.mark.parametrize(
    ("error", "waits", "found_s"),
    [("", True, 3.0), ("timeout", True, 3.0), ("reset", False, 0.0), ("wrong body", False, 0.0)],
)
def test_who_sends_while_a_service_stands_still_waits_too(samples_of, error, waits, found_s):
    """As in an open loop, or in vain; what fails at once does not wait, nor does anybody where answers are wrong."""
    sent_s = np.arange(0, 20, 0.04)
    still = (sent_s >= 8.0) & (sent_s < 11.0)
    took_s, errors = np.where(still & waits, 11.05 - sent_s, 0.05), np.where(still, error, "")
    samples = samples_of(list(took_s), sent_s=list(sent_s), planned_s=list(sent_s), error=list(errors))
    found = steadiness(Open(users=100, rate_rps=25.0, duration_s=20.0), samples, (), False)
    assert found.stalled_s == pytest.approx(found_s, abs=0.3)


def test_a_request_that_waits_for_its_timeout_after_the_load_hides_no_standstill_within_it(samples_of):
    """The longest time without an answer is then that after the load, and is no measure of those before."""
    sent_s = np.arange(0, 20, 0.04)
    took_s = np.where((sent_s >= 8.0) & (sent_s < 11.0), 11.05 - sent_s, 0.05)
    took_s[-20] = 120.0
    samples = samples_of(list(took_s), sent_s=list(sent_s), error=["timeout" if took > 100 else "" for took in took_s])
    found = steadiness(Open(users=100, rate_rps=25.0, duration_s=20.0), samples, (), False)
    assert found.stalled_s == pytest.approx(3.0, abs=0.3)


@pytest.mark.parametrize("stopped", [True, False])
def test_a_standstill_of_few_requests_in_a_window_is_seen(samples_of, stopped):
    """Too few are sent in a moment to tell by them; and that nobody is answered between windows is none."""
    sent_s = np.concatenate([2.5 * window + np.arange(0, 2.0, 0.01) for window in range(20)])
    held_s = np.where((sent_s > 26.0) & (sent_s < 26.5) & stopped, 26.5 - sent_s, 0.0)
    samples = samples_of(list(0.05 + held_s), sent_s=list(sent_s), window=[int(at / 2.5) for at in sent_s])
    found = steadiness(Open(users=200, rate_rps=100.0, duration_s=50.0, windows=20), samples, (), False)
    assert found.stalled_s == pytest.approx(0.5 * stopped, abs=0.06)


def test_every_one_of_many_standstills_is_one(samples_of):
    """Those who wait through the others do not make it usual."""
    assert steady_loop(samples_of, lambda at: max(0.5 - at % 3, 0.01), users=10, seconds=60).stalled_s > 0.4


@pytest.mark.parametrize("error", ["", "timeout"])
def test_what_is_overdue_at_the_end_of_a_load_is_slow_by_itself(samples_of, error):
    """Nobody asks any more who is answered meanwhile; where a standstill begins late, who asked just now waits."""
    sent_s = [at for user in range(20) for at in np.arange(user / 20, 28, 0.02)]
    late_s = [27.0 + user / 50 for user in range(4)]
    load = Closed(users=24, duration_s=30)
    errors = [""] * len(sent_s) + [error] * 4
    slow = samples_of([0.01] * len(sent_s) + [9.0] * 4, sent_s=sent_s + late_s, error=errors)
    assert steadiness(load, slow, (), False).stalled_s < 0.3
    stuck_s = [28 + user / 1000 for user in range(20)]
    stuck = samples_of(
        [0.01] * len(sent_s) + [9.0] * 20, sent_s=sent_s + stuck_s, error=[""] * len(sent_s) + [error] * 20
    )
    assert steadiness(load, stuck, (), False).stalled_s > 7


def test_slow_answers_among_few_are_no_standstill(samples_of):
    """Latencies that scatter, those of users who all ask at the same time, and of requests that always take so long."""
    drawn = np.random.default_rng(3)
    assert steady_loop(samples_of, lambda at: float(drawn.exponential(0.5)), users=12).stalled_s < 0.2
    assert steady_loop(samples_of, lambda at: float(drawn.exponential(0.5)), users=3).stalled_s < 0.2
    assert steady_loop(samples_of, lambda at: 1.0 - at % 1.0 or 1.0, users=20).stalled_s < 0.05
    round_s = [0.01] * 299 + [5.0]
    sent_s = [
        user / 20 + lap * 7.99 + at for user in range(20) for lap in range(4) for at in np.cumsum([0, *round_s[:-1]])
    ]
    both = samples_of(round_s * 80, sent_s=sent_s, name=(["quick"] * 299 + ["slow"]) * 80)
    load = Closed(users=20, duration_s=32)
    assert steadiness(load, both, (), False).stalled_s == 0.0
    assert steadiness(load, both.assign(name="any"), (), False).stalled_s > 3  # which cannot be told apart then


def test_a_service_that_answers_nobody_any_more_is_slowing(samples_of):
    """Half of the load without an answer; of one that is cut off there, only what came before is judged."""
    load, sent = Closed(users=10, duration_s=3600), list(np.linspace(0, 12, 1200))
    samples = samples_of([0.1] * 1200, sent_s=sent)
    mute = steadiness(load, samples, (), False)
    assert mute.throughput_change == pytest.approx(-1.0, abs=1e-3)
    assert mute.course == "slowing"
    assert steadiness(load, samples, (), False, until_s=12.0).throughput_change == pytest.approx(0.0, abs=0.02)


def test_a_growing_queue_of_an_open_loop_is_seen(samples_of):
    """Where the users are too few it grows before the send, and counts from the plan all the same."""
    planned = np.linspace(0, 20, 2000, endpoint=False)
    sent = planned * 1.05
    samples = samples_of([2.0] * 2000, sent_s=list(sent), planned_s=list(planned))
    found = steadiness(Open(users=100, rate_rps=100.0, duration_s=20.0), samples, (), False)
    assert found.latency_change > 0.3
    assert found.course == "slowing"


def test_a_queue_that_begins_to_grow_within_the_load_is_seen(samples_of):
    """A hundred requests a second are answered at once, and from half of the load on one in a hundred queues."""
    sent_s = np.arange(0, 60, 0.01)
    waits_s = 0.5 + np.clip(sent_s - 30, 0, None) / 60
    found = steadiness(
        Open(users=500, rate_rps=100.0, duration_s=60.0), samples_of(waits_s, sent_s=list(sent_s)), (), False
    )
    assert found.latency_change > 0.5
    assert found.course == "slowing"


def test_a_node_of_three_that_becomes_slow_is_seen(samples_of):
    """Median and rate stay as they were; the mean does not."""
    sent_s = np.arange(0, 60, 0.01)
    slow = (sent_s > 30) & (np.arange(len(sent_s)) % 3 == 0)
    windows = [int(at / 3) for at in sent_s]
    samples = samples_of(np.where(slow, 1.0, 0.1), sent_s=list(sent_s), window=windows)
    loads = (
        Open(users=500, rate_rps=100.0, duration_s=60.0),
        Closed(users=500, duration_s=60.0),  # whose users pause
        Closed(users=500, duration_s=60.0, windows=20),
    )
    for load in loads:
        found = steadiness(load, samples, (), False)
        assert found.latency_change > 1
        assert found.course == "slowing"


def test_a_wait_in_the_queue_of_an_open_loop_is_no_standstill(samples_of):
    """All of a moment wait for those before them, and as many are answered as ever; who stands still answers none."""
    sent_s = np.concatenate([np.arange(0, 15, 1 / 390), np.arange(15, 15.5, 1 / 700), np.arange(15.5, 30, 1 / 390)])
    load = Open(users=2000, rate_rps=390.0, duration_s=30.0)
    queued = samples_of(queue_latencies(sent_s, 0.5, 200), sent_s=list(sent_s))
    assert queued["latency_us"].max() > 0.8e6
    assert steadiness(load, queued, (), False).stalled_s < 0.2
    even_s = np.arange(0, 30, 1 / 300)
    stopped = samples_of(0.5 + np.where((even_s > 15) & (even_s < 15.4), 15.4 - even_s, 0.0), sent_s=list(even_s))
    assert steadiness(load, stopped, (), False).stalled_s == pytest.approx(0.4, abs=0.06)


def test_users_in_step_have_settled_as_far_as_can_be_said(samples_of):
    """A hundred answers every two seconds fill few steps of time."""
    sent_s = np.repeat(np.arange(0.0, 20.0, 2.0), 100)
    found = steadiness(
        Closed(users=100, ramp_s=0.0, duration_s=20.0), samples_of([2.0] * 1000, sent_s=list(sent_s)), (), False
    )
    assert (found.settled, found.course) == (True, "flat")


def idle_s(result: PhaseResult, load: Load, elapsed_s: float, windows: list[Window]) -> float | None:
    """The same of a load that sends until its end."""
    return observations.idle_s(result, load, elapsed_s, windows, observations.Sends(sent_by_all_until_s=elapsed_s))


def test_users_who_are_neither_waiting_nor_thinking_are_idle():
    """One of ten who never sends again costs the others' requests a ninth of their time."""
    load = Closed(users=10, ramp_s=0.0, duration_s=10.0)
    counts = [(t / 20, 9) for t in range(201)]
    result = replace(played(counts), finished=900)
    piece = [Window(0, 0, 0.0, 0.0, 10.0, 10.0, 900, 0, None)]
    assert idle_s(result, load, 10.0, piece) == pytest.approx(1 / 90)
    assert idle_s(replace(result, pauses=1), load, 10.0, piece) is None
    assert idle_s(replace(result, not_single=1), load, 10.0, piece) is None
    assert idle_s(result, Burst(users=10), 10.0, piece) is None
    assert idle_s(result, Total(users=10, ramp_s=0.0, requests=900), 10.0, piece) == pytest.approx(1 / 90)


def test_users_are_not_idle_because_a_window_ends():
    """Between the end of a window's load and the last of its answers fewer and fewer are under way, as they should."""
    load = Closed(users=10, ramp_s=0.0, duration_s=4.0, windows=2)
    first = [(t / 20, 10) for t in range(41)] + [(2 + t / 20, 10 - t) for t in range(1, 11)]
    result = replace(played([*first, *((2.5 + t, count) for t, count in first)]), finished=400)
    windows = [Window(k, 0, 0.0, 2.5 * k, 2.0, 2.5, 200, 0, None) for k in range(2)]
    assert idle_s(result, load, 5.0, windows) == 0.0
    one_less = replace(result, ticks={"0": [(t, max(0, n - 1)) for t, n in result.ticks["0"]]})
    assert idle_s(one_less, load, 5.0, windows) == pytest.approx(1 / 80)


def test_a_service_without_cores_of_its_own_has_those_that_it_may_use(samples_of):
    """Not all of the machine: on two of sixteen it is full at two."""
    samples = samples_of([0.1] * 200, sent_s=[at / 10 for at in range(200)])
    known = observations.Conditions(False, "service", {}, None, (0, 0), {}, {}, (), (), 0, True, (), cpus=2)
    observed = observations.Observed(
        result=PhaseResult(whole=True), telemetry=Telemetry(readings("service", "cpu_s", 1.8, 31))
    )
    found = observations.evidence(observed, known, Closed(users=9, duration_s=20.0), summarise(samples), samples)
    assert found.service.cpu_share == pytest.approx(0.9)
    assert found.service.request_cpu_us == pytest.approx(180_000, rel=0.01)  # 1.8 s of CPU a second, 10 requests
    of_burst = observations.evidence(observed, known, Burst(users=9), summarise(samples), samples[:0])
    assert of_burst.service.cpu_share is None


def test_users_who_pause_and_never_send_again_are_a_share_of_all():
    """As workers count them at the end of a closed loop; not known of other loads, and of users who never pause."""
    load = Closed(users=100, ramp_s=1.0, duration_s=20.0)
    result = PhaseResult(whole=True, pauses=2000, finished=2000, parked=3)
    assert observations.parked_share(result, load) == 0.03
    assert observations.parked_share(replace(result, pauses=0, not_single=10), load) == 0.03
    for unknown in (replace(result, pauses=0), replace(result, whole=False)):
        assert observations.parked_share(unknown, load) is None
    for other in (
        Burst(users=100),
        Total(users=100, ramp_s=1.0, requests=2000),
        Closed(users=100, duration_s=20.0, windows=9),
    ):
        assert observations.parked_share(result, other) is None


def shared(generator_busy: float, service_cpu: float) -> Telemetry:
    """Ten seconds in which the cores of generator and service were so busy, and MySQL used 0.4 of one."""
    rates = {("generator", CORES_BUSY): generator_busy, ("service", "cpu_s"): service_cpu, ("mysql", "cpu_s"): 0.4}
    return Telemetry([(float(t), *which, t * rate) for which, rate in rates.items() for t in range(11)])


@pytest.mark.parametrize(("busy", "service", "share"), [(0.97, 0.6, 1.0), (0.97, 0.9, 0.0), (0.9, 0.6, 0.0)])
def test_a_service_that_waits_for_the_other_core_is_seen(busy, service, share):
    """Only where that is busy and the service's own is not."""
    cores = {"service": frozenset({0}), "generator": frozenset({1})}
    telemetry = shared(busy, service)
    assert observations.crowded(telemetry, cores) == share
    assert observations.beside(telemetry) == {"mysql": pytest.approx(0.4)}
    assert observations.crowded(telemetry, {}) is None
    handling_packets = shared(busy - 0.2, service)
    handling_packets.rows += readings("generator", INTERRUPTS, 0.2)
    assert observations.crowded(handling_packets, cores) == share


def test_packets_that_the_kernel_dropped_are_those_of_the_load():
    """What it had dropped before is not of this load, nor what it drops with room for more connections."""
    found = [(float(t), MACHINE, UNTRACKED, dropped) for t, dropped in enumerate((100.0, 100.0, 107.0))]
    for shares, count in (((0.2, 1.0, 0.7), 7), ((0.2, 0.9, 0.7), 0)):
        full = [(float(t), MACHINE, TRACKED_SHARE, share) for t, share in enumerate(shares)]
        assert observations.untracked(Telemetry(found + full)) == count
    assert observations.untracked(Telemetry()) == 0


def test_a_connection_that_lost_a_packet_is_counted():
    """The kernel asks again after a second."""
    pieces = [pd.DataFrame({"connect_us": [0, 200, 1_003_000]}), pd.DataFrame({"connect_us": [3_010_000]})]
    assert observations.slow_connects(pieces) == 2
