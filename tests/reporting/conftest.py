"""What tests of tables and reports share: pictures without content."""

from __future__ import annotations

import pytest

from lab.reporting.figures.style import Picture


@pytest.fixture
def words_only(monkeypatch) -> None:
    """Leave the pictures of a report empty: tests that read its words need not wait for a second a picture."""
    monkeypatch.setattr(Picture, "png", lambda self, dpi=0: b"")
