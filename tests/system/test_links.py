"""The links of a run are unshaped for warm-ups, and shaped again whatever becomes of these."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lab.errors import ComponentError
from lab.system import shaped_link
from lab.system.backends import Backends


def test_links_are_shaped_again_after_a_warm_up_that_failed(monkeypatch):
    """Where variants take turns the others are measured behind the same links."""
    switched = []
    monkeypatch.setattr(shaped_link, "switch", lambda link, on: switched.append((link, on)))
    link = SimpleNamespace()
    backing = Backends(links={"link to mysql": link})
    with backing.links_unshaped():
        assert switched == [(link, False)]
    assert switched == [(link, False), (link, True)]
    with pytest.raises(ComponentError), backing.links_unshaped():
        raise ComponentError("The service mvc was killed by SIGKILL.")
    assert switched[2:] == [(link, False), (link, True)]
