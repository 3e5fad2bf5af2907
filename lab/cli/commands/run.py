"""Commands that measure, or start services: run, sweep, load, resume, up, down."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from lab import experiments
from lab.analysis.slo import Objective
from lab.cli import as_typed
from lab.cli.console import err, exit_by_objectives, exit_by_verdict, out, short
from lab.cli.options import Users, data_option, header_option, limit_options, load_options, pin_option, shape_options
from lab.cli.tables import print_run
from lab.errors import LabError
from lab.experiments import SCENARIOS
from lab.reporting import run_view
from lab.running import conductor, estimate, held_stack, resumption
from lab.running.progress import Reporter
from lab.runtimes.checkout import ROOT
from lab.spec import planning
from lab.spec.attached import LOAD
from lab.spec.planning import Wishes
from lab.spec.scenario import Plan, Scenario
from lab.storage import run_folder
from lab.system import attached
from lab.system.backends import Addresses

UNKNOWN_CEILING = "How much the generator can send here is not known yet; a minute tells: python -m lab calibrate"


class ScenarioGroup(click.Group):
    """A command with one subcommand a scenario, so that ``--help`` teaches that scenario's parameters.

    Args:
        make: makes a scenario's subcommand.

    """

    def __init__(self, name: str, make: Callable[[Scenario], click.Command], help: str) -> None:  # click's
        super().__init__(name, help=help)
        for scenario in SCENARIOS.values():
            self.add_command(make(scenario))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click, but a command without a scenario is told which there are."""
        if not args:
            raise LabError(
                f"{self.name!r} needs a scenario: {', '.join(self.commands)}.",
                f"Name one: python -m lab {self.name} {next(iter(self.commands))}",
            )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but an unknown scenario is answered with the nearest."""
        if not args[0].startswith("-"):
            planning.find_scenario(args[0])
        return super().resolve_command(ctx, args)


def _run_command(scenario: Scenario) -> click.Command:
    text = f"How many users.  [default: {scenario.load.users}; with --rate, as many as it takes]"
    users = click.Option(["--users"], type=Users(), help=text)

    def run(users: list[int] | None, **options: Any) -> None:
        if users and len(users) > 1:
            raise LabError("'run' takes one number of users.", "For several: python -m lab sweep " + scenario.name)
        _conduct_scenario(scenario, users=users or [], **options)

    return load_options(click.Command(scenario.name, callback=run, params=[users], help=scenario.question), scenario)


def _sweep_command(scenario: Scenario) -> click.Command:
    loads = ",".join(map(str, scenario.sweep_users))
    users = click.Option(["--users"], type=Users(), default=loads, show_default=True, help="The loads.")

    def sweep(**options: Any) -> None:
        _conduct_scenario(scenario, **options)

    return load_options(click.Command(scenario.name, callback=sweep, params=[users], help=scenario.question), scenario)


def _up_command(scenario: Scenario) -> click.Command:
    variant = click.Option(["--variant"], default="mvc", show_default=True, help="Which to start.")

    def up(variant: str, runtime: str, **options: Any) -> None:
        addresses = _addresses(options)
        plan = _plan(scenario, variants=variant, **options)
        if len(plan.cells) > 1:
            raise LabError("'up' starts one variant.", f"Name one: --variant {plan.cells[0].variant}")
        running = held_stack.up(plan, runtime, addresses)
        out.print(f"{scenario.name} with {running['variant']} is up at [bold]{running['url']}[/]", soft_wrap=True)
        click.echo(f"  {held_stack.example_request(running)}")
        locustfile = short(ROOT / "locustfiles" / f"{scenario.name}.py")
        click.echo(f"  {as_typed.program('locust')} -f {shlex.quote(locustfile)} --headless -u 50 -t 20s")
        click.echo(f"end it: {as_typed.typed('down')}")

    return limit_options(click.Command(scenario.name, callback=up, params=[variant], help=scenario.question), scenario)


def _conduct_scenario(
    scenario: Scenario,
    data: Path,
    allow_suspect: bool,
    runtime: str,
    dry_run: bool,
    slo: Sequence[Objective],
    **options: Any,
) -> None:
    addresses = _addresses(options)
    _conduct(_plan(scenario, **options), addresses, data, allow_suspect, dry_run, slo, runtime)


def _conduct(
    plan: Plan,
    addresses: Addresses,
    data: Path,
    allow_suspect: bool,
    dry_run: bool,
    slo: Sequence[Objective],
    runtime: str = "process",
) -> None:
    cells = conductor.in_random_order(plan)
    expected = estimate.of_plan(experiments.of(plan), plan, cells, data)
    if dry_run:
        for number, cell in enumerate(cells, 1):
            out.print(f"{number:4}  {cell.id}")
        out.print(f"{expected}. Nothing was started; --seed {plan.seed} repeats this order.", soft_wrap=True)
        return
    err.print(f"  {expected}", soft_wrap=True)
    _conclude(conductor.conduct(plan, _typed(), data, Reporter(err), runtime, addresses), allow_suspect, slo)


def _typed() -> list[str]:
    return ["python", "-m", "lab", *as_typed.without_secrets(sys.argv[1:])]


def _conclude(folder: run_folder.RunFolder, allow_suspect: bool, slo: Sequence[Objective] = ()) -> None:
    """Show a run that was just measured, and end as its verdict says."""
    run = run_view.Run(folder)
    pictures = ", ".join(path.name for path in run.draw())
    print_run(run, out)
    files = ", ".join(["samples", "metrics", *([] if run.plan.urls else ["limits"]), "logs", pictures])
    out.print(f"\nIn [bold]{escape(short(run.path))}[/]: {files}")
    name = shlex.quote(folder.called)
    more = f"report {name}" if run.plan.urls else f"sweep {run.scenario.name}"
    next_ = f"python -m lab show {name}   |   python -m lab {more}   |   {as_typed.program('jupyter')} lab notebooks"
    out.print(f"Next: {as_typed.as_typed(next_)}", markup=False, soft_wrap=True)
    if not folder.environment().get("calibration"):
        out.print(as_typed.as_typed(UNKNOWN_CEILING), soft_wrap=True)
    exit_by_objectives(slo, {cell.id: row for cell, row in zip(run.plan.cells, run.cells, strict=True)})
    exit_by_verdict(run, allow_suspect)


def _addresses(options: dict[str, Any]) -> Addresses:
    """Take the addresses of the user's own servers out of the options."""
    return Addresses(mysql=options.pop("mysql_url", ""), mongo=options.pop("mongo_url", ""))


