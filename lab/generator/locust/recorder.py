"""Records requests: packed samples for the lab, and Locust's own statistics."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from time import monotonic_ns

import gevent
import numpy as np
import numpy.ma  # as np.unique would, in the middle of a load: all users would stand still for 15 to 50 ms
from locust.env import Environment
from locust.stats import RequestStats, StatsEntry, StatsError, bucket_response_time

from lab.generator.locust.answer import Response
from lab.generator.locust.http import Times
from lab.spec import sample

FIRST_CAPACITY = 65536
# A refused connection fails at once. Under plain Locust, users retry after a pause.
CONNECT_ERRORS, PAUSE_S = (sample.REFUSED, sample.CONNECT_FAILED), 0.2
_RECORD = struct.Struct(sample.RECORD_FORMAT)
RECORD_BYTES, _pack_into = _RECORD.size, _RECORD.pack_into
MOST_NAMES, MOST_STEPS, MOST_BYTES = np.iinfo(sample.RECORD["name"]).max, sample.MOST_STEPS, sample.MOST_BYTES
RIGHT = (sample.OK, sample.FALLBACK)
# A user that has been free for so long when a closed loop ends is parked. Worse stalls of a worker are told as such.
PARKED_FOR_S = 0.5


class SessionCut(BaseException):
    """The load is over in the middle of a session. Not an Exception, so that no handler in between catches it."""


class Recorder:
    """The samples of one worker in one phase, packed into a buffer that is emptied by :meth:`take`.

    Args:
        start_ns: what all times are noted relative to, on this machine's monotonic clock: the phase's planned start,
            less the windows before it.
        end_ns: when sessions are cut off; 0 if all run to their ends.
        open_loop: whether latencies count from the planned start of a session, so that what the generator does between
            two of its requests must not be in them. In any other load a request is due as soon as its user is free.

    Attributes:
        sessions: begun.
        sessions_ended: that have come to their end, also those with failures in them.
        cut: user and number of the sessions that the end of the load has cut off since the last report, early or not.
        stopped: the same of those that their user has stopped early.
        not_single: sessions that have sent several requests, or none to their end.
        sent_again: requests that were sent once more, on a new connection.
        pauses: how often users have thought.
        parked: users whom the end of the load found neither waiting for an answer nor thinking.
        dispatch_delay_ns: how long received answers waited until they were handled, summed over all answers.
        unstamped: answers of which the system did not say when they arrived, so that their latencies hold that wait.
        names: (method, name) of the requests.
        buffer: packed records, of which the first ``used`` bytes hold those since the last :meth:`take`.

    """

    def __init__(self, start_ns: int, end_ns: int = 0, open_loop: bool = False) -> None:
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.open_loop = open_loop
        self.sessions = 0
        self.sessions_ended = 0
        self.cut: list[tuple[int, int]] = []
        self.stopped: list[tuple[int, int]] = []
        self.not_single = 0
        self.sent_again = 0
        self.pauses = self.parked = 0
        self.begun = 0
        self.finished = 0
        self.failed = 0
        self.dispatch_delay_ns = self.unstamped = 0
        self.names: list[tuple[str, str]] = []
        self._ids: dict[str, dict[str, int]] = {}
        self.buffer = bytearray(FIRST_CAPACITY * RECORD_BYTES)
        self.used = 0

    @property
    def dispatch_delay_s(self) -> float:
        """How long received answers waited until they were handled, in seconds, summed over all answers."""
        return self.dispatch_delay_ns / 1e9

    def sink(self, user: int) -> UserSink:
        """A sink that records one user's requests under that user's number."""
        return UserSink(self, user)

    def name_id(self, name: str, method: str = "GET") -> int:
        """The index of a request's method and name in :attr:`names`."""
        ids = self._ids.get(method)
        if ids is None:
            ids = self._ids[method] = {}
        known = ids.get(name)
        if known is None:
            if len(self.names) > MOST_NAMES:
                raise ValueError(f"There are more than {MOST_NAMES:,} names: give requests of one kind the same name=.")
            known = ids[name] = len(self.names)
            self.names.append((method, name))
        return known

    def take(self) -> bytes:
        """All records since the last call, as packed :data:`lab.spec.sample.RECORD`."""
        taken = bytes(memoryview(self.buffer)[: self.used])
        self.used = 0
        return taken


