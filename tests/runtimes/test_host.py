"""The facts about machine and code that a run stores."""

from __future__ import annotations

import gzip
import platform

import psutil
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


@pytest.mark.parametrize("name", ["config-{release}", "config.gz"])
@pytest.mark.parametrize(
    ("options", "in_programs"),
    [
        ("CONFIG_SMP=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n", True),
        ("CONFIG_IRQ_TIME_ACCOUNTING=y\nCONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n", False),
        ("CONFIG_HAVE_IRQ_TIME_ACCOUNTING=y\n", True),
        ("CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y\n", False),
        (None, False),
    ],
)
def test_how_a_kernel_counts_interrupts_is_in_its_configuration(monkeypatch, tmp_path, name, options, in_programs):
    """As CPU time of programs unless it was built to time them; where nobody can tell, they are left out."""
    file = tmp_path / name.format(release=platform.release())
    if options is not None:
        file.write_bytes(gzip.compress(options.encode()) if file.suffix == ".gz" else options.encode())
    monkeypatch.setattr(host, "CONFIGURATIONS", (str(tmp_path / "none"), str(tmp_path / name)))
    assert host.interrupts_in_programs() == in_programs


def test_cores_that_are_online_are_those_that_may_be_used():
    """By their numbers, of which a list has as many as psutil lists cores."""
    online = host.online_cores()
    assert len(online) == psutil.cpu_count()
    assert set(host.cores()) <= set(online)
