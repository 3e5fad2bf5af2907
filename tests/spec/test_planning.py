"""From options to a plan, or to one sentence and a next step."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import click
import pytest
from machines import HERE

import lab
from lab.cli.options import Seconds
from lab.errors import LabError, did_you_mean
from lab.experiments import find_scenario, scenarios
from lab.reporting import formatting
from lab.spec import numbers, planning, prediction
from lab.spec.limits import NOT_SET, Limits
from lab.spec.options import Options, names
from lab.spec.plan import Plan
from lab.spec.planning import make_plan
from lab.spec.scenario import Parameter, Request
from lab.spec.system import SERVICE, Component, Entities, Stage
from lab.spec.workload import Burst, Closed, Open, Ramp

DELAY, JWT = scenarios()["delay"], scenarios()["jwt"]


def plan_of(**options) -> Plan:
    """The plan that these options give."""
    return planning.make_plan(DELAY, Options(**options), HERE)


@pytest.mark.parametrize(
    ("scenario", "options", "decides"),
    [
        ("delay", {}, False),
        ("jwt", {}, True),
        ("jwt", {"link_latency_ms": 5}, True),
        ("document", {}, True),
        ("document", {"link_rate": 3_500_000}, False),
        ("document", {"link_connection_rate": 90_000}, False),
        ("document", {"link_latency_ms": 5000}, False),
    ],
)
def test_the_cpu_decides_where_nothing_else_does(scenario, options, decides):
    """Then services are warmed up until compiled; what a link or a delay decides is measured no better by that."""
    assert make_plan(scenarios()[scenario], Options(**options), HERE).cpu_decides == decides


@pytest.mark.parametrize(
    ("scenario", "options", "kind"),
    [
        ("document", {}, "closed"),
        ("document", {"users": [200]}, "closed"),
        ("document", {"link_rate": 3_500_000}, "burst"),
        ("document", {"loops": 1}, "burst"),
        ("delay", {}, "burst"),
        ("migration", {}, "burst"),  # whose load is its own, though the CPU decides
    ],
)
def test_where_only_for_want_of_a_link_the_cpu_decides_the_default_is_a_loop(scenario, options, kind):
    """Of twenty seconds; a burst that shows what a link does is over in a tenth of one without it."""
    load = make_plan(scenarios()[scenario], Options(**options), HERE).cells[0].load
    assert load.kind == kind
    assert kind == "burst" or load.duration_s == 20


def test_defaults_are_the_published_experiment():
    """Without options: 4000 users over 1 s, once each, on all variants, 2 s and 200 threads."""
    plan = plan_of()
    assert [cell.variant for cell in plan.cells] == ["mvc", "mvc-virtual", "webflux"]
    load = plan.cells[0].load
    assert load == Burst(users=4000, ramp_s=1.0, loops=1, workers=1)
    assert plan.parameters == {"delay_ms": 2000}
    assert plan.limits == Limits(threads=200, accept_count=4096, heap_mb=2048)


def test_wishes_are_carried_out():
    """Every wish ends up in the plan."""
    plan = plan_of(
        users=[10, 20],
        variants=["webflux", "mvc"],
        ramp_up=0.0,
        loops=3,
        timeout=5.0,
        workers=2,
        repeat=2,
        threads=50,
        accept_count=100,
        heap_mb=512,
        seed=11,
        pin=False,
        parameters={"delay_ms": 0},
    )
    assert len(plan.cells) == 8
    assert len({cell.id for cell in plan.cells}) == 8
    load = plan.cells[0].load
    assert (load.ramp_s, load.loops, load.timeout_s, load.workers) == (0.0, 3, 5.0, 2)
    assert plan.limits == Limits(threads=50, accept_count=100, heap_mb=512)
    assert (plan.seed, plan.pin, plan.parameters) == (11, False, {"delay_ms": 0})


def test_a_duration_replaces_loops():
    """A closed loop has no planned number of requests."""
    load = plan_of(users=[5], duration=3.0).cells[0].load
    assert load == Closed(users=5, duration_s=3.0)
    assert load.planned_sessions is None
    assert plan_of(users=[5], loops=3).cells[0].load.planned_sessions == 15


def test_a_rate_makes_an_open_loop_with_users_enough():
    """100/s of 2 s each are 200 at once on average: there are users for twice as long and a second more, no ramp."""
    load = plan_of(rate=100.0, duration=30.0, arrivals="poisson").cells[0].load
    assert load == Open(users=500, rate_rps=100.0, duration_s=30.0, arrivals="poisson")
    assert (load.independent, load.planned_sessions) == (True, 3000)
    assert plan_of(rate=100.0, duration=30.0, users=[7]).cells[0].load.users == 7
    assert plan_of(rate=150.0, duration=30.0).cells[0].load.users == 750 + 1500, (
        "200 threads leave 50/s queued for 30 s"
    )
    assert plan_of(rate=0.1, duration=30.0, workers=4).cells[0].load.users == 4


def test_a_scenario_of_a_fixed_duration_needs_none_for_its_rate():
    """What the scenario lasts by default, an open loop of it lasts too; how long a request takes nobody knows."""
    jwt = scenarios()["jwt"]
    load = planning.make_plan(jwt, Options(rate=500.0, users=[100], variants=["mvc"]), HERE).cells[0].load
    assert (load.duration_s, load.planned_sessions) == (jwt.load.duration_s, 500 * jwt.load.duration_s)
    with pytest.raises(LabError, match="--rate needs --users"):
        planning.make_plan(jwt, Options(rate=500.0), HERE)


@pytest.mark.parametrize("ramp", ["50:150:30", (50, 150, 30), [50.0, 150.0, 30.0]])
def test_a_ramp_has_users_for_its_highest_rate_and_for_the_queue(ramp):
    """150/s of 2 s each: twice as long and a second more; above 100/s, the last 15 s leave 25/s on average queued."""
    plan = plan_of(ramp=ramp, variants=["mvc"])
    assert [cell.id for cell in plan.cells] == ["mvc-ramp50to150-r1"]
    load = plan.cells[0].load
    assert load == Ramp(users=150 * 5 + 15 * 25, from_rps=50.0, to_rps=150.0, duration_s=30.0)
    assert (load.independent, load.planned_sessions, load.highest_rps) == (True, 3000, 150.0)
    assert plan_of(ramp="0:100:30").cells[0].load.users == 100 * 5, "nobody queues"
    assert plan_of(ramp=ramp, users=[7]).cells[0].load.users == 7
    assert plan_of(ramp=ramp, arrivals="poisson", timeout=3.0).cells[0].load.arrivals == "poisson"


@pytest.mark.parametrize(
    ("capacity_rps", "waiting"),
    [(200, 0), (150, 0), (125, 25 * 7.5 / 2), (100, 375), (50, 1500), (20, 2400), (0, 3000)],
)
def test_what_a_ramp_leaves_waiting_is_what_is_above_the_capacity(capacity_rps, waiting):
    """From 50/s to 150/s within 30 s: a triangle above the capacity, or all of it and what lies below its start."""
    load = Ramp(users=1, from_rps=50.0, to_rps=150.0, duration_s=30.0)
    assert load.backlog(capacity_rps) == pytest.approx(waiting)


def test_users_that_grow_to_the_end_of_a_closed_loop_are_a_ramp():
    """It is never steady, theory has no mean for it, and it has no windows; one that ends later is none."""
    plan = plan_of(users=[100], ramp_up=5.0, duration=5.0, variants=["mvc"])
    load = plan.cells[0].load
    assert (load.is_ramp, load.steady_span_s, load.planned_sessions) == (True, None, None)
    assert prediction.predict(plan, plan.cells[0]) is None
    assert not plan_of(users=[100], ramp_up=5.0, duration=6.0).cells[0].load.is_ramp
    with pytest.raises(LabError, match="A ramp cannot be measured in windows"):
        plan_of(users=[100], ramp_up=5.0, duration=5.0, interleave="windows")


def test_a_load_without_arrivals_has_even_starts():
    """Runs from before there were arrivals can be read; arrivals that there are not are refused."""
    value = json.loads(json.dumps(plan_of(seed=1).as_json()))
    for cell in value["cells"]:
        del cell["load"]["arrivals"]
    assert Plan.from_json(value) == plan_of(seed=1)
    value["cells"][0]["load"]["arrivals"] = "sometimes"
    with pytest.raises(ValueError, match="sometimes"):
        Plan.from_json(value)


def test_a_seed_is_drawn_and_recorded():
    """Without a seed one is drawn, so that every run can be repeated."""
    seeds = {plan_of().seed for _ in range(20)}
    assert len(seeds) > 1
    assert all(isinstance(seed, int) for seed in seeds)


def test_a_plan_survives_json():
    """run.json gives the same plan again."""
    for plan in (
        plan_of(users=[1, 7], repeat=2, seed=3, duration=2.0),
        plan_of(rate=5.0, duration=2.0, arrivals="poisson"),
        plan_of(users=[3], requests=7),
        plan_of(ramp="0:5:2"),
    ):
        assert Plan.from_json(json.loads(json.dumps({**plan.as_json()}))) == plan


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"users": [0]}, "--users 0"),
        ({"users": [-1]}, "--users -1"),
        ({"users": [10, 0]}, "--users 0"),
        ({"users": [5, 5]}, "twice"),
        ({"ramp_up": -1.0}, "--ramp-up -1"),
        ({"ramp_up": math.nan}, "--ramp-up nan"),
        ({"ramp_up": math.inf}, "--ramp-up inf"),
        ({"loops": 0}, "--loops 0"),
        ({"loops": 2, "duration": 3.0}, "exclude one another"),
        ({"duration": 0.0}, "--duration 0"),
        ({"duration": -3.0}, "--duration -3"),
        ({"duration": math.inf}, "--duration inf"),
        ({"rate": 0.0, "duration": 3.0}, "--rate 0"),
        ({"rate": -1.0, "duration": 3.0, "users": [5]}, "--rate -1"),
        ({"rate": math.nan, "duration": 3.0}, "--rate nan"),
        ({"rate": math.inf, "duration": 3.0}, "--rate inf"),
        ({"rate": 10.0, "duration": math.inf}, "--duration inf"),
        ({"rate": 10.0, "duration": 0.0}, "--duration 0 "),
        ({"rate": 0.1, "duration": 2.0}, "--rate 0.1 for 2 s"),
        ({"rate": 1e6, "duration": 1e3}, "--rate 1000000 for 1000 s"),
        ({"rate": 1e308}, "--rate 1e+308"),
        ({"rate": 1e308, "users": [5]}, "--rate 1e+308"),
        ({"ramp": "0:1e308:90"}, "--ramp 0:1e+308:90"),
        ({"rate": "50%", "capacity": {"mvc": 1e308}, "variants": ["mvc"]}, "--capacity mvc= 1e+308"),
        ({"rate": "1e308%", "capacity": {"mvc": 1000}, "variants": ["mvc"]}, "--rate 1e+308%"),
        ({"rate": "50%", "capacity": {"mvc": 9}, "variants": ["mvc"], "repeat": 2_000_000_000}, "2,000,000,000 cells"),
        ({"users": [2_000_000_000]}, "too many requests"),
        ({"users": [2_000_000_000], "duration": 5.0}, "too many requests"),
        ({"rate": 10.0, "loops": 2}, "--rate and --loops exclude"),
        ({"rate": 10.0, "requests": 20}, "--rate and --requests exclude"),
        ({"rate": 10.0, "duration": 3.0, "ramp_up": 1.0}, "--rate and --ramp-up exclude"),
        ({"rate": 10.0, "duration": 3.0, "users": [5, 6]}, "one number of users"),
        ({"rate": 10.0, "duration": 3.0, "parameters": {"delay_ms": 0}}, "--rate needs --users"),
        ({"ramp": "0:100"}, "--ramp '0:100' is not three numbers"),
        ({"ramp": "0:100:30:5"}, "is not three numbers"),
        ({"ramp": "low:high:30"}, "is not three numbers"),
        ({"ramp": 100}, "--ramp 100 is not three numbers"),
        ({"ramp": "100:50:30"}, "--ramp 100:50:30 is a ramp that goes back"),
        ({"ramp": "50:50:30"}, "both rates are the same"),
        ({"ramp": "-5:50:30"}, "a rate below zero"),
        ({"ramp": "0:nan:30"}, "--ramp nan"),
        ({"ramp": "0:100:0"}, "--ramp 0:100:0 is too short"),
        ({"ramp": "0:100:1e9"}, "--ramp 1000000000 is too long"),
        ({"ramp": "0:0.1:5"}, "--ramp 0:0.1:5 is not possible"),
        ({"ramp": "0:1e6:100"}, "--ramp 0:1000000:100 is not possible"),
        ({"ramp": "0:100:30", "rate": 5.0}, "--ramp and --rate exclude"),
        ({"ramp": "0:100:30", "duration": 5.0}, "--ramp and --duration exclude"),
        ({"ramp": "0:100:30", "loops": 2}, "--ramp and --loops exclude"),
        ({"ramp": "0:100:30", "requests": 20}, "--ramp and --requests exclude"),
        ({"ramp": "0:100:30", "ramp_up": 0.0}, "--ramp and --ramp-up exclude"),
        ({"ramp": "0:100:30", "users": [5, 6]}, "one number of users"),
        ({"ramp": "0:100:30", "parameters": {"delay_ms": 0}}, "--ramp needs --users"),
        ({"arrivals": "posson"}, "did you mean poisson?"),
        ({"seed": -1}, "--seed -1"),
        ({"timeout": 0.0}, "--timeout 0"),
        ({"timeout": math.nan}, "--timeout nan"),
        ({"requests": 0}, "--requests 0"),
        ({"requests": 5, "loops": 2}, "exclude one another"),
        ({"workers": 0}, "--workers 0"),
        ({"users": [2], "workers": 3}, "--workers 3"),
        ({"repeat": 0}, "--repeat 0"),
        ({"repeat": 10_000}, "30,000 cells"),
        ({"threads": 0}, "--threads 0"),
        ({"accept_count": 0}, "--accept-count 0"),
        ({"heap_mb": 1}, "--heap-mb 1"),
        ({"variants": ["mcv"]}, "did you mean mvc?"),
        ({"variants": ["mvc", "xyzzyq"]}, "no variant 'xyzzyq'."),
        ({"parameters": {"delay_ms": -1}}, "--delay-ms -1"),
        ({"parameters": {"delay_ms": 60_001}}, "--delay-ms 60001"),
        ({"parameters": {"delay": 5}}, "did you mean delay_ms?"),
    ],
)
def test_what_cannot_be_done_is_said_with_the_next_step(options, named):
    """Every bad wish gives one sentence that names it, and what to do instead."""
    with pytest.raises(LabError) as caught:
        plan_of(**options)
    assert named in caught.value.problem
    assert caught.value.problem.endswith(".")
    assert caught.value.next_step.endswith(".")
    assert "\n" not in caught.value.problem + caught.value.next_step


@pytest.mark.parametrize("value", [0, 60_000])
def test_a_parameter_may_be_at_its_bounds(value):
    """The bounds themselves are allowed."""
    assert plan_of(parameters={"delay_ms": value}).parameters == {"delay_ms": value}


NAMED = replace(
    DELAY, parameters=(*DELAY.parameters, Parameter("operation", "get", help="what is done", choices=("put", "get")))
)


def test_a_parameter_may_be_one_of_several_names():
    """Names are varied like numbers: in paths, in the ids of cells, and in the order of the scenario in tables."""
    asked = Options(users=[10], variants=["mvc"], parameters={"operation": ["get", "put"]})
    plan = planning.make_plan(NAMED, asked, HERE)
    assert [cell.id for cell in plan.cells] == ["mvc-get-r1", "mvc-put-r1"]
    assert [plan.at(cell) for cell in plan.cells] == ["get", "put"]
    assert plan.positions == [0, 1]
    assert formatting.positions(plan) == "put, get"
    assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan
    assert planning.make_plan(NAMED, Options(), HERE).parameters["operation"] == "get"
    assert [plan.value_at(at) for at in plan.positions] == ["put", "get"]


def test_a_choice_that_is_a_number_is_said_with_what_it_is():
    """As one of a parameter that may be any number is; the largest is the last of the choices."""
    strengths = replace(DELAY, parameters=(*DELAY.parameters, Parameter("bcrypt", "10", help="", choices=("4", "10"))))
    asked = Options(users=[10], variants=["mvc"], parameters={"bcrypt": ["10", "4"]})
    plan = planning.make_plan(strengths, asked, HERE)
    assert {plan.at(cell): plan.position(cell) for cell in plan.cells} == {"bcrypt 10": 1, "bcrypt 4": 0}
    assert [plan.value_at(at) for at in plan.positions] == ["4", "10"]


@pytest.mark.parametrize("given", ["gte", "", 0])
def test_a_name_that_a_parameter_cannot_have_is_refused_with_those_it_can(given):
    """The nearest is offered, and all are listed."""
    with pytest.raises(LabError, match="There is no --operation") as refused:
        planning.make_plan(NAMED, Options(parameters={"operation": given}), HERE)
    assert "put, get" in refused.value.next_step


def test_a_variant_named_twice_is_measured_once():
    """To measure again there is --repeat."""
    assert [cell.variant for cell in plan_of(variants=["mvc", "mvc"]).cells] == ["mvc"]


def test_an_unknown_scenario_is_answered_with_the_nearest():
    """A slip of the finger gets an offer; something else gets the list only."""
    with pytest.raises(LabError, match="did you mean delay"):
        find_scenario("dealy")
    with pytest.raises(LabError) as caught:
        find_scenario("zzz")
    assert "did you mean" not in caught.value.problem
    assert "delay" in caught.value.next_step


def test_nearest_offers_only_what_is_near():
    """The offer is one known name, or nothing."""
    assert did_you_mean("shwo", ["run", "show", "list"]) == " (did you mean show?)"
    assert did_you_mean("qqq", ["run", "show", "list"]) == ""


def test_limits_are_equal_unless_another_stance_is_asked_for():
    """The default sets the same for all; ``default`` sets nothing; ``tuned`` sets what suits each variant."""
    plans = {stance: make_plan(JWT, Options(limits=stance), HERE) for stance in ("equal", "default", "tuned")}
    assert plans["equal"] == make_plan(JWT, Options(seed=plans["equal"].seed), HERE)
    assert plans["default"].limits_of("mvc") == NOT_SET
    tuned = {variant: plans["tuned"].limits_of(variant) for variant in ("mvc", "mvc-virtual", "webflux")}
    assert tuned["mvc"].threads
    assert tuned["mvc-virtual"].threads is tuned["webflux"].threads is None
    assert len({limits.pool for limits in tuned.values()}) == 1
    for plan in plans.values():
        assert Plan.from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_what_is_asked_for_goes_before_what_is_tuned():
    """``--limits tuned --pool 7`` has a pool of 7 for all."""
    plan = make_plan(JWT, Options(limits="tuned", pool=7), HERE)
    assert {plan.limits_of(variant.name).pool for variant in JWT.variants} == {7}


@pytest.mark.parametrize("wish", [{"threads": 5}, {"accept_count": 5}, {"pool": 5}, {"heap_mb": 500}])
def test_a_limit_and_none_at_all_contradict_one_another(wish):
    """``--limits default --threads 5`` is refused in one sentence that names both."""
    with pytest.raises(LabError, match=f"--limits default .*--{next(iter(wish)).replace('_', '-')}"):
        make_plan(JWT, Options(limits="default", **wish), HERE)


def test_a_plan_from_before_there_were_stances_is_read_as_equal():
    """Old runs stay readable."""
    plan = make_plan(DELAY, Options(seed=1), HERE)
    old = json.loads(json.dumps(plan.as_json()))
    for name in ("stance", "own_limits", "bind"):
        del old[name]
    for name in ("max_connections", "keep_alive_requests", "keep_alive_timeout_ms"):
        del old["limits"][name]
    for cell in old["cells"]:
        del cell["load"]["remote_workers"]
    assert Plan.from_json(old) == plan


def test_theory_knows_what_a_stack_does_by_itself():
    """Tomcat has 200 threads if nobody says otherwise, HikariCP ten connections, MongoDB's driver a hundred."""
    for scenario, users, servers in ((DELAY, 400, 200), (JWT, 50, 10), (scenarios()["document"], 50, 100)):
        plan = make_plan(scenario, Options(limits="default", users=[users]), HERE)
        assert prediction.servers(plan, scenario.variant("mvc"), plan.parameters) == servers


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"workers": 0}, "--workers"),
        ({"bind": "127.0.0.1"}, "--bind"),
        ({"remote_workers": 1, "bind": "0.0.0.0"}, "0.0.0.0"),
        ({"remote_workers": 1, "bind": "here:99999"}, "here:99999"),
        ({"remote_workers": 1}, "--bind 192.168.1.20"),
        ({"remote_workers": 9, "users": [5], "bind": "127.0.0.1"}, "--users"),
    ],
)
def test_workers_elsewhere_that_cannot_be_are_refused(options, named):
    """No worker at all, an address for nobody, none, one that nobody can go to, and more workers than users."""
    with pytest.raises(LabError) as refused:
        make_plan(DELAY, Options(**options), HERE)
    assert named in str(refused.value)


