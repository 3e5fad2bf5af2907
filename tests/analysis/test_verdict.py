"""Each reason to doubt a measurement is found, by name, and nothing else is doubted."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from lab.analysis import verdict
from lab.analysis.evidence import Evidence
from lab.analysis.verdict import INVALID, SUSPECT, VALID
from lab.formulas import stats
from lab.formulas.stats import Summary

GOOD = Summary(
    requests=1000,
    errors={},
    mean_s=2.0,
    p50_s=2.0,
    p90_s=2.0,
    p99_s=2.01,
    max_s=2.02,
    service_mean_s=2.0,
    service_p50_s=2.0,
    service_p99_s=2.01,
    throughput_rps=333.0,
    ok_throughput_rps=333.0,
    elapsed_s=3.0,
    in_system=666.0,
    late_p99_s=0.001,
)

# Rounds of a warm-up that cost much the same, while compilers were at work.
COMPILING = [{"cpu_us_per_request": cost_us, "jit_share": 0.11} for cost_us in (1100.0, 1000.0, 1050.0)]


def evidence(**changes) -> Evidence:
    """Everything as it should be, but for the changes."""
    good = {
        "planned": 1000,
        "begun": 1000,
        "finished": 1000,
        "whole": True,
        "served": 1000,
        "counted_in_system": 660.0,
        "worker_cpu": 0.2,
        "warm_up": [{"cpu_us_per_request": 100.0, "jit_share": 0.1}] * 3,
        "warm": True,
        "gc_share": 0.01,
        "stopped_s": 0.0,
        "limits_read": True,
        "foreign_cpu": 0.01,
        "ceiling_rps": 10_000.0,
    }
    return Evidence.from_fields(**{**good, **changes})


def judged(summary: Summary = GOOD, answered: int = 1000, **changes) -> tuple[str, str]:
    """The verdict's word, and its reasons as one text."""
    found = verdict.judge(evidence(**changes), summary, answered)
    return found.word, " ".join(found.reasons)


@pytest.mark.parametrize(
    ("counted", "each", "word"),
    [
        ({"mongo": 5000}, 5, VALID),
        ({"mongo": 5008}, 5, VALID),  # drivers and the lab's own counting ask too
        ({"mongo": 4999}, 5, INVALID),
        ({"mongo": 5011}, 5, INVALID),
        ({"backend": 999}, 1, INVALID),
        ({"backend": 1000}, 1, VALID),
        ({"backend": 1001}, 1, INVALID),  # nor does anybody else call a service of ours
        ({}, 1, VALID),  # nothing is behind it
        ({"mongo find": 1000, "mongo update": 1000}, 1, VALID),
        ({"mongo find": 1001}, 1, INVALID),  # nobody else executes commands
        ({"mongo getMore": 1}, 0, INVALID),
    ],
)
def test_every_component_must_have_counted_its_calls(counted, each, word):
    """As many as the right answers need, and no more than all requests make; by the component's name."""
    expected = dict.fromkeys(counted, (1000 * each, 1000 * each))
    found, reasons = judged(calls=counted, calls_expected=expected, called_services=("backend",))
    assert found == word
    assert (word == VALID) == all(f"{name} counted" not in reasons for name in counted)


@pytest.mark.parametrize(
    ("counted", "of_samples", "word"),
    [
        (1000, (1000, 1000), VALID),
        (999, (1000, 1000), INVALID),
        (1001, (1000, 1000), INVALID),
        (999, (998, 999), VALID),
    ],
)
def test_services_and_samples_must_agree_on_how_many_succeeded(counted, of_samples, word):
    """A service that counts a failure where the client was told of none, or the other way round, is not believed."""
    found, reasons = judged(succeeded=counted, succeeded_expected=of_samples)
    assert found == word
    assert (f"The service counted {counted:,} answers of status 2xx" in reasons) == (word == INVALID)


@pytest.mark.parametrize(("counted", "word"), [(2, INVALID), (3, VALID), (4, VALID), (5, INVALID), (None, INVALID)])
def test_services_and_samples_must_agree_on_each_endpoint(counted, word):
    """Totals may agree where two kinds of requests were taken for one another."""
    kind = "GET /things/{id} with status 200"
    counts = {"answers": {} if counted is None else {kind: counted}, "answers_expected": {kind: (3, 4)}}
    found, reasons = judged(served=1000, **counts)
    assert found == word
    said = f"The service counted {counted or 0} answers to {kind}, the samples hold 3 to 4."
    assert (said in reasons) == (word == INVALID)


