"""``python -m lab``: its commands, and how errors are shown."""

from __future__ import annotations

import errno
import re
import select
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import click
from rich.markup import escape

import lab
from lab.cli import as_typed
from lab.cli.commands import calibrate, compare, load, maintenance, results, resume, run, up, worker
from lab.cli.commands.reproduce import reproduce
from lab.cli.console import BAD_INPUT, INTERRUPTED, err, out
from lab.errors import LabError, did_you_mean

# Wide enough for the result table where the output is a file, which has no width of its own.
FILE_WIDTH = 180
# Errors of files, which the user can fix or avoid.
FILE_ERRORS = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EIO,
    errno.ENOENT,
    errno.EACCES,
    errno.ENOTDIR,
)


class Commands(click.Group):
    """The lab's group of commands; for an unknown one the error names the most similar."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click, but an empty value is an error, as it is not meant to be the default."""
        for before, word in pairwise(["", *args]):
            if not word.strip() or re.fullmatch(r"--[\w-]+=", word):
                named = word.strip("=") if word.strip() else before if before.startswith("-") else "an argument"
                raise LabError(
                    f"The value of {named} is empty.", "Give it one, or leave it out; is a shell variable unset?"
                )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but the error for an unknown command names the most similar one."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            offer = did_you_mean(args[0], self.commands)
            raise LabError(f"There is no command {args[0]!r}{offer}.", f"There is: {', '.join(self.commands)}.")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As in click, but a broken pipe to a process is an error; click would end silently."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            if _has_no_reader(1):  # as in 'lab list | head': no error
                raise
            raise LabError(
                "A process that the lab talks to ended unexpectedly, and its pipe with it.",
                "'python -m lab list' shows what was stored; 'python -m lab resume' measures the rest.",
            ) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(lab.__version__, prog_name="lab")
def cli() -> None:
    """Platform threads, virtual threads or WebFlux: measure your case, and see how far to trust the answer.

    \b
    python -m lab run delay --users 4000     measure three variants, about three minutes
    python -m lab sweep delay                several loads: those of the published table
    python -m lab reproduce delay            the published experiment, with its claims judged
    python -m lab load http://…/path         a service of your own, wherever it runs
    python -m lab resume                     measure what is missing of an interrupted run
    python -m lab show                       show the newest run
    python -m lab compare                    compare its variants: ratios, intervals, a verdict
    python -m lab doctor                     check the prerequisites on this machine
    python -m lab calibrate                  measure the generator's ceiling here

    Exit status: 0 if all that was measured is valid and meets its objectives (--slo), 1 if not, if compare can compare
    nothing, or if doctor finds something missing, 2 for bad input or a program that failed, 130 after Ctrl-C.
    """  # noqa: D301 (click looks for the backspace itself)


for command in (
    run.run,
    run.sweep,
    load.load,
    resume.resume,
    reproduce,
    results.show,
    results.list_,
    compare.compare,
    results.report,
    results.export,
    up.up,
    up.down,
    worker.worker,
    maintenance.seed,
    maintenance.images,
    maintenance.doctor,
    calibrate.calibrate,
    maintenance.clean,
):
    cli.add_command(command)


def _has_no_reader(descriptor: int) -> bool:
    """Whether a descriptor is a pipe, or a socket, whose other end is closed."""
    asked = select.poll()
    asked.register(descriptor, 0)  # errors are reported unasked
    return any(events & (select.POLLERR | select.POLLHUP) for _, events in asked.poll(0))


def main() -> NoReturn:
    """Run a command; an error that the user can fix is one sentence, the next step, and a non-zero status."""
    for console in (out, err):
        if not console.is_terminal:
            console.width = FILE_WIDTH
    signal.signal(signal.SIGINT, _interrupt)  # Python leaves it ignored if a shell started this in the background
    signal.signal(signal.SIGTERM, _interrupt)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # as nohup has it
        signal.signal(signal.SIGHUP, _interrupt)
    sys.exit(_exit_status(lambda: cli.main(prog_name="python -m lab", standalone_mode=False)))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _exit_status(command: Callable[[], Any]) -> int:
    try:
        command()
    except LabError as error:
        if error.detail:
            err.print(escape(error.detail), style="dim", soft_wrap=True)
        _print_error(error.problem, error.next_step)
        return BAD_INPUT
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return BAD_INPUT
    except click.UsageError as error:
        _print_error(*_usage_error(error))
        return BAD_INPUT
    except click.exceptions.Exit as error:
        return int(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _print_error(
            "Interrupted; whatever was started has been stopped.",
            "What was measured is kept: 'python -m lab list' shows it, 'python -m lab resume' goes on with a run.",
        )
        return INTERRUPTED
    except OSError as error:
        if error.errno not in FILE_ERRORS and not error.filename:
            raise
        where = f": {error.filename}" if error.filename else ""
        _print_error(f"{error.strerror}{where}.", "Choose another place (--data, or --output), or fix this one.")
        return BAD_INPUT
    return 0


def _usage_error(error: click.UsageError) -> tuple[str, str]:
    """The problem of a wrong command line, and the next step."""
    context = error.ctx or _context(sys.argv[1:])  # where a value is missing, click does not name the command
    step = f"'{context.command_path} --help' shows what is possible."
    if isinstance(error, click.BadOptionUsage):
        name = error.option_name
        for option in context.command.params:
            if isinstance(option, click.Option) and name in option.opts and not option.is_flag:
                return f"{name} needs a value.", f"Write {name} {option.make_metavar(context)}; {step}"
    sentence = " ".join(error.format_message().split())  # click lists choices on lines of their own
    return sentence if sentence[-1] in ".?!)" else f"{sentence}.", step


def _context(words: Sequence[str]) -> click.Context:
    """The click context of the command that a command line begins with."""
    context = click.Context(cli, info_name="python -m lab")
    for word in words:
        if not isinstance(context.command, click.Group) or word not in context.command.commands:
            break
        context = click.Context(context.command.commands[word], parent=context, info_name=word)
    return context


def _print_error(problem: str, next_step: str) -> None:
    err.print(f"[red]error:[/] {escape(as_typed.as_typed(problem))}", soft_wrap=True)
    if next_step:
        err.print(f"  → {escape(as_typed.as_typed(next_step))}", soft_wrap=True)
