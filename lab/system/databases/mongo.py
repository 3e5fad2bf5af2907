"""MongoDB with its one document: a mongod, a stand-in, or a server of the user's own."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import pymongo
from pymongo import MongoClient, uri_parser
from pymongo.errors import OperationFailure, PyMongoError

from lab.errors import LabError
from lab.runtimes import LOOPBACK, Launch, Running
from lab.runtimes.port_file import awaited_port
from lab.spec.system import COMMANDS_OF
from lab.system.databases import NAME, NOT_AS_WRITTEN, Database, Site
from lab.system.databases.rows import DOCUMENT_ID, SEED, document
from lab.system.free_port import server_on_free_port

STAND_IN_PRODUCT = "mongo-java-server 1.47"
# At most: entities that are added stay until the load is over, and one of 59 kB takes somewhat more.
STAND_IN_HEAP = "2g"
COLLECTION = "documents"
# One document in this collection says which others the lab made.
MARKS = "lab"
MADE_BY = {"made_by": "lab; may be dropped"}
PATIENCE_MS = 5000
COMMANDS = COMMANDS_OF["mongo"]
REFUSED = f"Use a server that executes {', '.join(COMMANDS)} in the database '{NAME}' for this user."
# How options begin that the lab's own driver obeys, and Java's passes over with a warning in its log.
OF_PYTHON_ALONE = (
    *("tlscafile", "tlscertificatekeyfile", "tlscrlfile", "tlsallowinvalidcertificates", "tlsdisableocsp"),
    *("ssl_", "fsync", "tz_aware", "unicode_decode_error_handler", "datetime_conversion"),
)


@contextmanager
def server(site: Site, url: str | None = None, seed: int = SEED) -> Iterator[Database]:
    """A MongoDB database with the seeded document in it.

    Args:
        url: ``mongodb://user:password@host:port`` of a server to use instead of the lab's own; the lab writes into its
            database ``lab`` only, and leaves the document there for the next time.

    Raises:
        LabError: there is no server, or it holds a collection ``documents`` that is not the lab's.

    """
    if url:
        database = identified(parse(url))
        seed_document(database, seed)
        yield database
        return
    with _own(site) as database:
        seed_document(database, seed)
        yield database


def parse(url: str) -> Database:
    """The database that a URL names, not asked yet. LabError if it is not such a URL, or names several servers."""
    advice = "Write mongodb://user:password@host:port/?options, or mongodb+srv://user:password@host/?options."
    try:
        parts = urlsplit(url)
        port = parts.port or 27017
    except ValueError:
        raise LabError("--mongo-url is not a URL of one server.", advice) from None
    if parts.scheme not in ("mongodb", "mongodb+srv") or not parts.hostname or "," in parts.netloc:
        raise LabError("--mongo-url needs a scheme and one host.", advice)
    if "@" in parts.path + parts.query + parts.fragment:  # a password is taken apart: no part of it may be repeated
        raise LabError(
            "--mongo-url has an @ after the host.", f"{advice} Percent-encode what is not a letter or digit."
        )
    if parts.path.strip("/") not in ("", NAME) or parts.fragment:
        raise LabError(f"The lab uses the database '{NAME}' only, and --mongo-url names another.", advice)
    options = parts.query
    if ";" in options:  # drivers take what comes after it for an option of its own, which nobody has looked at here
        raise LabError("--mongo-url separates options by a semicolon.", "Separate them by &.")
    given = parse_qsl(options, keep_blank_values=True)
    for name, value in given:
        if name.lower().startswith(OF_PYTHON_ALONE):
            raise LabError(
                f"--mongo-url has an option {name!r} that the variants' drivers do not have.",
                "Leave it out, and lead the connection through a tunnel of yours (ssh -L) where it is needed.",
            )
        try:
            uri_parser.validate_options({name: value})
        except (PyMongoError, ValueError, TypeError):  # it may repeat the value, which may be a secret
            raise LabError(
                f"--mongo-url has an option {name!r} that MongoDB's driver refuses.", "Correct it."
            ) from None
    named = {name.lower() for name, _ in given}
    if parts.username and "authsource" not in named:  # the default would be the database of the path: lab
        options = f"{options}&authSource=admin".lstrip("&")
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    scheme = "" if parts.scheme == "mongodb" else parts.scheme
    return Database("mongo", "", False, parts.hostname, port, user, password, options=options, scheme=scheme)


@contextmanager
def client(database: Database) -> Iterator[MongoClient[dict[str, Any]]]:
    """A client that is closed with the context. LabError if the server does not answer or refuses something."""
    try:
        with pymongo.MongoClient[dict[str, Any]](database.url, serverSelectionTimeoutMS=PATIENCE_MS) as link:
            yield link
    except PyMongoError as error:
        where = f"MongoDB at {database.host}:{database.port}"
        said = str(error).partition(" (configured timeouts")[0].partition(", full error")[0][:300]  # and on, and on
        step = REFUSED if isinstance(error, OperationFailure) else "Is the server up, and is its URL right?"
        raise LabError(f"{where} said: {said}.", step) from error


def check_lets_in(database: Database) -> None:
    """LabError unless the server answers, and lets this user see what is in the lab's database."""
    with client(database) as link:
        link[NAME].list_collection_names()


