"""What ``lab doctor`` calls bad is what a run refuses, and its remedies work for an ordinary user with sudo."""

from __future__ import annotations

import resource
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from lab.cli import doctor
from lab.errors import LabError
from lab.runtimes import host


def found(subject: str, runs: Path) -> doctor.Finding:
    """What is found of one subject."""
    (finding,) = (each for each in (*doctor._machine(), doctor._folder(runs)) if each.subject == subject)
    return finding


@pytest.mark.parametrize("free_mib", [10, 99, 100, 500, 1023, 1024, 5000])
def test_a_disk_is_bad_where_a_run_refuses_it_and_poor_below_a_gibibyte(tmp_path, monkeypatch, free_mib):
    """The same space cannot be bad for the one and enough for the other."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=1 << 40, free=free_mib << 20))
    state = found("data folder", tmp_path).state
    try:
        host.check_free_space(tmp_path)
    except LabError:
        assert state == doctor.BAD
    else:
        assert state == (doctor.GOOD if free_mib >= 1024 else doctor.POOR)


@pytest.mark.parametrize("place", ["{there}/a file/runs", "{there}/" + "n" * 300, "/proc/lab-runs"])
def test_a_data_folder_is_bad_where_a_run_refuses_it(tmp_path, place):
    """With the same words, and whatever nobody can tell of it takes no other finding away."""
    (tmp_path / "a file").touch()
    runs = Path(place.format(there=tmp_path))
    finding = found("data folder", runs)
    with pytest.raises(LabError) as refused:
        host.check_writable(runs)
    assert finding.state == doctor.BAD
    assert (finding.found, finding.remedy) == (refused.value.problem, refused.value.next_step)


@pytest.mark.parametrize(
    ("control", "state", "remedy"),
    [("bbr", doctor.POOR, "sudo sysctl -w net.ipv4.tcp_congestion_control=cubic"), ("cubic", doctor.GOOD, "")],
)
def test_a_kernel_that_paces_packets_is_told_with_what_ends_that(tmp_path, monkeypatch, control, state, remedy):
    """BBR spreads the answers of a service over time, by timers whose work falls to whoever runs then."""
    (tmp_path / "control").write_text(f"{control}\n")
    monkeypatch.setattr(host, "CONGESTION_CONTROL", tmp_path / "control")
    finding = found("congestion control (TCP)", tmp_path)
    assert (finding.state, finding.remedy) == (state, remedy)
    assert host.environment()["congestion_control"] == control


def test_what_raises_limits_of_the_system_is_done_by_root(tmp_path, monkeypatch):
    """Nobody else may raise a hard limit, or write a setting of the kernel; here and where a run refuses."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (512, 512))
    monkeypatch.setattr(host, "somaxconn", lambda: 128)
    monkeypatch.setattr(host, "tracked_connections", lambda: (12, 65_536))
    subjects = ("open files", "listen backlog (somaxconn)", "tracked connections (nf_conntrack)")
    files, backlog, tracked = (found(subject, tmp_path).remedy for subject in subjects)
    assert files == "For 4000 users: sudo prlimit --pid $$ --nofile=4256:4256"
    assert backlog == "sudo sysctl -w net.core.somaxconn=4096"
    assert tracked == "sudo sysctl -w net.netfilter.nf_conntrack_max=262144"
    with pytest.raises(LabError, match=r"sudo prlimit --pid \$\$ --nofile=600:600"):
        host.raise_open_file_limit(600)
    with pytest.raises(LabError, match=r"sudo sysctl -w net\.core\.somaxconn=129"):
        host.check_backlog(129)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says which ports it has")
def test_more_ports_are_root_s_to_give_too():
    """Beyond those of all addresses."""
    with pytest.raises(LabError, match=r"sudo sysctl -w net\.ipv4\.ip_local_port_range"):
        host.check_ports(10_000_000, 1)
