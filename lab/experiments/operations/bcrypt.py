"""How much of what requests cost is BCrypt, by two measurements that differ in nothing but the strength of a hash."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from lab.analysis.comparison import CPU

# Each step of strength doubles the work of a check (Provos and Mazières, "A Future-Adaptable Password Scheme", 1999).
STRONG, WEAK = 10, 4
LEFT = 2.0 ** (WEAK - STRONG)


def share(weak_over_strong: float) -> float:
    """The share of BCrypt in what requests cost with hashes of strength 10, from 0 to 1 but for noise.

    Args:
        weak_over_strong: CPU time a request where hashes have strength 4, so that a 64th of BCrypt's part is left, over
            that with hashes of strength 10.

    """
    return (1 - weak_over_strong) / (1 - LEFT)


def shares(effects: pd.DataFrame) -> pd.DataFrame:
    """The share of BCrypt in the CPU time of each variant's requests: ``variant``, ``share``, ``low`` and ``high``.

    Args:
        effects: :func:`lab.analysis.factors.effects_of_parameter` of ``bcrypt``. Where both strengths were measured
            several times, their interval at 95 % becomes that of the share; else it is None.

    """
    rows = [_share_of(row) for row in effects[effects["metric"] == CPU].to_dict("records")]
    return pd.DataFrame(rows, columns=["variant", "share", "low", "high"])


def _share_of(row: Mapping[Any, Any]) -> dict[str, Any]:
    ratios = [row["ratio"], row["high"], row["low"]]
    if row["from"] == str(WEAK):  # then they are the other way round
        ratios = [row["ratio"], row["low"], row["high"]]
        ratios = [None if ratio is None else 1 / ratio for ratio in ratios]
    found = (None if ratio is None else share(ratio) for ratio in ratios)
    return {"variant": row["a"], **dict(zip(("share", "low", "high"), found, strict=True))}
