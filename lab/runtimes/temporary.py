"""Temporary folders that are removed even if the lab is killed, and files that are written atomically."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.runtimes import identity

# Between being made and being held, a folder looks like one that was left.
YOUNG_S = 60.0
# Who is told of files that are written aside; the last one is.
_TOLD: list[Callable[[Path], None]] = []


@contextmanager
def folder() -> Iterator[Path]:
    """Make an empty temporary folder; other users may traverse but not list it."""
    tidy()
    with (
        tempfile.TemporaryDirectory(prefix=_prefix(identity.mine()), ignore_cleanup_errors=True) as made,
        _held(Path(made), fcntl.LOCK_EX),
    ):
        Path(made).chmod(0o711)
        yield Path(made)


def tidy() -> None:
    """Remove the folders of killed labs of this checkout; those in use stay."""
    for left in left_behind():
        with contextlib.suppress(OSError), _held(left, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.time() - left.stat().st_mtime > YOUNG_S:
                shutil.rmtree(left, ignore_errors=True)


def left_behind() -> Iterator[Path]:
    """All temporary folders that this checkout has made, also those in use."""
    for mark in identity.all_mine():
        yield from Path(tempfile.gettempdir()).glob(f"{_prefix(mark)}*")


def _prefix(mark: str) -> str:
    return f"lab-scratch-{mark}-"


@contextmanager
def _held(path: Path, lock: int) -> Iterator[None]:
    """Lock a folder, at most until this process ends; OSError if another holds it and ``lock`` does not wait."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, lock)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def told_of_unfinished(told: Callable[[Path], None]) -> Iterator[None]:
    """Have somebody told of each file that this process writes aside, before it is there, while the context lasts."""
    _TOLD.append(told)
    try:
        yield
    finally:
        _TOLD.remove(told)


def tell_unfinished(path: Path) -> None:
    """Tell of a file that is about to be written aside: it is to be removed if this process is killed at it."""
    if _TOLD:
        _TOLD[-1](path)


@contextmanager
def whole_file(path: Path, private: bool = False) -> Iterator[Path]:
    """Yield a temporary file beside a file, which replaces it at the end: the write is atomic.

    Where it fails nothing of it is left, and the file is as it was.

    Args:
        private: only its owner may read it, from its first byte on.

    Raises:
        OSError: the system does not take it; it names the file, and not the temporary one.

    """
    # By the name of this process: what is removed after another one that was killed must not be what this one writes.
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    tell_unfinished(unfinished)
    try:
        unfinished.unlink(missing_ok=True)
        if private:
            unfinished.touch(mode=0o600)
        yield unfinished
        unfinished.replace(path)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(unfinished)):
            raise
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)
