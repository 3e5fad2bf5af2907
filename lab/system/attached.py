"""A service that the lab did not start: the plan to load it, a first request, and what can be said of it."""

from __future__ import annotations

import http.client
import io
import re
import socket
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, urljoin

from lab.errors import LabError
from lab.runtimes import Launch
from lab.spec import http_address, planning
from lab.spec.attached import LOAD, variants
from lab.spec.planning import Wishes
from lab.spec.scenario import NOT_SET, Load, Plan
from lab.telemetry.actuator import Service

# A service that is in use is warm; one that was just started gets at most this much of the load beforehand.
WARM_UP_S = 5.0
ANSWER_WITHIN_S = 30.0
# What the generator receives at once: answers that are larger cost it more, and have a ceiling of their own.
LARGE_BYTES = 65_536
MOST_IN_A_TITLE = 55
NAME = "service"
NOT_KNOWN = "not known"
UNKNOWN = (
    "Not known, as the lab did not start the service: its limits, CPU, memory and pools, how many requests it counted "
    "itself, and whether it was warm."
)
# Which wishes a load can have: those about who sends when, and how often it is measured.
OF_A_LOAD = (
    *("ramp_up", "loops", "duration", "requests", "rate", "arrivals", "timeout", "workers", "remote_workers", "bind"),
    *("repeat", "seed", "pin"),
)
OFFER = f"There is: {', '.join(OF_A_LOAD)}."
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
FIELD = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\x20-\x7e\t]*)")


def make_plan(urls: Sequence[str], names: Sequence[str], headers: Mapping[str, str], wishes: Wishes) -> Plan:
    """Check what was asked for and fill in defaults; LabError where it cannot be done.

    Args:
        urls: what to load, each a variant of the plan.
        names: a label for each; one address needs none.
        headers: of which the plan keeps the names.
        wishes: about the load.

    """
    labels = [str(name) for name in names] if names or len(urls) != 1 else [NAME]
    if not urls or len(labels) != len(urls):
        raise LabError(
            f"{len(urls)} addresses and {len(names)} names do not go together.",
            "Name each: python -m lab load URL URL --name old --name new",
        )
    for label in labels:
        if not LABEL.fullmatch(label):
            raise LabError(f"--name {label!r} is not possible.", "Use letters, digits, dots and dashes, 40 at most.")
    if len(set(labels)) < len(labels):
        raise LabError("A --name is there twice.", "Give each address its own.")
    of = dict(zip(labels, map(_checked, urls), strict=True))
    plan = planning.make_plan(replace(LOAD, variants=variants(of)), replace(wishes, limits=planning.DEFAULT))
    return replace(plan, stance=NOT_KNOWN, limits=NOT_SET, urls=of, header_names=tuple(headers))


def _checked(url: str) -> str:
    """The address, without a fragment; LabError if it is none."""
    example = "Write it as http://127.0.0.1:8080/path, with spaces and umlauts %-encoded."
    try:
        parts = http_address.split(url)
    except ValueError:
        guess = f"http://{url}" if re.match(r"[\w.-]+(:\d+)?(/|$)", url) else ""
        hint = f"Did you mean {guess}?" if guess else example
        raise LabError(f"{url!r} is not an http or https address.", hint) from None
    if parts.username is not None:
        raise LabError(
            "The address holds a user or a password, and addresses are written down.",
            "Send them as --header 'Authorization: Basic …', of which only the name is.",
        )
    if not url.isascii() or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise LabError(f"{url!r} is not an address as it is sent.", example)
    return parts._replace(fragment="").geturl()


def headers(texts: Sequence[str]) -> dict[str, str]:
    """Fields of the head from ``Name: value``, one each. LabError says which is none, but not what it holds."""
    found: dict[str, str] = {}
    for number, text in enumerate(texts, 1):
        if not (field := FIELD.fullmatch(text)):
            raise LabError(f"--header number {number} is not a header.", "Write --header 'Name: value', in ASCII.")
        found[field[1]] = field[2].strip()
    return found


def check_headers(plan: Plan, given: Mapping[str, str]) -> None:
    """LabError unless the headers that a plan names are given, as a run that goes on must have them again."""
    if set(given) != set(plan.header_names):
        wanted = " ".join(f"--header '{name}: …'" for name in plan.header_names)
        raise LabError(
            f"The run sends the headers {', '.join(plan.header_names) or '(none)'}, whose values are not kept.",
            f"Give the same again: {wanted}" if wanted else "Leave --header out.",
        )


def ask(plan: Plan, given: Mapping[str, str]) -> int:
    """Send one request to each address, as the generator will; the bytes of the largest answer, as far as was read.

    LabError where nobody answers, or not with the status of a right answer.
    """
    within_s = min(ANSWER_WITHIN_S, plan.cells[0].load.timeout_s)
    return max(_ask(url, http_address.split(url), given, within_s) for url in plan.urls.values())


