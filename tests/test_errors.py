"""What an error says where it is all that a person sees."""

from __future__ import annotations

from lab.errors import LabError


def test_an_exception_says_what_to_do_and_shows_the_lines():
    """A Python session shows the text of an exception alone, so all is in it."""
    assert str(LabError("It failed.", "Mend it.", "line 1\nline 2")) == "It failed. Mend it.\nline 1\nline 2"
    assert str(LabError("It failed.")) == "It failed."
