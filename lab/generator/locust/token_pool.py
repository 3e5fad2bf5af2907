"""The bearer tokens that this worker's users pick from."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from lab.runtimes.checkout import OWN_MODULES

_texts: list[str] = []


def fill(text: str) -> None:
    """Use the tokens that the master sent, one a line: a worker on another machine has no file of them."""
    _texts[:] = [text]
    pairs.cache_clear()


@cache
def pairs() -> list[tuple[str, bytes]]:
    """All tokens, each with the email in it; those of the lab's own file where the master sent none."""
    lines = (_texts[0] if _texts else _own_file().read_text()).split("\n")
    return [(line, _email(line)) for line in lines]


def _own_file() -> Path:
    """The lab's file of tokens, made if missing, by another process: here ``jwt`` may be a locustfile's module."""
    command = (sys.executable, "-m", "lab.system.databases.tokens")
    environment = {**os.environ, **OWN_MODULES}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return Path(done.stdout.strip())


def _email(token: str) -> bytes:
    payload = token.split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    return str(claims["email"]).encode()
