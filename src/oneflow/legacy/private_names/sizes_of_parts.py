"""The sizes of the parts of a split dimension: `oneflow.framework.balanced_splitter`."""

from __future__ import annotations

from itertools import accumulate, pairwise


def sizes_of_parts(total: int, part_size: int) -> list[int]:
    """The sizes of `part_size` parts of `total` elements; the first ones may have one more.

    Example:
        >>> from oneflow.framework import balanced_splitter
        >>> balanced_splitter.BalancedPartNums(5, 3)
        [2, 2, 1]
    """
    size, larger = divmod(total, part_size)
    return [size + (part < larger) for part in range(part_size)]


def ranges_of_parts(total: int, part_size: int) -> list[tuple[int, int]]:
    """Return the begin and the end of each of these parts.

    Example:
        >>> from oneflow.framework import balanced_splitter
        >>> balanced_splitter.BalancedRanges(5, 3)
        [(0, 2), (2, 4), (4, 5)]
    """
    return list(pairwise(accumulate(sizes_of_parts(total, part_size), initial=0)))


BalancedPartNums, BalancedRanges = sizes_of_parts, ranges_of_parts
