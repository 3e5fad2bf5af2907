"""Two places for a request to be noted: the lab's own record, and Locust's statistics."""

from __future__ import annotations

import struct
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from locust.stats import RequestStats

from lab.generator.locust import recorder
from lab.generator.locust.answer import Response
from lab.generator.locust.recorder import Recorder, RequestFailed, add_to_statistics
from lab.spec import sample

UNIX_START = 1_800_000_000.0


def random_rows(n: int, seed: int = 1) -> np.ndarray:
    """Records of three names, with failures of several classes among them, and answers that are fallbacks."""
    rng = np.random.default_rng(seed)
    rows = np.zeros(n, dtype=sample.RECORD)
    rows["sent_us"] = rng.integers(0, 5_000_000, n)
    rows["latency_us"] = rng.integers(1, 20_000_000, n)
    rows["bytes"] = rng.integers(0, 2_000_000, n)
    rows["name"] = rng.integers(0, 3, n)
    outcomes = [sample.OK, sample.OK, sample.STATUS, sample.RESET, sample.WRONG_BODY, sample.FALLBACK]
    rows["error"] = rng.choice(outcomes, n)
    rows["status"] = np.where(rows["error"] == sample.STATUS, rng.choice([500, 503], n), 200)
    return rows


def one_by_one(stats: RequestStats, rows: np.ndarray, names: list[tuple[str, str]], monkeypatch) -> None:
    """What Locust does for one event a request, at the time at which that request ended."""
    for row in rows[np.argsort(rows["sent_us"] + rows["latency_us"], kind="stable")]:
        ended = UNIX_START + (int(row["sent_us"]) + int(row["latency_us"])) / 1e6
        monkeypatch.setattr("locust.stats.time.time", lambda ended=ended: ended)
        method, name = names[row["name"]]
        stats.log_request(method, name, int(row["latency_us"]) / 1000, int(row["bytes"]))
        if row["error"] not in (sample.OK, sample.FALLBACK):
            stats.log_error(method, name, RequestFailed(int(row["error"]), int(row["status"])))
    monkeypatch.undo()


def facts(stats: RequestStats) -> dict[str, dict]:
    """What Locust shows of each entry and of the total, as plain values."""
    entries = {" ".join(of): entry for of, entry in stats.entries.items()} | {"total": stats.total}
    return {
        name: {
            "requests": entry.num_requests,
            "failures": entry.num_failures,
            "a_second": dict(entry.num_reqs_per_sec),
            "failed_a_second": dict(entry.num_fail_per_sec),
            "histogram": dict(entry.response_times),
            "bytes": entry.total_content_length,
            "fastest": entry.min_response_time,
            "slowest": entry.max_response_time,
        }
        for name, entry in entries.items()
    }


def errors(stats: RequestStats) -> dict[str, int]:
    """How often each error occurred."""
    return {error.to_name(): error.occurrences for error in stats.errors.values()}


def both(rows: np.ndarray, monkeypatch, parts: int = 1) -> tuple[RequestStats, RequestStats]:
    """The same records fed in bulk, in some parts, and one by one."""
    names = [("GET", "/a"), ("POST", "/a"), ("GET", "/c")]
    bulk, single = RequestStats(use_response_times_cache=False), RequestStats(use_response_times_cache=False)
    for part in np.array_split(rows, parts):
        add_to_statistics(bulk, part.tobytes(), names, UNIX_START)
    one_by_one(single, rows, names, monkeypatch)
    return bulk, single


@pytest.mark.parametrize("parts", [1, 2, 7])
def test_bulk_feeding_counts_as_locust_does(monkeypatch, parts):
    """Fed at once or in parts, Locust's statistics are those of one event a request."""
    bulk, single = both(random_rows(700), monkeypatch, parts)
    expected, got = facts(single), facts(bulk)
    assert got.keys() == expected.keys()
    for name in expected:
        for key in expected[name]:
            assert got[name][key] == expected[name][key], f"{name}: {key}"
    assert errors(bulk) == errors(single)
    assert sum(errors(bulk).values()) == bulk.total.num_failures > 0


def test_times_just_below_a_millisecond_are_rounded_as_locust_does(monkeypatch):
    """Locust rounds a response time of 1.7 ms to 2 ms, not to 1 ms."""
    rows = np.zeros(4, dtype=sample.RECORD)
    rows["latency_us"] = [1_700, 99_600, 154_900, 994_999]
    bulk, single = both(rows, monkeypatch)
    assert dict(bulk.total.response_times) == dict(single.total.response_times)


def test_averages_and_the_last_request_are_those_of_locust(monkeypatch):
    """Mean response time and the time of the last request agree, too."""
    bulk, single = both(random_rows(300), monkeypatch, 3)
    assert bulk.total.avg_response_time == pytest.approx(single.total.avg_response_time)
    assert bulk.total.last_request_timestamp == pytest.approx(single.total.last_request_timestamp, abs=1e-3)


