"""How true latencies are, by the wire: ``python benchmarks/wire.py [--rounds 3] [--seconds 10] [--json]``.

The lab's user, wrk and k6 load the same server in turns, each on one core, the server on another, while tcpdump
captures every packet. On the wire a latency lasts from the first packet of a request to the last packet of its answer;
what a generator states beyond that is its own. Connecting is in neither. The server of known delay holds each answer
for 1 ms, or for 1 s. Where it is 1 s, all three have 1000 users; in the other rows each has as many as give about half
of its own ceiling: of the rate that it reaches with 50 users if the server holds nothing, which the server may limit.
Medians of the rounds count. Exit status 1 if our mean is more than 0.1 ms from the wire's or our 99th percentile more
than 0.5 ms, with 1000 users or with small answers that have a length, or if a figure of ours is farther from the wire
than k6's.

tcpdump sleeps while the load lasts and takes no CPU time: the kernel copies all headers, which costs both sides the
same, into a buffer that is large enough, or the benchmark ends with status 2.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

import goals
import numpy as np
import pandas as pd
import peers
from ours import ours
from packets import Wire, capturing, read_wire
from peers import FIGURES, Stated

from lab.errors import LabError
from lab.runtimes import Launch, Running, Runtime
from lab.runtimes.checkout import OWN_MODULES
from lab.runtimes.process import ProcessRuntime
from lab.spec.scenario import KINDS
from lab.spec.workload import Closed

OURS = "our user"
SERVERS = {
    "length": (sys.executable, "-m", "lab.generator.known_delay_server"),
    "chunked": (sys.executable, str(Path(__file__).with_name("chunked_server.py"))),
}
SHORT_MS = 1
CEILING_USERS, TRIAL_S = 50, 3
# How far ours may be from the wire.
MOST_US = {"mean": 100.0, "p99": 500.0}


@dataclass(frozen=True)
class Row:
    """One load that all generators play.

    Attributes:
        kind: of the answer, see :data:`lab.spec.scenario.KINDS`.
        framing: of the answer, by its length or in chunks.
        delay_ms: for which the server holds it.
        users: 0 for as many as give half of the generator's own ceiling.
        bounded: whether :data:`MOST_US` is a goal here.

    """

    name: str
    kind: str
    framing: str
    delay_ms: int = SHORT_MS
    users: int = 0
    bounded: bool = False


ROWS = (
    Row("1 s, 1000 users", "small", "length", delay_ms=1000, users=1000, bounded=True),
    Row("small", "small", "length", bounded=True),
    Row("small, chunked", "small", "chunked"),
    Row("1 MB", "large", "length"),
    Row("1 MB, chunked", "large", "chunked"),
)


@dataclass(frozen=True)
class Place:
    """Where a generator runs, and the server that it loads."""

    runtime: Runtime
    cores: frozenset[int]
    folder: Path
    url: str
    server: Running


@dataclass(frozen=True)
class Judged:
    """One load of one generator, and what the wire says of it.

    Attributes:
        stated_us: what the generator states, by figure.
        wire_us: what the wire shows.
        each_us: the mean difference of single requests, whatever its sign; None where a generator records none.
        requests: that the generator counted.
        on_wire: requests that were answered on the wire.
        cut_off: requests that were not, or in part.
        resent: packets that TCP sent again.
        ceiling_share: the rate as a share of the generator's ceiling; None where that did not matter.

    """

    users: int
    requests: int
    rate_rps: float
    ceiling_share: float | None
    stated_us: dict[str, float]
    wire_us: dict[str, float]
    each_us: float | None
    on_wire: int
    cut_off: int
    resent: int

    @property
    def off_us(self) -> dict[str, float]:
        """What the generator states less what the wire shows."""
        return {figure: self.stated_us[figure] - self.wire_us[figure] for figure in FIGURES}


# A generator plays a load of a row's requests; it states figures and, if it records each request, its samples.
Generator = Callable[[Place, Row, Closed], tuple[Stated, pd.DataFrame | None]]


def main() -> int:
    """Measure, print; 1 if a goal is missed, 2 if it cannot be measured here."""
    parser = goals.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10, help="of each generator in each row and round")
    options = parser.parse_args()
    return goals.concluded(lambda: measure(options.rounds, options.seconds), as_table, options.json)


def measure(rounds: int, seconds: int) -> dict:
    """All rounds of all rows and generators."""
    server_cores, cores = goals.two_cores()
    judged: dict[str, dict[str, list[Judged]]] = {row.name: {name: [] for name in generators()} for row in ROWS}
    with tempfile.TemporaryDirectory() as temporary, ProcessRuntime() as runtime, ExitStack() as stack:
        folder = Path(temporary)
        servers = {framing: stack.enter_context(serving(runtime, framing, server_cores, folder)) for framing in SERVERS}
        places = {framing: Place(runtime, cores, folder, *server) for framing, server in servers.items()}
        halves: dict[tuple[Row, str], Half] = {}
        for row in (row for row in ROWS if not row.users):
            for name, generator in generators().items():
                halves[row, name] = find_half(generator, places[row.framing], row)
                tell(f"{row.name}, {name}: {halves[row, name]}")
        for number in range(1, rounds + 1):
            for row in ROWS:
                for name, generator in generators().items():
                    found = judge(generator, places[row.framing], row, halves.get((row, name)), seconds)
                    judged[row.name][name].append(found)
                    off = ", ".join(f"{figure} {value:+,.0f}" for figure, value in found.off_us.items())
                    tell(f"round {number} of {rounds}, {row.name}, {name}: {off} µs")
    return summary(judged)


def tell(step: str) -> None:
    """A line of progress."""
    print(step, file=sys.stderr, flush=True)


def generators() -> dict[str, Generator]:
    """Those that are installed, by name."""
    known = {OURS: we_play, "wrk": wrk_plays, "k6": k6_plays}
    return {name: generator for name, generator in known.items() if name not in peers.missing()}


@contextmanager
def serving(runtime: Runtime, framing: str, cores: frozenset[int], folder: Path) -> Iterator[tuple[str, Running]]:
    """A server of known delay that frames its answers so; its address and its process."""
    launch = Launch(
        f"server ({framing})",
        SERVERS[framing],
        folder / f"server-{framing}.log",
        OWN_MODULES,
        cores,
        talks=True,
    )
    with runtime.started(launch) as server:
        if not (line := server.stdout.readline()):
            raise LabError(f"The {launch.name} did not start.", "", server.log_tail())
        yield f"http://{runtime.host}:{json.loads(line)['port']}", server


@dataclass(frozen=True)
class Half:
    """A generator's ceiling for a kind of answer in requests/s, and how many users give half of it."""

    ceiling_rps: float
    users: int


