"""Pipes that take samples in another order."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.data.randomness import random_seed
from oneflow.data.sampler import SequentialSampler
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import Shuffler, length_of


class SamplerIterDataPipe(IterDataPipe):
    """The numbers that a sampler gives for a pipe.

    Args:
        datapipe: the source, which has a length.
        sampler: the class of the sampler.
        sampler_args: its further arguments.
        sampler_kwargs: its arguments by name.
    """

    def __init__(
        self,
        datapipe: Any,
        sampler: type = SequentialSampler,
        sampler_args: tuple[Any, ...] | None = None,
        sampler_kwargs: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(datapipe, Sized):
            raise AssertionError("Sampler class requires input datapipe implemented `__len__`")
        self.datapipe = datapipe
        self.sampler_args = () if sampler_args is None else sampler_args
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.sampler)

    def __len__(self) -> int:
        return length_of(self, self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(Shuffler, IterDataPipe):
    """Samples in random order, drawn from a buffer that is filled from the source.

    Args:
        datapipe: the source.
        buffer_size: how many samples the buffer holds; as many as there are for any order.
        unbatch_level: how many levels of batches are taken apart before.
    """

    def __init__(self, datapipe: Any, *, buffer_size: int = 10000, unbatch_level: int = 0) -> None:
        super().__init__()
        if buffer_size <= 0:
            raise AssertionError("buffer_size should be larger than 0")
        if unbatch_level:
            datapipe = datapipe.unbatch(unbatch_level=unbatch_level)
        self.datapipe, self.buffer_size = datapipe, buffer_size
        self._buffer: list[Any] = []

    def __iter__(self) -> Iterator[Any]:
        if not self._enabled:
            yield from self.datapipe
            return
        for sample in self.datapipe:
            if len(self._buffer) < self.buffer_size:
                self._buffer.append(sample)
                continue
            position = self._rng.randint(0, len(self._buffer) - 1)
            next_sample, self._buffer[position] = self._buffer[position], sample
            yield next_sample
        while self._buffer:
            yield self._buffer.pop(self._rng.randint(0, len(self._buffer) - 1))

    def __len__(self) -> int:
        return length_of(self, self.datapipe)

    def reset(self) -> None:
        """Empty the buffer, and begin another order."""
        self._buffer = []
        if self._enabled:
            self._rng.seed(random_seed() if self._seed is None else self._seed)
            self._seed = None
