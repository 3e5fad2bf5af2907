"""A process that says its port by a file: waited for while it lives, and for so long."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

import pytest
from patience import PATIENCE_S

from lab.errors import LabError
from lab.runtimes import Launch, waiting
from lab.runtimes.port_file import awaited_port, port_in
from lab.runtimes.process import ProcessRuntime

FOREVER = "import time; time.sleep(600)"


def launch_of(program: str, folder: Path) -> Launch:
    """A Python program of this text, with the file as its only argument."""
    return Launch("starter", (sys.executable, "-c", program, str(folder / "port")), folder / "log")


def test_the_port_is_returned_when_it_is_written(runtime: ProcessRuntime, tmp_path):
    """An empty file, as it is before its text, is none."""
    program = f"import sys; open(sys.argv[1], 'w').write(''); open(sys.argv[1], 'w').write('4711\\n'); {FOREVER}"
    with runtime.started(launch_of(program, tmp_path)) as running:
        assert awaited_port(running, tmp_path / "port") == 4711


@pytest.mark.parametrize("text", [None, "", "none", "80 80", b"\xff\xfe"])
def test_what_is_no_port_is_none(tmp_path, text):
    """It may come yet."""
    if text is not None:
        (tmp_path / "port").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert port_in(tmp_path / "port") is None


def test_a_pipe_in_its_place_holds_nobody_up(tmp_path):
    """Opening one would wait for a writer, and what was started may never be one."""
    os.mkfifo(tmp_path / "port")
    found = []
    reader = threading.Thread(target=lambda: found.append(port_in(tmp_path / "port")), daemon=True)
    reader.start()
    reader.join(PATIENCE_S)
    assert found == [None]


def test_one_that_ends_is_not_waited_for(runtime: ProcessRuntime, tmp_path):
    """The sentence has how it ended, and what it said last."""
    with (
        runtime.started(launch_of("raise SystemExit('no luck')", tmp_path)) as running,
        pytest.raises(LabError, match="The starter exited with status 1 while it started") as caught,
    ):
        awaited_port(running, tmp_path / "port")
    assert "no luck" in caught.value.detail


def test_one_that_writes_no_port_is_not_waited_for_without_end(runtime: ProcessRuntime, tmp_path, monkeypatch):
    """The sentence has the next step that the caller knows."""
    monkeypatch.setattr(waiting, "READY_WITHIN_S", 0.1)
    with (
        runtime.started(launch_of(FOREVER, tmp_path)) as running,
        pytest.raises(LabError, match="The starter did not write its port within 0 s") as caught,
    ):
        awaited_port(running, tmp_path / "port", "Look.")
    assert caught.value.next_step == "Look."
