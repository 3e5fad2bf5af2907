"""The share of BCrypt follows from two costs, and the other user's hash is really of strength 4."""

from __future__ import annotations

import pandas as pd
import pytest

from lab.analysis.comparison import CPU, MEAN
from lab.experiments.operations.bcrypt import LEFT, STRONG, WEAK, share, shares
from lab.experiments.operations.scenario import USERS
from lab.experiments.operations.variants import HASHES


@pytest.mark.parametrize(("bcrypt", "rest"), [(6.4, 0.0), (3.2, 0.8), (0.0, 1.0)])
def test_the_share_is_found_by_taking_most_of_it_away(bcrypt, rest):
    """What is left of it with weak hashes counts too."""
    assert share((bcrypt * LEFT + rest) / (bcrypt + rest)) == pytest.approx(bcrypt / (bcrypt + rest))


@pytest.mark.parametrize("first", [STRONG, WEAK])
def test_the_share_of_each_variant_has_the_interval_of_its_ratio(first):
    """Whichever strength stands first, of the CPU time alone; measured once, it has none."""
    rest_share, between = 0.25, (0.2, 0.3)
    ratios = [LEFT + each * (1 - LEFT) for each in (rest_share, *between)]  # weak over strong
    if first == WEAK:
        ratios = [1 / ratios[0], 1 / ratios[2], 1 / ratios[1]]
    row = {"from": str(first), "to": str(STRONG + WEAK - first), "a": "mvc", "metric": CPU}
    effects = pd.DataFrame(
        [
            {**row, **dict(zip(("ratio", "low", "high"), ratios, strict=True))},
            {**row, "metric": MEAN, "ratio": 9.0, "low": 8.0, "high": 10.0},
            {**row, "a": "webflux", "ratio": ratios[0], "low": None, "high": None},
        ]
    )
    found = shares(effects)
    assert found["variant"].tolist() == ["mvc", "webflux"]
    assert found.loc[0, ["share", "low", "high"]].tolist() == pytest.approx([0.75, 0.7, 0.8])
    assert found["share"][1] == pytest.approx(0.75)
    assert found[["low", "high"]].isna().loc[1].all()


def test_each_strength_is_that_of_the_hash_of_a_user():
    """As the hashes themselves say."""
    assert {strength: HASHES[user].split("$")[2] for strength, user in USERS.items()} == {"10": "10", "4": "04"}
    assert {str(STRONG), str(WEAK)} == set(USERS)
    assert LEFT == 1 / 64
