"""``lab.run`` from Python: what it refuses, before anything is started or written."""

from __future__ import annotations

import pytest

import lab
from lab.errors import LabError

URL = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("scenario", "own", "said"),
    [
        ("delay", {"mysql_url": "mysql://me@127.0.0.1:1"}, "delay uses no MySQL. Leave mysql_url out."),
        ("jwt", {"mongo_url": "mongodb://127.0.0.1:1"}, "jwt uses no MongoDB. Leave mongo_url out."),
        ("jwt", {"mysql_url": "127.0.0.1"}, "mysql://"),
    ],
)
def test_own_servers_that_cannot_be_used_are_refused(tmp_path, scenario, own, said):
    """A server of a kind that the scenario does not use would be ignored, and a wrong address found late."""
    with pytest.raises(LabError) as refused:
        lab.run(scenario, **own, data=tmp_path / "runs", quiet=True)
    assert said in str(refused.value)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("join", "said"),
    [("", "quiet=True does not show the one that is drawn. Choose one, join="), ("guess", "fewer than 20 characters")],
)
@pytest.mark.parametrize("measure", [lab.run, lab.load])
def test_workers_elsewhere_join_with_a_token_that_is_given_where_none_is_shown(tmp_path, measure, join, said):
    """They would be waited for in vain; a token that is given is checked as on the command line."""
    what = "delay" if measure is lab.run else "http://127.0.0.1:1"
    elsewhere = {"users": 5, "workers": 0, "remote_workers": 1, "bind": "127.0.0.1"}
    with pytest.raises(LabError) as refused:
        measure(what, **elsewhere, join=join, data=tmp_path / "runs", quiet=True)
    assert said in str(refused.value)
    assert not list((tmp_path / "runs").glob("*"))


def test_a_token_is_passed_on_to_the_run_and_not_stored(tmp_path, monkeypatch):
    """With it, a run without progress is possible."""
    passed = []

    def conduct(plan, invocation):
        passed.append((plan.bind, invocation.endpoints.join, invocation.command))
        raise LabError("Far enough.")

    monkeypatch.setattr("lab.running.conductor.conduct", conduct)
    for measure, what in ((lab.run, "delay"), (lab.load, "http://127.0.0.1:1")):
        with pytest.raises(LabError, match="Far enough"):
            measure(what, 5, workers=0, remote_workers=1, bind="127.0.0.1", join="t" * 20, data=tmp_path, quiet=True)
    assert passed == [("127.0.0.1:5557", "t" * 20, command) for command in (["lab.run", "delay"], ["lab.load"])]


@pytest.mark.parametrize(
    ("name", "value"),
    [("scale", 0.1), ("pace", 2.0), ("repeat", 3), ("interleave", "windows"), ("seed", 0), ("runtime", "docker")],
)
def test_what_has_no_effect_on_runs_that_are_judged_is_refused(name, value):
    """As on the command line: an option that does nothing would pass for one that did."""
    with pytest.raises(LabError) as refused:
        lab.reproduce("delay", "delay-sweep", **{name: value})
    assert str(refused.value) == f"--{name} has no effect with --from. Leave one of them out."


def test_a_reproduction_from_python_takes_turns_and_a_runtime(tmp_path, monkeypatch):
    """As one from the command line does; a way that there is not is refused."""
    passed = []

    def carry_out(wanted, scale, invocation, **how):
        passed.append(({part.options.interleave for part in wanted.parts}, invocation.runtime, how["repeat"]))

    monkeypatch.setattr("lab.experiments.reproduction.results.carry_out", carry_out)
    for interleave in ("cells", "windows"):
        lab.reproduce("jwt", scale=1, repeat=2, interleave=interleave, runtime="docker", data=tmp_path, quiet=True)
    assert passed == [({"cells"}, "docker", 2), ({"windows"}, "docker", 2)]
    with pytest.raises(LabError, match="'turns'"):
        lab.reproduce("jwt", interleave="turns", data=tmp_path)


def test_progress_is_shown_on_standard_error(capsys):
    """So that what a script prints can be piped, as from the command line."""
    lab._invocation(["lab.run"], None, quiet=False).reporter.say("under way")
    lab._invocation(["lab.run"], None, quiet=True).reporter.say("not shown")
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "under way\n")


