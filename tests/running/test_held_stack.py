"""What is left of a stack that was up, and the lines that tell people how to go on."""

from __future__ import annotations

import json
import os
import resource
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from filelock import FileLock
from orphans import orphaned
from patience import PATIENCE_S, await_that

from lab.cli import as_typed
from lab.cli.commands.up import up
from lab.errors import LabError
from lab.experiments import scenarios
from lab.running import held_stack, prerequisites
from lab.runtimes import process_id, up_state
from lab.runtimes.checkout import ROOT
from lab.storage.run_folder import RunFolder
from lab.system.backends import NO_ENDPOINTS


def test_up_has_no_option_that_it_would_ignore(typed):
    """A stack that is up keeps no data, so there is no folder to choose."""
    done = typed("up", "delay", "--data", "elsewhere")
    assert done.returncode == 2
    assert "--data" in done.stderr


def test_a_stack_needs_nothing_for_users_that_nobody_asked_for(plan, monkeypatch):
    """Such as their files: `up` has no option for fewer of them."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (512, 512))

    def check_only(plan, invocation, users) -> None:
        prerequisites.check(plan, users, invocation)
        raise LabError("Nothing is missing.")

    monkeypatch.setattr(held_stack, "set_up", check_only)
    with pytest.raises(LabError, match=r"Nothing is missing\."):
        held_stack.hold(replace(plan, cells=plan.cells[:1]), "process", NO_ENDPOINTS)


def test_nothing_stays_of_a_stack_that_has_ended(plan, tmp_path, monkeypatch):
    """Its folder goes, the one of a stack that is coming up stays, whatever it says of its cells."""
    monkeypatch.setattr(up_state, "FOLDER", tmp_path)
    ended, coming, measured = (RunFolder.create(plan, [], {}, tmp_path) for _ in range(3))
    orphaned(ended)
    for cell in plan.cells:
        measured.begin(cell).keep("summary", {})
    held_stack.tidy()
    assert not ended.path.exists()
    assert coming.path.exists()
    assert measured.path.exists()


def test_what_only_has_the_name_of_a_stack_stays(plan, tmp_path, monkeypatch):
    """A folder is one by what is in it; and what a link leads to is somewhere else."""
    monkeypatch.setattr(up_state, "FOLDER", tmp_path / "up")
    photos, link = (up_state.FOLDER / f"2024010{day}T000000Z-photos" for day in (1, 2))
    photos.mkdir(parents=True)
    (photos / "run.json").write_text("{}")
    elsewhere = orphaned(RunFolder.create(plan, [], {}, tmp_path / "elsewhere"))
    link.symlink_to(elsewhere.path)
    held_stack.tidy()
    assert (photos / "run.json").exists()
    assert elsewhere.path.exists()


def test_of_two_that_start_a_stack_one_is_refused(plan, tmp_path, monkeypatch):
    """It says so, and leaves the other's state and log alone; later it is refused because that stack is up."""
    monkeypatch.setattr(up_state, "FOLDER", tmp_path)
    monkeypatch.setattr(up_state, "STATE", tmp_path / "up.json")
    monkeypatch.setattr(held_stack, "LOG", tmp_path / "up.log")
    (tmp_path / "up.log").write_text("the other's")
    with FileLock(tmp_path / "up.lock"), pytest.raises(LabError, match="Another 'up'"):
        held_stack.up(plan, "process", NO_ENDPOINTS)
    me = up_state.whose(os.getpid())
    for more, state in (({}, "is being started"), ({"url": "http://127.0.0.1:1"}, "is up already")):
        (tmp_path / "up.json").write_text(json.dumps({**me, "scenario": "delay", "variant": "mvc", **more}))
        with pytest.raises(LabError, match=state):
            held_stack.up(plan, "process", NO_ENDPOINTS)
    assert (tmp_path / "up.log").read_text() == "the other's"


def test_a_stack_whose_up_was_killed_is_found_by_the_next(plan, tmp_path):
    """It goes on starting by itself: another one beside it would be forgotten, and 'down' ends it."""
    script = f"""if True:
        import pathlib, sys
        from lab.running import held_stack
        from lab.runtimes import up_state
        from lab.spec.plan import Plan
        from lab.system.backends import NO_ENDPOINTS
        up_state.FOLDER = pathlib.Path({str(tmp_path)!r})
        up_state.STATE, held_stack.LOG = up_state.FOLDER / "up.json", up_state.FOLDER / "up.log"
        sys.executable = {str(tmp_path / "holder")!r}
        held_stack.up(Plan.from_json({plan.as_json()!r}), "process", NO_ENDPOINTS)
    """
    (tmp_path / "holder").write_text("#!/bin/sh\nexec sleep 100\n")
    (tmp_path / "holder").chmod(0o755)
    state = tmp_path / "up.json"
    with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT) as killed:
        await_that(state.exists)
        killed.kill()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(up_state, "FOLDER", tmp_path)
        patched.setattr(up_state, "STATE", state)
        with pytest.raises(LabError, match="is being started"):
            held_stack.up(plan, "process", NO_ENDPOINTS)
        holder = up_state.held()
        assert holder
        assert held_stack.down().startswith("delay with")
    assert not process_id.lives(holder["pid"], holder["born"])
    assert not state.exists()


