"""The binding resource: each is named where it is full, with the number that shows it, and nothing where none is."""

from __future__ import annotations

import pytest

import lab
from lab.analysis import bottleneck
from lab.analysis.bottleneck import PoolUsage, Usage

IDLE = {"generator_cpu": 0.2, "service_cpu": 0.3, "service_cpus": 2, "mean_s": 2.0, "service_s": 1.0}
THREADS = {"threads_busy": 200, "threads": 200}


def pool(busy: float, limit: float, waiting: float | None = None, to: str = "mysql") -> dict[str, dict]:
    """The readings of a pool of connections, and of no other."""
    return {"pools": {f"pool to {to}": PoolUsage(busy, limit, waiting)}}


POOL = pool(50, 50)


@pytest.mark.parametrize(
    ("readings", "name", "number"),
    [
        ({**IDLE, **THREADS}, "threads", "200 of 200"),
        ({**IDLE, **POOL}, "pool to mysql", "The pool to mysql was the bottleneck: 50 of 50 connections"),
        ({**IDLE, **THREADS, **POOL}, "pool to mysql", "50 of 50"),
        ({**IDLE, **pool(50, 50, waiting=12.0)}, "pool to mysql", "50 of 50"),
        ({**IDLE, **pool(50, 50, waiting=0.0)}, "nothing", ""),
        ({**IDLE, **THREADS, **pool(5, 5, 15.0, to="backend")}, "pool to backend", "5 of 5"),
        ({**IDLE, **THREADS, "service_cpu": 1.9}, "CPU", "1.90 of its 2"),
        ({**IDLE, **THREADS, "generator_cpu": 0.97}, "generator", "97%"),
        ({**IDLE, **THREADS, "bytes_rps": 3.4e6, "link_rate": 3.5e6}, "link", "3.40 of 3.50 MB/s"),
        ({**IDLE, **THREADS, "link_cpu": 0.99}, "link", "99%"),
        ({**IDLE, "database_cpu": {"mysql": 1.9}, "database_cpus": 2}, "database", "mysql used 1.90 of 2"),
        ({**IDLE, "called_cpu": {"backend": 0.9}}, "backend", "backend was the bottleneck: it used 0.90 of 1"),
        ({**IDLE, **THREADS, **POOL, "called_busy": {"backend": (48.0, 50)}}, "backend", "it worked on 48 of 50 calls"),
        ({**IDLE, "threads_busy": 95, "threads": 95, "called_busy": {"backend": (95.0, 100)}}, "threads", "95 of 95"),
        (
            {**IDLE, **pool(95, 95, 5.0, to="backend"), "called_busy": {"backend": (95.0, 100)}},
            "pool to backend",
            "95 of",
        ),
        ({**IDLE, **THREADS, "called_busy": {"backend": (48.0, 50)}, "service_cpu": 1.9}, "CPU", "1.90 of its 2"),
    ],
)
def test_the_full_resource_is_named_with_its_number(readings, name, number):
    """What is full decides; where several are, the one that the others wait for."""
    found = bottleneck.find(Usage(**readings))
    assert found.name == name
    assert number in found.sentence


@pytest.mark.parametrize(
    ("name", "full", "not_full"),
    [
        ("generator", {"generator_cpu": 0.90}, {"generator_cpu": 0.899}),
        ("link", {"link_cpu": 0.90}, {"link_cpu": 0.899}),
        ("link", {"link_rate": 1000.0, "bytes_rps": 800.0}, {"link_rate": 1000.0, "bytes_rps": 799.0}),
        ("database", {"database_cpu": {"mysql": 0.85}}, {"database_cpu": {"mysql": 0.849}}),
        ("CPU", {"service_cpu": 1.70}, {"service_cpu": 1.69}),
        ("pool to mysql", pool(95.0, 100), pool(94.9, 100)),
        ("pool to mysql", pool(50, 50, waiting=1.0), pool(50, 50, waiting=0.99)),
        ("backend", {"called_busy": {"backend": (45.0, 50)}}, {"called_busy": {"backend": (44.9, 50)}}),
        ("threads", {"threads": 200, "threads_busy": 190}, {"threads": 200, "threads_busy": 189}),
    ],
)
def test_a_resource_is_full_from_its_limit_on(name, full, not_full):
    """The same reading a little lower names nothing."""
    assert bottleneck.find(Usage(**{**IDLE, **full})).name == name
    assert bottleneck.find(Usage(**{**IDLE, **not_full})).name == "nothing"


