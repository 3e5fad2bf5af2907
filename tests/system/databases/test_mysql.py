"""The MySQL side, on a real MariaDB that Maven fetches."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from holding_relay import HoldingRelay
from machines import HERE
from one_sentence import assert_refused
from patience import PATIENCE_S, await_that
from small_disk import mounted
from stored import user_sums

from lab.errors import LabError
from lab.experiments import find_scenario
from lab.runtimes import Launch
from lab.runtimes.checkout import ROOT
from lab.runtimes.process import ProcessRuntime, free_ports
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.system import Table
from lab.system.backends import Endpoints, running_backends
from lab.system.databases import SEEDS, Site, counters, mariadb, mysql, rows, tables
from lab.system.free_port import server_on_free_port

pytestmark = pytest.mark.java
COUNT = 2000


@pytest.fixture(scope="module")
def site(jdk, tmp_path_factory):
    """A place for servers, with seeds of its own but for the unpacked server, which all tests share.

    Its path is one that MariaDB's installer would take apart, and so is that of temporary folders.
    """
    with pytest.MonkeyPatch.context() as patched, ProcessRuntime() as runtime:
        patched.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("my tëmp 1")))
        made = site_in(tmp_path_factory.mktemp("my läb 1"), runtime, jdk)
        mariadb.unpacked(replace(made, seeds=SEEDS))
        yield made


def site_in(folder, runtime, jdk):
    """A site whose seeds are its own, but for the unpacked server."""
    (folder / "seeds").mkdir()
    (folder / "seeds" / f"mariadb-{mariadb.VERSION}").symlink_to(SEEDS / f"mariadb-{mariadb.VERSION}")
    return Site(runtime, folder / "data", folder / "logs", jdk.home, folder / "seeds")


@pytest.fixture(scope="module")
def server(site):
    """A seeded server."""
    with mysql.server(site, count=COUNT) as database:
        yield database


@pytest.fixture
def sql(server):
    """A function that executes SQL in the lab's database and returns the rows; seeded again afterwards."""

    def execute(text, values=()):
        with mysql.connection(server) as link:
            cursor = link.cursor()
            cursor.execute(text, values)
            found = cursor.fetchall() if cursor.with_rows else []
            link.commit()
            return found

    yield execute
    execute("drop view if exists users")
    execute("drop table if exists users")
    mysql.seed_users(server, count=COUNT)


def test_a_started_server_holds_the_users(server, sql):
    """Every row reads back as it was made, other letters than ASCII too."""
    assert sql("select * from users order by email") == list(rows.users(count=COUNT))
    assert (server.kind, server.name, server.host) == ("mysql", "lab", "127.0.0.1")


def test_the_stand_in_says_so(server):
    """Whoever reads a table knows what was measured."""
    assert server.title == f"MariaDB {mariadb.VERSION}, standing in for MySQL"
    assert server.as_json()["stand_in"] is True


def test_the_server_and_the_generator_agree_on_the_sums(server):
    """The check asks the server, which computes what Python computes."""
    assert user_sums(server) == rows.sums(rows.users(count=COUNT))


def test_seeding_again_writes_nothing(server):
    """The check passes, so that nothing is to do."""
    assert mysql.seed_users(server, count=COUNT) == 0


@pytest.mark.parametrize(
    "damage",
    [
        "delete from users limit 1",
        "update users set age = age + 1 limit 1",
        "insert into users values ('x@example.org', '', '', '', '', 1)",
        "truncate users",
        "drop table users",
        f"create or replace table users (email int) comment = '{mysql.MARK}'",
    ],
)
def test_what_is_not_whole_is_made_whole(server, sql, damage):
    """However a lab was killed at it: afterwards exactly the seeded users are there."""
    sql(damage)
    assert mysql.seed_users(server, count=COUNT) == COUNT
    assert user_sums(server) == rows.sums(rows.users(count=COUNT))


@pytest.mark.parametrize(
    "foreign",
    ["create table users (email varchar(9)) select 'mine' as email", "create view users as select 'mine' as email"],
)
def test_a_table_that_is_not_the_labs_is_left_alone(site, server, sql, foreign):
    """A table of the same name that belongs to somebody is refused, and untouched."""
    sql("drop table users")
    sql(foreign)
    with pytest.raises(LabError, match="not the lab's") as caught, mysql.server(site, server.url, count=COUNT):
        pass
    assert "--mysql-url" in caught.value.next_step
    assert sql("select * from users") == [("mine",)]


@pytest.fixture
def small(tmp_path):
    """A folder on a file system that has no room for data."""
    with mounted(tmp_path / "small", "4m") as folder:
        yield folder


