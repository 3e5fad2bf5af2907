"""``lab.run`` from Python: what it refuses, before anything is started or written."""

from __future__ import annotations

import pytest

import lab
from lab.errors import LabError


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
