"""Plans for attached services: the user's own, already running, of which only the addresses are known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from lab.errors import LabError
from lab.spec import http_address, planning
from lab.spec.limits import DEFAULT, NOT_KNOWN, NOT_SET
from lab.spec.machine import Machine
from lab.spec.options import Options
from lab.spec.own_load import Locustfile, OneRequest
from lab.spec.plan import Plan
from lab.spec.scenario import Rehearsal, Scenario
from lab.spec.system import Variant
from lab.spec.workload import Burst, Closed, Load, Open, OpenLoop, Ramp

# The longest warm-up, for a service that was just started; one that is in use is warm.
WARM_UP_S = 5.0
NAME = "service"
# The options of a load on an attached service: its shape and its repeats.
OF_A_LOAD = (
    *("ramp_up", "loops", "duration", "requests", "rate", "capacity", "ramp", "arrivals", "timeout"),
    *("pace", "workers", "remote_workers", "bind", "repeat", "interleave", "seed", "pin"),
)
OFFER = f"There is: {', '.join(OF_A_LOAD)}."
LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
FIELD = re.compile(r"([A-Za-z0-9!#$%&'*+.^_`|~-]+):[ \t]*([\x20-\x7e\t]*)")

LOAD = Scenario(
    name="load",
    question="How much does it take, and where does its tail begin?",
    requests=(),
    contract=(),
    parameters=(),
    variants=(),
    load=Closed(users=10, duration_s=20.0),
    rehearsal=Rehearsal(requests=0, rounds=0),
    sweep={},
)


def scenario_of(urls: Mapping[str, str]) -> Scenario:
    """The scenario of attached services, with a variant for each address by label."""
    return replace(LOAD, variants=tuple(Variant(label, module="", title=url, url=url) for label, url in urls.items()))


def make_plan(
    urls: Sequence[str],
    names: Sequence[str],
    headers: Mapping[str, str],
    options: Options,
    machine: Machine,
    one_request: OneRequest | None = None,
    locustfile: Locustfile | None = None,
) -> Plan:
    """Make the plan of a load on attached services; LabError where the options are not possible.

    Args:
        urls: addresses to load, each a variant of the plan.
        names: a label for each; a single address needs none.
        headers: additional headers; the plan holds only their names.
        options: the options of the load.
        machine: what sends it.
        one_request: what each session sends; a GET if None.
        locustfile: what is played instead.

    """
    if locustfile:
        _check_playable(locustfile, one_request, options)
    else:
        planning.check_pauses(options, "Users without a --locustfile")
    labels = [str(name) for name in names] if names or len(urls) != 1 else [NAME]
    if not urls or len(labels) != len(urls):
        raise LabError(
            f"{len(urls)} addresses have {len(names)} names.",
            "Name each: python -m lab load URL URL --name old --name new",
        )
    for label in labels:
        if not LABEL.fullmatch(label):
            raise LabError(f"--name {label!r} is not possible.", "Use letters, digits, dots and dashes, 40 at most.")
    if len(set(labels)) < len(labels):
        raise LabError("Two addresses have the same --name.", "Give each address its own.")
    of = dict(zip(labels, map(_valid_address, urls), strict=True))
    plan = planning.make_plan(scenario_of(of), replace(options, limits=DEFAULT), machine)
    plan = replace(plan, stance=NOT_KNOWN, limits=NOT_SET, header_names=tuple(headers))
    return replace(plan, one_request=one_request, locustfile=locustfile)


def _check_playable(locustfile: Locustfile, one_request: OneRequest | None, options: Options) -> None:
    """LabError where options contradict a locustfile of the user's own."""
    if one_request:
        step = "Write into the locustfile what it sends and what it checks."
        raise LabError("--locustfile excludes --method, --body and --check.", step)
    if options.remote_workers:
        step = "Leave --remote-workers out, and share the users with --workers on this machine."
        raise LabError(f"Workers on other machines do not have {locustfile.path}.", step)


def _valid_address(url: str) -> str:
    """A valid address without its fragment; LabError if it is none."""
    example = "Write it as http://127.0.0.1:8080/path, with spaces and umlauts %-encoded."
    try:
        parts = http_address.split(url)
    except ValueError:
        guess = f"http://{url}" if re.match(r"[\w.-]+(:\d+)?(/|$)", url) else ""
        hint = f"Did you mean {guess}?" if guess else example
        shown = "What holds an @" if "@" in url else repr(url)  # it may hold a password too
        raise LabError(f"{shown} is not an http or https address.", hint) from None
    if parts.username is not None:
        raise LabError(
            "The address contains a user or a password, and addresses are stored with the run.",
            "Send them as --header 'Authorization: Basic …', of which only the name is stored.",
        )
    if not url.isascii() or re.search(r"[\s\x00-\x1f\x7f]", url):
        raise LabError(f"{url!r} contains characters that an address cannot have.", example)
    return parts._replace(fragment="").geturl()


def headers(texts: Sequence[str]) -> dict[str, str]:
    """Parse header fields of the form ``Name: value``. LabError gives the number of a bad one, not its text."""
    found: dict[str, str] = {}
    for number, text in enumerate(texts, 1):
        if not (field := FIELD.fullmatch(text)):
            raise LabError(f"--header number {number} is not a header.", "Write --header 'Name: value', in ASCII.")
        if field[1].lower() in map(str.lower, found):
            raise LabError(f"--header names {field[1]} twice.", "Write all of its values into one.")
        found[field[1]] = field[2].strip()
    return found


def warm_up(load: Load) -> Burst | Closed | Open | Ramp:
    """The warm-up of an attached service: the same users or rate as the measured load, but short, and not counted.

    It lasts :data:`WARM_UP_S` at most, in which a ramp goes from and to the same rates. Where the number of requests is
    fixed it is one of each user, so that not many more are sent than specified.
    """
    if load.windows > 1:
        return warm_up(structs.replace(load, windows=1))
    if isinstance(load, OpenLoop):
        return structs.replace(load, duration_s=min(load.duration_s, WARM_UP_S))
    if not isinstance(load, Closed):
        return load.as_burst(ramp_s=min(load.ramp_s, WARM_UP_S))
    duration_s = min(load.duration_s, WARM_UP_S)
    return structs.replace(load, duration_s=duration_s, ramp_s=min(load.ramp_s, duration_s / 2))
