"""What a user does in one session: requests by name, pauses, and how a session ends."""

from __future__ import annotations

import time

import gevent
import numpy as np
import pytest
from locust import SequentialTaskSet, TaskSet, task
from locust.env import Environment
from locust.exception import RescheduleTask
from patience import PATIENCE_S
from server import Connection, Server, always, answer

from lab.formulas import stats
from lab.generator.locust import LabUser
from lab.generator.locust.phases import Phase
from lab.spec import sample

LONG_S, LOAD_S = 3600.0, 1.0
BURST = {"type": "burst", "ramp_s": 0.0}
CLOSED = {"type": "closed", "ramp_s": 0.0, "duration_s": 0.5}


def phase_of(url: str, users: int = 1, **load) -> Phase:
    """A phase that begins now, of one worker; a burst unless its load has another type."""
    order = {"number": 1, "warm_up": 0, "parameters": {}, "counts": [users], "seed": [7]}
    return Phase(
        {
            **order,
            "url": url,
            "load": {"users": users, **(load if "type" in load else BURST | load)},
            "unix_start": time.time(),
        },
        worker=0,
    )


def user_of(*tasks) -> LabUser:
    """A user as a locustfile defines it."""
    kind = type("Visitor", (LabUser,), {"tasks": list(tasks)})
    return kind(Environment(user_classes=[kind]))


def played(url: str, *tasks, **load) -> tuple[Phase, np.ndarray]:
    """A phase of one user after its end, and its records."""
    playing = phase_of(url, **load)
    playing.run_user(user_of(*tasks), 0)
    assert playing.over.is_set()
    return playing, np.frombuffer(playing.recorder.take(), sample.RECORD)


def shop(user: LabUser) -> None:
    """Three requests with a pause after the first; the second takes a value from the first's answer."""
    first = user.client.get("/cart", name="see")
    user.pause(0.3)
    user.client.post(f"/cart/{first.json()['id']}", name="add", json={"piece": 1})
    user.client.delete("/cart", name="clear")


@pytest.fixture
def server():
    """One that answers everything alike."""
    with Server(always(answer(b'{"id": 41}'))) as started:
        yield started


def test_a_session_sends_its_requests_by_name_and_thinks_in_no_latency(server):
    """Each sample has its session and step; the pause is what the wall time has more than the latencies."""
    playing, rows = played(server.url, shop, loops=2)
    assert [head.split(b" HTTP")[0] for head in server.heads] == [b"GET /cart", b"POST /cart/41", b"DELETE /cart"] * 2
    assert [playing.recorder.names[row] for row in rows["name"]] == [
        ("GET", "see"),
        ("POST", "add"),
        ("DELETE", "clear"),
    ] * 2
    assert rows["session"].tolist() == [0, 0, 0, 1, 1, 1]
    assert rows["step"].tolist() == [0, 1, 2] * 2
    ended = rows["sent_us"] + rows["latency_us"]
    for session in (rows[:3], rows[3:]):
        wall = (session["sent_us"] + session["latency_us"]).max() - session["sent_us"][0]
        assert wall - session["latency_us"].sum() >= 300_000
    assert rows["sent_us"][1] - ended[0] >= 300_000
    # What has no plan was due when its user had its answer, or had thought; a microsecond is rounding.
    due = ended[:-1] + 300_000 * (rows["step"][1:] == 1)
    assert (rows["planned_us"][1:] >= due - 2).all()
    assert (rows["planned_us"][1:] <= rows["sent_us"][1:] + 1).all()
    recorder = playing.recorder
    assert (recorder.sessions, recorder.sessions_ended, recorder.cut, recorder.begun) == (2, 2, [], 6)


def test_a_session_that_its_user_stops_is_not_complete_and_the_next_one_begins(server):
    """It is named by user and number, what it did not send is not sent, and the next one goes through to its end."""

    def give_up_once(user: LabUser) -> None:
        user.client.get("/first")
        if user.client.sink.session == 0:
            user.stop_session()
        user.client.get("/second")

    playing, rows = played(server.url, give_up_once, loops=2)
    assert [playing.recorder.names[row] for row in rows["name"]] == [("GET", "/first")] * 2 + [("GET", "/second")]
    recorder = playing.recorder
    assert (recorder.sessions, recorder.sessions_ended, recorder.stopped, recorder.cut) == (2, 1, [(0, 0)], [])
    assert playing.problem == {}


def test_what_users_share_is_theirs_for_one_window(server):
    """The users of a worker share it, and begin with nothing where what requests changed was put back."""
    seen: list[list[int]] = []

    def note(user: LabUser) -> None:
        seen.append(list(user.shared))
        user.shared[len(seen)] = True
        user.client.get("/noted")

    users = [user_of(note) for _ in range(2)]
    for window in (0, 1):
        playing = phase_of(server.url, users=2)
        playing.window = window
        for number, user in enumerate(users):
            playing.run_user(user, number)
    assert seen == [[], [1], [], [3]]


