"""The formulas, against the documents' numbers and against a simulation that shares no code with them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from machines import HERE

from lab.experiments import scenarios
from lab.formulas import queueing
from lab.formulas.calls import Calls
from lab.spec import planning, prediction, schedule
from lab.spec.options import Options
from lab.spec.workload import POISSON, Burst, Closed, Load, Open, Ramp


def simulated(users: int, ramp: int, loops: int, service: int, servers: int) -> list[int]:
    """The latencies of a first-come-first-served queue that is played tick by tick."""
    queue = [(i * ramp // users, 0) for i in range(users)]
    busy: list[tuple[int, int, int]] = []
    latencies: list[int] = []
    tick = 0
    while queue or busy:
        for end, arrived, loop in [b for b in busy if b[0] == tick]:
            busy.remove((end, arrived, loop))
            latencies.append(tick - arrived)
            if loop + 1 < loops:
                queue.append((tick, loop + 1))
        queue.sort()
        while len(busy) < servers and queue and queue[0][0] <= tick:
            arrived, loop = queue.pop(0)
            busy.append((tick + service, arrived, loop))
        tick += 1
    return latencies


def burst_latencies(load: Load, service_s: float, servers: int | None):
    """The latencies of a burst that starts as it is planned."""
    return queueing.burst_latencies(schedule.planned_s(load, prediction.ANY_SEED), service_s, servers, load.loops)


SMALL = [
    # users, ramp, loops, service, servers
    (1, 0, 1, 4, 1),
    (3, 0, 1, 4, 1),
    (5, 5, 1, 4, 2),
    (7, 14, 1, 3, 2),
    (6, 60, 1, 4, 2),
    (5, 0, 3, 4, 2),
    (4, 8, 5, 3, 3),
    (8, 8, 2, 5, 3),
    (10, 20, 4, 7, 4),
]


@pytest.mark.parametrize(
    ("users", "ramp_s", "mean_s"), [(500, 1, 3.280), (1000, 1, 5.600), (2000, 2, 10.10), (4000, 1, 20.525)]
)
def test_a_burst_has_the_documents_mean(users, ramp_s, mean_s):
    """At T = 200 and t = 2 s the model gives the means that the documents' wave model gives."""
    assert prediction.mean_latency(Burst(users=users, ramp_s=ramp_s), Calls(2.0, threads=200)) == pytest.approx(
        mean_s, abs=1e-6
    )


@pytest.mark.parametrize(("users", "published_s"), [(500, 3.284), (1000, 5.643)])
def test_a_burst_is_within_one_percent_of_what_was_published(users, published_s):
    """The published means themselves are met within 1 %."""
    assert prediction.mean_latency(Burst(users=users, ramp_s=1.0), Calls(2.0, threads=200)) == pytest.approx(
        published_s, rel=0.01
    )


@pytest.mark.parametrize(("users", "ramp", "loops", "service", "servers"), SMALL)
def test_latencies_are_those_of_a_simulated_queue(users, ramp, loops, service, servers):
    """Tiny bursts have exactly the latencies of a queue that is played tick by tick."""
    expected = simulated(users, ramp, loops, service, servers)
    got = burst_latencies(Burst(users=users, ramp_s=ramp, loops=loops), service, servers)
    np.testing.assert_allclose(np.sort(got), np.sort(expected))


def test_two_waves_by_hand():
    """Three requests at once on two threads take t, t and 2t."""
    assert sorted(burst_latencies(Burst(users=3, ramp_s=0.0), 2.0, 2)) == [2.0, 2.0, 4.0]


def test_nodes_serve_as_many_more_at_once():
    """Each has the threads that one has, and the balancer gives each of them its share."""
    options = Options(users=[400], threads=100, variants=["mvc"], parameters={"delay_ms": 1000})
    one, two = (planning.make_plan(scenarios()["delay"], replace(options, nodes=nodes), HERE) for nodes in (1, 2))
    like_two = planning.make_plan(scenarios()["delay"], replace(options, threads=200), HERE)
    of_one, of_two, of_200 = (prediction.predict(plan, plan.cells[0]) for plan in (one, two, like_two))
    assert of_two == pytest.approx(of_200)
    assert of_two < of_one


def test_arrivals_later_than_departures_never_wait():
    """Where the ramp is slow enough that a thread is always free, everybody takes t."""
    assert burst_latencies(Burst(users=10, ramp_s=100.0), 2.0, 1).tolist() == [2.0] * 10


@pytest.mark.parametrize("servers", [None, 8, 100])
def test_enough_servers_mean_no_waiting(servers):
    """With no limit, or one that is not reached, every request of every loop takes t."""
    assert burst_latencies(Burst(users=8, ramp_s=1.0, loops=3), 0.5, servers).tolist() == [0.5] * 24


def test_no_service_time_takes_no_time():
    """A delay of 0 gives latencies of 0."""
    assert prediction.mean_latency(Burst(users=50, ramp_s=0.0), Calls(0.0, threads=5)) == 0.0