def find_half(generator: Generator, place: Place, row: Row) -> Half:
    """Try which rate a generator reaches if the server holds nothing, and with how many users half of it if it does."""
    ceiling_rps = rate_rps(generator, place, replace(row, delay_ms=0), CEILING_USERS)
    guess = max(1, round(ceiling_rps / 2 * row.delay_ms / 1000))
    users = max(1, round(guess * ceiling_rps / 2 / rate_rps(generator, place, row, guess)))
    return Half(ceiling_rps, users)


def rate_rps(generator: Generator, place: Place, row: Row, users: int) -> float:
    """The requests/s of so many users, in a trial."""
    stated, _ = generator(place, row, Closed(users=users, ramp_s=0.0, duration_s=float(TRIAL_S)))
    return stated.requests / TRIAL_S


def judge(generator: Generator, place: Place, row: Row, half: Half | None, seconds: int) -> Judged:
    """Have a generator play a row, and compare what it states with what the wire shows."""
    users = half.users if half else row.users
    load = Closed(users=users, ramp_s=0.0 if half else row.delay_ms / 1000, duration_s=float(seconds))
    file, port = place.folder / "wire.pcap", urlsplit(place.url).port
    with capturing(place.runtime, port, file):
        stated, samples = generator(place, row, load)
    wire = read_wire(file, port)
    # At its end wrk closes its connections without a look at what has come.
    if not 0 <= len(wire.sent_ns) - stated.requests <= (users if samples is None else 0):
        raise LabError(f"Of {stated.requests:,} requests the wire saw {len(wire.sent_ns):,}.", "See what else loads.")
    return Judged(
        users=users,
        requests=stated.requests,
        rate_rps=stated.requests / seconds,
        ceiling_share=stated.requests / seconds / half.ceiling_rps if half else None,
        stated_us=stated.figures_us,
        wire_us=figures_us(wire.latency_ns / 1000),
        each_us=None if samples is None else mean_difference_us(samples, wire),
        on_wire=len(wire.sent_ns),
        cut_off=wire.cut_off,
        resent=wire.resent,
    )


def we_play(place: Place, row: Row, load: Closed) -> tuple[Stated, pd.DataFrame]:
    """The lab's user, by its samples."""
    with ours(place.runtime, "calibration", load.users, place.cores, place.folder, place.server) as generator:
        generator.play(place.url, load, {"kind": KINDS.index(row.kind), "delay_ms": row.delay_ms})
    samples = generator.samples()
    return Stated(len(samples), figures_us(unconnected_us(samples))), samples


