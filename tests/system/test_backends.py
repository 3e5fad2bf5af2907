"""What is said of a component that has ended."""

from __future__ import annotations

import pytest

from lab.errors import ComponentError
from lab.runtimes import Launch
from lab.runtimes.process import ProcessRuntime
from lab.system.backends import Backends


def test_a_link_that_has_ended_is_named_with_its_last_words_and_where_the_others_are(tmp_path):
    """As of anything that a load needs: how it ended says little about why."""
    log = tmp_path / "link.log"
    with ProcessRuntime() as runtime:
        launch = Launch("link", ("sh", "-c", "echo no space left >&2; exit 3"), log)
        with runtime.started(launch) as running:
            running.await_end()
            backing = Backends(links={"link to mysql": running})
            assert backing.exit_reasons() == ["The link to mysql of this run exited with status 3."]
            with pytest.raises(ComponentError) as caught:
                backing.check_alive()
    assert caught.value.problem == "The link to mysql of this run exited with status 3."
    assert caught.value.next_step == f"The whole log is in {log}."
    assert caught.value.detail == "no space left"
