"""Our Java grep finds what GNU grep finds, byte for byte, and says of whatever it does not read that it did not."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from patience import PATIENCE_S

from lab.experiments.grep.scenario import GNU_GREP, RIPGREP, WORD
from lab.runtimes.process import ProcessRuntime
from lab.system import build
from lab.system.jdk import Jdk

pytestmark = pytest.mark.java

WAYS = [("platform", "buffered"), ("platform", "random"), ("platform", "nio"), ("virtual", "nio"), ("one", "buffered")]
Done = subprocess.CompletedProcess[bytes]
Out = int | IO[bytes]


@pytest.fixture(scope="module")
def jar(jdk: Jdk) -> Path:
    """Our program."""
    with ProcessRuntime() as runtime:
        return build.jars({"grep"}, jdk, runtime, lambda _: None)["grep"]


@pytest.fixture(scope="module")
def ours(jdk: Jdk, jar: Path) -> Callable[..., Done]:
    """A function that searches with our program."""

    def search(
        folder: Path | str,
        *ending: str,
        way: tuple[str, str] = WAYS[0],
        word: str = WORD,
        out: Out = subprocess.PIPE,
        locale: str = "C.UTF-8",
    ) -> Done:
        return executed(jdk.java, "-jar", str(jar), *way, word, str(folder), *ending, out=out, locale=locale)

    return search


def executed(*command: str, locale: str = "C.UTF-8", out: Out = subprocess.PIPE, **user: Any) -> Done:
    """A program, executed to its end."""
    around = {**os.environ, "LC_ALL": locale}
    return subprocess.run(
        command, env=around, stdout=out, stderr=subprocess.PIPE, timeout=PATIENCE_S, check=False, **user
    )


def gnu(folder: Path | str, locale: str = "C.UTF-8", word: str = WORD) -> Done:
    """GNU grep as the scenario executes it."""
    return executed(*GNU_GREP[:-2], word, str(folder), locale=locale)


def lines(done: Done) -> list[bytes]:
    """What a program printed, in any order."""
    return sorted(done.stdout.split(b"\n"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every kind of file that a search may meet."""
    folder = tmp_path_factory.mktemp("hostile")
    word = WORD.encode()
    contents = {
        "plain.txt": b"one\n" + word + b" two\nthree " + word + b"\n",
        "last line without an end.txt": b"one\n" + word,
        "only the word.txt": word,
        "twice in a line.txt": word + word + b" " + word + b"\n",
        "empty.txt": b"",
        "empty lines.txt": b"\n\n" + word + b"\n\n",
        "windows.txt": b"one\r\n" + word + b"\r\n\r" + word + b"\r",
        "binary.bin": b"\0\1\2" + word + b"\0\n\xff\xfe" + word + b"\n\0",
        "utf-16.txt": "\ufeffnamespace\n".encode("utf-16"),
        "not utf-8.txt": b"\xe4\xf6" + word + b"\xfc\n\xc3" + word + b"\n",
        "long line.txt": b"x" * 3_000_000 + word + b"y" * 300_000 + b"\n" + word,
        "across pieces.txt": b"".join(b"z" * (262_144 - 5 - i) + word + b"\n" for i in range(12)),
        "end at a piece.txt": (b"a" * 4_095 + b"\n") * 64 + word + b"\n",
        " blanks  and\ttabs .txt": word,
        "a\nline\nfeed.txt": word + b"\n",
        "-e": word,
        "ümläut %41 %.txt": word,
        "*?[a].txt": word,
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    Path(os.fsdecode(bytes(folder) + b"/inside")).mkdir()
    (folder / "inside" / ".hidden").mkdir()
    (folder / "inside" / ".hidden" / ".file").write_bytes(word)
    (folder / ".gitignore").write_text("*\n")
    (folder / "loop").symlink_to(folder)
    (folder / "inside" / "up").symlink_to("..")
    (folder / "dangling").symlink_to("nowhere")
    (folder / "to a file").symlink_to("plain.txt")
    os.mkfifo(folder / "pipe")
    return folder


@pytest.mark.parametrize("way", WAYS)
def test_it_finds_the_lines_that_gnu_grep_finds(ours, hostile, way):
    """Of any file, whatever its name, in both locales; and so does ripgrep with the options of the scenario."""
    found = ours(hostile, way=way)
    assert (found.returncode, lines(found)) == (0, lines(gnu(hostile)))
    assert lines(found) == lines(gnu(hostile, "C"))
    assert lines(ours(hostile, way=("one", "nio"), locale="C")) == lines(found)
    assert len(lines(found)) > 30


def test_ripgrep_finds_them_too(hostile):
    """With the options of the scenario; where it is installed."""
    if not any((Path(folder) / "rg").exists() for folder in os.get_exec_path()):
        pytest.skip("ripgrep is not installed")
    assert lines(executed(*RIPGREP, WORD, str(hostile))) == lines(gnu(hostile))


def test_what_it_does_not_read_it_says(ours, hostile):
    """Links, which could lead in circles, and what is no file: counted, and not silently left out."""
    said = ours(hostile).stderr.decode()
    assert said.splitlines() == ["grep: 4 not followed: symbolic links", "grep: 1 not read: neither files nor folders"]


def test_only_files_of_an_ending(ours, hostile):
    """As the published program did; the others are counted."""
    found = ours(hostile, ".txt")
    named = [line for line in gnu(hostile).stdout.split(str(hostile).encode() + b"/") if b".txt:" in line]
    assert len(found.stdout.split(str(hostile).encode() + b"/")) - 1 == len(named)
    assert b"4 not searched: files whose names do not end with .txt" in found.stderr


@pytest.mark.parametrize("root", [".", "./", "inside", "inside/", "inside/..", "loop"])
def test_names_begin_with_the_folder_as_it_was_asked_for(ours, hostile, root, monkeypatch):
    """Also where it is a link: those of the command line are followed."""
    monkeypatch.chdir(hostile)
    assert lines(ours(root)) == lines(gnu(root))


def test_names_that_are_no_text(ours, tmp_path):
    """Such a file is read by NIO, which takes names as bytes, and named by the others, which take text."""
    try:
        Path(os.fsdecode(bytes(tmp_path) + b"/\xff\xe4.txt")).write_text(f"{WORD}\n")
    except OSError:
        pytest.skip("this file system has no such names")
    assert lines(ours(tmp_path, way=("one", "nio"))) == lines(gnu(tmp_path))
    refused = ours(tmp_path, way=("one", "buffered"))
    assert refused.returncode == 2
    assert refused.stderr == b"grep: " + bytes(tmp_path) + b"/\xff\xe4.txt: No such file or directory\n"


@pytest.mark.skipif(sys.platform != "linux", reason="there is no file that fails when it is read")
@pytest.mark.parametrize("way", WAYS)
def test_a_file_that_cannot_be_read_is_named(ours, way):
    """With its reason, as by GNU grep, and a status that is no success."""
    theirs, found = gnu("/proc/self/mem"), ours("/proc/self/mem", way=way)
    assert (found.returncode, found.stdout) == (theirs.returncode, theirs.stdout) == (2, b"")
    assert found.stderr == theirs.stderr == b"grep: /proc/self/mem: Input/output error\n"


@pytest.fixture
def for_all() -> Iterator[Path]:
    """A folder that every user can read, below folders of which that is so."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.parametrize("way", WAYS)
def test_what_it_may_not_read_is_named(jdk, jar, for_all, way):
    """Files and folders; the others are searched all the same. Permissions do not stop root, who becomes nobody."""
    program, tree = shutil.copy(jar, for_all), for_all / "tree"
    (tree / "folder").mkdir(parents=True)
    for name in ("closed.txt", "open.txt"):
        (tree / name).write_text(WORD)
    (tree / "closed.txt").chmod(0)
    (tree / "folder").chmod(0)
    user = {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []} if os.geteuid() == 0 else {}
    theirs = executed(*GNU_GREP[:-2], WORD, str(tree), cwd=for_all, **user)
    found = executed(jdk.java, "-jar", program, *way, WORD, str(tree), cwd=for_all, **user)
    assert (found.returncode, lines(found)) == (theirs.returncode, lines(theirs))
    assert theirs.returncode == 2
    assert sorted(found.stderr.splitlines()) == sorted(theirs.stderr.splitlines())


def test_what_is_not_there_is_named(ours, tmp_path):
    """A folder that does not exist."""
    found, theirs = ours(tmp_path / "gone"), gnu(tmp_path / "gone")
    assert (found.returncode, found.stderr) == (theirs.returncode, theirs.stderr)


@pytest.mark.parametrize("way", WAYS)
def test_what_cannot_be_printed_is_no_success(ours, tmp_path, way):
    """A disk that is full, say: as by GNU grep, said once, by whichever thread finds it."""
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text(WORD)
    with Path("/dev/full").open("wb") as full:
        found = ours(tmp_path, way=way, out=full)
    assert (found.returncode, found.stderr) == (2, b"grep: write error: No space left on device\n")


def test_nothing_found_is_no_success(ours, tmp_path):
    """As by GNU grep: 1, and nothing is printed."""
    (tmp_path / "other.txt").write_text("something else\n")
    found = ours(tmp_path)
    assert (found.returncode, found.stdout, found.stderr) == (1, b"", b"")


@pytest.mark.parametrize("word", ["", "two\nlines"])
def test_what_cannot_be_searched_for_is_refused(ours, tmp_path, word):
    """No line has a line feed in it, and every line an empty string."""
    found = ours(tmp_path, word=word)
    assert found.returncode == 2
    assert b"usage" in found.stderr


def linked(source: str, to: str) -> None:
    """Have a file under a second name; a copy of it where that is on another file system."""
    try:
        os.link(source, to)
    except OSError:
        shutil.copy(source, to)


@pytest.mark.parametrize("way", [WAYS[0], *(pytest.param(way, marks=pytest.mark.thorough) for way in WAYS[1:])])
def test_a_tree_that_nobody_made_for_it(ours, way, tmp_path):
    """The local Maven repository: jars, poms, checksums. Every line is GNU grep's."""
    # As it is now: tests beside this one may build, which adds to it.
    repository = tmp_path / "repository"
    coming = shutil.ignore_patterns("*.tmp", "*.part", "*.lock", "*.lastUpdated")
    shutil.copytree(Path.home() / ".m2" / "repository", repository, copy_function=linked, ignore=coming)
    found, theirs = ours(repository, way=way, word="artifactId"), gnu(repository, word="artifactId")
    assert found.returncode == theirs.returncode == 0
    assert len(lines(theirs)) > 1000
    assert lines(found) == lines(theirs)
