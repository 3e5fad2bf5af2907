"""The command for another machine, which plays users for runs of this one: worker."""

from __future__ import annotations

import socket
import sys

import click

from lab.cli.console import out
from lab.errors import LabError
from lab.runtimes import Launch, temporary
from lab.runtimes.checkout import ROOT
from lab.runtimes.host import raise_open_file_limit
from lab.runtimes.process import ProcessRuntime
from lab.spec import planning


@click.command()
@click.option("--master", required=True, metavar="HOST[:PORT]", help="Where 'lab run … --remote-workers' runs.")
def worker(master: str) -> None:
    """Play users for runs on another machine, one after the other, until Ctrl-C.

    Start it before the run or while that waits; the clocks of the machines must agree (NTP). It trusts the master, and
    the master trusts it: use them in a network of your own.
    """
    host, port = planning.split_address(master)
    try:
        socket.getaddrinfo(host, port)
    except OSError as error:
        raise LabError(f"There is no host {host!r}.", "Mend --master HOST[:PORT].") from error
    raise_open_file_limit(1)  # as far as it goes: each user has a socket
    out.print(f"Waiting for runs at {host}:{port}. End with Ctrl-C.")
    command = (sys.executable, "-m", "lab.generator.locust.worker", "--master-host", host, "--master-port", str(port))
    with temporary.folder() as folder, ProcessRuntime() as runtime:
        launch = Launch("worker", command, folder / "worker.log", {"PYTHONPATH": str(ROOT)}, talks=True, grace_s=0)
        while True:
            with runtime.started(launch) as running:
                for line in running.stdout:
                    out.print(f"It has {line.strip()} {host}:{port}.")
                if (ending := running.await_end()) != "exited with status 0":
                    raise LabError(f"The worker {ending}.", "Its last lines show why.", running.log_tail())
