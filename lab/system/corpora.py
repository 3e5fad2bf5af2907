"""Makes the files that programs read, from a seed, once; checks them before each run, and drops them from memory."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import mmap
import os
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from filelock import FileLock

from lab.errors import ComponentError, LabError
from lab.formulas.units import MIB
from lab.runtimes import Runtime
from lab.runtimes.checkout import ROOT
from lab.spec.corpus import Recipe
from lab.system import artifacts

CORPORA = ROOT / "data" / "corpora"
SEED = 20261121
# What a corpus must leave of the disk.
SPARE_BYTES = 512 * MIB
# Changes whenever the same recipe gives other files.
MADE_BY = 1
WORDS = 5000
# Of made-up words; a letter is half as likely as the one that stands twice as far in front.
LETTERS = "etaoinsrhldcumfpgwybvkxjqzäöüéßñ"
OFTEN = [1 / place for place in range(2, len(LETTERS) + 2)]
# Lines are drawn from this many, which is much quicker than to make each of them, and no program can tell.
LINES = 10_000
WORDS_A_LINE = 12
FILES_A_FOLDER = 1000
BINARY = ".bin"
WARM_INSTEAD = "Measure warm ones (--cache warm)."
SMALLER = "Free some of it, or measure a smaller one (--megabytes {})."


@dataclass(frozen=True)
class Files:
    """The files of a corpus as they are on the disk.

    Attributes:
        folder: what programs are to read, relative to the checkout if it is in there.
        digest: SHA-256 over the names and contents of all files.

    """

    folder: Path
    digest: str
    count: int
    total_bytes: int

    def drop(self) -> None:
        """Have the kernel forget what these files hold, so that the next program must read them from the disk.

        Names, sizes and places of files stay known to it, as only root can make it forget these; and what a disk, a
        controller or the host of a virtual machine keeps in its own memory stays there.

        ComponentError where it does not forget.
        """
        if not hasattr(os, "posix_fadvise"):
            raise ComponentError(f"This system has no posix_fadvise, so files stay in memory. {WARM_INSTEAD}")
        kept = self._not_dropped()
        if kept:
            os.sync()  # what the disk does not have yet cannot be dropped
            kept = self._not_dropped()
        if kept:
            raise ComponentError(
                f"{kept:,} of the {self.count:,} files of {self.folder} stay in memory, so they cannot be read cold. "
                f"{WARM_INSTEAD} Or move the checkout to a file system on a disk."
            )

    def _not_dropped(self) -> int:
        return sum(not _dropped(file) for file in _files_in(ROOT / self.folder))


def make(recipe: Recipe, runtime: Runtime, say: Callable[[str], None], corpora: Path = CORPORA) -> Files:
    """The files of a recipe: those that are there, if nobody has changed them, else new ones.

    Args:
        runtime: removes what is not complete where the lab is killed.
        say: is told what is going on.

    Raises:
        LabError: the disk has no room for them.

    """
    corpora.mkdir(parents=True, exist_ok=True)
    place = corpora / f"{recipe.name}-{_key(recipe)}"
    with FileLock(corpora / ".lock"):
        _make_empty(corpora / "empty")
        if place.exists():
            say(f"check {place.name}")
            if found := _checked(place):
                return found
            say(f"{place.name} was changed, and is made again")
            shutil.rmtree(place)
        _check_room(recipe, corpora)
        unfinished = corpora / f".{place.name}"
        shutil.rmtree(unfinished, ignore_errors=True)  # of a lab that was killed together with its guard
        runtime.discard(unfinished)
        try:
            say(f"make {place.name}")
            _write(recipe, unfinished / "files")
            found = _measured(unfinished / "files")
            (unfinished / "corpus.json").write_text(json.dumps({"digest": found.digest, **asdict(recipe)}, indent=2))
            unfinished.rename(place)
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            step = SMALLER.format("N") if full else f"See that {corpora} can be written to."
            raise LabError(f"The corpus cannot be written: {error.strerror}.", step) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
        return _shown(found, place / "files")


def _make_empty(folder: Path) -> None:
    """Make a folder in which nothing is, or take out what somebody has put there."""
    if folder.is_symlink() or not folder.is_dir():
        folder.unlink(missing_ok=True)
    elif any(folder.iterdir()):
        shutil.rmtree(folder)
    folder.mkdir(exist_ok=True)


def clean(corpora: Path = CORPORA) -> int:
    """Remove all files that were made, as no run is in progress; returns how many corpora these were."""
    made = [path for path in corpora.glob("*") if (path / "corpus.json").is_file()] if corpora.is_dir() else []
    for place in (*made, corpora / "empty"):
        shutil.rmtree(place, ignore_errors=True)
    return len(made)


def empty(files: Files) -> Files:
    """A corpus without a file, beside another one."""
    return Files(files.folder.parent.parent / "empty", hashlib.sha256().hexdigest(), 0, 0)


def _key(recipe: Recipe) -> str:
    """What tells apart the files of recipes that have the same name."""
    all_of_it = json.dumps([MADE_BY, SEED, asdict(recipe)], sort_keys=True)
    return hashlib.sha256(all_of_it.encode()).hexdigest()[:8]


def _checked(place: Path) -> Files | None:
    """The files in a place, if they are what was made; None if anything is missing, new or different."""
    try:
        made = json.loads((place / "corpus.json").read_text())["digest"]
        found = _measured(place / "files")
    except (OSError, ValueError, KeyError):
        return None
    return _shown(found, place / "files") if found.digest == made else None


def _shown(found: Files, folder: Path) -> Files:
    return Files(folder.relative_to(ROOT) if folder.is_relative_to(ROOT) else folder, *list(asdict(found).values())[1:])


def _check_room(recipe: Recipe, corpora: Path) -> None:
    free = shutil.disk_usage(corpora).free
    # A file takes whole blocks.
    needed = recipe.total_bytes + recipe.total_bytes // recipe.file_bytes * mmap.PAGESIZE + SPARE_BYTES
    if needed > free:
        raise LabError(
            f"A corpus of {recipe.total_bytes // MIB:,} MiB needs {needed // MIB:,} MiB of disk, and {corpora} has "
            f"{free // MIB:,} MiB left.",
            SMALLER.format(f"{fitting // MIB}" if (fitting := _fitting(recipe, free)) >= MIB else "1"),
        )


def _fitting(recipe: Recipe, free: int) -> int:
    """How large a corpus of such files may be, in bytes, where so many are free; half of it, so that it stays so."""
    return int((free - SPARE_BYTES) / (1 + mmap.PAGESIZE / recipe.file_bytes) / 2)


def _files_in(folder: Path) -> Iterator[Path]:
    """All files below a folder, in the order of their names."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            yield from _files_in(path)
        else:
            yield path


