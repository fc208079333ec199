"""Data sets: samples by number, or one after the other."""

from __future__ import annotations

import bisect
import contextlib
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from oneflow.base.keywords import KeywordSuggestion
from oneflow.data.randomness import random_numbers
from oneflow.random.generator import Generator, default_generator
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tuning.host_memory import require_host_memory

T_co = TypeVar("T_co", covariant=True)


class Samples(Protocol[T_co]):
    """Anything that has samples by number: a data set, a list, a range."""

    def __getitem__(self, index: Any, /) -> T_co:
        """Return a sample."""
        ...


class Dataset(KeywordSuggestion, Generic[T_co]):
    """Samples by number. A class of your own defines `__getitem__` and mostly `__len__`.

    It may also define ``__getitems__(indices)``, which returns a list of samples at once.

    Example:
        >>> import oneflow as flow
        >>> class Squares(flow.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 4
        ...
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> [batch.tolist() for batch in flow.utils.data.DataLoader(Squares(), batch_size=2)]
        [[0, 1], [4, 9]]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} must define `__getitem__`")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """Samples one after the other. A class of your own defines `__iter__`.

    With several worker processes each has a copy: use `get_worker_info` to give each a part of the
    samples.

    Example:
        >>> import oneflow as flow
        >>> class Count(flow.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> [batch.tolist() for batch in flow.utils.data.DataLoader(Count(), batch_size=2)]
        [[0, 1], [2]]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} must define `__iter__`")

    def __add__(self, other: Dataset[Any]) -> Dataset[Any]:
        return ChainDataset([self, other])


# The mark of data sets on their way to worker processes.
_SENT_TO_WORKERS: ContextVar[bool] = ContextVar("sent_to_workers", default=False)


