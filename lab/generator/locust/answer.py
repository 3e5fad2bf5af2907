"""One HTTP answer as it arrives: status, body and where it ends."""

from __future__ import annotations

import httptools


class Answer:
    """Receives httptools' callbacks for the answers on one connection, and holds the current answer."""

    __slots__ = ("_parser", "complete", "feed", "keep_alive", "parts", "status")

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.feed = self._parser.feed_data
        self.begin()

    def begin(self) -> None:
        """Reset for the next answer."""
        self.parts: list[bytes] = []
        self.complete = False
        self.keep_alive = False
        self.status = 0

    def on_headers_complete(self) -> None:
        """Callback: the head is complete."""
        self.status = self._parser.get_status_code()

    def on_body(self, part: bytes) -> None:
        """Callback: a part of the body."""
        self.parts.append(part)

    def on_message_complete(self) -> None:
        """Callback: an answer is complete; an informational one (1xx) does not count."""
        if self.status >= 200:  # 103 Early Hints and the like: the answer is still to come
            if self.complete:
                raise ValueError("a second answer follows, to no request")
            self.complete = True
            self.keep_alive = self._parser.should_keep_alive()  # which httptools knows at this moment only

    def keeps_alive(self) -> bool:
        """Whether the connection can be reused, by the head, which must be complete."""
        return bool(self._parser.should_keep_alive())

    @property
    def body(self) -> bytes:
        """The body so far, copied once at most."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)


def missing_bytes(answer: Answer, first: bytes) -> int:
    """Bytes of the body that are still to be received, by Content-Length; 0 where the parser has to decide.

    The parser decides wherever the first bytes do not hold the whole head, begin with another answer's (1xx), or
    describe the body's length in any way but one Content-Length.
    """
    head, end, _ = first.partition(b"\r\n\r\n")
    if not end or b" %d " % answer.status not in head[:13] + b" ":
        return 0
    fields = head.lower()
    if b"\r\ntransfer-encoding:" in fields or fields.count(b"\r\ncontent-length:") != 1:
        return 0
    length = int(fields.partition(b"\r\ncontent-length:")[2].partition(b"\r\n")[0])
    return length - sum(map(len, answer.parts))
