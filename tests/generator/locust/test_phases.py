"""What a phase says of itself when it does not come to its end."""

from __future__ import annotations

import random
import threading
import time

import gevent
import pytest
from patience import PATIENCE_S
from server import Server

from lab.generator.locust.phases import Phase


class User:
    """As much of a Locust user as a phase needs: its one task waits for an answer."""

    def __init__(self, task) -> None:
        self.tasks = [task]
        self.random = random.Random()


@pytest.fixture
def phase():
    """A function that makes a phase of one user and one request."""

    def make(url: str) -> Phase:
        load = {"type": "burst", "users": 1, "ramp_s": 0.0}
        order = {"number": 1, "warm_up": 0, "load": load, "url": url, "parameters": {}, "counts": [1], "seed": [0]}
        return Phase({**order, "unix_start": time.time()}, worker=0)

    return make


def test_a_user_that_locust_ends_is_a_problem_and_no_end(phase):
    """Locust ends all users of a worker that its master has not heard of: what is cut off must not pass for whole."""
    ended = threading.Event()
    with Server(lambda connection: connection.request() and ended.wait(PATIENCE_S)) as server:
        playing = phase(server.url)
        user = gevent.spawn(playing.run_user, User(lambda user: user.client.get("/")), 0)
        gevent.sleep(0.2)
        assert not playing.problem
        user.kill()
        ended.set()
    assert playing.problem["sentence"].startswith("Locust ended the users")


def test_a_phase_that_comes_to_its_end_has_no_problem(phase):
    """The user is done, and nothing is said."""
    with Server(lambda connection: None) as server:
        playing = phase(server.url)
        user = User(lambda user: None)
        playing.run_user(user, 0)
    assert user.number == 0
    assert playing.over.is_set()
    assert not playing.problem
