"""How the lab refuses on the command line: one sentence, and one next step."""

from __future__ import annotations

import re
import subprocess

CLEAN = re.compile(r"error: \S[^\n]*[.?)!]\n {2}→ \S[^\n]*\n\Z")


def assert_refused(done: subprocess.CompletedProcess[str], *named: str) -> None:
    """A status of 2, and at the end of standard error a sentence with these words, a next step, and no traceback."""
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
    assert CLEAN.search(done.stderr), repr(done.stderr)
    assert done.stderr.count("error:") == 1
    for words in named:
        assert words in done.stderr
