"""The exceptions of the lab: each says what is wrong and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LabError(Exception):
    """An error that the user can fix: one sentence for the problem, and one for the next step.

    Args:
        problem: what is wrong, as a full sentence.
        next_step: what to type or change; empty if the problem says it already.
        detail: lines from a log that show the cause, oldest first.

    """

    def __init__(self, problem: str, next_step: str = "", detail: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.next_step = next_step
        self.detail = detail

    def __str__(self) -> str:
        """Problem, next step and detail, as a Python session, a notebook or a log shows them."""
        sentences = " ".join(filter(None, (self.problem, self.next_step)))
        return "\n".join(filter(None, (sentences, self.detail)))

    def _render_traceback_(self) -> list[str]:
        """What IPython shows instead of a traceback: the message alone, without the lab's stack frames."""
        return [f"{type(self).__name__}: {self}"]


class ComponentError(LabError):
    """A process that a cell needs failed during its measurement: the cell is invalid, and the run goes on."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The suffix `` (did you mean …?)`` for an unknown name that is similar to a known one; empty if none is."""
    close = difflib.get_close_matches(str(name), list(known), 1, 0.4)
    return f" (did you mean {close[0]}?)" if close else ""
