"""What the tests of services that the lab did not start share: one to load, and a folder for the runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from any_server import AnyServer, serving


@pytest.fixture(scope="module")
def server() -> Iterator[AnyServer]:
    """A service on loopback."""
    with serving() as started:
        yield started


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of this module's runs."""
    return tmp_path_factory.mktemp("runs")
