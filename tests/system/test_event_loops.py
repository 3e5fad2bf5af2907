"""Nothing blocks an event loop: BlockHound watches WebFlux's threads while each endpoint is asked."""

from __future__ import annotations

import platform
import shutil
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from lab.system import build, maven

COUNTS = ("tests", "failures", "errors", "skipped")

pytestmark = [pytest.mark.java, pytest.mark.thorough]


@pytest.mark.skipif(
    (platform.system(), platform.machine()) != ("Linux", "x86_64"),
    reason="the tests' own MariaDB is there for Linux on x86-64 only",
)
def test_no_request_blocks_an_event_loop(jdk, runtime):
    """All of the module's tests are run, none is skipped, and all pass.

    They are built from a copy of the sources, so that what runs use meanwhile is left alone.
    """
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "services"
        shutil.copytree(build.SERVICES, copy, ignore=shutil.ignore_patterns("target", ".*"))
        maven.run(copy, ["event-loops"], ("test", "-Ptests"), jdk.home, runtime, print)
        reports = (copy / "event-loops" / "target" / "surefire-reports").glob("TEST-*.xml")
        suites = [ElementTree.parse(report).getroot() for report in reports]
    counted = {what: sum(int(suite.get(what, 0)) for suite in suites) for what in COUNTS}
    assert counted.pop("tests") > 0
    assert not any(counted.values()), counted
