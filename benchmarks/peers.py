"""The other generators, each in its leanest form: nothing checked, nothing kept, what they need written to a folder.

FastHttpUser and HttpUser run as one process without a master, as ``locust --headless`` does, and without
``catch_response``. wrk has one thread; k6 as many as it likes, on the one core that each of them gets.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pace import LOST_S, Pace, steady_rps
from targets import Kind, Target

from lab.errors import LabError
from lab.runtimes.checkout import OWN_MODULES
from lab.runtimes.process import confined
from lab.spec.workload import Closed

SPARE_S = 120.0
FIGURES = ("mean", "p50", "p99", "p99.9")
K6 = ("k6", "run", "--quiet", "--no-usage-report")

# Locust counts the CPU time itself, from the order to start to that to stop: importing it takes seconds.
LOCUSTFILE = """
import json
import random
from time import process_time
from locust import {user}, events, task

TOKENS = open({tokens!r}).read().split()
BODY = b"x" * {bytes}

@events.test_start.add_listener
def begin(environment, **_):
    environment.began_s = process_time()

@events.test_stop.add_listener
def end(environment, **_):
    total = environment.stats.total
    found = dict(cpu_s=process_time() - environment.began_s, requests=total.num_requests, failed=total.num_failures)
    print(json.dumps(dict(found, per_second=total.num_reqs_per_sec)))

class Peer({user}):
    host = {url!r}

    @task
    def fetch(self):
        {fetch}