def test_a_node_may_have_answered_what_the_balancer_refused():
    """It has counted a success of which the client was told by the balancer that there was none."""
    refused = replace(GOOD, errors={"HTTP 502": 1}, ok_throughput_rps=332.7)
    counts = {"served": 1000, "succeeded_expected": (999, 999)}
    assert judged(refused, succeeded=1000, refused=1, **counts)[0] == VALID
    assert "the samples hold 999." in judged(refused, succeeded=1000, **counts)[1]
    kind = "GET /a with status 200"
    by_kind = {"served": 1000, "answers": {kind: 1000}, "answers_expected": {kind: (999, 999)}}
    assert judged(refused, refused=1, **by_kind)[0] == VALID
    assert f"answers to {kind}, the samples hold 999." in judged(refused, **by_kind)[1]


def test_requests_without_an_answer_may_have_called_or_not():
    """A component is asked at least once for each answer, right or wrong, and at most once for each request."""
    one_lost = replace(GOOD, errors={"timeout": 1}, ok_throughput_rps=332.7)
    for count, word in ((998, INVALID), (999, VALID), (1000, VALID)):
        calls = {"calls": {"backend": count}, "calls_expected": {"backend": (999, 1000)}}
        assert judged(one_lost, 999, served=999, **calls)[0] == word


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, ""),
        ({"received": 999}, "The balancer counted 999 requests, the samples are 1,000."),
        ({"received": 1001}, "The balancer counted 1,001 requests, the samples are 1,000."),
        ({"received": 1001, "sent_again": 1}, ""),
        ({"nodes": {"node 1": 499, "node 2": 501}}, "node 1 counted 499 requests, the balancer passed on 500 answers"),
        ({"nodes": {"node 1": 499, "node 2": 501}}, "node 2 counted 501 requests, the balancer passed on 500 answers"),
    ],
)
def test_samples_balancer_and_nodes_must_agree(counts, said):
    """Exactly, where every request was answered: in all, and for each node."""
    agreed = {"received": 1000, "nodes": {"node 1": 500, "node 2": 500}, "passed_on": {"node 1": 500, "node 2": 500}}
    word, reasons = judged(**{**agreed, **counts})
    assert word == (INVALID if said else VALID)
    assert said in reasons


def test_a_balancer_that_did_not_count_leaves_a_check_that_was_not_made():
    """Which is not the same as one that passed; where there is one node there is nothing to check."""
    word, reasons = judged(nodes={"node 1": 500, "node 2": 500})
    assert word == SUSPECT
    assert "Not checked, as the balancer did not report it: the counts of requests by the balancer" in reasons


def test_what_the_balancer_answers_itself_no_node_must_have_counted():
    """Its refusals are answers in the samples, and failures; of a node that has ended nothing is known."""
    refused = replace(GOOD, errors={"HTTP 503": 1}, ok_throughput_rps=332.7)
    counts = {"received": 1000, "passed_on": {"node 1": 500, "node 2": 499}, "refused": 1}
    assert judged(refused, served=999, nodes={"node 1": 500, "node 2": 499}, **counts) == (VALID, "")
    assert judged(refused, served=998, nodes={"node 1": 500, "node 2": 498}, **counts)[0] == INVALID
    assert judged(refused, served=1000, nodes={"node 1": 500, "node 2": 500}, **counts)[0] == VALID  # it came too late
    assert judged(refused, served=1000, nodes={"node 1": 499, "node 2": 501}, **counts)[0] == INVALID
    ended = "The service node 2 was killed by SIGKILL during the measurement."
    counts = {**counts, "received": 1003, "nodes": {"node 1": 500}, "component_errors": (ended,)}
    assert judged(refused, served=None, **counts) == (INVALID, ended)


def test_a_timeout_may_have_been_answered_by_its_node_or_not():
    """By so many the counts of a node and of the balancer may differ, and by no more."""
    lost = replace(GOOD, errors={"timeout": 1}, ok_throughput_rps=332.7)
    counts = {"received": 1000, "passed_on": {"node 1": 500, "node 2": 499}}
    for of_node_2, word in ((499, VALID), (500, VALID), (501, INVALID)):
        nodes = {"node 1": 500, "node 2": of_node_2}
        assert judged(lost, 999, served=500 + min(of_node_2, 500), nodes=nodes, **counts)[0] == word


def test_a_request_that_the_scenario_does_not_have_is_invalid():
    """Nobody knows which calls it must have made."""
    assert judged(unknown_names=["/lsit"]) == (
        INVALID,
        "The scenario has no request '/lsit': in its locustfile, name= must be the name of one of its requests.",
    )


