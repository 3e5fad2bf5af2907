"""A sweep varies users, the rate, or a parameter: one of them, and cells are named by it."""

from __future__ import annotations

import pytest
from machines import HERE

from lab.errors import LabError
from lab.experiments import scenarios
from lab.spec import prediction
from lab.spec.options import Options
from lab.spec.plan import Plan
from lab.spec.planning import make_plan
from lab.spec.workload import Open, Ramp

DELAY, FANOUT = scenarios()["delay"], scenarios()["fanout"]


def planned(scenario=DELAY, **options) -> Plan:
    """A plan of platform threads with these options."""
    return make_plan(scenario, Options(variants=["mvc"], seed=1, **options), HERE)


def test_a_parameter_is_varied():
    """A cell each, named by the value, with a path of its own and a prediction of its own."""
    plan = planned(users=[50], parameters={"delay_ms": [100, 500, 1000]})
    assert plan.axis == "delay_ms"
    assert [cell.id for cell in plan.cells] == [f"mvc-delay-ms{value}-r1" for value in (100, 500, 1000)]
    assert [plan.parameters_of(cell)["delay_ms"] for cell in plan.cells] == plan.positions == [100, 500, 1000]
    assert [prediction.predict(plan, cell) for cell in plan.cells] == pytest.approx([0.1, 0.5, 1.0])
    assert plan.scenario.path(plan.parameters_of(plan.cells[1])) == "/delay/500"


def test_a_rate_is_varied():
    """Each cell has the users that its rate needs, where none are named."""
    plan = planned(rate=[50, 100, 150], duration=10.0)
    assert plan.axis == "rate"
    assert [cell.id for cell in plan.cells] == ["mvc-rate50-r1", "mvc-rate100-r1", "mvc-rate150-r1"]
    assert [cell.load.rate_rps for cell in plan.cells] == plan.positions == [50, 100, 150]
    assert plan.cells[0].load.users < plan.cells[2].load.users
    assert {cell.load.users for cell in planned(rate=[50, 100], duration=10.0, users=[300]).cells} == {300}


def test_a_rate_is_a_percentage_of_what_each_variant_can_do():
    """Each variant has a rate of its own, and stands at the same place as the others'."""
    capacity = {"mvc": 100.0, "webflux": 2000.0}
    options = Options(variants=["mvc", "webflux"], rate=["10%", "50%"], capacity=capacity, duration=10.0, repeat=2)
    plan = make_plan(DELAY, options, HERE)
    assert plan.axis == "percent of capacity"
    assert [cell.id for cell in plan.cells[:3]] == ["mvc-capacity10-r1", "mvc-capacity10-r2", "webflux-capacity10-r1"]
    assert [cell.load.rate_rps for cell in plan.cells[::2]] == [10, 200, 50, 1000]
    assert plan.positions == [10, 50]
    assert {plan.at(cell) for cell in plan.cells} == {"10 % of capacity", "50 % of capacity"}
    assert Plan.from_json(plan.as_json()) == plan


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"rate": ["50%"]}, "capacity, which is not known"),
        ({"rate": ["50%"], "capacity": {"webflux": 100.0}}, "The capacity of mvc is not known"),
        ({"rate": ["50%", 20.0], "capacity": {"mvc": 100.0}}, "mixes percentages"),
        ({"rate": [20.0], "capacity": {"mvc": 100.0}}, "no effect without a --rate in percent"),
        ({"rate": ["x%"], "capacity": {"mvc": 100.0}}, "x% is not a percentage"),
        ({"rate": ["0%"], "capacity": {"mvc": 100.0}}, "--rate"),
        ({"rate": ["50%"], "capacity": {"mvc": -1.0}}, "--capacity mvc="),
        ({"rate": ["50%"], "capacity": {"mvc": 9.0}, "parameters": {"delay_ms": [1, 2]}}, "both varied"),
        ({"rate": ["50%", "50%"], "capacity": {"mvc": 100.0}}, "names a value twice"),
    ],
)
def test_a_percentage_of_nothing_is_said(options, named):
    """Of an unknown capacity, of another variant's, or beside what is none."""
    with pytest.raises(LabError, match=named):
        planned(**options)


