"""Prometheus beside a run: it scrapes all parts that have metrics, every second, within a second.

By itself it asks every minute, and waits for ten seconds: here it asks as often as the lab does, since loads are short.
So a page that takes longer than a second is missed, which would only be late where more time is allowed.
"""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import requests

from lab.errors import LabError
from lab.runtimes import LOOPBACK, Launch, Running, Runtime, loopback, temporary
from lab.system.free_port import server_on_free_port

PROGRAM = "prometheus"
REMEDY = "Install it (Debian: apt-get install prometheus), or leave --prometheus out."
# Both: a timeout must not be longer than the interval.
EVERY_S = 1
INNER_PORT = 9090
ANSWER_WITHIN_S = 10.0
# By its labels a series is of a start of services, or of all, and of a part of it.
START, PART = "start", "part"
CONFIGURATION = f"""\
global:
  scrape_interval: {EVERY_S}s
  scrape_timeout: {EVERY_S}s
scrape_configs:
  - job_name: lab
    file_sd_configs:
      - files: [targets.json]
        refresh_interval: 1s
"""


class Prometheus:
    """A running Prometheus.

    Args:
        running: the process or container.
        url: of its HTTP API.
        folder: that its configuration is in.

    """

    def __init__(self, running: Running, url: str, folder: Path) -> None:
        self.running = running
        self.url = url
        self._file = folder / "targets.json"
        self._scraped: dict[str, Mapping[str, str]] = {}
        self._changing = threading.Lock()

    @contextmanager
    def scraping(self, start: str, pages: Mapping[str, str]) -> Iterator[None]:
        """Scrape pages of metrics, by part, while the context lasts.

        Args:
            start: what they are of: the name of a start of services, or empty for all of a run.
            pages: their addresses.

        """
        self._change(start, pages)
        try:
            yield
        finally:
            self._change(start, {})

    def parts(self, start: str) -> list[str]:
        """The parts of a start of services, and of all of a run, that are being scraped."""
        with self._changing:
            return sorted({part for name in ("", start) for part in self._scraped.get(name, {})})

    def _change(self, start: str, pages: Mapping[str, str]) -> None:
        """Write the list of targets with other ones of a start; Prometheus reads it anew when it changes."""
        with self._changing:
            self._scraped = {name: of for name, of in {**self._scraped, start: pages}.items() if of}
            # Beside the folder, in which a container may have put a link of that name; and never half of it.
            written = self._file.parent.with_suffix(".new")
            temporary.tell_unfinished(written)
            written.write_text(json.dumps(targets(self._scraped)))
            written.replace(self._file)


def targets(scraped: Mapping[str, Mapping[str, str]]) -> list[dict[str, object]]:
    """A list of targets as Prometheus reads it, from addresses by start and part."""
    return [
        {
            "targets": [urlsplit(page).netloc],
            "labels": {START: start, PART: part, "__metrics_path__": urlsplit(page).path},
        }
        for start, pages in scraped.items()
        for part, page in pages.items()
    ]


def program() -> str:
    """The path of Prometheus on this machine; LabError if there is none."""
    if not (found := shutil.which(PROGRAM)):
        raise LabError("Prometheus, which --prometheus starts, is not installed.", REMEDY)
    return found


@contextmanager
def running_prometheus(
    runtime: Runtime, folder: Path, scratch: Path, cores: frozenset[int] = frozenset(), image: str = ""
) -> Iterator[Prometheus]:
    """Start Prometheus, which ends with the context, and scrapes nothing yet.

    Args:
        folder: for its configuration, targets and log.
        scratch: for its data; in a container they are in its memory.
        image: empty for a process.

    Raises:
        LabError: it ended, or was not ready in time; with the last lines of its log.

    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prometheus.yml").write_text(CONFIGURATION)
    (folder / "targets.json").write_text("[]")

    def launch(port: int) -> Launch:
        listens = f":{INNER_PORT}" if image else f"{LOOPBACK}:{port}"
        data = Path("/tmp/data") if image else scratch.absolute() / PROGRAM
        command = (
            PROGRAM if image else program(),
            f"--config.file={folder.absolute() / 'prometheus.yml'}",
            f"--web.listen-address={listens}",
            f"--storage.tsdb.path={data}",
            "--log.level=warn",
        )
        log = folder / "prometheus.log"
        return Launch(PROGRAM, command, log, cores=cores, alone=True, folder=folder, image=image, reads_only=True)

    def url(running: Running, port: int) -> str:
        return "http://{}:{}".format(*running.reach(INNER_PORT if image else port))

    def is_ready(running: Running, port: int) -> bool:
        try:
            return loopback.get(f"{url(running, port)}/-/ready", ANSWER_WITHIN_S).ok
        except requests.RequestException:
            return False

    with server_on_free_port(runtime, launch, is_ready, [INNER_PORT] if image else None) as (running, port):
        yield Prometheus(running, url(running, port), folder)
