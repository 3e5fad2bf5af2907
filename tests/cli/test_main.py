"""The commands as people type them: bad input gets one sentence and the next step, never a traceback."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner
from machines import HERE
from one_sentence import assert_refused
from orphans import orphaned
from patience import PATIENCE_S
from small_disk import fill, mounted

from lab.cli import console, main
from lab.cli.commands import maintenance
from lab.experiments import find_scenario
from lab.running import building, held_stack, prerequisites
from lab.runtimes import host, temporary
from lab.runtimes.checkout import ROOT
from lab.spec.options import Options
from lab.spec.planning import make_plan
from lab.storage.run_folder import EXAMPLES, RunFolder
from lab.system import build


def assert_said(done: subprocess.CompletedProcess[str], *named: str) -> None:
    """Exactly one sentence and one next step on standard error, and a status of 2."""
    assert_refused(done, *named)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("run delay --users 0", "--users 0"),
        ("run delay --users -1", "--users -1"),
        ("run delay --users abc", "abc"),
        ("run delay --users 1e9", "1e9"),
        ("run delay --users 100000000", "open files"),
        ("run delay --users 10,20", "sweep"),
        ("run delay --users 5 --ramp-up -1", "--ramp-up -1"),
        ("run delay --users 5 --ramp-up nan", "--ramp-up"),
        ("run delay --users 5 --loops 0", "--loops 0"),
        ("run delay --users 5 --loops 2 --duration 3", "exclude one another"),
        ("run delay --rate 10,20", "sweep"),
        ("run delay --delay-ms 100,200", "sweep"),
        ("sweep delay --users 1,2 --delay-ms 100,200", "--users and --delay-ms"),
        ("run delay --rate 10 --duration 3 --loops 2", "--rate and --loops"),
        ("run jwt --rate 10", "--rate needs --users"),
        ("run delay --users 5 --arrivals late", "late"),
        ("sweep delay --rate 10 --users 1,2", "one number of users"),
        ("run delay --users 5 --variants mcv", "did you mean mvc?"),
        ("run delay --users 5 --delay-ms 99999", "--delay-ms 99999"),
        ("run delay --users 5 --workers 6", "--workers 6"),
        ("up grep", "Name one of: chain, "),
        ("sweep large-data --operation update-one", "would vary --batch-size, which has no effect without --operation"),
        (
            "run large-data --operation get-one --way paged",
            "--way has no effect without --operation query-1k or get-all",
        ),
        ("run delay --usres 5", "--users"),
        ("run dealy", "did you mean delay?"),
        ("sweep dealy", "did you mean delay?"),
        ("sweep delay --users 5,5", "twice"),
        ("sweep delay --users 5,,6", "5,,6"),
        ("rnu delay", "did you mean run?"),
        ("show nothing-of-that-name", "nothing-of-that-name"),
        ("show --jsn", "--json"),
        ("run delay --users 5 --slo p99<1", "unit"),
        ("compare", "no run"),
        ("compare nothing:mvc", "nothing"),
        ("show", "no run"),
        ("list", "no run"),
        ("run", "needs a scenario: chain"),
        ("run delay --users 5 --variants=", "--variants"),
        (f"run delay --users {'9' * 400}", "--users is too large"),
    ],
)
def test_bad_input_gets_one_sentence_and_the_next_step(typed, tmp_path, arguments, named):
    """What cannot be done is said in one line, with what to do in a second one."""
    words = arguments.split()
    if (words[0] in ("run", "sweep", "show", "list") and len(words) > 1) or words[0] in ("show", "list", "compare"):
        words += ["--data", str(tmp_path / "runs")]
    assert_said(typed(*words), named)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    "arguments", ["", "run", "run delay", "sweep", "sweep delay", "load", "list", "show", "compare", "doctor", "clean"]
)
def test_every_command_has_its_help(typed, arguments):
    """--help explains, and is no error."""
    done = typed(*arguments.split(), "--help")
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout
    assert done.stderr == ""


def test_the_help_shows_its_examples_line_by_line(typed):
    """One command a line, and no trace of the mark that keeps them apart."""
    said = typed("--help").stdout
    assert "\\b" not in said
    assert "\b" not in said
    assert re.search(r"^  python -m lab run delay --users 4000 .*\n  python -m lab sweep delay ", said, re.MULTILINE)


@pytest.mark.parametrize("arguments", ["", "load", "compare", "reproduce"])
def test_the_help_teaches_with_examples_that_can_be_typed(typed, arguments):
    """Each example is a command as the lab reads it; what it is for stands two spaces or more behind it."""
    said = typed(*arguments.split(), "--help").stdout
    examples = [re.split(r" {2,}", line)[0] for line in re.findall(r"^ +(python -m lab .*)", said, re.MULTILINE)]
    assert len(examples) >= 3
    for example in examples:
        read(shlex.split(example))


def test_every_command_of_the_readme_can_be_typed():
    """No option that there is not, and no command."""
    examples = re.findall(r"^python -m lab .*", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert len(examples) > 20
    for example in examples:
        read(shlex.split(example, comments=True))


def test_every_run_of_the_readme_can_be_planned(tmp_path, monkeypatch):
    """What it says is not only an option that there is: the load can be had, on a machine that is large enough."""
    monkeypatch.setattr(prerequisites, "check", lambda *_: None)
    examples = re.findall(r"^python -m lab ((?:run|sweep) .*)", (ROOT / "README.md").read_text(), re.MULTILINE)
    planned = [each for each in examples if "RUN" not in each and "--bind" not in each]
    assert len(planned) >= 8
    for example in planned:
        words = [*shlex.split(example, comments=True), "--dry-run", "--data", str(tmp_path)]
        done = CliRunner().invoke(main.cli, words, catch_exceptions=False)
        assert done.exit_code == 0, f"{example}: {done.output}"


@pytest.mark.parametrize(
    ("scenario", "users", "listed"),
    [("delay", [1], "1 user"), ("delay", [1, 2], "1, 2 users"), ("delay", [2], "2 users"), ("grep", [], "–")],
)
def test_a_list_of_runs_counts_users_where_there_are_any(typed, tmp_path, scenario, users, listed):
    """A single one is one user, and programs have none."""
    RunFolder.create(make_plan(find_scenario(scenario), Options(users=users), HERE), [], {}, tmp_path)
    (line,) = (line for line in typed("list", "--data", str(tmp_path)).stdout.splitlines() if scenario in line)
    assert re.search(rf" {listed} +\d", line)
    assert ("user" in line) == (scenario == "delay")


@pytest.mark.parametrize("words", [["list", "--data", "data/example"], ["show", "delay-sweep", "--json"]])
def test_a_reader_that_has_left_is_no_error(words):
    """As ``head``: whether what is printed fits into a buffer, or not, nothing is said of it."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "lab", *words]
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False, timeout=60)
    os.close(writer)
    assert done.stderr == ""