@pytest.mark.parametrize(
    ("text", "seconds"), [("20", 20), ("20s", 20), ("0.5", 0.5), ("1m30s", 90), ("2h", 7200), ("1.5s", 1.5), ("0", 0)]
)
def test_times_are_written_as_locusts_users_write_them(text, seconds):
    """A number is seconds, and units may follow."""
    assert Seconds().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "s", "20x", "m", "1s1m", "-5s", "abc"])
def test_what_is_no_time_is_refused(text):
    """One sentence says how a time is written."""
    with pytest.raises(click.BadParameter, match="20s or 1m30s"):
        Seconds().convert(text, None, None)


@pytest.mark.parametrize("load", [{"loops": 25_001}, {"requests": 10**9}])
def test_more_requests_than_can_be_kept_are_refused(load):
    """One sentence says how many are possible."""
    with pytest.raises(LabError, match="too many requests") as caught:
        planning.make_plan(scenarios()["delay"], Options(users=[4000], **load), HERE)
    assert "100,000,000" in caught.value.next_step


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        ({"users": "400"}, "--users '400' is not a whole number"),
        ({"users": 400.0}, "--users 400.0 is not a whole number"),
        ({"users": [50.5]}, "--users 50.5 is not a whole number"),
        ({"users": True}, "--users True is not a whole number"),
        ({"users": 10**5000}, "--users is too large"),
        ({"users": 5, "delay_ms": "abc"}, "--delay-ms 'abc' is not a whole number"),
        ({"users": 5, "delay_ms": 10**400}, "--delay-ms is too large"),
        ({"users": 5, "ramp_up": "1s"}, "--ramp-up '1s' is not a number"),
        ({"users": 5, "timeout": 10**400}, "--timeout inf"),
        ({"users": 5, "duration": 1e9}, "--duration 1000000000 is too long"),
        ({"users": 5, "repeat": None}, "--repeat None"),
        ({"users": 5, "pin": "no"}, "pin 'no'"),
        ({"users": 5, "nodes": 0}, "--nodes 0 is not possible"),
        ({"users": 5, "prometheus": 1}, "prometheus 1 is neither True nor False"),
        ({"users": 5, "bind": 5, "remote_workers": 1, "arrivals": 3}, "arrivals 3"),
        ({"users": 5, "variants": "mcv"}, "did you mean mvc"),
        ({"users": 5, "variants": ""}, "no variant ''"),
        ({"users": 5, "variants": "mvc,"}, "no variant ''"),
        ({"users": 5, "variants": 5}, "no variant '5'"),
        ({"users": 5, "runtime": "dokcer"}, "no runtime 'dokcer'"),
        ({"users": 5, "parameters": {"delay_ms": 5}}, "no parameter 'parameters'"),
        ({"users": {1: 2}}, "not a whole number"),
    ],
)
def test_what_python_users_may_type_is_refused_in_one_sentence(asked, named, tmp_path):
    """From Python anything may come; it ends in the same sentences as on the command line, and nothing is made."""
    with pytest.raises(LabError, match=named) as caught:
        lab.run("delay", data=tmp_path / "runs", quiet=True, **asked)
    assert caught.value.next_step
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("asked", ["mvc,webflux", "mvc, webflux", ["mvc", "webflux"], ("mvc", "webflux")])
def test_variants_are_named_as_one_likes(asked):
    """As a list, or in one text with commas as on the command line."""
    assert names(asked) == ["mvc", "webflux"]


