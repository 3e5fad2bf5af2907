"""Addresses of services that somebody else runs: what is wrong with one is said without what may be secret in it."""

from __future__ import annotations

import pytest
from machines import HERE

from lab.errors import LabError
from lab.spec import attached
from lab.spec.options import Options


@pytest.mark.parametrize(
    "url", ["http://me:pa/geheim@host:8080/x", "http://me:geheim@host/", "http://me:geheim@[::1/x"]
)
def test_a_password_in_an_address_is_refused_and_not_repeated(url):
    """Also where it makes the address one that cannot be read."""
    with pytest.raises(LabError) as caught:
        attached.make_plan([url], [], {}, Options(users=[1]), HERE)
    assert "geheim" not in f"{caught.value} {caught.value.next_step}"


def test_an_address_that_is_none_is_repeated():
    """With the one that may be meant."""
    with pytest.raises(LabError, match="'localhost:9'") as caught:
        attached.make_plan(["localhost:9"], [], {}, Options(users=[1]), HERE)
    assert "http://localhost:9" in caught.value.next_step