"""
PLAIN_FETCH = "self.client.get({path!r})"
TOKEN_FETCH = "self.client.get({path!r}, headers={{'Authorization': 'Bearer ' + random.choice(TOKENS)}})"
POST_FETCH = "self.client.post({path!r}, data=BODY)"

WRK_POST = """
wrk.method, wrk.body = "POST", string.rep("x", {bytes})
"""
WRK_TOKENS = """
local tokens, next = {{}}, 0
for line in io.lines({tokens}) do tokens[#tokens + 1] = "Bearer " .. line end
function request()
    next = next % #tokens + 1
    return wrk.format("GET", {path}, {{ Authorization = tokens[next] }})
end
"""

K6_SCRIPT = """
import http from 'k6/http';
import {{ SharedArray }} from 'k6/data';
const tokens = new SharedArray('tokens', () => open({tokens}).split('\\n'));
const body = 'x'.repeat({bytes});
export const options = {{ vus: {users}, duration: '{seconds}s', discardResponseBodies: true }};
export default function () {{ {fetch} }}
export function handleSummary(data) {{ return {{ stdout: JSON.stringify(data.metrics) }}; }}
"""
# Both start their users evenly over the ramp, as the lab's do. wrk asks for a delay (ms) before each request.
WRK_RAMP = """
local begun = 0
function delay()
    begun = begun + 1
    return begun <= {users} and math.floor((begun - 1) * {ramp_s} * 1000 / {users}) or 0
end
"""
WRK_LATENCY = """
function done(summary, latency, requests)
    local us = { latency.mean, latency:percentile(50), latency:percentile(99), latency:percentile(99.9) }
    io.write(string.format("[%d, %f, %f, %f, %f]\\n", summary.requests, us[1], us[2], us[3], us[4]))
end
"""
K6_LATENCY = """
import http from 'k6/http';
import {{ sleep }} from 'k6';
export const options = {{
    vus: {users}, duration: '{seconds}s', discardResponseBodies: true,
    summaryTrendStats: ['avg', 'p(50)', 'p(99)', 'p(99.9)'],
}};
export default function () {{
    if (__ITER == 0) sleep((__VU - 1) * {ramp_s} / {users});
    http.get({url});
}}
export function handleSummary(data) {{ return {{ stdout: JSON.stringify(data.metrics) }}; }}
"""
K6_PLAIN_FETCH = "http.get({url});"
K6_POST = "http.post({url}, body);"
K6_TOKEN_FETCH = (
    "http.get({url}, {{ headers: {{ Authorization: 'Bearer ' + "
    "tokens[Math.floor(Math.random() * tokens.length)] }} }});"
)


@dataclass(frozen=True)
class Order:
    """What a peer is to do: one kind of request, by so many users, for so long."""

    kind: Kind
    target: Target
    users: int
    seconds: int
    cores: frozenset[int]
    folder: Path

    def write(self, name: str, text: str) -> str:
        """Write a script for a peer; returns its path."""
        file = self.folder / name
        file.write_text(text)
        return str(file)


Peer = Callable[[Order], Pace]


def locust(user: str) -> Peer:
    """A peer that is one of Locust's own user classes, in one process without a master."""

    def pace(order: Order) -> Pace:
        kind = order.kind
        plain = POST_FETCH if kind.posted_bytes else PLAIN_FETCH
        fetch = (TOKEN_FETCH if kind.bearer else plain).format(path=kind.path)
        told = {"url": order.target.url, "tokens": str(order.target.tokens), "bytes": kind.posted_bytes}
        text = LOCUSTFILE.format(user=user, fetch=fetch, **told)
        file = order.write(f"{user}.py", text)
        users, seconds = str(order.users), str(order.seconds + LOST_S)
        command = ("-f", file, "--headless", "-u", users, "-r", users, "-t", seconds, "--only-summary", "--skip-log")
        said, _ = _output((sys.executable, "-m", "locust", *command), order.cores, order.seconds)
        found = json.loads(next(line for line in said.splitlines() if line.startswith("{")))
        if found["failed"] or not found["requests"]:
            raise LabError(f"{found['failed']} of {found['requests']} requests of Locust's {user} failed.")
        per_second = {int(second): count for second, count in found["per_second"].items()}
        return Pace(steady_rps(per_second), found["cpu_s"] / found["requests"] * 1e6)

    return pace


def wrk(order: Order) -> Pace:
    """The pace of wrk, with one thread, as it states it."""
    text = WRK_TOKENS.format(tokens=json.dumps(str(order.target.tokens)), path=json.dumps(order.kind.path))
    script = ("-s", order.write("token.lua", text)) if order.kind.bearer else ()
    if order.kind.posted_bytes:
        script = ("-s", order.write("post.lua", WRK_POST.format(bytes=order.kind.posted_bytes)))
    url = order.target.url + order.kind.path
    command = ("wrk", "-t", "1", "-c", str(order.users), "-d", f"{order.seconds}s", *script, url)
    said, cpu_s = _output(command, order.cores, order.seconds)
    rate, count = re.search(r"Requests/sec:\s+([\d.]+)", said), re.search(r"(\d+) requests in", said)
    if not rate or not count or "Non-2xx" in said or "Socket errors" in said:
        raise LabError("wrk did not say how fast it was, or had errors.", "", said)
    return Pace(float(rate[1]), cpu_s / int(count[1]) * 1e6)


def k6(order: Order) -> Pace:
    """The pace of k6, as it states it."""
    url = json.dumps(order.target.url + order.kind.path)
    plain = K6_POST if order.kind.posted_bytes else K6_PLAIN_FETCH
    fetch = (K6_TOKEN_FETCH if order.kind.bearer else plain).format(url=url)
    told = {"tokens": json.dumps(str(order.target.tokens)), "bytes": order.kind.posted_bytes}
    text = K6_SCRIPT.format(users=order.users, seconds=order.seconds, fetch=fetch, **told)
    said, cpu_s = _output((*K6, order.write("peer.js", text)), order.cores, order.seconds)
    found = json.loads(said)
    if found["http_req_failed"]["values"]["rate"]:
        raise LabError("Requests of k6 failed.", "", said[-2000:])
    requests = found["http_reqs"]["values"]
    return Pace(float(requests["rate"]), cpu_s / requests["count"] * 1e6)


@dataclass(frozen=True)
class Stated:
    """How many requests a generator counted, and the :data:`FIGURES` of their latencies, without connecting."""

    requests: int
    figures_us: dict[str, float]


def wrk_latency(url: str, load: Closed, cores: frozenset[int], folder: Path) -> Stated:
    """What wrk states: it adds latencies where it believes to have missed some, after any above twice its mean."""
    script = folder / "latency.lua"
    script.write_text(WRK_RAMP.format(users=load.users, ramp_s=load.ramp_s) * bool(load.ramp_s) + WRK_LATENCY)
    seconds = int(load.duration_s)
    options = ("-t", "1", "-c", str(load.users), "-d", f"{seconds}s", "--timeout", f"{seconds}s", "-s", str(script))
    said, _ = _output(("wrk", *options, url), cores, seconds)
    if "Requests/sec:" not in said or "Non-2xx" in said or "Socket errors" in said:
        raise LabError("wrk did not say how fast it was, or had errors.", "", said)
    requests, *microseconds = json.loads(said.splitlines()[-1])
    return Stated(requests, dict(zip(FIGURES, microseconds, strict=True)))


def k6_latency(url: str, load: Closed, cores: frozenset[int], folder: Path) -> Stated:
    """What k6 states of the duration of requests: to send, to wait, and to receive."""
    script = folder / "latency.js"
    seconds = int(load.duration_s)
    script.write_text(K6_LATENCY.format(users=load.users, ramp_s=load.ramp_s, seconds=seconds, url=json.dumps(url)))
    said, _ = _output((*K6, str(script)), cores, seconds)
    found = json.loads(said)
    if found["http_req_failed"]["values"]["rate"]:
        raise LabError("Requests of k6 failed.", "", said[-2000:])
    milliseconds = found["http_req_duration"]["values"]
    microseconds = (milliseconds[name] * 1e3 for name in ("avg", "p(50)", "p(99)", "p(99.9)"))
    return Stated(int(found["http_reqs"]["values"]["count"]), dict(zip(FIGURES, microseconds, strict=True)))


PEERS: dict[str, Peer] = {
    "FastHttpUser": locust("FastHttpUser"),
    "HttpUser": locust("HttpUser"),
    "wrk": wrk,
    "k6": k6,
}
PROGRAMS = ("wrk", "k6")


def missing() -> list[str]:
    """The peers that are not installed."""
    return [name for name in PROGRAMS if not shutil.which(name)]


def _output(command: tuple[str, ...], cores: frozenset[int], seconds: int) -> tuple[str, float]:
    """What a peer prints, and the CPU seconds it took in all; LabError if it fails or does not end."""
    before_s = _ended_children_cpu_s()
    with confined(cores):
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=seconds + SPARE_S,
                check=True,
                env={**os.environ, **OWN_MODULES},
            )
        except subprocess.TimeoutExpired as error:
            raise LabError(f"{command[0]} did not end.", "See what keeps it from answers.") from error
        except subprocess.CalledProcessError as error:
            raise LabError(f"{command[0]} failed with status {error.returncode}.", "", error.stderr[-2000:]) from error
    return done.stdout, _ended_children_cpu_s() - before_s


def _ended_children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