def wrk_plays(place: Place, row: Row, load: Closed) -> tuple[Stated, None]:
    """What wrk states."""
    return peers.wrk_latency(f"{place.url}/{row.kind}/{row.delay_ms}", load, place.cores, place.folder), None


def k6_plays(place: Place, row: Row, load: Closed) -> tuple[Stated, None]:
    """What k6 states."""
    return peers.k6_latency(f"{place.url}/{row.kind}/{row.delay_ms}", load, place.cores, place.folder), None


def unconnected_us(samples: pd.DataFrame) -> np.ndarray:
    """The latencies of samples without what connecting took."""
    return (samples["latency_us"] - samples["connect_us"]).to_numpy()


def figures_us(latencies_us: np.ndarray) -> dict[str, float]:
    """Mean and percentiles."""
    percentiles = np.percentile(latencies_us, (50, 99, 99.9))
    return dict(zip(FIGURES, map(float, (latencies_us.mean(), *percentiles)), strict=True))


def mean_difference_us(samples: pd.DataFrame, wire: Wire) -> float:
    """The mean difference between a sample's latency and the wire's of the same request, whatever its sign.

    One worker sends one request after the other, so they pass the wire in the order of their samples.
    """
    in_order = np.argsort((samples["sent_us"] + samples["connect_us"]).to_numpy(), kind="stable")
    return float(np.abs(unconnected_us(samples)[in_order] - wire.latency_ns / 1000).mean())


def summary(judged: dict[str, dict[str, list[Judged]]]) -> dict:
    """Rounds, the median of each of their figures, and the goals that were missed."""
    rows = {row: {name: median(rounds) for name, rounds in of.items()} for row, of in judged.items()}
    return {
        "rounds": {
            row: {name: [asdict(one) for one in rounds] for name, rounds in of.items()} for row, of in judged.items()
        },
        "rows": rows,
        "not_installed": peers.missing(),
        "not_judged": ["no farther than k6 in any row"] * ("k6" in peers.missing()),
        "missed": [goal for row in ROWS for goal in missed(row, rows[row.name])],
    }


def median(rounds: list[Judged]) -> dict:
    """The median of each number; of how far a generator is off, not that of figures that differ from round to round."""
    each_us = [one.each_us for one in rounds if one.each_us is not None]
    shares = [one.ceiling_share for one in rounds if one.ceiling_share is not None]
    return {
        "users": rounds[0].users,
        "rate_rps": statistics.median(one.rate_rps for one in rounds),
        "ceiling_share": statistics.median(shares) if shares else None,
        "wire_us": {figure: statistics.median(one.wire_us[figure] for one in rounds) for figure in FIGURES},
        "off_us": {figure: statistics.median(one.off_us[figure] for one in rounds) for figure in FIGURES},
        "each_us": statistics.median(each_us) if each_us else None,
    }


def missed(row: Row, found: dict[str, dict]) -> list[str]:
    """The goals that our figures miss in one row."""
    off_us = found[OURS]["off_us"]
    goals_missed = [
        f"{row.name}: our {figure} is {off_us[figure]:+,.0f} µs from the wire's, more than {most_us:,.0f}."
        for figure, most_us in MOST_US.items()
        if row.bounded and abs(off_us[figure]) > most_us
    ]
    k6_us = found["k6"]["off_us"] if "k6" in found else {}
    goals_missed += [
        f"{row.name}: our {figure} is {off_us[figure]:+,.0f} µs from the wire's, k6's {value_us:+,.0f}."
        for figure, value_us in k6_us.items()
        if abs(off_us[figure]) > abs(value_us)
    ]
    return goals_missed


def as_table(result: dict) -> str:
    """How far each generator is off, a line each."""
    columns = "".join(f"{figure:>10}" for figure in FIGURES)
    lines = [f"{'stated less wire, µs':29}{columns}   each     wire's mean  users  requests/s"]
    for row, of in result["rows"].items():
        lines.append(row)
        for name, found in of.items():
            off = "".join(f"{value:+10,.0f}" for value in found["off_us"].values())
            each = "" if found["each_us"] is None else f"{found['each_us']:,.0f}"
            share = "" if found["ceiling_share"] is None else f" ({found['ceiling_share']:.0%} of its ceiling)"
            mean = f"{found['wire_us']['mean']:13,.0f}"
            lines.append(f"  {name:27}{off}{each:>7}{mean} µs{found['users']:7}{found['rate_rps']:12,.0f}{share}")
    lines += [f"{name} is not installed and was left out." for name in result["not_installed"]]
    lines += [f"Goal not judged: {text}" for text in result["not_judged"]]
    return "\n".join(lines + [f"Goal missed: {text}" for text in result["missed"]])


if __name__ == "__main__":
    sys.exit(main())
