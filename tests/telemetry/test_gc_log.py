"""A heap that is full is told from its garbage collector's log, and from no other course of collections."""

import pytest

from lab.telemetry.gc_log import shows_full_heap

YOUNG = "[0.5s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 1900M->1000M(2048M) 12.1ms"
FULL_OF_G1 = "[9.1s][info][gc] GC(41) Pause Full (G1 Compaction Pause) 2047M->2046M(2048M) 1513.3ms"
FULL_OF_SERIAL = "[9.1s][info][gc] GC(42) Pause Full (Allocation Failure) 61M->61M(61M) 91.3ms"
FREEING = "[9.1s][info][gc] GC(43) Pause Full (G1 Compaction Pause) 2047M->900M(2048M) 1513.3ms"
BESIDE = "[9.2s][info][gc] GC(44) Concurrent Mark Cycle 12.3ms"


@pytest.mark.parametrize(
    ("lines", "full"),
    [
        ([], False),
        ([FULL_OF_G1, FULL_OF_G1], False),
        ([YOUNG, FULL_OF_G1, FULL_OF_G1, FULL_OF_G1], True),
        ([YOUNG, FULL_OF_SERIAL, BESIDE, FULL_OF_SERIAL, FULL_OF_SERIAL], True),
        ([FULL_OF_G1, FULL_OF_G1, FULL_OF_G1, YOUNG], False),
        ([FULL_OF_G1, FREEING, FULL_OF_G1], False),
    ],
)
def test_a_heap_is_full_where_full_collections_free_nothing_any_more(lines, full):
    """Three in a row, the last that there were; what runs beside the service does not count."""
    assert shows_full_heap("\n".join(lines)) == full
