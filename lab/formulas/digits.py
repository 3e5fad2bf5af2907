"""Numbers in sentences: in digits, never by powers of ten."""

from __future__ import annotations


def digits(value: float) -> str:
    """A number, a whole one whole; what was computed, such as a part of what a service can do, with four decimals."""
    return f"{round(value, 4):,.10g}"