def test_each_phase_of_the_start_is_told_as_it_ends(plan, tmp_path, monkeypatch):
    """While the stack is being started, and not only once it is up; in whole lines."""
    monkeypatch.setattr(up_state, "FOLDER", tmp_path)
    monkeypatch.setattr(up_state, "STATE", tmp_path / "up.json")
    monkeypatch.setattr(held_stack, "LOG", tmp_path / "up.log")
    # It ends by itself once somebody has been told of its first phase.
    program = "#!/bin/sh\nprintf '  build '; sleep 0.3; echo 'the services (0.3 s)'\n"
    program += (
        f"for _ in $(seq 300); do [ -e {tmp_path}/told ] && break; sleep 0.1; done\necho 'Java is missing'\nexit 2\n"
    )
    (tmp_path / "holder").write_text(program)
    (tmp_path / "holder").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "holder"))
    told = []

    def say(line):
        told.append(line)
        (tmp_path / "told").touch()

    with pytest.raises(LabError, match="did not come up") as failed:
        held_stack.up(plan, "process", NO_ENDPOINTS, say)
    assert told[0] == "  build the services (0.3 s)"
    assert "Java is missing" in failed.value.detail


def test_down_removes_the_folder_of_the_stack(plan, tmp_path, monkeypatch):
    """Also where its process had to be killed."""
    monkeypatch.setattr(up_state, "FOLDER", tmp_path)
    monkeypatch.setattr(up_state, "STATE", tmp_path / "up.json")
    run = RunFolder.create(plan, [], {}, tmp_path)
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as holder:
        owner = up_state.whose(holder.pid)
        (run.path / "run.json").write_text(json.dumps({**run.read(), "owner": owner}))
        (tmp_path / "up.json").write_text(json.dumps({**owner, "scenario": "delay", "variant": "mvc"}))
        assert held_stack.down() == "delay with mvc"
    assert not run.path.exists()
    with pytest.raises(LabError):
        held_stack.down()


# Holds a stack, and does not end when it is asked to; what ends its stack after it takes its time for that.
STUBBORN = """if True:
    import signal, subprocess, sys, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    ends_the_stack = [sys.executable, "-c", "import sys, time; sys.stdin.read(); time.sleep(1)"]
    guard = subprocess.Popen(ends_the_stack, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    print(guard.pid, flush=True)
    time.sleep(100)
"""


def test_down_returns_when_everything_of_a_stack_that_had_to_be_killed_has_ended(plan, tmp_path, monkeypatch):
    """Until then it is not down: its ports are taken, and its folder is written into."""
    monkeypatch.setattr(up_state, "STATE", tmp_path / "up.json")
    monkeypatch.setattr(up_state, "FOLDER", tmp_path)
    monkeypatch.setattr(held_stack, "DOWN_WITHIN_S", 0.1)
    with subprocess.Popen([sys.executable, "-c", STUBBORN], stdout=subprocess.PIPE, text=True) as holder:
        guard = int(holder.stdout.readline())
        born = process_id.birth(guard)
        about = {"scenario": "delay", "variant": "mvc", **up_state.whose(holder.pid)}
        up_state.STATE.write_text(json.dumps(about))
        assert held_stack.down() == "delay with mvc"
        assert not process_id.lives(guard, born)
        assert holder.wait() == -signal.SIGKILL


def test_up_that_is_interrupted_leaves_nothing_of_a_stack_that_had_to_be_killed(plan, tmp_path, monkeypatch):
    """It waits as 'down' does, and then says what has happened to itself."""
    monkeypatch.setattr(up_state, "FOLDER", tmp_path)
    monkeypatch.setattr(up_state, "STATE", tmp_path / "up.json")
    monkeypatch.setattr(held_stack, "LOG", tmp_path / "up.log")
    monkeypatch.setattr(held_stack, "DOWN_WITHIN_S", 0.1)
    (tmp_path / "holder").write_text(f"#!{sys.executable}\n{STUBBORN}")
    (tmp_path / "holder").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "holder"))
    born = {}

    def interrupt():
        if pid := (tmp_path / "up.log").read_text().strip():
            born[int(pid)] = process_id.birth(int(pid))
            raise KeyboardInterrupt

    monkeypatch.setattr(up_state, "running", interrupt)
    with pytest.raises(KeyboardInterrupt):
        held_stack.up(plan, "process", NO_ENDPOINTS)
    ((guard, then),) = born.items()
    assert not process_id.lives(guard, then)


