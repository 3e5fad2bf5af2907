"""Requests to what the lab has started go there, whatever the shell says about others."""

from __future__ import annotations

from any_server import serving
from patience import PATIENCE_S

from lab.runtimes import loopback


def test_neither_a_proxy_nor_a_login_is_used(monkeypatch, tmp_path):
    """Of the environment and of .netrc, which requests obeys by itself."""
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password geheim\n")
    monkeypatch.setenv("NETRC", str(netrc))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with serving() as server:
        assert loopback.get(f"{server.url}/ok", PATIENCE_S).text == "ok"
        ((_, head),) = server.heads
    assert "Authorization" not in head