def test_a_disk_that_is_full_before_data_are_made_is_said_and_nothing_is_left(small, site, tmp_path):
    """By the server's own words, whatever advice comes after them."""
    unpacked = small / f"mariadb-{mariadb.VERSION}"
    unpacked.symlink_to(SEEDS / unpacked.name)
    full = replace(site, folder=tmp_path / "run", logs=tmp_path / "logs", seeds=small)
    with pytest.raises(LabError, match="data folder could not be made") as caught, mysql.server(full, count=COUNT):
        pass
    assert "out of disk space" in caught.value.detail
    assert {path.name for path in small.iterdir()} == {unpacked.name, ".mariadb.lock"}


def test_a_wrong_password_is_said_in_one_sentence_and_repeated_nowhere(server, typed, tmp_path):
    """Before anything is built: no run is begun that its services could not go through with."""
    wrong = server.url.replace(f":{server.password}@", ":wr0ng-geheim@")
    run = ("run", "operations", "--variants", "mvc", "--users", "5", "--data", str(tmp_path / "runs"))
    done = typed(*run, "--mysql-url", wrong)
    assert_refused(done, "Access denied", "is its URL right?")
    assert "wr0ng-geheim" not in done.stdout + done.stderr
    assert "build" not in done.stderr
    assert not list((tmp_path / "runs").rglob("*"))


def test_a_server_of_ones_own_is_used_and_left_as_it_was(site, server):
    """With --mysql-url nothing is started; the users are there, and stay."""
    with mysql.server(site, server.url, count=COUNT) as database:
        assert database.running is None
        assert database.title == server.title
        assert mysql.seed_users(database, count=COUNT) == 0
    assert mysql.seed_users(server, count=COUNT) == 0


def test_only_the_very_email_is_found(sql):
    """Neither another case nor a blank at the end gets somebody's record."""
    email = rows.users(count=COUNT)[0].email
    query = "select count(*) from users where email = %s"
    assert [sql(query, (text,))[0][0] for text in (email, email.upper(), f"{email} ", "%")] == [1, 0, 0, 0]


@pytest.mark.parametrize("prepared", [False, True])
def test_selects_are_counted(server, prepared):
    """Seven SELECTs are seven, prepared or not; the lab's own questions are none."""
    with mysql.connection(server) as link:
        cursor = link.cursor(prepared=prepared)
        cursor.execute("select %s", (1,))  # the first one has the driver ask for a setting
        cursor.fetchall()
        before = counters.counted(server)[counters.QUERIES]
        for user in rows.users(count=7):
            cursor.execute("select age from users where email = %s", (user.email,))
            assert cursor.fetchone()[0] == user.age
        assert counters.counted(server)[counters.QUERIES] - before == 7


def test_users_that_are_in_use_are_kept_so_and_may_be_read_and_written(server, sql):
    """Nobody can change what the table is meanwhile, which is what MariaDB's threads would spin for; rows they can."""
    changed = "set statement lock_wait_timeout = 1 for alter table users alter age set default 1"
    email = rows.users(count=COUNT)[0].email
    with mysql.users_in_use(server):
        with pytest.raises(LabError, match="Lock wait timeout"):
            sql(changed)
        sql("update users set age = 7 where email = %s", (email,))
        assert sql("select age from users where email = %s", (email,)) == [(7,)]
    sql(changed)


def test_a_server_of_ones_own_is_left_to_itself(server, sql):
    """Whoever started it knows what changes there."""
    with mysql.users_in_use(replace(server, running=None)):
        sql("set statement lock_wait_timeout = 1 for alter table users alter age set default 1")


@pytest.mark.thorough
def test_a_run_has_its_users_in_use(site):
    """From when its database is up until it ends."""
    plan = planning.make_plan(find_scenario("jwt"), Options(), HERE)
    own = replace(site, folder=site.folder / "run")
    with (
        running_backends(plan, own, Endpoints(), {}) as backing,
        pytest.raises(LabError, match="Lock wait timeout"),
        mysql.connection(backing.databases["mysql"]) as link,
    ):
        link.cursor().execute("set statement lock_wait_timeout = 1 for alter table users alter age set default 1")


def test_the_server_admits_a_thousand_connections(server, sql):
    """The published loads' pools fit."""
    assert int(sql("show variables like 'max_connections'")[0][1]) >= 1000


def test_the_password_is_nowhere_to_be_seen(site, server):
    """Not on the command line, not in the log, not in what Python prints; and only this user is let in."""
    assert server.password not in " ".join(psutil.Process(server.running.pid).cmdline())
    assert server.password not in (site.logs / "mysql.log").read_text()
    assert server.password not in repr(server)
    assert server.password not in json.dumps(server.as_json())
    for user, password in (("root", ""), ("lab", ""), ("lab", "wrong")):
        with (
            pytest.raises(LabError, match="denied"),
            mysql.connection(replace(server, user=user, password=password)),
        ):
            pass