def test_a_copy_of_a_checkout_ends_no_stack_of_the_first(tmp_path, monkeypatch):
    """The record of the stack was copied with everything else, and the process that it names lives."""
    monkeypatch.setattr(up_state, "STATE", tmp_path / "up.json")
    about = {"scenario": "delay", "variant": "mvc", "url": "http://127.0.0.1:1"}
    up_state.STATE.write_text(json.dumps({**about, **up_state.whose(os.getpid()), "checkout": "0123456789ab"}))
    with pytest.raises(LabError, match="No stack is up"):
        held_stack.down()
    assert up_state.running() is None


def test_machines_that_share_a_disk_leave_each_others_stacks_alone(tmp_path):
    """Each has a folder for its own; what the other's process ids mean nobody can tell here."""
    asks = "import pathlib, sys; from lab.runtimes import identity; identity.MACHINE = pathlib.Path(sys.argv[1])"
    asks += "; from lab.runtimes import up_state; print(up_state.FOLDER)"
    folders = set()
    for name in ("one", "another"):
        (tmp_path / name).write_text(name)
        command = [sys.executable, "-c", asks, str(tmp_path / name)]
        folders.add(subprocess.check_output(command, cwd=ROOT, text=True).strip())
    assert len(folders) == 2
    assert {Path(folder).parent for folder in folders} == {ROOT / "data" / "up"}


def test_a_command_is_named_in_the_form_that_works(tmp_path):
    """What is printed can be typed as it is: it starts the same program, without an activated environment."""
    program = tmp_path / "my program.py"
    program.write_text("import sys; from lab.cli.as_typed import typed; print(typed('down', *sys.argv[2:]))")
    words, environment = [sys.executable, str(program), "up", "a b"], {"PATH": os.defpath}
    for _ in range(2):
        said = subprocess.run(
            words, capture_output=True, text=True, check=True, env=environment, timeout=PATIENCE_S
        ).stdout
        words = shlex.split(said)
    assert words == [sys.executable, str(program), "down", "a b"]


def test_a_program_off_the_path_is_named_by_its_own(monkeypatch):
    """Its name is enough in an activated environment only."""
    beside = Path(sys.executable).with_name("locust")
    monkeypatch.setenv("PATH", os.defpath)
    assert shlex.split(as_typed.program("locust")) == [str(beside)]
    monkeypatch.setenv("PATH", str(beside.parent))
    assert as_typed.program("locust") == "locust"


def test_the_example_request_sends_a_token_that_no_list_of_processes_shows(monkeypatch, tmp_path):
    """Nor the history of the shell: only its file has it."""
    file = tmp_path / "my tokens"
    file.write_text("t0ken\nanother")
    monkeypatch.setattr(held_stack.tokens, "token_file", lambda: file)
    command = held_stack.example_request({"token": True, "url": "http://127.0.0.1:8080", "path": "/me"})
    header, _, sends = command.partition(" | ")
    assert "t0ken" not in command
    assert subprocess.check_output(["sh", "-c", header], text=True) == "Authorization: Bearer t0ken"
    assert sends == "curl -s -H @- http://127.0.0.1:8080/me"


@pytest.mark.parametrize("name", [name for name, each in scenarios().items() if each.entry == "service"])
def test_the_example_request_is_one_that_curl_can_ask(name):
    """It changes nothing, and names something that is there."""
    first = scenarios()[name].requests[0]
    assert first.method == "GET"
    assert "KEY" not in first.path


def test_plain_locust_takes_the_parameters_that_its_users_play():
    """Those that services are told with 'up' would have no effect here."""
    command = [sys.executable, "-m", "locust", "-f", "locustfiles/chain.py", "--headless", "-H", "http://127.0.0.1:1"]
    refused = subprocess.run(
        [*command, "--delay-ms", "5", "--b-dead", "10:10"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert refused.returncode == 2
    assert "unrecognized arguments: --b-dead" in refused.stderr


def test_what_up_starts_by_itself_is_a_variant_of_the_scenario():
    """Not all scenarios have one of the same name."""
    started = {name: command.params[0].default for name, command in up.commands.items()}
    assert all(default in {each.name for each in scenarios()[name].variants} for name, default in started.items())
    assert started["delay"] == "mvc"
