"""How to repeat a run: the printed line works in a shell, whoever made the run, and gives the same plan again."""

from __future__ import annotations

import ast
import shlex
from dataclasses import replace

import pytest
from machines import HERE

from lab.errors import LabError
from lab.experiments import scenarios
from lab.reporting.html import rerun_command
from lab.running import conductor
from lab.spec import attached, planning
from lab.spec.options import Options
from lab.storage.run_folder import RunFolder

ASKED = [
    ("delay", {"users": [400]}),
    ("delay", {"users": [1, 4000], "threads": 10, "repeat": 2, "variants": ["webflux", "mvc"]}),
    ("delay", {"users": [5], "duration": 3.0, "ramp_up": 0.0, "parameters": {"delay_ms": 500}, "pin": False}),
    ("delay", {"rate": 100.0, "duration": 30.0, "arrivals": "poisson", "workers": 2}),
    ("delay", {"ramp": "0.1:100:33.3", "variants": ["mvc"]}),
    ("delay", {"ramp": "10:60:6", "users": [90], "parameters": {"delay_ms": [100, 500]}, "arrivals": "poisson"}),
    ("delay", {"users": [50], "remote_workers": 2, "workers": 0, "bind": "192.168.1.20", "timeout": 7.0}),
    ("jwt", {"users": [50], "requests": 20_000, "limits": "tuned", "pool": 7}),
    ("delay", {"rate": ["12.3456789%"], "capacity": {"mvc": 128.0}, "variants": ["mvc"], "duration": 10.0}),
    ("jwt", {"limits": "default", "loops": 3}),
    ("document", {"users": [100], "pool": 20, "link_latency_ms": 500, "heap_mb": 512, "accept_count": 100}),
    ("jwt", {"users": [50, 100], "duration": 9, "interleave": "windows", "repeat": 2}),
    ("operations", {"users": [200], "pace": 0.3, "ramp_up": 7.0, "parameters": {"bcrypt": "4"}}),
]


@pytest.fixture
def made(tmp_path):
    """A function that makes the folder of a run, as something that was typed or called left it."""

    def make(plan, *words: str, **environment) -> RunFolder:
        return RunFolder.create(plan, words, environment, tmp_path)

    return make


@pytest.fixture
def conducted(monkeypatch):
    """What was to be carried out: plans, and the commands that are recorded with them. Nothing is."""
    found = []

    def conduct(plan, invocation):
        found.append((plan, list(invocation.command)))
        raise LabError("Nothing is measured here.", "")

    monkeypatch.setattr(conductor, "conduct", conduct)
    return found


def carry_out(line: str) -> None:
    """Carry out a line that calls Python, as a shell would."""
    program, option, text = shlex.split(line)
    assert (program, option) == ("python", "-c")
    with pytest.raises(LabError, match="Nothing is measured here"):
        exec(text, {})


@pytest.mark.parametrize(("scenario", "options"), ASKED)
@pytest.mark.parametrize("by", ["lab.run", "lab.reproduce"])
def test_a_run_of_python_is_repeated_by_the_line(made, conducted, scenario, options, by):
    """It calls what exists, with all that was asked for and the seed; whatever made it, the plan is the same again."""
    plan = planning.make_plan(scenarios()[scenario], Options(**options, seed=123), HERE)
    run = made(plan, by, scenario)
    assert not rerun_command.was_typed(run)
    carry_out(rerun_command.command(run))
    assert conducted == [(plan, ["lab.run", scenario])]


def test_a_load_of_python_is_repeated_by_the_line(made, conducted):
    """Endpoints and the names of headers are in it; their values have to be filled in."""
    for urls in (
        {attached.NAME: "http://127.0.0.1:1/a?b='c'"},
        {"old": "http://127.0.0.1:1/", "new": "http://127.0.0.1:2/"},
    ):
        asked = Options(users=[3, 5], duration=4.0, seed=5)
        plan = attached.make_plan(list(urls.values()), list(urls), {"X-Key": "secret"}, asked, HERE)
        line = rerun_command.command(made(plan, "lab.load"))
        assert 'headers={"X-Key": "…"}' in line
        carry_out(line.replace("…", "secret"))
        assert conducted.pop() == (plan, ["lab.load"])


def test_the_call_has_nothing_that_is_the_default_anyway(made):
    """It is as short as what a person would write."""
    plan = planning.make_plan(scenarios()["delay"], Options(users=[400], seed=5), HERE)
    assert rerun_command.command(made(plan, "lab.run", "delay")) == (
        """python -c 'import lab; lab.run("delay", users=400, seed=5)'"""
    )
    assert "runtime=" in rerun_command.command(made(plan, "lab.run", "delay", runtime="docker"))


def test_a_plan_that_this_lab_would_make_otherwise_is_told_in_full(made):
    """What an older lab decided is stated, not left to what this one decides."""
    plan = planning.make_plan(scenarios()["delay"], Options(users=[400], seed=5), HERE)
    (text,) = shlex.split(rerun_command.command(made(replace(plan, limits=planning.NOT_SET), "lab.run")))[2:]
    (call,) = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    stated = {keyword.arg for keyword in call.keywords}
    assert {"users", "seed", "ramp_up", "loops", "timeout", "delay_ms", "pin"} <= stated


@pytest.mark.parametrize(
    ("typed", "repeated"),
    [
        ("run delay", "run delay --seed 1"),
        ("run delay --seed=5", "run delay --seed=5"),
        ("run delay --seed 5", "run delay --seed 5"),
        ("reproduce delay", "reproduce delay --seed 1"),
    ],
)
def test_a_command_is_repeated_with_the_seed_that_it_drew(made, typed, repeated):
    """One that was given stays, in either form."""
    plan = planning.make_plan(scenarios()["delay"], Options(seed=1), HERE)
    run = made(plan, "python", "-m", "lab", *typed.split())
    assert rerun_command.was_typed(run)
    assert rerun_command.command(run) == f"python -m lab {repeated}"
