"""Attached services, which the lab did not start: a first request to each, and a substitute for their processes."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO
from urllib.parse import SplitResult, urljoin

from lab.errors import LabError
from lab.runtimes import Launch
from lab.runtimes.exit_status import ExitStatus
from lab.spec import http_address
from lab.spec.own_load import GET, OneRequest
from lab.spec.plan import Plan
from lab.spec.scenario import LARGE_BYTES, Request
from lab.system.service import Service

ANSWER_WITHIN_S = 30.0
# How large an answer in chunks is found to be at most, in bytes: it is read for that.
MOST_READ = 16 << 20


def check_headers(plan: Plan, given: Mapping[str, str]) -> None:
    """LabError unless the headers that a plan names are given, as a resumed run needs them again."""
    if set(given) != set(plan.header_names):
        wanted = " ".join(f"--header '{name}: …'" for name in plan.header_names)
        raise LabError(
            f"The run sends the headers {', '.join(plan.header_names) or '(none)'}, whose values are not kept.",
            f"Give the same again: {wanted}" if wanted else "Leave --header out.",
        )


def ask(plan: Plan, given: Mapping[str, str]) -> tuple[Request, ...]:
    """Send one request to each address, as the generator will; returns what each answer is like, as far as read.

    LabError where there is no answer, or no right one. Of what a locustfile sends nothing is known: then any answer to
    a GET of the address will do.
    """
    within_s = min(ANSWER_WITHIN_S, plan.cells[0].load.timeout_s)
    return tuple(_ask(plan, variant.url, given, within_s) for variant in plan.variants)


def _ask(plan: Plan, url: str, given: Mapping[str, str], within_s: float) -> Request:
    parts, asked = http_address.split(url), plan.one_request or OneRequest()
    where = f"{parts.hostname}:{http_address.port(parts)}"
    try:
        answer, body, size = _exchange(parts, asked, given, within_s)
    except (socket.gaierror, UnicodeError):  # no name that the domain name system can have
        raise LabError(f"There is no host {parts.hostname!r}.", "Correct the address.") from None
    except ConnectionRefusedError:
        raise LabError(f"There is no answer from {where}.", "Start the service, or correct the address.") from None
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
    if not plan.locustfile:
        _check_status(url, answer, asked.method)
        if asked.check.encode() not in body and len(body) < LARGE_BYTES:
            said = f"{url} answers with status {answer.status}, but without {asked.check!r}."
            raise LabError(said, "See what curl gets, or correct --check.")
    return Request("", "", answer_bytes=size, sent_bytes=len(asked.body.encode()), chunked=bool(answer.chunked))


def _exchange(
    parts: SplitResult, asked: OneRequest, given: Mapping[str, str], within_s: float
) -> tuple[http.client.HTTPResponse, bytes, int]:
    """One request as the generator sends it, without following redirects.

    Returns:
        Its answer, the beginning of the body, and how many bytes that has; of one in chunks, as many as came in time.

    """
    host, port = parts.hostname or "", http_address.port(parts)
    connection = (
        http.client.HTTPSConnection(host, port, timeout=within_s, context=ssl.create_default_context())
        if parts.scheme == "https"
        else http.client.HTTPConnection(host, port, timeout=within_s)
    )
    deadline, body, size, sent = time.monotonic() + within_s, b"", 0, asked.body.encode()
    try:
        connection.putrequest(asked.method, http_address.target(parts), skip_host=True, skip_accept_encoding=True)
        for name, value in http_address.head(parts, given).items():
            connection.putheader(name, value)
        if asked.method != GET:
            connection.putheader("Content-Length", str(len(sent)))
        connection.endheaders(sent or None)
        answer = connection.getresponse()
        most = MOST_READ if answer.chunked else LARGE_BYTES
        while size < most and (part := answer.read1(LARGE_BYTES)):
            body += part if size < LARGE_BYTES else b""
            size += len(part)
            if time.monotonic() > deadline:  # an answer that never ends, a little at a time
                if size < LARGE_BYTES:
                    raise TimeoutError
                break
        return answer, body, size + (answer.length or 0)
    finally:
        connection.close()


def _check_status(url: str, answer: http.client.HTTPResponse, method: str) -> None:
    """LabError unless an answer has a status of 200 to 299."""
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
    raise LabError(
        f"{said}.", f"Correct the address: it is asked by {method}, and only a status of 200 to 299 is right."
    )


class AttachedProcess:
    """A substitute for the unknown process of an attached service: see :class:`lab.runtimes.Running`."""

    launch = Launch("service", (), Path())
    pid = 0  # no process has it, so that nothing is read of any
    stdin: IO[str] = io.StringIO()
    stdout: IO[str] = io.StringIO()

    def reach(self, port: int) -> tuple[str, int]:
        """Not used."""
        return "", port

    def exit_reason(self) -> ExitStatus | None:
        """Unknown, so None."""

    def await_end(self) -> ExitStatus:
        """Not used."""
        raise NotImplementedError

    def confine(self, cores: frozenset[int]) -> None:
        """Has no effect: its cores are not the lab's to set."""

    def cpu_s(self) -> float:
        """Unknown, so 0."""
        return 0.0

    def log_tail(self, lines: int = 12) -> str:
        """Unknown, so empty."""
        return ""


def attached_service(url: str) -> Service:
    """An attached service, of which only the address is known."""
    return Service(AttachedProcess(), url, management="")
