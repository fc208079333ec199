"""The order in which readers go through what they read: epochs, shards and shuffling."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, islice
from typing import TypeVar

import numpy as np

from oneflow.data.randomness import numbers_from, random_numbers

_Item = TypeVar("_Item")


def random_order(seed: int | None, shard: int = 0) -> np.random.Generator:
    """Return the random numbers of a reader.

    Args:
        seed: where they start; None and -1 take it from `oneflow.manual_seed`.
        shard: readers of several shards draw different numbers from one seed.
    """
    return random_numbers() if seed in (None, -1) else numbers_from((int(seed or 0), shard))


def repeat_epochs(read_epoch: Callable[[int], Iterator[_Item]], what: str) -> Iterator[_Item]:
    """Yield the items of epoch 0, epoch 1, and so on.

    Raises:
        ValueError: an epoch has none.
    """
    for epoch in count():
        is_empty = True
        for item in read_epoch(epoch):
            is_empty = False
            yield item
        if is_empty:
            raise ValueError(f"{what} hold no records")


def shuffle_items(
    items: Iterator[_Item], buffer_size: int, random: np.random.Generator
) -> Iterator[_Item]:
    """Yield random ones of the next `buffer_size` items; `items` must not end."""
    buffer = list(islice(items, max(buffer_size, 1)))
    while True:
        position = random.integers(len(buffer))
        yield buffer[position]
        buffer[position] = next(items)


def shard_range(total: int, shard: int, shards: int) -> range:
    """Return the part of `range(total)` that a shard has; the first ones may have one more.

    Example:
        >>> from oneflow.data.readers.streams import shard_range
        >>> [shard_range(5, shard, 2) for shard in range(2)]
        [range(0, 3), range(3, 5)]
    """
    size, larger = divmod(total, shards)
    start = shard * size + min(shard, larger)
    return range(start, start + size + (shard < larger))


def epoch_orders(
    indices: Sequence[int], random: np.random.Generator | None
) -> Callable[[int], Iterator[int]]:
    """Return the function that gives the indices of an epoch, shuffled if there is `random`."""

    def read_epoch(epoch: int) -> Iterator[int]:
        order = np.asarray(indices) if random is None else random.permutation(indices)
        return iter(order.tolist())

    return read_epoch
