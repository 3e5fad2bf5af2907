"""``python -m lab``: its commands, and how errors are shown."""

from __future__ import annotations

import errno
import re
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
# What goes wrong with files only, so that it can be mended by whoever chose them.
OF_FILES = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ENOENT, errno.EACCES, errno.ENOTDIR)


class Commands(click.Group):
    """The lab's commands; an unknown one is answered with the nearest."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As in click, but an empty value is refused: nobody means the default by it."""
        for before, word in pairwise(["", *args]):
            if not word.strip() or re.fullmatch(r"--[\w-]+=", word):
                named = word.strip("=") if word.strip() else before if before.startswith("-") else "an argument"
                raise LabError(
                    f"The value of {named} is empty.", "Give it one, or leave it out; is a variable of the shell unset?"
                )
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As in click, but with an offer."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            offer = did_you_mean(args[0], self.commands)
            raise LabError(f"There is no command {args[0]!r}{offer}.", f"There is: {', '.join(self.commands)}.")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """As in click, which would end without a word where a pipe breaks, also one to a process that was killed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            sys.stdout.flush()  # raises it again if it was this one, as in 'lab list | head': then no word is due
            raise LabError(
                "A process that the lab talks to ended unexpectedly, and its pipe with it.",
                "'python -m lab list' shows what was kept; 'python -m lab resume' measures the rest.",
            ) from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(lab.__version__, prog_name="lab")
def cli() -> None:
    """Platform threads, virtual threads or WebFlux: measure your case, and see how far to trust the answer.

    \b
    python -m lab run delay --users 4000     measure three variants, about three minutes
    python -m lab sweep delay                the published table, row by row
    python -m lab reproduce delay            the same, and what its document claims, judged
    python -m lab load http://…/path         a service of your own, wherever it runs
    python -m lab resume                     what an interrupted sweep still lacks
    python -m lab show                       the newest run again
    python -m lab compare                    its variants side by side: ratios, intervals, a verdict
    python -m lab doctor                     what this machine lacks
    python -m lab calibrate                  what the generator can do here
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


def main() -> NoReturn:
    """Run a command; whatever a person can mend is said in one sentence with the next step, and a non-zero status."""
    for console in (out, err):
        if not console.is_terminal:
            console.width = FILE_WIDTH
    signal.signal(signal.SIGINT, _interrupt)  # Python leaves it ignored if a shell started this in the background
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    sys.exit(_guarded(lambda: cli.main(prog_name="python -m lab", standalone_mode=False)))


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _guarded(command: Callable[[], Any]) -> int:
    try:
        command()
    except LabError as error:
        if error.detail:
            err.print(escape(error.detail), style="dim", soft_wrap=True)
        _complain(error.problem, error.next_step)
        return BAD_INPUT
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return BAD_INPUT
    except click.UsageError as error:
        _complain(*_misuse(error))
        return BAD_INPUT
    except click.exceptions.Exit as error:
        return int(error.exit_code)
    except (KeyboardInterrupt, click.Abort):
        _complain(
            "Interrupted; what was started is stopped, what was measured is kept.", "'python -m lab list' shows it."
        )
        return INTERRUPTED
    except OSError as error:
        if error.errno not in OF_FILES and not error.filename:
            raise
        where = f": {error.filename}" if error.filename else ""
        _complain(f"{error.strerror}{where}.", "Choose another place (--data, or --output), or mend this one.")
        return BAD_INPUT
    return 0


def _misuse(error: click.UsageError) -> tuple[str, str]:
    """What is wrong with a command line, and the next step."""
    context = error.ctx or _context(sys.argv[1:])  # where it lacks a value, click does not say which command it read
    step = f"'{context.command_path} --help' shows what is possible."
    if isinstance(error, click.BadOptionUsage):
        name = error.option_name
        for option in context.command.params:
            if isinstance(option, click.Option) and name in option.opts and not option.is_flag:
                return f"{name} needs a value.", f"Write {name} {option.make_metavar(context)}; {step}"
    sentence = " ".join(error.format_message().split())  # click lists choices on lines of their own
    return sentence if sentence[-1] in ".?!)" else f"{sentence}.", step


def _context(words: Sequence[str]) -> click.Context:
    """The command that the words of a command line begin with."""
    context = click.Context(cli, info_name="python -m lab")
    for word in words:
        if not isinstance(context.command, click.Group) or word not in context.command.commands:
            break
        context = click.Context(context.command.commands[word], parent=context, info_name=word)
    return context


def _complain(problem: str, next_step: str) -> None:
    err.print(f"[red]error:[/] {escape(as_typed.as_typed(problem))}", soft_wrap=True)
    if next_step:
        err.print(f"  → {escape(as_typed.as_typed(next_step))}", soft_wrap=True)
