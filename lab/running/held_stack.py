"""Keeps one variant's stack up until it is stopped: for curl, a browser, or plain Locust.

``python -m lab.running.held_stack`` holds it in a process of its own, which :func:`up` starts and :func:`down` ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import asdict, replace
from typing import Any

import psutil
from filelock import FileLock, Timeout
from rich.console import Console

from lab.errors import LabError
from lab.running import deploying, settings
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.setup import set_up
from lab.runtimes import up_state
from lab.runtimes.checkout import OWN_MODULES, ROOT
from lab.spec.plan import Plan
from lab.storage import run_folder
from lab.storage.json_file import write_json
from lab.system.backends import Endpoints
from lab.system.databases import tokens

LOG = up_state.FOLDER / "up.log"
UP_WITHIN_S = 1800.0  # images may have to be built
DOWN_WITHIN_S, GONE_WITHIN_S = 30.0, 20.0


def up(plan: Plan, runtime: str, endpoints: Endpoints, say: Callable[[str], object] = lambda _: None) -> dict[str, Any]:
    """Start the stack of a plan's only cell, and return its record once it is ready.

    Args:
        say: is told each phase of the start as it ends.

    Raises:
        LabError: a stack is up already, or this one did not start; with the last lines of its log.

    """
    up_state.FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(up_state.FOLDER / "up.lock", timeout=0):
            return _up(plan, runtime, endpoints, say)
    except Timeout:
        raise LabError(
            "Another 'up' of this checkout is starting a stack.", "Wait until it is up, or end it."
        ) from None


def _up(plan: Plan, runtime: str, endpoints: Endpoints, say: Callable[[str], object]) -> dict[str, Any]:
    """Start the stack; the lock must be held."""
    if held := up_state.held():
        state = "is up already" if "url" in held else "is being started"
        raise LabError(f"{held['scenario']} with {held['variant']} {state}.", "End it first: python -m lab down")
    up_state.STATE.unlink(missing_ok=True)
    tidy()
    order = {"plan": plan.as_json(), "runtime": runtime, "endpoints": asdict(endpoints)}
    with LOG.open("wb") as log:
        holder = subprocess.Popen(
            (sys.executable, "-m", "lab.running.held_stack"),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=ROOT,
            env={**os.environ, **OWN_MODULES},
        )
    # Before it begins: whoever comes next must find it, even if this process is killed while it waits.
    about = {"scenario": plan.scenario.name, "variant": plan.cells[0].variant}
    write_json(up_state.STATE, {**about, **up_state.whose(holder.pid)})
    assert holder.stdin
    holder.stdin.write(json.dumps(order).encode())
    holder.stdin.close()
    deadline = time.monotonic() + UP_WITHIN_S
    begun_line = ""
    try:
        with LOG.open(errors="replace") as log:
            while not (ready := up_state.running()):
                if holder.poll() is not None or time.monotonic() > deadline:
                    raise LabError("The stack did not come up.", f"The whole log is in {LOG}.", _tail())
                *whole_lines, begun_line = (begun_line + log.read()).split("\n")
                for line in whole_lines:
                    say(line)
                time.sleep(0.1)
    except BaseException:
        _end(holder.pid)
        holder.poll()
        raise
    return ready


def _tail() -> str:
    return "\n".join(LOG.read_text(errors="replace").splitlines()[-15:])


def down() -> str:
    """Stop the stack that is up or being started, and return its scenario and variant once all of it has ended.

    LabError if none is up, or it does not end.
    """
    held = up_state.held()
    if held is None:
        raise LabError("No stack is up.", "Start one: python -m lab up SCENARIO; 'python -m lab up --help' names them.")
    _end(held["pid"])
    if up_state.held() is None:  # else the next one is being started already
        up_state.STATE.unlink(missing_ok=True)
    tidy()
    return f"{held['scenario']} with {held['variant']}"


def _end(holder: int) -> None:
    """End the process that holds a stack, and wait until it is gone with all that it has started.

    LabError if that does not end.
    """
    started: dict[int, psutil.Process] = {}
    with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended by itself
        process = started[holder] = psutil.Process(holder)
        process.terminate()
        if not _gone([process], DOWN_WITHIN_S, lambda: _note_children(process, started)):
            process.kill()  # its guards end what it has started, and end themselves when that is done
    if not _gone(started.values(), GONE_WITHIN_S):
        left = ", ".join(str(process.pid) for process in started.values() if _runs(process))
        raise LabError(
            f"Processes of the stack do not end: {left}.", "See what they wait for: ps -o stat,wchan,args PID"
        )


def _gone(
    processes: Collection[psutil.Process], within_s: float, meanwhile: Callable[[], object] = lambda: None
) -> bool:
    """Wait until none of some processes runs any more; False if one still does."""
    deadline = time.monotonic() + within_s
    meanwhile()
    while any(map(_runs, processes)):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
        meanwhile()
    return True


def _note_children(process: psutil.Process, known: dict[int, psutil.Process]) -> None:
    """Add what a process has started, which nobody can tell any more when it has ended."""
    with contextlib.suppress(psutil.Error):
        known.update((child.pid, child) for child in process.children(recursive=True))


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def tidy() -> None:
    """Remove the folders of stacks that have ended, with their logs; those of running or starting ones stay.

    So does what only has the name of one, and what a link of such a name leads to.
    """
    for run in run_folder.all_runs(up_state.FOLDER):
        if run.is_run and not run.path.is_symlink() and run.state() != "running" and not run.goes_on:
            shutil.rmtree(run.path)


def example_request(running: dict[str, Any]) -> str:
    """A curl command for the stack that is up, with a token where it needs one, which no list of processes shows."""
    address = f"{running['url']}{running['path']}"
    if not running["token"]:
        return f"curl -s {address}"
    file = shlex.quote(str(tokens.token_file()))
    return f"printf 'Authorization: Bearer %s' \"$(head -n 1 {file})\" | curl -s -H @- {address}"


def hold(plan: Plan, runtime: str, endpoints: Endpoints) -> None:
    """Start a stack, record its addresses, and keep it up until a signal arrives."""
    scenario, (variant,) = plan.scenario, plan.variants
    reporter = Reporter(Console(file=sys.stderr, highlight=False, emoji=False))
    invocation = Invocation(["lab", "up", scenario.name], up_state.FOLDER, reporter, runtime, endpoints)
    # Whoever sends something does so from outside; a balancer is told how many it may have to take.
    with set_up(plan, invocation, users=plan.peak_users if plan.is_balanced else 0) as testbed:
        logs = testbed.run.logs
        with (
            deploying.started_nodes(testbed, variant, variant.name, logs) as nodes,
            deploying.deployed(testbed, nodes, variant.name, logs) as deployment,
        ):
            settings.put_in_force(testbed, variant, deployment, plan.parameters)
            management = next(iter(deployment.nodes.values())).management
            facts = {**up_state.whose(os.getpid()), "url": deployment.url, "management": management}
            about: dict[str, Any] = {
                "scenario": scenario.name,
                "variant": variant.name,
                "parameters": dict(plan.parameters),
            }
            about |= {
                "locustfile": scenario.played_by,
                "path": scenario.path(plan.parameters),
                "token": scenario.sends_tokens,
            }
            write_json(up_state.STATE, {**about, **facts, "run": str(testbed.run.path)})
            while True:
                deployment.check_whole()
                time.sleep(0.5)


def main() -> None:
    """Read plan, runtime and endpoints from stdin, and hold that stack."""
    order = json.load(sys.stdin)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _go)
    plan = Plan.from_json(order["plan"])
    plan = replace(plan, pin=False)
    try:
        hold(plan, order["runtime"], Endpoints(**order["endpoints"]))
    except LabError as error:
        sys.exit(f"{error.detail}\nerror: {error.problem} {error.next_step}")
    except KeyboardInterrupt:
        print("ended")
    finally:
        up_state.STATE.unlink(missing_ok=True)


def _go(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main()