@pytest.mark.parametrize("parts", [1, 3])
def test_an_error_tells_when_it_was_seen(monkeypatch, parts):
    """Locust's failure table shows when an error was first and last seen: that one, and not another of its name."""
    bulk, single = both(random_rows(200), monkeypatch, parts)
    seen, expected = (
        {key: (error.first_seen, error.last_seen) for key, error in stats.errors.items()} for stats in (bulk, single)
    )
    assert len(set(expected.values())) > 3
    assert seen.keys() == expected.keys()
    assert all(seen[key] == pytest.approx(expected[key], abs=1e-6) for key in expected)


def test_a_body_of_more_than_two_gib_is_recorded_with_the_most_that_a_sample_holds():
    """Its time counts as any other's, and what a load was is no error of its locustfile."""
    of = Recorder(0)
    sink = of.sink(0)
    sink.begin_session()
    for size in (1, sample.MOST_BYTES, sample.MOST_BYTES + 1, 1 << 40):
        sink.began()
        sink.ended("large", (0, 0, 0, 1_000_000, 1_000_000), Response(200, b"", sample.OK, size))
    rows = np.frombuffer(of.take(), sample.RECORD)
    assert rows["bytes"].tolist() == [1, *[2**31 - 1] * 3]
    assert of.finished == len(rows) == 4


def test_what_cannot_be_packed_leaves_no_record():
    """Those before it are not sent a second time in its place."""
    of = Recorder(0)
    sink = of.sink(0)
    sink.begin_session()
    sink.ended("first", (0, 0, 0, 1000, 1000), Response(200, b"", sample.OK, 1))
    of.take()
    with pytest.raises(struct.error):
        sink.ended("second", (0, 0, 0, 1000, 1000), Response(1 << 20, b"", sample.OK, 1))
    assert of.take() == b""


def test_feeding_nothing_changes_nothing():
    """No records, no entry."""
    stats = RequestStats()
    add_to_statistics(stats, b"", [], UNIX_START)
    assert (stats.total.num_requests, len(stats.entries), len(stats.errors)) == (0, 0, 0)


def test_an_error_is_named_as_people_read_it():
    """A status is named by its number, everything else by its class."""
    assert str(RequestFailed(sample.STATUS, 503)) == "HTTP 503"
    assert str(RequestFailed(sample.REFUSED, 0)) == "refused"


def test_what_a_sink_notes_is_what_is_taken():
    """Times are relative to the planned start, in microseconds."""
    noted = Recorder(start_ns=1_000_000_000)
    sink = noted.sink(42)
    sink.began()
    times = (1_001_000_000, 1_002_000_000, 300_000, 1_502_000_000, 1_509_000_000)
    sink.ended("/x", times, Response(503, b"", sample.STATUS, 17))
    (row,) = np.frombuffer(noted.take(), sample.RECORD)
    assert row.item() == (1000, 2000, 500_000, 0, 300, 17, 42, -1, 0, 503, 0, sample.STATUS)
    assert (noted.begun, noted.finished, noted.failed, noted.names) == (1, 1, 1, [("GET", "/x")])
    assert noted.dispatch_delay_ns == 7_000_000


def test_answers_of_which_nobody_knows_when_they_arrived_are_counted():
    """Their latencies end when the worker got to them."""
    noted = Recorder(start_ns=0)
    sink = noted.sink(0)
    for ended_ns in (5_000, 9_000):
        sink.began()
        sink.ended("/x", (1_000, 1_000, 0, ended_ns, 9_000), Response(200, b"", sample.OK, 2))
    assert noted.unstamped == 1


def note(noted: Recorder, user: int, at_us: int = 0) -> None:
    """A request of a user that was planned and sent then, and answered at once."""
    at_ns = 1000 * at_us
    noted.sink(user).ended("/x", (at_ns, at_ns, 0, at_ns, at_ns), Response(200, b"", sample.OK, 0))


def test_taking_empties_the_record():
    """What was taken once is not taken again, and the counts go on."""
    noted = Recorder(0)
    note(noted, user=1)
    assert len(noted.take()) == sample.RECORD.itemsize
    assert noted.take() == b""
    note(noted, user=2)
    assert np.frombuffer(noted.take(), sample.RECORD)["user"].tolist() == [2]


def test_more_records_than_fit_at_first_are_kept():
    """The buffer grows, several times, and no record is lost or changed."""
    noted = Recorder(0)
    n = 4 * recorder.FIRST_CAPACITY + 3
    for i in range(n):
        note(noted, user=i, at_us=i)
    rows = np.frombuffer(noted.take(), sample.RECORD)
    assert np.array_equal(rows["user"], np.arange(n))
    assert np.array_equal(rows["planned_us"], np.arange(n))


def test_names_get_one_number_each():
    """The same name has the same number, whoever sends it."""
    noted = Recorder(0)
    assert [noted.name_id(name) for name in ("/a", "/b", "/a", "/c", "/b")] == [0, 1, 0, 2, 1]
    assert noted.names == [("GET", "/a"), ("GET", "/b"), ("GET", "/c")]
    assert noted.name_id("/a", "POST") == 3
    assert (noted.name_id("/a"), noted.names[3]) == (0, ("POST", "/a"))