def test_a_stack_takes_one_value_of_a_parameter(typed):
    """Its help does not offer several, which it would refuse."""
    assert "for a sweep" not in typed("up", "chain", "--help").stdout
    assert "--delay-ms MS  " in typed("up", "chain", "--help").stdout
    assert "--delay-ms MS[,…]" in typed("sweep", "chain", "--help").stdout


@pytest.mark.parametrize("scenario", ["chain", "document", "grep", "jwt", "migration"])
def test_lists_of_values_are_for_sweeps(typed, scenario):
    """A run refuses them, so that its help does not offer them."""
    assert not re.search(r"for a sweep|\[,", typed("run", scenario, "--help").stdout)
    assert re.search(r"for a sweep|\[,", typed("sweep", scenario, "--help").stdout)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("run delay", "or of an open loop. [default: 30 of an open loop]"),
        ("run document", "[default: 20 without a link; else 30 of an open loop]"),
        ("sweep jwt", "or of an open loop. [default: 20]"),
        ("load", "or of an open loop. [default: 20]"),
        ("run grep", "Length in seconds, instead of --loops. [default: 3]"),
        ("run delay", "Seconds after which a request counts as failed. [default: 120, or twice the time in which"),
        ("run operations", "[default: 60, or twice the time in which"),
        ("load", "Seconds after which a request counts as failed. [default: 120]"),
        ("run grep", "Seconds after which an execution counts as failed. [default: 120]"),
        ("load", "[default: 10; required with --rate and --ramp]"),
    ],
)
def test_the_help_says_how_long_a_load_and_its_requests_last(typed, command, said):
    """By default: of an open loop too, and where nothing is predicted."""
    assert said in re.sub(r"\s+", " ", typed(*command.split(), "--help").stdout)


@pytest.mark.parametrize("command", ["run delay", "sweep chain", "load", "up jwt", "compare", "reproduce"])
def test_every_number_of_an_option_has_a_default_that_is_said(command):
    """But for what is one of several ways to say the same, and for addresses."""
    group: click.Command = main.cli
    for word in command.split():
        assert isinstance(group, click.Group)
        group = group.commands[word]
    context = click.Context(group)
    without = {"--loops", "--requests", "--rate", "--capacity", "--ramp", "--bind", "--slo", "--name", "--header"}
    without |= {"--body", "--locustfile"}
    for option in group.params:
        if isinstance(option, click.Option) and not option.is_flag and not without.intersection(option.opts):
            assert "[default" in option.get_help_record(context)[1], option.opts


@pytest.mark.parametrize("before", [signal.SIG_IGN, signal.SIG_DFL])
def test_a_hangup_that_is_ignored_stays_so(typed, before):
    """As nohup has it; any other interrupts, as Ctrl-C does."""
    signal.signal(signal.SIGHUP, before)
    typed("--version")
    assert (signal.getsignal(signal.SIGHUP) == signal.SIG_IGN) == (before == signal.SIG_IGN)


