"""When a service is warm: by its compiler, or by what a request costs it."""

import pytest

from lab.running.warm_up import is_warm


def rounds(*shares_and_costs):
    """Rounds of a warm-up, each with the compiler's share of the time and the CPU time of a request in µs."""
    return [{"jit_share": share, "cpu_us_per_request": cost} for share, cost in shares_and_costs]


@pytest.mark.parametrize(
    ("measured", "warm", "compiled"),
    [
        ([], False, False),
        ([(0.0, 300), (0.0, 300)], False, False),
        ([(0.9, 900), (0.05, 300), (0.1, 200)], True, True),  # the compiler rests, whatever the cost
        ([(0.0, 900), (0.05, 300), (0.2, 200)], False, False),
        ([(0.6, 900), (0.5, 300), (0.4, 290)], True, False),  # and a compiler at work may still change it
        ([(0.6, 300), (0.5, 300), (0.4, 200)], False, False),
    ],
)
def test_a_service_is_warm_when_its_compiler_rests_or_its_cost_stays(measured, warm, compiled):
    """After three rounds at least: two of rest, or, where the compiler need not rest, two of the same cost."""
    assert is_warm(rounds(*measured), until_compiled=False) == warm
    assert is_warm(rounds(*measured), until_compiled=True) == compiled
