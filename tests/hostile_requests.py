"""Requests that must not get anybody's record: forged and malformed tokens, and HTTP that tries to get past them."""

from __future__ import annotations

import base64
import hmac
import json
import time
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from lab.system.databases import tokens

HEAD = {"alg": "HS256", "typ": "JWT"}
AUTHENTICATE, OPERATIONS = "/api/authenticate", "/api/operations"
LARGE = 20_000


class HostileRequest(NamedTuple):
    """What is sent, byte by byte, and how it is called."""

    name: str
    raw: bytes


def requests(path: str, key: bytes, user: str, other: str, claim: str = tokens.EMAIL) -> list[HostileRequest]:
    """All of them, for the path of a request that needs a token.

    Args:
        key: signs the tokens that a service believes.
        user: a seeded one, whose record they try to get.
        other: another one.
        claim: which one of a token says who the user is.

    """
    with_token = [
        *((each.name, each.token or "") for each in tokens.hostile(key, user, claim=claim) if each.token is not None),
        *_claims(key, user, other, claim),
        *_algorithms(key, user, claim),
        *_structures(key, user, claim),
    ]
    return [
        *(HostileRequest(f"token: {name}", _get(path, [f"Authorization: Bearer {text}"])) for name, text in with_token),
        *_authorizations(path, tokens.token(user, key, claim)),
        *_http(path),
    ]


def honest(path: str, token: str) -> bytes:
    """A request with a token that is right."""
    return _get(path, [f"Authorization: Bearer {token}"])


