"""What the wire saw: packets captured on loopback by tcpdump, and the latency of each request by them.

On the wire a request begins with the first packet that carries some of its bytes, and ends with the last packet that
carries bytes of its answer. Connecting is in none. A connection carries one request at a time.
"""

from __future__ import annotations

import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from lab.errors import LabError
from lab.runtimes import Launch, Running, Runtime

SNAP_BYTES = 96  # all headers, with TCP's options
# Holds nearly three million packets while tcpdump sleeps: the kernel puts each of loopback into it twice, as it leaves
# and as it comes, and tcpdump leaves the first out.
BUFFER_KIB = 1 << 20
WITHIN_S = 30.0
LATE_BYTES = 1 << 22
# Packets that open a connection or carry bytes, and the mark. Not "inbound": libpcap examines the first packets itself
# (those that came before its filter was in the kernel, and all else in their block), and cannot tell there.
WANTED = (
    "tcp port {port} and (tcp[tcpflags] & tcp-syn != 0"
    " or ip[2:2] - ((ip[0] & 0xf) << 2) - ((tcp[12] & 0xf0) >> 2) != 0) or udp port {port}"
)

# The head of a file with nanoseconds and Ethernet frames, and that of each packet in it (pcap-savefile(5)).
FILE_HEAD = struct.Struct("<IHHiIII")
NANOSECONDS, ETHERNET = 0xA1B23C4D, 1
PACKET_HEAD_BYTES = 16
_captured_bytes = struct.Struct("<I")
HEADERS = np.dtype(
    [
        *(("seconds", "<u4"), ("nanoseconds", "<u4"), ("captured", "<u4"), ("length", "<u4")),
        *(("macs", "V12"), ("ethertype", ">u2")),
        *(("version", "u1"), ("uninteresting", "V8"), ("protocol", "u1"), ("checksum", "V2")),
        *(("source", ">u4"), ("destination", ">u4"), ("source_port", ">u2"), ("destination_port", ">u2")),
        *(("sequence", ">u4"), ("acknowledged", ">u4"), ("words", "u1"), ("flags", "u1")),
    ]
)
ETHERNET_BYTES, IP_BYTES = 14, 20
IPV4, WITHOUT_OPTIONS, TCP, SYN = 0x0800, 0x45, 6, 0x02


@dataclass(frozen=True)
class Wire:
    """The requests that passed the wire with all of their answers, in the order in which they were sent.

    Attributes:
        sent_ns: Unix time of the first packet of each request; int64, shape (n,).
        latency_ns: from then to the last packet of its answer; int64, shape (n,).
        cut_off: how many more requests there were, whose answers were shorter than the others, or none.
        resent: packets of which all bytes had passed before.

    """

    sent_ns: np.ndarray
    latency_ns: np.ndarray
    cut_off: int
    resent: int


