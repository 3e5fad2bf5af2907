"""The wire's latencies, by captures that are written here packet by packet, and by one that is real."""

from __future__ import annotations

import os
import shutil
import socket
import struct
import threading
from contextlib import contextmanager
from pathlib import Path
from time import time_ns

import numpy as np
import pytest
from packets import capturing, read_wire

from lab.errors import LabError
from lab.runtimes.process import ProcessRuntime

SERVER, CLIENT, OTHER = 8080, 40_000, 40_001
SYN, ACK = 0x02, 0x10
STARTED_S = 1_700_000_000
NANOSECONDS, MICROSECONDS = 0xA1B23C4D, 0xA1B2C3D4


def packet(at_ns, source, destination, sequence, size, flags=ACK, version=0x45, snap=96, said=None):
    """One packet of a capture: its head, and the first bytes of its frame. TCP's timestamps are its options."""
    total = 20 + 32 + size
    ethernet = bytes(12) + b"\x08\x00"
    ip_length = min(total, 0xFFFF) if said is None else said
    ip = struct.pack(">BBHHHBBH4s4s", version, 0, ip_length, 0, 0, 64, 6, 0, b"\x7f\0\0\1", b"\x7f\0\0\1")
    tcp = struct.pack(">HHIIBBHHH", source, destination, sequence % 2**32, 0, 8 << 4, flags, 0, 0, 0) + bytes(12)
    frame = (ethernet + ip + tcp + bytes(min(size, snap)))[:snap]
    seconds, nanoseconds = divmod(at_ns, 1_000_000_000)
    return struct.pack("<IIII", STARTED_S + seconds, nanoseconds, len(frame), 14 + total) + frame


def opens(at_ns, client=CLIENT, sequence=0):
    """The two packets that open a connection; both sides count their bytes from one more than ``sequence``."""
    yield packet(at_ns, client, SERVER, sequence, 0, SYN)
    yield packet(at_ns + 1, SERVER, client, sequence, 0, SYN | ACK)


def asks(at_ns, first, size=100, client=CLIENT, **how):
    """A packet of a request."""
    return packet(at_ns, client, SERVER, first, size, **how)


def answers(at_ns, first, size=1000, client=CLIENT, **how):
    """A packet of an answer."""
    return packet(at_ns, SERVER, client, first, size, **how)


@pytest.fixture
def wire_of(tmp_path):
    """A function that reads the wire's latencies from packets."""

    def read(*packets, magic=NANOSECONDS):
        file = tmp_path / "made.pcap"
        file.write_bytes(struct.pack("<IHHiIII", magic, 2, 4, 0, 0, 96, 1) + b"".join(packets))
        return read_wire(file, SERVER)

    return read


def test_a_latency_lasts_from_the_first_packet_of_the_request_to_the_last_of_the_answer(wire_of):
    """Whatever acknowledges it later."""
    wire = wire_of(
        *opens(0),
        *(asks(1_000, 1), asks(1_500, 101), answers(5_000, 1), answers(6_000, 1001), answers(7_003, 2001)),
        packet(7_500, CLIENT, SERVER, 201, 0),
    )
    assert wire.latency_ns.tolist() == [6_003]
    assert wire.sent_ns.tolist() == [STARTED_S * 10**9 + 1_000]
    assert (wire.cut_off, wire.resent) == (0, 0)


def test_requests_of_one_connection_follow_each_other(wire_of):
    """The next request ends an answer."""
    wire = wire_of(*opens(0), asks(10, 1), answers(20, 1), asks(100, 101), answers(130, 1001))
    assert wire.latency_ns.tolist() == [10, 30]


def test_connections_are_kept_apart_and_requests_are_in_the_order_of_their_sends(wire_of):
    """By the client's port, not by the order of packets."""
    wire = wire_of(
        *(*opens(0, OTHER), *opens(2)),
        *(asks(10, 1), asks(11, 1, client=OTHER), answers(20, 1, client=OTHER), answers(40, 1)),
        *(asks(50, 101, client=OTHER), asks(60, 101), answers(61, 1001), answers(70, 1001, client=OTHER)),
    )
    assert wire.latency_ns.tolist() == [30, 9, 20, 1]


def test_a_second_begins_anywhere(wire_of):
    """Seconds and nanoseconds make one time."""
    wire = wire_of(*opens(0), asks(999_999_999, 1), answers(2_000_000_001, 1))
    assert wire.latency_ns.tolist() == [1_000_000_002]


def test_packets_that_are_written_late_are_taken_by_their_time(wire_of):
    """Two cores may write into the kernel's buffer at once."""
    wire = wire_of(*opens(0), answers(20, 1), asks(10, 1), answers(30, 1001))
    assert wire.latency_ns.tolist() == [20]


def test_what_is_sent_again_neither_begins_a_request_nor_ends_an_answer(wire_of):
    """Its bytes have passed before; one that brings new ones too counts."""
    wire = wire_of(
        *opens(0),
        *(asks(10, 1), asks(210, 1), answers(300, 1), answers(310, 1001)),
        *(answers(500, 1), asks(600, 101), answers(610, 1001), answers(700, 2001, size=2000)),
    )
    assert wire.latency_ns.tolist() == [300, 100]
    assert wire.resent == 3


