"""The command-line options of loads, limits, runtimes and a scenario's parameters."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import click

from lab.analysis import slo
from lab.cli.console import err
from lab.errors import LabError
from lab.runtimes import PROCESS, RUNTIMES
from lab.spec.load_options import OPEN_LOOP_S
from lab.spec.options import OF_SERVICES, needed, option
from lab.spec.own_load import METHODS
from lab.spec.plan import CELLS, CPU_BOUND_S, WINDOWS
from lab.spec.scenario import Parameter, Scenario
from lab.spec.workload import EVEN, POISSON, Burst, Closed
from lab.storage import run_folder

data_option = click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    default=run_folder.RUNS,
    callback=lambda _context, _option, folder: run_folder.expanded(folder),
    help="Folder of runs.  [default: data/runs]",
)


class ObjectiveText(click.ParamType[slo.Objective]):
    """A service level objective, such as ``p99<200ms``."""

    name = "OBJECTIVE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> slo.Objective:
        """Parse an objective; LabError if it is none."""
        return slo.parse(str(value))


FOR_A_SWEEP = "; several for a sweep"
OPEN_LOOP_TEXT = f"{OPEN_LOOP_S:g} of an open loop"
INTERLEAVE_HELP = (
    "cells: measure one variant after the other. windows: keep all variants up and warm, and load each for a second in "
    "turn until it has had its --duration; --repeat N then starts the services N times. For small differences, and "
    "where the CPU decides: what disturbs the machine disturbs all variants alike."
)
SLO_HELP = (
    "Exit with 1 unless every measurement meets it: 'p99<200ms', 'errors<0.1%', 'throughput>1000'. There is "
    f"{', '.join(slo.UNITS)}. Repeat it for several."
)
slo_option = click.option("--slo", type=ObjectiveText(), multiple=True, help=SLO_HELP)


class Several(click.ParamType[list[Any]]):
    """One value, or several with commas.

    Args:
        kind: ``int``, ``float``, or ``str`` for names.

    """

    name = "N[,N…]"

    def __init__(self, kind: type[int] | type[float] | type[str] = int) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """Turn ``1,10,100`` into a list."""
        try:
            return [self._kind(part) for part in str(value).split(",")]
        except ValueError:
            what = "a whole number" if self._kind is int else "a number"
            self.fail(f"{value!r} is not {what} (or several with commas).", param, ctx)


class Rates(Several):
    """Rates in requests a second, or all as percentages of each variant's capacity: ``100``, ``10%,50%,80%``."""

    def __init__(self) -> None:
        super().__init__(float)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[Any]:
        """Turn ``10%,50%`` into a list of texts, and what is no percentage into numbers."""
        parts = str(value).split(",")
        return [part if "%" in part else super(Rates, self).convert(part, param, ctx)[0] for part in parts]


class PercentText(click.ParamType[float]):
    """A percentage above zero, with or without its sign: ``5``, ``5 %``."""

    name = "PERCENT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Turn ``5 %`` into 0.05."""
        try:
            share = float(str(value).strip().removesuffix("%")) / 100
        except ValueError:
            share = 0.0
        if not 0 < share <= 1:
            self.fail(f"{value!r} is not a percentage above 0 and up to 100.", param, ctx)
        return share


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


def load_options(command: click.Command, scenario: Scenario, sweeps: bool) -> click.Command:
    """Add the options of load, limits and parameters of a scenario to a command.

    Args:
        sweeps: whether the help says that an option may have several values.

    """
    names = [variant.name for variant in scenario.variants]
    variants = ",".join(scenario.default_variants or names)
    others = ",".join(name for name in names if name not in (scenario.default_variants or names))
    text = "Variants to measure." + f"  Others: {others}." * bool(others) + f"  [default: {variants}]"
    command.params.append(_option("--variants", str, "A,B", text))
    shape = shape_options(scenario, sweeps)
    if scenario.entry == "program":
        command.params += [option for option in shape if option.name not in OF_SERVICES]
        pin = [] if scenario.all_cores else [pin_option()]
        command.params += [*_parameter_options(scenario, sweeps), *pin]
        return data_option(command)
    command.params += [*shape, join_option(), prometheus_option()]
    limit_options(command, scenario, sweeps)
    command.params.append(pin_option())
    return data_option(command)


