"""Parts that pipes of iterators and pipes by key have in common."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Self

from oneflow.data.datapipes import DataChunk


class Shuffler:
    """The switch and the seed of a pipe that shuffles."""

    def __init__(self) -> None:
        self._enabled = True
        self._seed: int | None = None
        self._rng = random.Random()

    def set_shuffle(self, shuffle: bool = True) -> Self:
        """Switch shuffling on or off; returns the pipe."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed: int) -> Self:
        """Set what the order of the next iterator comes from; returns the pipe."""
        self._seed = seed
        return self


class BatcherDataPipe:
    """The arguments and the length of a pipe of batches.

    Args:
        datapipe: the source.
        batch_size: the number of samples in a batch.
        drop_last: leave out the last batch if it is not full.
        wrapper_class: what a batch is made as.
    """

    def __init__(
        self,
        datapipe: Any,
        batch_size: int,
        drop_last: bool = False,
        wrapper_class: Callable[[list[Any]], Any] = DataChunk,
    ) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __len__(self) -> int:
        length, size = length_of(self, self.datapipe), self.batch_size
        return length // size if self.drop_last else -(-length // size)


def length_of(pipe: Any, source: Any) -> int:
    """Return the length of what a pipe reads from.

    Raises:
        TypeError: it has none.
    """
    try:
        return len(source)
    except TypeError:
        raise TypeError(f"{type(pipe).__name__} instance doesn't have valid length") from None