@pytest.mark.parametrize("pace", [0.1, 2.0])
def test_pauses_take_as_many_times_as_long_as_the_pace_says(server, pace):
    """Those of a fixed length, and those that are drawn."""
    paused: list[float] = []

    def think(user: LabUser) -> None:
        user.client.pause = paused.append
        user.pause(5)
        user.pause(1, 3)

    phase_of(server.url, pace=pace).run_user(user_of(think), 0)
    assert paused[0] == pytest.approx(5 * pace)
    assert pace <= paused[1] <= 3 * pace


def test_a_pause_before_the_first_request_is_no_lateness(server):
    """An open loop plans the session; a request that thinking delays is planned for after that."""

    def think_first(user: LabUser) -> None:
        user.pause(0.3)
        user.client.get("/a")
        user.client.get("/b")

    _, rows = played(server.url, think_first, type="open", rate_rps=5.0, duration_s=0.4)
    assert rows["step"].tolist() == [0, 1] * 2
    assert rows["planned_us"][0] >= 300_000
    assert rows["planned_us"][2] >= 500_000
    assert (rows["sent_us"] >= rows["planned_us"]).all()


def ask_then_think(user: LabUser) -> None:
    """A session that ends with a pause."""
    user.client.get("/")
    user.pause(0.2)


def think_then_ask(user: LabUser) -> None:
    """A session that begins with a pause."""
    user.pause(0.2)
    user.client.get("/")


@pytest.mark.parametrize("session", [ask_then_think, think_then_ask])
def test_a_user_that_thinks_is_busy(server, session):
    """Where the only one thinks while sessions of an open loop are due, they wait for it, and for no late generator."""
    playing, rows = played(server.url, session, type="open", rate_rps=20.0, duration_s=0.2)
    assert len(rows) == 4
    due_us = [number * 50_000 for number in range(4)]
    thought_us = 200_000 if session is ask_then_think else 0
    free_us = rows["sent_us"] + rows["latency_us"] + thought_us
    at_least_us = max(free - due for free, due in zip(free_us[:-1], due_us[1:], strict=True))
    samples = sample.to_batch(rows.tobytes(), playing.recorder.names, 0, 0).to_pandas()
    summary = stats.summarise(samples, from_planned=True)
    assert summary.busy_p99_s * 1e6 >= at_least_us - 10 >= 400_000


def test_pauses_are_drawn_for_each_user_and_repeat_with_the_seed():
    """From the range, evenly; another user has others, and the same seed the same."""
    drawn: dict[int, list[float]] = {}

    def think(user: LabUser) -> None:
        user.client.pause = drawn.setdefault(number, []).append
        for _ in range(50):
            user.pause(1, 3)
        user.pause(5)

    with Server(always(answer())) as server:
        for number in (0, 1, 0):
            phase_of(server.url, users=2).run_user(user_of(think), number)
    assert all(1 <= seconds <= 3 for seconds in drawn[0][:50])
    assert max(drawn[0][:50]) - min(drawn[0][:50]) > 1
    assert drawn[0][50] == 5
    assert drawn[0][:51] == drawn[0][51:]
    assert drawn[0][:51] != drawn[1]


def test_the_end_of_a_closed_loop_ends_a_pause_and_cuts_its_session(server):
    """Who would think for an hour stops at once, sends nothing more, and that is no error."""

    def linger(user: LabUser) -> None:
        user.client.get("/first")
        user.pause(0.0 if user.client.sink.session < 2 else LONG_S)
        user.client.get("/second")

    playing, rows = played(server.url, linger, **CLOSED)
    assert time.time() - playing.unix_start >= 0.5
    assert rows["session"].tolist() == [0, 0, 1, 1, 2]
    recorder = playing.recorder
    assert (recorder.sessions, recorder.sessions_ended, recorder.cut) == (3, 2, [(0, 2)])
    assert (recorder.begun, recorder.finished, recorder.failed, playing.problem) == (5, 5, 0, {})
    assert (recorder.pauses, recorder.parked) == (3, 0)