def test_a_negative_zero_is_a_zero():
    """Nobody is shown a ramp of minus zero."""
    plan = make_plan(DELAY, Options(users=[5], ramp_up=-0.0), HERE)
    assert math.copysign(1, plan.cells[0].load.ramp_s) == 1


@pytest.mark.parametrize(
    ("scenario", "options"),
    [
        ("delay", {"users": [100, 4000], "threads": 10}),
        ("delay", {"users": [400], "threads": 10, "loops": 3, "parameters": {"delay_ms": 60_000}}),
        ("document", {"users": [400], "pool": 10, "link_latency_ms": 5000}),
        ("document", {"users": [400], "threads": 10, "link_latency_ms": 5000}),
        ("document", {"users": [400], "link_rate": 3_500_000, "link_connection_rate": 90_000}),
        ("document", {"users": [50], "pool": 2, "link_connection_rate": 90_000}),
        ("jwt", {"users": [300], "pool": 1, "link_latency_ms": 1000, "limits": "tuned"}),
    ],
)
def test_nobody_is_given_up_whom_theory_has_wait(scenario, options):
    """Whatever is short, threads, connections or the link, the default timeout is twice the time of all users."""
    plan = make_plan(scenarios()[scenario], Options(**options), HERE)
    for cell in plan.cells:
        once = replace(cell, load=cell.load.as_burst(ramp_s=0.0))
        assert cell.load.timeout_s >= 1.99 * prediction.load_s(plan, once)


