"""The facts about machine and code that a run stores."""

from __future__ import annotations

import pytest

from lab.runtimes import host


def test_the_commit_is_that_of_the_lab(monkeypatch, tmp_path):
    """Whatever repository the shell names, as in a hook of git's."""
    mine = host.environment()["commit"]
    monkeypatch.setenv("GIT_DIR", str(tmp_path))
    assert host.environment()["commit"] == mine


@pytest.mark.parametrize(
    ("text", "count"),
    [
        (
            "entries searched drop early_drop\n00000fc6 00000000 0000000a 00000003\n00000fc6 00000001 00000010 0000\n",
            26,
        ),
        ("entries searched\n00000fc6 00000000\n", None),
        ("", None),
        (None, None),
    ],
)
def test_what_the_kernel_dropped_as_it_could_not_track_more_is_the_sum_of_its_cores(monkeypatch, tmp_path, text, count):
    """In hexadecimal digits; None where it does not say."""
    file = tmp_path / "nf_conntrack"
    if text is not None:
        file.write_text(text)
    monkeypatch.setattr(host, "CONNTRACK_COUNTERS", file)
    assert host.untracked_packets() == count


def test_how_interrupts_are_counted_is_a_property_of_the_kernel():
    """So it is the same each time, whatever else runs here."""
    assert len({host.interrupts_in_programs.__wrapped__() for _ in range(5)}) == 1
