"""The command that loads attached services, which the lab does not start: load."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from lab.analysis import capacity
from lab.cli.measuring import ResultOptions, conduct, endpoints_of
from lab.cli.options import (
    Several,
    data_option,
    header_option,
    join_option,
    own_request_options,
    pin_option,
    shape_options,
)
from lab.generator import own_locustfile
from lab.runtimes import host
from lab.spec import attached, own_load
from lab.spec.attached import LOAD
from lab.spec.options import Options


@click.command("load")
@click.argument("urls", nargs=-1, required=True, metavar="URL...")
@click.option("--name", "names", multiple=True, metavar="LABEL", help=f"Label of a URL.  [default: {attached.NAME}]")
@header_option
@click.option(
    "--users",
    type=Several(),
    help=f"Number of users; several for a sweep.  [default: {LOAD.load.users}; required with --rate and --ramp]",
)
def load(
    urls: tuple[str, ...], names: tuple[str, ...], headers: tuple[str, ...], users: list[int] | None, **options: Any
) -> None:
    """Load a service of your own, which the lab does not start, with requests to URL or a locustfile's sessions.

    \b
    python -m lab load http://127.0.0.1:8080/path --users 1,10,50 --duration 20
    python -m lab load http://127.0.0.1:8080/path --rate 200 --duration 30 --users 100
    python -m lab load http://127.0.0.1:8080/path --header 'Authorization: Bearer …'
    python -m lab load http://127.0.0.1:8080/path --method POST --body '{"n": 1}' --check '"id"'
    python -m lab load http://127.0.0.1:8080 --locustfile mine.py --users 50 --duration 60
    python -m lab load http://127.0.0.1:8080/a http://127.0.0.1:8081/a --name old --name new --repeat 5

    Several URLs are measured in turns, as variants are: give each a --name. With --interleave windows the turns last a
    second, which finds small differences on a noisy machine. Load only services that you may. The URL is recorded with
    its query, headers only by name. Each measurement begins with a warm-up that is not counted: five seconds of the
    same load, or with --loops and --requests one request of each user.

    With --locustfile each user plays sessions of several requests and pauses. The file is played where it lies, beside
    what it imports and reads, and a copy of it is kept with the run; it is not sent to workers on other machines.

    A service on this machine shares its cores with the generator, and the verdict shows how much of them it used: start
    it on the other half (taskset -c 0 …), or on another machine.
    """  # noqa: D301 (click looks for the backspace itself)
    result_options, fields = ResultOptions.pop_from(options), attached.headers(headers)
    endpoints = replace(endpoints_of(options), headers=fields)
    asked = own_load.one_request(*(options.pop(name) for name in ("method", "body", "check")))
    file = options.pop("locustfile")
    locustfile = own_locustfile.examined(file) if file else None
    options["capacity"] = capacity.given(options.pop("capacity"), LOAD.name, result_options.data)
    plan = attached.make_plan(
        urls, names, fields, Options(users=users or [], **options), host.machine(), asked, locustfile
    )
    conduct(plan, result_options, endpoints)


load.params += [*own_request_options(), *shape_options(LOAD, sweeps=True), join_option(), pin_option()]
data_option(load)