def test_a_pool_that_is_smaller_than_the_threads_decides_how_long_users_wait():
    """Ten connections five seconds away serve 400 users in 40 waves, which are 200 s."""
    plan = make_plan(scenarios()["document"], Options(users=[400], pool=10, link_latency_ms=5000), HERE)
    assert {cell.load.timeout_s for cell in plan.cells} == {400.0}
    assert plan_of(users=[400]).cells[0].load.timeout_s == 120.0


def test_a_rate_has_users_for_the_queue_before_a_pool():
    """Ten connections answer 2/s: of 10/s for a minute, 480 queue up; 1 MB over 90 kB/s takes 11 s, for each of 5/s."""
    document = scenarios()["document"]
    far = make_plan(document, Options(rate=10.0, duration=60.0, pool=10, link_latency_ms=5000), HERE)
    assert far.cells[0].load.users == 10 * (2 * 5 + 1) + 480
    thin = make_plan(document, Options(rate=5.0, duration=60.0, pool=100, link_connection_rate=90_000), HERE)
    assert thin.cells[0].load.users >= 5 * 11


@pytest.mark.parametrize("limits", ["equal", "default", "tuned"])
@pytest.mark.parametrize(
    "options", [{"users": [4000], "parameters": {"delay_ms": 60_000}}, {"rate": 150.0, "duration": 30.0}]
)
def test_a_load_does_not_depend_on_who_is_measured(options, limits):
    """Runs of one variant each have the same users and timeouts, so that they can be compared."""
    alone = [plan_of(variants=[variant.name], limits=limits, **options) for variant in DELAY.variants]
    assert len({plan.cells[0].load for plan in alone}) == 1


