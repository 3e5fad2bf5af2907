"""What a JVM's log of garbage collections (``-Xlog:gc``) says of its heap."""

from __future__ import annotations

import re

_full = re.compile(r"Pause Full .*->(\d+)M\((\d+)M\)")
# The last of them show it; one that frees little may be followed by one that frees much.
LAST_PAUSES, LEFT_SHARE = 3, 0.95


def shows_full_heap(log: str) -> bool:
    """Whether the last collections stopped everything, and freed next to nothing: the JVM does hardly anything else.

    Args:
        log: lines such as ``[8.2s][info][gc] GC(41) Pause Full (Allocation Failure) 1023M->1022M(1024M) 1513.3ms``.

    """
    pauses = [line for line in log.splitlines() if " Pause " in line and "->" in line][-LAST_PAUSES:]
    sizes = [tuple(map(int, match.groups())) for line in pauses if (match := _full.search(line))]
    return len(sizes) == LAST_PAUSES and all(left >= LEFT_SHARE * heap for left, heap in sizes)