def test_loops_lengthen_the_queue():
    """R users who return at once are always all in the system, so in the long run they wait R·t/T each."""
    long = prediction.mean_latency(Burst(users=400, ramp_s=0.0, loops=50), Calls(2.0, threads=200))
    assert long == pytest.approx(400 * 2.0 / 200, rel=0.03)


@pytest.mark.parametrize(("users", "mean_s"), [(50, 2.0), (200, 2.0), (400, 4.0), (1000, 10.0)])
def test_a_closed_loop_obeys_littles_law(users, mean_s):
    """R = X·W: at most T/t requests a second are served, so that a closed loop's mean is t or R·t/T."""
    mean = prediction.mean_latency(Closed(users=users, duration_s=60.0), Calls(2.0, threads=200))
    assert mean == pytest.approx(mean_s)
    assert users / mean <= 200 / 2.0 + 1e-9


def test_a_closed_loop_without_limit_takes_t():
    """Nothing queues where nothing is limited."""
    assert prediction.mean_latency(Closed(users=1000, duration_s=10.0), Calls(2.0)) == 2.0


@pytest.mark.parametrize("users", [2000, 4000, 8000])
def test_the_queue_is_served_at_its_plateau(users):
    """A large burst is served at T/t requests a second, within the share that its ramp costs, and never above."""
    load = Burst(users=users, ramp_s=1.0)
    arrivals = np.arange(users) / users
    last = (arrivals + burst_latencies(load, 2.0, 200)).max()
    assert 0.95 * 100 <= users / last <= 100 + 1e-9


@pytest.mark.parametrize(("users", "published_rps"), [(500, 80.65), (1000, 97.13)])
def test_the_queue_is_served_as_fast_as_was_published(users, published_rps):
    """Requests over the time to the last answer are within 1.5 % of the published rates of `sync`."""
    departures = np.arange(users) / users + burst_latencies(Burst(users=users, ramp_s=1.0), 2.0, 200)
    assert users / departures.max() == pytest.approx(published_rps, rel=0.015)


def first_come_first_served(arrivals: list[float], service_s: float, servers: int) -> list[float]:
    """The latencies of a queue that is played request by request: each takes the server that is free first."""
    free = [0.0] * servers
    latencies = []
    for arrival in arrivals:
        server = free.index(min(free))
        free[server] = max(arrival, free[server]) + service_s
        latencies.append(free[server] - arrival)
    return latencies


@pytest.mark.parametrize("arrivals", ["even", "poisson"])
@pytest.mark.parametrize("servers", [1, 2, 7, 60, 500])
def test_an_open_loop_queues_as_a_queue_that_is_played(servers, arrivals):
    """From overload to no queue at all, for even and for random arrivals, every latency is exact."""
    moments = schedule.planned_s(Open(users=1, rate_rps=20.0, duration_s=10.0, arrivals=arrivals), (1, 2))
    expected = first_come_first_served(moments.tolist(), 0.35, servers)
    np.testing.assert_allclose(queueing.queue_latencies(moments, 0.35, servers), expected)


@pytest.mark.parametrize(("rate_rps", "mean_s"), [(50, 2.0), (100, 2.0), (150, 2.0 + 14 / 3)])
def test_an_open_loop_above_the_plateau_queues_longer_and_longer(rate_rps, mean_s):
    """T/t = 100/s are served. At 150/s the queue grows by 50/s: 3000 requests in 15 waves, each 2/3 s later."""
    load = Open(users=5000, rate_rps=rate_rps, duration_s=20.0)
    assert prediction.mean_latency(load, Calls(2.0, threads=200)) == pytest.approx(mean_s)


def test_a_ramp_queues_once_it_is_above_the_plateau():
    """Up to T/t = 100/s nobody waits. To 200/s within 100 s, each waits (x - ½)² · 100 s at the share x of the time.

    The mean of that over the requests, which are 2x at x, is the integral of 2x · (x - ½)² from ½ to 1, 7/96.
    """
    calm, steep = (Ramp(users=10_000, from_rps=0.0, to_rps=rate, duration_s=100.0) for rate in (95.0, 200.0))
    assert prediction.mean_latency(calm, Calls(2.0, threads=200)) == pytest.approx(2.0, abs=0.01)
    assert prediction.mean_latency(steep, Calls(2.0, threads=200)) == pytest.approx(2.0 + 7 / 96 * 100, rel=0.01)
    parallel = Calls(1.0, calls=2, parallel=True, connections=200)
    assert prediction.mean_latency(steep, parallel) == pytest.approx(1.0 + 7 / 96 * 100, rel=0.01)


def test_a_ramp_is_estimated_by_its_duration():
    """As an open loop: what is sent last takes what a request takes."""
    plan = planning.make_plan(scenarios()["delay"], Options(ramp="0:50:20", variants=["mvc"]), HERE)
    assert prediction.load_s(plan, plan.cells[0]) == 22.0