def test_nobody_waits_longer_than_a_week():
    """As where it is asked for: a link of a byte a second is no reason to wait for years."""
    plan = make_plan(scenarios()["document"], Options(users=[400], link_rate=1), HERE)
    assert {cell.load.timeout_s for cell in plan.cells} == {numbers.MOST_SECONDS}


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (
            {"components": (Component("a", module="webflux", calls=("b",)),)},
            "has no component 'b', which another calls",
        ),
        (
            {"components": (Component("a", module="x", calls=("b",)), Component("b", module="x", calls=("a",)))},
            "a and b call one another|b and a call one another",
        ),
        ({"variants": (replace(DELAY.variants[0], demands={"/dealy": ()}),)}, "has no request '/dealy', of which mvc"),
        ({"requests": (Request("/delay", "/delay/{dealy_ms}"),)}, "has no parameter 'dealy_ms' .did you mean delay_ms"),
        ({"sweep": {"userz": (1, 2)}}, "has no parameter 'userz'"),
        ({"rehearsal": replace(DELAY.rehearsal, parameters={"delay": 0})}, "has no parameter 'delay'"),
        (
            {"variants": (replace(DELAY.variants[0], demands={"/delay": (Stage("mongo"),)}),)},
            "has no component 'mongo'",
        ),
        (
            {"variants": (replace(DELAY.variants[0], demands={"/delay": (Stage(SERVICE, "t"),)}),)},
            "has no parameter 't'",
        ),
        (
            {"components": (Component("mongo", database="mongo", entities=Entities(1, 1, 1, "indx")),)},
            "has no parameter 'indx'",
        ),
    ],
)
def test_a_scenario_that_contradicts_itself_is_refused(changed, problem):
    """Where it is defined, and not when it is measured."""
    with pytest.raises(ValueError, match=problem):
        replace(DELAY, **changed)


