"""The Docker runtime: containers on a network of their own, stopped in any case.

Run as a program (``python -m lab.runtimes.docker RUN PID BORN``) this is the guard of a run: see :func:`guard`.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import math
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import docker  # type: ignore[import-untyped]
import requests
import urllib3
from docker.constants import DEFAULT_DOCKER_API_VERSION  # type: ignore[import-untyped]
from docker.errors import APIError, DockerException, ImageNotFound, NotFound  # type: ignore[import-untyped]
from docker.models.containers import Container  # type: ignore[import-untyped]
from docker.types import Ulimit  # type: ignore[import-untyped]

from lab.errors import ComponentError, LabError
from lab.runtimes import LANGUAGE, Launch, appended, identity, process_id, tail
from lab.runtimes.checkout import OWN_MODULES, ROOT
from lab.runtimes.exit_status import ExitStatus
from lab.runtimes.process import ProcessRunning, ProcessRuntime, signals_deferred

# Whose a container or a network is: the checkout, its run, and the process that conducts it.
CHECKOUT_LABEL, RUN_LABEL, PID_LABEL, BORN_LABEL = "lab.checkout", "lab.run", "lab.pid", "lab.born"
IMAGE_LABEL = "lab.image"
USER = 10001  # of all the lab's images
TMPFS = "rw,exec,nosuid,nodev,size=512m,mode=1777"  # exec: Netty unpacks its native transport there
LOST = ExitStatus(None, "was lost with the Docker engine")
REMOVED = ExitStatus(None, "was removed from the Docker engine")
ENGINE_REMEDY = "Start one (Debian: apt-get install docker.io, then dockerd), or use --runtime process."
SOMAXCONN = Path("/proc/sys/net/core/somaxconn")
LAST_WORDS_S = 30.0
ANSWERS_WITHIN_S = 60
SWEEP_S, SWEEP_WITHIN_S = 1.0, 25.0
# A container has all ports to itself.
RESERVED_PORT = 5701


def connect(within_s: float = ANSWERS_WITHIN_S) -> docker.DockerClient:
    """A client of the engine, for questions that it answers within a time; LabError if none answers."""
    try:
        # A version that is named is not asked for, so that the first question is not sent before it is known how.
        with contextlib.closing(_client(DEFAULT_DOCKER_API_VERSION, within_s)) as asking:
            version = asking.version(api_version=False)["ApiVersion"]
        return _client(version, within_s)
    except (DockerException, requests.RequestException, KeyError, TypeError) as error:
        raise LabError("No Docker engine answers.", ENGINE_REMEDY, str(error)) from error


def _client(version: str, within_s: float) -> docker.DockerClient:
    """A client that has not asked anything yet; of an engine on this machine it asks no proxy, and has no login."""
    client = docker.from_env(version=version, timeout=within_s)
    if _is_on_loopback(urlsplit(client.api.base_url).hostname or ""):
        client.api.trust_env = False
    return client


def _is_on_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def engine_asked(what: str) -> Iterator[None]:
    """Turn an error of the engine into a LabError, and a timeout into a ComponentError; ImageNotFound passes."""
    try:
        yield
    except ImageNotFound:
        raise
    except APIError as error:
        problem = f"Docker could not {what}: {error.explanation or error}."
        raise LabError(problem, "See the engine's log (journalctl -u docker), or use --runtime process.") from error
    except (DockerException, requests.RequestException, urllib3.exceptions.HTTPError) as error:
        problem = f"The Docker engine does not answer any more, asked to {what}."
        raise ComponentError(problem, "When it does: python -m lab clean", str(error)) from error


class DockerRunning:
    """A started container. See :class:`lab.runtimes.Running`."""

    def __init__(self, launch: Launch, container: Container, network: str) -> None:
        self.launch = launch
        self._container = container
        container.reload()
        self._pid = int(container.attrs["State"]["Pid"])
        self._ip = str(container.attrs["NetworkSettings"]["Networks"][network]["IPAddress"])
        self._cpu_s = 0.0
        self._ending: ExitStatus | None = None
        self._ended = threading.Event()
        self._follower = threading.Thread(target=self._follow, name=f"log of {launch.name}", daemon=True)
        self._follower.start()

    @property
    def pid(self) -> int:
        """The process id of its main process on this machine."""
        return self._pid

    @property
    def stdin(self) -> IO[str]:
        """Containers do not talk."""
        raise NotImplementedError

    @property
    def stdout(self) -> IO[str]:
        """Containers do not talk."""
        raise NotImplementedError

    def reach(self, port: int) -> tuple[str, int]:
        """Its address on the run's network, without a proxy of the engine in between."""
        return self._ip, port

    def exit_reason(self) -> ExitStatus | None:
        """How it ended; None while it runs."""
        return self._ending

    def await_end(self) -> ExitStatus:
        """Wait until it has ended, and return how."""
        self._ended.wait()
        return self._ending or LOST

    def confine(self, cores: frozenset[int]) -> None:
        """Confine the container to these cores."""
        if cores:
            with engine_asked(f"confine the {self.launch.name}"):
                self._container.update(cpuset_cpus=cpuset(cores))

    def cpu_s(self) -> float:
        """CPU seconds of the whole container so far; after its end, the last value seen."""
        try:
            if not self._ending:
                stats = self._container.client.api.stats(self._container.id, stream=False, one_shot=True)
                self._cpu_s = max(self._cpu_s, stats["cpu_stats"]["cpu_usage"]["total_usage"] / 1e9)
        except requests.Timeout:  # the connections that are open stay so, and without this nobody would notice
            self._ending = self._ending or LOST
            self._ended.set()
        except (DockerException, requests.RequestException, KeyError):
            pass
        return self._cpu_s

    def log_tail(self, lines: int = 12) -> str:
        """The last lines of its log."""
        return tail(self.launch.log, lines)

    def stop(self) -> None:
        """Send SIGTERM, SIGKILL after the grace period, wait until its log is complete, and remove it."""
        with contextlib.suppress(DockerException, requests.RequestException):
            if not self._ending:
                if self.launch.grace_s:
                    self._container.stop(timeout=math.ceil(self.launch.grace_s))
                else:
                    self._container.kill()
        self._follower.join(LAST_WORDS_S)
        with contextlib.suppress(DockerException, requests.RequestException):
            self._container.remove(force=True, v=True)

    def _follow(self) -> None:
        """Copy the log as it grows; the container has ended when it does."""
        try:
            with appended(self.launch.log) as log:
                for piece in self._container.logs(stream=True, follow=True):
                    log.write(piece)
            self._container.wait()
            self._container.reload()
            self._ending = _ending(self._container.attrs["State"], self.launch.memory_mb)
        except (DockerException, requests.RequestException, urllib3.exceptions.HTTPError, OSError):
            self._ending = self._untold_ending()
        finally:
            self._ended.set()

    def _untold_ending(self) -> ExitStatus:
        """How it ended where reading its log or status failed: an engine that still answers has not lost it.

        A removal kills it first, and may be under way, or over, before its status is read.
        """
        try:
            self._container.reload()
        except NotFound:
            return REMOVED
        except (DockerException, requests.RequestException):
            return LOST
        state = self._container.attrs["State"]
        if state["Status"] in {"removing", "dead"}:
            return REMOVED
        return LOST if state["Running"] else _ending(state, self.launch.memory_mb)