def _measured(folder: Path) -> Files:
    digest, count, total = hashlib.sha256(), 0, 0
    for path in _files_in(folder):
        content = bytes.fromhex(artifacts.digest(path))
        digest.update(str(path.relative_to(folder)).encode() + b"\0" + content)
        count, total = count + 1, total + path.stat().st_size
    return Files(folder, digest.hexdigest(), count, total)


def _write(recipe: Recipe, folder: Path) -> None:
    """Write all files of a recipe, text before binary ones."""
    chance = random.Random(SEED)
    lines = _lines(recipe, chance)
    kinds = {ending: int(share * recipe.total_bytes) for ending, share in recipe.content.text.items()}
    number = 0
    for ending, total in (*kinds.items(), (BINARY, recipe.total_bytes - sum(kinds.values()))):
        for begin in range(0, total, recipe.file_bytes):
            size = min(recipe.file_bytes, total - begin)
            path = folder / f"{number // FILES_A_FOLDER:03}" / f"{number:06}{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.writelines(_binary(recipe, chance, size) if ending == BINARY else _text(lines, chance, size))
            number += 1


def _lines(recipe: Recipe, chance: random.Random) -> list[bytes]:
    """Lines of made-up words, some with letters beyond ASCII; one in ``lines_a_word`` holds the recipe's word."""
    words = ["".join(chance.choices(LETTERS, OFTEN, k=chance.randint(2, 10))) for _ in range(WORDS)]
    lines = [" ".join(chance.choices(words, k=WORDS_A_LINE)) for _ in range(LINES)]
    lines[:: recipe.lines_a_word] = [f"{recipe.word} {line}" for line in lines[:: recipe.lines_a_word]]
    return [f"{line}\n".encode() for line in lines]


def _text(lines: list[bytes], chance: random.Random, size: int) -> Iterator[bytes]:
    """So many bytes of lines, in pieces; the last one is filled up with empty lines."""
    while size > 0:
        piece = b"".join(chance.choices(lines, k=min(LINES, size // 40 + 1)))
        if len(piece) > size:
            piece = piece[: piece.rfind(b"\n", 0, size) + 1].ljust(size, b"\n")
        yield piece
        size -= len(piece)


def _binary(recipe: Recipe, chance: random.Random, size: int) -> Iterator[bytes]:
    """So many bytes of any value, in pieces that begin with a zero; in the middle of each stands the recipe's word."""
    every = recipe.lines_a_word * 256  # one byte in 256 ends a line
    while size > 0:
        piece = bytearray(chance.randbytes(min(size, every)))
        piece[0] = 0
        at = len(piece) // 2
        if at > len(recipe.word):
            piece[at : at + len(recipe.word)] = recipe.word.encode()
        yield bytes(piece)
        size -= len(piece)


def _dropped(file: Path) -> bool:
    """Drop a file from the page cache; whether none of its pages is left there."""
    handle = os.open(file, os.O_RDONLY)
    try:
        os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)
        return not cached_pages(handle)
    finally:
        os.close(handle)


def cached_pages(handle: int) -> int:
    """How many pages of a file are in memory. It is mapped for that and not read: to read would bring pages there."""
    size = os.fstat(handle).st_size
    if not size:
        return 0
    with mmap.mmap(handle, size, access=mmap.ACCESS_COPY) as mapped:
        begin = ctypes.c_char.from_buffer(mapped)
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        failed = ctypes.CDLL(None, use_errno=True).mincore(ctypes.byref(begin), ctypes.c_size_t(size), pages)
        del begin  # else the map could not be closed
    if failed:
        raise ComponentError(f"Whether files are in memory cannot be seen: {os.strerror(ctypes.get_errno())}.")
    return sum(page & 1 for page in pages)
