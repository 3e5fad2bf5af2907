"""Scrapes that Prometheus missed are counted, by its own series, as often as they were missed."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from patience import await_that
from programs import needs_prometheus

from lab.errors import LabError
from lab.system import prometheus
from lab.system.prometheus import running_prometheus, targets
from lab.telemetry import scrapes
from lab.telemetry.scrapes import Scrapes, of_span

PAGE = b"# TYPE answers counter\nanswers 1\nothers 2\n"
# What becomes of some of the first scrapes, by their number.
REFUSED, CUT_OFF = "refused", "cut off"
HABITS = {2: REFUSED, 4: CUT_OFF, 5: REFUSED}
SCRAPES = 6
NOBODY = "http://127.0.0.1:9/metrics"


class Refusing(ThreadingHTTPServer):
    """A page of metrics that is not there, on purpose, for some of the scrapes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.page = f"http://127.0.0.1:{self.server_port}/own/metrics"


class Handler(BaseHTTPRequestHandler):
    """Answers as the number of the scrape says."""

    def do_GET(self) -> None:  # the library's name
        """Answer, refuse, or close the connection."""
        self.server.asked.append(self.path)
        habit = HABITS.get(len(self.server.asked))
        if habit == CUT_OFF:
            return
        self.send_response(503 if habit == REFUSED else 200)
        self.send_header("Content-Type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def refusing() -> Iterator[Refusing]:
    """Such a server until the context ends."""
    with Refusing() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@needs_prometheus
def test_as_many_are_missed_as_were_refused(runtime, tmp_path):
    """By a target that counts them itself, refused or cut off; those of another start are in no count."""
    with running_prometheus(runtime, tmp_path / "logs", tmp_path / "data") as found, refusing() as server:
        began_s = time.time()
        with found.scraping("mvc-r1", {"node 1": server.page}), found.scraping("of another", {"node 1": NOBODY}):
            await_that(lambda: len(server.asked) > SCRAPES)
            of_parts, lost = scrapes.read(found, "mvc-r1", began_s, time.time())
    of_node = of_parts["node 1"]
    assert list(of_parts) == ["node 1"]
    assert not lost
    assert set(server.asked) == {"/own/metrics"}
    assert of_node.missed == len(HABITS) == 3
    assert SCRAPES <= of_node.due - of_node.skipped <= len(server.asked)
    assert of_node.longest_s > 0
    assert of_node.samples == 2


def test_a_gap_between_scrapes_is_of_scrapes_that_were_not_made():
    """As many as there was time for; those that were made before and after the load are not counted."""
    up = {9.1: 0.0, 10.1: 1.0, 11.1: 0.0, 14.1: 1.0, 15.1: 1.0, 16.1: 0.0}
    took_s = {10.1: 0.1, 11.1: 1.0, 14.1: 0.6, 15.1: 0.2}
    found = of_span(10.0, 16.0, up, took_s, dict.fromkeys(up, 30.0))
    assert found == Scrapes(due=6, missed=1, skipped=2, late=1, longest_s=1.0, samples=30.0)
    assert found.plus(Scrapes(due=2, missed=2, longest_s=3.0)) == Scrapes(8, 3, 2, 1, 3.0, 30.0)


@pytest.mark.parametrize(
    ("made", "due", "skipped"),
    [
        ([13.4, 14.4, 15.4, 16.4, 17.4, 18.4, 19.4, 20.4], 10, 3),
        ([9.4, 10.4, 11.4, 12.4], 10, 7),
        ([9.4], 10, 10),
        ([20.4], 10, 10),
        ([], 10, 10),
    ],
    ids=["before the first", "after the last", "before the load only", "after it only", "never"],
)
def test_what_lacks_at_an_end_of_a_load_was_missed_too(made, due, skipped):
    """From its beginning to the first scrape, and from the last one to its end; without any, all that were due."""
    found = of_span(10.0, 20.0, dict.fromkeys(made, 1.0), {}, {})
    assert (found.due, found.skipped, found.missed) == (due, skipped, 0)


@pytest.mark.thorough
@needs_prometheus
def test_a_part_that_nobody_has_scraped_has_missed_them_all(runtime, tmp_path):
    """It is to be scraped, of this start or of all of a run, and was not: that is no reason to leave it out."""
    with running_prometheus(runtime, tmp_path / "logs", tmp_path / "data") as found, refusing() as server:
        began_s = time.time()
        with found.scraping("mvc-r1", {"node 1": server.page}):
            await_that(lambda: len(server.asked) > SCRAPES)
            end_s = time.time()
            with found.scraping("", {"backend": server.page}), found.scraping("of another", {"node 2": NOBODY}):
                of_parts, _ = scrapes.read(found, "mvc-r1", began_s, end_s)
    absent = of_parts["backend"]
    assert list(of_parts) == ["backend", "node 1"]
    assert absent.skipped == absent.due >= SCRAPES - 1


def test_the_list_of_targets_is_written_through_no_link(tmp_path):
    """A container may write into the folder of its configuration, where the lab writes as somebody else."""
    folder, precious = tmp_path / "prometheus", tmp_path / "precious"
    folder.mkdir()
    precious.write_text("precious")
    for name in ("targets.new", "targets.json"):
        (folder / name).symlink_to(precious)
    with prometheus.Prometheus(None, "", folder).scraping("mvc-r1", {"node 1": NOBODY}):
        assert json.loads((folder / "targets.json").read_text())[0]["labels"]["part"] == "node 1"
    assert precious.read_text() == "precious"


def test_a_target_is_named_by_its_start_and_its_part():
    """With the path of its page, so that parts may have different ones."""
    pages = {"mvc-r1": {"balancer": "http://127.0.0.1:81/metrics"}, "": {"backend": "http://127.0.0.1:82/a/prometheus"}}
    assert targets(pages) == [
        {
            "targets": ["127.0.0.1:81"],
            "labels": {"start": "mvc-r1", "part": "balancer", "__metrics_path__": "/metrics"},
        },
        {
            "targets": ["127.0.0.1:82"],
            "labels": {"start": "", "part": "backend", "__metrics_path__": "/a/prometheus"},
        },
    ]


@pytest.mark.thorough
@needs_prometheus
def test_a_prometheus_that_tells_nothing_has_missed_everything(runtime, tmp_path, monkeypatch):
    """Frozen or ended, with what it had scraped before; and the load that it looked at is not lost with it."""
    monkeypatch.setattr(scrapes, "ANSWER_WITHIN_S", 0.5)
    with running_prometheus(runtime, tmp_path / "logs", tmp_path / "data") as found, refusing() as server:
        began_s = time.time()
        with found.scraping("mvc-r1", {"node 2": server.page, "node 1": NOBODY}):
            await_that(lambda: len(server.asked) > SCRAPES)
            os.kill(found.running.pid, signal.SIGSTOP)
            frozen = scrapes.read(found, "mvc-r1", began_s, began_s + 7)
            found.running.kill()
            ended = scrapes.read(found, "mvc-r1", began_s, began_s + 7)
    nothing = dict.fromkeys(("node 1", "node 2"), Scrapes(due=7, skipped=7))
    assert frozen == (nothing, "did not say how its scrapes went")
    assert ended == (nothing, "was killed by SIGKILL")


def test_without_prometheus_a_sentence_says_how_to_install_it(monkeypatch, tmp_path):
    """Before anything is started."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LabError, match="is not installed") as caught:
        prometheus.program()
    assert "apt-get install prometheus" in caught.value.next_step
