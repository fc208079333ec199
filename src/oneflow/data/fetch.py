"""From the numbers of samples, or from a stream, to a batch. Loader and workers share it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from oneflow.data.collate import collate_arrays, convert_arrays, default_collate, default_convert
from oneflow.data.dataset import IterableDataset, Subset, TensorDataset

# The default functions, and their forms that leave making tensors to the end.
_UNFINISHED = {default_collate: collate_arrays, default_convert: convert_arrays}


class Fetcher:
    """Makes batches of a data set.

    Args:
        dataset: the data set.
        collate: makes a batch of a list of samples; of one sample if `batched` is False.
        batched: samples come in lists.
        batch_size: samples per batch of an iterable data set.
        drop_last: leave out a last batch of an iterable data set that is shorter.
    """

    def __init__(
        self,
        dataset: Any,
        collate: Callable[[Any], Any],
        batched: bool,
        batch_size: int | None,
        drop_last: bool,
    ) -> None:
        self.dataset = dataset
        self._collate = _UNFINISHED.get(collate, collate)
        self._ready_made = collate is default_collate and _consists_of_rows(dataset)
        self._batched, self._batch_size, self._drop_last = batched, batch_size, drop_last
        self._stream: Any = None

    def start(self) -> None:
        """Begin an epoch."""
        if isinstance(self.dataset, IterableDataset):
            self._stream = iter(self.dataset)

    def fetch(self, numbers: Any) -> Any:
        """The batch of the samples with these numbers; the next one of a stream.

        Raises:
            StopIteration: the stream has ended.
        """
        if self._stream is not None:
            return self._collate(self._from_stream())
        if not self._batched:
            return self._collate(self.dataset[numbers])
        if self._ready_made:
            return convert_arrays(_rows(self.dataset, numbers))
        if hasattr(self.dataset, "__getitems__"):
            return self._collate(self.dataset.__getitems__(numbers))
        return self._collate([self.dataset[number] for number in numbers])

    def _from_stream(self) -> Any:
        if not self._batched:
            return next(self._stream)
        size = self._batch_size or 0
        samples = list(itertools.islice(self._stream, size))
        if not samples or (self._drop_last and len(samples) < size):
            raise StopIteration
        return samples


def _consists_of_rows(dataset: Any) -> bool:
    """Whether a batch can be taken from tensors at once."""
    if type(dataset) is Subset:
        return _consists_of_rows(dataset.dataset)
    return type(dataset) is TensorDataset


def _rows(dataset: Any, numbers: list[int]) -> tuple:
    if type(dataset) is Subset:
        return _rows(dataset.dataset, [dataset.indices[number] for number in numbers])
    return dataset.take(numbers)
