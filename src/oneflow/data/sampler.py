"""Samplers: in which order samples are taken. Random ones draw once, when iteration begins."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from oneflow.base.keywords import KeywordSuggestion
from oneflow.data.randomness import random_numbers
from oneflow.random.generator import Generator
from oneflow.tensor.tensor import Tensor
from oneflow.tuning.host_memory import require_host_memory

T_co = TypeVar("T_co", covariant=True)


class Sampler(KeywordSuggestion, Generic[T_co]):
    """Base class of samplers. A class of your own defines `__iter__` and perhaps `__len__`.

    Args:
        data_source: accepted for compatibility.

    Example:
        >>> import oneflow as flow
        >>> class EverySecond(flow.utils.data.Sampler):
        ...     def __iter__(self):
        ...         return iter(range(0, 5, 2))
        >>> list(flow.utils.data.DataLoader("abcde", sampler=EverySecond(), batch_size=2))
        [['a', 'c'], ['e']]
    """

    def __init__(self, data_source: Sized | None = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} must define `__iter__`")


class SequentialSampler(Sampler[int]):
    """Samples in their order.

    Args:
        data_source: the data set.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.SequentialSampler("abc"))
        [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples in random order.

    Args:
        data_source: the data set.
        replacement: a sample may come several times.
        num_samples: how many to take, default as many as there are.
        generator: where the order comes from, default the default generator.

    Raises:
        ValueError: `num_samples` is not an integer of at least 1.

    Example:
        >>> import oneflow as flow
        >>> sampler = flow.utils.data.RandomSampler(range(5), generator=flow.Generator())
        >>> sorted(sampler)
        [0, 1, 2, 3, 4]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(replacement, bool):
            raise TypeError(f"`replacement` must be a bool, got {replacement!r}")
        if num_samples is not None:
            _check_count("num_samples", num_samples)
        self.data_source = data_source
        self.replacement = replacement
        self.generator = generator
        self._num_samples = num_samples

    @property
    def num_samples(self) -> int:
        """The number of samples that are taken."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        total, sample_count = len(self.data_source), self.num_samples
        require_host_memory("RandomSampler", max(total, sample_count))
        random = random_numbers(self.generator)
        if self.replacement:
            yield from random.integers(total, size=sample_count).tolist() if total else []
            return
        rounds = -(-sample_count // total) if total else 0
        orders = [random.permutation(total) for _ in range(rounds)]
        yield from np.concatenate(orders)[:sample_count].tolist() if orders else []

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given samples in random order.

    Args:
        indices: numbers of samples.
        generator: where the order comes from, default the default generator.

    Example:
        >>> import oneflow as flow
        >>> sorted(flow.utils.data.SubsetRandomSampler([2, 5, 7]))
        [2, 5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        require_host_memory("SubsetRandomSampler", len(self.indices))
        order = random_numbers(self.generator).permutation(len(self.indices))
        for position in order.tolist():
            yield self.indices[position]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Samples drawn with the given probabilities.

    Args:
        weights: how likely each sample is; they need not add up to 1.
        num_samples: how many to draw.
        replacement: a sample may come several times.
        generator: where the draws come from, default the default generator.

    Raises:
        ValueError: more samples than have a weight are asked for without replacement, or weights
            are unusable.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.WeightedRandomSampler([0.0, 1.0], num_samples=3))
        [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        _check_count("num_samples", num_samples)
        self.weights = np.asarray(weights, np.float64)
        if self.weights.ndim != 1 or (self.weights < 0).any() or not self.weights.sum() > 0:
            raise ValueError("`weights` must be a row of numbers, not negative and not all zero")
        if not replacement and num_samples > np.count_nonzero(self.weights):
            raise ValueError(
                f"cannot draw {num_samples} different samples: "
                f"only {np.count_nonzero(self.weights)} have a weight"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        require_host_memory("WeightedRandomSampler", self.num_samples)
        probs = self.weights / self.weights.sum()
        random = random_numbers(self.generator)
        samples = random.choice(len(probs), self.num_samples, self.replacement, probs)
        yield from samples.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Groups what another sampler gives into lists.

    Args:
        sampler: gives numbers of samples.
        batch_size: length of the lists.
        drop_last: leave out a last list that is shorter.

    Example:
        >>> import oneflow as flow
        >>> list(flow.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        _check_count("batch_size", batch_size)
        if not isinstance(drop_last, bool):
            raise ValueError(f"`drop_last` must be a bool, got {drop_last!r}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        return self._batches(iter(self.sampler))

    def _batches(self, numbers: Iterator[int]) -> Iterator[list[int]]:
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        sampler: Any = self.sampler
        full, rest = divmod(len(sampler), self.batch_size)
        return full if self.drop_last or not rest else full + 1


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"`{name}` must be an integer of at least 1, got {value!r}")
