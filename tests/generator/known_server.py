"""A server whose delays are known, as a process of its own: what a load generator says about it can be checked.

``python known_server.py [STALL_EVERY_S]`` prints its port. It answers ``/delay/MS`` as the services do, after half to
one and a half times MS milliseconds, evenly distributed. For the first second of every STALL_EVERY_S, by its own clock,
it stalls: whatever arrives in that second is answered at its end. ``/report`` tells how many requests it was sent, and
of each the milliseconds asked for and when it was read, due and answered, by the clock that all processes share.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections import defaultdict
from collections.abc import Iterator

STALL_S = 1.0
GOLDEN = (5**0.5 - 1) / 2


class Known:
    """The delays, and what was counted while they were kept."""

    def __init__(self, stall_every_s: float) -> None:
        self.stall_every_s = stall_every_s
        self.began_s = time.monotonic()
        self.numbers: dict[float, Iterator[int]] = defaultdict(lambda: itertools.count(1))
        self.asked = 0
        self.kept: list[tuple[int, float, float, float]] = []

    def due_s(self, arrived_s: float, delay_s: float) -> float:
        """When a request that arrived is to be answered; multiples of the golden ratio spread evenly over 0 to 1."""
        phase_s = (arrived_s - self.began_s) % self.stall_every_s
        if phase_s < STALL_S:
            return arrived_s + STALL_S - phase_s
        return arrived_s + delay_s * (0.5 + next(self.numbers[delay_s]) * GOLDEN % 1)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        while line := await reader.readline():
            arrived_s = time.monotonic()
            path = line.split()[1].decode()
            while await reader.readline() != b"\r\n":
                pass
            if path == "/report":
                body = json.dumps({"asked": self.asked, "kept": self.kept}).encode()
            else:
                self.asked += 1
                millis = int(path.rpartition("/")[2])
                due_s = self.due_s(arrived_s, millis / 1000)
                await asyncio.sleep(due_s - time.monotonic())
                self.kept.append((millis, arrived_s, due_s, time.monotonic()))
                body = b'{"millis":%d}' % millis
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        writer.close()


async def main() -> None:
    """Serve until somebody ends the process."""
    known = Known(float(sys.argv[1]) if len(sys.argv) > 1 else float("inf"))
    server = await asyncio.start_server(known.serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
