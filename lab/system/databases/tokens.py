"""Bearer tokens: the signing key, one token for each seeded user, and hostile ones for the contract."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import string
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jwt
from filelock import FileLock

from lab.errors import LabError
from lab.runtimes.temporary import whole_file
from lab.system.databases import SEEDS
from lab.system.databases.rows import SEED, USERS, users

KEY_BYTES = 32
# Fixed, so that the same key and seed give the same tokens: 2026-01-01 and 2100-01-01.
ISSUED, EXPIRES = 1_767_225_600, 4_102_444_800
# The claim that says who the user is, where services do not sign tokens themselves.
EMAIL = "email"
UNAUTHORISED, UNKNOWN = 401, 404
BASE64URL = f"{string.ascii_uppercase}{string.ascii_lowercase}{string.digits}-_"
DEEP = 1000
DIGESTS = {"HS256": "sha256", "HS384": "sha384", "RS256": "sha256"}


def key_file(seeds: Path = SEEDS) -> Path:
    """The file with the signing key in Base64, as the services want it; made on first use."""
    file = seeds / "jwt.key"
    with _locked(seeds):
        if not file.exists():
            _write_private(file, base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode())
    return file


def signing_key(seeds: Path = SEEDS) -> bytes:
    """The signing key itself. LabError if its file is damaged."""
    file = key_file(seeds)
    try:
        key = base64.b64decode(file.read_text(), validate=True)
    except ValueError:
        key = b""
    if len(key) != KEY_BYTES:
        raise LabError(f"The signing key in {file} is damaged.", f"Delete it, and a new one is made: rm {file}")
    return key


def _locked(seeds: Path) -> FileLock:
    seeds.mkdir(parents=True, exist_ok=True)
    return FileLock(seeds / ".tokens.lock")


def _write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can read, whole or not at all; the lock must be held."""
    with whole_file(file, private=True) as unfinished:
        unfinished.write_text(text)


def token_file(seeds: Path = SEEDS, seed: int = SEED, count: int = USERS) -> Path:
    """A file with the users' tokens, one a line in their order; made when it is needed for the first time."""
    key = signing_key(seeds)
    print_ = hashlib.sha256(key).hexdigest()[:12]
    file = seeds / f"tokens-{seed}-{count}-{print_}.txt"
    with _locked(seeds):
        if not file.exists():
            _write_private(file, "\n".join(token(user.email, key) for user in users(seed, count)))
    return file


def read_tokens(file: Path) -> list[str]:
    """The tokens in a file of :func:`token_file`."""
    return file.read_text().split("\n")


def token(user: str, key: bytes, claim: str = EMAIL) -> str:
    """A valid token for a user, of whom a claim says who that is."""
    return jwt.encode(_claims(user, claim), key, "HS256")


class HostileToken(NamedTuple):
    """An invalid token, and the status it must get; None is a request without Authorization header."""

    name: str
    token: str | None
    status: int


def hostile(key: bytes, user: str, now: float | None = None, claim: str = EMAIL) -> list[HostileToken]:
    """The invalid tokens that every service must reject.

    Args:
        user: a seeded user, whose record they try to get.
        now: Unix time of "a second ago"; the clock's if None. Ask soon.
        claim: which one says who the user is.

    """
    last_s = int(time.time() if now is None else now)
    return [*_malformed(key), *_forged(key, user, claim), *_wrong_claims(key, user, last_s, claim)]


def unusual(key: bytes, email: str) -> dict[str, tuple[str | tuple[str, ...], int]]:
    """By name, values of ``Authorization`` that the variants may take or refuse, but all alike; with their status.

    Several values are as many headers.
    """
    honest = token(email, key)
    # The last character of 32 bytes stands for four bits; the next one differs in bits that stand for nothing.
    other_bits = honest[:-1] + BASE64URL[BASE64URL.index(honest[-1]) + 1]
    overflowing = _signed("HS256", {**_claims(email), "exp": 2**63 - 1}, key)
    email_twice = _signed_text(f'{{"email":"nobody@example.org","email":"{email}","exp":{EXPIRES}}}', key)
    exp_twice = _signed_text(f'{{"email":"{email}","exp":1,"exp":{EXPIRES}}}', key)
    bearer = f"Bearer {honest}"
    return {
        "scheme in lower case": (f"bearer {honest}", 200),
        "scheme in upper case": (f"BEARER {honest}", 200),
        "scheme and several blanks": (f"Bearer   {honest}", 200),
        "scheme and a tab": (f"Bearer\t{honest}", UNAUTHORISED),
        "scheme and a colon": (f"Bearer: {honest}", UNAUTHORISED),
        "scheme without a blank": (f"Bearer{honest}", UNAUTHORISED),
        "another scheme": (f"Basic {honest}", UNAUTHORISED),
        "no scheme": (honest, UNAUTHORISED),
        "scheme only": ("Bearer", UNAUTHORISED),
        "two tokens": (f"{bearer} {honest}", UNAUTHORISED),
        "two headers, alike": ((bearer, bearer), UNAUTHORISED),
        "two headers, the first honest": ((bearer, "Bearer a.b.c"), UNAUTHORISED),
        "two headers, the second honest": (("Bearer a.b.c", bearer), UNAUTHORISED),
        "email twice": (f"Bearer {email_twice}", UNAUTHORISED),
        "exp twice": (f"Bearer {exp_twice}", UNAUTHORISED),
        "padded signature": (f"Bearer {honest}=", 200),
        "signature padded too much": (f"Bearer {honest}==", UNAUTHORISED),
        "signature that is not canonical": (f"Bearer {other_bits}", 200),
        "overflowing exp": (f"Bearer {overflowing}", UNAUTHORISED),
    }


