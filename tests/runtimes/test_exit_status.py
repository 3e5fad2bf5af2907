"""How a process or a container ended, as a value and in words."""

from __future__ import annotations

import pytest

from lab.runtimes import docker
from lab.runtimes.exit_status import ExitStatus


@pytest.mark.parametrize(
    ("ended", "said", "ok"),
    [
        (ExitStatus(0), "exited with status 0", True),
        (ExitStatus(3), "exited with status 3", False),
        (ExitStatus(-9), "was killed by SIGKILL", False),
        (ExitStatus(0, "ran out of memory"), "ran out of memory", False),
        (ExitStatus(None, "was lost with the Docker engine"), "was lost with the Docker engine", False),
        (ExitStatus(None), "ended", False),
    ],
)
def test_an_end_is_the_end_of_a_sentence_and_good_only_where_the_process_says_so(ended, said, ok):
    """What nobody knows, and what something else says of its end, is no success."""
    assert (str(ended), ended.ok) == (said, ok)


@pytest.mark.parametrize(
    ("code", "out_of_memory", "limit_mb", "ended"),
    [
        (0, False, 0, ExitStatus(0)),
        (3, False, 64, ExitStatus(3)),
        (137, False, 0, ExitStatus(-9)),
        (143, False, 0, ExitStatus(-15)),
        (255, False, 0, ExitStatus(255)),  # of no signal
        (137, True, 64, ExitStatus(-9, "ran out of memory (its limit is 64 MB)")),
        (0, True, 0, ExitStatus(0, "ran out of memory")),
    ],
)
def test_a_container_that_was_killed_has_128_more_than_the_signal(code, out_of_memory, limit_mb, ended):
    """The engine tells what ran out of memory by itself."""
    assert docker._ending({"ExitCode": code, "OOMKilled": out_of_memory}, limit_mb) == ended
