"""How a call through the chain ended, by its answer: what a circuit breaker gave is no right answer."""

from __future__ import annotations

from lab.generator.locust.answer import Response

FALLBACK, BREAKER_IS_OPEN = b'{"outcome":"fallback"}', b"circuit breaker is open"


def outcome(answer: Response, delay_ms: int) -> bool | str:
    """Whether an answer is right, or the failure that it is, however fast it came."""
    if answer.status == 200:
        return answer.body == b'{"millis":%d}' % delay_ms or ("breaker fallback" if answer.body == FALLBACK else False)
    return "breaker open" if answer.status == 503 and BREAKER_IS_OPEN in answer.body else "status"