@pytest.mark.parametrize(
    ("play", "parked"),
    [
        (lambda user: (user.client.get("/"), gevent.sleep(LOAD_S + 0.1)), 1),
        (lambda user: (user.client.get("/"), gevent.sleep(LOAD_S + 0.1), user.pause(1.0)), 1),
        (lambda user: gevent.sleep(LOAD_S + 0.1), 1),
        (lambda user: user.pause(LONG_S), 0),
        (lambda user: (user.client.get("/"), user.pause(0.05)), 0),
        (lambda user: (user.client.get("/"), user.pause(LOAD_S - 0.2), gevent.sleep(0.3)), 0),
    ],
)
def test_who_neither_waits_nor_thinks_when_a_closed_loop_ends_is_parked(server, play, parked):
    """Not who is in a pause, be it the first thing of all, nor who has been free for a moment only."""
    playing, _ = played(server.url, play, type="closed", ramp_s=0.0, duration_s=LOAD_S)
    assert (playing.recorder.parked, playing.problem) == (parked, {})


def test_a_request_under_way_at_the_end_is_finished_and_the_last_one():
    """The session has more to send, and does not."""

    def script(connection: Connection) -> None:
        while connection.request():
            while time.time() < playing.unix_start + 0.7:
                time.sleep(0.01)
            connection.say(answer())

    def two(user: LabUser) -> None:
        user.client.get("/first")
        user.client.get("/second")

    with Server(script) as slow:
        playing = phase_of(slow.url, **CLOSED)
        playing.run_user(user_of(two), 0)
        assert len(slow.heads) == 1
    rows = np.frombuffer(playing.recorder.take(), sample.RECORD)
    assert rows["error"].tolist() == [sample.OK]
    assert rows["latency_us"][0] >= 500_000
    assert (playing.recorder.sessions_ended, playing.recorder.cut, playing.problem) == (0, [(0, 0)], {})


def test_a_request_that_ends_its_session_after_the_end_is_complete():
    """As ever, where a session is one request: whatever was begun in time counts."""

    def script(connection: Connection) -> None:
        while connection.request():
            while time.time() < playing.unix_start + 0.7:
                time.sleep(0.01)
            connection.say(answer())

    with Server(script) as slow:
        playing = phase_of(slow.url, **CLOSED)
        playing.run_user(user_of(lambda user: user.client.get("/")), 0)
    assert (playing.recorder.sessions, playing.recorder.sessions_ended, playing.recorder.cut) == (1, 1, [])


def test_each_request_of_a_load_that_is_broken_off_has_an_outcome():
    """What waits has failed by that name, who thinks or has not begun sends nothing more, and no user is left."""

    def script(connection: Connection) -> None:
        while b"GET /answered" in connection.request():
            connection.say(answer())
        connection.request()  # which comes when the client has closed

    def ask(user: LabUser) -> None:
        user.client.get("/answered")
        try:
            if user.number == 1:
                user.pause(LONG_S)
            user.client.get("/left waiting")
        finally:
            user.client.get("/on the way out")

    with Server(script) as waiting:
        playing = phase_of(waiting.url, users=3, ramp_s=0.0, loops=9)
        playing.sends_ns[2] += 3600 * 10**9  # however late this process is: the last user has not begun
        users = [gevent.spawn(playing.run_user, user_of(ask), number) for number in range(3)]
        with gevent.Timeout(PATIENCE_S):
            while not (playing.recorder.pauses and any(b"/left waiting" in head for head in waiting.heads)):
                gevent.sleep(0.05)
        gevent.sleep(0.6)  # so that what waits has done so for longer than an answer takes
        gevent.get_hub().loop.run_callback(playing.break_off)
        gevent.joinall(users, timeout=5)
    assert playing.over.is_set()
    rows, recorder = np.frombuffer(playing.recorder.take(), sample.RECORD), playing.recorder
    assert recorder.begun == recorder.finished == len(rows) == 3
    assert sorted(rows["error"]) == [sample.OK, sample.OK, sample.BROKEN_OFF]
    assert rows["latency_us"].max() > 500_000
    assert (recorder.sessions_ended, sorted(recorder.cut), playing.problem) == (0, [(0, 0), (1, 0)], {})
    playing.run_user(user_of(ask), 2)  # who had not heard of the load yet
    assert recorder.begun == 3


@pytest.mark.parametrize(
    "load",
    [
        {"loops": 1},
        {"type": "total", "ramp_s": 0.0, "requests": 1},
        {"type": "open", "rate_rps": 5.0, "duration_s": 0.2},
        {"type": "ramp", "from_rps": 0.0, "to_rps": 10.0, "duration_s": 0.2},
    ],
)
def test_only_a_closed_loop_of_a_duration_cuts_sessions(server, load):
    """A burst and an open loop run theirs to the end, however long that takes."""

    def longer(user: LabUser) -> None:
        for _ in range(3):
            user.pause(0.1)
            user.client.get("/")

    playing, rows = played(server.url, longer, **load)
    assert (playing.recorder.sessions, playing.recorder.sessions_ended, len(rows)) == (1, 1, 3)


def end_session(user: LabUser) -> None:
    """The lab's own way to end a session."""
    user.end_session()


