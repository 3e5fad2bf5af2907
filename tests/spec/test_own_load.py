"""The one request to a service of one's own, and the headers that go with it: what cannot be sent is refused."""

from __future__ import annotations

import pytest

from lab.errors import LabError
from lab.spec import attached
from lab.spec.own_load import OneRequest, one_request

LATIN_1 = b"caf\xe9".decode("utf-8", "surrogateescape")  # as Python gets it from a shell


def test_a_request_is_what_was_asked():
    """A plain GET is none; the method's case does not matter."""
    assert one_request(None, None, None) is None
    assert one_request("post", "{}", "ok") == OneRequest("POST", "{}", "ok")


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (("POST", LATIN_1, None), "--body is not in UTF-8"),
        ((None, None, LATIN_1), "--check is not in UTF-8"),
        (("POST", {"n": 1}, None), "--body is not a text, but dict"),
        ((None, None, b"x"), "--check is not a text, but bytes"),
        (("PSOT", None, None), "did you mean POST?"),
        ((None, "{}", None), "A GET has no body"),
    ],
)
def test_what_cannot_be_sent_is_refused_in_a_sentence(given, named):
    """Before anything is asked of the service."""
    with pytest.raises(LabError) as refused:
        one_request(*given)
    assert named in refused.value.problem
    assert refused.value.next_step.endswith(".")


def test_a_header_is_given_once():
    """The second would take the place of the first, whose value nobody would miss before the service does."""
    assert attached.headers(["Cookie: a=1; b=2", "X-Key: 1"]) == {"Cookie": "a=1; b=2", "X-Key": "1"}
    with pytest.raises(LabError, match="names cookie twice"):
        attached.headers(["Cookie: a=1", "cookie: b=2"])