def test_users_are_varied_as_ever():
    """Their cells keep the names that runs have had."""
    plan = planned(users=[1, 10])
    assert (plan.axis, [cell.id for cell in plan.cells]) == ("users", ["mvc-u1-r1", "mvc-u10-r1"])
    assert plan.is_sweep
    assert not planned(users=[10]).is_sweep


def test_calls_are_varied():
    """Five calls one after the other take five times as long."""
    plan = planned(FANOUT, parameters={"calls": [1, 5]}, users=[10])
    assert [prediction.predict(plan, cell) for cell in plan.cells] == pytest.approx([0.1, 0.5])


def test_an_open_loop_has_a_length_without_being_told():
    """So that a sweep over rates needs nothing but rates."""
    assert planned(rate=50).cells[0].load.duration_s == 30


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"users": [1, 10], "parameters": {"delay_ms": [100, 200]}}, "--users and --delay-ms"),
        ({"rate": [50, 60], "parameters": {"delay_ms": [100, 200]}}, "--rate and --delay-ms"),
        ({"rate": [50, 50]}, "--rate names a value twice"),
        ({"parameters": {"delay_ms": [100, 100]}}, "--delay-ms names a value twice"),
        ({"parameters": {"delay_ms": [100, 70_000]}}, "--delay-ms 70000 is out of range"),
        ({"rate": [50, 0]}, "--rate"),
    ],
)
def test_what_cannot_be_varied_is_said(options, named):
    """One sentence, and the option by its name."""
    with pytest.raises(LabError) as caught:
        planned(**options)
    assert named in caught.value.problem


@pytest.mark.parametrize(
    "options",
    [
        {"users": [50], "parameters": {"delay_ms": [100, 500]}},
        {"rate": [50, 100], "duration": 10.0},
        {"users": [1, 10]},
        {"ramp": "0:50:10", "parameters": {"delay_ms": [100, 500]}},
    ],
)
def test_a_sweep_is_read_back_as_it_was_planned(options):
    """run.json holds all of it."""
    plan = planned(**options)
    assert Plan.from_json(plan.as_json()) == plan


@pytest.mark.parametrize(
    ("options", "said", "volume"),
    [
        ({"rate": [1_000_000], "duration": 1.0}, "1,000,000 requests/s", "1,000,000 requests/s"),
        ({"rate": [1_234_567], "duration": 1.0}, "1,234,567 requests/s", "1,234,567 requests/s"),
        ({"rate": [0.25], "duration": 8.0}, "0.25 requests/s", "0.25 requests/s"),
        ({"ramp": "0:1500000:1"}, "a ramp to 1,500,000 requests/s", "0 to 1,500,000 requests/s"),
    ],
)
def test_a_rate_is_said_in_digits(options, said, volume):
    """All of them, however high it is."""
    plan = planned(users=[300], **options)
    assert (plan.at(plan.cells[0]), plan.cells[0].load.volume()) == (said, volume)


def test_a_rate_of_a_capacity_is_said_with_few_decimals():
    """It is computed, and may have no end of them."""
    assert Open(users=1, rate_rps=1000 / 3, duration_s=1.0).volume() == "333.3333 requests/s"


def test_a_ramp_is_a_cell_and_a_parameter_can_be_varied_under_it():
    """By itself it stands at its highest rate; where a parameter varies, cells are named by that."""
    plan = planned(ramp="0:50:10")
    assert (plan.axis, plan.positions, plan.is_sweep) == ("ramp", [50], False)
    assert plan.at(plan.cells[0]) == "a ramp to 50 requests/s"
    swept = planned(ramp="0:50:10", parameters={"delay_ms": [100, 500]})
    assert [cell.id for cell in swept.cells] == ["mvc-delay-ms100-r1", "mvc-delay-ms500-r1"]
    assert {type(cell.load) for cell in swept.cells} == {Ramp}
