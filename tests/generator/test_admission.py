"""Who is heard by Locust's master: its own workers, whatever others send, and whatever a worker sends."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import msgpack
import zmq
from any_server import serving
from patience import PATIENCE_S, await_that
from zmq.utils import z85

from lab.generator.counts import COUNTS
from lab.generator.fleet import Fleet, LoadPhase, Placement, running_fleet
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime, free_ports
from lab.spec.workload import Burst

TOKEN = "a token that only this test knows"
MESSAGES = 10_000
SENT_BY_WORKERS = (
    *("client_ready", "heartbeat", "stats", "spawning", "spawning_complete", "logs", "exception", "locustfile"),
    *("lab-report", "lab-clock", "lab-ready", "lab-tokens-there", "unknown", "", 5, None),
)
ENDS_A_WORKER = ("quit", "client_stopped")
# The numbers in a worker's report.
NUMBERS = (*COUNTS, "clock_step_s", "unix_now", "cpu_s")


@contextmanager
def peer(port: int, name: str, token: str = "", own_key: bool = False) -> Iterator[zmq.Socket]:
    """A connection to the master with the keys that a token stands for, as workers have it; without any if empty.

    Args:
        own_key: whether it knows the master's key, but not the workers'.

    """
    with zmq.Context() as context, context.socket(zmq.DEALER) as made:
        made.linger, made.sndhwm = 0, 2 * MESSAGES
        made.identity = name.encode()
        if token:
            digests = (hashlib.sha256(f"lab {role} {token}".encode()).digest() for role in ("master", "worker"))
            master, worker = map(z85.encode, digests)
            secret = zmq.curve_keypair()[1] if own_key else worker
            made.curve_serverkey = zmq.curve_public(master)
            made.curve_publickey, made.curve_secretkey = zmq.curve_public(secret), secret
        made.connect(f"tcp://127.0.0.1:{port}")
        yield made


@contextmanager
def listening(folder, remote: int = 0) -> Iterator[tuple[Fleet, int]]:
    """A master with a worker of its own, and the port it listens at."""
    port, shape = free_ports(1)[0], Burst(users=5, ramp_s=0.0, loops=4, workers=1, remote_workers=remote)
    with ProcessRuntime() as runtime:
        where = Placement(runtime, frozenset(), folder, folder / "samples", bind=("127.0.0.1", port), join_token=TOKEN)
        with running_fleet("load", shape, where) as fleet:
            yield fleet, port


def assert_plays(fleet: Fleet) -> None:
    """The worker plays a load to its end, every request of it."""
    with serving() as server:
        fleet.spawn(5)
        shape = Burst(users=5, ramp_s=0.0, loops=4, workers=1)
        result = fleet.run_phase(LoadPhase(f"{server.url}/ok", shape), PATIENCE_S)
        assert result.begun == result.finished == server.asked("/ok") == 20
        assert result.failed == 0


def message(kind: object, data: object, node: object) -> bytes:
    """A message of Locust's."""
    return msgpack.packb((kind, data, node))


