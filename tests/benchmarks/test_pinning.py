"""Pinnings are counted where there are some, and not where there are none."""

from __future__ import annotations

import subprocess

import pytest
from pinning import pinnings, recorded

from lab.system import java_releases

pytestmark = [pytest.mark.java, pytest.mark.thorough]

# What a thread takes to begin to wait comes off its wait: one wait before the recording has all classes loaded, and a
# machine that stands still for a moment takes little of waits that are as long as these.
WAIT_S = 0.5
WAITS = f"""
public class Waits {{
    public static void main(String[] args) throws Exception {{
        pinned();
        System.out.println("ready");
        System.in.read();
        long began = System.nanoTime();
        for (int i = 0; i < 3; i++) {{
            pinned();
        }}
        System.out.println(System.nanoTime() - began);
        System.in.read();
    }}

    private static void pinned() throws InterruptedException {{
        Thread.ofVirtual().start(() -> {{
            synchronized (Waits.class) {{
                try {{ Thread.sleep({1000 * WAIT_S:.0f}); }} catch (InterruptedException ex) {{ }}
            }}
        }}).join();
    }}
}}
"""


@pytest.mark.parametrize(("release", "times"), [(21, 3), (25, 0)])
def test_a_wait_in_a_synchronized_block_pins_on_java_21_only(release, times, jdk, runtime, tmp_path):
    """Three waits, all in the same method."""
    (tmp_path / "Waits.java").write_text(WAITS)
    compiler = (jdk.home / "bin" / "javac", "--release", "21", "Waits.java")
    subprocess.run(compiler, cwd=tmp_path, check=True)
    java = java_releases.installed({release: ["mvc"]}, runtime, print)[release].java
    with subprocess.Popen(
        (java, "Waits"), cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as waiting:
        assert waiting.stdin
        assert waiting.stdout
        assert waiting.stdout.readline() == b"ready\n"
        with recorded(release, waiting.pid, tmp_path / "pinned.jfr"):
            waiting.stdin.write(b"1")
            took_s = int(waiting.stdout.readline()) / 1e9
        waiting.stdin.write(b"2")
    events, pinned_s, waits, _, longest_in = pinnings(tmp_path / "pinned.jfr")
    assert (events, waits) == (times, 0)
    assert times * WAIT_S * 0.9 <= pinned_s <= took_s
    assert longest_in == ("Waits.lambda$pinned$0" if times else "")