class UserSink:
    """Records one user's requests in the recorder of its worker, and numbers its sessions.

    Attributes:
        session: number of the user's session; -1 before the first.
        step: number of the session's next request.

    """

    __slots__ = (
        "_free_ns",
        "_last",
        "_last_id",
        "_recorder",
        "_user",
        "_waited_us",
        "session",
        "step",
    )

    def __init__(self, recorder: Recorder, user: int) -> None:
        self._recorder = recorder
        self._user = user
        self._last, self._last_id = ("", ""), 0
        # When the user's last answer had come, or its last pause was to end: from then on it was free.
        self._free_ns = self._waited_us = 0
        self.session = -1
        self.step = 0

    def begin_session(self, planned_ns: int = 0) -> None:
        """The user begins its next session, planned for that time of the monotonic clock; 0 for no plan."""
        self._waited_us = max(0, self._free_ns - planned_ns) // 1000 if planned_ns else 0
        self.session += 1
        self.step = 0
        self._recorder.sessions += 1

    def end_session(self) -> None:
        """The session has come to its end."""
        self._recorder.sessions_ended += 1
        self._recorder.not_single += not self.step

    def cut_session(self) -> None:
        """The session is over although it is not at its end."""
        self._recorder.cut.append((self._user, self.session))
        self._recorder.not_single += not self.step

    def stop_session(self) -> None:
        """The session is over although it is not at its end, since its user could not go on."""
        self._recorder.stopped.append((self._user, self.session))
        self._recorder.not_single += not self.step

    def began(self) -> None:
        """A request is about to be sent; SessionCut if it is not the session's first, and the load is over."""
        recorder = self._recorder
        if self.step:
            if recorder.end_ns and monotonic_ns() >= recorder.end_ns:
                raise SessionCut
            if self.step == 1:
                recorder.not_single += 1
        recorder.begun += 1

    def ended(self, name: str, times: Times, response: Response, method: str = "GET") -> None:
        """A request was answered or has failed: append its record, here and not in a call, which would cost as much."""
        planned_ns, sent_ns, connect_ns, ended_ns, taken_up_ns = times
        recorder, error, step = self._recorder, response.error, self.step
        recorder.finished += 1
        recorder.dispatch_delay_ns += taken_up_ns - ended_ns
        recorder.unstamped += taken_up_ns == ended_ns
        if planned_ns == sent_ns and self._free_ns and not recorder.open_loop:
            planned_ns = self._free_ns
        self._free_ns = ended_ns
        if error and error != sample.FALLBACK:
            recorder.failed += 1
        last_name, last_method = self._last
        if name is not last_name or method is not last_method:  # most users send the same again, and this saves a call
            self._last, self._last_id = (name, method), recorder.name_id(name, method)
        used, size = recorder.used, response.size
        after = used + RECORD_BYTES
        if after > len(recorder.buffer):
            recorder.buffer.extend(bytes(len(recorder.buffer)))
        _pack_into(
            recorder.buffer,
            used,
            (planned_ns - recorder.start_ns) // 1000,
            (sent_ns - recorder.start_ns) // 1000,
            (ended_ns - sent_ns) // 1000,
            self._waited_us,
            connect_ns // 1000,
            size if size <= MOST_BYTES else MOST_BYTES,
            self._user,
            self.session,
            step,
            response.status,
            self._last_id,
            error,
        )
        recorder.used = after  # only now: what could not be packed is no record
        if step < MOST_STEPS:
            self.step = step + 1

    def has_gone(self) -> None:
        """The user sends nothing more in this load; it was parked if it had been free for long when the load ended.

        For a little time it may be, as where its worker stands still just then, or hands out its last answers.
        """
        if self._recorder.end_ns and self._free_ns < self._recorder.end_ns - PARKED_FOR_S * 1e9:
            self._recorder.parked += 1

    def sent_again(self) -> None:
        """A request is sent once more; it is one request all the same."""
        self._recorder.sent_again += 1

    def pause(self, seconds: float) -> None:
        """Let the user think; SessionCut at the end of the load, where that is before the end of the pause."""
        self._recorder.pauses += 1
        now_ns, end_ns = monotonic_ns(), self._recorder.end_ns
        left_s = (end_ns - now_ns) / 1e9
        if not end_ns or left_s > 0:
            self._free_ns = now_ns + int(seconds * 1e9)
        if not end_ns or seconds < left_s:
            gevent.sleep(seconds)
            return
        gevent.sleep(max(left_s, 0.0))
        raise SessionCut


class LocustSink:
    """Fires Locust's request event for every request, for a locustfile that runs without the lab."""

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def began(self) -> None:
        """A request is about to be sent; Locust has no event for that."""

    def ended(self, name: str, times: Times, response: Response, method: str) -> None:
        """Fire Locust's request event; its response times are in milliseconds."""
        _, sent_ns, _, ended_ns, _ = times
        error = response.error
        self._environment.events.request.fire(
            request_type=method,
            name=name,
            response_time=(ended_ns - sent_ns) / 1e6,
            response_length=response.size,
            exception=None if error in RIGHT else RequestFailed(error, response.status),
            context={},
        )
        if error in CONNECT_ERRORS:
            gevent.sleep(PAUSE_S)

    def sent_again(self) -> None:
        """A request is sent once more; Locust has no event for that."""

    def pause(self, seconds: float) -> None:
        """Let the user think."""
        gevent.sleep(seconds)


class RequestFailed(Exception):
    """The exception that Locust shows for a failed request: error class, or HTTP status."""

    def __init__(self, error: int, status: int) -> None:
        name = sample.ERRORS[error]
        super().__init__(f"HTTP {status}" if name == "status" else name)


def add_to_statistics(stats: RequestStats, records: bytes, names: Sequence[tuple[str, str]], unix_start: float) -> None:
    """Add records to Locust's statistics in bulk, with the same counts as one event a request.

    Args:
        records: packed :data:`lab.spec.sample.RECORD`.
        names: the (method, name) that the records' ``name`` points into.
        unix_start: the moment the records' times are relative to, in seconds since 1970.

    """
    rows = np.frombuffer(records, dtype=sample.RECORD)
    for name_id in np.unique(rows["name"]):
        mine = rows[rows["name"] == name_id]
        method, name = names[name_id]
        entry = stats.get(name, method)
        for target in (entry, stats.total):
            _add(target, mine, unix_start)
        failures = mine[~np.isin(mine["error"], RIGHT)]
        for (error, status), count in zip(*np.unique(failures[["error", "status"]], return_counts=True), strict=True):
            failed = RequestFailed(int(error), int(status))
            key = StatsError.create_key(method, entry.name, failed)
            same = failures[(failures["error"] == error) & (failures["status"] == status)]
            seen = unix_start + (same["sent_us"] + same["latency_us"]) / 1e6
            known = stats.errors.setdefault(key, StatsError(method, entry.name, failed))
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
    failed = ~np.isin(rows["error"], RIGHT)
    entry.num_failures += int(failed.sum())
    for second, count in zip(*np.unique(ended[failed].astype(int), return_counts=True), strict=True):
        entry.num_fail_per_sec[int(second)] += int(count)