def test_sequence_numbers_begin_again(wire_of):
    """After 2³² bytes, here in the middle of a request and of an answer."""
    last = 2**32 - 500
    wire = wire_of(
        *opens(0, sequence=last - 1),
        *(asks(10, last, size=600), answers(20, last), answers(25, last + 1000)),
        *(asks(30, last + 600, size=600), answers(90, last + 2000), answers(95, last + 3000)),
    )
    assert wire.latency_ns.tolist() == [15, 65]
    assert wire.resent == 0


def test_a_port_that_is_used_again_is_another_connection(wire_of):
    """Its sequence numbers have nothing to do with those before."""
    wire = wire_of(
        *(*opens(0), asks(10, 1), answers(20, 1)),
        *(*opens(100, sequence=3_000_000_000), asks(110, 3_000_000_001), answers(150, 3_000_000_001)),
    )
    assert wire.latency_ns.tolist() == [10, 40]
    assert wire.resent == 0


def test_an_answer_that_was_cut_off_is_counted_apart(wire_of):
    """Half an answer, and a request without any."""
    wire = wire_of(
        *(*opens(0), *opens(1, OTHER)),
        *(asks(10, 1), answers(20, 1), answers(30, 1001), asks(40, 101), answers(50, 2001)),
        *(asks(60, 1, client=OTHER),),
    )
    assert wire.latency_ns.tolist() == [20]
    assert wire.cut_off == 2


def test_segments_beyond_64_kb_for_which_ip_says_no_length_count_whole(wire_of):
    """The capture says how long each packet was."""
    wire = wire_of(
        *opens(0),
        *(asks(10, 1), answers(20, 1, size=100_000, said=0), answers(30, 100_001, size=20_000)),
        *(asks(40, 101), answers(50, 120_001, size=60_000), answers(90, 180_001, size=60_000)),
    )
    assert wire.latency_ns.tolist() == [20, 50]
    assert (wire.cut_off, wire.resent) == (0, 0)


def test_an_answer_to_a_request_before_the_capture_is_none_of_it(wire_of):
    """Nobody knows when its request passed."""
    wire = wire_of(answers(5, 5_000), asks(10, 1), answers(20, 6_000), answers(7, 9, client=OTHER))
    assert wire.latency_ns.tolist() == [10]


def test_a_packet_that_was_written_in_part_at_the_end_is_left_out(wire_of):
    """The file may end anywhere."""
    wire = wire_of(*opens(0), asks(10, 1), answers(20, 1), asks(30, 101)[:50])
    assert wire.latency_ns.tolist() == [10]


@pytest.mark.parametrize(
    ("packets", "magic", "problem"),
    [
        ((asks(1, 1),), MICROSECONDS, "is no capture of Ethernet frames with nanoseconds"),
        ((), NANOSECONDS, "No packet was captured"),
        ((asks(1, 1, version=0x46),), NANOSECONDS, "other packets than of IPv4 without options"),
    ],
)
def test_other_captures_are_refused(wire_of, packets, magic, problem):
    """Rather than read as something else."""
    with pytest.raises(LabError, match=problem):
        wire_of(*packets, magic=magic)


@contextmanager
def a_server(answer):
    """A server of one connection, which answers whatever comes with the same bytes."""

    def serve():
        accepted, _ = listening.accept()
        with accepted:
            while accepted.recv(1000):
                accepted.sendall(answer)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        serving = threading.Thread(target=serve)
        serving.start()
        yield listening.getsockname()[1]
        serving.join()


def segments_sent_again():
    """How many TCP segments this machine has sent again since it started, by its kernel."""
    names, values = (
        line.split() for line in Path("/proc/net/snmp").read_text().splitlines() if line.startswith("Tcp:")
    )
    return int(values[names.index("RetransSegs")])


@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("tcpdump", path=f"{os.environ['PATH']}:/usr/sbin"), reason="needs tcpdump")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may capture")
def test_what_passes_is_captured_and_no_longer_than_a_client_saw(tmp_path):
    """A client sees each answer later than the wire, by the same clock."""
    answer, seen_ns, file = bytes(200_000), [], tmp_path / "wire.pcap"
    with ProcessRuntime() as runtime:
        for _ in range(2):  # the second capture is none of the first
            sent_again = segments_sent_again()
            with a_server(answer) as port, capturing(runtime, port, file):
                seen_ns.clear()
                with socket.create_connection(("127.0.0.1", port)) as client:
                    for _ in range(20):
                        began_ns, left = time_ns(), len(answer)
                        client.sendall(b"answer, please")
                        while left:
                            left -= len(client.recv(left))
                        seen_ns.append((began_ns, time_ns() - began_ns))
            wire = read_wire(file, port)
            began_ns, latency_ns = np.array(seen_ns).T
            assert len(wire.latency_ns) == 20
            assert (wire.latency_ns > 0).all()
            assert (wire.sent_ns >= began_ns).all()
            assert (wire.sent_ns + wire.latency_ns <= began_ns + latency_ns).all()
            assert wire.cut_off == 0
            # TCP sends a packet again where the client waits for a core, and counts it.
            assert wire.resent <= segments_sent_again() - sent_again
