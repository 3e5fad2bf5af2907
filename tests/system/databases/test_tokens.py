"""Tokens: those that services must believe, and those that they must not."""

from __future__ import annotations

import base64
import json
import stat
import threading
import time

import jwt
import pytest

from lab.errors import LabError
from lab.system.databases import rows, tokens

COUNT = 500


@pytest.fixture
def key(tmp_path):
    """A key of its own."""
    return tokens.signing_key(tmp_path)


def test_the_key_is_made_once_and_is_private(tmp_path):
    """The second lab gets the first one's key; nobody else on the machine can read it, or the tokens."""
    first = tokens.signing_key(tmp_path)
    assert tokens.signing_key(tmp_path) == first
    assert len(first) == 32
    for file in (tokens.key_file(tmp_path), tokens.token_file(tmp_path, count=COUNT)):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_two_places_have_two_keys(tmp_path):
    """A key is drawn, not computed from a seed."""
    assert tokens.signing_key(tmp_path / "a") != tokens.signing_key(tmp_path / "b")


def test_labs_that_start_together_agree_on_the_key_and_the_tokens(tmp_path):
    """Eight at once: one makes them, the others read."""
    found = []

    def look():
        found.append((tokens.signing_key(tmp_path), tokens.token_file(tmp_path, count=COUNT).read_text()))

    threads = [threading.Thread(target=look) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 1
    assert len(found) == 8


def test_a_damaged_key_is_refused(tmp_path):
    """An empty key would sign, and so believe, everything."""
    (tmp_path / "jwt.key").touch()
    with pytest.raises(LabError, match="damaged"):
        tokens.signing_key(tmp_path)


def test_every_user_has_a_token_that_verifies(tmp_path, key):
    """One token a user, in the order of users, with email, iat and exp, and nothing else."""
    made = tokens.read_tokens(tokens.token_file(tmp_path, count=COUNT))
    claims = [jwt.decode(token, key, ["HS256"]) for token in made]
    assert [claim["email"] for claim in claims] == [user.email for user in rows.users(count=COUNT)]
    assert all(set(claim) == {"email", "iat", "exp"} for claim in claims)
    assert claims[0]["exp"] > time.time() + 365 * 86400


def test_tokens_are_made_once(tmp_path):
    """The same key and seed give the same file; it is not written again, and another seed or key has another."""
    file = tokens.token_file(tmp_path, count=COUNT)
    written = file.stat().st_mtime_ns
    assert tokens.token_file(tmp_path, count=COUNT).stat().st_mtime_ns == written
    content = file.read_text()
    file.unlink()
    assert tokens.token_file(tmp_path, count=COUNT).read_text() == content
    assert tokens.token_file(tmp_path, seed=2, count=COUNT) != file
    tokens.key_file(tmp_path).unlink()
    assert tokens.token_file(tmp_path, count=COUNT) != file


def test_an_interrupted_file_of_tokens_is_not_taken_for_a_whole_one(tmp_path):
    """What a killed lab left beside the file changes nothing."""
    file = tokens.token_file(tmp_path, count=COUNT)
    content = file.read_text()
    file.rename(file.with_name(f".{file.name}.new"))
    file.with_name(f".{file.name}.new").write_text(content[:1000])
    assert tokens.token_file(tmp_path, count=COUNT).read_text() == content


def test_the_hostile_set_holds_what_was_agreed(key):
    """Every kind of bad token is there once, and each has a status that refuses it."""
    found = {case.name: case.status for case in tokens.hostile(key, "ada@example.org")}
    assert len(found) == len(tokens.hostile(key, "ada@example.org"))
    assert {name for name, status in found.items() if status == 404} == {
        "unknown user",
        "SQL in the email",
        "wildcard in the email",
        "email of other case",
        "email and a blank",
        "unicode email",
    }
    assert {name for name, status in found.items() if status == 401} == {
        "missing",
        "empty",
        "garbage",
        "deep nesting",
        "bytes that are no UTF-8",
        "two dots",
        "10 kB",
        "unicode",
        "tampered payload",
        "tampered signature",
        "signature cut off",
        "other key",
        "alg none",
        "alg none, signature kept",
        "HS384",
        "RS256-labelled",
        "expired by one second",
        "no exp",
        "null exp",
        "exp in words",
        "negative exp",
        "exp that is past, with a fraction",
        "not valid before an hour from now",
        "unknown crit",
        "JWE",
        "no email",
        "null email",
        "empty email",
        "numeric email",
        "list as email",
    }


def test_a_verifier_refuses_what_is_to_be_refused_and_no_more(key):
    """PyJWT, which shares no code with the makers, agrees: 401 where signature, time or email is bad, 404 elsewhere."""
    for case in tokens.hostile(key, "ada@example.org"):
        assert judged(case.token, key) == case.status, case.name


def judged(token, key):
    """What a right service would answer, if it knew no user but ada@example.org."""
    try:
        claims = jwt.decode(token or "", key, ["HS256"], options={"require": ["exp"]})
    except jwt.InvalidTokenError:
        return 401
    email = claims.get("email")
    if not isinstance(email, str) or not email:
        return 401
    return 200 if email == "ada@example.org" else 404


def test_unusual_tokens_say_the_same_in_other_characters(key):
    """What differs from an honest token is the scheme, or bits of the signature that stand for nothing."""
    cases, honest = tokens.unusual(key, "ada@example.org"), tokens.token("ada@example.org", key)
    believed = {value.partition(" ")[0] for value, status in cases.values() if status == 200}
    assert believed == {"Bearer", "bearer", "BEARER"}
    signature = honest.split(".")[2]
    odd = cases["signature that is not canonical"][0].split(".")[2]
    assert odd != signature
    assert decoded(odd) == decoded(signature)
    assert json.loads(decoded(cases["overflowing exp"][0].split(".")[1]))["exp"] == 2**63 - 1


def test_two_headers_and_claims_said_twice_are_refused(key):
    """Which of the two is meant is not for a service to choose; both parts are honest but for that."""
    cases = tokens.unusual(key, "ada@example.org")
    several = {name: case for name, case in cases.items() if not isinstance(case[0], str)}
    assert {name: (len(values), status) for name, (values, status) in several.items()} == {
        "two headers, alike": (2, 401),
        "two headers, the first honest": (2, 401),
        "two headers, the second honest": (2, 401),
    }
    for claim in ("email", "exp"):
        value, status = cases[f"{claim} twice"]
        _, token = value.split()
        assert decoded(token.split(".")[1]).count(f'"{claim}"'.encode()) == 2
        assert jwt.decode(token, key, ["HS256"])["email"] == "ada@example.org"  # the signature is right
        assert status == 401


def test_hostile_tokens_are_what_their_names_say(key):
    """Some by their bytes: the size, the algorithm, the second."""
    now = 1_800_000_000
    cases = {case.name: case.token for case in tokens.hostile(key, "ada@example.org", now)}
    assert len(cases["10 kB"]) == 10_240
    assert [header(cases[name])["alg"] for name in ("alg none", "HS384", "RS256-labelled")] == [
        "none",
        "HS384",
        "RS256",
    ]
    assert json.loads(decoded(cases["expired by one second"].split(".")[1]))["exp"] == now - 1
    assert cases["missing"] is None
    assert not cases["unicode"].isascii()


def header(token):
    """The header of a token."""
    return json.loads(decoded(token.split(".")[0]))


def decoded(part):
    """Undo a token's base64."""
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