def test_one_component_that_does_not_count_takes_no_other_with_it():
    """What counted is judged, and the other is named as not checked."""
    counts = {"calls": {"mongo": 500}, "calls_expected": {"mongo": (1000, 1000), "program": (1000, 1000)}}
    assert judged(**counts) == (INVALID, "mongo counted 500 calls, but the requests made 1,000.")
    because = verdict.not_made(evidence(**counts))
    assert because["the count of calls by what is behind the service"] == "program did not count them"


def test_sessions_of_several_requests_are_counted_against_their_plan():
    """Then the plan says nothing of requests."""
    sessions = {"planned": None, "planned_sessions": 300}
    assert judged(**sessions, sessions=300) == (VALID, "")
    assert judged(**sessions, sessions=299) == (INVALID, "Only 299 of 300 planned sessions were begun.")


def test_a_good_measurement_is_valid_without_reasons():
    """Where nothing is wrong, nothing is said."""
    assert judged() == (VALID, "")


@pytest.mark.parametrize(
    "changes",
    [
        {"gc_share": None},
        {"planned": None, "begun": 1000},
        {"remote": True, "ceiling_rps": None},
        {"idle_s": 0.04},
        {"cpu_decides": False},
        {"cpu_share": 0.84},
        {"pausing_users": True, "parked_share": 0.02},
        {"pausing_users": True, "parked_share": None},
        {"worker_cpu": 0.7},
        {"worker_cpu": 0.35, "workers_cpu": 0.7},
        {"gc_share": 0.1},
        {"warm_up": [], "warm_up_before": [{"cpu_us_per_request": 100.0, "jit_share": 0.1}] * 3},
        {"warm_up": COMPILING, "request_cpu_us": 850.0},
        {"warm_up": COMPILING, "request_cpu_us": None},
        {"warm_up": [{"cpu_us_per_request": 1000.0, "jit_share": 0.1}] * 3, "request_cpu_us": 500.0},
        {"counted_in_system": 640.0},
        {"counted_in_system": 800.0, "awaiting_dispatch": 134.0},
        {"counted_in_system": 706.0, "counting_error": 40.0},
        {"stood_still_s": 0.5},
        {"paused": 0.02},
        {"paused": 0.1, "windows": 30},
        {"stalled_s": 0.7, "collecting_s": 0.75},
        {"stopped_s": 0.2},
        {"stopped_s": None},
    ],
)
def test_what_is_within_bounds_is_not_held_against_it(changes):
    """A value at its limit leaves a cell valid, and so does one that nothing essential rests on."""
    assert judged(**changes) == (VALID, "")


def test_a_pause_of_the_machine_is_not_called_a_late_generator():
    """What was due meanwhile is sent at its end: in an open loop a short pause adds much to the latencies."""
    late = replace(GOOD, mean_s=0.0058, p99_s=0.192, late_mean_s=0.0038, late_p99_s=0.19, busy_p99_s=0.19)
    paused = {"paused": 0.0195, "longest_pause_s": 0.39, "open_loop": True}
    word, reasons = judged(late, **paused)
    assert (word, "itself stood still for" in reasons) == (SUSPECT, True)
    assert "late" not in reasons
    assert "busy" not in reasons
    assert judged(late, open_loop=True)[0] == INVALID


@pytest.mark.parametrize(("added_s", "windows", "word"), [(0.015, 1, VALID), (0.03, 1, SUSPECT), (0.03, 20, VALID)])
def test_one_pause_of_the_machine_may_be_much_of_the_highest_percentiles(added_s, windows, word):
    """Of a load in one piece: in turns these times are left out."""
    one = {"paused": 0.01, "longest_pause_s": 0.3, "paused_in_p99_s": added_s, "windows": windows}
    found, reasons = judged(replace(GOOD, p99_s=1.0), **one)
    assert found == word
    assert ("300 ms at the most, which makes up 3% of p99: its host gave it no time" in reasons) == (word != VALID)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"served": None}, "as the service did not report it: the count of requests by the service"),
        ({"counted_in_system": None}, "as workers reported no counts: Little's law"),
        ({"worker_cpu": None}, "as the load was over within a second"),
        ({"warm_up": [], "warm": False}, "as there was no warm-up"),
        ({"ceiling_rps": None}, "as it is not known (python -m lab calibrate): the generator's ceiling"),
        ({"foreign_cpu": None}, "as nothing was read of the machine's CPU"),
        ({"limits_read": False}, "as the service was not asked for them"),
        ({"not_judged": "it lasted less than 9 s after its ramp"}, "as it lasted less than 9 s"),
        ({"detectable_change": 1.0, "course": "flat"}, "as its noise would have hidden any drift (measure longer)"),
        ({"calls_expected": {"mysql": (1000, 1000)}}, "as mysql did not count them"),
    ],
)
def test_what_was_not_checked_is_not_valid(changes, words):
    """An essential check that could not be made is a reason of its own, once for each cause."""
    found, reasons = judged(**changes)
    assert found == SUSPECT
    assert reasons.count("Not checked, ") == 1
    assert words in reasons