def test_a_folder_of_ones_home_is_meant(tmp_path, monkeypatch):
    """Named as in a shell, which would have written it out."""
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "my runs").mkdir()
    with pytest.raises(LabError) as refused:
        lab.open_run("20261121T101500Z-delay", data="~/my runs")
    assert str(tmp_path / "my runs") in str(refused.value)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: lab.load("http://127.0.0.1:1", headers={"accept": None}), "The header accept is no text. Write"),
        (lambda: lab.reproduce("delay", from_run=[]), "from_run names no run. Name one"),
    ],
)
def test_what_names_nothing_is_refused(ask, said):
    """Before anything is sent or measured."""
    with pytest.raises(LabError) as refused:
        ask()
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: lab.open_run(5), "5 is not a run. Write its name"),
        (lambda: lab.compare(5), "5 is not a run. Write its name"),
        (lambda: lab.compare("delay-sweep", [5]), "5 is not a run. Write its name"),
        (lambda: lab.compare([]), "A list of runs is empty."),
        (lambda: lab.compare("delay-sweep", margin="5%"), "A margin of '5%' is not possible. Name a share"),
        (lambda: lab.compare("delay-sweep", margin=True), "A margin of True is not possible. Name a share"),
        (lambda: lab.compare("delay-sweep", allow_suspect="no"), "allow_suspect 'no' is neither True nor False."),
        (lambda: lab.choose(5, example="delay-sweep", now=list), "5 is not a run. Write its name"),
        (lambda: lab.choose("run now", example="delay-sweep", now=5), "now=5 is not a function."),
        (lambda: lab.run("delay", 5, join=5), "join is not a text, but int."),
        (lambda: lab.run("jwt", 5, mysql_url=5), "mysql_url is not a text, but int."),
        (lambda: lab.run("document", 5, mongo_url=b"x"), "mongo_url is not a text, but bytes."),
        (lambda: lab.run("delay", 5, runtime="x"), "There is no runtime 'x'. There is: process,"),
        (lambda: lab.run("grep", runtime=5), "There is no runtime 5. There is: process,"),
        (lambda: lab.load(URL, 5, join=5), "join is not a text, but int."),
        (lambda: lab.load(URL, 5, headers=["a: b"]), "headers is not a dictionary."),
        (lambda: lab.load(URL, 5, locustfile=5), "locustfile 5 is not a path."),
        (lambda: lab.load(URL, 5, body=5, method="POST"), "--body is not a text, but int."),
        (lambda: lab.reproduce("delay", scale="x"), "--scale 'x' is not a number."),
        (lambda: lab.reproduce("delay", scale=0.1, repeat="x"), "--repeat 'x' is not a whole number."),
        (lambda: lab.reproduce("delay", 5), "5 is not a run. Write its name"),
        (lambda: lab.open_run("delay-sweep").windows_figure("foo"), "There is no figure 'foo'. There is: throughput,"),
        (lambda: lab.open_run("delay-sweep").outcomes_figure("foo"), "'foo' is none of the values of users in"),
        (lambda: lab.open_run("delay-sweep").panels(5), "5 is none of the values of users in delay-sweep."),
    ],
)
def test_an_argument_of_the_wrong_kind_is_refused_in_a_sentence(ask, said):
    """It is named at once: no error comes from deep inside."""
    with pytest.raises(LabError) as refused:
        ask()
    assert str(refused.value).startswith(said)
    assert refused.value.next_step


@pytest.mark.parametrize(
    "ask",
    [
        lambda data: lab.run("delay", 5, data=data, quiet=True),
        lambda data: lab.load(URL, 5, data=data, quiet=True),
        lambda data: lab.reproduce("delay", scale=0.1, data=data, quiet=True),
        lambda data: lab.reproduce("delay", "delay-sweep", data=data),
        lambda data: lab.open_run("delay-sweep", data),
        lambda data: lab.compare("delay-sweep", data=data),
        lambda data: lab.choose("latest", example="delay-sweep", now=list, data=data),
        lab.runs,
    ],
)
def test_what_is_no_folder_of_runs_is_refused(tmp_path, ask):
    """A number, what no path can have, and a file, which stays as it is."""
    (tmp_path / "mine").write_text("mine")
    wrong = {5: "data 5 is not a path.", "a\0b": "is not a path.", "~nobody-here/x": "is in the home of nobody"}
    wrong |= {"x" * 300: "is not possible: File name too long.", tmp_path / "mine": "data is a file:"}
    for data, said in wrong.items():
        with pytest.raises(LabError) as refused:
            ask(data)
        assert said in str(refused.value)
    assert (tmp_path / "mine").read_text() == "mine"


def test_a_run_may_stand_for_its_name():
    """Wherever one is asked for: what a function returned is passed to the next one."""
    run = lab.open_run("delay-sweep")
    assert lab.open_run(run).path == lab.open_run(run.path).path == run.path
    for of in (run, run.path, [run], [run.name]):
        assert [judged.name for judged in lab.reproduce("delay", of).runs] == [run.name]
    with pytest.raises(LabError, match="Run delay-sweep has no closed loop"):
        lab.run("delay", 5, rate="50%", capacity=run)