def _ending(state: dict[str, Any], memory_mb: int) -> ExitStatus:
    """How the state of a container that has ended says that it did; a signal is 128 more than its number."""
    code = int(state["ExitCode"])
    killed = code > 128 and code - 128 in set(signal.Signals)
    limit = f" (its limit is {memory_mb} MB)" if memory_mb else ""
    return ExitStatus(128 - code if killed else code, f"ran out of memory{limit}" if state["OOMKilled"] else "")


class DockerRuntime:
    """Starts containers, and launches without an image as processes on this machine. Use as a context manager.

    Args:
        run: the name of the run; it is in the label and the name of whatever is made.

    """

    def __init__(self, run: str) -> None:
        self._run = run
        pid = os.getpid()
        self._whose = (run, str(pid), str(process_id.birth(pid)))
        self._labels = _labels(*self._whose)
        self._numbers = itertools.count(1)
        self._processes = ProcessRuntime()

    def __enter__(self) -> DockerRuntime:
        with ExitStack() as stack:
            self.engine = connect()
            stack.callback(self.engine.close)
            command = (sys.executable, "-m", __name__, *self._whose)
            environment = {**os.environ, **OWN_MODULES}
            self._guard = subprocess.Popen(
                command, stdin=subprocess.PIPE, text=True, start_new_session=True, cwd=ROOT, env=environment
            )
            stack.callback(self._sweep)
            stack.enter_context(self._processes)
            # What is published without saying where is published on loopback too.
            options = {"com.docker.network.bridge.host_binding_ipv4": "127.0.0.1"}
            name = f"lab-{_slug(self._run)}-{os.getpid()}"
            with engine_asked("make a network"):
                self._network = self.engine.networks.create(name, labels=self._labels, options=options)
                self._network.reload()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with signals_deferred():
            self._stack.close()

    def _sweep(self) -> None:
        """Remove the run's leftovers and notify the guard; if the engine does not answer, the guard retries."""
        stdin = self._guard.stdin
        assert stdin
        with contextlib.suppress(OSError):
            try:
                clean(self.engine, self._labels)
            except LabError:
                stdin.close()  # it need not be waited for
            else:
                self._guard.communicate("nothing is left")

    @property
    def host(self) -> str:
        """The address of this machine on the run's network, for servers that containers connect to."""
        return str(self._network.attrs["IPAM"]["Config"][0]["Gateway"])

    def discard(self, path: Path) -> None:
        """Remove a file or a folder at the end, with what was written into it, even if the lab is killed."""
        self._processes.discard(path)

    def reserve(self, aliases: Sequence[str]) -> list[tuple[str, int]]:
        """The same port of each container."""
        return [(_slug(alias), RESERVED_PORT) for alias in aliases]

    @contextmanager
    def started(self, launch: Launch) -> Iterator[DockerRunning | ProcessRunning]:
        """Start a container, or a process if the launch has no image; on exit it is stopped."""
        if not launch.image:
            with self._processes.started(launch) as process:
                yield process
            return
        for path in launch.scratch:
            self.discard(path)
        container = self._create(launch)
        running = None
        try:
            with engine_asked(f"start the {launch.name}"):
                container.start()
                running = DockerRunning(launch, container, self._network.name)
            yield running
        finally:
            with signals_deferred():
                if running:
                    running.stop()
                else:
                    with contextlib.suppress(DockerException, requests.RequestException):
                        container.remove(force=True, v=True)

    def _create(self, launch: Launch) -> Container:
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        memory = f"{launch.memory_mb}m" if launch.memory_mb else None
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        aliases = [_slug(launch.alias)] if launch.alias else None
        try:
            with engine_asked(f"make a container for the {launch.name}"):
                return self.engine.containers.create(
                    launch.image,
                    list(launch.command) or None,
                    name=f"lab-{_slug(self._run)}-{os.getpid()}-{_slug(launch.name)}-{next(self._numbers)}",
                    hostname=_slug(launch.name),
                    labels=self._labels,
                    environment={**LANGUAGE, **launch.environment},
                    network=self._network.name,
                    networking_config={self._network.name: self.engine.api.create_endpoint_config(aliases=aliases)},
                    cpuset_cpus=cpuset(launch.cores) or None,
                    mem_limit=memory,
                    memswap_limit=memory,
                    cap_drop=["ALL"],
                    security_opt=["no-new-privileges"],
                    read_only=True,
                    tmpfs={"/tmp": TMPFS},
                    ulimits=[Ulimit(name="nofile", soft=files, hard=files)],
                    sysctls={"net.core.somaxconn": SOMAXCONN.read_text().strip()} if SOMAXCONN.exists() else {},
                    use_config_proxy=False,  # ~/.docker/config.json is this user's, as are the shell's variables
                    **_folder(launch),
                )
        except ImageNotFound as error:
            raise LabError(
                f"The image {launch.image} of the {launch.name} is missing.", "Build it: python -m lab images"
            ) from error


