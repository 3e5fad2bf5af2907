"""Proves variants equal before their speed is compared: the same requests must get the same answers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import requests

from lab.errors import ComponentError
from lab.spec.scenario import Exchange
from lab.system.service import Service

WITHIN_S = 30.0
SHOWN = 120
Answers = Mapping[str, Mapping[str, Any]]
Proved = dict[str, tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class ProvedAnswer:
    """A variant's answer to one request of the contract: enough to compare, with the beginning of the body."""

    status: int
    content_type: str
    body_bytes: int
    body_sha256: str
    body_begin: str


def prove(service: Service, contract: Iterable[Exchange]) -> dict[str, dict[str, Any]]:
    """Send every request of a contract once.

    Returns:
        The answers by the exchanges' names, as dictionaries of JSON types.

    Raises:
        ComponentError: the service did not answer, or with another status than the contract's.

    """
    answers = {}
    for exchange in contract:
        answer = _ask(service, exchange)
        if answer.status != exchange.status:
            raise ComponentError(
                f"The service answered {exchange.method} {exchange.path[:SHOWN]} ({exchange.name}) with status "
                f"{answer.status} instead of {exchange.status}: {answer.body_begin!r}."
            )
        answers[exchange.name] = asdict(answer)
    return answers


def _ask(service: Service, exchange: Exchange) -> ProvedAnswer:
    try:
        response = requests.request(
            exchange.method,
            service.url + exchange.path,
            headers={name: value.encode() for name, value in exchange.headers.items()},
            data=exchange.body.encode() or None,
            timeout=WITHIN_S,
        )
    except requests.RequestException as error:
        raise ComponentError(
            f"The service did not answer {exchange.method} {exchange.path[:SHOWN]}: {error}."
        ) from error
    return ProvedAnswer(
        status=response.status_code,
        content_type=response.headers.get("Content-Type", "").partition(";")[0],
        body_bytes=len(response.content),
        body_sha256=hashlib.sha256(response.content).hexdigest(),
        body_begin=response.text[:SHOWN],
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
            raise ComponentError(f"{variant} and {other} are not equal: {'; '.join(different)}.")
    for name, answer in answers.items():
        proved.setdefault(name, (variant, answer))


def _in_words(answer: Mapping[str, Any]) -> str:
    return f"status {answer['status']}, {answer['content_type'] or 'no type'}, {answer['body_begin']!r}"


def unequal_answers(one: Answers, other: Answers) -> list[str]:
    """Where two variants answered differently, as parts of sentences; empty if they are equal."""
    return [
        f"{name}: {_in_words(mine)} here, {_in_words(other[name])} there"
        for name, mine in one.items()
        if name in other and dict(mine) != dict(other[name])
    ]
