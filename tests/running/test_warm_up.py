"""When a service is warm: by its compiler, or by what a request costs it; and why a warm-up may not end."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.experiments import find_scenario
from lab.running.warm_up import cost_has_settled, has_full_heap, is_busy, is_warm
from lab.spec.limits import Limits
from lab.spec.workload import Burst, Closed
from lab.system.launch import contained, service_launch


def rounds(*shares_and_costs):
    """Rounds of a warm-up, each with the compiler's share of the time and the CPU time of a request in µs."""
    return [{"jit_share": share, "cpu_us_per_request": cost} for share, cost in shares_and_costs]


@pytest.mark.parametrize(
    ("measured", "warm", "compiled"),
    [
        ([], False, False),
        ([(0.0, 300), (0.0, 300)], False, False),
        ([(0.9, 900), (0.05, 300), (0.1, 200)], True, True),  # the compiler rests, whatever the cost
        ([(0.0, 900), (0.05, 300), (0.2, 200)], False, False),
        ([(0.6, 900), (0.5, 300), (0.4, 290)], False, False),  # two that cost the same may be about to fall
        ([(0.6, 900), (0.5, 300), (0.4, 290), (0.4, 260)], True, False),  # so may three where the CPU decides
        ([(0.6, 300), (0.5, 300), (0.4, 200)], False, False),
        ([(0.6, 340), (0.5, 300), (0.4, 270)], False, False),  # each within 15 % of the one before it
    ],
)
def test_a_service_is_warm_when_its_compiler_rests_or_its_cost_stays(measured, warm, compiled):
    """After three rounds at least: two of rest, or, where the compiler need not rest, three of the same cost."""
    assert is_warm(rounds(*measured), until_compiled=False) == warm
    assert is_warm(rounds(*measured), until_compiled=True) == compiled


@pytest.mark.parametrize(
    ("costs", "settled"),
    [
        ([100] * 9, False),
        ([100] * 10, True),
        ([900] + [100] * 10, True),  # the first ones are long ago
        ([100, 110] * 5, True),
        ([100] * 5 + [96] * 5, True),
        ([100] * 5 + [94] * 5, False),
        ([109, 108, 107, 106, 105, 104, 103, 102, 101, 100], True),
        ([190, 180, 170, 160, 150, 140, 130, 120, 110, 100], False),
    ],
)
def test_a_request_no_longer_becomes_cheaper_where_five_rounds_cost_what_five_did(costs, settled):
    """Within 5 %, whatever the compilers do."""
    assert cost_has_settled(rounds(*((1.0, cost) for cost in costs))) == settled


@pytest.mark.parametrize(
    ("load", "cost_us", "cores", "busy"),
    [
        (Burst(users=4000, ramp_s=1.0), 160, 1, True),  # U = 4000/s · 160 µs = 0.64
        (Burst(users=4000, ramp_s=1.0), 160, 2, False),
        (Burst(users=4000, ramp_s=2.0), 160, 1, False),
        (Burst(users=500, ramp_s=1.0), 900, 1, False),
        (Burst(users=500, ramp_s=1.0, loops=5), 250, 1, True),  # each of which comes as soon as the one before it ends
        (Burst(users=10, ramp_s=0.0), 160, 1, True),  # all at once
        (Closed(users=4000, ramp_s=1.0, duration_s=20.0), 900, 1, False),  # whose trend shows a cold service
    ],
)
def test_a_burst_is_busy_by_the_utilization_law(load, cost_us, cores, busy):
    """More than half of the service's cores; of other loads it does not matter."""
    assert is_busy(load, cost_us, cores) == busy


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("is_contained", [True, False])
def test_a_full_heap_is_read_where_the_service_writes_its_log(is_contained, full, tmp_path):
    """In the folder that its JVM runs in; of several nodes one is enough, and one that wrote none says nothing."""
    launches = []
    for name in ("node-1", "node-2"):
        (tmp_path / name).mkdir()
        variant = find_scenario("delay").variant("mvc")
        launch = service_launch(variant, Limits(heap_mb=64), 1, "java", Path("a.jar"), tmp_path / name)
        launches.append(contained(launch, "image", "a.jar", 100) if is_contained else launch)
    nodes = {launch.log.parent.name: SimpleNamespace(running=SimpleNamespace(launch=launch)) for launch in launches}
    assert not has_full_heap(SimpleNamespace(nodes=nodes))
    kept = 63 if full else 20
    lines = [f"[9.{i}s][info][gc] GC({i}) Pause Full (Allocation Failure) 63M->{kept}M(64M) 91.3ms" for i in range(6)]
    (tmp_path / "node-2" / ("inside" if is_contained else "") / "gc.log").write_text("\n".join(lines))
    assert has_full_heap(SimpleNamespace(nodes=nodes)) == full