def shape_options(scenario: Scenario, sweeps: bool) -> list[click.Option]:
    """The options of a load's shape, of repeats, and of the exit status.

    Args:
        scenario: where the defaults come from.
        sweeps: as in :func:`load_options`.

    """
    load, unit = scenario.load, scenario.unit
    of_each_user = "" if unit == "execution" else " of each user"
    looping = (
        f"  [default{' with a link' * scenario.cpu_without_link}: {load.loops}]" if isinstance(load, Burst) else ""
    )
    return [
        _option("--ramp-up", Seconds(), "S", f"Spread the first {unit}s over S seconds.  [default: {load.ramp_s:g}]"),
        _option("--loops", int, "N", f"{unit.capitalize()}s{of_each_user}, one after the other.{looping}"),
        _option(
            "--duration",
            Seconds(),
            "S",
            _lasting(scenario),
        ),
        _option("--requests", int, "N", f"Closed loop: N {unit}s in total, instead of --loops."),
        _option(
            "--rate",
            Rates(),
            "N[,N…]" if sweeps else "N",
            f"Open loop: N {unit}s a second for --duration, independent of the answers{FOR_A_SWEEP * sweeps}. N% is a "
            "percentage of each variant's own --capacity.",
        ),
        _option(
            "--capacity",
            str,
            "RUN|A=N,B=N",
            f"What each variant can do, for --rate N%: the closed loops of a run, or {unit}s a second.",
        ),
        _option(
            "--ramp",
            str,
            "FROM:TO:SECONDS",
            f"Open loop whose rate grows from FROM to TO {unit}s a second within SECONDS.",
        ),
        click.Option(
            ["--arrivals"],
            type=click.Choice([EVEN, POISSON]),
            help=f"Spacing of the users' first {unit}s within --ramp-up, or of an open loop's {unit}s.  "
            "[default: even]",
        ),
        _option(
            "--timeout",
            Seconds(),
            "S",
            _failing(scenario),
        ),
        pace_option(),
        _option("--workers", int, "N", "Locust workers on this machine.  [default: 1]"),
        _option(
            "--remote-workers",
            int,
            "N",
            "Wait for N workers on other machines, started by 'lab worker'.  [default: 0]",
            0,
        ),
        _option(
            "--bind", str, "HOST[:PORT]", "Address of this machine for remote workers to join.  [default port: 5557]"
        ),
        _option(
            "--repeat", int, "N", "Measure every cell (one variant at one load) N times, interleaved.  [default: 1]", 1
        ),
        click.Option(
            ["--interleave"],
            type=click.Choice([CELLS, WINDOWS]),
            help=f"{INTERLEAVE_HELP}  [default: windows where the CPU decides and variants can take turns, else cells]",
        ),
        _option("--seed", int, "N", "Seed of arrivals and order, to repeat a run.  [default: drawn, and recorded]"),
        click.Option(["--slo"], type=ObjectiveText(), multiple=True, help=SLO_HELP),
        click.Option(["--allow-suspect"], is_flag=True, help="Exit with 0 also if the verdict is 'suspect'."),
        click.Option(
            ["--dry-run"],
            is_flag=True,
            help="Check the prerequisites, print the cells and the time they would take, and exit.",
        ),
    ]


def _lasting(scenario: Scenario) -> str:
    """The help of --duration, whose default depends on the kind of load."""
    load = scenario.load
    if scenario.unit == "execution":
        of, lasting = "Length in seconds, instead of --loops.", ""
    else:
        of, lasting = "Length in seconds of a closed loop, instead of --loops, or of an open loop.", OPEN_LOOP_TEXT
    if isinstance(load, Closed):
        lasting = f"{load.duration_s:g}"
    elif scenario.cpu_without_link:
        lasting = f"{CPU_BOUND_S:g} without a link; else {OPEN_LOOP_TEXT}"
    return f"{of}  [default: {lasting}]"