def test_it_listens_on_loopback_only(server):
    """Nobody else on the network reaches it."""
    listening = psutil.Process(server.running.pid).net_connections("tcp")
    assert {c.laddr.ip for c in listening if c.status == psutil.CONN_LISTEN} == {"127.0.0.1"}


def test_two_labs_at_once_have_a_server_each(site, server):
    """Runs share the seeded data, and no file: what one writes, the other does not see."""
    with mysql.server(replace(site, folder=site.folder / "second"), count=COUNT) as second:
        with mysql.connection(second) as link:
            link.cursor().execute("drop table users")
        assert mysql.seed_users(server, count=COUNT) == 0
    assert not (site.folder / "second" / "mysql").exists()
    with mysql.server(replace(site, folder=site.folder / "third"), count=COUNT) as third:
        assert mysql.seed_users(third, count=COUNT) == 0


@pytest.mark.parametrize("is_link", [False, True])
def test_a_folder_that_is_there_already_is_not_taken_for_a_copy_of_the_data(site, server, tmp_path, is_link):
    """It is somebody's, whatever its name: nothing is put there, and it is not removed."""
    own = replace(site, folder=tmp_path / "data")
    own.folder.mkdir()
    kept = tmp_path / "kept" if is_link else own.folder / "mysql"
    kept.mkdir()
    (kept / "photo").write_text("mine")
    if is_link:
        (own.folder / "mysql").symlink_to(kept)
    with pytest.raises(LabError, match="where there is something"), mysql.server(own, count=COUNT):
        pass
    assert [path.name for path in (own.folder / "mysql").iterdir()] == ["photo"]


def test_a_port_that_somebody_takes_meanwhile_is_given_up(runtime, tmp_path):
    """The server that finds its port taken is started again on the next."""
    (first,) = free_ports(1)
    program = "import socket, sys, time; s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); time.sleep(60)"

    def launch(port):
        return Launch("server", (sys.executable, "-c", program, str(port)), tmp_path / "log")

    with server_on_free_port(runtime, launch, listens, [first]) as (_, taken):
        ports = [taken, *free_ports(1)]
        with server_on_free_port(runtime, launch, listens, ports) as (running, port):
            assert port == ports[1]
            assert not running.exit_reason()
        with pytest.raises(LabError, match="taken"), server_on_free_port(runtime, launch, listens, [taken]):
            pass


def listens(running, port):
    """Whether that very process listens on a port."""
    if running.exit_reason():
        return False
    connections = psutil.Process(running.pid).net_connections("tcp")
    return any(c.laddr.port == port and c.status == psutil.CONN_LISTEN for c in connections)


