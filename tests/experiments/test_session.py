"""The session of ``operations``, played by Locust on a small server: 26 requests, pauses, and users who stop early."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from one_sentence import assert_refused
from operations_server import serving

import lab
from lab.errors import LabError
from lab.experiments import find_scenario
from lab.reporting import html
from lab.runtimes.checkout import ROOT

SESSION = str(ROOT / "locustfiles" / "operations.py")
TIMES = {request.name: request.times for request in find_scenario("operations").requests}
USERS, PACE = 5, 0.02
# The least and the most that a user pauses between the first request and the last, by the published session.
LEAST_S, MOST_S = 5 + 1 + 2 * 5 + 2 * (5 + 5 + 8 * 3) + 5, 5 + 1 + 2 * 5 + 2 * (10 + 5 + 8 * 3) + 5


def play(data, fails=(), **how):
    """A run of the session on a server that fails at times, after a warm-up of one session a user; and that server."""
    with serving() as server:
        for what, numbers in dict(fails).items():
            server.fails[what] = numbers
        shape = {"users": USERS, "loops": 1, "ramp_up": 5, "pace": PACE, "seed": 1, "quiet": True}
        run = lab.load(server.url, locustfile=SESSION, data=data, **{**shape, **how})
    return run, server


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run in which nothing fails, and the server."""
    return play(tmp_path_factory.mktemp("whole"))


def test_a_session_is_exactly_26_requests_by_name(whole):
    """Counted by the client and by the server, which holds nothing in the end that a session has created."""
    run, server = whole
    assert (TIMES["get operation"], sum(TIMES.values())) == (16, 26)
    (row,) = run.cells
    assert {of["name"]: of["requests"] for of in row["by_name"]} == {n: USERS * times for n, times in TIMES.items()}
    assert (row["sessions"]["begun"], row["sessions"]["complete"], row["sessions"]["requests"]) == (USERS, USERS, 26)
    assert (row["sessions"]["stopped"], row["sessions"]["never_sent"]) == (0, 0)
    sessions = 2 * USERS  # of the warm-up too
    by_kind = Counter()
    for asked, count in server.asked.items():
        by_kind[re.sub(r"\d+", "ID", asked)] += count
    assert by_kind.pop("GET /") >= 1
    assert by_kind == {
        "GET /api/account": 3 * sessions,
        "POST /api/authenticate": sessions,
        "GET /api/operations": 2 * sessions,
        "POST /api/operations": 2 * sessions,
        "GET /api/operations/ID": 16 * sessions,
        "DELETE /api/operations/ID": 2 * sessions,
    }
    assert server.operations == {}


def test_pauses_are_in_the_wall_time_at_the_pace_and_in_no_latency(whole):
    """A fiftieth of the published ones, of which one is drawn."""
    (row,) = whole[0].cells
    think = row["sessions"]["think"]
    assert PACE * LEAST_S <= think["mean_s"] <= think["max_s"]
    assert row["sessions"]["steps"]["max_s"] < PACE * LEAST_S
    assert row["mean_s"] < PACE * 1
    assert (row["pace"], row["ramp_s"]) == (PACE, 5 * PACE)


def test_the_pace_is_said_wherever_the_run_is_shown(whole, typed):
    """In the line of settings, above each table of parts, in the figures' titles, and in the report."""
    run, _ = whole
    said = typed("show", run.name, "--data", str(run.path.parent)).stdout
    assert said.count("pace 0.02") == 3
    page = html.render(run)
    assert "pace=0.02" in page
    assert "pace 0.02" in page
    assert (run.path / "users.png").stat().st_size > 10_000


STOPS = {
    "GET /api/account": {USERS * 3 + 1},
    "POST /api/authenticate": {USERS + 1},
    "POST /api/operations": {USERS * 2 + 2},
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A run in which three of the users stop: they are not refused, not let in, and given nothing."""
    return play(tmp_path_factory.mktemp("stopped"), STOPS)[0]


def test_who_cannot_go_on_stops_early_and_is_counted(stopped):
    """At the request that failed; with what it would have sent, and apart from those who went through."""
    (row,) = stopped.cells
    sessions = row["sessions"]
    assert (sessions["begun"], sessions["complete"], sessions["failed"], sessions["stopped"]) == (5, 2, 0, 3)
    assert sessions["stopped_at"] == {"unauthenticated account": 1, "authenticate": 1, "create operation": 1}
    sent = 1 + 2 + row["requests"] - 2 * 26 - 3
    assert sessions["never_sent"] == 3 * 26 - sent
    assert sessions["requests"] == 26
    samples = stopped.samples()
    last = samples[samples["stopped"]].sort_values("step").groupby(["user", "session"]).last()
    assert (last["error"] == "status").all()


def test_figures_of_survivors_are_marked_as_such(stopped, typed):
    """In the tables, by a sentence under them, in the report and its figures, and in what programs read."""
    where = ("--data", str(stopped.path.parent))
    said = " ".join(typed("show", stopped.name, *where).stdout.split())
    assert "† 3 of 5 sessions were stopped early" in said
    assert "requests were never sent" in said
    assert all(re.search(rf"{name}[ │]+(GET|POST|DELETE)([ │]+[\d.,]+)+†", said) for name in TIMES)
    page = html.render(stopped)
    assert "Users alive" in page
    assert page.count("†</strong>") == 2 + len(TIMES)  # mean and rate of the cell, and the mean of each name
    assert all(panel.label.endswith("† some stopped") for panel in stopped.panels())
    (row,) = json.loads(typed("show", stopped.name, "--json", *where).stdout)["cells"]
    assert row["sessions"]["stopped"] == 3


def test_nothing_is_marked_where_nobody_stopped(whole, typed):
    """All figures are those of all users."""
    run, _ = whole
    assert "†" not in typed("show", run.name, "--data", str(run.path.parent)).stdout
    assert run.survivors() == []


def test_a_generation_that_is_unknown_is_refused_with_the_nearest(typed, tmp_path):
    """In one sentence that says what there is, before anything is built or started."""
    done = typed("run", "operations", "--variants", "mvc,boot-2.8", "--data", str(tmp_path / "runs"))
    assert_refused(done, "The scenario operations has no variant 'boot-2.8' (did you mean boot-2.7?)", "boot-1.5")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("pace", [0.001, -1, "fast"])
def test_a_pace_that_is_none_is_refused(pace, tmp_path):
    """In one sentence, before anything is started."""
    with pytest.raises(LabError, match="--pace"):
        lab.run("operations", pace=pace, data=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_scenario_without_pauses_has_no_pace(tmp_path):
    """Else somebody would believe that it had an effect."""
    with pytest.raises(LabError, match="do not pause"):
        lab.run("delay", pace=0.2, data=tmp_path)
    with pytest.raises(LabError, match="do not pause"):
        lab.load("http://127.0.0.1:1/", pace=0.2, data=tmp_path)
