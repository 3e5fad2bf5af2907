"""HTTP to what the lab itself has started on this machine."""

from __future__ import annotations

from collections.abc import Mapping

import requests


def get(url: str, timeout_s: float, query: Mapping[str, str] | None = None) -> requests.Response:
    """The answer to a GET; neither a proxy nor a login that the shell or ``.netrc`` has is for this."""
    with requests.Session() as session:
        session.trust_env = False
        return session.get(url, params=query, timeout=timeout_s)


def delete(url: str, timeout_s: float) -> requests.Response:
    """The answer to a DELETE, with the same precautions."""
    with requests.Session() as session:
        session.trust_env = False
        return session.delete(url, timeout=timeout_s)


def post(url: str, values: Mapping[str, int | str], timeout_s: float) -> requests.Response:
    """The answer to a POST of some values as JSON, with the same precautions."""
    with requests.Session() as session:
        session.trust_env = False
        return session.post(url, json=values, timeout=timeout_s)