@pytest.mark.parametrize("word", ["suspect", "invalid"])
def test_a_run_that_is_not_valid_names_what_explains_the_checks(capsys, word):
    """A file of the checkout."""
    with pytest.raises(SystemExit) as ended:
        console.exit_by_verdict(SimpleNamespace(verdict=word), allow_suspect=False)
    assert ended.value.code == console.NOT_VALID
    assert f"the reasons are above, and {console.CHECKS} explains each check." in " ".join(
        capsys.readouterr().err.split()
    )
    assert (ROOT / console.CHECKS).exists()


@pytest.mark.parametrize(
    ("command", "unit"),
    [
        ("run delay", "request"),
        ("run mongo-access", "session"),
        ("sweep operations", "session"),
        ("run migration", "session"),
        ("load", "request"),
    ],
)
def test_the_help_says_what_a_load_counts(typed, command, unit):
    """One request, or a session of several; never both."""
    said = re.sub(r"\s+", " ", typed(*command.split(), "--help").stdout)
    for counted in ("{}s of each user", "N {}s in total", "N {}s a second", "to TO {}s a second"):
        assert counted.format(unit) in said.replace(f"{unit.capitalize()}s of", f"{unit}s of")
    other = {"request": "sessions a second", "session": "requests a second"}[unit]
    assert other not in said


def test_programs_are_executed_and_have_no_users(typed):
    """Their loops are executions."""
    assert "Executions, one after the other." in re.sub(r"\s+", " ", typed("run", "grep", "--help").stdout)


def test_sessions_of_ones_own_locustfile_are_what_is_counted(typed):
    """So says the help of the option that names it."""
    assert "--rate and --ramp count its sessions" in re.sub(r"\s+", " ", typed("load", "--help").stdout)


@pytest.mark.parametrize(
    ("command", "pins"),
    [("run delay", True), ("sweep delay", True), ("load", True), ("up delay", False), ("run grep", False)],
)
def test_cores_are_pinned_where_an_option_says_so(typed, command, pins):
    """A stack that stays up has no generator beside it, and programs of several threads have all cores."""
    assert ("--no-pin" in typed(*command.split(), "--help").stdout) == pins


def read(words: list[str]) -> None:
    """Read a command line to its end, as far as nothing is done yet."""
    command: click.Command = main.cli
    del words[:3]
    while isinstance(command, click.Group):
        command = command.commands[words.pop(0)]
    with command.make_context("lab", words):
        pass


@pytest.mark.parametrize(
    ("arguments", "option", "where"),
    [
        ("run delay --users", "--users N", "run delay"),
        ("sweep delay --users", "--users N[,N…]", "sweep delay"),
        ("run delay --users 5 --delay-ms", "--delay-ms MS", "run delay"),
        ("sweep delay --users 5 --delay-ms", "--delay-ms MS[,…]", "sweep delay"),
        ("sweep jwt --arrivals", "--arrivals [even|poisson]", "sweep jwt"),
        ("load http://127.0.0.1:1/ --header", "--header 'NAME: VALUE'", "load"),
        ("report -o", "-o FILE", "report"),
        ("reproduce delay --scale", "--scale X", "reproduce"),
    ],
)
def test_an_option_without_its_value_is_named_with_what_it_takes(typed, arguments, option, where):
    """One sentence, how it is written, and the help of the very command."""
    done = typed(*arguments.split())
    name = option.split()[0]
    assert_said(done, f"error: {name} needs a value.", f"Write {option};", f" {where} --help' shows")


def test_a_flag_takes_no_value(typed):
    """What click says of it stays, with the help of the very command."""
    assert_said(typed("run", "delay", "--dry-run=5"), "does not take a value", " run delay --help'")


def test_the_version_is_said(typed):
    """--version names the lab and its version."""
    done = typed("--version")
    assert done.returncode == 0
    assert "lab" in done.stdout


def damaged(value: dict, damage: str) -> str:
    """The text of a run.json with one thing wrong."""
    plan = value["plan"]
    if damage == "half":
        return json.dumps(value)[:100]
    if damage == "no cells":
        plan["cells"] = []
    if damage == "unknown scenario":
        plan["scenario"] = "gone"
    if damage == "unknown variant":
        plan["cells"][0]["variant"] = "gone"
    if damage == "wrong type":
        plan["cells"][0]["load"]["users"] = "many"
    if damage == "other format":
        value["format"] = 99
    if damage == "no parameters":
        plan["parameters"] = {}
    return json.dumps(value)


