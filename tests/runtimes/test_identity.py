"""A checkout knows itself again, and nobody else takes its place: not even a copy of it."""

from __future__ import annotations

import os
import platform
import shutil
import stat
from pathlib import Path

import pytest

from lab.runtimes import identity


@pytest.fixture(autouse=True)
def checkout(tmp_path, monkeypatch) -> Path:
    """A checkout that has no secret yet."""
    at(tmp_path / "here", monkeypatch)
    return Path(tmp_path / "here")


def at(root: Path, monkeypatch) -> None:
    """Be the checkout in this folder, as a lab that has just been started."""
    identity._secret.cache_clear()
    monkeypatch.setattr(identity, "ROOT", root)
    monkeypatch.setattr(identity, "FOLDER", root / "data" / "identity")


@pytest.fixture(autouse=True, scope="module")
def forgotten():
    """Whatever these tests have found, the next ones ask for this checkout's."""
    yield
    identity._secret.cache_clear()


def test_it_is_the_same_for_every_lab_of_the_checkout(checkout, monkeypatch):
    """It is drawn once, and kept where only this user can read it."""
    first = identity.mine()
    file = checkout / "data" / "identity" / str(os.getuid())
    written = file.stat().st_mtime_ns
    at(checkout, monkeypatch)
    assert identity.mine() == first
    assert file.stat().st_mtime_ns == written
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_it_stays_where_the_checkout_is_moved_and_the_machine_renamed(checkout, monkeypatch):
    """What was made under the old name and in the old place is still its own."""
    first = identity.mine()
    monkeypatch.setattr(platform, "node", lambda: "another-name")
    monkeypatch.setattr(identity, "MACHINE", checkout / "machine-id")
    (checkout / "machine-id").write_text("1a2b\n")
    at(checkout, monkeypatch)
    here = identity.mine()
    assert here != first  # another machine, which may have the same disk
    monkeypatch.setattr(platform, "node", lambda: "a-third-name")
    checkout.rename(checkout.with_name("moved"))
    at(checkout.with_name("moved"), monkeypatch)
    monkeypatch.setattr(identity, "MACHINE", checkout.with_name("moved") / "machine-id")
    assert identity.mine() == here


def test_a_container_with_process_ids_of_its_own_is_another_machine(checkout, monkeypatch):
    """Though it may have the machine's name, and the checkout with its secret; elsewhere ids are the machine's."""
    checkout.mkdir()
    (checkout / "ids").write_text("")
    (checkout / "others").write_text("")
    names = []
    for namespace in ("ids", "others", "nothing"):
        monkeypatch.setattr(identity, "PROCESS_IDS", checkout / namespace)
        names.append(identity.machine())
    assert len(set(names)) == 3
    monkeypatch.setattr(identity, "PROCESS_IDS", checkout / "ids")
    assert identity.machine() == names[0]
    monkeypatch.setattr(identity, "OF_THE_MACHINE", (checkout / "ids").stat().st_ino)
    assert identity.machine() == names[-1]


def test_a_copy_of_a_checkout_is_another(checkout, monkeypatch):
    """Its file is copied with it, and is not believed; the first one's stays as it is."""
    first, sealed = identity.mine(), identity.seal(b"plan")
    shutil.copytree(checkout, checkout.with_name("copy"))
    at(checkout.with_name("copy"), monkeypatch)
    copied = identity.mine()
    assert copied != first
    assert not identity.is_sealed(b"plan", sealed)
    at(checkout, monkeypatch)
    assert identity.mine() == first
    at(checkout.with_name("copy"), monkeypatch)
    assert identity.mine() == copied


def test_what_was_made_before_there_was_a_secret_is_still_its_own():
    """It was marked by host, user and place."""
    marks = identity.all_mine()
    assert len(marks) == 2
    assert marks[0] == identity.mine()


def test_a_checkout_that_cannot_be_written_is_known_by_its_place(checkout):
    """It can seal nothing, and believes no seal, least of all an empty one."""
    checkout.mkdir(parents=True)
    (checkout / "data").write_text("in the way")
    assert identity.all_mine() == (identity.mine(),)
    assert identity.seal(b"plan") == ""
    assert not identity.is_sealed(b"plan", "")


def test_only_what_was_sealed_here_is_believed():
    """Neither other content, nor what somebody made up, nor something that is no text."""
    sealed = identity.seal(b"plan")
    assert identity.is_sealed(b"plan", sealed)
    for content, by in (
        (b"other", sealed),
        (b"plan", sealed[:-1] + "x"),
        (b"plan", None),
        (b"plan", 1),
        (b"plan", "é"),
    ):
        assert not identity.is_sealed(content, by)
    assert identity.mine() not in sealed