SPEED, PAUSES = "that the cores kept their speed", "that the machine ran without pauses"


@pytest.mark.parametrize(
    ("changes", "lacking"),
    [
        ({"paused": 0.0}, {}),
        ({"shared_cores": True}, dict.fromkeys((SPEED, PAUSES), "service and generator shared all cores")),
        (
            {"shared_cores": True, "entry": "attached"},
            dict.fromkeys((SPEED, PAUSES), "the generator had no cores of its own"),
        ),
        ({"shared_cores": True, "entry": "program"}, {PAUSES: "the program had all cores"}),
        ({}, {PAUSES: "pauses of the machine were not read"}),
    ],
)
def test_a_machine_that_nobody_watched_is_not_called_one_that_ran_on(changes, lacking):
    """Where cores are shared neither their speed nor pauses are read: that is told, and is no reason for doubt."""
    found = evidence(**changes)
    assert {name: why for name, why in verdict.not_made(found).items() if name in (SPEED, PAUSES)} == lacking
    assert verdict.not_made(found, essential=True) == {}
    assert verdict.judge(found, GOOD, 1000).word == VALID


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"foreign_cores": {"service": 0.0}, "unread_cores": ["generator"]},
            "nothing was read of the cores of generator",
        ),
        ({"unstamped": 11}, "this system does not say when packets arrived"),
    ],
)
def test_what_nobody_could_read_is_not_called_valid(changes, why):
    """Cores whose programs nobody saw, and latencies that may hold the generator's own delay."""
    word, reasons = judged(**changes)
    assert word == SUSPECT
    assert reasons.startswith(f"Not checked, as {why}")
    assert judged(foreign_cores={"service": 0.0, "generator": 0.0}, unstamped=10)[0] == VALID


def test_speed_that_no_load_was_long_enough_to_judge_is_not_called_kept():
    """The reason is that of the steadiness that could not be judged either."""
    short = "it lasted less than 9 s after its ramp"
    assert verdict.not_made(evidence(not_judged=short, paused=0.0))[SPEED] == short


def test_what_was_not_checked_since_cores_were_shared_is_one_sentence():
    """As a reader sees it."""
    said = verdict.not_checked(verdict.not_made(evidence(shared_cores=True)).items())
    assert said == [f"Not checked, as service and generator shared all cores: {SPEED}, {PAUSES}."]


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        (
            {"shared_cores": True, "beside": {"mysql": 0.4}},
            "that it did not wait for what shares the generator's cores",
            "service and generator shared all cores",
        ),
        (
            {"remote": True, "ceiling_rps": None},
            "the ceiling of remote workers",
            "it was not measured on their machines",
        ),
        (
            {"pausing_users": True},
            "that users were not idle",
            "users had sessions or pauses, and a number of requests ended it",
        ),
        (
            {"pausing_users": True, "windows": 30},
            "that users were not idle",
            "users had sessions or pauses, and variants took turns",
        ),
        (
            {"has_idle_time": True, "idle_s": None},
            "that users were not idle",
            "it was too short to count how many were under way",
        ),
        (
            {"beside": {"mysql": 0.4}, "crowded": None},
            "that it did not wait for what shares the generator's cores",
            "their CPU was read too few times (measure longer)",
        ),
        (
            {"course": "flat", "slowed": {"service": 0.0}, "foreign_cores": {"service": 0.0, "generator": 0.0}},
            "that the cores kept their speed",
            "the speed of those of the generator was not read",
        ),
        (
            {"over_tls": True},
            "the ceiling of requests over TLS",
            "the generator's ceiling was measured without it",
        ),
        (
            {"open_loop": True, "planned": None, "planned_sessions": 100, "sessions": 100},
            "that the later requests of sessions were sent when due",
            "in an open loop only the first of a session is planned",
        ),
    ],
)
def test_what_a_valid_measurement_may_lack_is_named(changes, name, why):
    """With its reason, and changes no verdict."""
    assert verdict.not_made(evidence(**changes))[name] == why
    assert name not in verdict.not_made(evidence())
    assert judged(**changes) == (VALID, "")