@pytest.mark.parametrize("what", [{}, {"module": "webflux", "database": "mongo"}])
def test_a_component_is_one_thing(what):
    """A database, a module, or a command."""
    with pytest.raises(ValueError, match="not one of database, module and command"):
        Component("b", **what)


def test_commands_and_entities_are_those_of_a_database():
    """What nobody counts, and what nobody stores, is refused where it is defined."""
    with pytest.raises(ValueError, match="nobody counts the command 'fnid' of mongo"):
        Stage("mongo", command="fnid")
    with pytest.raises(ValueError, match="the component backend holds entities"):
        Component("backend", module="webflux", entities=Entities(1, 1, 1))


def test_settings_are_those_of_a_service_of_ours_and_of_a_parameter():
    """A database would not listen, and nothing else has the values."""
    with pytest.raises(ValueError, match="the component mongo has settings, and is no service of ours"):
        Component("mongo", database="mongo", settings={"threads": "delay_ms"})
    with pytest.raises(ValueError, match="has no parameter 'b_threads'"):
        replace(DELAY, components=(Component("backend", module="backend", settings={"threads": "b_threads"}),))


@pytest.mark.parametrize("span", ["30:60", "0:1", "never"])
def test_a_span_of_time_is_taken_as_it_is_written(span):
    """FROM:FOR in whole seconds, or never."""
    plan = make_plan(scenarios()["chain"], Options(users=[1], parameters={"b_fails": span}), HERE)
    assert plan.parameters_of(plan.cells[0])["b_fails"] == span