DAMAGES = ["half", "no cells", "unknown scenario", "unknown variant", "wrong type", "other format", "no parameters"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_said_to_be(typed, plan, tmp_path, damage):
    """'show' names what is wrong with a run, and 'list' shows it beside the good ones."""
    good = RunFolder.create(plan, [], {}, tmp_path)
    bad = RunFolder.create(plan, [], {}, tmp_path)
    (bad.path / "run.json").write_text(damaged(bad.read(), damage))
    shown = typed("show", bad.name, "--data", str(tmp_path))
    listed = typed("list", "--data", str(tmp_path))
    assert listed.returncode == 0, listed.stderr
    assert good.name in listed.stdout
    assert bad.name in listed.stdout
    if damage == "no parameters":
        assert "Traceback" not in shown.stderr
    else:
        assert_said(shown, bad.name)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"requests": 3}'])
def test_a_damaged_summary_is_said_to_be(typed, plan, tmp_path, content):
    """A summary that cannot be read is named, in the table and for programs."""
    run = RunFolder.create(plan, [], {}, tmp_path)
    for cell in plan.cells:
        (run.begin(cell).path / "summary.json").write_text(content)
    assert_said(typed("show", "--data", str(tmp_path)), run.name)
    assert_said(typed("show", "--json", "--data", str(tmp_path)), run.name)
    assert typed("list", "--data", str(tmp_path)).returncode == 0


def test_an_incomplete_run_is_shown_as_such(typed, plan, tmp_path):
    """A run whose process is gone is incomplete, in the list, in the table and for programs."""
    run = orphaned(RunFolder.create(plan, [], {}, tmp_path))
    assert "incomplete" in typed("list", "--data", str(tmp_path)).stdout
    assert "incomplete" in typed("show", "--data", str(tmp_path)).stdout
    shown = json.loads(typed("show", run.name, "--json", "--data", str(tmp_path)).stdout)
    assert [cell["verdict"] for cell in shown["cells"]] == ["incomplete"] * 2


def unwritable(kind: str, tmp_path: Path) -> Path:
    """A data folder that cannot be written to. Permissions do not stop root, these do."""
    if kind == "a file":
        (tmp_path / "runs").write_text("mine")
        return tmp_path / "runs"
    if kind == "below a file":
        (tmp_path / "file").write_text("mine")
        return tmp_path / "file" / "runs"
    if kind == "/proc":
        if not Path("/proc/self").exists():
            pytest.skip("this system has no /proc")
        return Path("/proc/lab-runs")
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    if os.geteuid() == 0:
        pytest.skip("permissions do not stop root")
    return folder / "runs"


@pytest.mark.parametrize("kind", ["a file", "below a file", "/proc", "closed"])
def test_a_data_folder_that_cannot_be_written_is_said(typed, tmp_path, kind):
    """A run that has nowhere to go is refused before anything is started."""
    path = unwritable(kind, tmp_path)
    assert_said(typed("run", "delay", "--users", "5", "--data", str(path)), str(path))


@pytest.fixture
def any_number_of_users(monkeypatch):
    """A machine that has open files and ports for all of them."""
    monkeypatch.setattr(host, "raise_open_file_limit", lambda needed: needed)
    monkeypatch.setattr(host, "check_ports", lambda users, addresses: None)


ELSEWHERE = "--workers 0 --remote-workers 1 --bind"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("run delay --heap-mb 2000000000", "MiB of memory"),
        ("sweep delay --users 1,2 --heap-mb 2000000000", "MiB of memory"),
        ("run delay --join a-token-of-this-very-test", "Add --remote-workers N."),
        (f"run delay {ELSEWHERE} 127.0.0.1:45557 --join short", "could be guessed"),
        (f"run delay {ELSEWHERE} 192.0.2.1", "cannot listen at 192.0.2.1:5557"),
        ("run jwt --mysql-url 127.0.0.1", "--mysql-url needs a scheme, a user and a host."),
        ("run document --mongo-url mongodb://a,b", "--mongo-url needs a scheme and one host."),
        ("run grep --data {file}/runs", "Not a directory: {file}/runs."),
        ("load http://127.0.0.1:1 --join a-token-of-this-very-test", "Add --remote-workers N."),
        (f"load http://127.0.0.1:1 {ELSEWHERE} 127.0.0.1:45557 --join short", "could be guessed"),
        ("load http://127.0.0.1:1 --workers 500000 --users 500000 --ramp-up 1", "MiB of memory"),
        ("load http://127.0.0.1:1 --data {file}/runs", "Not a directory: {file}/runs."),
    ],
)
def test_a_dry_run_refuses_what_the_run_would(typed, tmp_path, any_number_of_users, arguments, named):
    """In the same words, as far as nothing has to be started; and nothing is written."""
    file = tmp_path / "file"
    file.write_text("mine")
    words = arguments.format(file=file).split()
    words += [] if "--data" in words else ["--data", str(tmp_path / "runs")]
    dry, wet = typed(*words, "--dry-run"), typed(*words)
    assert_said(dry, named.format(file=file))
    refusals = [done.stderr[done.stderr.index("error:") :] for done in (dry, wet)]
    assert refusals[0] == refusals[1]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.fixture
