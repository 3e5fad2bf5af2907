"""The claims about a chain of calls: each can come out either way, and what is counted needs no repeats."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machines import HERE
from made_ramps import played

from lab.experiments import find_publication, find_scenario
from lab.experiments.chain import claims
from lab.experiments.reproduction.publication import CONFIRMED, REFUTED, UNDECIDED, Repeat, ReproducedRow
from lab.experiments.reproduction.rows import ramp_figures
from lab.spec import planning
from lab.spec.options import Options
from lab.storage import published

CHAIN = find_publication("chain")


def row(variant: str, part: str, ok_rps: float = 100.0, failed: float = 0.0, **figures: float) -> ReproducedRow:
    """A row of three repeats that hardly differ."""
    repeats = tuple(
        Repeat(number, 1.0, ok_rps, ok_rps, failed, "valid", True, {key: of * factor for key, of in figures.items()})
        for number, factor in enumerate((0.999, 1.0, 1.001), 1)
    )
    return ReproducedRow(part, 1000, 1000, variant, None, None, 100.0, 0.2, 0.0, 0, 0.0, repeats)


def word(begins: str, *rows: ReproducedRow) -> str:
    """What is said of the only claim that begins so."""
    (found,) = [judged for judged in CHAIN.judge(rows) if judged.claim.startswith(begins)]
    return found.word


@pytest.mark.parametrize(
    ("begins", "figure", "more", "less"),
    [
        ("Event loops keep pace further", "kept_rps", "webflux", "mvc"),
        ("Virtual threads keep pace further", "kept_rps", "mvc-virtual", "mvc"),
        ("WebFlux answers more requests of the ramp", "right_rps", "webflux", "mvc"),
        ("More requests are answered within 800 ms", "prompt_share", "webflux", "mvc"),
        ("The mean over the whole ramp is longer", "all_mean_s", "mvc", "webflux"),
        ("Below the knee a request takes several times", "before_knee_s", "mvc", "webflux"),
    ],
)
def test_who_is_ahead_on_the_ramp_is_not_encoded(begins, figure, more, less):
    """Whichever of two variants has more, the claim gets the word that fits; a tie refutes it."""
    for high, low, found in ((3.0, 1.0, CONFIRMED), (1.0, 3.0, REFUTED), (1.0, 1.0, REFUTED)):
        rows = [row(more, claims.OPEN, **{figure: high}), row(less, claims.OPEN, **{figure: low})]
        assert word(begins, *rows) == found


@pytest.mark.parametrize(
    ("threads", "event_loops", "found"),
    [
        ({"collapse_rps": 350.0}, {"collapse_rps": 520.0}, CONFIRMED),
        ({"collapse_rps": 350.0}, {"kept_rps": 1000.0}, CONFIRMED),
        ({"collapse_rps": 825.0}, {"kept_rps": 700.0}, CONFIRMED),
        ({"collapse_rps": 520.0}, {"collapse_rps": 350.0}, REFUTED),
        ({"kept_rps": 350.0}, {"collapse_rps": 520.0}, UNDECIDED),
    ],
)
def test_who_collapses_earlier(threads, event_loops, found):
    """What never collapsed did not up to the end of the ramp, wherever its knee is; platform threads must have."""
    rows = [row("mvc", claims.OPEN, **threads), row("webflux", claims.OPEN, **event_loops)]
    assert word("Right answers of platform threads fall to half", *rows) == found


@pytest.mark.parametrize(
    ("threads", "event_loops", "found"),
    [
        (0.43, 0.18, CONFIRMED),
        (0.04, 0.0, CONFIRMED),
        (0.18, 0.43, REFUTED),
        (0.0, 0.04, REFUTED),
        (0.1, 0.1, UNDECIDED),
        (0.0, 0.0, UNDECIDED),
    ],
)
def test_whose_requests_fail_less(threads, event_loops, found):
    """As published, few against none, and the other way round; of as many, one in a thousand may differ by chance."""
    rows = [row("mvc", claims.OPEN, failed=threads), row("webflux", claims.OPEN, failed=event_loops)]
    assert word("Fewer requests fail on event loops", *rows) == found


@pytest.mark.parametrize(("kept_rps", "found"), [(510, CONFIRMED), (350, REFUTED), (700, REFUTED)])
def test_whether_the_client_of_the_document_is_as_good_as_its_successor(kept_rps, found):
    """Within the accuracy of a knee, to either side."""
    rows = [row("mvc-resttemplate", claims.OPEN, kept_rps=kept_rps), row("mvc", claims.OPEN, kept_rps=500)]
    assert word("RestTemplate, the document's client", *rows) == found


@pytest.mark.parametrize(("kept_rps", "found"), [(510, CONFIRMED), (350, REFUTED)])
def test_the_knee_of_threads(kept_rps, found):
    """A hundred threads of 0.2 s answer 500/s."""
    assert word("T platform threads keep pace", row("mvc", claims.OPEN, kept_rps=kept_rps)) == found


def test_users_who_wait_are_never_more_requests_than_users():
    """A single measurement of a thousand refutes the four thousand that the published figures need."""
    once = row("mvc", claims.CLOSED, in_flight=1000)
    once = replace(once, repeats=once.repeats[:1])
    assert word("Of 1,000 users who wait, 4,420", once) == REFUTED


@pytest.mark.parametrize(("event_loops", "found"), [(0.0, CONFIRMED), (1.0, REFUTED)])
def test_what_holds_a_thread(event_loops, found):
    """A request on platform threads does; on the others it does not, or the claim is refuted."""
    rows = [row("mvc", claims.WAITING, threads=1.0), row("webflux", claims.WAITING, threads=event_loops)]
    assert word("A request that waits holds a platform thread", *rows) == found


def test_memory_is_all_that_a_request_holds():
    """Within the heap and outside, which may have shrunk; platform threads that hold less, or as much, refute it."""
    of_threads, of_loops, unknown = (
        ramp_figures({"waiting": waiting})
        for waiting in (
            {"heap_bytes": 10.0, "native_bytes": 90.0},
            {"heap_bytes": 40.0, "native_bytes": 10.0},
            {"native_bytes": 10.0},
        )
    )
    nothing = ramp_figures({"waiting": {"heap_bytes": 5.0, "native_bytes": -15.0}})
    for mvc, webflux, found in (
        (of_threads, of_loops, CONFIRMED),
        (of_loops, of_threads, REFUTED),
        (of_threads, of_threads, REFUTED),
        (of_threads, nothing, CONFIRMED),
        (of_threads, unknown, UNDECIDED),
        (nothing, of_loops, UNDECIDED),
    ):
        rows = [row("mvc", claims.WAITING, **mvc), row("webflux", claims.WAITING, **webflux)]
        assert word("A request that waits holds more memory", *rows) == found


@pytest.mark.parametrize(("rate", "found"), [(101.0, CONFIRMED), (160.0, REFUTED)])
@pytest.mark.parametrize(("begins", "part"), [("A plain read", claims.READ), ("A plain write", claims.WRITE)])
def test_no_gain_for_plain_operations(begins, part, rate, found):
    """Each is judged by its own part alone."""
    rows = [row("webflux-template", part, rate), row("mvc-template", part, 100.0)]
    assert word(begins, *rows) == found


def test_the_published_figures_stand_beside_a_ramp_to_that_rate_only():
    """Not beside a burst of as many users, nor a ramp to another rate."""
    peers = []
    for options in (Options(ramp="0:1000:45"), Options(ramp="0:500:45"), Options(users=[1000])):
        plan = planning.make_plan(find_scenario("chain"), options, HERE)
        rows = [published.row_for(plan, cell, plan.scenario.variant(cell.variant)) for cell in plan.cells]
        peers.append([found and found.throughput_rps for found in rows])
    assert peers == [[221, None, 362], [None] * 3, [None] * 3]


def test_a_ramp_that_was_measured_is_judged_beside_what_was_published(typed, tmp_path):
    """A hundred threads that work for those who have gone collapse; table and claims have both, and the status is 0."""
    plan = CHAIN.plan(CHAIN.parts[0], 1.0, seed=1, repeat=2)
    few = dict.fromkeys(("mvc", claims.BY_REST_TEMPLATE), claims.THREADS)
    run = played(tmp_path, plan, {**few, "mvc-virtual": 4000, "webflux": 4000})
    done = typed("reproduce", "chain", "--from", str(run.path), "--data", str(tmp_path))
    assert done.returncode == 0
    assert "At the document's rates, for 45 s instead of 900 s." in done.stdout
    lines = done.stdout.splitlines()
    (of_mvc,) = [line for line in lines if "a ramp to 1,000 requests/s  mvc" in line]
    assert of_mvc.split()[-7:] == ["20.000", "221.0", "43", "%", "12", "0.300", "350.0"]
    (knee,) = [line for line in lines if "T platform threads keep pace" in line]
    assert knee.startswith(CONFIRMED)
    assert sum(line.startswith(CONFIRMED) for line in lines) == 9
    table = done.stdout[: done.stdout.index(CONFIRMED)]
    assert {"right", "collapse"} <= set(table.split())  # what claims judge has a column
    assert sum(line.startswith(REFUTED) for line in lines) == 0
    (below,) = [line for line in lines if "Below the knee" in line]
    assert below.startswith(UNDECIDED)  # beside t both take next to nothing


def test_one_late_timeout_makes_no_fewer_right_answers():
    """As many requests are sent to each variant within the time of the ramp, whenever the last of them ended."""
    few, many = (
        ramp_figures({"windows": [{"to_s": 22.5, "right": 90}, {"to_s": 45.0, "right": more}]}) for more in (135, 360)
    )
    assert (few["right_rps"], many["right_rps"]) == (5.0, 10.0)
    rows = [row("mvc", claims.OPEN, 10.0, **few), row("webflux", claims.OPEN, 9.4, **many)]
    assert word("WebFlux answers more requests of the ramp right", *rows) == CONFIRMED


def test_the_published_rates_are_those_up_to_which_answers_keep_pace():
    """Where response times "crash", pace is lost; of right answers that fall to half nothing is published."""
    rows = published.table("chain")["rows"]
    assert [row.figures["kept_rps"] for row in rows] == [350, 520]
    assert not any("collapse_rps" in row.figures for row in rows)


def test_the_timeout_is_as_much_shorter_as_the_ramp():
    """60 s of 900 s: what fails of a queue depends on their ratio."""
    (cell, *_) = CHAIN.plan(CHAIN.parts[0], 1.0).cells
    assert cell.load.timeout_s / cell.load.duration_s == pytest.approx(60 / 900)
    assert cell.load.users >= cell.load.to_rps * cell.load.timeout_s
