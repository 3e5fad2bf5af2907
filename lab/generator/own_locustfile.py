"""A locustfile of the user's own: found, and examined before anything is started."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

from lab.errors import LabError
from lab.generator.fleet import surroundings
from lab.runtimes import LANGUAGE
from lab.runtimes.checkout import OWN_MODULES
from lab.spec.own_load import MARK, Locustfile

EXAMINED_WITHIN_S = 60.0
EXAMPLE = (
    "Derive a class from lab.generator.locust.LabUser, with a @task that sends self.client.get('/path', name='…')."
)


def examined(path: str) -> Locustfile:
    """The locustfile at a path, with the hash of its content; LabError if the lab cannot play it.

    It is imported by another process, which takes a second.
    """
    _check_name(path)
    try:
        content = Path(path).read_bytes()
    except FileNotFoundError:
        raise LabError(f"There is no locustfile {path!r}.", "Name one that is there: --locustfile mine.py") from None
    except OSError as error:
        raise LabError(f"The locustfile {path!r} cannot be read: {error.strerror}.", "Name a Python file.") from None
    found = _found(path)
    if found["others"]:
        raise LabError(f"{path} has a user that does not derive from LabUser: {found['others'][0]}.", EXAMPLE)
    if not found["users"]:
        raise LabError(f"{path} has no user that derives from LabUser.", EXAMPLE)
    if found["idle"]:
        raise LabError(f"{found['idle'][0]} in {path} has no task.", "Decorate the method that is its session: @task")
    if found["waiting"]:
        raise LabError(
            f"{found['waiting'][0]} in {path} has a wait_time, but in the lab the load decides when a session begins.",
            "Write self.pause(1, 3) into the task where a user thinks, and leave wait_time out.",
        )
    if found["fixed"]:
        step = "Leave it out, and share the users by weight."
        raise LabError(
            f"{found['fixed'][0]} in {path} has a fixed_count, but --users decides how many there are.", step
        )
    if found["endless"]:
        said = f"{found['endless'][0]} in {path} is a TaskSet, which has no end that a session could have."
        raise LabError(said, "Derive it from SequentialTaskSet, whose session is all of its tasks in order.")
    return Locustfile(str(Path(path).absolute()), hashlib.sha256(content).hexdigest())


def _check_name(path: str) -> None:
    """LabError if Locust's ``-f`` would take the path for another one, or for several."""
    file = Path(path).absolute()
    if "," in str(file):
        raise LabError(
            f"The path of the locustfile has a comma: {file}.", "Rename it: Locust takes that for two files."
        )
    if file.suffix != ".py" and file.is_file():
        raise LabError(f"The locustfile {path!r} does not end with .py.", "Rename it: Locust plays no others.")


def _found(path: str) -> dict[str, list[str]]:
    command = (sys.executable, "-m", "lab.generator.locust.examination", str(Path(path).absolute()))
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=EXAMINED_WITHIN_S,
            check=False,
            env={**LANGUAGE, **surroundings(own=True), **OWN_MODULES},  # as where it is played
        )
    except subprocess.TimeoutExpired:
        step = "See what it does when it is imported."
        raise LabError(f"{path} was not imported within {EXAMINED_WITHIN_S:.0f} s.", step) from None
    lines = [line.removeprefix(MARK) for line in done.stdout.splitlines() if line.startswith(MARK)]
    if done.returncode or not lines:
        said = (done.stderr.strip().splitlines() or ["it ended its process"])[-1].rstrip(".")
        raise LabError(f"{path} cannot be imported: {said}.", f"Correct it; this shows where: locust -f {path} --list")
    return dict(json.loads(lines[-1]))
