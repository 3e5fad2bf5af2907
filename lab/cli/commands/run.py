"""The commands that measure scenarios: run and sweep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import click

from lab.cli.measuring import ScenarioGroup, conduct_scenario
from lab.cli.options import Several, load_options
from lab.errors import LabError
from lab.spec.options import has_effect, needed, option
from lab.spec.plan import RAMP, RATE, USERS
from lab.spec.scenario import Scenario


def _axes(scenario: Scenario) -> tuple[str, ...]:
    """What a sweep of a scenario can vary."""
    return (USERS, RATE, *(parameter.name for parameter in scenario.parameters))


def _command(scenario: Scenario, callback: Callable[..., None], users: click.Option) -> click.Command:
    """The subcommand of a scenario; programs have no users."""
    params: list[click.Parameter] = [] if scenario.entry == "program" else [users]
    return click.Command(scenario.name, callback=callback, params=params, help=scenario.question)


def _run_command(scenario: Scenario) -> click.Command:
    open_loop = "with --rate or --ramp as many as theory tells, and required where it does not"
    text = f"Number of users.  [default: {scenario.load.users}; {open_loop}]"
    users = click.Option(["--users"], type=Several(), metavar="N", help=text)

    def run(**options: Any) -> None:
        for axis in _axes(scenario):
            if len(options.get(axis) or ()) > 1:
                what = "number of users" if axis == USERS else option(axis)
                raise LabError(f"'run' takes one {what}.", f"For several: python -m lab sweep {scenario.name}")
        conduct_scenario(scenario.name, **{**options, "users": options.get("users") or []})

    return load_options(_command(scenario, run, users), scenario, sweeps=False)


def _sweep_command(scenario: Scenario) -> click.Command:
    loads = "; ".join(f"{option(axis)} {','.join(map(str, values))}" for axis, values in scenario.sweep.items())
    users = click.Option(["--users"], type=Several(), help=f"Numbers of users.  [default of the sweep: {loads}]")

    def sweep(**options: Any) -> None:
        varied = any(len(options.get(axis) or ()) > 1 for axis in _axes(scenario))
        if not options.get(RATE) and not options.get(RAMP) and not varied:
            options |= {axis: values for axis, values in scenario.sweep.items() if not options.get(axis)}
            _check_effective(scenario, options)
        conduct_scenario(scenario.name, **{**options, "users": options.get("users") or []})

    return load_options(_command(scenario, sweep, users), scenario, sweeps=True)


def _check_effective(scenario: Scenario, options: Mapping[str, Any]) -> None:
    """LabError where a sweep would vary by itself what has no effect with the other options."""
    values = {parameter.name: options.get(parameter.name) or [parameter.default] for parameter in scenario.parameters}
    for axis in values.keys() & scenario.sweep.keys():
        if not has_effect(scenario, axis, values):
            (parameter,) = (each for each in scenario.parameters if each.name == axis)
            raise LabError(
                f"This sweep would vary {option(axis)}, which has no effect without {needed(parameter)}.",
                "Say what to vary instead, such as --users 1,10,100.",
            )


run = ScenarioGroup("run", _run_command, "Measure a scenario at one load.")
sweep = ScenarioGroup("sweep", _sweep_command, "Measure a scenario at several loads: users, rates, or a parameter.")