@contextlib.contextmanager
def sending_to_workers() -> Iterator[None]:
    """Pickle data sets inside for worker processes, which know no tensors."""
    token = _SENT_TO_WORKERS.set(True)
    try:
        yield
    finally:
        _SENT_TO_WORKERS.reset(token)


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples that are the rows of tensors.

    Args:
        tensors: tensors with the same first size.

    Raises:
        ValueError: the first sizes differ.

    Example:
        >>> import oneflow as flow
        >>> data = flow.utils.data.TensorDataset(flow.arange(3), flow.zeros(3))
        >>> data[1]
        (tensor(1, dtype=oneflow.int64), tensor(0., dtype=oneflow.float32))
    """

    def __init__(self, *tensors: Tensor) -> None:
        sizes = [tensor.shape[0] for tensor in tensors]
        if len(set(sizes)) > 1:
            raise ValueError(f"Size mismatch between tensors: their first sizes are {sizes}")
        self.tensors: tuple[Any, ...] = tensors

    def __len__(self) -> int:
        return self.tensors[0].shape[0]

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([tensor[index] for tensor in self.tensors])

    def take(self, indices: list[int]) -> tuple[Any, ...]:
        """The samples with these numbers as one batch, by one gather per tensor."""
        order = np.asarray(indices, np.int64)
        if isinstance(self.tensors[0], Tensor):
            order = import_array(order, None, self.tensors[0].device)
        return tuple([tensor[order] for tensor in self.tensors])

    def __getstate__(self) -> dict[str, Any]:
        if not _SENT_TO_WORKERS.get():
            return self.__dict__
        # Worker processes get NumPy arrays: they would otherwise have to start XLA.
        arrays = [t.numpy() if isinstance(t, Tensor) else t for t in self.tensors]
        return {**self.__dict__, "tensors": tuple(arrays)}


class ConcatDataset(Dataset[T_co]):
    """Several data sets one behind the other.

    Args:
        datasets: data sets with numbered samples.

    Raises:
        ValueError: there are none.
        TypeError: one of them is iterable only.

    Example:
        >>> import oneflow as flow
        >>> len(flow.utils.data.ConcatDataset([range(3), range(2)]))
        5
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise ValueError("datasets should not be an empty iterable")
        if any(isinstance(dataset, IterableDataset) for dataset in self.datasets):
            raise TypeError("ConcatDataset does not support IterableDataset; use ChainDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """Return how many samples the first 1, 2, ... data sets have together."""
        return list(itertools.accumulate(map(len, sequence)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> T_co:
        if not -len(self) <= idx < len(self):
            raise IndexError(f"idx {idx} is out of range for {len(self)} samples")
        idx = idx % len(self)
        position = bisect.bisect_right(self.cumulative_sizes, idx)
        before = self.cumulative_sizes[position - 1] if position else 0
        return self.datasets[position][idx - before]


class StackDataset(Dataset[Any]):
    """Data sets side by side: each sample has one of each.

    Args:
        datasets: data sets of one length; samples are tuples.
        named: data sets by name instead; samples are dictionaries.

    Raises:
        ValueError: there are none, both ways are mixed, or the lengths differ.

    Example:
        >>> import oneflow as flow
        >>> data = flow.utils.data.StackDataset(image=range(3), label=range(10, 13))
        >>> data[1]
        {'image': 1, 'label': 11}
    """

    def __init__(self, *datasets: Any, **named: Any) -> None:
        if bool(datasets) == bool(named):
            raise ValueError("give data sets by position or by name: one at least, and not both")
        self.datasets: tuple[Any, ...] | dict[str, Any] = datasets or named
        lengths = [len(dataset) for dataset in datasets or named.values()]
        if len(set(lengths)) > 1:
            raise ValueError(f"Size mismatch between datasets: {lengths}")
        self._length = lengths[0]

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)


class ChainDataset(IterableDataset[T_co]):
    """Several iterable data sets one behind the other.

    Args:
        datasets: iterable data sets.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.utils.data import ChainDataset, IterableDataset
        >>> class Count(IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(ChainDataset([Count(), Count()]))
        [0, 1, 2, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        for dataset in self.datasets:
            if not isinstance(dataset, IterableDataset):
                raise TypeError(
                    f"ChainDataset only supports IterableDataset, got {type(dataset).__name__}"
                )

    def __iter__(self) -> Iterator[T_co]:
        return itertools.chain.from_iterable(self.datasets)

    def __len__(self) -> int:
        return sum(map(len, self.datasets))


class Subset(Dataset[T_co]):
    """Some of the samples of a data set.

    Args:
        dataset: the whole.
        indices: numbers of its samples.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.Subset("abcd", [3, 1]))
        ['d', 'b']
    """

    def __init__(self, dataset: Samples[T_co], indices: Sequence[int]) -> None:
        self.dataset: Any = dataset
        self.indices = indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, idx: Any) -> T_co:
        if isinstance(idx, list):
            return self.dataset[[self.indices[index] for index in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        selected = [self.indices[index] for index in indices]
        if hasattr(self.dataset, "__getitems__"):
            return self.dataset.__getitems__(selected)
        return [self.dataset[index] for index in selected]


def random_split(
    dataset: Samples[T_co],
    lengths: Sequence[int | float],
    generator: Generator = default_generator,
) -> list[Subset[T_co]]:
    """Split a data set into parts that do not overlap, at random.

    Args:
        dataset: the whole.
        lengths: numbers of samples that add up to all, or fractions that add up to 1.
        generator: where the order comes from.

    Raises:
        ValueError: the lengths do not add up.

    Example:
        >>> import oneflow as flow
        >>> [len(part) for part in flow.utils.data.random_split(range(10), [0.75, 0.25])]
        [8, 2]
    """
    source: Any = dataset
    total = len(source)
    counts = _counts_of(lengths, total)
    if sum(counts) != total:
        raise ValueError(
            "Sum of input lengths does not equal the length of the input dataset: "
            f"{list(lengths)} for {total} samples"
        )
    require_host_memory("random_split", total)
    order = random_numbers(generator).permutation(total).tolist()
    ends = list(itertools.accumulate(counts))
    return [
        Subset(source, order[end - count : end]) for count, end in zip(counts, ends, strict=True)
    ]


def _counts_of(lengths: Sequence[int | float], total: int) -> list[int]:
    """Fractions as numbers of samples; what rounding leaves over goes to the first parts."""
    if not math.isclose(sum(lengths), 1) or sum(lengths) > 1 + 1e-9:
        return [int(length) for length in lengths]
    if any(not 0 <= fraction <= 1 for fraction in lengths):
        raise ValueError(f"fractions must be between 0 and 1, got {list(lengths)}")
    if total == 1 and all(float(length).is_integer() for length in lengths):
        return [int(length) for length in lengths]
    counts = [math.floor(total * fraction) for fraction in lengths]
    for index in range(total - sum(counts)):
        counts[index % len(counts)] += 1
    return counts