def test_a_module_of_the_working_directory_takes_no_place(tmp_path, monkeypatch):
    """The lab may be called in any folder: neither master nor worker imports what lies there."""
    for name in ("numpy", "pyarrow", "msgspec", "locust", "gevent", "zmq"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    with listening(Path()) as (fleet, _):
        fleet.await_workers()
        assert_plays(fleet)
    assert Path("samples").stat().st_size


def test_strangers_are_neither_heard_nor_told_anything(tmp_path):
    """Without the token nobody joins, ends a worker, or receives a word; the load goes on as planned."""
    version = importlib.metadata.version("locust")
    with listening(tmp_path) as (fleet, port):
        fleet.await_workers()
        name = worker_name(tmp_path)
        with (
            peer(port, "plain") as plain,
            peer(port, "guesses", "another token of the same kind") as guesses,
            peer(port, "half", TOKEN, own_key=True) as half,
            socket.create_connection(("127.0.0.1", port)) as raw,
        ):
            strangers = (plain, guesses, half)
            for stranger in strangers:
                said = [message("client_ready", version, stranger.identity.decode())]
                for words in said + [message(kind, None, name) for kind in ENDS_A_WORKER]:
                    with contextlib.suppress(zmq.Again):  # a refused one has nobody to send to for a moment
                        stranger.send(words, zmq.NOBLOCK)
            raw.sendall(random.Random(1).randbytes(100_000))
            await_that(lambda: "not this run's" in (tmp_path / "locust-master.log").read_text())
            assert_plays(fleet)
            assert [stranger.poll(0) for stranger in strangers] == [0, 0, 0]
    log = (tmp_path / "locust-master.log").read_text()
    assert log.count("reported as ready") == 1
    assert "reported that it has stopped" not in log


def worker_name(folder) -> str:
    """How the one worker calls itself, as the master's log says."""
    log = (folder / "locust-master.log").read_text()
    (line,) = [line for line in log.splitlines() if "reported as ready" in line]
    return next(word for word in line.split() if "_" in word)


def test_a_worker_with_another_token_is_told_so(tmp_path):
    """Instead of waiting for ever for a run that goes on."""
    command = [sys.executable, "-m", "lab", "worker", "--join", "another token of the same kind", "--master"]
    with (
        listening(tmp_path) as (_, port),
        subprocess.Popen([*command, f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True, cwd=ROOT) as worker,
    ):
        assert worker.stdout
        assert "Waiting for runs" in worker.stdout.readline()
        assert "has another token" in worker.stdout.readline()
        worker.send_signal(signal.SIGINT)
        assert worker.wait(PATIENCE_S) == 0


def anything(chance: random.Random, depth: int = 0) -> object:
    """A value of any kind that a message can hold."""
    kinds = [
        lambda: chance.randint(-(2**63), 2**64 - 1),
        lambda: chance.uniform(-1e300, 1e300),
        lambda: chance.choice([None, True, False, float("nan"), float("inf"), -1]),
        lambda: chance.randbytes(chance.randrange(60)),
        lambda: "".join(chr(chance.randrange(1, 0xD7FF)) for _ in range(chance.randrange(20))),
        lambda: [anything(chance, depth + 1) for _ in range(chance.randrange(5))],
        lambda: {chance.choice(FIELDS): anything(chance, depth + 1) for _ in range(chance.randrange(8))},
    ]
    return chance.choice(kinds if depth < 4 else kinds[:5])()


FIELDS = (
    *("phase", "worker", "records", "names", "ticks", "cut", "last", "problem", "state", "current_cpu_usage", "stats"),
    *("stats_total", "errors", "user_classes_count", "version", "msg", "traceback", "__datetime__", "as_str", "count"),
)


def fuzzed(chance: random.Random, me: str, other: str) -> bytes:
    """A message that is wrong in one way or another: its bytes, its parts, its sender, or what it says."""
    kind, data = chance.choice(SENT_BY_WORKERS), anything(chance)
    match chance.randrange(6):
        case 0:
            return chance.randbytes(chance.randrange(200))
        case 1:
            whole = message(kind, data, me)
            return whole[: chance.randrange(len(whole))] + chance.randbytes(chance.randrange(3))
        case 2:
            return message(chance.choice([*SENT_BY_WORKERS, *ENDS_A_WORKER]), data, other)
        case 3:
            return msgpack.packb(anything(chance))
        case 4:
            return message(kind, data, anything(chance))
        case _:
            return message(kind, data, me)


def report(worker: int, **how: object) -> dict[str, object]:
    """A worker's report of a phase in which it has sent nothing."""
    nothing = {"records": b"", "names": [], "ticks": [], "cut": [], "stopped": [], "problem": None}
    return {**dict.fromkeys(NUMBERS, 0), **nothing, "worker": worker, "warm_up": 0, "window": 0, **how}


# What Locust would keep, and fail by when it spawns or counts next.
KEPT_BY_LOCUST = (
    ("spawning_complete", {"user_classes_count": None}),
    ("spawning_complete", {"user_classes_count": {"Load": "5"}}),
    ("stats", {"stats": [{"name": 1, "method": None}], "errors": {}}),
    ("heartbeat", {"state": "running", "current_cpu_usage": None}),
)


def play_along(worker: zmq.Socket, me: str, index: int) -> None:
    """Do as a worker that spawns what it is told to, and has nothing to send; but it sends malformed messages too."""
    while worker.poll(PATIENCE_S * 1000):
        kind, order, _ = msgpack.unpackb(worker.recv(), strict_map_key=False)
        if kind not in ("spawn", "lab-phase"):
            continue
        if kind == "spawn":
            spawned = {"user_classes_count": order["user_classes_count"], "user_count": 0}
            worker.send(message("spawning_complete", spawned, me))
        for each in KEPT_BY_LOCUST:
            worker.send(message(*each, me))
        if kind == "lab-phase":
            worker.send(message("lab-report", report(index, phase=order["number"], last=True), me))
            return


def test_malformed_messages_that_locust_would_keep_end_no_load(tmp_path):
    """They are dropped and named, so that users are spawned, and the load is over when all have reported its end."""
    me = "careless_1"
    with listening(tmp_path, remote=1) as (fleet, port), peer(port, me, TOKEN) as careless, serving() as server:
        careless.send(message("client_ready", importlib.metadata.version("locust"), me))
        assert careless.poll(PATIENCE_S * 1000)
        kind, told, _ = msgpack.unpackb(careless.recv())
        assert kind == "ack"
        for each in [*KEPT_BY_LOCUST, ("lab-clock", {"unix": time.time()}), ("lab-ready", None)]:
            careless.send(message(*each, me))
        fleet.await_workers()
        with ThreadPoolExecutor() as pool:
            playing = pool.submit(play_along, careless, me, told["index"])
            fleet.spawn(5)
            shape = Burst(users=5, ramp_s=0.0, loops=4, workers=1, remote_workers=1)
            result = fleet.run_phase(LoadPhase(f"{server.url}/ok", shape), PATIENCE_S)
            playing.result()
        assert result.begun == result.finished == server.asked("/ok") > 0
    said = (tmp_path / "locust-master.log").read_text()
    assert said.count(f"Dropped a message of {me}") == 3 * len(KEPT_BY_LOCUST)
    assert said.count("Dropped a message of") == 3 * len(KEPT_BY_LOCUST)


def test_a_load_is_over_where_the_statistics_of_locust_cannot_be_kept(tmp_path):
    """They are beside the lab's own samples, which are whole; the log says it."""
    (tmp_path / "locust-statistics.csv").mkdir()
    with listening(tmp_path) as (fleet, _):
        fleet.await_workers()
        assert_plays(fleet)
    assert "statistics were not kept: IsADirectoryError" in (tmp_path / "locust-master.log").read_text()


def test_ten_thousand_wrong_messages_of_an_admitted_worker_end_nothing(tmp_path):
    """They are dropped and named; then that worker joins as any other, and both are there."""
    chance, me = random.Random(7), "fuzzer_1"
    with listening(tmp_path, remote=1) as (fleet, port), peer(port, me, TOKEN) as fuzzer:
        fuzzer.send(message("client_ready", importlib.metadata.version("locust"), me))
        assert fuzzer.poll(PATIENCE_S * 1000)
        assert msgpack.unpackb(fuzzer.recv())[0] == "ack"
        log = tmp_path / "locust-master.log"
        await_that(lambda: log.read_text().count("reported as ready") == 2)
        (other,) = {word for word in log.read_text().split() if "_" in word and len(word) > 33}
        for _ in range(MESSAGES):
            fuzzer.send(fuzzed(chance, me, other))
        fuzzer.send_multipart([b"of", b"several", b"parts"])
        await_that(lambda: "too many values" in log.read_text())  # the last one
        fuzzer.send(message("lab-clock", {"unix": time.time()}, me))
        fuzzer.send(message("lab-ready", None, me))
        fleet.await_workers()
        named = report(1, phase=0, last=False, problem={"event": "over"})
        fuzzer.send(message("lab-report", named, me))  # the lab could not tell what it says
        await_that(lambda: "$.problem" in log.read_text())
    said = log.read_text()
    assert said.count(f"Dropped a message of {me}") > MESSAGES / 3
    assert "its sender's own" in said
