"""Arithmetic of channel counts."""

from __future__ import annotations


def make_divisible(
    v: float, divisor: int = 8, min_value: int | None = None, round_limit: float = 0.9
) -> int:
    """Return the multiple of `divisor` nearest to `v`, but not much less than `v`.

    Args:
        v: a number of channels, such as a base width times a multiplier.
        divisor: a divisor of the result.
        min_value: the least result; by default `divisor`.
        round_limit: the least share of `v` to round down to; below it the next multiple is taken.

    Example:
        >>> from flowvision.layers import make_divisible
        >>> make_divisible(20), make_divisible(11), make_divisible(32 * 1.4)
        (24, 16, 48)
    """
    nearest = int(v + divisor / 2) // divisor * divisor
    result = max(divisor if min_value is None else min_value, nearest)
    return result + divisor if result < round_limit * v else result
