"""What a run says beyond its numbers."""

from __future__ import annotations

import json
import shutil

import pytest
from open_loops import overloaded

import lab
from lab.runtimes.checkout import ROOT


@pytest.fixture
def slowed(tmp_path):
    """A function that gives the sentences on the example of jwt, each variant's cells on cores as slow as it says."""

    def sentences(**yardstick_s: float) -> list[str]:
        run = shutil.copytree(ROOT / "data" / "example" / "jwt-repeats", tmp_path / "run")
        for file in run.glob("cells/*/summary.json"):
            variant = file.parent.name.partition("-u")[0].replace("-", "_")
            file.write_text(json.dumps(json.loads(file.read_text()) | {"yardstick_s": yardstick_s[variant]}))
        return [sentence for sentence in lab.open_run(str(run)).insights() if "machine's speed changed" in sentence]

    return sentences


def test_a_machine_that_was_slower_under_one_variant_is_named_with_it(slowed):
    """What looks like a slow variant may be a slow machine."""
    (sentence,) = slowed(mvc=0.0005, mvc_virtual=0.0004, webflux=0.00042)
    assert "25% slower under mvc-u50-r" in sentence
    assert "than under mvc-virtual-u50-r" in sentence


def test_cores_that_differ_by_chance_are_not_worth_a_word(slowed):
    """Repeats of the same differ by as much."""
    assert slowed(mvc=0.0004, mvc_virtual=0.00041, webflux=0.000415) == []


@pytest.fixture
def overload(tmp_path):
    """A run in an open loop whose users were too few, so that its queue grows from begin to end."""
    return lab.open_run(str(overloaded(tmp_path).path))


def test_intervals_of_an_open_loop_count_from_the_plan_as_its_table_does(overload):
    """What requests waited for a free user is in the mean and in the percentiles, as it is in summary.json."""
    intervals, row = overload.intervals().query("variant == 'mvc'").set_index("metric"), overload.cells[0]
    assert intervals["value"].to_dict() == pytest.approx({name: row[name] for name in intervals.index}, rel=1e-3)
    assert list(intervals.index) == ["mean_s", "p50_s", "p99_s", "p999_s"]
    assert row["mean_s"] > 100 * row["service_mean_s"]


def test_an_open_loop_whose_queue_grows_has_not_settled(overload):
    """Requests that are all sent too late take as long as ever once they are sent, which settles nothing."""
    said = " ".join(overload.insights())
    assert "mvc at 100 requests/s: The load had not settled" in said
    assert "had settled after" not in said
