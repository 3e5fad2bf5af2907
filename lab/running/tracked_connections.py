"""Waits until the kernel can track the connections of a load, where a firewall or Docker has it track them."""

from __future__ import annotations

import time

from lab.running.progress import Reporter
from lab.runtimes import host

# The kernel may forget a connection two minutes after its end (nf_conntrack_tcp_timeout_time_wait), and looks for such
# once a minute.
FORGOTTEN_WITHIN_S, EVERY_S = 190.0, 0.25


class TrackedConnections:
    """The room for connections in the kernel's table, for which the loads of a run wait as long as that helps."""

    def __init__(self) -> None:
        self._waits_in_vain = False

    def await_room(self, needed: int, reporter: Reporter, within_s: float = FORGOTTEN_WITHIN_S) -> bool:
        """Wait until the kernel can track so many more; not where it never could, or waiting was in vain before.

        A warm-up connects all users anew in each of its rounds, and the kernel drops the packets of those that it
        cannot track: they would connect seconds later, in the warm-up or in the measured load.

        Returns:
            Whether it waited at all.

        """
        found = host.tracked_connections()
        if self._waits_in_vain or not found or needed > found[1] or found[1] - found[0] >= needed:
            return False
        count, most = found
        reporter.say(
            f"  waits for the kernel, which tracks {count:,} connections of {most:,}, to forget those that have ended, "
            f"three minutes at most. To raise that: {host.more_tracked(4 * most)}",
            "waits",
            "yellow",
        )
        deadline = time.monotonic() + within_s
        while found and found[1] - found[0] < needed and time.monotonic() < deadline:
            time.sleep(EVERY_S)
            found = host.tracked_connections()
        if found and found[1] - found[0] < needed:
            self._waits_in_vain = True
            reporter.say(
                "  it has not forgotten enough: other programs have these connections, and those of this run may be "
                "dropped, which its verdicts tell",
                "dropped",
                "yellow",
            )
        return True
