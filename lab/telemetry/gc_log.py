"""What a JVM's log of garbage collections (``-Xlog:gc``) says of its heap."""

from __future__ import annotations

import re

_pause = re.compile(r"Pause (.*?) \d+M->(\d+)M\((\d+)M\)")
# Single collections leave much where objects are about to die, or are moved before others are freed.
LAST_PAUSES, LEFT_SHARE = 6, 0.95


def shows_full_heap(log: str) -> bool:
    """Whether a JVM's heap stays full, however often it is collected: it does hardly anything else then.

    Args:
        log: lines such as ``[8.2s][info][gc] GC(41) Pause Full (Allocation Failure) 1023M->1022M(1024M) 1513.3ms``.

    Returns:
        Whether the last pauses, at least one of them a full collection, left nearly all of the heap in use.

    """
    pauses = [match.groups() for match in _pause.finditer(log)][-LAST_PAUSES:]
    stays = all(int(left) >= LEFT_SHARE * int(heap) for _, left, heap in pauses)
    return len(pauses) == LAST_PAUSES and stays and any(kind.startswith("Full") for kind, _, _ in pauses)
