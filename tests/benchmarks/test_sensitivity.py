"""The faults that ``benchmarks/sensitivity.py`` plants are what it says, and only their own reasons count."""

from __future__ import annotations

import http.client
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace

import faults
import pytest
import sensitivity
from sensitivity import FAULTS, Found

from lab.analysis.verdict import INVALID, SUSPECT, VALID
from lab.telemetry import sampler

BURST_FAULT = "paused-service-in-a-burst"
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
        planned = [cell.variant for cell in sensitivity.plan_of(fault, tmp_path, 1000.0).cells]
        assert sorted(planned) == sorted(fault.options.get("variants", fault.setting.options["variants"]))


def test_a_fault_is_found_by_its_own_reason_only():
    """Not by any other, and not by its own on a run that is valid all the same."""
    (fault,) = (fault for fault in FAULTS if fault.name == "paused-service")
    own, other = "The service answered nobody for 0.5 s: it stood still.", "The clock was set by +100 ms."
    assert Found(fault, SUSPECT, (other, own), {}).word == "found"
    assert Found(fault, INVALID, (other,), {}).word == "MISSED"
    assert Found(fault, VALID, (), {}).word == "MISSED"


@pytest.mark.java
@pytest.mark.usefixtures("brief")
@pytest.mark.parametrize(
    "name",
    [*(pytest.param(name, marks=pytest.mark.thorough) for name in ("lost-samples", "paused-service")), BURST_FAULT],
)
def test_a_fault_is_really_planted_and_found(name, tmp_path):
    """A habit, which a copy of the locustfile brings to the workers, and something that is done beside a run."""
    (fault,) = (fault for fault in FAULTS if fault.name == name)
    (found,) = sensitivity.measured(fault, tmp_path)
    assert found.word == "found"


def test_a_fault_that_is_sized_by_a_throughput_comes_after_what_shows_it():
    """Whichever are asked for: what its setting's first variant answered where nothing was wrong decides its rate."""
    assert "growing-queue-in-turns" in {fault.name for fault in FAULTS if fault.of_throughput}
    before, fault = sensitivity.chosen(["growing-queue-in-turns"])
    assert before == sensitivity.clean(fault.setting)
    shown = [Found(before, VALID, (), {}, variant, rps) for variant, rps in (("mvc", 900.0), ("webflux", 1200.0))]
    assert sensitivity.throughput_of(fault.setting, shown) == 900.0
    assert sensitivity.chosen([]) == list(sensitivity.ALL)


def test_any_reason_is_a_false_alarm_where_nothing_is_wrong():
    """Whatever it says."""
    clean = sensitivity.clean(sensitivity.CLOSED)
    assert Found(clean, SUSPECT, ("The clock was set by +100 ms.",), {}).word == "FALSE ALARM"
    assert Found(clean, VALID, (), {}).word == "quiet"


def test_slower_cores_repeat_the_readings_of_the_first_half_each_longer_by_the_share(tmp_path):
    """In the same order, whatever the machine does to the true speed of its cores meanwhile."""
    moment = SimpleNamespace(testbed=SimpleNamespace(run=SimpleNamespace(logs=tmp_path / "logs")), load_s=2.0)
    core = min(os.sched_getaffinity(0))
    with faults.slower_reading(0.5)(moment):
        command = [sys.executable, "-IS", str(sampler.CPU_SPEED_SCRIPT), str(core)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as timer:
            read_s = [float(timer.stdout.readline().split()[2]) for _ in range(40)]
            timer.stdin.close()
    assert any(read_s[n : 2 * n] == [1.5 * spent_s for spent_s in read_s[:n]] for n in range(1, 21)), read_s
    assert sampler.CPU_SPEED_SCRIPT.name == "cpu_speed.py"


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


def test_one_answer_at_the_end_of_each_load_is_kept_back():
    """The first one of its last part, and of the next load again."""
    change = faults.kept(2.0)
    for _ in range(2):
        held_s = [change(number, BODY, over)[0] for number, over in enumerate((0.0, 0.5, 0.96, 0.98, 0.99, 1.0))]
        assert held_s == [0.0, 0.0, 0.0, 2.0, 0.0, 0.0]
    assert change(7, BODY, 1.0)[1:] == (BODY, False)