def test_what_broke_off_is_not_blamed_for_what_it_could_not_check():
    """The cause comes alone."""
    assert judged(interrupted=True, served=None, counted_in_system=None)[1] == "The measurement was interrupted."


@pytest.mark.parametrize("lacking", [{"served": None}, {"limits_read": False}, {"warm_up": [], "warm": False}])
def test_of_an_attached_service_less_is_essential(lacking):
    """Its limits, its count and its compiler are its owner's matter; the generator's ceiling is the lab's."""
    attached = {"entry": "attached", "foreign_cpu": None, **lacking}
    assert judged(**attached)[0] == VALID
    assert judged(**attached, ceiling_rps=None)[0] == SUSPECT


@pytest.mark.parametrize(
    ("changes", "word", "words"),
    [
        ({"component_errors": ["The service was killed by SIGKILL."]}, INVALID, "killed by SIGKILL"),
        ({"interrupted": True}, INVALID, "interrupted"),
        ({"begun": 990, "finished": 1000}, INVALID, "Only 990 of 1,000 planned requests were sent"),
        ({"finished": 1001}, INVALID, "1,001 requests, but 1,000 samples"),
        ({"served": 999}, INVALID, "service counted 999"),
        ({"served": 1001}, INVALID, "service counted 1,001"),
        ({"limits_broken": ["threads is 10 instead of 200"]}, INVALID, "limit is not in force: threads is 10"),
        ({"counted_in_system": 500.0}, INVALID, "Little's law"),
        ({"counted_in_system": 800.0}, INVALID, "Little's law"),
        ({"stood_still_s": 0.6}, SUSPECT, "stalled for 0.6 s"),
        ({"stood_still_s": 2.8}, INVALID, "stalled for 2.8 s"),
        ({"worker_cpu": 0.8}, SUSPECT, "80% of its core"),
        ({"worker_cpu": 0.95}, INVALID, "95% of its core"),
        ({"worker_cpu": 0.4, "workers_cpu": 0.8}, SUSPECT, "workers together used 80% of the generator's cores"),
        ({"worker_cpu": 0.48, "workers_cpu": 0.96}, INVALID, "workers together used 96% of the generator's cores"),
        ({"worker_cpu": 0.95, "workers_cpu": 0.8}, INVALID, "A Locust worker used 95% of its core"),
        ({"warm": False}, SUSPECT, "not warm after 3 rounds: its compilers were still at work"),
        (
            {"warm_up": COMPILING, "request_cpu_us": 849.0},
            SUSPECT,
            "after 3 rounds: a request took 1000 µs of CPU time at least in the last of them, and 849 in the load",
        ),
        ({"cpu_decides": True}, SUSPECT, "measured for 3 s: where the CPU decides, 20 s are the least"),
        ({"cpu_share": 0.85}, SUSPECT, "measured for 3 s: where the CPU decides, 20 s are the least"),
        (
            {"slow_connects": 3},
            SUSPECT,
            "3 connections took a second or more, as a packet was lost: raise --accept-count",
        ),
        ({"slow_connects": 3, "untracked": 9}, SUSPECT, "and dropped 9: raise net.netfilter.nf_conntrack_max."),
        ({"slow_connects": 9, "untracked": 3}, SUSPECT, "net.netfilter.nf_conntrack_max, or raise --accept-count."),
        ({"latency_change": 0.1}, SUSPECT, "Latency rose by 10%"),
        ({"throughput_change": -0.1}, SUSPECT, "Throughput fell by 10%"),
        ({"cpu_change": -0.3}, SUSPECT, "CPU time a request fell by 30%"),
        ({"cpu_used_change": -0.08}, SUSPECT, "service used fell by 8% during the load, while its users never paused"),
        ({"cpu_used_change": 0.08}, SUSPECT, "it waited less for something else"),
        (
            {"both_sides_busy_change": -0.06},
            SUSPECT,
            "service and generator together became less busy by 6% during the load",
        ),
        (
            {"both_sides_busy_change": 0.06},
            SUSPECT,
            "requests waited less for something else, or other programs used them.",
        ),
        ({"stalled_s": 0.5}, SUSPECT, "answered nobody for 0.5 s"),
        ({"stalled_s": 0.7, "collecting_s": 0.2, "gc_share": 0.25}, SUSPECT, "answered nobody for 0.7 s"),
        ({"silent": {"node 2": (5.0, 14.0)}}, SUSPECT, "node 2 answered nothing from 5 s to 14 s"),
        ({"settled": False}, SUSPECT, "never settled"),
        (
            {"paused": 0.03, "longest_pause_s": 0.2},
            SUSPECT,
            "itself stood still for 3.0% of the load, 200 ms at the most",
        ),
        ({"paused": 0.6, "windows": 30}, SUSPECT, "itself stood still for 60.0% of the load"),
        ({"slowed": {"service": 0.1}}, SUSPECT, "became 10% slower"),
        ({"shared_change": -0.3, "windows": 20}, SUSPECT, "changed by -30% during the load, as did that of"),
        ({"peak_rps": 8000.0}, SUSPECT, "sent 8,000 requests/s, 80% of its calibrated ceiling"),
        ({"peak_rps": 9500.0}, INVALID, "sent 9,500 requests/s, 95% of its calibrated ceiling"),
        ({"queue_growth": 0.3, "windows": 20}, SUSPECT, "still rose by 30% within the windows"),
        ({"crowded": 0.5, "beside": {"mysql": 0.5}}, SUSPECT, "(mysql 0.50 of a core)"),
        ({"idle_s": 0.05}, SUSPECT, "idle for 50.0 ms"),
        ({"idle_s": 0.3}, INVALID, "idle for 300.0 ms"),
        ({"pausing_users": True, "parked_share": 0.05}, SUSPECT, "5% of the users never began, or stopped sending"),
        ({"pausing_users": True, "parked_share": 0.2}, INVALID, "20% of the users never began"),
        ({"gc_share": 0.3}, SUSPECT, "30% of the time"),
        ({"stopped_s": 0.5}, SUSPECT, "process did not run for 0.5 s"),
        ({"others": ["20261121T101500Z-delay"]}, SUSPECT, "20261121T101500Z-delay"),
    ],
)
def test_evidence_that_speaks_against_it_is_named(changes, word, words):
    """One thing amiss gives one reason, and the verdict that it deserves."""
    found, reasons = judged(**changes)
    assert found == word
    assert words in reasons


