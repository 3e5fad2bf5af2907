"""What a run says beyond its numbers."""

from __future__ import annotations

import json
import shutil

import pytest

import lab
from lab.places import ROOT


@pytest.fixture
def slowed(tmp_path):
    """A function that gives the sentences on the example of jwt, each variant's cells on cores as slow as it says."""

    def sentences(**yardstick_s: float) -> list[str]:
        run = shutil.copytree(ROOT / "data" / "example" / "jwt-repeats", tmp_path / "run")
        for file in run.glob("cells/*/summary.json"):
            variant = file.parent.name.partition("-u")[0].replace("-", "_")
            file.write_text(json.dumps(json.loads(file.read_text()) | {"yardstick_s": yardstick_s[variant]}))
        return [sentence for sentence in lab.open_run(str(run)).insights() if "machine was not the same" in sentence]

    return sentences


def test_a_machine_that_was_slower_under_one_variant_is_named_with_it(slowed):
    """What looks like a slow variant may be a slow machine."""
    (sentence,) = slowed(mvc=0.0005, mvc_virtual=0.0004, webflux=0.00042)
    assert "25% slower under mvc-u50-r" in sentence
    assert "than under mvc-virtual-u50-r" in sentence


def test_cores_that_differ_by_chance_are_not_worth_a_word(slowed):
    """Repeats of the same differ by as much."""
    assert slowed(mvc=0.0004, mvc_virtual=0.00041, webflux=0.000415) == []