def _plan(scenario: Scenario, variants: str | None, **options: Any) -> Plan:
    parameters = {p.name: options.pop(p.name) for p in scenario.parameters}
    wishes = Wishes(
        variants=planning.names(variants),
        parameters={name: value for name, value in parameters.items() if value is not None},
        **options,
    )
    return planning.make_plan(scenario, wishes)


run = ScenarioGroup("run", _run_command, "Measure a scenario at one load.")
sweep = ScenarioGroup("sweep", _sweep_command, "Measure a scenario at several loads.")
up = ScenarioGroup("up", _up_command, "Start a scenario's stack and leave it up, until 'down'.")


@click.command("load")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--name", "names", multiple=True, metavar="LABEL", help=f"What to call it.  [default: {attached.NAME}]")
@header_option
@click.option("--users", type=Users(), help=f"How many users; several for a sweep.  [default: {LOAD.load.users}]")
def load(
    urls: tuple[str, ...],
    names: tuple[str, ...],
    headers: tuple[str, ...],
    users: list[int] | None,
    data: Path,
    allow_suspect: bool,
    dry_run: bool,
    slo: Sequence[Objective],
    **options: Any,
) -> None:
    """Load a service of your own, which the lab does not start: GET requests to URL, and nothing else.

    \b
    python -m lab load http://127.0.0.1:8080/path --users 1,10,50 --duration 20
    python -m lab load http://127.0.0.1:8080/path --rate 200 --duration 30 --users 100
    python -m lab load http://127.0.0.1:8080/path --header 'Authorization: Bearer …'
    python -m lab load http://127.0.0.1:8080/a http://127.0.0.1:8081/a --name old --name new --repeat 5

    Several addresses take turns, as variants do: give each a --name. Load only what is yours, or what you may. The
    address is recorded with its query, of headers only the names. Before each measurement come five seconds of the
    same load, or with --loops and --requests one request of each user, which are not counted.

    A service on this machine shares its cores with the generator, and the verdict says how much it took of them: start
    it on the other half (taskset -c 0 …), or on another machine.
    """  # noqa: D301 (click looks for the backspace itself)
    fields = attached.headers(headers)
    plan = attached.make_plan(urls, names, fields, Wishes(users=users or [], **options))
    _conduct(plan, Addresses(headers=fields), data, allow_suspect, dry_run, slo)


load.params += [*shape_options(LOAD.load), pin_option()]
data_option(load)


@click.command()
@click.argument("run", required=False)
@click.option("--anyway", is_flag=True, help="Also where machine, commit or packages are not what they were.")
@click.option("--allow-suspect", is_flag=True, help="Exit with 0 also where a verdict is 'suspect'.")
@click.option("--mysql-url", default="", metavar="URL", help="As the run had it.")
@click.option("--mongo-url", default="", metavar="URL", help="As the run had it.")
@header_option
@data_option
def resume(
    run: str | None, anyway: bool, allow_suspect: bool, headers: tuple[str, ...], data: Path, **options: Any
) -> None:
    """Measure what an interrupted RUN still lacks; the newest incomplete one if none is named."""
    folder = run_view.open_run(str(run_folder.find_resumable(run, data).path)).folder
    expected = estimate.of_plan(run_view.Run(folder).scenario, folder.plan(), folder.missing(), data)
    err.print(f"  {folder.name}: {expected}", markup=False, soft_wrap=True)
    addresses = replace(_addresses(options), headers=attached.headers(headers))
    _conclude(resumption.resume(folder, _typed(), Reporter(err), anyway, addresses), allow_suspect)


@click.command()
def down() -> None:
    """End what 'up' has started."""
    out.print(f"Ended {held_stack.down()}.")
