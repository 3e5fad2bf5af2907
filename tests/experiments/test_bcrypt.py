"""The share of BCrypt follows from two costs, and the other user's hash is really of strength 4."""

from __future__ import annotations

import pytest

from lab.experiments.operations.bcrypt import LEFT, STRONG, WEAK, share
from lab.experiments.operations.scenario import USERS
from lab.experiments.operations.variants import HASHES


@pytest.mark.parametrize(("bcrypt", "rest"), [(6.4, 0.0), (3.2, 0.8), (0.0, 1.0)])
def test_the_share_is_found_by_taking_most_of_it_away(bcrypt, rest):
    """What is left of it with weak hashes counts too."""
    assert share(bcrypt + rest, bcrypt * LEFT + rest) == pytest.approx(bcrypt / (bcrypt + rest))


def test_each_strength_is_that_of_the_hash_of_a_user():
    """As the hashes themselves say."""
    assert {strength: HASHES[user].split("$")[2] for strength, user in USERS.items()} == {"10": "10", "4": "04"}
    assert {str(STRONG), str(WEAK)} == set(USERS)
    assert LEFT == 1 / 64
