"""The facts about machine and code that a run stores."""

from __future__ import annotations

from lab.runtimes import host


def test_the_commit_is_that_of_the_lab(monkeypatch, tmp_path):
    """Whatever repository the shell names, as in a hook of git's."""
    mine = host.environment()["commit"]
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert host.environment()["commit"] == mine
