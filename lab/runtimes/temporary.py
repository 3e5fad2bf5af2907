"""Temporary folders that go even if the lab is killed, and files that are there whole or not at all."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PREFIX = "lab-scratch-"
# Between being made and being held, a folder looks like one that was left.
YOUNG_S = 60.0


@contextmanager
def folder() -> Iterator[Path]:
    """Make an empty folder; whatever the lab starts in it may pass through, as any user, but not look around."""
    tidy()
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as made,
        _held(Path(made), fcntl.LOCK_EX),
    ):
        Path(made).chmod(0o711)
        yield Path(made)


def tidy() -> None:
    """Remove the folders of labs that were killed; those in use, or of somebody else, stay."""
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError), _held(left, fcntl.LOCK_EX | fcntl.LOCK_NB):
            if time.time() - left.stat().st_mtime > YOUNG_S:
                shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _held(path: Path, lock: int) -> Iterator[None]:
    """Hold a folder, at most for as long as this process lives; OSError if another does and ``lock`` does not wait."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, lock)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def whole_file(path: Path, private: bool = False) -> Iterator[Path]:
    """Yield a neighbour of a file to write to, which takes its place in the end: it is there whole or not at all.

    Args:
        private: only its owner may read it, from its first byte on.

    """
    neighbour = path.with_name(f".{path.name}.new")
    neighbour.unlink(missing_ok=True)
    if private:
        neighbour.touch(mode=0o600)
    yield neighbour
    neighbour.replace(path)
