"""Pinnings are counted where there are some, and not where there are none."""

from __future__ import annotations

import subprocess

import pytest
from pinning import pinnings, recorded

from lab.system import java_releases

pytestmark = [pytest.mark.java, pytest.mark.thorough]

WAITS = """
public class Waits {
    public static void main(String[] args) throws Exception {
        System.in.read();
        for (int i = 0; i < 3; i++) {
            Thread.ofVirtual().start(() -> {
                synchronized (Waits.class) {
                    try { Thread.sleep(50); } catch (InterruptedException ex) { }
                }
            }).join();
        }
        System.out.println("done");
        System.in.read();
    }
}
"""


@pytest.mark.parametrize(("release", "times"), [(21, 3), (25, 0)])
def test_a_wait_in_a_synchronized_block_pins_on_java_21_only(release, times, jdk, runtime, tmp_path):
    """Three waits of 50 ms each, all in the same method."""
    (tmp_path / "Waits.java").write_text(WAITS)
    compiler = (jdk.home / "bin" / "javac", "--release", "21", "Waits.java")
    subprocess.run(compiler, cwd=tmp_path, check=True)
    java = java_releases.installed({release: ["mvc"]}, runtime, print)[release].java
    with subprocess.Popen(
        (java, "Waits"), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as waiting:
        assert waiting.stdin
        assert waiting.stdout
        with recorded(release, waiting.pid, tmp_path / "pinned.jfr"):
            waiting.stdin.write(b"1")
            assert waiting.stdout.readline() == b"done\n"
        waiting.stdin.write(b"2")
    events, pinned_s, waits, _, longest_in = pinnings(tmp_path / "pinned.jfr")
    assert (events, waits) == (times, 0)
    assert pinned_s >= 0.05 * times * 0.9
    assert longest_in == ("Waits.lambda$main$0" if times else "")
