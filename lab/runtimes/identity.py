"""Who this checkout is: the mark on what it makes where others make things too, and the seal on what it plans.

Both come from a secret that is drawn once, and kept in a file of this user's alone. It is the checkout's wherever the
checkout is moved, and whatever the machine is called; a copy of the checkout draws one of its own.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import os
import platform
import secrets
from pathlib import Path

from lab.runtimes.checkout import ROOT

FOLDER = ROOT / "data" / "identity"
# Stays as it is when the machine gets another name; two machines that share a disk have two.
MACHINE = Path("/etc/machine-id")
# Namespaces are told apart by their inodes; that of the machine's own process ids is always this: PROC_PID_INIT_INO of
# Linux (include/linux/proc_ns.h).
PROCESS_IDS, OF_THE_MACHINE = Path("/proc/self/ns/pid"), 0xEFFFFFFC
SECRET_BYTES, MARK_LENGTH = 32, 12


def mine() -> str:
    """The mark on what this checkout has made, of this user, on this machine: twelve hexadecimal digits."""
    secret = _secret()
    return hmac.digest(secret, _machine(), "sha256").hex()[:MARK_LENGTH] if secret else _by_place()


def all_mine() -> tuple[str, ...]:
    """:func:`mine`, and the mark that a lab before this one would have left here."""
    return tuple(dict.fromkeys((mine(), _by_place())))


def machine() -> str:
    """A name of this machine, told to nobody by its own: a process id means something here only.

    In a container with process ids of its own it is another one than outside of it, and in the next container.
    """
    return hashlib.sha256(b"lab\0" + _machine() + _process_ids()).hexdigest()[:MARK_LENGTH]


def seal(content: bytes) -> str:
    """What nobody without the secret can put on this content; empty where no secret can be kept."""
    secret = _secret()
    return hmac.digest(secret, b"seal\0" + content, "sha256").hex() if secret else ""


def is_sealed(content: bytes, by: object) -> bool:
    """Whether this checkout has sealed this content."""
    sealed = seal(content)
    return bool(sealed) and isinstance(by, str) and hmac.compare_digest(sealed.encode(), by.encode())


def _machine() -> bytes:
    try:
        return MACHINE.read_bytes().strip() or platform.node().encode()
    except OSError:
        return platform.node().encode()


def _process_ids() -> bytes:
    """Which process ids there are here; empty for those of the machine itself, and where there is only one kind."""
    try:
        namespace = PROCESS_IDS.stat().st_ino
    except OSError:
        return b""
    return b"" if namespace == OF_THE_MACHINE else b"\0%d" % namespace


def _by_place() -> str:
    """By host, user and path: where nothing can be written, and what was made before there was a secret."""
    return hashlib.sha256("\0".join((platform.node(), str(os.getuid()), str(ROOT))).encode()).hexdigest()[:MARK_LENGTH]


@functools.cache
def _secret() -> bytes:
    """The secret in this user's file, which is made on first use; empty where that is not possible."""
    from filelock import FileLock  # here, since a worker in a container does without

    try:
        FOLDER.mkdir(parents=True, exist_ok=True)
        file = FOLDER / str(os.getuid())
        with FileLock(file.with_suffix(".lock")):
            return _kept(file) or _drawn(file)
    except OSError:
        return b""


def _kept(file: Path) -> bytes:
    """The secret in a file; empty if there is none, or if the file is a copy: it tells its own inode, which is new."""
    try:
        inode, secret = file.read_text().split()
        return bytes.fromhex(secret) if int(inode) == file.stat().st_ino else b""
    except (FileNotFoundError, ValueError):
        return b""


def _drawn(file: Path) -> bytes:
    secret = secrets.token_bytes(SECRET_BYTES)
    file.unlink(missing_ok=True)
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as written:
        written.write(f"{os.fstat(written.fileno()).st_ino} {secret.hex()}\n")
    return secret
