"""A Locust worker on another machine: joins a master, runs the users of one cell, and ends with it.

Needs nothing but this checkout and a connection to the master: samples and tokens travel in Locust's own messages. It
serves every scenario, as the master decides which users to spawn. It prints ``joined`` when it has joined, and
``refused`` when a master has another token.
"""

from __future__ import annotations

import argparse
import logging
import sys

import gevent
import locust
from locust.env import Environment
from locust.runners import WorkerRunner
from locust.util.load_locustfile import load_locustfile

from lab.generator.locust import admission, heartbeats
from lab.generator.locust.phases import PhaseRunner
from lab.runtimes.checkout import ROOT


def main() -> None:
    """Join the master, and serve until it quits or its heartbeats stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master-host", required=True)
    parser.add_argument("--master-port", type=int, required=True)
    options = parser.parse_args()
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    files = sorted((ROOT / "locustfiles").glob("*.py"))
    users = [user for file in files for user in load_locustfile(str(file))[0].values()]
    environment = Environment(user_classes=users, events=locust.events)
    gevent.spawn(_say_refused)
    try:
        runner = environment.create_worker_runner(options.master_host, options.master_port)
    except ConnectionError:  # no master for minutes: ``lab worker`` starts the next worker process
        return
    PhaseRunner.join(runner)
    print("joined", flush=True)
    gevent.spawn(_quit_without_heartbeat, runner)
    runner.greenlet.join()


def _say_refused() -> None:
    admission.refused.wait()
    print("refused", flush=True)


def _quit_without_heartbeat(runner: WorkerRunner) -> None:
    heartbeats.await_silence(runner)
    runner.greenlet.kill(block=False)


if __name__ == "__main__":
    main()
