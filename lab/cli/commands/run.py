"""The commands that measure scenarios: run and sweep."""

from __future__ import annotations

from typing import Any

import click

from lab.cli.measuring import ScenarioGroup, conduct_scenario
from lab.cli.options import UserCounts, load_options
from lab.errors import LabError
from lab.spec.scenario import Scenario


def _run_command(scenario: Scenario) -> click.Command:
    text = f"Number of users.  [default: {scenario.load.users}; with --rate, as many as needed]"
    users = click.Option(["--users"], type=UserCounts(), help=text)

    def run(users: list[int] | None, **options: Any) -> None:
        if users and len(users) > 1:
            raise LabError("'run' takes one number of users.", "For several: python -m lab sweep " + scenario.name)
        conduct_scenario(scenario.name, users=users or [], **options)

    return load_options(click.Command(scenario.name, callback=run, params=[users], help=scenario.question), scenario)


def _sweep_command(scenario: Scenario) -> click.Command:
    loads = ",".join(map(str, scenario.sweep_users))
    users = click.Option(["--users"], type=UserCounts(), default=loads, show_default=True, help="Numbers of users.")

    def sweep(**options: Any) -> None:
        conduct_scenario(scenario.name, **options)

    return load_options(click.Command(scenario.name, callback=sweep, params=[users], help=scenario.question), scenario)


run = ScenarioGroup("run", _run_command, "Measure a scenario at one load.")
sweep = ScenarioGroup("sweep", _sweep_command, "Measure a scenario at several loads.")