def identified(database: Database) -> Database:
    """The same database, with the product that its server reports."""
    with client(database) as link:
        facts = link[NAME].command("buildInfo")
    if ferret := facts.get("ferretdb"):
        return replace(database, product=f"FerretDB {str(ferret.get('version', '')).lstrip('v')}", stand_in=True)
    return replace(database, product=f"MongoDB {facts['version']}")


@contextmanager
def _own(site: Site) -> Iterator[Database]:
    site.folder.mkdir(parents=True, exist_ok=True)
    if mongod := shutil.which("mongod"):
        with _mongod(site, mongod) as database:
            yield database
    elif site.stand_in:
        with _stand_in(site, site.stand_in) as database:
            yield database
    else:
        raise LabError(
            "There is no mongod on the PATH, and its stand-in is not built.",
            "Install one, or use --mongo-url.",
        )


@contextmanager
def _mongod(site: Site, program: str) -> Iterator[Database]:
    data = site.folder / "mongo"
    data.mkdir()

    def launch(port: int) -> Launch:
        command = (program, "--dbpath", str(data), "--bind_ip", LOOPBACK, "--port", str(port), "--nounixsocket")
        return Launch("mongod", command, site.logs / "mongo.log", cores=site.cores, grace_s=10, alone=True)

    try:
        with server_on_free_port(site.runtime, launch, _answers) as (running, port):
            yield identified(Database("mongo", "", False, LOOPBACK, port, running=running))
    finally:
        shutil.rmtree(data, ignore_errors=True)


def _answers(running: Running, port: int) -> bool:
    """Whether this mongod answers on this port, and not another server that took it first."""
    try:
        with pymongo.MongoClient[dict[str, Any]](LOOPBACK, port, serverSelectionTimeoutMS=200) as link:
            return bool(link.admin.command("serverStatus")["pid"] == running.pid)
    except PyMongoError:
        return False


@contextmanager
def _stand_in(site: Site, jar: Path) -> Iterator[Database]:
    java = str(site.java_home / "bin" / "java") if site.java_home else "java"
    port_file = site.folder / "mongo.port"
    port_file.unlink(missing_ok=True)
    command = (java, f"-Xmx{STAND_IN_HEAP}", "-XX:+ExitOnOutOfMemoryError", "-jar", str(jar), "0", str(port_file))
    launch = Launch("MongoDB stand-in", command, site.logs / "mongo.log", cores=site.cores, alone=True)
    with site.runtime.started(launch) as running:
        port = awaited_port(running, port_file)
        yield Database("mongo", STAND_IN_PRODUCT, True, LOOPBACK, port, running=running)


def seed_document(database: Database, seed: int = SEED) -> int:
    """See to it that the collection holds exactly the seeded document, however an earlier attempt ended.

    Returns:
        How many documents were written: 1, or 0 if it was there and alone.

    Raises:
        LabError: there is a collection of that name that the lab did not make, or the document reads back wrong.

    """
    expected = {"_id": DOCUMENT_ID, "text": document(seed)}
    with client(database) as link:
        lab = link[NAME]
        claim(database, lab, COLLECTION)
        documents = lab[COLLECTION]
        if _holds(documents, expected):
            return 0
        documents.drop()  # documents that an earlier run's POSTs left, too
        documents.insert_one(dict(expected))
        if not _holds(documents, expected):
            raise LabError("The document reads back wrong after seeding.", NOT_AS_WRITTEN)
    return 1


def claim(database: Database, lab: Any, collection: str) -> None:
    """Mark a collection as the lab's own; LabError if there is one of that name that the lab did not make."""
    mark = {"_id": collection, **MADE_BY}
    if lab[MARKS].find_one({"_id": collection}) == mark:
        return
    there = lab.list_collection_names(filter={"name": {"$in": [collection, MARKS]}})
    if collection in there or (there and not lab[MARKS].find_one(MADE_BY)):
        raise LabError(
            f"The database '{NAME}' on {database.host}:{database.port} has a collection '{collection}' or '{MARKS}' "
            "that is not the lab's.",
            "Rename it, or give --mongo-url of another server; the lab drops nothing that it did not make.",
        )
    lab[MARKS].insert_one(mark)


def _holds(documents: Any, expected: Mapping[str, Any]) -> bool:
    return bool(documents.count_documents({}) == 1 and documents.find_one({"_id": DOCUMENT_ID}) == expected)


def counted(database: Database) -> dict[str, int]:
    """How often the server has executed each of :data:`COMMANDS` so far, for whomever; empty if it does not count.

    By command, however many documents it is about, which ``opcounters`` would count, and FerretDB has none of these.
    """
    with client(database) as link:
        commands = link.admin.command("serverStatus").get("metrics", {}).get("commands", {})
    return {name: int(commands.get(name, {}).get("total", 0)) for name in COMMANDS} if commands else {}
