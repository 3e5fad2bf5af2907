"""Programs as variants: each execution is a sample, and one that fails in any way makes its cell invalid by name."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

import psutil
import pytest
from machines import HERE
from orphans import orphaned
from patience import PATIENCE_S, await_that

from lab.analysis import pairing
from lab.analysis.verdict import INVALID
from lab.errors import ComponentError, LabError
from lab.reporting.html.rerun_command import asked
from lab.reporting.run_view import Run
from lab.running import conductor
from lab.running import programs as programs_measured
from lab.running.invocation import Invocation
from lab.running.progress import Reporter
from lab.running.resumption import resume
from lab.runtimes.checkout import ROOT
from lab.spec import planning
from lab.spec.options import Options
from lab.spec.scenario import Parameter, Rehearsal, Scenario
from lab.spec.system import Variant
from lab.spec.workload import Burst
from lab.storage import run_folder
from lab.system.backends import Backends

SUM = Variant("sum", "", "Python's sum", command=("{python}", "-c", "print(sum(range({count})))"), output=r"\d+")


def programs(*variants: Variant) -> Scenario:
    """A scenario that compares programs."""
    return Scenario(
        name="sum",
        question="How long does a program take to add up?",
        requests=(),
        contract=(),
        parameters=(Parameter("count", 1000, 1, 10**9, "", "numbers to add up"),),
        variants=variants,
        load=Burst(users=1, ramp_s=0.0, loops=5),
        rehearsal=Rehearsal(requests=0, rounds=1),
        sweep={"count": (1000, 100_000)},
    )


def says(name: str, code: str, output: str = "") -> Variant:
    """A variant that executes Python code."""
    return Variant(name, "", name, command=("{python}", "-c", code), output=output)


@pytest.fixture
def measured(tmp_path):
    """A function that measures programs, and returns the finished run."""

    def measure(*variants: Variant, **options) -> Run:
        plan = planning.make_plan(programs(*variants), Options(**{"seed": 1, **options}), HERE)
        return Run(conductor.conduct(plan, Invocation(["lab.run"], tmp_path, Reporter())))

    return measure


def test_every_execution_is_a_sample(measured):
    """What is right is counted, timed, and charged with the CPU that it used; the warm-up is not."""
    burns = "import time\nwhile time.process_time() < 0.3: pass\nprint(499500)"
    run = measured(SUM, says("burns", burns), loops=3)
    quick, burning = run.cells
    assert INVALID not in [row["verdict"] for row in run.cells]
    assert (quick["requests"], burning["requests"]) == (3, 3)
    assert burning["p50_s"] >= 0.3
    assert quick["max_s"] < burning["p50_s"]
    assert burning["cpu_s_per_1000_requests"] == pytest.approx(300, rel=0.5)
    samples = run.folder.cells()[1].samples()
    assert sorted(samples["warm_up"]) == [0, 0, 0, 1]
    assert set(samples["status"]) == {0}


def test_a_duration_ends_the_executions(measured):
    """As in a closed loop, one that is under way then comes to its end."""
    # So long that one has ended before it is over, however long an interpreter takes to start.
    run = measured(says("sleeps", "import time; time.sleep(0.7)"), duration=2.5)
    (row,) = run.cells
    assert row["verdict"] != INVALID
    samples = run.folder.cells()[0].measured().sort_values("sent_us")
    *before, last = (samples["sent_us"] + samples["latency_us"]) / 1e6
    assert row["requests"] == len(samples)
    assert before
    assert max(before) < 2.5 <= last


def test_a_parameter_is_swept(measured):
    """It is filled into the command line, and what is printed is compared for each value by itself."""
    loop = "n = 0\nfor i in range({count}): n += i\nprint(n)"
    run = measured(SUM, says("loop", loop), parameters={"count": [10, 1000]}, loops=2)
    assert INVALID not in [row["verdict"] for row in run.cells]
    assert {(row["variant"], row["at"]) for row in run.cells} == {
        ("sum", 10),
        ("sum", 1000),
        ("loop", 10),
        ("loop", 1000),
    }
    printed = [folder.read("contract") for folder in run.folder.cells()]
    assert {name: answer["body_begin"] for answers in printed for name, answer in answers.items()} == {
        "output at count 10": "45",
        "output at count 1,000": "499500",
    }


BAD = {
    "one that the file it names does not have": (
        Variant("bad", "", "bad", command=("{folder}/no-such-program",)),
        "bad cannot be executed: {folder}/no-such-program: No such file or directory.",
    ),
    "one that fails": (
        says("bad", "import sys; print(499500); sys.exit(3)"),
        "bad exited with status 3 (round 1 of its warm-up).",
    ),
    "one that is killed": (
        says("bad", "import os; os.kill(os.getpid(), 9)"),
        "bad was killed by SIGKILL (round 1 of its warm-up).",
    ),
    "one that hangs": (
        says("bad", "import time; time.sleep(600)"),
        "bad did not end within 2 s and was killed (round 1 of its warm-up).",
    ),
    "one that waits for input that never comes": (
        says("bad", "import sys; sys.exit(len(sys.stdin.read()) + 4)"),
        "bad exited with status 4 (round 1 of its warm-up).",
    ),
    "one that prints what it must not": (
        says("bad", "print('many')", output=r"\d+"),
        r"bad printed 'many\n', which is not what it must print: \d+ (round 1 of its warm-up).",
    ),
    "one that prints something else than the others": (
        says("bad", "print(7)", output=r"\d+"),
        r"bad and sum are not equal: output: status 0, 1 line, '7' here, status 0, 1 line, '499500' there.",
    ),
    "one that leaves a process behind": (
        says("bad", "import subprocess; subprocess.Popen(['sleep', '8'], start_new_session=True); print(499500)"),
        "bad ended, but left a process behind that still has its output open (round 1 of its warm-up).",
    ),
    "one that prints without end": (
        says("bad", "while True: print('x' * 10_000_000)"),
        "bad printed more than 64 MiB and was killed (round 1 of its warm-up).",
    ),
}


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.thorough)])  # with each of them drawn first
@pytest.mark.parametrize("name", BAD)
def test_a_program_that_does_not_do_its_work_is_invalid_by_name(measured, name, seed):
    """And the others are measured all the same, whichever is measured first."""
    variant, sentence = BAD[name]
    run = measured(SUM, variant, loops=1, timeout=2.0 if "within 2 s" in sentence else PATIENCE_S, seed=seed)
    good, bad = run.cells
    assert good["verdict"] != INVALID
    assert bad["verdict"] == INVALID
    assert sentence in " ".join(bad["reasons"])
    assert run.folder.state() == "complete"


def test_where_the_first_program_fails_the_next_one_is_the_reference(measured):
    """Two that agree are compared, and a third that differs is named."""
    gone, other = says("gone", "raise SystemExit(3)"), says("other", "print(499500)")
    run = measured(gone, SUM, other, says("bad", "print(7)"), loops=1, seed=1)
    assert [row["verdict"] == INVALID for row in run.cells] == [True, False, False, True]
    assert "bad and sum are not equal" in " ".join(run.cells[3]["reasons"])


def test_every_execution_must_print_what_the_first_one_printed(measured, tmp_path):
    """One that finds its own result from before, and does nothing, is not fast."""
    code = f"from pathlib import Path; done = Path({str(tmp_path / 'done')!r})\n"
    code += "done.exists() or print(499500)\ndone.touch()"
    (row,) = measured(says("caches", code)).cells
    assert row["verdict"] == INVALID
    assert "caches printed '', but '499500' before" in " ".join(row["reasons"])


def test_programs_of_another_scope_may_print_something_else(measured):
    """And are compared with nobody: they were faster or slower at another task."""
    half = replace(says("half", "print(7)"), scope="half of it")
    run = measured(SUM, half, says("loop", "print(499500)"), loops=2, repeat=2)
    assert INVALID not in [row["verdict"] for row in run.cells]
    assert run.scopes() == ["half works on something else (half of it): its times are not to be compared."]
    found = pairing.compare(str(run.path), None, pairing.Terms(allow_suspect=True), run.path.parent)
    assert {(row.a, row.b) for row in found.rows} == {("sum", "loop")}
    assert "half works on something else (half of it), and is not compared." in found.notes
    with pytest.raises(LabError, match=r"scope is half of it and that of the scenario\."):
        pairing.compare(f"{run.path}:half", f"{run.path}:sum", pairing.Terms(), run.path.parent)


def test_two_of_one_scope_must_print_the_same(measured):
    """Whatever that scope is."""
    run = measured(SUM, *(replace(says(f"says{n}", f"print({n})"), scope="some") for n in (7, 8)), loops=1)
    assert [row["verdict"] == INVALID for row in run.cells].count(True) == 1
    assert "are not equal" in " ".join(reason for row in run.cells for reason in row["reasons"])


def test_a_failure_amid_the_load_is_a_sample_and_ends_it(measured, tmp_path):
    """The samples before it are kept, and nothing is said to be fast because it failed."""
    marks = tmp_path / "marks"
    code = f"from pathlib import Path; n = len(list(Path({str(tmp_path)!r}).glob('mark*')));"
    code += f"Path({str(marks)!r} + str(n)).touch(); assert n < 3, 'tired'"
    run = measured(says("tires", code))
    (row,) = run.cells
    assert row["verdict"] == INVALID
    assert "tires exited with status 1 (execution 3): AssertionError: tired" in row["reasons"]
    assert "Only 3 of 5 planned executions were begun." in row["reasons"]
    assert (row["requests"], row["errors"]) == (3, {"exit status": 1})


MISSING = Variant("missing", "", "missing", command=("no-such-program",))


def test_a_program_that_is_not_installed_is_left_out(tmp_path, capsys):
    """Where nobody asked for it: the run is of the others, and says which one is not there."""
    plan = planning.make_plan(programs(SUM, MISSING), Options(seed=1, loops=1), HERE)
    run = Run(conductor.conduct(plan, Invocation(["lab.run"], tmp_path, Reporter())))
    assert [row["variant"] for row in run.cells] == ["sum"]
    said = "missing needs the program no-such-program, which is not installed here: it is left out"
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("known", "asked", "step"),
    [
        (
            (SUM, MISSING, replace(SUM, name="other")),
            ["sum", "missing"],
            "Install it, or leave it out: python -m lab run sum --variants sum",
        ),
        ((MISSING,), [], "Install it."),
    ],
)
def test_a_program_that_was_asked_for_and_is_not_installed_is_refused(tmp_path, known, asked, step):
    """So is a run of which nothing would be left; and no folder of a run is made."""
    plan = planning.make_plan(programs(*known), Options(variants=asked), HERE)
    with pytest.raises(LabError, match="missing needs the program no-such-program, which is not") as refused:
        conductor.conduct(plan, Invocation(["lab.run"], tmp_path, Reporter()))
    assert refused.value.next_step == step
    assert not list(tmp_path.iterdir())


def test_what_an_execution_used_is_recorded(measured):
    """Memory of the program and not of the lab, its threads, what it read, and its CPU time, as a row of each."""
    code = "import threading, time; held = b'x' * 150_000_000; open('/dev/zero', 'rb').read(20_000_000);"
    code += "[threading.Thread(target=time.sleep, args=(0.3,)).start() for _ in range(6)]; print(499500)"
    quiet, greedy = measured(SUM, says("greedy", code), loops=2).cells
    assert greedy["most_threads"] == 7
    assert quiet["most_threads"] == 1
    assert greedy["peak_bytes"] > 150_000_000
    assert quiet["peak_bytes"] < 60_000_000
    assert 20_000_000 < greedy["read_bytes"] < 40_000_000
    assert greedy["read_bytes_per_s"] == pytest.approx(greedy["read_bytes"] / greedy["mean_s"])
    assert 0 < quiet["execution_cpu_s"] < 5


KILLED = """
import sys
sys.path.insert(0, {here!r})
from pathlib import Path
from test_programs import *
plan = planning.make_plan(programs(SUM, says("waits", {code!r})), Options(seed=2), HERE)
conductor.conduct(plan, Invocation(["lab.run"], Path({data!r}), Reporter()))
"""
WAITS = """
import os, time
from pathlib import Path
Path({pid!r}).write_text(str(os.getpid()))
while not Path({there!r}).exists(): time.sleep(0.1)
print(499500)
"""


def test_a_killed_run_leaves_nothing_and_is_resumed(tmp_path):
    """SIGKILL of the lab ends the program too; then the cell that was measured stays, and the other is measured."""
    pid, there, data = tmp_path / "pid", tmp_path / "there", tmp_path / "runs"
    code = KILLED.format(
        here=str(Path(__file__).parent), code=WAITS.format(pid=str(pid), there=str(there)), data=str(data)
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    lab = subprocess.Popen([sys.executable, "-c", code], env=environment, stderr=subprocess.PIPE, text=True)
    try:
        await_that(lambda: (pid.exists() and pid.read_text()) or lab.poll() is not None)
        assert lab.poll() is None
        program = psutil.Process(int(pid.read_text()))
    finally:
        lab.kill()
        lab.communicate(timeout=PATIENCE_S)
    await_that(lambda: not program.is_running())
    (folder,) = run_folder.all_runs(data)
    before = folder.cells()[0].samples()
    there.touch()
    again = Run(resume(folder, Invocation(["lab.resume"], data, Reporter()), anyway=True))
    assert INVALID not in [row["verdict"] for row in again.cells]
    assert again.folder.cells()[0].samples().equals(before)


def test_what_a_refuted_program_printed_is_no_reference_for_a_resumed_run(measured, tmp_path):
    """It is kept, so that one can see what differs; who is measured after it is compared with the first one anew."""
    run = measured(SUM, says("bad", "print(7)"), loops=1)
    first, refuted = run.folder.cells()
    assert refuted.read("contract")["output"]["body_begin"] == "7"
    shutil.rmtree(first.path)
    resumed = Run(resume(orphaned(run.folder), Invocation(["lab.resume"], tmp_path, Reporter()), anyway=True))
    assert [row["verdict"] == INVALID for row in resumed.cells] == [False, True]


def test_a_resumed_run_is_judged_by_objectives_as_any_other(measured, tmp_path, typed):
    """Its exit status says whether they are met."""
    run = measured(SUM, loops=1)
    shutil.rmtree(run.folder.cells()[0].path)
    words = ("--anyway", "--allow-suspect", "--slo", "max<1ms", "--data", str(tmp_path))
    done = typed("resume", orphaned(run.folder).name, *words)
    assert done.returncode == 1, done.stderr
    assert "max<1ms" in done.stderr


def nothing_starts(*_: object) -> NoReturn:
    """As where the lab's guard is killed again and again."""
    raise LabError("The lab's guard process was killed twice.")