@contextmanager
def capturing(runtime: Runtime, port: int, file: Path) -> Iterator[None]:
    """Capture what goes to and comes from a TCP port of loopback, while the context lasts.

    tcpdump sleeps meanwhile and takes no CPU time from anybody: the kernel copies the headers into a buffer that is
    large enough, as the packets pass. At the end tcpdump wakes and writes them.

    Args:
        port: of a server on 127.0.0.1.
        file: written at the end of the context.

    Raises:
        LabError: tcpdump is not installed, may not capture, or the kernel dropped packets.

    """
    log = file.with_suffix(".log")
    log.unlink(missing_ok=True)  # of a capture before, whose words would be taken for those of this one
    # To standard output, as tcpdump gives up the rights of root before it opens a file; -U writes packets at once.
    options = ("-i", "lo", "-s", str(SNAP_BYTES), "-B", str(BUFFER_KIB), "--time-stamp-precision=nano", "-U", "-w", "-")
    command = shlex.join((_find_tcpdump(), *options, WANTED.format(port=port)))
    launch = Launch("tcpdump", ("sh", "-c", f"exec {command} > {shlex.quote(str(file))}"), log)
    with runtime.started(launch) as tcpdump:
        _await(lambda: "listening on" in log.read_text(), tcpdump)
        os.kill(tcpdump.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(tcpdump.pid, signal.SIGCONT)
        mark = _send_mark(port)
        _await(lambda: _has(file, mark), tcpdump)
    dropped = re.search(r"(\d+) packets? dropped by kernel", log.read_text())
    if not dropped or int(dropped[1]):
        raise LabError("The kernel dropped packets that were to be captured.", "Load for less long.", log.read_text())


def _find_tcpdump() -> str:
    if found := shutil.which("tcpdump") or shutil.which("tcpdump", path="/usr/sbin:/sbin"):
        return found
    raise LabError("tcpdump is not installed, and shows what passes the wire.", "Install it: apt-get install tcpdump.")


def _await(so: Callable[[], bool], tcpdump: Running) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not so():
        if tcpdump.exit_reason() or time.monotonic() > deadline:
            raise LabError("tcpdump does not capture.", "It needs the rights of root.", tcpdump.log_tail())
        time.sleep(0.05)


def _send_mark(port: int) -> bytes:
    """Send a datagram to the port; whatever was captured before stands before it. Nobody need receive it."""
    mark = secrets.token_bytes(32)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.sendto(mark, ("127.0.0.1", port))
    return mark


def _has(file: Path, mark: bytes) -> bool:
    """Whether the mark was written; late answers to requests that nobody waits for any more may come after it."""
    with file.open("rb") as packets:
        packets.seek(-min(LATE_BYTES, file.stat().st_size), os.SEEK_END)
        return mark in packets.read()


def read_wire(file: Path, port: int) -> Wire:
    """The latencies of all requests to a port in a capture that began before the first of them.

    All answers must be equally long: those that are shorter than the longest were cut off.

    Raises:
        LabError: it is no such capture.

    """
    packets = _read_headers(file)
    sent, cut_off, resent = _exchanges(_tcp_bytes(packets[packets["protocol"] == TCP], port))
    return Wire(sent["sent_ns"].to_numpy(), (sent["ended_ns"] - sent["sent_ns"]).to_numpy(), cut_off, resent)


def _read_headers(file: Path) -> np.ndarray:
    """The headers of all packets, as :data:`HEADERS`."""
    content = file.read_bytes()
    magic, *_, link = FILE_HEAD.unpack_from(content) if len(content) >= FILE_HEAD.size else (0, 0)
    if (magic, link) != (NANOSECONDS, ETHERNET):
        raise LabError(f"{file} is no capture of Ethernet frames with nanoseconds.", "Capture anew.")
    found, at = [], FILE_HEAD.size
    while at + HEADERS.itemsize <= len(content):
        found.append(at)
        at += PACKET_HEAD_BYTES + _captured_bytes.unpack_from(content, at + 8)[0]
    if not found:
        raise LabError("No packet was captured.", "See that the load reaches the server by 127.0.0.1.")
    windows = np.lib.stride_tricks.sliding_window_view(np.frombuffer(content, np.uint8), HEADERS.itemsize)
    packets = windows[found].view(HEADERS)[:, 0]
    if (packets["ethertype"] != IPV4).any() or (packets["version"] != WITHOUT_OPTIONS).any():
        raise LabError(f"{file} has other packets than of IPv4 without options.", "Load 127.0.0.1.")
    return packets


def _tcp_bytes(packets: np.ndarray, port: int) -> pd.DataFrame:
    """The packets that carry bytes which had not passed before, by connection and time; ``resent`` had none such."""
    from_client = packets["destination_port"] == port
    address = np.where(from_client, packets["source"], packets["destination"]).astype(np.int64)
    client_port = np.where(from_client, packets["source_port"], packets["destination_port"])
    headers = ETHERNET_BYTES + IP_BYTES + (packets["words"] >> 4) * np.int64(4)
    table = pd.DataFrame(
        {
            "client": address << 16 | client_port,
            "time_ns": packets["seconds"] * np.int64(1_000_000_000) + packets["nanoseconds"],
            "from_client": from_client,
            "opens": from_client & (packets["flags"] & SYN != 0),
            "sequence": packets["sequence"].astype(np.int64),
            # Not by IP's own length, which is 0 where segments were coalesced beyond 64 kB.
            "bytes": packets["length"] - headers,
        }
    ).sort_values(["client", "time_ns"], kind="stable", ignore_index=True)
    table["connection"] = (table["opens"] | (table["client"] != table["client"].shift())).cumsum()
    table = table[table["bytes"] > 0].reset_index(drop=True)
    way = [table["connection"], table["from_client"]]
    step = table["sequence"].groupby(way).diff().fillna(0).astype(np.int64)
    # Sequence numbers begin again after 2³² bytes; no step is larger than half of that, forwards or backwards.
    step = (step + (1 << 31)) % (1 << 32) - (1 << 31)
    reached = (step.groupby(way).cumsum() + table["bytes"]).groupby(way).cummax()
    table["new_bytes"] = reached - reached.groupby(way).shift(fill_value=0)
    return table


def _exchanges(table: pd.DataFrame) -> tuple[pd.DataFrame, int, int]:
    """Requests with whole answers by time, how many others there are, and how many packets were sent again."""
    carries = table[table["new_bytes"] > 0].reset_index(drop=True)
    asks = carries["from_client"].to_numpy()
    other_connection = np.diff(carries["connection"], prepend=0) != 0
    begins = np.flatnonzero(other_connection | (asks & ~np.r_[False, asks[:-1]]))
    time_ns = carries["time_ns"].to_numpy()
    exchanges = pd.DataFrame(
        {
            "sent_ns": time_ns[begins],
            "ended_ns": time_ns[np.r_[begins[1:], len(carries)] - 1],
            "answer_bytes": np.add.reduceat(carries["new_bytes"].to_numpy() * ~asks, begins),
        }
    )[asks[begins]]
    whole = exchanges["answer_bytes"] == exchanges["answer_bytes"].max()
    return exchanges[whole].sort_values("sent_ns"), int((~whole).sum()), len(table) - len(carries)