def test_names_without_end_are_refused_in_words(monkeypatch):
    """A path with a number in it is a name of its own, unless it is given one."""
    monkeypatch.setattr(recorder, "MOST_NAMES", 1)
    noted = Recorder(0)
    assert [noted.name_id(f"/{number}") for number in range(2)] == [0, 1]
    with pytest.raises(ValueError, match="the same name="):
        noted.name_id("/2")


def test_a_sink_numbers_sessions_and_their_requests():
    """From 0, each session beginning again; a step that no record can hold stays at the last one it can."""
    noted = Recorder(0)
    sink, right = noted.sink(5), Response(200, b"", sample.OK, 2)
    for requests in (2, 1):
        sink.begin_session()
        for _ in range(requests):
            sink.ended("/x", (0, 0, 0, 0, 0), right)
    sink.step = sample.MOST_STEPS
    for _ in range(2):
        sink.ended("/x", (0, 0, 0, 0, 0), Response(200, b"", sample.FALLBACK, 2))
    rows = np.frombuffer(noted.take(), sample.RECORD)
    assert rows[["session", "step"]].tolist() == [(0, 0), (0, 1), (1, 0), (1, 32767), (1, 32767)]
    assert (noted.sessions, noted.failed) == (2, 0)


def test_a_session_waits_from_its_planned_start_until_its_user_has_the_last_answer():
    """Not at all where that came before the planned start, or where nothing was planned, as in a closed loop."""
    noted, right = Recorder(1_000_000_000), Response(200, b"", sample.OK, 2)
    sink = noted.sink(5)
    for planned_ms in (1000, 1400, 1500, 1600, 0):
        sink.begin_session(planned_ms * 1_000_000)
        for _ in range(2):
            sink.ended("/x", (0, 1_000_000_000, 0, 1_500_000_000, 1_800_000_000), right)
    waited_us = np.frombuffer(noted.take(), sample.RECORD)["waited_us"].tolist()
    assert waited_us == [0, 0, 100_000, 100_000, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("open_loop", [False, True])
def test_later_requests_of_a_session_are_due_when_their_user_is_free(open_loop):
    """In the first session too, which is planned; but not in an open loop, whose latencies count from the plan."""
    noted, right = Recorder(0, open_loop=open_loop), Response(200, b"", sample.OK, 2)
    sink = noted.sink(5)
    for planned_us in (100, 0):
        sink.begin_session(1000 * planned_us)
        for sent_us in (200, 700):
            sent_ns = 1000 * sent_us
            first_ns = 1000 * planned_us if not sink.step else 0
            sink.ended("/x", (first_ns or sent_ns, sent_ns, 0, 1000 * 600, 1000 * 600), right)
    planned = np.frombuffer(noted.take(), sample.RECORD)["planned_us"].tolist()
    assert planned == ([100, 700, 200, 700] if open_loop else [100, 600, 600, 600])


def test_memory_does_not_grow_with_requests_that_were_taken():
    """However many requests pass, what the recorder and Locust's statistics hold stays below 16 bytes a request."""
    noted, stats = Recorder(0), RequestStats(use_response_times_cache=False)
    answered = Response(200, b"", sample.OK, 12)

    def pass_through(rounds: int) -> None:
        for _ in range(rounds):
            for i in range(5000):
                noted.sink(7).ended("/delay", (i * 1000, i * 1000, 0, i * 2000, i * 2000), answered)
            add_to_statistics(stats, noted.take(), noted.names, UNIX_START)

    pass_through(2)
    tracemalloc.start()
    try:
        pass_through(10)
        grown, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert stats.total.num_requests == 60_000
    assert grown < 16 * 5000


def test_what_a_breaker_kept_back_has_failed_like_any_other():
    """However fast it comes; a fallback that the check of a locustfile names is a right answer."""
    noted = Recorder(0)
    sink = noted.sink(0)
    for error in (sample.OK, sample.FALLBACK, sample.STATUS, sample.BREAKER_OPEN, sample.BREAKER_FALLBACK):
        sink.began()
        sink.ended("/chain", (0, 0, 0, 1, 1), Response(200, b"", error, 0))
    assert (noted.finished, noted.failed) == (5, 3)


IMPORTED_LATER = """
import sys
import numpy as np
from locust.stats import RequestStats
from lab.generator.locust import recorder
from lab.spec import sample

rows = np.zeros(2, dtype=sample.RECORD)
rows["error"] = [sample.OK, sample.RESET]
before = set(sys.modules)
recorder.add_to_statistics(RequestStats(), rows.tobytes(), [("GET", "/delay")], 1_800_000_000.0)
print(sorted(set(sys.modules) - before))
"""


def test_nothing_is_imported_in_the_middle_of_a_load():
    """The first report of a load had imported a part of numpy, and its users sent nothing meanwhile."""
    found = subprocess.run([sys.executable, "-c", IMPORTED_LATER], check=True, capture_output=True, text=True)
    assert found.stdout.strip() == "[]"
