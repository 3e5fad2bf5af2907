"""What is said where the Docker engine refuses something."""

from __future__ import annotations

import pytest
from docker.errors import APIError

from lab.errors import LabError
from lab.runtimes.docker import engine_asked


def test_what_the_engine_refuses_says_where_to_look_and_what_does_without():
    """Its own words, then what to do."""
    with pytest.raises(LabError) as caught, engine_asked("start a container"):
        raise APIError("500 Server Error", explanation="no space left on device")
    assert caught.value.problem == "Docker could not start a container: no space left on device."
    assert caught.value.next_step == "See the engine's log (journalctl -u docker), or use --runtime process."
