"""How fast one core can ask: ``python benchmarks/generator.py [--rounds 3] [--seconds 5] [--json]``.

Requests a second of the lab's user, as ``lab run`` plays it (a Locust worker, every request recorded and checked,
Locust's statistics fed), and of other generators in their leanest form. All ask the same server for the same things,
over 50 connections: a small body, the same each time; one that differs with every request; one whose head differs; a
small body for another token each time; a small one for a POST of 59 kB; a megabyte with its length, and in chunks. The
server has one core, each generator another. Rounds are interleaved, so that a slow minute of the machine is slow for
all; medians count. What is built on Locust is counted by its full seconds; wrk and k6 state their rates themselves. CPU
time a request is the generator's own: it bears a disturbed machine better than the rate does, which is also limited by
what the server sends.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import goals
import numpy as np
from ours import ours
from pace import LOST_S, Pace, steady_rps
from peers import PEERS, Order, missing
from targets import KINDS, Kind, Target, nginx

from lab.generator.bench import running_server
from lab.runtimes import Runtime
from lab.runtimes.process import ProcessRuntime
from lab.spec.workload import Closed

USERS = 50
OURS = "our user"
# What our rate must be at least, as a multiple of a peer's.
GOALS = {
    ("small", "FastHttpUser"): 8.0,
    ("small", "k6"): 4.0,
    ("small, bodies differ", "FastHttpUser"): 8.0,
    ("small, bodies differ", "k6"): 4.0,
    ("small, heads differ", "FastHttpUser"): 8.0,
    ("small, heads differ", "k6"): 4.0,
    ("POST of 59 kB", "FastHttpUser"): 2.0,
    ("POST of 59 kB", "k6"): 2.0,
    ("1 MB", "FastHttpUser"): 3.5,
    ("1 MB", "wrk"): 3.0,
    ("1 MB, chunked", "wrk"): 2.0,
}
OUR_LOCUSTFILE = """
from locust import task
from lab.generator.locust import LabUser

class Asking(LabUser):
    @task
    def ask(self):
        self.client.get({path!r}, name={path!r}, check={check!r})
"""
OUR_POST = """
from locust import task
from lab.generator.locust import LabUser

BODY = b"x" * {bytes}

class Sending(LabUser):
    @task
    def send(self):
        self.client.post({path!r}, name={path!r}, body=BODY, check={check!r})
"""

# By kind of request and generator, one of each round.
Paces = dict[str, dict[str, list[Pace]]]


def main() -> int:
    """Measure, print; 1 if a goal is missed, 2 if it cannot be measured here."""
    parser = goals.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="of each generator in each round")
    names = [kind.name for kind in KINDS]
    parser.add_argument("--kinds", nargs="+", choices=names, default=names, help="all if left out", metavar="KIND")
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if kind.name in options.kinds]
    return goals.concluded(lambda: measure(kinds, options.rounds, options.seconds), as_table, options.json)


def measure(kinds: Sequence[Kind], rounds: int, seconds: int) -> dict:
    """All rounds of all generators and kinds of request."""
    server, generator = goals.two_cores()
    peers = {name: peer for name, peer in PEERS.items() if name not in missing()}
    paces: Paces = {kind.name: {name: [] for name in (OURS, *peers)} for kind in kinds}
    with tempfile.TemporaryDirectory() as temporary, ProcessRuntime() as runtime:
        folder = Path(temporary)
        with nginx(runtime, folder, server) as target, running_server(runtime, server, folder) as (chunking, url):
            for number in range(1, rounds + 1):
                for kind in kinds:
                    of_kind = Target(url, target.tokens, chunking) if kind.chunked else target
                    order = Order(kind, of_kind, USERS, seconds, generator, folder)
                    paces[kind.name][OURS].append(our_pace(runtime, order))
                    for name, peer in peers.items():
                        paces[kind.name][name].append(peer(order))
                    print(f"round {number} of {rounds}, {kind.name}: done", file=sys.stderr)
    return summary(paces)


def our_pace(runtime: Runtime, order: Order) -> Pace:
    """The pace of our user, by its samples; the CPU time is that of the worker, which does what a peer does."""
    target, kind = order.target, order.kind
    asking = OUR_POST if kind.posted_bytes else OUR_LOCUSTFILE
    text = asking.format(path=kind.path, check=kind.check, bytes=kind.posted_bytes)
    played = kind.scenario or Path(order.write("asking.py", text))
    with ours(runtime, played, order.users, order.cores, order.folder, target.running, target.tokens) as generator:
        before_s = generator.worker.cpu_s()
        load = Closed(users=order.users, ramp_s=0.0, duration_s=float(order.seconds + LOST_S))
        result = generator.play(target.url, load)
        cpu_us = (generator.worker.cpu_s() - before_s) / result.finished * 1e6
    samples = generator.samples()
    ended = result.unix_start + (samples["sent_us"] + samples["latency_us"]).to_numpy() / 1e6
    counts = zip(*np.unique(ended.astype(int), return_counts=True), strict=True)
    return Pace(steady_rps({int(second): int(count) for second, count in counts}), cpu_us)


def summary(paces: Paces) -> dict:
    """Medians, our rate as a multiple of each peer's, and the goals that were missed."""
    rates = {kind: {name: [pace.rate_rps for pace in of] for name, of in row.items()} for kind, row in paces.items()}
    costs = {kind: {name: [pace.cpu_us for pace in of] for name, of in row.items()} for kind, row in paces.items()}
    found = medians(rates)
    found_us = medians(costs)
    ratios = {
        kind: {name: row[OURS] / rate for name, rate in row.items() if name != OURS} for kind, row in found.items()
    }
    saved = {
        kind: {name: cpu_us / row[OURS] for name, cpu_us in row.items() if name != OURS}
        for kind, row in found_us.items()
    }
    missed = [
        f"{kind}: {ratios[kind][name]:.2f} × {name} is less than {least:g} ×."
        for (kind, name), least in GOALS.items()
        if ratios.get(kind, {}).get(name, least) < least
    ]
    return {
        "connections": USERS,
        "rates_rps": found,
        "rounds_rps": rates,
        "cpu_us_a_request": found_us,
        "ours_as_multiple_of": ratios,
        "cpu_as_multiple_of_ours": saved,
        "not_installed": missing(),
        "not_judged": [
            f"{kind}: {least:g} × {name}"
            for (kind, name), least in GOALS.items()
            if kind in ratios and name not in ratios[kind]
        ],
        "missed": missed,
    }


def medians(rounds: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    """The median of all rounds, by kind of request and generator."""
    return {kind: {name: statistics.median(of) for name, of in row.items()} for kind, row in rounds.items()}


def as_table(result: dict) -> str:
    """The medians and ratios, a line a generator."""
    lines = [f"{USERS} connections        requests/s     µs CPU a request     ours as a multiple     by CPU time"]
    for kind, row in result["rates_rps"].items():
        lines.append(kind)
        for name, rate in row.items():
            ratio, saved = (result[key][kind].get(name) for key in ("ours_as_multiple_of", "cpu_as_multiple_of_ours"))
            cpu_us = result["cpu_us_a_request"][kind][name]
            lines.append(f"  {name:14}{rate:16,.0f}{cpu_us:21,.1f}" + (f"{ratio:23.2f}{saved:16.2f}" if ratio else ""))
    lines += [f"{name} is not installed and was left out." for name in result["not_installed"]]
    lines += [f"Goal not judged: {text}" for text in result["not_judged"]]
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
