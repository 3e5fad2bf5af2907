"""Temporary folders go with their context, and those of a killed lab with the next one that is made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from patience import await_that

from lab.errors import LabError
from lab.runtimes import identity, temporary
from lab.runtimes.process import ProcessRuntime
from lab.system.images import bases
from lab.system.images.builder import Builder

DOOMED = """
import os, signal
from lab.runtimes import temporary
with temporary.folder() as folder:
    (folder / "much").write_text("data")
    print(folder, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def tmpdir(tmp_path, monkeypatch) -> Path:
    """A folder for tmpdir files that is this test's alone."""
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return Path(tmp_path)


def aged(folder: Path) -> Path:
    """The same folder, as if it had been made a while ago."""
    os.utime(folder, (0, 0))
    return folder


def test_a_folder_goes_with_its_context(tmpdir):
    """With everything in it, also if a command in it fails."""
    with ProcessRuntime() as runtime:
        builder = Builder(None, runtime, lambda line: None)
        with pytest.raises(LabError, match="exited with status 3"):
            builder.on_host(("sh", "-c", 'echo text > "$TMPDIR/file"; exit 3'))
    assert list(tmpdir.iterdir()) == []


def test_the_folder_of_a_killed_lab_goes_when_the_next_is_made(tmpdir):
    """One that is in use stays, however old, and so does one that was made this moment."""
    killed = subprocess.run([sys.executable, "-c", DOOMED], capture_output=True, text=True, check=False)
    assert killed.returncode == -signal.SIGKILL
    left = aged(Path(killed.stdout.strip()))
    assert (left / "much").exists()
    young = tmpdir / f"lab-scratch-{identity.mine()}-young"
    young.mkdir()
    with temporary.folder() as used:
        aged(used)
        with temporary.folder() as other:
            assert set(tmpdir.iterdir()) == {used, other, young}


@pytest.mark.skipif(not bases._own_mounts(), reason="only root mounts where others see it")
def test_a_mount_does_not_outlive_the_command_that_made_it(tmpdir):
    """Not even on the way: the rest of the machine never sees it, and what it leaves is in a folder of the lab's."""
    program = 'test -d "$TMPDIR" && mount -t tmpfs scratch "$TMPDIR" && ! grep "$TMPDIR" /proc/$0/mounts'
    with ProcessRuntime() as runtime:
        builder = Builder(None, runtime, lambda line: None)
        builder.on_host((*bases._own_mounts(), "sh", "-c", program, str(os.getpid())))
    assert list(tmpdir.iterdir()) == []


# A lab that is killed while it writes a file, with a runtime or two.
HALF_WRITTEN = """
import os, signal, sys
from contextlib import ExitStack
from pathlib import Path
from lab.runtimes import temporary
from lab.runtimes.process import ProcessRuntime
with ExitStack() as stack:
    for _ in range(int(sys.argv[2])):
        stack.enter_context(ProcessRuntime())
    with temporary.whole_file(Path(sys.argv[1]), private=True) as unfinished:
        unfinished.write_text("half")
        assert unfinished.exists()
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("runtimes", [1, 2])
def test_a_lab_killed_while_it_writes_a_file_leaves_nothing_of_it(tmp_path, runtimes):
    """It may be a secret, and nobody comes by its place again."""
    folder = tmp_path / "folder"
    folder.mkdir()
    command = [sys.executable, "-c", HALF_WRITTEN, str(folder / "file"), str(runtimes)]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    await_that(lambda: not any(folder.iterdir()))


def test_a_file_is_written_without_a_runtime_too(tmp_path):
    """Such as by a worker, which nobody guards; and when the runtime has ended."""
    with ProcessRuntime():
        pass
    with temporary.whole_file(tmp_path / "file") as unfinished:
        unfinished.write_text("whole")
    assert (tmp_path / "file").read_text() == "whole"


def test_a_file_that_cannot_be_written_stays_as_it_was(tmp_path):
    """Nothing is left beside it, and the error names it, and not what was written aside."""
    file = tmp_path / "file"
    file.write_text("whole")

    def write() -> None:
        with temporary.whole_file(file) as unfinished:
            unfinished.write_text("half")
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left") as failed:
        write()
    assert failed.value.filename == str(file)
    assert file.read_text() == "whole"
    assert list(tmp_path.iterdir()) == [file]
