"""What the benchmarks load: servers on one core that answer as the lab's services would, without working for it.

All but the chunked megabyte comes from nginx. That comes from the lab's own server of known delay, which sends it from
memory in chunks of 8 kB, as Tomcat does: nginx either works for such chunks or sends the whole in one.
"""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import jwt

from lab.errors import LabError
from lab.experiments.document.scenario import answer
from lab.runtimes import Launch, Running, Runtime
from lab.runtimes.waiting import await_started
from lab.system.databases.tokens import EXPIRES, ISSUED

DOCUMENT_TEXT_BYTES = 1_019_684
DOCUMENT_BYTES = DOCUMENT_TEXT_BYTES + len('{"id":"1000","text":""}')
EMAIL = "somebody@example.org"
TOKENS = 10_000

CONFIGURATION = """
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    keepalive_time 24h;
    keepalive_timeout 1h;
    sendfile on;
    tcp_nodelay on;
    open_file_cache max=10 inactive=1h;
    default_type application/json;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port} backlog=4096;
        root {folder}/www;
        location /delay/ {{ return 200 '{{"millis":0}}'; }}
        location = /differing/body {{ return 200 '{{"id":"$request_id"}}'; }}
        location = /differing/head {{ add_header X-Request-Id $request_id; return 200 '{{"millis":0}}'; }}
        location = /users/me {{ return 200 '{{"email":"{email}","firstName":"Some","lastName":"Body","age":42}}'; }}
    }}
}}
"""


@dataclass(frozen=True)
class Kind:
    """One kind of request that is measured.

    Attributes:
        path: what a peer asks for.
        scenario: the lab's that sends it; empty where our user sends nothing but a GET of the path.
        check: what our user then takes for right.
        chunked: whether it goes to the server that sends chunks.
        posted_bytes: of the body of a POST, made once; 0 for a GET.

    """

    name: str
    path: str
    scenario: str = ""
    check: bytes | int | str = ""
    bearer: bool = False
    chunked: bool = False
    posted_bytes: int = 0


KINDS = (
    Kind("small", "/delay/0", "delay"),
    Kind("small, bodies differ", "/differing/body", check='{"id":"'),
    Kind("small, heads differ", "/differing/head", check=b'{"millis":0}'),
    Kind("token", "/users/me", "jwt", bearer=True),
    Kind("POST of 59 kB", "/delay/0", check=b'{"millis":0}', posted_bytes=59_000),
    Kind("1 MB", "/documents/1000", "document"),
    Kind("1 MB, chunked", "/chunked/0", check=DOCUMENT_BYTES, chunked=True),
)


@dataclass(frozen=True)
class Target:
    """A running server: its address, and a file of tokens, one a line, that it takes."""

    url: str
    tokens: Path
    running: Running


def find_nginx() -> str:
    """The path of nginx; LabError if it is not installed."""
    if nginx := shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/opt/homebrew/bin"):
        return nginx
    raise LabError(
        "nginx is not installed, and it is what all generators are measured against.",
        "Install it: apt-get install nginx-light (macOS: brew install nginx).",
    )


@contextmanager
def nginx(runtime: Runtime, folder: Path, cores: frozenset[int]) -> Iterator[Target]:
    """An nginx with one worker on its own port of loopback; it ends with the context."""
    folder.chmod(0o755)  # its worker may be another user
    documents = folder / "www" / "documents"
    documents.mkdir(parents=True)
    (documents / "1000").write_bytes(answer())
    tokens = folder / "tokens.txt"
    tokens.write_text("\n".join(_token(number) for number in range(TOKENS)))
    port = _free_port()
    configuration = folder / "nginx.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, port=port, email=EMAIL))
    command = (find_nginx(), "-c", str(configuration), "-p", str(folder))
    with runtime.started(Launch("nginx", command, folder / "nginx.log", cores=cores)) as running:
        _await_listening(running, port)
        yield Target(f"http://127.0.0.1:{port}", tokens, running)


def _token(number: int) -> str:
    """A token as the scenario jwt sends it, all of one user, so that one record is the right answer to each."""
    claims = {"email": EMAIL, "iat": ISSUED + number, "exp": EXPIRES}
    return jwt.encode(claims, b"a key that nobody verifies, 32 B", "HS256")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_listening(running: Running, port: int) -> None:
    def listens() -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            return False
        return True

    await_started(running, listens)
