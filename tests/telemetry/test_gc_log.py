"""A heap that stays full is told from its garbage collector's log, and from no other course of collections."""

import pytest

from lab.telemetry.gc_log import shows_full_heap

FREEING = "[0.5s][info][gc] GC(0) Pause Young (Normal) (G1 Evacuation Pause) 1900M->1000M(2048M) 12.1ms"
YOUNG = "[9.0s][info][gc] GC(40) Pause Young (Concurrent Start) (G1 Evacuation Pause) 2047M->2047M(2048M) 5.1ms"
FULL = "[9.1s][info][gc] GC(41) Pause Full (G1 Compaction Pause) 2047M->2046M(2048M) 1513.3ms"
OF_SERIAL = "[9.1s][info][gc] GC(42) Pause Full (Allocation Failure) 61M->61M(61M) 91.3ms"
JUST_NOT = "[9.1s][info][gc] GC(43) Pause Full (G1 Compaction Pause) 2047M->1940M(2048M) 1513.3ms"
BESIDE = "[9.2s][info][gc] GC(44) Concurrent Mark Cycle 12.3ms"


@pytest.mark.parametrize(
    ("lines", "full"),
    [
        ([], False),
        ([FULL] * 5, False),
        ([FREEING] + [FULL] * 6, True),
        ([YOUNG, FULL] * 3, True),
        ([OF_SERIAL, BESIDE] * 6, True),
        ([YOUNG] * 6, False),
        ([*[FULL] * 6, FREEING], False),
        ([*[FULL] * 5, JUST_NOT], False),
    ],
)
def test_a_heap_stays_full_where_no_collection_frees_any_more(lines, full):
    """Six in a row, the last that there were; what runs beside the service does not count."""
    assert shows_full_heap("\n".join(lines)) == full
