"""Built jars under names made of their contents, so that a new build leaves a running service alone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lab.runtimes.temporary import whole_file

# In the folder of the services, and not in what is removed.
LOCK = ".in-use.lock"
# In a module's target: copies of its jar, and what is made from them (lab.system.unpacking, lab.system.aot_cache).
FOLDER = "lab"
# So many of each kind are kept: going back to what was before a change costs nothing.
KEPT = 2


def digest(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def kept(jar: Path) -> Path:
    """The copy of a jar that no later build overwrites; made if there is none of these contents yet."""
    copy = jar.parent / FOLDER / f"{jar.stem}-{digest(jar)[:16]}.jar"
    if not copy.exists():
        copy.parent.mkdir(parents=True, exist_ok=True)
        with whole_file(copy) as unfinished:
            shutil.copyfile(jar, unfinished)
    os.utime(copy)
    return copy


@contextmanager
def in_use(services: Path) -> Iterator[None]:
    """Protect builds from removal while the context lasts, in any number of processes; the first one tidies up.

    Args:
        services: the folder of all modules.

    """
    with (services / LOCK).open("a") as file:
        if _is_only_one(file.fileno()):
            _remove_old(services)
        fcntl.flock(file, fcntl.LOCK_SH)
        yield


@contextmanager
def unused(services: Path) -> Iterator[bool]:
    """Yields whether builds are unused; if so, no process can begin to use them while the context lasts."""
    with (services / LOCK).open("a") as file:
        yield _is_only_one(file.fileno())


def _is_only_one(file: int) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _remove_old(services: Path) -> None:
    """Remove all but the copies, and what was made from them, that were used last."""
    for folder in (*services.glob(f"*/target/{FOLDER}"), *services.glob(f"*/*/target/{FOLDER}")):
        for pattern in ("*.jar", "unpacked-*", "aot-*"):
            for old in sorted(folder.glob(pattern), key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
                shutil.rmtree(old) if old.is_dir() else old.unlink()
