"""Proves variants equal before their speed is compared: the same requests must get the same answers, framed alike.

A client reads a body in chunks in more steps than one with a length, and pays for every header: a difference there
would be taken for one of the services. So requests are sent as the generator sends them, and heads are compared too.
"""

from __future__ import annotations

import hashlib
import http.client
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from typing import Any

import msgspec

from lab.errors import ComponentError
from lab.spec import http_address
from lab.spec.scenario import Exchange
from lab.system.service import Service

WITHIN_S = 30.0
# Of a body: characters that a message shows, and that are kept, which is all of most.
SHOWN, KEPT = 120, 8192
# What decides whether two answers are equal: of the body its digest, and not how much of it was kept.
DECIDING = ("status", "content_type", "body_bytes", "body_sha256")
# So many differences tell how two variants differ, whose cause may be in every answer.
DIFFERENCES = 3
# Compared by themselves, or known to be a server's own habit: Tomcat dates its answers, Netty does not.
NOT_COMPARED = {"connection", "content-length", "content-type", "date", "keep-alive", "server", "transfer-encoding"}
# Of these headers the values are compared too; of others it is enough that both variants send them.
VALUES_COMPARED = {"allow", "cache-control", "content-encoding", "vary", "www-authenticate"}
# Of these the value is a set, and servers write it in any order.
SETS = {"allow", "vary"}
# A date has 37 bytes and "Connection: close" 19; more than this is something that only one variant says.
HEAD_WITHIN_BYTES = 100
# From here on a status refuses: Tomcat closes the connection after some of these, and has no setting for it.
REFUSED = 400
CHUNKED, LENGTH, UNTIL_CLOSED, EMPTY = "in chunks", "with its length", "until the connection closes", "without a body"
Answers = Mapping[str, Mapping[str, Any]]
Proved = dict[str, tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class ProvedAnswer:
    """A variant's answer to one request of the contract: enough to compare, with the beginning of a large body."""

    status: int
    content_type: str
    body_bytes: int
    body_sha256: str
    body_begin: str


@dataclass(frozen=True)
class FramedAnswer(ProvedAnswer):
    """An answer over HTTP, with what its head says.

    Attributes:
        framing: how the end of the body is told, in words.
        kept_alive: whether the next request may use the same connection.
        headers: all header fields, the names in lower case.
        head_bytes: how many bytes the header fields have.

    """

    framing: str
    kept_alive: bool
    headers: Mapping[str, str]
    head_bytes: int


def prove(service: Service, contract: Iterable[Exchange]) -> dict[str, dict[str, Any]]:
    """Send every request of a contract once.

    Returns:
        The answers by the exchanges' names, as dictionaries of JSON types.

    Raises:
        ComponentError: the service did not answer, or with another status than the contract's, or without what later
            requests need of its answer.

    """
    answers, saved = {}, dict[str, str]()
    for exchange in contract:
        answer = _ask(service, _filled(exchange, saved), saved)
        if answer.status != exchange.status:
            raise ComponentError(
                f"The service answered {exchange.method} {exchange.path[:SHOWN]} ({exchange.name}) with status "
                f"{answer.status} instead of {exchange.status}: {answer.body_begin[:SHOWN]!r}."
            )
        answers[exchange.name] = asdict(answer)
    return answers


def _filled(exchange: Exchange, saved: Mapping[str, str]) -> Exchange:
    """The exchange with what was saved of answers before, in place of its names."""

    def fill(text: str) -> str:
        for name, value in saved.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    headers = {
        name: fill(value) if isinstance(value, str) else tuple(map(fill, value))
        for name, value in exchange.headers.items()
    }
    return replace(exchange, path=fill(exchange.path), headers=headers, body=fill(exchange.body))


def _save(exchange: Exchange, response: http.client.HTTPResponse, body: bytes, saved: dict[str, str]) -> None:
    """Keep what an exchange saves of its answer; ComponentError if it is not there."""
    text = f"{response.headers}\n{body.decode(errors='replace')}"
    for name, pattern in exchange.saves.items():
        found = re.search(pattern, text)
        if not found:
            raise ComponentError(f"The answer to {exchange.method} {exchange.path[:SHOWN]} has no {name} ({pattern}).")
        saved[name] = found[1]


def _named(text: str, saved: Mapping[str, str]) -> str:
    """A text with the names of what was saved in place of it, as servers choose keys and tokens by themselves."""
    for name, value in saved.items():
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"{{{name}}}", text)
    return text


def _ask(service: Service, exchange: Exchange, saved: dict[str, str]) -> FramedAnswer:
    parts = http_address.split(service.url + exchange.path)
    usual = http_address.head(parts, dict.fromkeys(exchange.headers, ""))
    fields: dict[str, str | tuple[str, ...]] = {**usual, **exchange.headers}
    body = exchange.body.encode()
    if body:
        fields["Content-Length"] = str(len(body))
    connection = http.client.HTTPConnection(parts.hostname or "", http_address.port(parts), WITHIN_S)
    try:
        with closing(connection):
            # Field by field: by itself this client would say more than the generator does, such as what it can decode.
            connection.putrequest(
                exchange.method, http_address.target(parts), skip_host=True, skip_accept_encoding=True
            )
            for name, values in fields.items():
                for value in (values,) if isinstance(values, str) else values:
                    connection.putheader(name, value.encode())
            connection.endheaders(body or None)
            response = connection.getresponse()
            answer = response.read()
            if response.status == exchange.status:
                _save(exchange, response, answer, saved)
            return _framed(response, _in_order(answer) if exchange.unordered else answer, saved)
    except (OSError, http.client.HTTPException) as error:
        raise ComponentError(
            f"The service did not answer {exchange.method} {exchange.path[:SHOWN]}: {error}."
        ) from error


