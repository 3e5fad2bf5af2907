"""Shows progress: bars in a terminal or notebook, one line a finished phase where the output is a file."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

Update = Callable[[float, str], None]


class Reporter:
    """Shows phases of work, one after the other.

    Args:
        console: where to show them; standard error by default, so that results can be piped.
        quiet: show nothing.
        spelled: rewrites the lab's commands in a text for the user's shell.

    """

    def __init__(
        self, console: Console | None = None, quiet: bool = False, spelled: Callable[[str], str] = str
    ) -> None:
        self._spelled = spelled
        self.console = console or Console(stderr=True, quiet=quiet, highlight=False, emoji=False)

    @contextmanager
    def phase(self, title: str, total: float | None = None) -> Iterator[Update]:
        """Show one phase while the context lasts.

        Args:
            total: the amount of work; None if unknown.

        Yields:
            A function to call with the work done so far and a short note.

        """
        began = time.monotonic()
        last_note = ""
        bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=28),
            TimeElapsedColumn(),
            TextColumn("{task.fields[note]}", markup=False),
            console=self.console,
            transient=True,
            disable=not (self.console.is_terminal or self.console.is_jupyter),
        )

        def update(done: float, note: str) -> None:
            nonlocal last_note
            last_note = note
            bar.update(task, completed=done, note=note)

        with bar:
            task = bar.add_task(title, total=total, note="")
            yield update
        self.console.print(f"  {escape(title)} [dim]({time.monotonic() - began:.1f} s)[/] ", end="")
        self.console.print(last_note, markup=False, soft_wrap=True)

    def say(self, text: str, word: str = "", style: str = "") -> None:
        """Print plain text, without Rich markup, as logs contain many brackets.

        Args:
            word: the part of the text to print in the style, at its first occurrence; all of it if empty.
            style: a colour, as Rich calls it.

        """
        text = self._spelled(text)
        shown = Text(text)
        at = text.find(word)
        shown.stylize(style, at, at + len(word or text))
        self.console.print(shown, soft_wrap=True)