def full_disk(tmp_path):
    """A file system without a free byte."""
    with mounted(tmp_path / "full", "64k") as folder:
        fill(folder)
        yield folder


def test_a_full_disk_is_said(typed, full_disk):
    """A run that cannot write its first file is refused with the reason."""
    assert_said(typed("run", "delay", "--users", "5", "--data", str(full_disk)), "space")


@pytest.mark.parametrize(("java", "named"), [("/nowhere", "No JDK"), (None, "Maven")])
def test_a_missing_tool_is_said_before_anything_starts(typed, tmp_path, java, named):
    """Without a JDK or Maven, 'doctor' says what is missing, with what to do, and exits with 1."""
    script = (
        "import lab.system.jdk as s; s.JAVA_FOLDERS = (); from lab.cli.main import main; import sys; "
        "sys.argv = ['lab', 'doctor', '--data', sys.argv[1]]; main()"
    )
    environment = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": java or ""}
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=environment,
    )
    assert done.returncode == 1, done.stderr
    assert named in done.stdout
    assert "→" in done.stdout
    assert "none  Prometheus, for --prometheus" in done.stdout  # which alone makes nothing fail


# What a damaged run is known by: the facts in its environment.json.
OF_A_RUN = {"commit": "", "host": "", "packages": {}}


def test_clean_leaves_runs_that_go_on(typed, plan, tmp_path):
    """Incomplete and damaged runs are deleted when asked to, one that goes on is not."""
    going = RunFolder.create(plan, [], {}, tmp_path)
    dead = RunFolder.create(plan, [], OF_A_RUN, tmp_path)
    (dead.path / "run.json").write_text("{")
    script = (
        "import lab.system.build as s, sys, pathlib; s.SERVICES = pathlib.Path(sys.argv[1]); "
        "from lab.cli.main import main; "
        "sys.argv = ['lab', 'clean', '--incomplete', '--yes', '--data', sys.argv[1]]; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.returncode == 0, done.stderr
    assert going.path.exists()
    assert not dead.path.exists()


def test_clean_leaves_a_complete_run_whose_process_goes_on(typed, plan, tmp_path, no_builds):
    """The data of others that it measures together with it may be there; it goes once that process ends."""
    run = RunFolder.create(plan, [], {}, tmp_path / "runs")
    for cell in plan.cells:
        run.begin(cell).keep("summary", {})
    assert run.state() == "complete"
    words = ("clean", "--runs", "--yes", "--data", str(tmp_path / "runs"))
    assert f"{run.name} stays: the process that has made it goes on" in typed(*words).stdout
    assert run.path.exists()
    orphaned(run)
    assert "1 runs" in typed(*words).stdout
    assert not run.path.exists()


def test_clean_leaves_a_run_whose_folder_was_renamed(typed, plan, tmp_path, no_builds):
    """Somebody wants to keep it."""
    run = orphaned(RunFolder.create(plan, [], OF_A_RUN, tmp_path / "runs"))
    kept = run.path.rename(tmp_path / "runs" / "baseline")
    done = typed("clean", "--runs", "--yes", "--data", str(tmp_path / "runs"))
    assert "baseline stays: its folder was renamed" in done.stdout
    assert kept.exists()


def test_clean_leaves_what_another_user_has_made_even_if_it_is_damaged(plan, tmp_path, monkeypatch):
    """There is no mark to be read then, but the folder has an owner, and so has a link to it."""
    damaged = RunFolder.create(plan, [], OF_A_RUN, tmp_path / "theirs")
    (damaged.path / "run.json").write_text("{")
    (tmp_path / "mine").mkdir()
    link = RunFolder(tmp_path / "mine" / damaged.name)
    link.path.symlink_to(damaged.path)
    assert maintenance._why_kept(damaged) == maintenance._why_kept(link) == ""
    me = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: me + 1)
    assert maintenance._why_kept(damaged) == maintenance._why_kept(link) == "another user has made it"
    assert maintenance._delete_runs([damaged, link], ("damaged",)) == 0
    assert damaged.is_run


def test_clean_leaves_what_a_container_has_made(typed, plan, tmp_path, no_builds):
    """Its process ids mean nothing here, so that nobody can tell whether the run goes on."""
    run = RunFolder.create(plan, [], {}, tmp_path / "runs")
    value = run.read()
    value["owner"].update(pid=7, born=1.0, machine="another")
    (run.path / "run.json").write_text(json.dumps(value))
    assert run.state() == "incomplete"
    done = typed("clean", "--runs", "--yes", "--data", str(tmp_path / "runs"))
    assert f"{run.name} stays: another machine or container has made it" in done.stdout
    assert run.path.exists()


