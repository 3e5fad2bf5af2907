"""Files made from a seed: the same everywhere, made once, checked before they are used, out of memory if asked."""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from lab.errors import ComponentError, LabError
from lab.formulas.units import MIB
from lab.runtimes.checkout import ROOT
from lab.spec.corpus import Content, Recipe
from lab.system import corpora

WORD = "namespace"
MIXED = Content({".txt": 0.5, ".log": 0.25})
RECIPE = Recipe("small", MIB, 100_000, MIXED, WORD, 1000)
# Of the files of RECIPE, wherever they are made.
DIGEST = "3fe22d7ae33b5834bf460f034490c719419180b069116606b6efdeab465f2b6c"


def said(_: str) -> None:
    """Nobody listens."""


def contents(files: corpora.Files) -> dict[str, bytes]:
    """All files by their names."""
    return {path.name: path.read_bytes() for path in files.folder.rglob("*") if path.is_file()}


def test_the_seed_decides_every_byte(tmp_path, runtime):
    """So figures of two machines are of the same files."""
    assert corpora.make(RECIPE, runtime, said, tmp_path).digest == DIGEST


def test_it_holds_what_its_recipe_says(tmp_path, runtime):
    """As large as asked, in files as large as asked, with the word in lines of text and of binary files."""
    files = corpora.make(RECIPE, runtime, said, tmp_path)
    made = contents(files)
    assert (sum(map(len, made.values())), len(made)) == (files.total_bytes, files.count) == (MIB, 12)
    assert max(map(len, made.values())) == RECIPE.file_bytes
    shares = {ending: sum(len(all_) for name, all_ in made.items() if name.endswith(ending)) for ending in MIXED.text}
    assert shares == {".txt": MIB // 2, ".log": MIB // 4}
    text = b"".join(all_ for name, all_ in sorted(made.items()) if not name.endswith(".bin"))
    assert text.decode().isprintable() is False
    assert 3 <= text.count(WORD.encode()) <= 30  # of some 11,000 lines
    binary = [all_ for name, all_ in made.items() if name.endswith(".bin")]
    assert all(b"\0" in each for each in binary)
    assert any(WORD.encode() in each for each in binary)


def test_it_is_made_once(tmp_path, runtime):
    """The second run finds the files of the first one, unchanged."""
    first = corpora.make(RECIPE, runtime, said, tmp_path)
    made_at = {path: path.stat().st_mtime_ns for path in first.folder.rglob("*")}
    assert corpora.make(RECIPE, runtime, said, tmp_path) == first
    assert {path: path.stat().st_mtime_ns for path in first.folder.rglob("*")} == made_at


@pytest.mark.parametrize("harm", ["changed", "deleted", "added", "no digest"])
def test_files_that_are_not_what_was_made_are_made_again(tmp_path, runtime, harm):
    """Whoever changed them: a result must be one of these files."""
    first = corpora.make(RECIPE, runtime, said, tmp_path)
    one = next(path for path in first.folder.rglob("*.txt"))
    if harm == "changed":
        one.write_bytes(one.read_bytes().swapcase())
    elif harm == "deleted":
        one.unlink()
    elif harm == "added":
        (first.folder / "mine.txt").write_text(f"{WORD}\n")
    else:
        (first.folder.parent / "corpus.json").write_text("{")
    told: list[str] = []
    again = corpora.make(RECIPE, runtime, told.append, tmp_path)
    assert again == first
    assert not (first.folder / "mine.txt").exists()
    assert any("changed" in line for line in told)


def test_one_that_is_larger_than_the_disk_is_refused(tmp_path, runtime):
    """Before a byte of it is written."""
    huge = Recipe("huge", shutil.disk_usage(tmp_path).total, 100_000, MIXED, WORD, 1000)
    with pytest.raises(LabError, match=r"needs [\d,]+ MiB of disk, and .* has [\d,]+ MiB left") as refused:
        corpora.make(huge, runtime, said, tmp_path)
    assert re.search(r"\(--megabytes \d+\)\.$", refused.value.next_step)
    assert {path.name for path in tmp_path.iterdir()} <= {"empty", ".lock"}


def test_the_empty_folder_is_empty(tmp_path, runtime):
    """What somebody left there would be part of every start that is measured."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "mine.txt").write_text(WORD)
    corpora.make(RECIPE, runtime, said, tmp_path)
    assert list((tmp_path / "empty").iterdir()) == []


def test_what_was_made_can_be_removed(tmp_path, runtime):
    """And nothing else of the folder."""
    corpora.make(RECIPE, runtime, said, tmp_path)
    (tmp_path / "mine").mkdir()
    assert corpora.clean(tmp_path) == 1
    assert {path.name for path in tmp_path.iterdir()} == {"mine", ".lock"}
    assert corpora.clean(tmp_path / "gone") == 0


def test_an_interrupt_leaves_nothing_half_made(tmp_path, runtime):
    """Neither a folder that the next run would take for whole, nor one that nobody needs."""

    def interrupted(line: str) -> None:
        if line.startswith("make"):
            (tmp_path / "seen").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        corpora.make(RECIPE, runtime, interrupted, tmp_path)
    assert (tmp_path / "seen").exists()
    assert {path.name for path in tmp_path.iterdir()} <= {"empty", ".lock", "seen"}


def test_files_leave_the_memory(runtime):
    """After that every page of them comes from the disk; before it, none."""
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        files = corpora.make(RECIPE, runtime, said, Path(folder))
        contents(corpora.Files(ROOT / files.folder, files.digest, files.count, files.total_bytes))
        assert cached(files) > 0
        files.drop()
        assert cached(files) == 0


def cached(files: corpora.Files) -> int:
    """How many pages of a corpus are in memory."""
    handles = [path.open("rb") for path in (ROOT / files.folder).rglob("*.*")]
    try:
        return sum(corpora.cached_pages(handle.fileno()) for handle in handles)
    finally:
        for handle in handles:
            handle.close()


@pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="there is no file system in memory at /dev/shm")
def test_a_file_system_in_memory_has_nothing_cold(runtime):
    """What cannot be dropped is not measured as if it had been."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        files = corpora.make(RECIPE, runtime, said, Path(folder))
        with pytest.raises(ComponentError, match="stay in memory, so they cannot be read cold"):
            files.drop()