def test_a_backlog_of_the_services_own_is_its_property():
    """That it is too short is told, and makes no measurement of it suspect."""
    assert judged(slow_connects=3, backlog_set=False)[0] == VALID


def test_packets_that_the_kernel_could_not_track_are_not_the_services():
    """Whosever backlog it is; and where no connection of the load waited for them, they were others'."""
    assert judged(slow_connects=3, untracked=9, backlog_set=False)[0] == SUSPECT
    assert judged(untracked=9)[0] == VALID


def test_cores_that_slow_down_are_no_reason_to_doubt_a_load_in_turns():
    """They slow down everybody who takes turns; what is the service's own is one."""
    assert judged(slowed={"service": 0.5}, windows=20)[0] == VALID
    assert judged(shared_change=0.2, windows=20)[0] == VALID
    assert judged(slowed={"service": 0.5}, cpu_change=0.1, windows=20)[0] == SUSPECT


@pytest.mark.parametrize(
    ("slower", "busy", "cpu_decides", "word"),
    [
        (0.35, 0.2, False, VALID),  # a third of a millisecond, of two seconds
        (-0.26, 0.2, False, VALID),  # the same, the other way round
        (0.35, 0.5, False, VALID),
        (0.35, 0.7, False, SUSPECT),  # 95 % busy then, so that a queue of seventeen forms
        (0.35, 0.75, False, SUSPECT),  # more than it can do
        (0.35, 0.2, True, SUSPECT),
    ],
)
def test_slower_cores_matter_where_they_can_lengthen_latencies(slower, busy, cpu_decides, word):
    """Not where they wait nearly all the time, unless the CPU decides."""
    long = replace(GOOD, elapsed_s=30.0)
    found = judged(long, slowed={"service": slower}, cores_busy={"service": busy}, cpu_decides=cpu_decides)
    assert found[0] == word, found


def test_slower_cores_matter_to_short_latencies():
    """Two milliseconds become three where half a millisecond of CPU time each keeps a core half busy."""
    short = replace(GOOD, mean_s=0.002, p99_s=0.008, throughput_rps=1000.0)
    assert judged(short, slowed={"service": 0.35}, cores_busy={"service": 0.5})[0] == SUSPECT


def test_slower_cores_matter_where_latencies_are_waits_for_others():
    """Each of twenty threads takes 3 % longer, and so does the queue for them, however long it is."""
    queued = replace(GOOD, mean_s=0.42, p99_s=0.45, throughput_rps=950.0)
    of_cores = {"slowed": {"service": 0.25}, "cores_busy": {"service": 0.48}}
    assert judged(replace(queued, min_s=0.0205), **of_cores)[0] == SUSPECT
    assert judged(replace(queued, min_s=0.4), **of_cores)[0] == VALID


