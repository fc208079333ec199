"""Pipes that take samples in another order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from oneflow.data.datapipes import IterDataPipe, MapDataPipe
from oneflow.data.randomness import random_seed
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import Shuffler


class ShufflerIterDataPipe(Shuffler, IterDataPipe):
    """The samples of a pipe by key, in random order.

    Args:
        datapipe: the source.
        indices: its keys; None: 0, 1, and so on.
    """

    def __init__(self, datapipe: Any, *, indices: list[Any] | None = None) -> None:
        super().__init__()
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._shuffled_indices: list[Any] = self.indices

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            for index in self.indices:
                yield self.datapipe[index]
            return
        while self._shuffled_indices:
            yield self.datapipe[self._shuffled_indices.pop()]

    def reset(self) -> None:
        """Begin another order."""
        self._rng.seed(random_seed() if self._enabled and self._seed is None else self._seed)
        self._seed = None
        self._shuffled_indices = self._rng.sample(self.indices, len(self.indices))

    def __len__(self) -> int:
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