@pytest.mark.parametrize("option", ["--runs", "--incomplete"])
def test_clean_leaves_what_another_version_of_the_lab_has_made(typed, plan, tmp_path, no_builds, option):
    """It is not damaged, only not to be read here."""
    run = orphaned(RunFolder.create(plan, [], OF_A_RUN, tmp_path / "runs"))
    (run.path / "run.json").write_text(json.dumps({**run.read(), "format": 99}))
    done = typed("clean", option, "--yes", "--data", str(tmp_path / "runs"))
    assert f"{run.name} stays: another version of the lab has made it" in done.stdout
    assert run.path.exists()
    assert "of another format" in typed("list", "--data", str(tmp_path / "runs")).stdout


def test_clean_of_all_runs_and_of_some_is_refused(typed, plan, tmp_path, no_builds):
    """Nobody can tell which was meant, and what is deleted is gone."""
    run = orphaned(RunFolder.create(plan, [], OF_A_RUN, tmp_path / "runs"))
    done = typed("clean", "--runs", "--incomplete", "--yes", "--data", str(tmp_path / "runs"))
    assert done.returncode == 2
    assert "Leave one of them out." in done.stderr
    assert run.path.exists()


def test_clean_decides_right_before_it_deletes(plan, tmp_path, no_builds, monkeypatch):
    """A run that is resumed while another one is being deleted goes on, so it stays."""
    first, second = (orphaned(RunFolder.create(plan, [], {}, tmp_path / "runs")) for _ in range(2))

    def deleted(path):
        second.adopt({})
        shutil.rmtree(path)

    monkeypatch.setattr(maintenance, "shutil", SimpleNamespace(rmtree=deleted))
    assert maintenance._delete_runs([first, second], ("incomplete",)) == 1
    assert not first.path.exists()
    assert second.path.exists()


@pytest.fixture
def no_builds(tmp_path, monkeypatch):
    """Nothing is built here, so that ``clean`` takes nothing away that others need."""
    monkeypatch.setattr(build, "SERVICES", tmp_path / "services")
    build.SERVICES.mkdir()
    monkeypatch.setattr(building, "clean_containers", lambda: 0)