def _ask(url: str, parts: SplitResult, given: Mapping[str, str], within_s: float) -> int:
    where = f"{parts.hostname}:{http_address.port(parts)}"
    try:
        answer, size = _exchange(parts, given, within_s)
    except socket.gaierror:
        raise LabError(f"There is no host {parts.hostname!r}.", "Mend the address.") from None
    except ConnectionRefusedError:
        raise LabError(f"Nobody answers at {where}.", "Start the service, or mend the address.") from None
    except TimeoutError:
        raise LabError(
            f"{url} did not answer to the end within {within_s:g} s.", "See what curl gets, or raise --timeout."
        ) from None
    except ssl.SSLCertVerificationError as error:
        raise LabError(
            f"The certificate of {where} is not to be trusted: {error.verify_message}.",
            "Name the file of the authority that signed it: SSL_CERT_FILE=ca.pem python -m lab load …",
        ) from None
    except ssl.SSLError as error:
        reason = (error.reason or "unknown").replace("_", " ").lower()
        raise LabError(f"TLS with {where} failed: {reason}.", "Does it speak plain http?") from None
    except (http.client.HTTPException, OSError) as error:
        raise LabError(
            f"{where} does not answer as HTTP does ({type(error).__name__}).", "Does it speak https? See its log."
        ) from None
    _check_status(url, answer)
    return size


def _exchange(parts: SplitResult, given: Mapping[str, str], within_s: float) -> tuple[http.client.HTTPResponse, int]:
    """One GET of the form that the generator sends, without following anything."""
    host, port = parts.hostname or "", http_address.port(parts)
    connection = (
        http.client.HTTPSConnection(host, port, timeout=within_s, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=within_s)
    )
    deadline, size = time.monotonic() + within_s, 0
    try:
        connection.putrequest("GET", http_address.target(parts), skip_host=True, skip_accept_encoding=True)
        for name, value in http_address.head(parts, given).items():
            connection.putheader(name, value)
        connection.endheaders()
        answer = connection.getresponse()
        while size < LARGE_BYTES and (part := answer.read1(LARGE_BYTES)):
            size += len(part)
            if time.monotonic() > deadline:  # an answer that never ends, a little at a time
                raise TimeoutError
        return answer, size
    finally:
        connection.close()


def _check_status(url: str, answer: http.client.HTTPResponse) -> None:
    """LabError unless an answer counts as right."""
    said = f"{url} answers with status {answer.status}"
    if 200 <= answer.status < 300:
        return
    if 300 <= answer.status < 400:
        to = urljoin(url, answer.headers.get("Location") or "")
        raise LabError(f"{said}, which leads to {to}.", "Load that address itself: redirects are not followed.")
    if answer.status in (401, 403):
        raise LabError(f"{said}.", "Give it what it asks for, such as --header 'Authorization: Bearer …'.")
    if answer.status >= 500:
        raise LabError(f"{said}.", "See the service's log: only what answers rightly once is loaded.")
    raise LabError(f"{said}.", "Mend the address: it is asked by GET, and only a status of 200 to 299 is right.")


def subject(urls: Mapping[str, str]) -> str:
    """What titles call that which was loaded: the address, cut where it is long, or the labels of several."""
    text = next(iter(urls.values())) if len(urls) == 1 else " and ".join(urls)
    return text if len(text) <= MOST_IN_A_TITLE else f"{text[: MOST_IN_A_TITLE - 1]}…"


def warm_up(load: Load) -> Load:
    """The load before the measured one, which is not counted: the same users or rate, but short.

    It lasts :data:`WARM_UP_S` at most; where requests are counted it is one of each user, so that not many more are
    sent than were asked for.
    """
    if not load.duration_s:
        return replace(load, ramp_s=min(load.ramp_s, WARM_UP_S), loops=1, requests=0)
    duration_s = min(load.duration_s, WARM_UP_S)
    return replace(load, duration_s=duration_s, ramp_s=min(load.ramp_s, duration_s / 2))


def warm_up_in_words(load: Load) -> str:
    """What :func:`warm_up` makes of a load."""
    what = f"{warm_up(load).duration_s:g} s of the same load" if load.duration_s else "one request of each user"
    return f"{what} before, not counted"


class Elsewhere:
    """What stands for the process of a service that the lab did not start: see :class:`lab.runtimes.Running`."""

    launch = Launch("service", (), Path())
    pid = 0  # no process has it, so that nothing is read of any
    stdin: IO[str] = io.StringIO()
    stdout: IO[str] = io.StringIO()

    def reach(self, port: int) -> tuple[str, int]:
        """Nobody asks."""
        return "", port

    def obituary(self) -> str:
        """Whether it lives, only its answers tell."""
        return ""

    def await_end(self) -> str:
        """Nobody waits for it."""
        return ""

    def confine(self, cores: frozenset[int]) -> None:
        """It has whatever cores it has."""

    def cpu_s(self) -> float:
        """Not known."""
        return 0.0

    def log_tail(self, lines: int = 12) -> str:
        """Its log is its own."""
        return ""


def service(url: str) -> Service:
    """A service of which only the address is known."""
    return Service(Elsewhere(), url, management="")