def _failing(scenario: Scenario) -> str:
    """The help of --timeout. Theory, which may make it longer, knows nothing of programs and services of one's own."""
    what = "an execution" if scenario.unit == "execution" else "a request"
    longer = ", or twice the time in which theory has all requests answered, if that is longer" * (
        scenario.unit != "execution" and bool(scenario.variants)
    )
    return f"Seconds after which {what} counts as failed.  [default: {scenario.load.timeout_s:g}{longer}]"


def pace_option() -> click.Option:
    """The option for how long users pause."""
    text = "Factor of think times (users' pauses) and of --ramp-up: 2 is half as fast.  [default: 1]"
    return _option("--pace", float, "X", text)


def pin_option() -> click.Option:
    """The option to pin service and generator to separate cores."""
    text = "Pin service and generator to separate cores.  [default: pin]"
    return click.Option(["--pin/--no-pin"], default=True, help=text)


class SecretText(click.ParamType[str]):
    """A text that may hold a secret: as it is, ``@`` and the name of a file, or ``env:`` and that of a variable."""

    name = "TEXT"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the file or the variable, if it is one; LabError if that is not possible."""
        text, option_name = str(value), param.opts[0] if param else ""
        if text.startswith("@"):
            try:
                return Path(text[1:]).read_text(encoding="utf-8").strip()
            except (OSError, UnicodeDecodeError) as error:
                why = getattr(error, "strerror", None) or "it is no text in UTF-8"
                raise LabError(f"{option_name} {text} cannot be read: {why}.", "Name a file that holds it.") from None
        if named := re.fullmatch(r"env:(\w+)", text):
            if not (found := os.environ.get(named[1], "").strip()):
                raise LabError(f"{option_name} {text}: there is no such environment variable.", f"Set {named[1]}.")
            return found
        if text:
            shown = "ps shows this value, as part of the command line, to every user of this machine"
            err.print(f"  {option_name}: {shown}: give it as @FILE or env:NAME", soft_wrap=True)
        return text


ELSEWHERE = "@FILE and env:NAME read it from a file or a variable, which ps does not show."
header_option = click.option(
    "--header",
    "headers",
    multiple=True,
    type=SecretText(),
    metavar="'NAME: VALUE'",
    help=f"Header of every request; repeat for several. Values are neither stored nor shown. {ELSEWHERE}",
)


def join_option() -> click.Option:
    """The option for the secret of workers on other machines."""
    text = f"Token of workers on other machines.  [default: drawn, and printed] {ELSEWHERE}"
    return click.Option(["--join"], type=SecretText(), metavar="TOKEN|@FILE|env:NAME", help=text, default="")


def prometheus_option() -> click.Option:
    """The option to have Prometheus scrape the services and their balancer."""
    text = (
        "Have Prometheus scrape services (each node, and those that they call) and balancer, and count what it missed."
    )
    return click.Option(["--prometheus"], is_flag=True, help=text)


def server_option(kind: str, text: str) -> click.Option:
    """The option that names a server of the user's own of a kind of database."""
    return click.Option(
        [f"--{kind}-url"], type=SecretText(), metavar="URL|@FILE|env:NAME", help=f"{text} {ELSEWHERE}", default=""
    )


class BodyText(click.ParamType[str]):
    """The body of a request: as it is, or ``@`` and the name of a file that holds it."""

    name = "TEXT|@FILE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the file, if it is one; LabError if that is not possible."""
        text = str(value)
        if not text.startswith("@"):
            return text
        try:
            return Path(text[1:]).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise LabError(f"--body {text} is not a text in UTF-8.", "Send it with a locustfile.") from None
        except OSError as error:
            raise LabError(f"--body {text} cannot be read: {error.strerror}.", "Name a file that is there.") from None


LOCUSTFILE_HELP = (
    "Play this locustfile, whose users derive from LabUser, instead; --loops, --requests, --rate and --ramp count its "
    "sessions."
)