def _malformed(key: bytes) -> list[HostileToken]:
    texts = {
        "deep nesting": _signed_text(b'{"a":' * DEEP + b"1" + b"}" * DEEP, key),
        "bytes that are no UTF-8": _signed_text(b"\xff\xfe{}", key),
        "missing": None,
        "empty": "",
        "garbage": "not-a-token",
        "two dots": "..",
        "10 kB": f"{'a' * 5000}.{'b' * 5000}.{'c' * 238}",
        "unicode": "þis.ïs.nö-tøken-✓",
    }
    return [HostileToken(name, text, UNAUTHORISED) for name, text in texts.items()]


def _forged(key: bytes, user: str, claim: str) -> list[HostileToken]:
    header, payload, signature = token(user, key, claim).split(".")
    claims = _claims(user, claim)
    other_payload = _encoded({**claims, "age": 1})
    flipped = ("A" if signature[0] != "A" else "B") + signature[1:]
    texts = {
        "tampered payload": f"{header}.{other_payload}.{signature}",
        "tampered signature": f"{header}.{payload}.{flipped}",
        "signature cut off": f"{header}.{payload}.",
        "other key": _signed("HS256", claims, secrets.token_bytes(KEY_BYTES)),
        "alg none": f"{_encoded({'alg': 'none', 'typ': 'JWT'})}.{payload}.",
        "alg none, signature kept": f"{_encoded({'alg': 'none', 'typ': 'JWT'})}.{payload}.{signature}",
        "HS384": _signed("HS384", claims, key),
        "RS256-labelled": _signed("RS256", claims, key),
        "unknown crit": _signed("HS256", claims, key, {"crit": ["unknown"], "unknown": 1}),
        "JWE": f"{_encoded({'alg': 'dir', 'enc': 'A128GCM'})}..{signature}.{payload}.{signature}",
    }
    return [HostileToken(name, text, UNAUTHORISED) for name, text in texts.items()]


def _wrong_claims(key: bytes, user: str, now: int, claim: str) -> list[HostileToken]:
    honest = _claims(user, claim)
    refused: dict[str, Mapping[str, Any]] = {
        "expired by one second": {**honest, "exp": now - 1},
        "no exp": {name: value for name, value in honest.items() if name != "exp"},
        "null exp": {**honest, "exp": None},
        "exp in words": {**honest, "exp": "tomorrow"},
        "negative exp": {**honest, "exp": -1},
        "exp that is past, with a fraction": {**honest, "exp": now - 1.5},
        "not valid before an hour from now": {**honest, "nbf": now + 3600},
        f"no {claim}": {name: value for name, value in honest.items() if name != claim},
        f"null {claim}": {**honest, claim: None},
        f"empty {claim}": {**honest, claim: ""},
        f"numeric {claim}": {**honest, claim: 1},
        f"list as {claim}": {**honest, claim: [user]},
    }
    unknown = {
        "unknown user": "nobody@example.org",
        f"SQL in the {claim}": f"{user}' OR '1'='1' -- ",
        f"wildcard in the {claim}": "%",
        f"{claim} of other case": user.upper(),
        f"{claim} and a blank": f"{user} ",
        f"unicode {claim}": "þorn-✓@example.org",
    }
    return [
        *(HostileToken(name, _signed("HS256", claims, key), UNAUTHORISED) for name, claims in refused.items()),
        *(HostileToken(name, token(text, key, claim), UNKNOWN) for name, text in unknown.items()),
    ]


def _claims(user: str, claim: str = EMAIL) -> dict[str, Any]:
    return {claim: user, "iat": ISSUED, "exp": EXPIRES}


def _signed(algorithm: str, claims: Mapping[str, Any], key: bytes, more: Mapping[str, Any] | None = None) -> str:
    """A token by hand, as libraries rightly refuse to make some of these, with more fields in its header."""
    body = f"{_encoded({'alg': algorithm, 'typ': 'JWT', **(more or {})})}.{_encoded(claims)}"
    return _with_mac(body, key, DIGESTS[algorithm])


def _signed_text(claims: str | bytes, key: bytes) -> str:
    """A token of claims as they are written, such as the same one twice."""
    written = claims.encode() if isinstance(claims, str) else claims
    return _with_mac(f"{_encoded({'alg': 'HS256', 'typ': 'JWT'})}.{_base64(written)}", key, DIGESTS["HS256"])


def _with_mac(body: str, key: bytes, digest: str) -> str:
    return f"{body}.{_base64(hmac.digest(key, body.encode(), digest))}"


def _encoded(value: Mapping[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


if __name__ == "__main__":
    print(token_file())
