"""Parses and checks the numbers of options."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, TypeVar

from lab.errors import LabError

# The largest number that the JVM, which gets most of them, can hold in an int.
MAX_INT = 2**31 - 1
MOST_SECONDS = 7 * 86_400.0


def whole(option: str, value: Any) -> int:
    """A whole number; LabError names the option if it is none, or larger than a Java int."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise LabError(f"{option} {shown(value)} is not a whole number.", "Write it in digits, such as 400.")
    if abs(int(value)) > MAX_INT:
        raise LabError(f"{option} is too large.", f"It must be at most {MAX_INT:,}.")
    return int(value)


def seconds(option: str, value: Any) -> float:
    """A time in seconds, never a negative zero; LabError if it is none, or longer than a week."""
    found = real(option, value)
    if found > MOST_SECONDS:
        step = f"It must be at most {MOST_SECONDS:,.0f} seconds, a week."
        raise LabError(f"{option} {found:.10g} is too long.", step)
    return found


def real(option: str, value: Any) -> float:
    """A finite number, never a negative zero; LabError names the option if it is none."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise LabError(f"{option} {shown(value)} is not a number.", "Write it in digits, such as 20 or 0.5.")
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise LabError(f"{option} {found:g} is not possible.", "Write a finite number, such as 20 or 0.5.")
    return found + 0.0


Number = TypeVar("Number", int, float)


def at_least(option: str, value: Number, least: float) -> Number:
    """The same number; LabError names the option if it is too small."""
    if value < least:
        raise LabError(f"{option} {value:.10g} is not possible.", f"It must be at least {least:g}.")
    return value


def shown(value: Any) -> str:
    """A value that is refused, as Python writes it, and not all of a long one."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}…"
