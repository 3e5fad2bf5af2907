"""What a calibration says, and where it is kept."""

from __future__ import annotations

import shutil

import pytest

from lab.cli.commands import calibrate as command
from lab.generator import calibration
from lab.generator.bench import BenchResult
from lab.generator.calibration import GENERATOR, SERVER, UNKNOWN, Calibration, Ceiling, Step
from lab.running import calibrate
from lab.runtimes import host
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import confined

FOUND = Calibration(
    calibration.fingerprint(),
    "2026-11-21T10:15:00Z",
    (
        Ceiling("small", 50_000.0, GENERATOR, 0.99, 0.6, (Step(0.0, 9000.0, 1e-4, 2e-4), Step(0.5, 25e3, 2e-4, 1e-3))),
        Ceiling("large", 3_000.0, SERVER, 0.8, 0.99),
        Ceiling("token", 20_000.0, UNKNOWN, 0.5, 0.3),
    ),
)


def test_a_calibration_is_found_again(tmp_path):
    """What is kept for this machine is found on it, the same in every part."""
    assert calibration.find(tmp_path) is None
    file = calibration.keep(FOUND, tmp_path / "new")
    assert calibration.find(tmp_path / "new") == FOUND
    assert [path.name for path in file.parent.iterdir()] == [f"{calibration.fingerprint()}.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"fingerprint": "x", "time": "y", "ceilings": [{"kind": "small"}]}'])
def test_a_damaged_file_is_no_calibration(tmp_path, text):
    """It is measured again rather than believed."""
    calibration.keep(FOUND, tmp_path).write_text(text)
    assert calibration.find(tmp_path) is None


@pytest.mark.parametrize("file", ["lab/generator/locust/http.py", *calibration.ALSO_OURS])
def test_another_generator_has_another_calibration(tmp_path, monkeypatch, file):
    """When the load generator's source changes, what was measured of the old one does not count."""
    for path in ("lab/generator/locust", "locustfiles"):
        shutil.copytree(ROOT / path, tmp_path / path)
    for path in calibration.ALSO_OURS:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    before = calibration.fingerprint()
    monkeypatch.setattr(calibration, "ROOT", tmp_path)
    assert calibration.fingerprint() == before
    (tmp_path / file).write_text("# faster\n")
    assert calibration.fingerprint() != before


@pytest.mark.parametrize("fact", ["cores_at_start", "congestion_control"])
def test_other_cores_and_another_kernel_setting_have_another_calibration(monkeypatch, fact):
    """A ceiling of four cores is none of two, of the same machine."""
    before = calibration.fingerprint()
    monkeypatch.setattr(host, fact, lambda: "another")
    assert calibration.fingerprint() != before


def test_a_run_that_confines_itself_has_the_calibration_of_before():
    """While it lasts, the lab runs on the generator's cores: that is no other machine."""
    before = calibration.fingerprint()
    with confined(frozenset(host.cores()[:1])):
        assert calibration.fingerprint() == before


def test_a_ceiling_is_that_of_as_many_workers():
    """Where it was measured; a server that is the limit of several says too little of them."""
    found = FOUND.with_ceilings([Ceiling("small", 80_000.0, SERVER, 0.8, 0.99, workers=4)])
    assert found.ceiling_rps("small", 1, 1) == 50_000
    assert found.ceiling_rps("small", 4, 1) == 80_000
    assert found.ceiling_rps("small", 4, 4) == 200_000
    assert found.ceiling_rps("small", 2, 2) is None


def test_a_ceiling_that_is_measured_again_replaces_the_old_one():
    """And leaves the others."""
    found = FOUND.with_ceilings([Ceiling("small", 40_000.0, GENERATOR, 0.95, 0.5)])
    assert found.ceiling_rps("small", 1, 1) == 40_000
    assert len(found.ceilings) == len(FOUND.ceilings)


@pytest.mark.parametrize(("kind", "rps"), [("large", 3000), ("unheard of", None)])
def test_a_lower_bound_is_on_the_safe_side(kind, rps):
    """What is far below a rate that was reached is far below the ceiling."""
    assert FOUND.ceiling_rps(kind, 1, 1) == rps


def test_programs_that_took_its_cores_are_no_ceiling_of_the_generator():
    """20,000/s with half of a core are 36,000/s with the 90 % of it that a busy generator has."""
    assert FOUND.ceiling_rps("token", 1, 1) == pytest.approx(36_000)


@pytest.mark.parametrize(
    ("generator", "server", "limit"),
    [(0.95, 0.5, GENERATOR), (0.95, 0.99, GENERATOR), (0.8, 0.95, SERVER), (0.5, 0.4, UNKNOWN)],
)
def test_what_was_busy_is_the_limit(generator, server, limit):
    """The generator if it was busy, else the server if that was, else something that is not ours."""
    assert calibrate.limited_by(BenchResult(1000.0, 0.0, 0.0, 0.0, generator, server, 0)) == limit


@pytest.mark.parametrize(("rps", "cycle_s", "users"), [(10_000, 0.02, 200), (1, 0.02, 1), (1e9, 0.02, 2000)])
def test_users_make_a_rate_by_littles_law(rps, cycle_s, users):
    """At least one user, and no more than were spawned."""
    assert calibrate.users_for(rps, cycle_s) == users


def test_the_command_says_what_limited(typed, monkeypatch, tmp_path):
    """A ceiling that is not the generator's own is marked in the table and explained below it."""
    monkeypatch.setattr(command.calibrate_, "calibrate", lambda _: FOUND)
    monkeypatch.setattr(command.calibration, "keep", lambda _: tmp_path / "file.json")
    done = typed("calibrate")
    assert done.returncode == 0, done.stderr
    assert "50,000" in done.stdout
    assert "≥ 3,000" in done.stdout
    assert "large: the server was the limit" in done.stdout
    assert "token: other programs were in the way" in done.stdout
    assert "small:" not in done.stdout