def _folder(launch: Launch) -> dict[str, Any]:
    """Mount the launch's folder where it is, for the container's user, who is never root."""
    if not launch.folder:
        return {}
    folder = launch.folder.resolve()
    if os.getuid():
        user = f"{os.getuid()}:{os.getgid()}"
    else:
        user = f"{USER}:{USER}"
        os.chown(folder, USER, USER)
    mount = {"bind": str(folder), "mode": "ro" if launch.reads_only else "rw"}
    return {"user": user, "working_dir": str(folder), "volumes": {str(folder): mount}}


def cpuset(cores: frozenset[int]) -> str:
    """The cores as the engine wants them, such as ``0,1``; empty for all."""
    return ",".join(str(core) for core in sorted(cores))


def _slug(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "-", name).strip("-").lower()


def _labels(run: str, pid: str, born: str) -> dict[str, str]:
    """The labels of what a run of this checkout makes."""
    return {CHECKOUT_LABEL: identity.mine(), RUN_LABEL: run, PID_LABEL: pid, BORN_LABEL: born}


def clean(engine: docker.DockerClient, labels: Mapping[str, str] | None = None) -> int:
    """Remove containers, their volumes, and networks that this checkout made, running or not; others' stay.

    Args:
        labels: only those with all of these labels too; if None, those of every run whose lab lives no more.

    Returns:
        How many things that were.

    """
    return sum(
        _clean(engine, {**(labels or {}), CHECKOUT_LABEL: mark}, any_run=not labels) for mark in identity.all_mine()
    )


