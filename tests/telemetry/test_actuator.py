"""What a service says of itself: its metrics by name and label, and why it did not start."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lab.errors import ComponentError
from lab.runtimes import Launch, waiting
from lab.system.service import Service
from lab.telemetry import actuator
from lab.telemetry.actuator import (
    COMPILED_MS,
    GC_COUNT,
    GC_PAUSES,
    HEAP,
    HEAP_EDEN,
    JVM_MEMORY,
    Answered,
    CpuTimes,
    EndpointStatus,
    await_ready,
    requests_answered,
    scrape,
)
from lab.telemetry.pools import HTTP_LEASED

# As the JVM's areas and the pools of Apache's client are written there, shortened.
PAGE = b"""\
# TYPE jvm_memory_used_bytes gauge
jvm_memory_used_bytes{area="heap",id="G1 Eden Space"} 1.0E8
jvm_memory_used_bytes{area="heap",id="G1 Old Gen"} 3.0E8
jvm_memory_used_bytes{area="nonheap",id="Metaspace"} 5.0E7
jvm_memory_used_bytes{area="nonheap",id="CodeHeap 'profiled nmethods'"} 2.0E7
# TYPE httpcomponents_httpclient_pool_total_connections gauge
httpcomponents_httpclient_pool_total_connections{httpclient="a",state="leased"} 3.0
httpcomponents_httpclient_pool_total_connections{httpclient="a",state="available"} 4.0
# HELP process_uptime_seconds The uptime of the Java virtual machine
# TYPE process_uptime_seconds gauge
process_uptime_seconds 8.1
# TYPE lab_cache_hops counter
lab_cache_hops_total 5.0
# TYPE lab_cache_hops_created gauge
lab_cache_hops_created 1.7E9
# TYPE jvm_compilation_time_ms_total counter
jvm_compilation_time_ms_total{compiler="HotSpot 64-Bit Tiered Compilers"} 2500.0
# TYPE jvm_gc_pause_seconds summary
jvm_gc_pause_seconds_count{action="end of minor GC"} 2
jvm_gc_pause_seconds_sum{action="end of minor GC"} 0.25
# TYPE http_server_requests_seconds summary
http_server_requests_seconds_count{exception="none",method="GET",outcome="SUCCESS",status="200",uri="/a"} 3
http_server_requests_seconds_count{exception="Late",method="GET",outcome="SUCCESS",status="200",uri="/a"} 2
http_server_requests_seconds_count{outcome="SUCCESS",status="201",uri="/b"} 6
http_server_requests_seconds_count{outcome="SERVER_ERROR",status="503",uri="/a"} 7
http_server_requests_seconds_count{outcome="SUCCESS",status="200",uri="/actuator/prometheus"} 8
"""


class Handler(BaseHTTPRequestHandler):
    """Answers with the page."""

    def do_GET(self) -> None:  # the library's name
        """Send it."""
        self.send_response(200)
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    """A service that has this page."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        yield Service(None, url, url)
        server.shutdown()


@pytest.mark.parametrize(
    ("said", "problem", "step"),
    [
        (
            "Caused by: java.net.BindException: Address already in use",
            "has taken 127.0.0.1:5702, its address in",
            "Try",
        ),
        ("no", "The service node 2 exited with status 1 while it started.", "Its"),
    ],
)
def test_a_service_that_finds_its_port_taken_says_which(runtime, tmp_path, said, problem, step):
    """And what to do; of any other end there is what is known, with the last lines of its log."""
    script = f"import sys; print({said!r}); print('at some line\\n' * 100); sys.exit(1)"
    told = {"LAB_CLUSTER_MEMBERS": "127.0.0.1:5701,127.0.0.1:5702", "LAB_NODE": "2"}
    launch = Launch("service node 2", (sys.executable, "-c", script), tmp_path / "log", told)
    with runtime.started(launch) as running, pytest.raises(ComponentError) as caught:
        await_ready(running, tmp_path)
    assert problem in caught.value.problem
    assert caught.value.next_step[:3] == step
    assert "at some line" in caught.value.detail


def test_where_one_of_several_nodes_ends_the_others_are_not_waited_for(runtime, tmp_path):
    """They may wait for it themselves: it is named at once, with its own reason, whichever is asked first."""
    waiting = Launch("service node 1", (sys.executable, "-c", "import time; time.sleep(60)"), tmp_path / "1.log")
    ending = Launch("service node 2", (sys.executable, "-c", "import sys; sys.exit(3)"), tmp_path / "2.log")
    with (
        runtime.started(waiting) as one,
        runtime.started(ending) as other,
        pytest.raises(ComponentError, match="The service node 2 exited with status 3 while it started"),
    ):
        await_ready(one, tmp_path, together=[one, other])


def test_a_service_that_is_never_ready_costs_its_cell_and_not_the_run(runtime, tmp_path, monkeypatch):
    """And where its log is stands beside that."""
    monkeypatch.setattr(waiting, "READY_WITHIN_S", 0.1)
    launch = Launch("service", (sys.executable, "-c", "import time; time.sleep(60)"), tmp_path / "log")
    with (
        runtime.started(launch) as running,
        pytest.raises(ComponentError, match="The service was not ready within 0 s") as caught,
    ):
        await_ready(running, tmp_path)
    assert str(tmp_path / "log") in caught.value.next_step


def test_what_is_kept_of_a_page_is_what_a_parser_finds_in_all_of_it(service):
    """Lines of which nothing is kept are not parsed."""
    families = text_string_to_metric_families(PAGE.decode())
    whole = [each for family in families for each in family.samples if "/actuator" not in each.labels.get("uri", "")]
    found = scrape(service)
    assert found == actuator._kept(whole)
    assert found[COMPILED_MS] == 2500
    assert (found[GC_COUNT], found[GC_PAUSES]) == (2, 0.25)
    assert {name for name in found if name.startswith("lab_")} == {"lab_cache_hops_total"}


def test_the_heap_is_the_heap_and_not_what_is_called_otherwise(service):
    """``nonheap`` ends like ``heap``: it is memory of the JVM in use, and none of the heap."""
    found = scrape(service)
    assert found[HEAP] == 4e8
    assert found[HEAP_EDEN] == 1e8
    assert found[JVM_MEMORY] == 4.7e8
    assert found[HTTP_LEASED] == 3


def test_what_was_answered_is_counted_in_all_and_by_success(service):
    """By status; without the lab's own questions. A service that says nothing of either has counted nothing known."""
    found = requests_answered(service)
    assert (found.total, found.succeeded, sum(found.by_status.values())) == (18, 11, 18)
    assert found.by_status[EndpointStatus(method="GET", path="/a", status="200")] == 5
    assert requests_answered(Service(None, "", "")) == Answered()


def test_the_compilers_share_is_that_of_the_node_where_it_is_highest():
    """Four nodes whose compilers take a little each are as warm as each of them."""
    before = CpuTimes(10.0, 4.0, (1.0, 2.0, 3.0))
    spent = CpuTimes(20.0, 5.0, (1.3, 2.5, 3.0)).since(before, 1000)
    assert spent == {
        "requests": 1000,
        "elapsed_s": 10.0,
        "cpu_us_per_request": 1000.0,
        "jit_share": pytest.approx(0.05),
    }