def reschedule(user: LabUser) -> None:
    """Locust's way."""
    raise RescheduleTask


@pytest.mark.parametrize("leave", [end_session, reschedule])
def test_a_session_that_ends_early_is_no_error(server, leave):
    """The next one begins, and the requests behind the end are not sent."""

    def give_up(user: LabUser) -> None:
        if not user.client.get("/", check=b"something else").ok:
            leave(user)
        user.client.get("/never")

    playing, rows = played(server.url, give_up, loops=3)
    assert rows["session"].tolist() == [0, 1, 2]
    assert rows["error"].tolist() == [sample.WRONG_BODY] * 3
    assert (playing.recorder.sessions_ended, playing.recorder.failed, playing.problem) == (3, 3, {})


def test_any_other_exception_is_the_phases_problem(server):
    """With its traceback, as ever."""

    def broken(user: LabUser) -> None:
        user.client.get("/").json()["no such key"]

    playing, _ = played(server.url, broken, loops=3)
    assert "KeyError: 'no such key'" in playing.problem["detail"]
    assert playing.recorder.sessions_ended == 0


@pytest.mark.parametrize(
    ("requests", "not_single"), [((1, 1, 1), 0), ((2, 0, 1), 2), ((0, 3, 0), 3), ((1, 1, 0), 1), ((3, 3, 3), 3)]
)
def test_sessions_of_other_than_one_request_are_counted(server, requests, not_single):
    """None is as different from one as several are, also where it is one on average."""

    def send(user: LabUser) -> None:
        for _ in range(requests[user.client.sink.session]):
            user.client.get("/")

    playing, rows = played(server.url, send, loops=3)
    assert (playing.recorder.sessions, playing.recorder.sessions_ended, len(rows)) == (3, 3, sum(requests))
    assert playing.recorder.not_single == not_single


@pytest.mark.parametrize("requests", [0, 1, 2])
def test_a_session_that_is_cut_off_counts_by_what_it_has_sent(server, requests):
    """It is over when the load is."""

    def linger(user: LabUser) -> None:
        for _ in range(requests):
            user.client.get("/")
        user.pause(LONG_S)

    playing, _ = played(server.url, linger, **CLOSED)
    assert playing.recorder.cut == [(0, 0)]
    assert playing.recorder.not_single == (requests != 1)


class Checkout(SequentialTaskSet):
    """Three steps in order, the second of which may be left out."""

    def on_start(self) -> None:
        """Before each session."""
        self.client.get("/start")

    @task
    def first(self) -> None:
        """Its ``client`` is that of the user."""
        self.client.get("/first")

    @task
    def second(self) -> None:
        """Locust goes on with the next task."""
        raise RescheduleTask

    @task
    class Third(SequentialTaskSet):
        """One within the other, of which only the inner one is interrupted."""

        @task
        def within(self) -> None:
            """The last thing it does."""
            self.client.get("/third")
            self.interrupt()

        @task
        def never(self) -> None:
            """Is not reached."""
            self.client.get("/never")

    @task
    def last(self) -> None:
        """Ends the session, and not only the step."""
        self.client.get("/last")
        self.user.end_session()

    @task
    def unreached(self) -> None:
        """Is not reached."""
        self.client.get("/never")


def test_a_sequential_task_set_is_a_session(server):
    """All of its tasks in order, once, with Locust's own ways to leave."""
    playing, rows = played(server.url, Checkout, loops=2)
    names = [playing.recorder.names[row][1] for row in rows["name"]]
    assert names == ["/start", "/first", "/third", "/last"] * 2
    assert rows["session"].tolist() == [0] * 4 + [1] * 4
    assert (playing.recorder.sessions_ended, playing.problem) == (2, {})


def test_a_task_set_without_an_end_is_refused_in_words(server):
    """Locust would pick its tasks for ever."""
    playing, rows = played(server.url, type("Browsing", (TaskSet,), {"tasks": [shop]}))
    assert (
        "Browsing has no end that a session could have: derive it from SequentialTaskSet." in playing.problem["detail"]
    )
    assert len(rows) == 0


def test_thousands_of_pauses_at_once_take_as_long_as_one(server):
    """They wait together: each is a timer of the event loop, and nothing else."""
    playing, kind = phase_of(server.url, users=1000), type(user_of(lambda user: user.pause(0.5)))
    users, began = [kind(Environment(user_classes=[kind])) for _ in range(1000)], time.monotonic()
    gevent.joinall([gevent.spawn(playing.run_user, user, number) for number, user in enumerate(users)])
    assert 0.5 <= time.monotonic() - began < 1000 * 0.5
    assert (playing.recorder.sessions_ended, playing.problem) == (1000, {})
