"""How much of what requests cost is BCrypt, by two measurements that differ in nothing but the strength of a hash."""

from __future__ import annotations

# Each step of strength doubles the work of a check (Provos and Mazières, "A Future-Adaptable Password Scheme", 1999).
STRONG, WEAK = 10, 4
LEFT = 2.0 ** (WEAK - STRONG)


def share(strong_cost: float, weak_cost: float) -> float:
    """The share of BCrypt in what requests cost with hashes of strength 10, from 0 to 1 but for noise.

    Args:
        strong_cost: CPU time a request where hashes have strength 10.
        weak_cost: the same where they have strength 4, so that a 64th of BCrypt's part is left.

    """
    return (strong_cost - weak_cost) / (1 - LEFT) / strong_cost
