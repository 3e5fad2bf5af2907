"""The commands for a stack that stays up: up and down."""

from __future__ import annotations

import shlex
from typing import Any

import click

from lab import experiments
from lab.cli import as_typed
from lab.cli.console import out, reporter, short
from lab.cli.measuring import ScenarioGroup, endpoints_of, plan_of
from lab.cli.options import limit_options
from lab.errors import LabError
from lab.running import held_stack
from lab.runtimes import checkout
from lab.spec.options import option
from lab.spec.plan import Plan
from lab.spec.scenario import Scenario, Value


def _up_command(scenario: Scenario) -> click.Command:
    usual = next(iter(scenario.default_variants or (variant.name for variant in scenario.variants)))
    variant = click.Option(["--variant"], default=usual, show_default=True, help="Variant to start.")

    def up(variant: str, runtime: str, **options: Any) -> None:
        endpoints = endpoints_of(options)
        plan = plan_of(scenario.name, variants=variant, **options)
        if plan.is_sweep:
            raise LabError(f"'up' takes one value of {option(plan.axis)}.", "Name one.")
        if len(plan.cells) > 1:
            raise LabError("'up' starts one variant.", f"Name one: --variant {plan.cells[0].variant}")
        running = held_stack.up(plan, runtime, endpoints, reporter().say)
        out.print(f"{scenario.name} with {running['variant']} is up at [bold]{running['url']}[/]", soft_wrap=True)
        click.echo(f"  {held_stack.example_request(running)}")
        locustfile = short(checkout.locustfile(scenario.played_by))
        settings = "".join(f" {option(name)} {value}" for name, value in _changed_parameters(plan).items())
        click.echo(f"  {as_typed.program('locust')} -f {shlex.quote(locustfile)} --headless -u 50 -t 20s{settings}")
        click.echo(f"end it: {as_typed.typed('down')}")

    command = click.Command(scenario.name, callback=up, params=[variant], help=scenario.question)
    return limit_options(command, scenario, sweeps=False)


def _changed_parameters(plan: Plan) -> dict[str, Value]:
    """The parameters of a plan that plain Locust would have other values of, for want of being told."""
    played = experiments.find_scenario(plan.scenario.played_by).played_parameters
    return {p.name: plan.parameters[p.name] for p in played if plan.parameters.get(p.name, p.default) != p.default}


up = ScenarioGroup("up", _up_command, "Start a scenario's stack and leave it up, until 'down'.", ("service",))


@click.command()
def down() -> None:
    """Stop the stack that 'up' has started."""
    out.print(f"Ended {held_stack.down()}.")