@pytest.mark.parametrize("span", ["30", "30:0", "-1:5", "1.5:2", "30:60:90", "always", 5, ""])
def test_what_is_no_span_of_time_is_a_sentence(span):
    """With how one is written."""
    with pytest.raises(LabError, match="is no span of time") as caught:
        make_plan(scenarios()["chain"], Options(users=[1], parameters={"b_fails": span}), HERE)
    assert "30:60" in caught.value.next_step


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"b_fails": ["1:2", "3:4"]}, "--b-fails has several values"),
        ({"breaker": "maybe"}, "There is no --breaker 'maybe'"),
        ({"breaker_percent": 101}, "--breaker-percent 101 is out of range"),
        ({"breaker_window": 1}, "--breaker-window 1 is out of range"),
        ({"b_threads": -1}, "--b-threads -1 is out of range"),
        ({"breaker_window": 10}, "--breaker-window has no effect without --breaker refuse or fallback."),
        ({"b_slower_ms": 10, "b_fails": "1:2"}, "--b-slower-ms has no effect without --b-slow."),
    ],
)
def test_a_setting_out_of_range_or_without_effect_is_a_sentence(parameters, problem):
    """Before anything is started."""
    with pytest.raises(LabError, match=problem):
        make_plan(scenarios()["chain"], Options(users=[1], parameters=parameters), HERE)