def test_slower_cores_of_both_sides_lengthen_the_same_latencies():
    """What is little of each is too much of both; and cores of which nobody knows how busy they were may be full."""
    slowed, busy = {"service": 0.3, "generator": 0.3}, {"service": 0.6, "generator": 0.6}
    assert judged(slowed={"service": 0.3}, cores_busy=busy)[0] == VALID
    assert judged(slowed=slowed, cores_busy=busy)[0] == SUSPECT
    assert judged(slowed={"generator": 0.3}, cores_busy={"service": 0.6})[0] == SUSPECT


def test_cores_that_kept_their_speed_add_nothing_however_busy_they_were():
    """Neither those of which that was not read, nor several that were busy for more than one."""
    slowed = {"service": 0.3, "generator": 0.0}
    assert judged(slowed=slowed, cores_busy={"service": 0.2})[0] == VALID
    assert judged(slowed=slowed, cores_busy={"service": 0.2, "generator": 1.5})[0] == VALID


@pytest.mark.parametrize("name", verdict.WRONG)
def test_a_single_wrong_answer_is_invalid(name):
    """If even one answer was wrong, something else than the scenario was measured."""
    word, reasons = judged(replace(GOOD, errors={name: 1}))
    assert word == INVALID
    assert name in reasons


@pytest.mark.parametrize(("failed", "word"), [(1, VALID), (2, SUSPECT), (500, SUSPECT)])
def test_failures_make_it_suspect_above_one_in_a_thousand(failed, word):
    """Failed requests are a finding about the service, yet the latencies are then only those of survivors."""
    found, reasons = judged(replace(GOOD, errors={"HTTP 503": failed}))
    assert found == word
    assert ("HTTP 503" in reasons) == (word == SUSPECT)


@pytest.mark.parametrize(
    ("late_s", "mean_s", "word"),
    [(0.05, 2.0, VALID), (0.06, 2.0, SUSPECT), (0.3, 2.0, INVALID), (0.3, 20.0, VALID), (0.5, 20.0, SUSPECT)],
)
def test_users_that_begin_late_are_found(late_s, mean_s, word):
    """How late sends may be depends on how long requests take."""
    found, reasons = judged(replace(GOOD, late_p99_s=late_s, mean_s=mean_s))
    assert found == word
    assert ("late" in reasons) == (word != VALID)


@pytest.mark.parametrize(
    ("mean_s", "late_s", "word"),
    [(0.01, 0.001, VALID), (0.01, 0.002, SUSPECT), (2.0, 0.04, VALID), (2.0, 0.05, SUSPECT), (2.0, 0.21, INVALID)],
)
def test_sends_that_are_late_on_average_are_found_in_every_load(mean_s, late_s, word):
    """Two percent of the latency, or a millisecond if that is more; in a closed loop since the user was free."""
    found, reasons = judged(replace(GOOD, late_mean_s=late_s, mean_s=mean_s))
    assert found == word
    assert ("on average after they were due" in reasons) == (word != VALID)


@pytest.mark.parametrize(("late_s", "word"), [(0.04, VALID), (0.045, SUSPECT), (0.25, INVALID)])
def test_the_latest_sends_of_an_open_loop_are_in_its_latencies(late_s, word):
    """So they may not exceed two percent of the same percentile."""
    found, reasons = judged(replace(GOOD, late_p99_s=late_s), open_loop=True)
    assert found == word
    assert ("in 1 % of cases" in reasons) == (word != VALID)


@pytest.mark.parametrize(("late_s", "paused", "word"), [(0.04, 0, VALID), (0.4, 0, SUSPECT), (0.4, 0.005, VALID)])
def test_the_very_latest_sends_of_an_open_loop_are_in_its_highest_percentile(late_s, paused, word):
    """What a pause of the machine made late is judged as such."""
    late = replace(GOOD, late_p999_s=late_s, p999_s=2.5)
    found, reasons = judged(late, open_loop=True, paused=paused, longest_pause_s=0.4 * bool(paused))
    assert found == word
    assert ("in 0.1 % of cases" in reasons) == (word != VALID)
    assert judged(late)[0] == VALID  # a closed loop counts from the send
    few = replace(late, late_p999_s=None, late_max_s=late_s)  # sessions, whose answers are more than they
    assert judged(few, open_loop=True, paused=paused, longest_pause_s=0.4 * bool(paused))[0] == word


@pytest.mark.parametrize(("late_s", "word"), [(0.9, VALID), (1.2, SUSPECT)])
def test_a_load_that_few_requests_keep_long_after_its_end_is_doubtful(late_s, word):
    """All rates, and all shares of time, are of a time in which nearly nothing happened."""
    found, reasons = judged(replace(GOOD, elapsed_s=20.0), outlasted_s=late_s)
    assert found == word
    assert ("Its last request ended 1.2 s after it should have been over" in reasons) == (word != VALID)