def _clean(engine: docker.DockerClient, labels: Mapping[str, str], any_run: bool) -> int:
    wanted = {"label": [f"{key}={value}" for key, value in labels.items()]}
    removed = 0
    with engine_asked("remove what the lab made"):
        for container in engine.containers.list(all=True, filters=wanted, ignore_removed=True):
            if any_run and not _is_left(container.labels):
                continue
            with contextlib.suppress(NotFound):
                container.remove(force=True, v=True)
                removed += 1
        for network in engine.networks.list(filters=wanted):
            if any_run and not _is_left(network.attrs["Labels"]):
                continue
            with contextlib.suppress(NotFound):
                network.remove()
                removed += 1
    return removed


def _is_left(labels: Mapping[str, str]) -> bool:
    """Whether the process that made something lives no more; False where labels do not say which that was."""
    try:
        return not process_id.lives(int(labels[PID_LABEL]), float(labels[BORN_LABEL]))
    except (KeyError, ValueError):
        return False


def guard(run: str, pid: str, born: str) -> None:
    """Wait until stdin ends, then remove the run's leftovers, unless the lab has reported that there are none.

    Even SIGKILL closes the lab's end of the pipe. What the engine was just asked for may appear a moment later, so the
    guard looks until it has twice found nothing.
    """
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    if sys.stdin.read():
        return
    quiet, deadline = 0, time.monotonic() + SWEEP_WITHIN_S
    while quiet < 2 and time.monotonic() < deadline:
        with contextlib.suppress(LabError):
            quiet = 0 if clean(connect(), _labels(run, pid, born)) else quiet + 1
        time.sleep(SWEEP_S)


if __name__ == "__main__":
    guard(*sys.argv[1:])