def test_a_setting_has_an_effect_where_a_sweep_has_one_value_that_needs_it():
    """The others do without it, as they are to be compared with it."""
    asked = {"breaker": ["off", "refuse"], "breaker_window": 10}
    plan = make_plan(scenarios()["chain"], Options(users=[1], parameters=asked), HERE)
    assert {plan.parameters_of(cell)["breaker"] for cell in plan.cells} == {"off", "refuse"}


def test_only_settings_in_use_are_in_the_header_of_a_run():
    """The others would be longer than what was measured."""
    plan = make_plan(scenarios()["chain"], Options(users=[1], parameters={"b_threads": 50}), HERE)
    assert formatting.settings(plan).startswith("delay_ms 200, b_threads 50; ")


@pytest.mark.parametrize(
    ("parameters", "threads", "servers"),
    [({}, 200, 200), ({"b_threads": 50}, 200, 50), ({"b_threads": 300}, 200, 200), ({"b_threads": 50}, 20, 20)],
)
def test_what_the_called_service_works_on_at_once_limits_as_connections_do(parameters, threads, servers):
    """The fewest of threads, connections and the called service's decide; those of few users are left out."""
    options = Options(users=[1000], variants=["mvc"], threads=threads, pool=1000, parameters=parameters)
    plan = make_plan(scenarios()["chain"], options, HERE)
    assert prediction.servers(plan, plan.variants[0], plan.parameters) == servers
    assert prediction.plateaus(plan) == [("N/t" if servers == 50 else "T/t", servers / 0.2)]


@pytest.mark.parametrize(
    ("parameters", "at_once"),
    [
        ({"b_threads": 50}, {"backend": (40.0, 50)}),  # 200 requests/s, each in work for 0.2 s
        ({}, {}),  # of any number none is a limit
        ({"b_threads": 50, "b_slow": "1:2"}, {}),
    ],
)
def test_how_many_calls_are_in_work_follows_from_their_rate(parameters, at_once):
    """By Little's law, of a called service that works on a limited number, and takes the same time for all calls."""
    plan = make_plan(scenarios()["chain"], Options(users=[1], variants=["mvc"], parameters=parameters), HERE)
    assert prediction.served_at_once(plan, plan.variants[0], plan.parameters, rps=200.0) == at_once


@pytest.mark.parametrize("parameters", [{"b_fails": "1:2"}, {"b_slow": "1:2"}, {"b_dead": "1:2"}])
def test_nothing_is_predicted_where_the_called_service_fails_or_is_slow(parameters):
    """Theory is of a service that takes the same time for all calls."""
    plan = make_plan(scenarios()["chain"], Options(users=[10], parameters=parameters), HERE)
    assert prediction.predict(plan, plan.cells[0]) is None


def test_components_start_after_those_they_call_and_databases_first():
    """Otherwise in the order in which they are named."""
    a, b = Component("a", module="x", calls=("c", "mysql")), Component("b", module="x")
    c, mysql = Component("c", command=("x",)), Component("mysql", database="mysql")
    started = replace(DELAY, components=(a, b, c, mysql)).start_order
    assert [component.name for component in started] == ["mysql", "b", "c", "a"]
