"""The exceptions of the lab: each says what is wrong and what to do next."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LabError(Exception):
    """One sentence that says what is wrong, and one that says what to do next.

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
        """All of it, for those who see no more of an exception than this: a Python session, a notebook, a log."""
        sentences = " ".join(filter(None, (self.problem, self.next_step)))
        return "\n".join(filter(None, (sentences, self.detail)))

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: IPython asks for it, and the frames of the lab would help nobody."""
        return [f"{type(self).__name__}: {self}"]


class ComponentError(LabError):
    """Something that a cell needs died while it was needed: that cell is invalid, the others go on."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`` (did you mean …?)`` if something known is similar, else nothing: the end of a sentence about a wrong name."""
    close = difflib.get_close_matches(str(name), list(known), 1, 0.4)
    return f" (did you mean {close[0]}?)" if close else ""