def nothing_forks(*_: object) -> NoReturn:
    """As where there are too many processes."""
    raise BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")


def nothing_tells(*_: object) -> NoReturn:
    """As where the Docker engine ends, and with it what it has started."""
    raise ComponentError("The Docker engine does not answer.")


@pytest.mark.parametrize(
    ("fails", "error"),
    [
        ((programs_measured, "execute", nothing_starts), "The lab's guard process was killed twice."),
        ((programs_measured, "execute", nothing_forks), "Resource temporarily unavailable"),
        ((Backends, "exit_reasons", nothing_tells), "The Docker engine does not answer."),
    ],
)
def test_an_error_that_is_no_programs_interrupts_its_cell(tmp_path, monkeypatch, fails, error):
    """It is measured again when the run is resumed, and the folder of the run says what happened."""
    plan = planning.make_plan(programs(says("fails", "raise SystemExit(3)")), Options(seed=1, loops=1), HERE)
    with monkeypatch.context() as patch:
        patch.setattr(*fails)
        with pytest.raises(Exception, match=error):
            conductor.conduct(plan, Invocation(["lab.run"], tmp_path, Reporter()))
    (folder,) = run_folder.all_runs(tmp_path)
    assert folder.missing() == list(plan.cells)
    assert error in (folder.path / "error.txt").read_text()
    resume(orphaned(folder), Invocation(["lab.resume"], tmp_path, Reporter()), anyway=True)
    assert folder.state() == "complete"


