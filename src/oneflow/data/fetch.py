"""From the numbers of samples, or from a stream, to a batch. Loader and workers share it."""

from __future__ import annotations

import itertools
import reprlib
from collections.abc import Callable, Iterable
from typing import Any

from oneflow.data.collate import (
    collate_arrays,
    collate_in_worker,
    convert_arrays,
    default_collate,
    default_convert,
)
from oneflow.data.dataset import IterableDataset, Subset, TensorDataset
from oneflow.tensor.sample_views import make_samples

_HINT = "an iterator that has ended is asked for more: give `next` a default or check its end"
# The default functions, and their forms that leave making tensors to the end.
_ARRAY_FUNCTIONS = ((default_collate, collate_arrays), (default_convert, convert_arrays))


class EndOfStream(Exception):
    """An iterable data set has no more samples.

    It is not `StopIteration`, which a data set or `collate_fn` may also raise by mistake: an
    unguarded `next` would then end an epoch as if it were complete.
    """


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
        # A function of a user need not be hashable.
        arrays = (arrays for function, arrays in _ARRAY_FUNCTIONS if function is collate)
        self._collate = next(arrays, collate)
        self._ready_made = collate is default_collate and _has_tensor_rows(dataset)
        self._batched, self._batch_size, self._drop_last = batched, batch_size, drop_last
        self._stream: Any = None

    def send_batches(self) -> None:
        """Batches go to another process: it makes their tensors."""
        if self._collate is collate_arrays:
            self._collate = collate_in_worker

    def start(self) -> None:
        """Begin an epoch."""
        if isinstance(self.dataset, IterableDataset):
            self._stream = iter(self.dataset)

    def fetch(self, numbers: Any) -> Any:
        """The batch of the samples with these numbers; the next one of a stream.

        Raises:
            EndOfStream: the stream has ended.
            RuntimeError: the data set or `collate_fn` raised `StopIteration`.
        """
        with make_samples():
            return self._fetch(numbers)

    def _fetch(self, numbers: Any) -> Any:
        if self._stream is not None:
            content = self._from_stream()
        elif not self._batched:
            content = self._samples((numbers,))[0]
        elif self._ready_made:
            return convert_arrays(_rows(self.dataset, numbers))
        elif hasattr(self.dataset, "__getitems__"):
            content = self._samples_at_once(numbers)
        else:
            content = self._samples(numbers)
        try:
            return self._collate(content)
        except StopIteration as error:
            raise RuntimeError(f"`collate_fn` raised StopIteration; {_HINT}") from error

    def _samples(self, numbers: Iterable[Any]) -> list:
        """The samples with these numbers, one after the other."""
        samples, number = [], None
        try:
            for number in numbers:
                samples.append(self.dataset[number])
        except StopIteration as error:
            raise RuntimeError(
                f"`__getitem__` of the data set raised StopIteration for index {number!r}; {_HINT}"
            ) from error
        return samples

    def _samples_at_once(self, numbers: Any) -> Any:
        try:
            return self.dataset.__getitems__(numbers)
        except StopIteration as error:
            raise RuntimeError(
                f"`__getitems__` of the data set raised StopIteration for the indices "
                f"{reprlib.repr(numbers)}; {_HINT}"
            ) from error

    def _from_stream(self) -> Any:
        """The next sample, or list of samples, of the stream."""
        size = (self._batch_size or 0) if self._batched else 1
        samples = list(itertools.islice(self._stream, size))
        if not samples or (self._drop_last and len(samples) < size):
            raise EndOfStream
        return samples if self._batched else samples[0]


def _has_tensor_rows(dataset: Any) -> bool:
    """Return whether a batch can be taken from tensors at once."""
    if type(dataset) is Subset:
        return _has_tensor_rows(dataset.dataset)
    return type(dataset) is TensorDataset


def _rows(dataset: Any, numbers: list[int]) -> tuple:
    if type(dataset) is Subset:
        return _rows(dataset.dataset, [dataset.indices[number] for number in numbers])
    return dataset.take(numbers)
