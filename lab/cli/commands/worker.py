"""The command ``worker``: runs users on this machine for runs that another machine conducts."""

from __future__ import annotations

import socket
import sys
from contextlib import suppress

import click

from lab.cli.console import out
from lab.cli.options import ELSEWHERE, SecretText
from lab.errors import LabError
from lab.generator.fleet import check_join_token, surroundings
from lab.runtimes import Launch, temporary
from lab.runtimes.checkout import JOIN_TOKEN, OWN_MODULES, ROOT
from lab.runtimes.host import raise_open_file_limit
from lab.runtimes.process import ProcessRuntime
from lab.spec import planning


@click.command()
@click.option("--master", required=True, metavar="HOST[:PORT]", help="Where 'lab run … --remote-workers' runs.")
@click.option(
    "--join",
    required=True,
    type=SecretText(),
    metavar="TOKEN|@FILE|env:NAME",
    help=f"The token that the run has printed, or was given by its own --join. {ELSEWHERE}",
)
def worker(master: str, join: str) -> None:
    """Run users for runs on another machine, one run after the other, until Ctrl-C.

    Start it before the run, or while the run waits for workers. The clocks of the machines must agree (NTP). It serves
    all runs with the same token: give them one with --join, as each draws a new one otherwise.

    Only who knows the token is heard, and what master and worker say to each other, tokens and headers included, is
    encrypted (CurveZMQ). What users send to the service is not: where its requests hold secrets, load it by https, or
    through a tunnel (ssh -L, WireGuard).
    """
    host, port = planning.split_address(master)
    check_join_token(join)
    try:
        socket.getaddrinfo(host, port)
    except (OSError, UnicodeError) as error:
        raise LabError(f"There is no host {host!r}.", "Correct --master HOST[:PORT].") from error
    raise_open_file_limit(1)  # as far as it goes: each user has a socket
    said = {
        "joined": f"It has joined {host}:{port}.",
        "refused": f"The run at {host}:{port} has another token: give --join the one that it has printed.",
    }
    out.print(f"Waiting for runs at {host}:{port}. End with Ctrl-C.")
    command = (sys.executable, "-m", "lab.generator.locust.worker", "--master-host", host, "--master-port", str(port))
    told = {**surroundings(own=False), **OWN_MODULES, JOIN_TOKEN: join}
    with suppress(KeyboardInterrupt), temporary.folder() as folder, ProcessRuntime() as runtime:
        launch = Launch("worker", command, folder / "worker.log", told, folder=ROOT, talks=True, grace_s=0, alone=True)
        while True:
            with runtime.started(launch) as running:
                for line in running.stdout:
                    out.print(said.get(line.strip(), line.strip()), markup=False, soft_wrap=True)
                if not (ending := running.await_end()).ok:
                    raise LabError(f"The worker {ending}.", "Its last lines show why.", running.log_tail())
