"""HTTP to what the lab itself has started on this machine."""

from __future__ import annotations

import requests


def get(url: str, timeout_s: float) -> requests.Response:
    """The answer to a GET; neither a proxy nor a login that the shell or ``.netrc`` has is for this."""
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, timeout=timeout_s)