def _get(path: str, fields: list[str] | None = None, method: str = "GET", body: bytes = b"") -> bytes:
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Connection: close", *(fields or [])]
    lines += [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + body


def _base64(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def _signed(key: bytes, head: object, payload: object, digest: str = "sha256") -> str:
    """A token with a right signature over anything: text and bytes are taken as they are."""
    parts = (part if isinstance(part, bytes) else json.dumps(part).encode() for part in (head, payload))
    body = ".".join(map(_base64, parts))
    return f"{body}.{_base64(hmac.digest(key, body.encode(), digest))}"


def _claims(key: bytes, user: str, other: str, claim: str) -> Iterator[tuple[str, str]]:
    """Signed by the right key, with claims that must not be believed."""
    now, honest = int(time.time()), {claim: user, "iat": tokens.ISSUED, "exp": tokens.EXPIRES}
    expiries = (None, "", "tomorrow", True, [], {}, [tokens.EXPIRES], {"s": tokens.EXPIRES}, -1, -(2**63), 0, 1, 1.5)
    for expiry in (*expiries, now - 2, str(now - 2), float(now - 2)):
        yield f"exp {expiry!r}", _signed(key, HEAD, {**honest, "exp": expiry})
    yield "no exp", _signed(key, HEAD, {claim: user})
    for text in ("NaN", "Infinity", "-1e999", "0x7fffffff", "1e"):
        yield f"exp {text}", _signed(key, HEAD, f'{{"{claim}": "{user}", "exp": {text}}}'.encode())
    for before in (now + 3600, str(now + 3600), tokens.EXPIRES, "tomorrow", True):  # the library takes [] for none
        yield f"nbf {before!r}", _signed(key, HEAD, {**honest, "nbf": before})
    for who in (None, "", " ", "\t", True, 0, 1.5, {}, [], [user], {claim: user}, {"$ne": ""}):
        yield f"{claim} {who!r}", _signed(key, HEAD, {**honest, claim: who})
    for who in (
        f"{user}'--",
        f"{user}\\",
        f"{user}\0",
        f" {user}",
        f"{user}\n",
        "%",
        "_" * len(user),
        f"{user}%",
    ):
        yield f"{claim} {who!r}", _signed(key, HEAD, {**honest, claim: who})
    yield (
        f"{claim} twice",
        _signed(key, HEAD, f'{{"{claim}": "{other}", "{claim}": "{user}", "exp": {tokens.EXPIRES}}}'.encode()),
    )
    yield "exp twice", _signed(key, HEAD, f'{{"{claim}": "{user}", "exp": 1, "exp": {tokens.EXPIRES}}}'.encode())
    yield (
        f"{claim} that is no UTF-8",
        _signed(key, HEAD, b'{"%s": "%s\xff", "exp": %d}' % (claim.encode(), user.encode(), tokens.EXPIRES)),
    )


def _algorithms(key: bytes, user: str, claim: str) -> Iterator[tuple[str, str]]:
    """Another algorithm than the service's, or a header that asks for another key."""
    honest = {claim: user, "iat": tokens.ISSUED, "exp": tokens.EXPIRES}
    for name in (
        "none",
        "None",
        "NONE",
        "nOnE",
        "",
        " ",
        None,
        0,
        [],
        ["HS256"],
        {},
        "hs256",
        "HS256 ",
        "HS1",
        "A128KW",
    ):
        head = {**HEAD, "alg": name}
        yield f"alg {name!r}", _signed(key, head, honest)
        yield f"alg {name!r}, unsigned", _signed(key, head, honest).rpartition(".")[0] + "."
    for name in ("HS384", "HS512"):
        yield f"alg {name}, rightly signed", _signed(key, {**HEAD, "alg": name}, honest, f"sha{name[2:]}")
    for name in ("RS256", "RS512", "ES256", "PS256", "EdDSA", "dir", "RSA-OAEP"):
        yield f"alg {name}, signed by HS256", _signed(key, {**HEAD, "alg": name}, honest)
    yield "no alg", _signed(key, {"typ": "JWT"}, honest)
    own = b"k" * 32
    jwk = {"kty": "oct", "k": _base64(own), "alg": "HS256"}
    for name, more in {
        "jwk": {"jwk": jwk},
        "jku": {"jku": "http://127.0.0.1:1/keys"},
        "x5u": {"x5u": "http://127.0.0.1:1/keys"},
        "kid of a file": {"kid": "../../../../dev/null"},
        "kid of a table": {"kid": "' union select 'k' -- "},
    }.items():
        yield f"another key, named by {name}", _signed(own, {**HEAD, **more}, honest)
    for name, more in {
        "unknown crit": {"crit": ["unknown"], "unknown": 1},
        "crit of what is not there": {"crit": ["exp"]},
        "b64 false": {"crit": ["b64"], "b64": False},
        "unknown zip": {"zip": "LZMA"},
    }.items():
        yield name, _signed(key, {**HEAD, **more}, honest)
    bomb = zlib.compressobj(wbits=-15)
    packed = bomb.compress(b'{"a":"' + b" " * (8 << 20)) + bomb.flush()
    yield "a bomb in a zip, signed by another key", _signed(own, {**HEAD, "zip": "DEF"}, packed)
    for key_ in (b"", b"\0" * 32, b"secret", b"changeit"):
        yield f"signed by {key_[:8]!r}", _signed(key_, HEAD, honest)


def _structures(key: bytes, user: str, claim: str) -> Iterator[tuple[str, str]]:
    """No token in its form, or not one that says anything."""
    honest = tokens.token(user, key, claim)
    head, payload, signature = honest.split(".")
    parts = {
        "one part": head,
        "two parts": f"{head}.{payload}",
        "four parts": f"{honest}.",
        "six parts": f"{honest}.{honest}",
        "no header": f".{payload}.{signature}",
        "no payload": f"{head}..{signature}",
        "JWE": f"{_base64(json.dumps({'alg': 'dir', 'enc': 'A128GCM'}).encode())}..{signature}.{payload}.{signature}",
        "JWE that costs": ".".join(
            [
                _base64(
                    json.dumps({"alg": "PBES2-HS256+A128KW", "enc": "A128GCM", "p2c": 2**31 - 1, "p2s": "aa"}).encode()
                )
            ]
            + [signature] * 4
        ),
        "reversed": f"{signature}.{payload}.{head}",
        "blank in it": f"{head}. {payload}.{signature}",
        "half a signature": f"{head}.{payload}.{signature[: len(signature) // 2]}",
        "signature twice": f"{head}.{payload}.{signature}{signature}",
        "signature of nothing": f"{head}.{payload}.{_base64(hmac.digest(key, b'', 'sha256'))}",
        "letters of other alphabets": f"{head}.{payload}.{signature[:-1]}é",
        "stars": f"{head}.{payload}.{'*' * len(signature)}",
        "percent": honest.replace(".", "%2e"),
        "upper case": honest.upper(),
    }
    yield from parts.items()
    for name, said in {
        "header no JSON": (b"{", b"{}"),
        "header an array": (b'["HS256"]', payload.encode()),
        "header of alg twice": (b'{"alg": "none", "alg": "HS256"}', b"{}"),
        "payload empty": (json.dumps(HEAD).encode(), b""),
        "payload no JSON": (json.dumps(HEAD).encode(), b"{"),
        "payload an array": (json.dumps(HEAD).encode(), json.dumps([user]).encode()),
        "payload a text": (json.dumps(HEAD).encode(), json.dumps(user).encode()),
        "payload a number": (json.dumps(HEAD).encode(), b"1"),
        "payload null": (json.dumps(HEAD).encode(), b"null"),
        "payload no UTF-8": (json.dumps(HEAD).encode(), b'\xff\xfe{"email": 1}'),
        "payload in UTF-16": (json.dumps(HEAD).encode(), json.dumps({claim: user}).encode("utf-16")),
        "payload not closed": (json.dumps(HEAD).encode(), f'{{"{claim}": "{user}'.encode()),
        "payload deep": (json.dumps(HEAD).encode(), b'{"a":' * 2000 + b"1" + b"}" * 2000),
    }.items():
        yield name, _signed(key, *said)


def _authorizations(path: str, honest: str) -> Iterator[HostileRequest]:
    """An honest token where it does not belong, or beside another."""
    for scheme in (
        "Basic",
        "Token",
        "JWT",
        "Digest",
        "Bearer:",
        "Bearer,",
        "BearerX",
        "Bear er",
        "Bearer=",
        "“Bearer”",
    ):
        yield HostileRequest(f"scheme {scheme!r}", _get(path, [f"Authorization: {scheme} {honest}"]))
    for name, field in {
        "no blank": f"Authorization: Bearer{honest}",
        "in quotes": f'Authorization: Bearer "{honest}"',
        "a second token": f"Authorization: Bearer {honest} {honest}",
        "a parameter": f'Authorization: Bearer {honest}, realm="x"',
        "no scheme": f"Authorization: {honest}",
        "nothing": "Authorization:",
        "the scheme only": "Authorization: Bearer",
        "the scheme and blanks": "Authorization: Bearer      ",
        "a tab": f"Authorization: Bearer\t{honest}",
        "another header": f"X-Authorization: Bearer {honest}",
        "the proxy's header": f"Proxy-Authorization: Bearer {honest}",
        "a cookie": f"Cookie: Authorization=Bearer {honest}; access_token={honest}",
        "bytes that are no UTF-8": f"Authorization: Bearer \udcff\udcfe{honest}",
    }.items():
        yield HostileRequest(f"Authorization: {name}", _get(path, [field]))
    right, wrong = f"Authorization: Bearer {honest}", "Authorization: Bearer a.b.c"
    yield HostileRequest("two headers, the second honest", _get(path, [wrong, right]))
    yield HostileRequest("two headers, the first honest", _get(path, [right, wrong]))
    yield HostileRequest("the query", _get(f"{path}?access_token={honest}&Authorization=Bearer%20{honest}"))
    form = {"Content-Type: application/x-www-form-urlencoded"}
    yield HostileRequest("the body", _get(path, [*form], "POST", f"access_token={honest}".encode()))


def _http(path: str) -> Iterator[HostileRequest]:
    """No token at all, and HTTP that leads past the check, or into what breaks."""
    for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "X"):
        yield HostileRequest(f"method {method}", _get(path, [], method))
    for method in ("GET", "POST"):
        override = [f"X-HTTP-Method-Override: {method}", "X-Original-URL: " + path, "X-Rewrite-URL: " + path]
        yield HostileRequest(f"overridden by {method}", _get("/nowhere", override, "POST"))
    first, _, last = path.rpartition("/")
    for other in (
        *(f"{path}/", f"{path};a=b", f"{first}//{last}", f"{path}%00", f"{path}%2f", f"{path}.json", f"{path}?"),
        *(
            f"{first}/./{last}",
            f"{first}/../{path.strip('/')}",
            f"{first}/%2e%2e{path}",
            f"//{path}",
            f"{path}%0d%0aX: y",
        ),
        *(path.upper(), "/%", "/%zz", "/..", "/%c0%ae%c0%ae", "/actuator/env", "/actuator/heapdump", "/error", "*"),
        *(f"http://127.0.0.1{path}", "/" + "a" * 5000, "/\\..\\", "/{x}", "/|", "/${jndi:ldap://127.0.0.1:1/a}"),
    ):
        yield HostileRequest(f"path {other[:30]!r}", _get(other))
    for name, fields in {
        "one large header": [f"X-Large: {'a' * LARGE}"],
        "a large token": [f"Authorization: Bearer {'a' * LARGE}"],
        "many headers": [f"X-{number}: a" for number in range(3000)],
        "no UTF-8 in a name": ["X-\udcff: a"],
        "a line without a colon": ["nothing"],
        "a folded line": ["X-A: b\r\n Authorization: Bearer a.b.c"],
        "two hosts": ["Host: other"],
        "two lengths": ["Content-Length: 1", "Content-Length: 2"],
        "a negative length": ["Content-Length: -1"],
        "unknown encoding": ["Transfer-Encoding: gibberish"],
        "other types": ["Accept: image/png", "Content-Type: a/b"],
        "no type": ["Accept: ///", "Content-Type: ///"],
        "unknown expectation": ["Expect: the-worst"],
        "range": ["Range: bytes=0-999999999999999999999"],
        "a null byte": ["X-A: \0"],
    }.items():
        yield HostileRequest(f"fields: {name}", _get(path, fields))
    # With its last chunk: for which Tomcat waits, a minute long, before it closes a connection that it has refused.
    both = _get(path, ["Content-Length: 4", "Transfer-Encoding: chunked"]) + b"0\r\n\r\n"
    yield HostileRequest("fields: length and chunks", both)
    yield HostileRequest("HTTP/1.1 without a host", f"GET {path} HTTP/1.1\r\nConnection: close\r\n\r\n".encode())
    yield HostileRequest("HTTP/1.0", f"GET {path} HTTP/1.0\r\n\r\n".encode())
    yield HostileRequest("HTTP/9.9", f"GET {path} HTTP/9.9\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
    yield HostileRequest("no HTTP", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 50 + b"\r\n\r\n")


# Of a body's text: what a driver, a database or a hash may trip over.
TEXTS = {
    "half a character": "\\ud800",
    "a null": "a\\u0000b",
    "a long text": "x" * 9000,
    "SQL": "' or 1=1 -- ",
    "an operator": '{\\"$ne\\": null}',
    "a lookup": "${jndi:ldap://127.0.0.1:1/a}",
}
# Values in place of a text, or of a number.
VALUES = ("null", "{}", "[]", '{"$ne": null}', '{"$gt": ""}', "true", "1" * 1200, "[" * 900 + "]" * 900)
NUMBERS = (
    *("1e2147483647", "-1e2147483647", "1e-2147483647", "0e2147483647", "1e99999999999", "1E+2147483640"),
    *('"NaN"', '"Infinity"', '"0x10"', '""', "NaN"),
)
DATES = ("+1000000000-12-31T23:59:59Z", "-1000000000-01-01T00:00:00Z", "2020-02-30T00:00:00Z", "2020-01-01", "")
NO_JSON = {
    "nothing": b"",
    "not closed": b'{"username": "admin", "password"',
    "an array": b"[]",
    "a text": b'"admin"',
    "no UTF-8": b'{"username": "\xff\xfe", "password": "admin"}',
    "a name twice": b'{"username": "admin", "username": "nobody", "password": "wrong", "password": "admin "}',
    "deep": b'{"a":' * 5000 + b"1" + b"}" * 5000,
}


def bodies(token: str) -> list[HostileRequest]:
    """Requests to log in, and with an honest token to create an operation, whose bodies are none of those expected."""
    typed = "Content-Type: application/json"
    honest = f"Authorization: Bearer {token}"
    texts = {name: f'"{text}"' for name, text in TEXTS.items()} | {text[:20]: text for text in VALUES}
    logins = {
        f"{field} {name}": f'{{"username": "admin", "password": "wrong", "{field}": {value}}}'
        for field in ("username", "password", "rememberMe")
        for name, value in texts.items()
    }
    fields = {
        "description": texts,
        "amount": {text: text for text in (*NUMBERS, *VALUES)},
        "date": texts | {text: f'"{text}"' for text in DATES},
    }
    good = '"date": "2020-01-01T00:00:00Z", "description": "d", "amount": "1"'
    created = {
        f"{field} {name[:20]}": f'{{{good}, "{field}": {value}}}'
        for field, of in fields.items()
        for name, value in of.items()
    }
    return [
        HostileRequest(f"body: {path}: {name}", _get(path, [typed, honest][: 1 + (path == OPERATIONS)], "POST", body))
        for path, of in ((AUTHENTICATE, logins), (OPERATIONS, created))
        for name, body in ({name: text.encode() for name, text in of.items()} | NO_JSON).items()
    ]
