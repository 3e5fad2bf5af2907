"""The command-line options of loads, limits, runtimes and a scenario's parameters."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import click

from lab.analysis import slo
from lab.runtimes import RUNTIMES
from lab.spec.scenario import Scenario
from lab.spec.workload import EVEN, POISSON, Load
from lab.storage import run_folder

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=run_folder.RUNS,
    help="Folder of runs.  [default: data/runs]",
)


class ObjectiveText(click.ParamType[slo.Objective]):
    """A service level objective, such as ``p99<200ms``."""

    name = "OBJECTIVE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> slo.Objective:
        """Read it; LabError says what is wrong."""
        return slo.parse(str(value))


SLO_HELP = "Exit with 1 unless every cell meets it: 'p99<200ms', 'errors<0.1%', 'throughput>1000'; any number of them."
slo_option = click.option("--slo", type=ObjectiveText(), multiple=True, help=SLO_HELP)


class Users(click.ParamType[list[int]]):
    """One number of users, or several with commas."""

    name = "N[,N…]"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        """Turn ``1,10,100`` into a list."""
        try:
            return [int(part) for part in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a whole number (or several with commas).", param, ctx)


class Seconds(click.ParamType[float]):
    """A time: seconds, or as Locust's users write it, ``20s``, ``1m30s``, ``2h``."""

    name = "S"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn ``1m30s`` into 90."""
        text = str(value)
        if parts := re.fullmatch(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?", text):
            hours, minutes, seconds = (float(part or 0) for part in parts.groups())
            if text:
                return hours * 3600 + minutes * 60 + seconds
        try:
            return float(text)
        except ValueError:
            self.fail(f"{value!r} is not a time such as 20, 20s or 1m30s.", param, ctx)


def load_options(command: click.Command, scenario: Scenario) -> click.Command:
    """Give a command the options of every load, and those of its scenario's parameters and limits."""
    variants = ",".join(variant.name for variant in scenario.variants)
    command.params += [
        _option("--variants", str, "A,B", f"Which to measure.  [default: {variants}]"),
        *shape_options(scenario.load),
    ]
    return data_option(limit_options(command, scenario))


def shape_options(load: Load) -> list[click.Option]:
    """The options that say who sends when, how often it is measured, and what is asked of the result.

    Args:
        load: where the defaults come from.

    """
    lasting = f"  [default: {load.duration_s:g}]" if load.duration_s else ""
    return [
        _option("--ramp-up", Seconds(), "S", f"Spread the first requests over S seconds.  [default: {load.ramp_s:g}]"),
        _option("--loops", int, "N", f"Requests of each user, one after the other.  [default: {load.loops}]"),
        _option(
            "--duration",
            Seconds(),
            "S",
            f"Closed loop: repeat for S seconds, instead of --loops. Or of an open loop.{lasting}",
        ),
        _option("--requests", int, "N", "Closed loop: N requests in all, instead of --loops."),
        _option("--rate", float, "N", "Open loop: N requests a second for --duration, whatever the answers do."),
        click.Option(
            ["--arrivals"],
            type=click.Choice([EVEN, POISSON]),
            help="How starts, or the requests of an open loop, are spread.  [default: even]",
        ),
        _option(
            "--timeout",
            Seconds(),
            "S",
            f"A request that takes longer has failed.  [default: {load.timeout_s:g} or more]",
        ),
        _option("--workers", int, "N", "Locust workers on this machine.  [default: 1]"),
        _option("--remote-workers", int, "N", "Wait for N workers on other machines, started by 'lab worker'.", 0),
        _option("--bind", str, "HOST[:PORT]", "This machine's address for those.  [default: 127.0.0.1:5557]"),
        _option("--repeat", int, "N", "Measure every cell N times, interleaved.", 1),
        _option("--seed", int, "N", "Repeat an earlier run's choices of chance.  [default: drawn, and recorded]"),
        click.Option(["--slo"], type=ObjectiveText(), multiple=True, help=SLO_HELP),
        click.Option(["--allow-suspect"], is_flag=True, help="Exit with 0 also where a verdict is 'suspect'."),
        click.Option(["--dry-run"], is_flag=True, help="Say what would be measured and how long it takes, no more."),
    ]


def pin_option() -> click.Option:
    """Whether the generator has cores of its own."""
    text = "Give service and generator cores of their own.  [default: pin]"
    return click.Option(["--pin/--no-pin"], default=True, help=text)


header_option = click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="'NAME: VALUE'",
    help="Send it with every request; any number of them. Values are neither kept nor shown.",
)


def limit_options(command: click.Command, scenario: Scenario) -> click.Command:
    """Give a command the options that say what is started, and within which limits."""
    command.params += [
        *(
            _option(
                f"--{p.name.replace('_', '-')}", int, p.unit.upper(), f"{p.help.capitalize()}.  [default: {p.default}]"
            )
            for p in scenario.parameters
        ),
        click.Option(
            ["--limits"],
            type=click.Choice(["equal", "default", "tuned"]),
            default="equal",
            show_default=True,
            help="The same limits for all, those that each stack has by itself, or those that suit each.",
        ),
        _option("--threads", int, "T", "At most T threads serve requests.  [default: 200]"),
        _option("--accept-count", int, "N", "Listen backlog of all variants.  [default: 4096]"),
        _option("--heap-mb", int, "MB", "Heap of the JVM.  [default: 2048]"),
        *_database_options(scenario),
        click.Option(
            ["--runtime"],
            type=click.Choice(RUNTIMES),
            default="process",
            show_default=True,
            help="Where services, databases and workers run.",
        ),
        pin_option(),
    ]
    return command


def _option(
    name: str, kind: type | click.ParamType[Any], metavar: str, text: str, default: object = None
) -> click.Option:
    return click.Option([name], type=kind, metavar=metavar, help=text, default=default)


def _database_options(scenario: Scenario) -> list[click.Option]:
    if not scenario.databases:
        return []
    own = "A server of your own, in its database 'lab' only."
    return [
        _option("--pool", int, "N", "Connections to the database.  [default: 100]"),
        _option("--link-latency-ms", int, "MS", "Have the database's answers take longer.", 0),
        _option("--link-rate", int, "B/S", "Bytes a second between service and database.", 0),
        _option("--link-connection-rate", int, "B/S", "The same, of each connection.", 0),
        *(_option(f"--{kind}-url", str, "URL", own, "") for kind in scenario.databases),
    ]