TYPED = """
import sys
sys.path.insert(0, {here!r})
from test_programs import *
from lab import experiments
experiments.scenarios()["sum"] = programs(SUM, says("other", "print(sum(range({{count}})))"))
from lab.cli.main import main
main()
"""


def test_a_program_is_an_experiment_from_the_command_line_on(tmp_path):
    """It is run, swept, shown, compared, reported and exported, with its own words."""

    def typed(*arguments: str) -> subprocess.CompletedProcess[str]:
        code = TYPED.format(here=str(Path(__file__).parent))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")]), "COLUMNS": "200"}
        words = [sys.executable, "-c", code, *arguments]
        return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    data = ("--data", str(tmp_path))
    done = typed("run", "sum", "--loops", "3", "--repeat", "2", "--allow-suspect", *data)
    assert done.returncode == 0, done.stderr + done.stdout
    assert "executions" in done.stdout
    assert "users" not in done.stdout.split("┏")[1]
    compared = typed("compare", *data)
    assert "CPU" in compared.stdout
    assert "throughput" not in compared.stdout
    assert typed("report", *data).returncode == 0
    assert typed("sweep", "sum", "--loops", "1", "--allow-suspect", *data).returncode == 0
    refused = typed("up", "sum")
    assert refused.returncode == 2
    assert "sum compares programs" in refused.stderr