def own_request_options() -> list[click.Option]:
    """The options of what is sent to a service of one's own."""
    return [
        _option("--method", str, "METHOD", f"Method of the request: {', '.join(METHODS)}.  [default: GET]"),
        _option("--body", BodyText(), "TEXT|@FILE", "Body of the request. It is recorded, as --check is."),
        _option("--check", str, "TEXT", "A right answer contains TEXT.  [default: a status of 200 to 299 is enough]"),
        _option("--locustfile", str, "FILE", LOCUSTFILE_HELP),
    ]


def limit_options(command: click.Command, scenario: Scenario, sweeps: bool) -> click.Command:
    """Add the options of parameters, limits and runtime of a scenario to a command.

    Args:
        sweeps: as in :func:`load_options`.

    """
    limits = scenario.limits
    command.params += [
        *_parameter_options(scenario, sweeps),
        click.Option(
            ["--limits"],
            type=click.Choice(["equal", "default", "tuned"]),
            default="equal",
            show_default=True,
            help="Same limits for all variants, each stack's defaults, or limits tuned for each.",
        ),
        _option("--threads", int, "T", f"Threads that serve requests, at most.  [default: {limits.threads}]"),
        _option("--accept-count", int, "N", f"Listen backlog of all variants.  [default: {limits.accept_count}]"),
        _option("--heap-mb", int, "MB", f"Heap of the JVM in MiB.  [default: {limits.heap_mb}]"),
        *_component_options(scenario),
        _option("--nodes", int, "N", "Nodes of the service, behind HAProxy if more than one.  [default: 1]", 1),
        click.Option(
            ["--runtime"],
            type=click.Choice(RUNTIMES),
            default=PROCESS,
            show_default=True,
            help="Where services, databases and workers run: as processes, in containers, or 'auto': in containers "
            "where an engine answers and images can be had.",
        ),
    ]
    return command


def _option(
    name: str, kind: type | click.ParamType[Any], metavar: str, text: str, default: object = None
) -> click.Option:
    return click.Option([name], type=kind, metavar=metavar, help=text, default=default)


def _parameter_options(scenario: Scenario, sweeps: bool) -> list[click.Option]:
    return [
        _option(
            option(p.name),
            Several(str if p.choices or p.span else int),
            "FROM:FOR" if p.span else f"{'NAME' if p.choices else p.unit.upper() or 'N'}{'[,…]' * sweeps}",
            f"{p.help[:1].upper()}{p.help[1:]}{_choices(p)}{_several(p, sweeps)}{_needed(p)}.  [default: {p.default}]",
        )
        for p in scenario.parameters
    ]


def _choices(parameter: Parameter) -> str:
    return f": {', '.join(parameter.choices)}" if parameter.choices else ""


def _several(parameter: Parameter, sweeps: bool) -> str:
    return ", in seconds" if parameter.span else FOR_A_SWEEP * sweeps


def _needed(parameter: Parameter) -> str:
    return f"; only with {needed(parameter)}" if parameter.needs else ""


def _component_options(scenario: Scenario) -> list[click.Option]:
    if not scenario.components:
        return []
    own = "Your own server; only its database 'lab' is used.  [default: one that the lab starts]"
    called, link = " and ".join(component.name for component in scenario.components), scenario.link
    return [
        _option("--pool", int, "N", f"Size of the pool of connections to {called}.  [default: {scenario.limits.pool}]"),
        _option(
            "--link-latency-ms",
            int,
            "MS",
            f"Round-trip time added between service and {called}.  [default: {link.latency_ms}]",
        ),
        _option(
            "--link-rate",
            int,
            "B/S",
            f"Bandwidth between service and {called}, in bytes a second.  [default: {link.rate or 'any'}]",
        ),
        _option(
            "--link-connection-rate",
            int,
            "B/S",
            f"Bandwidth of each connection to {called}, in bytes a second.  [default: {link.connection_rate or 'any'}]",
        ),
        *(server_option(kind, own) for kind in scenario.databases),
    ]
