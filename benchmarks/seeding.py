"""What databases cost before and beside the load: ``python benchmarks/seeding.py [--json]``.

Seconds to seed 100,000 users, 100,000 tokens and the document, to find them seeded, and to start the embedded server on
a copy of its seeded data; and what a link that delays nothing costs: round trips and throughput beside a direct
connection. Works in a folder of its own; only the server's files are fetched into ``data/seeds``, and stay.
"""

from __future__ import annotations

import argparse
import json
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from lab.errors import LabError
from lab.runtimes import Runtime
from lab.runtimes.process import ProcessRuntime
from lab.system import shaped_link
from lab.system.databases import SEEDS, Site, mariadb, mongo, mysql, rows, tokens
from lab.system.jdk import find_jdk
from lab.system.shaped_link import Shape

ROUND_TRIPS = 5000
BULK = 256 << 20


def main() -> None:
    """Measure everything once and print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print one object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ProcessRuntime() as runtime:
        home = Path(folder)
        site = Site(runtime, home / "data", home / "logs", find_jdk().home, home / "seeds")
        result = {**mysql_seconds(site), **token_seconds(site), **mongo_seconds(site), **link_cost(runtime, home)}
    if options.json:
        print(json.dumps(result, indent=2))
        return
    for name, value in result.items():
        print(f"{value:12,.3f}  {name}")


def timed(call: Callable[[], object]) -> float:
    """Seconds that a call takes."""
    began = time.monotonic()
    call()
    return time.monotonic() - began


def mysql_seconds(site: Site) -> dict[str, float]:
    """Seconds of everything about the users."""
    files = mariadb.unpacked(replace(site, seeds=SEEDS))
    site.seeds.mkdir(parents=True)
    (site.seeds / files.name).symlink_to(files)
    result = {"users: make, s": timed(rows.users)}

    def start() -> None:
        with mysql.server(site):
            result["users: ready, s"] = time.monotonic() - began

    for which in ("first", "second"):
        began = time.monotonic()
        start()
        result[f"users: {which} run, until the server is ready, s"] = result.pop("users: ready, s")
    with mysql.server(site) as database:
        result["users: seed 100,000 rows, s"] = timed(lambda: mysql.seed_users(database, seed=2))
        result["users: seed again, s"] = timed(lambda: mysql.seed_users(database, seed=2))
    return result


def token_seconds(site: Site) -> dict[str, float]:
    """Seconds of everything about the tokens."""
    file = site.seeds
    make, again = (timed(lambda: tokens.token_file(file)) for _ in range(2))
    read = timed(lambda: tokens.read_tokens(tokens.token_file(file)))
    return {"tokens: make 100,000, s": make, "tokens: make again, s": again, "tokens: read, s": read}


def mongo_seconds(site: Site) -> dict[str, float]:
    """Seconds of everything about the document; nothing where there is no server to start."""
    result: dict[str, float] = {}
    began = time.monotonic()
    try:
        with mongo.server(site) as database:
            result["document: until the server is ready, s"] = time.monotonic() - began
            result["document: seed, s"] = timed(lambda: mongo.seed_document(database, seed=2))
            result["document: seed again, s"] = timed(lambda: mongo.seed_document(database, seed=2))
    except LabError as error:
        print(f"{error.problem} {error.next_step}")
    return result


def link_cost(runtime: Runtime, home: Path) -> dict[str, float]:
    """Microseconds a small round trip, and MB/s of a large transfer, without and with a link of no effect."""
    result: dict[str, float] = {}
    # Fast enough to be never waited for, but not zero, so that the link does its work.
    shape = Shape(latency_ms=0, rate=1e12, connection_rate=1e12)
    with echo_server() as address, shaped_link.running_link(runtime, address, shape, home / "link") as (_, port):
        for name, to in (("without a link", address), ("through a link", ("127.0.0.1", port))):
            with socket.create_connection(to) as connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                result[f"round trip {name}, µs"] = timed(partial(ping, connection)) / ROUND_TRIPS * 1e6
                result[f"throughput {name}, MB/s"] = BULK / 1e6 / timed(partial(pump, connection))
    return result


def ping(connection: socket.socket) -> None:
    """Many small round trips, one after the other."""
    for _ in range(ROUND_TRIPS):
        connection.sendall(b"?")
        connection.recv(1)


def pump(connection: socket.socket) -> None:
    """One large answer."""
    connection.sendall(b"!")
    left = BULK
    while left:
        left -= len(connection.recv(min(left, 1 << 20)))


@contextmanager
def echo_server() -> Iterator[tuple[str, int]]:
    """A server that answers ``?`` with a byte, and ``!`` with very many."""

    def serve(connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        block = bytes(1 << 20)
        while question := connection.recv(1):
            for _ in range(BULK // len(block) if question == b"!" else 1):
                connection.sendall(block if question == b"!" else b".")

    def accept(listener: socket.socket) -> None:
        while True:
            threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=accept, args=(listener,), daemon=True).start()
        yield listener.getsockname()


if __name__ == "__main__":
    main()