@contextmanager
def another_lab(call, **values):
    """A Python process that seeds, in a process of its own, so that it can be killed at it."""
    program = (
        "import json, sys; from pathlib import Path; from lab.system.databases import Site, mysql\n"
        "from lab.runtimes.process import ProcessRuntime\n"
        "values = json.loads(sys.argv[1])\n"
        f"{call}\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    lab = subprocess.Popen([sys.executable, "-c", program, json.dumps(values)], env=environment)
    with lab:
        try:
            yield lab
        finally:
            lab.kill()


def kill_when(lab, condition):
    """Kill a process with SIGKILL as soon as something is so."""

    def is_so():
        assert lab.poll() is None, "it ended before it could be killed"
        return condition()

    await_that(is_so, every_s=0.01)
    lab.kill()
    lab.wait()


@pytest.mark.thorough
def test_a_lab_killed_while_it_seeds_leaves_nothing_half_done(runtime, jdk, tmp_path, site):
    """SIGKILL when part of the rows are on disk: the next lab starts afresh, and nothing of the first one is left."""
    own = site_in(tmp_path, runtime, jdk)
    call = "with ProcessRuntime() as r, mysql.server(Site(r, *(Path(v) for v in values['paths']))): raise SystemExit(9)"
    paths = [str(path) for path in (own.folder, own.logs, own.java_home, own.seeds)]
    with another_lab(call, paths=paths) as lab:
        kill_when(lab, lambda: any(f.stat().st_size > 1 << 20 for f in own.seeds.glob(".mysql-*/data/lab/users.ibd")))
    await_that(lambda: not list(own.seeds.glob(".mysql-*")))  # by the guard
    with mysql.server(own) as database:
        assert mysql.seed_users(database) == 0
    left = sorted(path.name for path in own.seeds.iterdir())
    assert left == [".mariadb.lock", "mariadb-11.4.5", "mysql-1-100000-11.4.5"]
    assert not [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in " ".join(p.info["cmdline"] or ())]


@pytest.mark.thorough
def test_a_lab_killed_while_it_seeds_somebodys_server_is_made_good(server, sql):
    """SIGKILL half way on a server that goes on: the next lab notices, and completes the users."""
    sql("drop table users")
    call = "mysql.seed_users(mysql.parse(values['url']))"
    with (
        HoldingRelay((server.host, server.port), after=2_000_000) as relay,
        another_lab(call, url=server.via(relay.port).url) as lab,
    ):
        kill_when(lab, lambda: relay.holds.is_set() and found_rows(server) > 0)
    assert 0 < found_rows(server) < rows.USERS
    assert mysql.seed_users(server) == rows.USERS
    assert mysql.seed_users(server) == 0


def found_rows(server):
    """How many users there are."""
    found = user_sums(server)
    return found.rows if found else 0


def test_labs_that_seed_one_server_at_once_wait_for_one_another(server, sql):
    """Three labs at once on an empty server: afterwards the users are there once."""
    sql("drop table users")
    with ExitStack() as stack:
        call = "mysql.seed_users(mysql.parse(values['url']), count=values['count'])"
        labs = [stack.enter_context(another_lab(call, url=server.url, count=COUNT)) for _ in range(3)]
        assert [lab.wait(PATIENCE_S) for lab in labs] == [0, 0, 0]
    assert mysql.seed_users(server, count=COUNT) == 0


def test_a_server_that_is_not_there_is_a_lab_error(site):
    """It says where it looked, and not with which password."""
    url = "mysql://me:geheim@127.0.0.1:1"
    with pytest.raises(LabError, match=r"127\.0\.0\.1:1") as caught, mysql.server(site, url):
        pass
    assert "geheim" not in f"{caught.value} {caught.value.next_step} {caught.value.detail}"


@pytest.mark.parametrize(
    "url", ["", "mysql://", "mysql://host", "mysql://u@host/other", "postgres://u@host", "mysql://u@host:x"]
)
def test_a_url_that_will_not_do_is_refused(url):
    """Another protocol, no user, or a database that is not the lab's."""
    with pytest.raises(LabError):
        mysql.parse(url)


@pytest.mark.parametrize("option", ["ssl-mode=VERIFY_IDENTITY", "sslMode=REQUIRED", "connect_timeout=1", "tls"])
def test_an_option_that_not_every_driver_gets_is_refused_by_its_name(option):
    """It would be honoured by the lab's own connection at best, and by no variant's."""
    with pytest.raises(LabError, match=option.partition("=")[0]):
        mysql.parse(f"mysql://me:geheim@db.example.net/lab?{option}")
    assert mysql.parse("mysql://me@db.example.net/lab?ssl-mode=preferred").host == "db.example.net"


@pytest.mark.parametrize("password", ["ge/heim", "ge?heim", "ge#heim", "1/heim", "1?heim", "x@y/heim", "x@y?heim"])
def test_a_password_that_takes_the_url_apart_is_not_repeated(password):
    """What is said of a URL that will not do holds no part of it."""
    with pytest.raises(LabError) as caught:
        mysql.parse(f"mysql://me:{password}@db.example.net/lab")
    assert "heim" not in f"{caught.value} {caught.value.next_step} {caught.value.detail}"


def test_what_the_server_is_told_at_its_start_is_nobody_elses(monkeypatch):
    """The file with the password is its owner's only, from before its first byte on."""
    modes = []

    def written(path, text):
        modes.append(path.stat().st_mode & 0o777 if path.exists() else None)
        with path.open("w") as file:
            return file.write(text)

    def cut_short(*_, **__):
        raise LabError("enough is seen")

    monkeypatch.setattr(Path, "write_text", written)
    monkeypatch.setattr(mariadb, "server_on_free_port", cut_short)
    with pytest.raises(LabError, match="enough"), mariadb._running(Site(None, Path(), Path()), Path(), Path()):
        pass
    assert modes == [0o600]


def test_a_url_is_read_and_written_alike():
    """Passwords may hold anything."""
    database = mysql.parse("mysql://me:p%40ss%2F%3A@db.example.net:3307/lab")
    assert (database.user, database.password, database.port) == ("me", "p@ss/:", 3307)
    assert database.url == "mysql://me:p%40ss%2F%3A@db.example.net:3307/lab"
    assert database.via(5).url == "mysql://me:p%40ss%2F%3A@127.0.0.1:5/lab"


def test_a_table_that_is_described_is_restored_with_its_index(server, sql):
    """Whatever requests made of it, and found by the index, of which the rows are in the order of their keys."""
    described = Table("things", {"id": "text", "kind": "text"}, (("b", "1"), ("a", "2")), index=("kind",))
    assert [tables.restore(server, described) for _ in range(2)] == [2, 0]
    sql("update things set kind = '3' where id = 'b'")
    assert tables.restore(server, described) == 2
    assert sql("select id, kind from things order by id") == [("a", "2"), ("b", "1")]
    assert [row[4] for row in sql("show index from things")] == ["id", "kind"]
    sql("drop table things")
