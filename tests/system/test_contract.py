"""What the contract asks of a scenario with tokens: who carries whose, and what strangers get."""

from __future__ import annotations

import jwt

from lab.experiments import find_scenario
from lab.experiments.migration import records
from lab.spec.scenario import Exchange
from lab.system import contract
from lab.system.databases import rows

KEY = b"k" * 32


def test_an_exchange_carries_the_token_of_its_user():
    """Beside the headers that it has; one without a user is as it was."""
    with_user, without = Exchange("a", "/", 200, headers={"X": "y"}, bearer=7), Exchange("b", "/", 401)
    signed, unsigned = contract.with_tokens([with_user, without], KEY)
    scheme, token = str(signed.headers["Authorization"]).split()
    assert (scheme, signed.headers["X"], unsigned) == ("Bearer", "y", without)
    assert jwt.decode(token, KEY, ["HS256"])["email"] == rows.users()[7].email


def test_strangers_get_what_the_scenario_says():
    """A record that is not there in one, a registry that does not know them in the other."""
    statuses = {
        name: {each.status for each in contract.of_tokens(find_scenario(name), KEY) if "unknown user" in each.name}
        for name in ("jwt", "migration")
    }
    assert statuses == {"jwt": {404}, "migration": {403}}


def test_answers_to_lookups_are_equally_long():
    """What is saved is as long as what it replaces, so that the generator need not keep an answer."""
    assert len(records.content(10**9)) == len(records.content(0)) == records.CONTENT_DIGITS
    assert {len(row[1] + row[2]) for row in records.RECORDS.rows} == {len("partner000category0")}
    assert records.path(17) == "/records?partner=partner001&category=category7"


def test_the_registry_knows_whom_the_contract_takes_for_honest():
    """And all who ask for records of their own; one of the others is not allowed."""
    allowed = {name for name, may in records.REGISTRY.rows if may == "true"}
    asking = {rows.users()[number].email for number in (*range(records.LOOKUPS), *contract.HONEST_USERS)}
    assert allowed == asking
    assert {name for name, may in records.REGISTRY.rows} - allowed == {rows.users()[records.DENIED].email}
