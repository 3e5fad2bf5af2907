"""What the benchmark of kills counts as left behind."""

from __future__ import annotations

import tempfile
import uuid

import kills
import pytest

from lab.runtimes import temporary


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """A place for what a checkout keeps for all runs, where nothing is; temporary folders are there too."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(kills, "KEPT", (tmp_path / "kept",))
    return tmp_path / "kept"


def found(data) -> set[str]:
    """What is on the disk, but for volumes, which others may have on the same engine."""
    return {name for name in kills.left_on_disk(data) if not name.startswith("volume ")}


@pytest.mark.parametrize(
    "name",
    [
        "run/scratch/mysql/ibdata1",
        "run/cells/mvc/logs/application.port",
        "run/.run.json.4711.new",
        "run/cells/mvc/.samples.parquet.4711.new",
        "run/logs/prometheus.new",
    ],
)
def test_what_is_no_part_of_a_record_is_left_behind(tmp_path, kept, name):
    """Whatever else is in the folder of a run is its record."""
    data = tmp_path / "runs"
    for each in ("run/run.json", "run/cells/mvc/summary.json", "run/logs/mysql.log"):
        (data / each).parent.mkdir(parents=True, exist_ok=True)
        (data / each).write_text("{}")
    assert found(data) == set()
    (data / name).parent.mkdir(parents=True, exist_ok=True)
    (data / name).write_text("half")
    assert len(found(data)) == 1


def test_what_was_begun_for_all_runs_is_left_behind(tmp_path, kept):
    """Seeds, tokens, copies of jars: until they are whole they have no names of their own. Locks are no leftovers."""
    for name in ("mysql-1-100-11.4.5/ibdata1", ".mariadb.lock", "target/mvc.jar"):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_text("whole")
    assert found(tmp_path / "runs") == set()
    for name in (".mysql-1-100-11.4.5-a1b2/data/ibdata1", ".tokens.txt.4711.new", "target/.java-21.new/log"):
        (kept / name).parent.mkdir(parents=True, exist_ok=True)
        (kept / name).write_text("half")
    names = (".mysql-1-100-11.4.5-a1b2", ".tokens.txt.4711.new", "target/.java-21.new")
    assert found(tmp_path / "runs") == {str(kept / name) for name in names}


def test_a_temporary_folder_is_left_behind_while_somebody_holds_it(tmp_path, kept):
    """When nobody does, the next lab removes it, as it does here."""
    with temporary.folder() as held:
        assert found(tmp_path / "runs") == {str(held)}
    assert found(tmp_path / "runs") == set()


@pytest.mark.docker
def test_a_volume_is_left_behind_whoever_is_said_to_have_made_it(tmp_path, kept, engine):
    """Images make such without a name and without a label."""
    name = f"lab-test-{uuid.uuid4().hex[:8]}"
    assert f"volume {name}" not in kills.left_on_disk(tmp_path)
    volume = engine.volumes.create(name)
    try:
        assert f"volume {name}" in kills.left_on_disk(tmp_path)
    finally:
        volume.remove()
    assert f"volume {name}" not in kills.left_on_disk(tmp_path)
