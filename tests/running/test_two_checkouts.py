"""Two checkouts on one machine and one engine: what one cleans, ends and deletes is its own."""

from __future__ import annotations

import signal
import uuid

import psutil
import pytest
import requests
from checkouts import Checkout
from patience import PATIENCE_S, await_that

from lab.cli.console import INTERRUPTED
from lab.runtimes.docker import RUN_LABEL
from lab.spec import sample
from lab.storage.run_folder import RunFolder

pytestmark = [pytest.mark.docker, pytest.mark.java, pytest.mark.thorough]
USERS = 5
# A run of one cell that is in progress until it is interrupted.
LASTS = ("--users", str(USERS), "--ramp-up", "0", "--duration", "3600", "--heap-mb", "256", "--seed", "1")


def test_what_one_checkout_removes_is_its_own(engine, tmp_path):
    """Each has a run in progress and a stack up; the other's go on, to the last request, and all they have stays."""
    mine, theirs = Checkout(tmp_path / "mine"), Checkout(tmp_path / "my läb 1")
    stranger, running = f"stranger-{uuid.uuid4().hex[:8]}", {}
    try:
        for checkout in (mine, theirs):
            checkout.types("up", "delay", "--variant", "webflux", "--runtime", "docker", "--heap-mb", "256")
            running[checkout] = checkout.begins("run", "delay", "--variants", "webflux", "--runtime", "docker", *LASTS)
        for checkout in (mine, theirs):
            await_that(lambda at=checkout: list(at.root.glob("data/runs/*/cells/*/limits.json")))
        engine.networks.create(stranger, labels={RUN_LABEL: "1"})  # as the lab once marked what it made
        own, before, stack = mine.has(engine), theirs.has(engine), theirs.up()
        assert len(before) >= 8  # two stacks with a network each, a worker, a run's folder, and images
        assert own.isdisjoint(before)
        mine.types("clean", "--runs", "--yes")
        assert mine.has(engine) == own
        mine.types("down")
        running[mine].send_signal(signal.SIGINT)
        assert running[mine].wait(PATIENCE_S) == INTERRUPTED, (mine.root / "log").read_text()
        mine.types("clean", "--runs", "--yes")
        mine.types("clean")
        assert theirs.has(engine) == before
        assert psutil.pid_exists(stack["pid"])
        assert requests.get(f"{stack['url']}/delay/5", timeout=PATIENCE_S).ok
        assert not [name for name in mine.has(engine) if ":" not in name]  # images stay, to be used again
        assert [network.name for network in engine.networks.list(names=[stranger])] == [stranger]
        theirs.types("down")  # beside a run of its own
        (folder,) = theirs.root.glob("data/runs/2*")
        (cell,) = RunFolder(folder).cells()
        size = cell.stream.stat().st_size
        await_that(lambda: cell.stream.stat().st_size > size)  # its samples keep coming
        assert running[theirs].poll() is None, (theirs.root / "log").read_text()
        running[theirs].send_signal(signal.SIGINT)
        assert running[theirs].wait(PATIENCE_S) == INTERRUPTED, (theirs.root / "log").read_text()
        evidence = cell.read("evidence")
        assert not evidence["component_errors"], evidence["component_errors"]
        errors = cell.measured()["error"]
        broken_off = errors == sample.ERRORS[sample.BROKEN_OFF]
        assert broken_off.sum() <= USERS  # what was under way
        assert set(errors[~broken_off]) == {""}
    finally:
        for network in engine.networks.list(names=[stranger]):
            network.remove()
        for process in running.values():
            process.kill()
            process.wait(PATIENCE_S)
        for checkout in (mine, theirs):
            if checkout.up():
                checkout.types("down")
            for tag in {name for name in checkout.has(engine) if ":" in name}:
                engine.images.remove(tag)
