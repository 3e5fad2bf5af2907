"""The parts of an HTTP address that a request needs: port, target, header fields."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

PORTS = {"http": 80, "https": 443}
# How many addresses of this machine connections to itself come from, as each has fewer than 30,000 ports. On Linux all
# of 127.0.0.0/8 is this machine.
LOOPBACK_ADDRESSES = 250


def split(url: str) -> SplitResult:
    """The parts of an http or https address; ValueError if it is none."""
    parts = urlsplit(url)
    if parts.scheme not in PORTS or not parts.hostname or parts.port == 0:  # .port raises ValueError too
        raise ValueError(f"{url!r} is not an http or https address")
    return parts


def port(parts: SplitResult) -> int:
    """The port of an address, or its scheme's default."""
    return parts.port or PORTS[parts.scheme]


def target(parts: SplitResult) -> str:
    """The request target: path and query."""
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def head(parts: SplitResult, more: Mapping[str, str]) -> dict[str, str]:
    """The header fields of every request: Host, Accept and ``more``, which replaces them, ignoring case."""
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
    usual = {"Host": host if port(parts) == PORTS[parts.scheme] else f"{host}:{parts.port}", "Accept": "*/*"}
    given = {name.lower() for name in more}
    return {**{name: value for name, value in usual.items() if name.lower() not in given}, **more}
