"""``lab.run`` from Python: what it refuses, before anything is started or written."""

from __future__ import annotations

import pytest

import lab
from lab.errors import LabError


@pytest.mark.parametrize(
    ("scenario", "own", "said"),
    [
        ("delay", {"mysql_url": "mysql://me@127.0.0.1:1"}, "delay uses no MySQL. Leave mysql_url out."),
        ("jwt", {"mongo_url": "mongodb://127.0.0.1:1"}, "jwt uses no MongoDB. Leave mongo_url out."),
        ("jwt", {"mysql_url": "127.0.0.1"}, "mysql://"),
    ],
)
def test_own_servers_that_cannot_be_used_are_refused(tmp_path, scenario, own, said):
    """A server of a kind that the scenario does not use would be ignored, and a wrong address found late."""
    with pytest.raises(LabError) as refused:
        lab.run(scenario, **own, data=tmp_path / "runs", quiet=True)
    assert said in str(refused.value)
    assert not (tmp_path / "runs").exists()