@pytest.mark.parametrize(
    ("to_mongo", "to_backend", "name"),
    [
        (PoolUsage(1, 500, 0), PoolUsage(5, 5, 95), "pool to backend"),
        (PoolUsage(20, 20, 80), PoolUsage(15, 20, 0), "pool to mongo"),
        (PoolUsage(20, 20, 3), PoolUsage(20, 20, 60), "pool to backend"),
        (PoolUsage(20, 20, 60), PoolUsage(20, 20, 3), "pool to mongo"),
        (PoolUsage(1, 500, 0), PoolUsage(5, 500, 0), "nothing"),
    ],
)
def test_of_several_pools_the_one_that_requests_wait_for_is_named(to_mongo, to_backend, name):
    """One that is full with a queue; of two, the one with the longer queue."""
    pools = {"pool to mongo": to_mongo, "pool to backend": to_backend}
    assert bottleneck.find(Usage(**IDLE, pools=pools)).name == name


def test_a_mean_within_a_tenth_of_one_request_alone_is_no_queue():
    """A little more is one, of which nothing says where it stands."""
    assert "There was no bottleneck" in bottleneck.find(Usage(**{**IDLE, "mean_s": 1.10})).sentence
    assert "No resource" in bottleneck.find(Usage(**{**IDLE, "mean_s": 1.11})).sentence


@pytest.mark.parametrize(
    ("readings", "words"),
    [
        ({**IDLE, "threads_busy": 20, "threads": 200, "mean_s": 1.01}, "There was no bottleneck"),
        ({**IDLE, **THREADS, **POOL, "service_cpu": 2.0, "mean_s": 1.01}, "There was no bottleneck"),
        (IDLE, "No resource that was read"),
        ({"mean_s": 1.0}, "No resource that was read"),
        ({"mean_s": 1.0, "generator_cpu": 0.2}, "The generator was not the bottleneck"),
        ({}, "There was no answer"),
    ],
)
def test_where_nothing_is_full_nothing_is_named(readings, words):
    """Room everywhere, or nothing that was read, is said; no resource is blamed."""
    found = bottleneck.find(Usage(**readings))
    assert found.name == "nothing"
    assert words in found.sentence


@pytest.mark.parametrize(
    ("full_s", "load_s", "name"),
    [(4, 20, "nothing"), (5, 20, "CPU"), (12, 31, "CPU"), (39, 200, "nothing"), (40, 200, "CPU")],
)
def test_a_cpu_that_is_full_for_a_part_of_the_load_decides_then(full_s, load_s, name):
    """Users who log in meet a full CPU, however idle it is later; so short a time as a start takes is none."""
    found = bottleneck.find(Usage(**{**IDLE, "service_cpus": 1}, service_full_s=full_s, looked_at_s=load_s))
    assert found.name == name
    said = f"in {full_s} of {load_s} s: the service used at least 85% of its 1 core then."
    assert (said in found.sentence) == (name == "CPU")
    threads = bottleneck.find(Usage(**IDLE, **THREADS, service_full_s=full_s, looked_at_s=load_s))
    assert threads.name == "threads"


def test_a_run_names_what_decided_for_each_variant():
    """In the run that ships with the lab, platform threads are all busy, and nobody else has any to run out of."""
    found = lab.open_run("delay-sweep").deciding()
    assert found["mvc"].name == "threads"
    assert {name for name, resource in found.items() if resource.name == "threads"} == {"mvc"}
