"""Answers are read as the parser alone would read them, however they are framed, and wherever they are split."""

from __future__ import annotations

import random

import httptools
import pytest

from lab.generator.locust import answer
from lab.generator.locust.answer import ParsedAnswer, Reader
from lab.spec import sample

STATUS = b"HTTP/1.1 200 OK\r\n"
CHUNKED = STATUS + b"Transfer-Encoding: chunked\r\n\r\n"
EARLY_HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
SEEDS = 600
# Result of reading: error, status, body, size.
Result = tuple[int, int, bytes, int]


class Pieces:
    """A connection on which given pieces come, one at a time, and then its end."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = list(pieces)

    def send(self, data: bytes) -> None:
        """Whatever is sent, the same comes."""

    def receive(self, most: int) -> bytes:
        """The next piece, or as much of it as fits."""
        if not self.pieces:
            return b""
        piece = self.pieces.pop(0)
        if piece[most:]:
            self.pieces.insert(0, piece[most:])
        return piece[:most]

    def receive_into(self, buffer: memoryview) -> int:
        """The same, into a buffer."""
        piece = self.receive(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def discard(self, count: int) -> None:
        """So many bytes, which nobody sees."""
        while count:
            if not (piece := self.receive(count)):
                raise ConnectionResetError
            count -= len(piece)

    def matches(self, expected: memoryview) -> bool:
        """As many bytes, and whether they are these."""
        came = b""
        while len(came) < len(expected):
            if not (piece := self.receive(len(expected) - len(came))):
                raise ConnectionResetError
            came += piece
        return came == expected


def parsed(pieces: list[bytes]) -> Result:
    """What the parser makes of an answer, all by itself."""
    parser = ParsedAnswer()
    for piece in pieces:
        try:
            parser.feed(piece)
        except httptools.HttpParserError:
            return sample.MALFORMED, 0, b"", 0
        if parser.complete:
            return sample.OK, parser.status, parser.body, len(parser.body)
    return sample.TRUNCATED, 0, b"", 0


def read(pieces: list[bytes], check: bytes | int | None = None) -> Result:
    """What the lab makes of it."""
    got = Reader().ask(Pieces(pieces), b"", check)
    return got.error, got.status, got.body, got.size


def chunked(chance: random.Random, body: bytes, size: int) -> bytes:
    """A body in chunks: all of one size, or of any, in every form that RFC 9112 allows, with and without its extras."""
    wild = chance.random() < 0.5
    encoded = b""
    while body:
        now = chance.randint(1, 2 * size) if wild else size
        form = chance.choice((b"%x", b"%X", b"%04x")) if wild else b"%x"
        extension = chance.choice((b"", b"", b"", b";a=b", b';c="d e"')) if wild else b""
        encoded += form % len(body[:now]) + extension + b"\r\n" + body[:now] + b"\r\n"
        body = body[now:]
    trailer = chance.choice((b"", b"", b"Sum: 1\r\nAnd: more\r\n")) if wild else b""
    return encoded + chance.choice((b"0", b"0", b"000")) + b"\r\n" + trailer + b"\r\n"


def spoilt(chance: random.Random, encoded: bytes) -> bytes:
    """The same with something wrong: a byte, the end, or what comes after it."""
    at = chance.randrange(len(encoded))
    kind = chance.randrange(4)
    if kind == 0:
        return encoded[:at]
    if kind == 1:
        return encoded + chance.choice((b"\r\n", b"x", b"HTTP/1.1 2", CHUNKED + b"0\r\n\r\n"))
    if kind == 2:
        return encoded[:at] + encoded[at + 1 :]
    return encoded[:at] + chance.choice((b"z", b"\r", b"\n", b"0", b"5", b" ", b"-", b"_", b";")) + encoded[at + 1 :]


def split(chance: random.Random, data: bytes) -> list[bytes]:
    """The bytes in one piece, in some, in many, or one at a time."""
    most = max(len(data) // 500, chance.choice((1, 3, 50, len(data), len(data), 4 * len(data))))
    pieces = []
    while data:
        now = chance.randint(1, most)
        pieces.append(data[:now])
        data = data[now:]
    return pieces


@pytest.mark.parametrize("known", [False, True], ids=["a new head", "a known head"])
def test_any_chunked_answer_is_read_as_the_parser_reads_it(known):
    """Whole or spoilt, with and without an informational answer before it, split anywhere, also in the head."""
    seen = set()
    for seed in range(SEEDS):
        chance = random.Random(seed)
        body = chance.randbytes(chance.choice((0, 1, 40, 2000, 40_000)))
        whole = chunked(chance, body, chance.choice((1, 7, 300, 8192)) if len(body) < 3000 else 8192)
        encoded = spoilt(chance, whole) if chance.random() < 0.6 else whole
        hints = EARLY_HINTS if chance.random() < 0.1 else b""
        pieces = split(chance, hints + CHUNKED + encoded)
        answer._known.clear()
        if known:
            answer._remember(CHUNKED, (200, answer.CHUNKED, True))
        expected = parsed(pieces)
        seen.add(expected[0])
        assert read(pieces) == read(pieces, check=expected[2]) == expected, f"seed {seed}"
        error, status, _, size = read(pieces, check=0)
        assert (error, status, size) == (expected[0], expected[1], expected[3]), f"seed {seed}, its length only"
    assert seen == {sample.OK, sample.TRUNCATED, sample.MALFORMED}


@pytest.mark.parametrize("known", [False, True], ids=["a new head", "a known head"])
def test_any_answer_with_a_length_is_read_as_the_parser_reads_it(known):
    """Whole or cut off, split anywhere."""
    for seed in range(SEEDS):
        chance = random.Random(seed)
        body = chance.randbytes(chance.choice((0, 1, 40, 2000, 40_000)))
        head = STATUS + b"content-length:%s%d\r\n\r\n" % (chance.choice((b"", b"  ")), len(body))
        cut = chance.randrange(len(head + body)) if chance.random() < 0.3 else None
        pieces = split(chance, (head + body)[:cut])
        answer._known.clear()
        if known:
            answer._remember(head, (200, len(body), True))
        expected = parsed(pieces)
        got = (sample.TRUNCATED, 0, b"", 0) if not pieces else read(pieces)
        assert got == expected, f"seed {seed}"
        if expected[0] == sample.OK and body:
            assert read(pieces, check=body) == expected, f"seed {seed}, compared"
            at = chance.randrange(len(body))
            other = body[:at] + bytes([body[at] ^ 1]) + body[at + 1 :]
            error, status, found, size = read(pieces, check=other)
            assert (error, status, size) == (sample.OK, 200, len(body)), f"seed {seed}, compared with another"
            assert found != other, f"seed {seed}, compared with another"
        error, status, _, size = read(pieces, check=0) if pieces else (*got[:2], b"", 0)
        assert (error, status, size) == (expected[0], expected[1], expected[3]), f"seed {seed}, its length only"


@pytest.mark.parametrize(
    "encoded",
    [
        b"0x5\r\nabcde\r\n0\r\n\r\n",
        b"1_0\r\n" + b"x" * 16 + b"\r\n0\r\n\r\n",
        b" 5\r\nabcde\r\n0\r\n\r\n",
        b"+5\r\nabcde\r\n0\r\n\r\n",
        b"-5\r\nabcde\r\n0\r\n\r\n",
        b"5\nabcde\r\n0\r\n\r\n",
        b"5\r\nabcdefg0\r\n\r\n",
        b"5\r\nabcde\r\n\r\n0\r\n\r\n",
        b"fffffffffffffffff\r\n",
        b"5;\x00\r\nabcde\r\n0\r\n\r\n",
        b"5\r\nabcde\r\n0\r\nno field\r\n\r\n",
        b"5\r\nabcde\r\n0\r\n\r\nmore",
    ],
)
def test_a_chunk_that_makes_no_sense_is_malformed(encoded):
    """Sizes that Python would read as numbers are none for that; what follows the end belongs to no answer."""
    assert read([CHUNKED + encoded])[0] == parsed([CHUNKED + encoded])[0] == sample.MALFORMED
    assert read([CHUNKED, encoded], check=0)[0] == sample.MALFORMED, "the head is known by now"


def test_a_length_that_is_exceeded_is_malformed():
    """Also where the head is known, and by whatever follows."""
    head = STATUS + b"Content-Length: 5\r\n\r\n"
    for more in (b"x", b"HTTP", head + b"abcde"):
        assert read([head + b"abcde"])[0] == sample.OK
        assert read([head + b"abcde" + more])[0] == sample.MALFORMED


def test_a_head_says_the_same_of_all_bodies_but_is_read_to_its_end():
    """The same head before other bodies; a part of it is not taken for the whole."""
    empty = STATUS + b"Content-Length: 0\r\n\r\n"
    assert read([empty]) == (sample.OK, 200, b"", 0)
    assert read([empty[:-4], empty[-4:]]) == (sample.OK, 200, b"", 0)
    assert read([empty[:-2]])[0] == sample.TRUNCATED
    five = STATUS + b"Content-Length: 5\r\n\r\n"
    assert [read([five + body])[2] for body in (b"abcde", b"fghij", b"klmno")] == [b"abcde", b"fghij", b"klmno"]


def test_a_head_that_ends_the_connection_says_so_each_time():
    """Whether it is new or known, and however its body comes."""
    for framing, body in (
        (b"Content-Length: 5\r\n\r\n", b"abcde"),
        (b"Transfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n"),
    ):
        head = STATUS + b"Connection: close\r\n" + framing
        for pieces in ([head + body], [head, body]) * 2:
            reader = Reader()
            assert reader.ask(Pieces(pieces), b"").error == sample.OK
            assert not reader.keep_alive


def test_heads_that_all_differ_fill_no_memory():
    """A server may put a number into each."""
    for number in range(1000):
        assert read([STATUS + b"Number: %d\r\nContent-Length: 1\r\n\r\nx" % number])[0] == sample.OK
    assert len(answer._known) <= answer.MOST_KNOWN
