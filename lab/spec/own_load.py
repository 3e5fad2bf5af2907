"""What is sent to a service of one's own: one request as the command line describes it, or somebody's locustfile."""

from __future__ import annotations

from dataclasses import dataclass

from lab.errors import LabError, did_you_mean

GET = "GET"
# What the result of examining a locustfile begins with, among whatever the file prints.
MARK = "lab locustfile: "
# HEAD is not among them: its answers announce a body that does not come.
METHODS = (GET, "POST", "PUT", "PATCH", "DELETE")


@dataclass(frozen=True)
class OneRequest:
    """The one request that each session sends to a service of one's own.

    Attributes:
        method: one of :data:`METHODS`.
        body: sent as UTF-8.
        check: a text that a right answer contains, besides its status of 200 to 299; any does if empty.

    """

    method: str = GET
    body: str = ""
    check: str = ""


@dataclass(frozen=True)
class Locustfile:
    """A locustfile of the user's own.

    Attributes:
        path: where it lies, absolute; it is played there, beside what it imports and reads.
        sha256: of its content, hexadecimal; not of what it imports.

    """

    path: str
    sha256: str


def one_request(method: str | None, body: str | None, check: str | None) -> OneRequest | None:
    """The request that options describe, None for a plain GET; LabError where they are not possible."""
    for option, text in (("--method", method), ("--body", body), ("--check", check)):
        check_text(option, text)
    name = (method or GET).upper()
    if name not in METHODS:
        known = did_you_mean(name, METHODS)
        raise LabError(f"There is no --method {method!r}{known}.", f"There is: {', '.join(METHODS)}.")
    if body and name == GET:
        raise LabError("A GET has no body.", "Choose a method that has one: --method POST.")
    asked = OneRequest(name, body or "", check or "")
    return None if asked == OneRequest() else asked


def check_text(option: str, text: object) -> None:
    """LabError if the value of an option is no text, or holds what is none in UTF-8."""
    if not isinstance(text, str | None):
        raise LabError(f"{option} is not a text, but {type(text).__name__}.", "Write it in quotes.")
    try:
        (text or "").encode()
    except UnicodeEncodeError:  # what the shell passed on were no bytes of UTF-8
        raise LabError(f"{option} is not in UTF-8.", "Write it in UTF-8.") from None