def test_clean_deletes_runs_by_their_content(typed, plan, tmp_path, no_builds):
    """A folder that only has a run's name stays, and another checkout's run; both are named."""
    mine, theirs = (orphaned(RunFolder.create(plan, [], {}, tmp_path / "runs")) for _ in range(2))
    value = theirs.read()
    value["owner"]["checkout"] = "another"
    (theirs.path / "run.json").write_text(json.dumps(value))
    photos = tmp_path / "runs" / "20240101T000000Z-photos"
    photos.mkdir()
    (photos / "run.json").write_text("{}")
    notes, damaged = photos.with_name("20240101T000001Z-notes"), photos.with_name("20240101T000002Z-delay")
    for folder, about in ((notes, "[]"), (damaged, json.dumps(host.environment()))):
        folder.mkdir()
        (folder / "run.json").write_text("[")
        (folder / "environment.json").write_text(about)
    done = typed("clean", "--runs", "--yes", "--data", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert not mine.path.exists()
    assert theirs.path.exists()
    assert f"{theirs.name} stays: another checkout" in done.stdout
    assert (photos / "run.json").exists()
    assert f"{photos.name} stays: it holds no run" in done.stdout
    assert notes.exists()
    assert not damaged.exists()
    assert "2 runs" in done.stdout


def test_clean_shows_the_runs_before_it_asks_and_reads_them_again_after(typed, plan, tmp_path, no_builds, monkeypatch):
    """One that is resumed while the question stands there goes on, so it stays."""
    first, second = (orphaned(RunFolder.create(plan, [], {}, tmp_path / "runs")) for _ in range(2))

    class Person(io.StringIO):
        def readline(self, *_):
            second.adopt({})
            return "y\n"

    monkeypatch.setattr(sys, "stdin", Person())
    done = typed("clean", "--runs", "--data", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    listed, _, _ = done.stdout.partition("Delete 2 runs")
    assert f"{first.name} incomplete\n{second.name} incomplete" in listed
    assert not first.path.exists()
    assert second.path.exists()
    assert "1 runs" in done.stdout


def test_clean_that_is_told_no_removes_nothing_at_all(typed, plan, tmp_path, no_builds, monkeypatch):
    """Neither the runs that it asks about, nor builds, nor anything that it would remove without a question."""
    run = orphaned(RunFolder.create(plan, [], {}, tmp_path / "runs"))
    jar = build.SERVICES / "mvc" / "target" / "mvc-exec.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"jar")
    for room, name in ((building, "clean_containers"), (held_stack, "tidy"), (temporary, "tidy")):
        monkeypatch.setattr(room, name, lambda: pytest.fail("something was removed"))
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\n"))
    done = typed("clean", "--runs", "--data", str(tmp_path / "runs"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("Nothing was removed.\n")
    assert jar.exists()
    assert run.path.exists()


def test_clean_that_nobody_answers_says_how_to_do_without(plan, tmp_path, no_builds):
    """As in a script: nothing is removed, and it is no interrupt."""
    run = orphaned(RunFolder.create(plan, [], {}, tmp_path / "runs"))
    done = subprocess.run(
        [sys.executable, "-m", "lab", "clean", "--runs", "--data", str(tmp_path / "runs")],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert_refused(done, "Nobody answered", "--yes")
    assert run.path.exists()


def test_no_figure_and_no_name_is_cut_off_on_a_narrow_terminal(typed, tmp_path, monkeypatch):
    """Rows wrap instead: a name is there to be copied, and a figure to be read."""
    monkeypatch.setattr(main, "FILE_WIDTH", 60)
    shutil.copytree(EXAMPLES / "delay-sweep", tmp_path / "20261121T101500Z-a-scenario-of-a-long-name")
    listed = typed("list", "--data", str(tmp_path))
    assert "20261121T101500Z-a-scenario-of-a-long-name" in listed.stdout
    compared = typed("compare", "delay-sweep", "--data", str(tmp_path))
    assert "95 % interval" in compared.stdout
    assert "…" not in listed.stdout + compared.stdout


def test_clean_says_that_a_folder_is_not_there(typed, tmp_path, no_builds):
    """Instead of having removed nothing from it."""
    assert_said(typed("clean", "--runs", "--yes", "--data", str(tmp_path / "nowhere")), "There is no folder", "nowhere")


def test_clean_leaves_what_a_run_in_another_folder_uses(typed, tmp_path, monkeypatch):
    """While a run goes on, wherever it keeps its data, its jars and containers stay, and that is said."""
    jar = tmp_path / "services" / "mvc" / "target" / "mvc-exec.jar"
    jar.parent.mkdir(parents=True)
    jar.write_bytes(b"jar")
    monkeypatch.setattr(build, "SERVICES", tmp_path / "services")
    with build.in_use():
        done = typed("clean", "--data", str(tmp_path))
        assert jar.exists()
    assert done.returncode == 0, done.stderr
    assert "a run of this checkout is in progress" in done.stdout
    with build.unused() as unused:
        assert unused
        assert build.clean() == 1
    assert not jar.exists()


@pytest.mark.parametrize("path", ["{there}", "{root}:{there}", "{there}:{root}"])
def test_modules_from_elsewhere_are_refused_by_name(command, tmp_path, path):
    """One of them could take the place of one that measures, and no run would tell."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('planted')")
    assert_said(command("list", PYTHONPATH=path.format(there=tmp_path, root=ROOT)), f"PYTHONPATH names {tmp_path}")


@pytest.mark.parametrize("path", [":{root}", "{root}:", "{root}::{root}"])
def test_an_empty_entry_of_the_path_is_the_working_directory(tmp_path, path):
    """So it is for Python, which would take any module from there."""
    (tmp_path / "numpy.py").write_text("raise SystemExit('planted')")
    for words in (["-m", "lab"], ["-c", "from lab.__main__ import main; main()"]):
        done = subprocess.run(
            [sys.executable, *words, "list"],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": path.format(root=ROOT)},
        )
        assert_said(done, f"PYTHONPATH names {tmp_path} by an empty entry")


@pytest.mark.parametrize("path", ["", "{root}:{root}/lab/..", ":{root}"])
def test_the_checkout_itself_may_be_on_the_path(command, path):
    """As it is for who works in several, and has one environment for them; or in it, so that an empty entry is it."""
    assert command("--version", PYTHONPATH=path.format(root=ROOT)).returncode == 0


def test_a_language_that_is_not_written_in_utf_8_is_refused_by_name(command):
    """What is read and written would be other bytes than elsewhere, or none at all."""
    done = command("list", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.returncode == 2
    assert "error: LC_ALL=C has texts written as" in done.stderr
    assert "LC_ALL=C.UTF-8 python -m lab" in done.stderr
    assert "Traceback" not in done.stderr


def test_output_that_is_not_written_in_utf_8_is_refused_by_name(command):
    """Before anything is measured whose table could not be printed."""
    done = command("list", PYTHONIOENCODING="latin-1")
    assert done.returncode == 2
    assert "error: PYTHONIOENCODING has output written as" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_backlog_beyond_the_kernels_cap_is_refused(typed, tmp_path, monkeypatch):
    """Before anything starts, with the line that raises the cap."""
    monkeypatch.setattr(host, "somaxconn", lambda: 128)
    arguments = ("run", "delay", "--users", "5", "--data", str(tmp_path / "runs"))
    assert_said(typed(*arguments, "--accept-count", "129"), "128", "sudo sysctl -w net.core.somaxconn=129")
    assert not (tmp_path / "runs").exists()


def test_a_disk_that_is_almost_full_is_said(typed, tmp_path, monkeypatch):
    """A run that will not have the space for its samples is refused before anything starts."""
    monkeypatch.setattr(host, "LEAST_FREE", 1 << 60)
    assert_said(typed("run", "delay", "--users", "5", "--data", str(tmp_path / "runs")), "disk space")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("worker --master a:b:c --join a-token-of-this-very-test", "'a:b:c' is not an address"),
        ("worker --master 127.0.0.1 --join short", "could be guessed"),
        ("list --data ~nobody-here/runs", "in the home of nobody"),
        ("export delay-sweep", "Missing option '--format'. Choose from: jtl, csv, hdr"),
        ("export delay-sweep --format csv -o /dev/full", "/dev/full"),
        ("reproduce delay --scale 0.1 --seed -1 --dry-run", "--seed -1"),
        ("reproduce delay --from delay-sweep --dry-run", "--dry-run has no effect with --from"),
        ("reproduce delay --from delay-sweep --repeat 3", "--repeat has no effect with --from"),
        ("reproduce --from delay-sweep", "--from is for one experiment"),
        ("reproduce --dry-run", "--dry-run is for one experiment"),
        ("reproduce delay --dry-run --json", "--dry-run prints no JSON"),
        ("reproduce delay --from delay-sweep --from delay-sweep", "settings of the same part"),
        pytest.param("report delay-sweep -o /no/such/folder/report.html", "--output", marks=pytest.mark.thorough),
    ],
)
def test_bad_input_of_other_commands_gets_one_sentence_too(typed, arguments, named):
    """What is said is plain text on one line, and names what was typed."""
    assert_said(typed(*arguments.split()), named)


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a file that takes nothing")
def test_a_file_that_takes_nothing_is_said(typed):
    """An error of the system that has no file name with it is no traceback either."""
    assert_said(typed("report", "delay-sweep", "-o", "/proc/self/mem"), "Input/output error.")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--heap-mb 2000000000", "--heap-mb"),
        ("--users 500000 --workers 500000", "--workers"),
        ("--users 100000000", "--users"),
    ],
)
def test_more_memory_than_there_is_is_refused(typed, tmp_path, any_number_of_users, arguments, named):
    """Before anything is built or started."""
    data = tmp_path / "runs"
    assert_said(typed("run", "delay", *arguments.split(), "--data", str(data)), "memory", named)
    assert not data.exists()


def test_more_users_than_a_balancer_has_ports_to_a_node_are_refused(typed, tmp_path, monkeypatch):
    """It has one address; users of their own have as many as they need."""
    monkeypatch.setattr(host, "raise_open_file_limit", lambda needed: needed)
    data = tmp_path / "runs"
    many = ("--users", "70000", "--nodes", "2", "--variants", "webflux", "--data", str(data))
    assert_said(typed("run", "delay", *many), "local ports", "ip_local_port_range")
    assert not data.exists()


def test_what_is_to_be_typed_next_works_as_it_is_printed(command, plan, tmp_path):
    """Without an activated environment, and where runs are not in the usual folder."""
    said = command("show", "nothing", "--data", str(tmp_path), PATH=os.defpath).stderr
    RunFolder.create(plan, [], {}, tmp_path)
    words = shlex.split(re.search(r"'(.*)' shows the runs there are", said)[1])
    assert words[-2:] == ["--data", str(tmp_path)]
    listed = subprocess.run(words, capture_output=True, text=True, env={"PATH": os.defpath}, timeout=60, check=False)
    assert listed.returncode == 0, listed.stderr
    assert "-delay" in listed.stdout


def test_a_run_that_is_a_link_is_cleaned_without_what_it_leads_to(typed, plan, tmp_path, monkeypatch):
    """Its folder may be on another disk, where it stays; a file that is named like a run is none."""
    monkeypatch.setattr(build, "SERVICES", tmp_path / "services")
    build.SERVICES.mkdir()
    elsewhere = RunFolder.create(plan, [], OF_A_RUN, tmp_path / "other").path
    (elsewhere / "run.json").write_text("{")
    runs = tmp_path / "runs"
    runs.mkdir()
    (runs / elsewhere.name).symlink_to(elsewhere)
    (runs / "20261121T101500Z-delay").write_text("a file")
    done = typed("clean", "--incomplete", "--yes", "--data", str(runs))
    assert done.returncode == 0, done.stderr
    assert "1 runs" in done.stdout
    assert [path.name for path in runs.iterdir()] == ["20261121T101500Z-delay"]
    assert (elsewhere / "run.json").exists()


def test_a_scenario_takes_the_address_of_its_own_database_only(typed):
    """The other one is refused, and not ignored."""
    refused = typed("run", "jwt", "--dry-run", "--mongo-url", "mongodb://127.0.0.1:1")
    assert refused.returncode == 2
    assert "--mongo-url" in refused.stderr
    assert typed("run", "jwt", "--dry-run", "--mysql-url", "mysql://me@127.0.0.1:1").returncode == 0
