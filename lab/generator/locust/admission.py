"""Who is heard by Locust's master: processes that know the run's join token, over encrypted connections (CurveZMQ).

Both sides derive the keys of both from the token, so it is all that a worker on another machine has to be told. Whoever
does not know it cannot open a connection; what an admitted worker sends is dropped where it is no message, and named.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import Any

import gevent
import zmq.green as zmq
from gevent.event import Event
from locust.env import Environment
from locust.exception import RPCError
from locust.rpc import Message
from locust.rpc import rpc as zmqrpc
from zmq.utils import z85

# Where libzmq asks, within a process, whether the key of a new connection is admitted (ZeroMQ's RFC 27).
AUTHENTICATOR = "inproc://zeromq.zap.01"
ADMITTED, REFUSED = b"200", b"400"
SHOWN = 200
REFUSALS = zmq.EVENT_HANDSHAKE_FAILED_NO_DETAIL | zmq.EVENT_HANDSHAKE_FAILED_AUTH
# Whether this process talks only to those that know its token.
required = False
# Set when a master has not let this process in: its token is another one.
refused = Event()


def require(token: str) -> None:
    """Have all sockets that Locust makes in this process from now on use the keys of a token."""
    global required
    required = True
    master, worker = _secret_key(token, "master"), _secret_key(token, "worker")
    plain = zmqrpc.BaseSocket.__init__

    def keyed(self: zmqrpc.BaseSocket, kind: int, ipv4_only: bool) -> None:
        plain(self, kind, ipv4_only)
        if kind == zmq.ROUTER:
            _admit_only(zmq.curve_public(worker), self.socket.context)
            self.socket.curve_server = True
            self.socket.curve_secretkey = master
        else:
            self.socket.curve_serverkey = zmq.curve_public(master)
            self.socket.curve_publickey, self.socket.curve_secretkey = zmq.curve_public(worker), worker
            gevent.spawn(_notice_refusal, self.socket.get_monitor_socket(REFUSALS))

    zmqrpc.BaseSocket.__init__ = keyed
    zmqrpc.BaseSocket.recv_from_client = _next_message


def _secret_key(token: str, role: str) -> bytes:
    return bytes(z85.encode(hashlib.sha256(f"lab {role} {token}".encode()).digest()))


def _admit_only(public_key: bytes, context: Any) -> None:
    """Answer libzmq's questions about new connections to the sockets of a context."""
    asked, known = context.socket(zmq.REP), z85.decode(public_key)
    asked.bind(AUTHENTICATOR)
    told: set[bytes] = set()  # once an address, as whoever is refused may come again as often as he likes

    def answer() -> None:
        while True:
            version, request, _domain, address, _identity, _mechanism, *credentials = asked.recv_multipart()
            admitted = credentials == [known]
            if not admitted and address not in told:
                told.add(address)
                dropped(address.decode(), "it wants to connect with a key that is not this run's")
            asked.send_multipart([version, request, ADMITTED if admitted else REFUSED, b"", b"", b""])

    gevent.spawn(answer)


def _notice_refusal(monitor: Any) -> None:
    monitor.recv_multipart()
    refused.set()


def _next_message(self: zmqrpc.BaseSocket) -> tuple[str, Message]:
    """The next message from a worker, as in Locust, but whatever is no message of that worker's is dropped."""
    while True:
        try:
            parts = self.socket.recv_multipart()
        except zmq.ZMQError as error:
            raise RPCError("ZMQ network broken") from error
        sender = parts[0].decode(errors="replace")
        try:
            (_, packed) = parts
            message = Message.unserialize(packed)
            if not isinstance(message.type, str) or message.node_id != sender:
                raise ValueError("it is not its sender's own")
        except Exception as error:  # msgpack alone has a dozen
            dropped(sender, error)
        else:
            return sender, message


def dropping(listener: Callable[..., None]) -> Callable[..., None]:
    """A listener of Locust's messages that drops those that it cannot handle."""

    def heard(environment: Environment, msg: Message) -> None:
        try:
            listener(environment, msg)
        except Exception as error:  # of any kind: a worker may send anything
            dropped(msg.node_id, error)

    return heard


def dropped(sender: str, why: Any) -> None:
    """Say in the log that a message of a sender was dropped, in one line, whatever the sender calls itself."""
    logging.warning("Dropped a message of %s: %s", ascii(sender)[1:-1][:SHOWN], repr(why)[:SHOWN])