def test_too_few_users_limit_an_open_loop_as_threads_do():
    """A planned request waits for a user just as it would wait for a thread."""
    few, many = (Open(users=users, rate_rps=150.0, duration_s=20.0) for users in (200, 5000))
    assert prediction.mean_latency(few, Calls(2.0)) == pytest.approx(
        prediction.mean_latency(many, Calls(2.0, threads=200))
    )
    assert prediction.mean_latency(many, Calls(2.0)) == pytest.approx(2.0)


def test_random_arrivals_at_one_server_wait_as_pollaczek_and_khinchine_say():
    """M/D/1: the mean wait is ρ·t / (2·(1 − ρ)), in the long run."""
    load = Open(users=10_000, rate_rps=60.0, duration_s=20_000.0, arrivals=POISSON)
    assert prediction.mean_latency(load, Calls(0.01, threads=1)) == pytest.approx(
        0.01 + 0.6 * 0.01 / (2 * 0.4), rel=0.02
    )


@pytest.mark.parametrize(
    ("users", "ramp", "loops", "service", "servers"), [(10, 20, 60, 7, 4), (1000, 10, 40, 0.5, 200)]
)
def test_the_mean_of_many_loops_is_that_of_all_of_them_played(users, ramp, loops, service, servers, monkeypatch):
    """Where only the first loops are played, the rest being in rounds, the mean is that of the whole queue."""
    load = Burst(users=users, ramp_s=ramp, loops=loops)
    whole = burst_latencies(load, service, servers).mean()
    monkeypatch.setattr(queueing, "PLAYED_REQUESTS", 20 * users)
    assert prediction.mean_latency(load, Calls(service, threads=servers)) == pytest.approx(whole, rel=1e-6)


@pytest.mark.parametrize("servers", [None, 200, 4000])
def test_a_mean_of_very_many_loops_is_known_at_once(servers):
    """Not every request is played: that would take hours and all memory."""
    expected = 40.0 if servers == 200 else 2.0
    assert prediction.mean_latency(
        Burst(users=4000, ramp_s=0.0, loops=10**9), Calls(2.0, threads=servers)
    ) == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("scenario", "options", "expected"),
    [
        ("delay", {}, [("T/t", 100.0)]),
        ("delay", {"variants": ["webflux"]}, []),
        ("delay", {"users": [1, 199]}, []),
        ("delay", {"users": [1, 200]}, [("T/t", 100.0)]),
        ("delay", {"limits": "tuned"}, [("T/t", 1000.0)]),
        ("document", {"pool": 20, "link_latency_ms": 500}, [("N/t", 40.0)]),
        ("document", {"pool": 20, "threads": 10, "link_latency_ms": 500}, [("T/t", 20.0), ("N/t", 40.0)]),
        ("document", {"pool": 200, "threads": 200, "link_latency_ms": 500}, [("N/t", 400.0)]),
        ("document", {"pool": 20, "link_latency_ms": 500, "link_rate": 10**7}, []),
        ("document", {"pool": 20}, []),
    ],
)
def test_a_plateau_is_that_of_the_limit_which_decides(scenario, options, expected):
    """Of the variants that are measured, the smaller of T and N if there are users for it, and t is known."""
    asked = {"users": [1, 4000], "seed": 1, **options}
    plan = planning.make_plan(scenarios()[scenario], Options(**asked), HERE)
    assert prediction.plateaus(plan) == expected


def test_an_open_loop_in_turns_queues_anew_in_each_window():
    """Near the limit of ten threads a queue of 60 s is far longer than those of windows that begin without one."""
    asked = {"users": [400], "rate": 98, "duration": 60, "arrivals": "poisson", "threads": 10, "seed": 1}
    options = Options(**asked, interleave="windows", variants=["mvc", "mvc-virtual"], parameters={"delay_ms": 100})
    plan = planning.make_plan(scenarios()["delay"], options, HERE)
    cell = next(cell for cell in plan.cells if cell.variant == "mvc")
    windows = [
        first_come_first_served(list(schedule.planned_s(cell.load.window(n), schedule.seed_of(plan, cell, n))), 0.1, 10)
        for n in range(cell.load.windows)
    ]
    assert cell.load.windows > 10
    assert prediction.predict(plan, cell) == pytest.approx(np.mean(np.concatenate(windows)))


@pytest.mark.parametrize(("timeout_s", "is_predicted"), [(60.0, True), (1.0, False)])
def test_nothing_is_predicted_where_requests_time_out(timeout_s, is_predicted):
    """Those that are answered right are then the ones that waited little, which is no prediction of their mean."""
    options = Options(users=[700], variants=["mvc"], threads=20, ramp=(0, 400, 20), timeout=timeout_s)
    plan = planning.make_plan(scenarios()["chain"], options, HERE)
    (cell,) = plan.cells
    assert (prediction.predict(plan, cell) is not None) == is_predicted
    assert prediction.predict_wait(plan, cell) > 1.0