def test_where_none_was_right_no_latencies_are_said_to_be_left():
    """Some failed, and the others were answered wrongly."""
    none_right = replace(GOOD, errors={"HTTP 503": 900, "wrong body": 100})
    assert "there was no right answer" in judged(none_right)[1]
    assert "latencies are of the others only" in judged(replace(GOOD, errors={"HTTP 503": 900}))[1]


def test_all_failed_is_judged_without_a_mean():
    """A cell without a right answer has no mean, and still gets its verdict."""
    none = replace(GOOD, errors={"refused": 1000}, mean_s=None, p50_s=None, p90_s=None, p99_s=None, max_s=None)
    word, reasons = judged(none, answered=0, served=0)
    assert word != VALID
    assert "refused 1,000" in reasons


def test_nothing_measured_is_invalid():
    """No samples at all, for whatever reason, is never a valid cell."""
    empty = stats.summarise(pd.DataFrame())
    assert verdict.judge(Evidence.from_fields(planned=1000), empty, 0).word == INVALID


def test_nothing_measured_in_a_closed_loop_is_invalid():
    """A closed loop has no planned number, but a cell that sent nothing shows nothing."""
    empty = stats.summarise(pd.DataFrame())
    assert verdict.judge(Evidence.from_fields(planned=None, whole=True), empty, 0).word == INVALID


def test_the_worst_reasons_come_first():
    """Reasons that make it invalid precede those that make it suspect."""
    found = verdict.judge(evidence(interrupted=True, warm=False), GOOD, 1000)
    assert found.word == INVALID
    assert [("interrupted" in r, "warm" in r) for r in found.reasons] == [(True, False), (False, True)]


def test_evidence_survives_json():
    """What is kept in evidence.json gives the same evidence again."""
    before = evidence(component_errors=["a"], others=["b"])
    assert Evidence.from_fields(**before.as_json()) == before


@pytest.mark.parametrize(
    ("words", "worst"),
    [
        ([VALID, VALID], VALID),
        ([VALID, SUSPECT], SUSPECT),
        ([SUSPECT, INVALID, VALID], INVALID),
        ([], INVALID),
    ],
)
def test_a_run_is_as_good_as_its_worst_cell(words, worst):
    """One bad cell is enough; no cell at all is no result."""
    assert verdict.worst(words) == worst


def test_limits_that_hold_are_not_broken():
    """What the service states beyond what was promised does not matter."""
    assert verdict.broken_limits({"threads": 200, "keep": None}, {"threads": 200, "keep": None, "more": 1}) == []


def test_broken_limits_are_named_with_both_values():
    """A limit that differs, is absent, or is unexpectedly bounded or unbounded is named."""
    promised = {"threads": 200, "accept_count": 4096, "keep_alive_requests": None, "max_connections": 10, "cpus": None}
    stated = {"threads": 10, "keep_alive_requests": 100, "max_connections": None}
    broken = verdict.broken_limits(promised, stated)
    assert "threads is 10 instead of 200" in broken
    assert "keep_alive_requests is 100 instead of unlimited" in broken
    assert "max_connections is unlimited instead of 10" in broken
    assert {line.split(" is ")[0] for line in broken} == set(promised)
    assert "not reported" in next(line for line in broken if line.startswith("accept_count"))


@pytest.mark.parametrize(("busy_s", "mean_s", "word"), [(0.04, 2.0, VALID), (0.9, 2.0, SUSPECT), (0.3, 20.0, VALID)])
def test_too_few_users_for_an_open_loop_are_not_taken_for_a_late_generator(busy_s, mean_s, word):
    """Where every user waited for an answer, the load was not the one asked for, and the remedy is more users."""
    found, reasons = judged(replace(GOOD, busy_p99_s=busy_s, mean_s=mean_s, p99_s=mean_s))
    assert found == word
    assert ("raise --users" in reasons) == (word != VALID)
    assert "generator was late" not in reasons


@pytest.mark.parametrize(("pace", "word"), [(1.0, VALID), (0.95, VALID), (0.94, SUSPECT), (0.8, INVALID)])
def test_an_open_loop_has_to_keep_its_rate(pace, word):
    """A rate that was not reached is named with the share that was."""
    found, reasons = judged(replace(GOOD, pace=pace))
    assert found == word
    assert (f"{pace:.0%} of the planned rate" in reasons) == (word != VALID)