def _in_order(body: bytes) -> bytes:
    """A JSON list with its elements sorted by their bytes, which stay as they are; any other body as it is."""
    try:
        return b"[%b]" % b",".join(sorted(map(bytes, msgspec.json.decode(body, type=list[msgspec.Raw]))))
    except msgspec.MsgspecError:
        return body


def _framed(response: http.client.HTTPResponse, body: bytes, saved: Mapping[str, str]) -> FramedAnswer:
    headers = response.headers
    body = _named(body.decode(errors="surrogateescape"), saved).encode(errors="surrogateescape")
    if response.chunked:
        framing = CHUNKED
    elif "Content-Length" in headers:
        framing = LENGTH
    else:
        framing = UNTIL_CLOSED if response.will_close else EMPTY
    return FramedAnswer(
        status=response.status,
        content_type=headers.get("Content-Type", "").partition(";")[0],
        body_bytes=len(body),
        body_sha256=hashlib.sha256(body).hexdigest(),
        body_begin=body[:KEPT].decode(errors="replace"),
        framing=framing,
        kept_alive=not response.will_close,
        headers={name.lower(): _named(", ".join(headers.get_all(name, ())), saved) for name in headers},
        head_bytes=sum(len(f"{name}: {value}\r\n") for name, value in headers.items()),
    )


def check_equal(proved: Proved, variant: str, answers: Answers) -> None:
    """Compare a variant's answers with those of the variants before it, and remember what is new.

    Args:
        proved: by name, the first variant's answer, and which variant that was; added to.

    Raises:
        ComponentError: an earlier variant answered differently.

    """
    for other in dict.fromkeys(proved[name][0] for name in answers if name in proved):
        theirs = {name: answer for name, (who, answer) in proved.items() if who == other}
        if different := unequal_answers(answers, theirs):
            more = f"; and {len(different) - DIFFERENCES} more" if len(different) > DIFFERENCES else ""
            raise ComponentError(
                f"{variant} and {other} are not equal: {'; '.join(different[:DIFFERENCES])}{more}.",
                "Have both answer alike; contract.json in the folder of a cell has all that its variant answered.",
            )
    for name, answer in answers.items():
        proved.setdefault(name, (variant, answer))


def unequal_answers(one: Answers, other: Answers) -> list[str]:
    """Where two variants answered differently, as parts of sentences; empty if they are equal."""
    return [
        f"{name}: {difference}"
        for name, mine in one.items()
        if name in other
        for difference in _differences(mine, other[name])
    ]


def _differences(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    """What differs between two answers to the same request, "here" being the first."""
    if any(mine[field] != theirs[field] for field in DECIDING):
        yield f"{_in_words(mine, theirs)} here, {_in_words(theirs, mine)} there"
    elif "framing" in mine and "framing" in theirs:  # of a program, or of a run from before this, there is none
        yield from _framed_differently(mine, theirs)


def _in_words(answer: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """Status, type and body of an answer: where it differs from another, if that is not in its first characters."""
    begin, others = answer["body_begin"], other["body_begin"]
    pairs = zip(begin, others, strict=False)
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    where, at = "", 0
    if answer["body_sha256"] != other["body_sha256"] and alike > SHOWN:
        where = f"{answer['body_bytes']:,} bytes, of which the first {alike} characters are alike, "
        if alike < min(len(begin), len(others)):
            at = alike - SHOWN // 2
            where = f"{answer['body_bytes']:,} bytes, from character {at} on "
    return f"status {answer['status']}, {answer['content_type'] or 'no type'}, {where}{begin[at:][:SHOWN]!r}"


def _framed_differently(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    if mine["framing"] != theirs["framing"]:
        yield f"the answer comes {mine['framing']} here, {theirs['framing']} there"
    if mine["kept_alive"] != theirs["kept_alive"] and mine["status"] < REFUSED:
        kept = {True: "stays open", False: "is closed"}
        yield f"the connection {kept[mine['kept_alive']]} here, {kept[theirs['kept_alive']]} there"
    here, there = _compared(mine["headers"]), _compared(theirs["headers"])
    for name in sorted(here.keys() | there.keys()):
        if here.get(name) != there.get(name):
            yield f"the header {name} is {_said(mine['headers'], name)} here, {_said(theirs['headers'], name)} there"
    if abs(mine["head_bytes"] - theirs["head_bytes"]) > HEAD_WITHIN_BYTES:
        yield f"the headers have {mine['head_bytes']} bytes here, {theirs['head_bytes']} there"


def _compared(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that must be there in both, those of which the value does not matter without it."""
    return {
        name: _as_set(value) if name in SETS else value if name in VALUES_COMPARED else "sent"
        for name, value in headers.items()
        if name not in NOT_COMPARED
    }


def _as_set(value: str) -> str:
    return ", ".join(sorted(part.strip() for part in value.split(",")))


def _said(headers: Mapping[str, str], name: str) -> str:
    return repr(headers[name]) if name in headers else "missing"
