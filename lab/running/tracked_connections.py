"""Waits until the kernel can track the connections of a load, where a firewall or Docker has it track them."""

from __future__ import annotations

import time

from lab.running.progress import Reporter
from lab.runtimes import host

# A user's connection through a balancer is two.
CONNECTIONS_A_USER = 2
# The kernel may forget a connection two minutes after its end (nf_conntrack_tcp_timeout_time_wait), and looks for such
# once a minute.
FORGOTTEN_WITHIN_S, EVERY_S = 190.0, 0.25


def await_room(users: int, reporter: Reporter) -> None:
    """Wait until as many users can connect; not where the kernel could never track so many, and three minutes at most.

    A warm-up connects all users anew in each of its rounds, and the kernel drops the packets of those that it cannot
    track: they would connect seconds later, in the warm-up or in the measured load.
    """
    needed, found = CONNECTIONS_A_USER * users, host.tracked_connections()
    if not found or needed > found[1] or found[1] - found[0] >= needed:
        return
    count, most = found
    reporter.say(
        f"  waits for the kernel, which tracks {count:,} connections of {most:,}, to forget those that have ended, "
        f"three minutes at most. To raise that: {host.more_tracked(4 * most)}",
        "waits",
        "yellow",
    )
    deadline = time.monotonic() + FORGOTTEN_WITHIN_S
    while found and found[1] - found[0] < needed and time.monotonic() < deadline:
        time.sleep(EVERY_S)
        found = host.tracked_connections()
