"""The common part of commands that measure: a subcommand a scenario, the plan, the run, the exit status."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from lab import experiments
from lab.analysis import capacity
from lab.analysis.slo import Objective
from lab.cli import as_typed
from lab.cli.console import err, exit_by_objectives, exit_by_verdict, out, reporter, short
from lab.cli.tables import print_run
from lab.errors import LabError
from lab.reporting import formatting, run_view
from lab.running import conductor, estimate
from lab.running.invocation import Invocation
from lab.runtimes import PROCESS, host
from lab.spec import in_turns, planning
from lab.spec.options import Options, names
from lab.spec.ordering import in_random_order
from lab.spec.plan import Plan
from lab.spec.scenario import Scenario
from lab.spec.system import Entry
from lab.storage.run_folder import RunFolder
from lab.system.backends import Endpoints


class ScenarioGroup(click.Group):
    """A command with one subcommand a scenario, so that ``--help`` shows that scenario's parameters.

    Args:
        make: makes a scenario's subcommand.
        only: of scenarios of these kinds; of all if empty.

    """

    def __init__(
        self, name: str, make: Callable[[Scenario], click.Command], help: str, only: Sequence[Entry] = ()
    ) -> None:  # click's
        super().__init__(name, help=help)
        for scenario in experiments.scenarios().values():
            if not only or scenario.entry in only:
                self.add_command(make(scenario))

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click, but the error for a missing scenario lists all."""
        if not args:
            raise LabError(
                f"{self.name!r} needs a scenario: {', '.join(self.commands)}.",
                f"Name one: python -m lab {self.name} {next(iter(self.commands))}",
            )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but the error for an unknown scenario names the most similar one."""
        if not args[0].startswith("-") and experiments.find_scenario(args[0]).name not in self.commands:
            said = f"{args[0]} compares programs, which {self.name!r} has nothing to do with."
            raise LabError(said, f"Name one of: {', '.join(self.commands)}.")
        return super().resolve_command(ctx, args)


@dataclass(frozen=True)
class ResultOptions:
    """Options of every command that measures which are not part of the plan: folder, dry run, exit status.

    Attributes:
        data: the folder of runs.
        allow_suspect: end with 0 also where a verdict is ``suspect``.
        dry_run: print what would be measured, without measuring.
        slo: objectives that every cell must meet.

    """

    data: Path
    allow_suspect: bool = False
    dry_run: bool = False
    slo: Sequence[Objective] = ()

    @staticmethod
    def pop_from(options: dict[str, Any]) -> ResultOptions:
        """Remove these options from all that were given, and return them."""
        return ResultOptions(*(options.pop(name) for name in ("data", "allow_suspect", "dry_run", "slo")))


def endpoints_of(options: dict[str, Any]) -> Endpoints:
    """Remove the URLs of the user's own servers and the token of workers from the options, and return them."""
    given = {"mysql": "mysql_url", "mongo": "mongo_url", "join": "join"}
    return Endpoints(**{name: options.pop(option, "") for name, option in given.items()})


def plan_of(name: str, variants: str | None, **given: Any) -> Plan:
    """The plan of a scenario with the given options; LabError where they are not possible."""
    scenario = experiments.find_scenario(name)
    parameters = {p.name: value for p in scenario.parameters if (value := given.pop(p.name)) is not None}
    return planning.make_plan(
        scenario, Options(variants=names(variants), parameters=parameters, **given), host.machine()
    )


def conduct_scenario(name: str, **options: Any) -> None:
    """Measure a scenario with these options, show the run, and exit by its verdict."""
    result_options, endpoints = ResultOptions.pop_from(options), endpoints_of(options)
    options["capacity"] = capacity.given(options.pop("capacity", None), name, result_options.data)
    runtime = options.pop("runtime", PROCESS)  # programs have no such option
    conduct(plan_of(name, **options), result_options, endpoints, runtime)


def conduct(plan: Plan, result_options: ResultOptions, endpoints: Endpoints, runtime: str = PROCESS) -> None:
    """Carry out a plan, show the run, and exit by its verdict."""
    invocation = Invocation(typed_command(), result_options.data, reporter(), runtime, endpoints)
    if result_options.dry_run:
        plan = conductor.check(plan, invocation)
    expected = estimate.estimate_run(plan, plan.cells, result_options.data, estimate.resolved(runtime))
    if result_options.dry_run:
        for number, group in enumerate(chain.from_iterable(in_random_order(plan)), 1):
            out.print(f"{number:4}  {', '.join(cell.id for cell in group)}{formatting.windows(group[0].load)}")
        if batches := in_turns.batched(plan):
            out.print(batches, soft_wrap=True)
        out.print(f"{expected}. Nothing was started; --seed {plan.seed} repeats this order.", soft_wrap=True)
        return
    err.print(f"  {expected}", soft_wrap=True)
    show_and_exit(conductor.conduct(plan, invocation), result_options)


def typed_command() -> list[str]:
    """The command line for ``run.json``, without secrets."""
    return ["python", "-m", "lab", *as_typed.without_secrets(sys.argv[1:])]


def show_and_exit(folder: RunFolder, result_options: ResultOptions) -> None:
    """Show a run that was just measured, and exit by objectives and verdict."""
    run = run_view.Run(folder)
    print_run(run, out)  # before the pictures, which take seconds
    pictures = ", ".join(path.name for path in run.draw())
    files = ", ".join(["samples", "metrics", *([] if run.limits().empty else ["limits"]), "logs", pictures])
    out.print(f"\nIn [bold]{escape(short(run.path))}[/]: {files}")
    name = shlex.quote(folder.called)
    more = f"report {name}" if run.scenario.entry == "attached" else f"sweep {run.scenario.name}"
    next_ = f"python -m lab show {name}   |   python -m lab {more}   |   {as_typed.program('jupyter')} lab notebooks"
    out.print(f"Next: {as_typed.as_typed(next_)}", markup=False, soft_wrap=True)
    exit_by_objectives(result_options.slo, {cell.id: row for cell, row in zip(run.plan.cells, run.cells, strict=True)})
    exit_by_verdict(run, result_options.allow_suspect)
