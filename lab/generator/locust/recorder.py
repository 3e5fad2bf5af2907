"""Records requests: packed samples for the lab, and Locust's own statistics."""

from __future__ import annotations

import struct

import gevent
import numpy as np
from locust.env import Environment
from locust.stats import RequestStats, StatsEntry, StatsError, bucket_response_time

from lab.generator.locust.http import Response, Times
from lab.spec import sample

FIRST_CAPACITY = 65536
# A refused connection fails at once. Under plain Locust, users retry after a pause.
CONNECT_ERRORS, PAUSE_S = (sample.REFUSED, sample.CONNECT_FAILED), 0.2
_RECORD = struct.Struct(sample.RECORD_FORMAT)
RECORD_BYTES, _pack_into = _RECORD.size, _RECORD.pack_into


class Recorder:
    """The samples of one worker in one phase, packed into a buffer that is emptied by :meth:`take`.

    Args:
        start_ns: the phase's planned start on this machine's monotonic clock; all times are noted relative to it.

    Attributes:
        dispatch_delay_ns: how long received answers waited until they were handled, summed over all answers.

    """

    def __init__(self, start_ns: int) -> None:
        self.start_ns = start_ns
        self.begun = 0
        self.finished = 0
        self.failed = 0
        self.dispatch_delay_ns = 0
        self.names: list[str] = []
        self._ids: dict[str, int] = {}
        self._buffer = bytearray(FIRST_CAPACITY * RECORD_BYTES)
        self._used = 0

    def sink(self, user: int) -> UserSink:
        """A sink that records one user's requests under that user's number."""
        return UserSink(self, user)

    def note(
        self,
        planned: int,
        sent: int,
        latency: int,
        connect: int,
        size: int,
        user: int,
        status: int,
        name: int,
        error: int,
    ) -> None:
        """Append one record; the fields are those of :data:`lab.spec.sample.RECORD`, in order.

        They are arguments, not an object: this is called for each request, and an object would cost as much again.
        """
        used = self._used
        self._used = after = used + RECORD_BYTES
        if after > len(self._buffer):
            self._buffer.extend(bytes(len(self._buffer)))
        _pack_into(self._buffer, used, planned, sent, latency, connect, size, user, status, name, error)

    def name_id(self, name: str) -> int:
        """The index of a request name in :attr:`names`."""
        known = self._ids.get(name)
        if known is None:
            known = self._ids[name] = len(self.names)
            self.names.append(name)
        return known

    def take(self) -> bytes:
        """All records since the last call, as packed :data:`lab.spec.sample.RECORD`."""
        taken = bytes(memoryview(self._buffer)[: self._used])
        self._used = 0
        return taken


class UserSink:
    """Records one user's requests in the recorder of its worker."""

    __slots__ = ("_recorder", "_user")

    def __init__(self, recorder: Recorder, user: int) -> None:
        self._recorder = recorder
        self._user = user

    def began(self) -> None:
        """A request is about to be sent."""
        self._recorder.begun += 1

    def ended(self, name: str, times: Times, response: Response) -> None:
        """A request was answered or has failed."""
        planned_ns, sent_ns, connect_ns, ended_ns, taken_up_ns = times
        recorder, error = self._recorder, response.error
        recorder.finished += 1
        recorder.dispatch_delay_ns += taken_up_ns - ended_ns
        if error:
            recorder.failed += 1
        recorder.note(
            (planned_ns - recorder.start_ns) // 1000,
            (sent_ns - recorder.start_ns) // 1000,
            (ended_ns - sent_ns) // 1000,
            connect_ns // 1000,
            response.size,
            self._user,
            response.status,
            recorder.name_id(name),
            error,
        )


class LocustSink:
    """Fires Locust's request event for every request, for a locustfile that runs without the lab."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def began(self) -> None:
        """A request is about to be sent; Locust has no event for that."""

    def ended(self, name: str, times: Times, response: Response) -> None:
        """Fire Locust's request event; its response times are in milliseconds."""
        _, sent_ns, _, ended_ns, _ = times
        error = response.error
        self._environment.events.request.fire(
            request_type="GET",
            name=name,
            response_time=(ended_ns - sent_ns) / 1e6,
            response_length=response.size,
            exception=RequestFailed(error, response.status) if error else None,
            context={},
        )
        if error in CONNECT_ERRORS:
            gevent.sleep(PAUSE_S)


class RequestFailed(Exception):
    """The exception that Locust shows for a failed request: error class, or HTTP status."""

    def __init__(self, error: int, status: int) -> None:
        name = sample.ERRORS[error]
        super().__init__(f"HTTP {status}" if name == "status" else name)


def add_to_statistics(stats: RequestStats, records: bytes, names: list[str], unix_start: float) -> None:
    """Add records to Locust's statistics in bulk, with the same counts as one event a request.

    Args:
        records: packed :data:`lab.spec.sample.RECORD`.
        names: the request names that the records' ``name`` points into.
        unix_start: the moment the records' times are relative to, in seconds since 1970.

    """
    rows = np.frombuffer(records, dtype=sample.RECORD)
    for name_id in np.unique(rows["name"]):
        mine = rows[rows["name"] == name_id]
        entry = stats.get(names[name_id], "GET")
        for target in (entry, stats.total):
            _add(target, mine, unix_start)
        failures = mine[mine["error"] != sample.OK]
        for (error, status), count in zip(*np.unique(failures[["error", "status"]], return_counts=True), strict=True):
            failed = RequestFailed(int(error), int(status))
            key = StatsError.create_key("GET", entry.name, failed)
            seen = unix_start + (failures["sent_us"] + failures["latency_us"]) / 1e6
            known = stats.errors.setdefault(key, StatsError("GET", entry.name, failed))
            known.occurrences += int(count)
            known.first_seen = min(known.first_seen or float("inf"), float(seen.min()))
            known.last_seen = max(known.last_seen or 0.0, float(seen.max()))


def _add(entry: StatsEntry, rows: np.ndarray, unix_start: float) -> None:
    latency_ms = rows["latency_us"] / 1000
    ended = unix_start + (rows["sent_us"] + rows["latency_us"]) / 1e6
    entry.num_requests += len(rows)
    entry.total_response_time += float(latency_ms.sum())
    entry.total_content_length += int(rows["bytes"].sum())
    entry.max_response_time = max(entry.max_response_time, float(latency_ms.max()))
    fastest = float(latency_ms.min())
    entry.min_response_time = fastest if entry.min_response_time is None else min(entry.min_response_time, fastest)
    entry.last_request_timestamp = max(entry.last_request_timestamp or 0, float(ended.max()))
    for milliseconds, count in zip(*np.unique(latency_ms, return_counts=True), strict=True):
        entry.response_times[bucket_response_time(float(milliseconds))] += int(count)
    for second, count in zip(*np.unique(ended.astype(int), return_counts=True), strict=True):
        entry.num_reqs_per_sec[int(second)] += int(count)
    failed = rows["error"] != sample.OK
    entry.num_failures += int(failed.sum())
    for second, count in zip(*np.unique(ended[failed].astype(int), return_counts=True), strict=True):
        entry.num_fail_per_sec[int(second)] += int(count)
