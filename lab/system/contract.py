"""What is asked of every service besides its scenario's own contract: too large heads, wrong methods, all tokens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from lab.spec.scenario import Exchange, Scenario
from lab.system.databases import tokens
from lab.system.databases.rows import HONEST_USERS, email

# The services read heads of at most 16 kB.
TOO_LARGE = 17_000
# Of WebDAV: no endpoint has it, so that nothing is changed by asking.
WRONG_METHOD = "PROPFIND"


def common(scenario: Scenario) -> tuple[Exchange, ...]:
    """The exchanges of all scenarios of our services: a head that is too large, and a method that is not meant."""
    if scenario.entry != "service" or not scenario.requests:
        return ()
    parameters = scenario.defaults()
    wrong = (
        Exchange(f"{WRONG_METHOD} {request.name}", request.path.format(**parameters), 405, WRONG_METHOD)
        for request in scenario.requests
    )
    path = scenario.path(parameters)
    return (
        *wrong,
        Exchange("an address of 17 kB", f"{path}?{'a' * TOO_LARGE}", 414),
        Exchange("a header of 17 kB", path, 431, headers={"X-Large": "a" * TOO_LARGE}),
    )


def with_tokens(exchanges: Iterable[Exchange], key: bytes) -> tuple[Exchange, ...]:
    """The same exchanges, with the tokens of the seeded users that they are to carry."""
    return tuple(
        each
        if each.bearer is None
        else replace(each, headers={**each.headers, **_bearer(tokens.token(email(each.bearer), key))})
        for each in exchanges
    )


def of_tokens(scenario: Scenario, key: bytes) -> tuple[Exchange, ...]:
    """Requests with honest, hostile and unusual tokens, for a scenario whose requests have some."""
    honest = [email(number) for number in HONEST_USERS]
    request = next(request for request in scenario.requests if request.token)
    path = request.path
    good = [Exchange(f"token of {user}", path, 200, headers=_bearer(tokens.token(user, key))) for user in honest]
    bad = [
        Exchange(
            f"token: {each.name}",
            path,
            request.unknown_user if each.status == tokens.UNKNOWN else each.status,
            headers=_bearer(each.token),
        )
        for each in tokens.hostile(key, honest[0])
    ]
    odd = [
        Exchange(f"token: {name}", path, status, headers={"Authorization": value})
        for name, (value, status) in tokens.unusual(key, honest[0]).items()
    ]
    return (*good, *bad, *odd)


def _bearer(token: str | None) -> dict[str, str]:
    return {} if token is None else {"Authorization": f"Bearer {token}"}