def test_a_run_from_python_is_repeated_by_the_command_in_its_report(measured):
    """With the options that programs have, and no others."""
    run = measured(SUM, loops=2, repeat=2)
    assert planning.make_plan(programs(SUM), Options(**asked(run.plan)), HERE) == run.plan
    assert asked(run.plan) == {"loops": 2, "repeat": 2, "seed": 1}


def test_what_is_executed_is_part_of_the_conditions(measured, tmp_path):
    """A program, or a file that it is given, must be the same when a run is resumed."""
    script = tmp_path / "add.py"
    script.write_text("print(499500)")
    run = measured(Variant("script", "", "a script", command=("{python}", str(script))), loops=1)
    assert run.folder.environment()["sources"][str(script)] == hashlib.sha256(b"print(499500)").hexdigest()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"users": [4]}, "executed by one user at a time"),
        ({"rate": 10.0}, "have no --rate"),
        ({"threads": 10}, "have no --threads"),
        ({"workers": 2}, "have no --workers"),
        ({"limits": "tuned"}, "have no --limits"),
        ({"parameters": {"count": 0}}, "--count 0 is out of range"),
    ],
)
def test_options_of_services_are_refused(options, problem):
    """In one sentence that names the option."""
    with pytest.raises(LabError, match=problem):
        planning.make_plan(programs(SUM), Options(**options), HERE)


def test_containers_are_refused(tmp_path):
    """Programs are executed where the lab is."""
    plan = planning.make_plan(programs(SUM), Options(), HERE)
    with pytest.raises(LabError, match="Programs are executed on this machine"):
        conductor.conduct(plan, Invocation(["lab.run"], tmp_path, Reporter(), runtime="docker"))
    assert not list(tmp_path.iterdir())


def test_a_scenario_compares_programs_or_services():
    """Not one with the other; and programs one at a time."""
    with pytest.raises(ValueError, match="the output of sum is no regular expression"):
        programs(replace(SUM, output="("))
    with pytest.raises(ValueError, match="its load has one user and no ramp"):
        replace(programs(SUM), load=Burst(users=4))
    with pytest.raises(ValueError, match="compares program with service"):
        programs(SUM, replace(SUM, name="mvc", command=(), module="mvc"))
