"""The faults that ``benchmarks/sensitivity.py`` plants are what it says, and only their own reasons count."""

from __future__ import annotations

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import faults
import numpy as np
import pytest
import sensitivity
from sensitivity import FAULTS, Found

from lab.analysis.verdict import INVALID, SUSPECT, VALID
from lab.spec.plan import Cell
from lab.spec.workload import Closed
from lab.storage.cell_folder import CellFolder
from lab.telemetry.sampler import FIXED_WORK

BODY = b'{"millis":500}'


class Handler(BaseHTTPRequestHandler):
    """Answers as the service does, in one piece."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self):
        """Answer anything alike."""
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_):
        """Say nothing."""


@pytest.fixture
def moment():
    """A service whose load is about to begin, and to last ten seconds."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        deployment = SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}")
        yield SimpleNamespace(deployment=deployment, load_s=10.0)
        server.shutdown()


def test_there_are_at_least_sixteen_faults_and_each_can_be_planned(tmp_path):
    """Each with a name of its own, a size, and a plan of its setting's variants, each measured once."""
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 16
    for fault in FAULTS:
        assert fault.size
        planned = [cell.variant for cell in sensitivity.plan_of(fault, tmp_path).cells]
        assert sorted(planned) == sorted(fault.options.get("variants", fault.setting.options["variants"]))


def test_a_fault_is_found_by_its_own_reason_only():
    """Not by any other, and not by its own on a run that is valid all the same."""
    (fault,) = (fault for fault in FAULTS if fault.name == "paused-service")
    own, other = "The service answered nobody for 0.5 s: it stood still.", "The clock was set by +100 ms."
    assert Found(fault, SUSPECT, (other, own), {}).word == "found"
    assert Found(fault, INVALID, (other,), {}).word == "MISSED"
    assert Found(fault, VALID, (), {}).word == "MISSED"


def test_a_fault_is_tried_again_where_cores_changed_by_themselves(tmp_path):
    """Three times as often at most, and counted apart whatever became of it; one that cannot be planted is left."""
    steady, hidden, once, refused = FAULTS[:4]
    results = []

    def became(fault):
        tried = sum(found.fault is fault for found in results)
        own = -0.12 if fault is hidden or (fault is once and tried == 1) else 0.0
        reasons = (fault.alarm.replace(r"\d+", "1"),)
        return Found(fault, SUSPECT, reasons, {}, planted=fault is not refused, own_change=own)

    for fault in sensitivity.tries([steady, hidden, once, refused], 2, results):
        results.append(became(fault))
    tried = [found.fault for found in results]
    assert [tried.count(fault) for fault in (steady, hidden, once, refused)] == [2, 6, 3, 1]
    lines = list(sensitivity.tables(results))
    assert [" ".join(line.split(":")[0].split()) for line in lines] == [
        f"{steady.name} found in 2 of 2",
        f"{hidden.name} found in 0 of 0",
        "beside these found in 6 of 6 on cores that changed their speed by themselves",
        f"{once.name} found in 2 of 2",
        "beside these found in 1 of 1 on cores that changed their speed by themselves",
        f"{refused.name} found in 0 of 0",
    ]


@pytest.mark.parametrize(("owner", "other"), [("service", "generator"), ("generator", "service")])
@pytest.mark.parametrize(("longer", "own"), [(0.1, 0.0), (0.1, 0.1), (0.0, -0.2), (0.0, 0.0)])
def test_cores_that_change_by_themselves_are_told_from_a_planted_reading(owner, other, longer, own, tmp_path):
    """The reading grows half a second before half of the load; what lies outside of the load does not count."""
    at_s = np.arange(-5, 25, 0.1)
    is_load = (at_s >= 0) & (at_s <= 20)
    spent_s = np.where(is_load, 2e-4 * (1 + longer * (at_s > 9.5)), 4e-4)
    noise = 1 + 0.05 * np.random.default_rng(1).standard_normal(len(at_s))
    rows = [(at, other, FIXED_WORK, spent) for at, spent in zip(at_s, spent_s * noise, strict=True)]
    spent_s *= 1 + own * (at_s > 7)
    rows += [(at, owner, FIXED_WORK, spent) for at, spent in zip(at_s, spent_s * noise, strict=True)]
    folder = CellFolder(tmp_path, Cell("mvc", Closed(users=50, duration_s=20)))
    folder.keep_metrics(rows)
    folder.keep("summary", {"elapsed_s": 20.0})
    assert sensitivity.own_change(folder, longer) == pytest.approx(own, rel=0.4, abs=0.02)  # by a line, or as a step


@pytest.mark.java
@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize("name", ["lost-samples", "paused-service"])
def test_a_fault_is_really_planted_and_found(name, tmp_path):
    """A habit, which a copy of the locustfile brings to the workers, and something that is done beside a run."""
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    (found,) = sensitivity.measured(fault, tmp_path)
    assert found.word == "found"


def test_any_reason_is_a_false_alarm_where_nothing_is_wrong():
    """Whatever it says."""
    clean = sensitivity.clean(sensitivity.CLOSED)
    assert Found(clean, SUSPECT, ("The clock was set by +100 ms.",), {}).word == "FALSE ALARM"
    assert Found(clean, VALID, (), {}).word == "quiet"


@pytest.mark.parametrize("change", [faults.truncated, faults.wrong])
def test_the_relay_spoils_one_answer_of_a_thousand(moment, change):
    """The thousandth, and leaves all others as they are."""
    with faults.relayed(change)(moment) as url:
        host = url.removeprefix("http://")
        client, spoiled = http.client.HTTPConnection(host), []
        for number in range(1, 1003):
            client.request("GET", "/delay/500")
            try:
                body = client.getresponse().read()
            except http.client.IncompleteRead as error:
                body, client = error.partial, http.client.HTTPConnection(host)
            if body != BODY:
                spoiled.append((number, body))
        client.close()
    assert spoiled == [(1000, BODY[:-1] if change is faults.truncated else b'{"millis":600}')]
