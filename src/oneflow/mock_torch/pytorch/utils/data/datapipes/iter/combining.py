"""Pipes of several pipes, and several pipes of one."""

from __future__ import annotations

import copy as copies
import warnings
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, Literal

from oneflow.data.datapipes import IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import length_of
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import (
    StreamWrapper,
    _check_unpickable_fn,
)


def _lengths(pipe: Any, sources: tuple[Any, ...]) -> list[int]:
    return [length_of(pipe, source) for source in sources]


def _check(sources: tuple[Any, ...]) -> None:
    if not all(isinstance(source, IterDataPipe) for source in sources):
        raise TypeError("Expected all inputs to be `IterDataPipe`")


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """The samples of several pipes, one pipe after the other.

    Args:
        datapipes: the sources.

    Raises:
        ValueError: there is none.
        TypeError: one is no `IterDataPipe`.
    """

    def __init__(self, *datapipes: Any) -> None:
        if not datapipes:
            raise ValueError("Expected at least one DataPipe, but got nothing")
        _check(datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self) -> int:
        return sum(_lengths(self, self.datapipes))


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One sample of each of several pipes in turn, until one has no more.

    Args:
        datapipes: the sources.
    """

    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[Any]:
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self) -> int:
        return min(_lengths(self, self.datapipes)) * len(self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of one sample of each of several pipes, as long as the shortest one.

    Args:
        datapipes: the sources.

    Raises:
        TypeError: one is no `IterDataPipe`.
    """

    def __init__(self, *datapipes: Any) -> None:
        _check(datapipes)
        self.datapipes = datapipes

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        yield from zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(_lengths(self, self.datapipes))


class _Shared(IterDataPipe, ABC):
    """A source of several pipes: it is read once, and the items that one pipe is ahead are kept."""

    def __init__(self, datapipe: Any, num_instances: int, buffer_size: int) -> None:
        self.main_datapipe, self.num_instances = datapipe, num_instances
        self.buffer_size = buffer_size
        if buffer_size < 0:
            warnings.warn(
                f"Unlimited buffer size is set for `{self._name}`, please be aware of OOM at "
                "random places",
                UserWarning,
                stacklevel=4,
            )
        self._forget()

    _name: str

    def _forget(self) -> None:
        """Begin anew: nothing has been read."""
        self._samples: Iterator[Any] | None = None
        self._is_exhausted = False
        self._reading: set[int] = set()
        self.buffers: list[deque[Any]] = [deque() for _ in range(self.num_instances)]

    def reset(self) -> None:
        """Begin anew; the streams that were kept stay open, as someone may still hold them."""
        self._forget()

    @abstractmethod
    def _read(self, samples: Iterator[Any]) -> None:
        """Read one sample into the buffers."""

    @abstractmethod
    def _ahead(self, instance_id: int) -> int:
        """Return how many samples wait while one of the pipes is read."""

    @abstractmethod
    def get_length_by_instance(self, instance_id: int) -> int:
        """Return the number of samples of one of the pipes."""

    def get_next_element_by_instance(self, instance_id: int) -> Iterator[Any]:
        """Yield the samples of one of the pipes."""
        if self._samples is None and not self._reading:
            self._samples = iter(self.main_datapipe)
            self._is_exhausted = False
            self._reading = set(range(self.num_instances))
        # An iterator of an earlier beginning may end after the next one has begun: it leaves these.
        buffer, reading = self.buffers[instance_id], self._reading
        try:
            while instance_id in reading:
                if 0 <= self.buffer_size < self._ahead(instance_id):
                    raise BufferError(
                        f"`{self._name}`: buffer overflow, buffer size {self.buffer_size} is "
                        "insufficient."
                    )
                if buffer:
                    yield self._give(buffer.popleft())
                    continue
                if self._is_exhausted or self._samples is None:
                    return
                try:
                    self._read(self._samples)
                except StopIteration:
                    self._is_exhausted, self._samples = True, None
        finally:
            reading.discard(instance_id)
            if not self._reading:
                self._samples = None
            self._close(buffer)

    def _give(self, sample: Any) -> Any:
        return sample

    def _close(self, buffer: deque[Any]) -> None:
        """Close the streams that nobody will read."""
        while buffer:
            StreamWrapper.close_streams(buffer.popleft())

    def is_every_instance_exhausted(self) -> bool:
        """Return whether all pipes have been read to their ends."""
        return self._is_exhausted and not self._reading

    def __getstate__(self) -> Any:
        # Neither iterators nor what they have read ahead go to other processes.
        temporary = ("_samples", "_is_exhausted", "_reading", "buffers")
        state = {key: value for key, value in vars(self).items() if key not in temporary}
        return self.pickled_state(state)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._forget()


def _children(source: _Shared) -> list[Any]:
    return [_ChildDataPipe(source, number) for number in range(source.num_instances)]


def _check_count(num_instances: int) -> None:
    if num_instances < 1:
        raise ValueError(f"Expected `num_instances` larger than 0, but {num_instances} is found")


class _ChildDataPipe(IterDataPipe):
    """One of several pipes of a source.

    A second iterator of one of them makes all their iterators invalid, and the source begins anew.

    Args:
        main_datapipe: the source.
        instance_id: the number of this one.
    """

    _is_child_datapipe: bool = True

    def __init__(self, main_datapipe: Any, instance_id: int) -> None:
        if not isinstance(main_datapipe, _Shared):
            raise AssertionError("main_datapipe must implement _ContainerTemplate")
        self.main_datapipe, self.instance_id = main_datapipe, instance_id

    def __iter__(self) -> Iterator[Any]:
        return self.main_datapipe.get_next_element_by_instance(self.instance_id)

    def __len__(self) -> int:
        return self.main_datapipe.get_length_by_instance(self.instance_id)

    def _set_main_datapipe_valid_iterator_id(self) -> int:
        main = self.main_datapipe
        if main._valid_iterator_id is None:
            main._valid_iterator_id = 0
        elif main._valid_iterator_id == self._valid_iterator_id:
            main._valid_iterator_id += 1
            if not main.is_every_instance_exhausted():
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are "
                    "resetting the buffer and each child DataPipe will read from the start again.",
                    UserWarning,
                    stacklevel=5,
                )
            main.reset()
        self._valid_iterator_id = main._valid_iterator_id
        return main._valid_iterator_id

    def _check_valid_iterator_id(self, iterator_id: int) -> bool:
        return iterator_id == self._valid_iterator_id == self.main_datapipe._valid_iterator_id


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """Several pipes with all samples of one.

    Args:
        datapipe: the source.
        num_instances: the number of pipes.
        buffer_size: how far one of them may be ahead of another; -1: as far as it likes.
        copy: give each of them copies of the samples: `"shallow"` or `"deep"`.

    Raises:
        ValueError: there is no such number or copy.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        buffer_size: int = 1000,
        copy: Literal["shallow", "deep"] | None = None,
    ) -> Any:
        """Return the pipes."""
        _check_count(num_instances)
        if num_instances == 1:
            return datapipe
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, copy))


def _same(sample: Any) -> Any:
    return sample


class _ForkerIterDataPipe(_Shared):
    """The source of pipes that have all samples."""

    _name = "fork"

    def __init__(
        self, datapipe: Any, num_instances: int, buffer_size: int = 1000, copy: str | None = None
    ) -> None:
        functions = {None: _same, "shallow": copies.copy, "deep": copies.deepcopy}
        if copy not in functions:
            raise ValueError(
                f"Unknown copy method `{copy}` requested, choose one of None, `shallow` or `deep`."
            )
        self.copy_fn: Callable[[Any], Any] = functions[copy]
        super().__init__(datapipe, num_instances, buffer_size)

    def _read(self, samples: Iterator[Any]) -> None:
        sample = next(samples)
        for number in self._reading:
            self.buffers[number].append(sample)

    def _ahead(self, instance_id: int) -> int:
        return max(map(len, self.buffers))

    def _give(self, sample: Any) -> Any:
        return self.copy_fn(sample)

    def _close(self, buffer: deque[Any]) -> None:
        # Another pipe may give out the same stream.
        if self._reading:
            buffer.clear()
        else:
            super()._close(buffer)

    def get_length_by_instance(self, instance_id: int) -> int:
        return len(self.main_datapipe)

    def __len__(self) -> int:
        return len(self.main_datapipe)


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes, among which the samples of one are divided.

    Args:
        datapipe: the source.
        num_instances: the number of pipes.
        classifier_fn: returns the number of a sample's pipe, or None.
        drop_none: leave samples out for which it returns None.
        buffer_size: how many samples may wait for their pipes to be read; -1: as many as there are.

    Raises:
        ValueError: there is no such number.
    """

    def __new__(
        cls,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool = False,
        buffer_size: int = 1000,
    ) -> Any:
        """Return the pipes."""
        _check_count(num_instances)
        _check_unpickable_fn(classifier_fn)
        return _children(
            _DemultiplexerIterDataPipe(
                datapipe, num_instances, classifier_fn, drop_none, buffer_size
            )
        )


class _DemultiplexerIterDataPipe(_Shared):
    """The source of pipes among which its samples are divided."""

    _name = "demux"

    def __init__(
        self,
        datapipe: Any,
        num_instances: int,
        classifier_fn: Callable[[Any], int | None],
        drop_none: bool,
        buffer_size: int,
    ) -> None:
        self.classifier_fn, self.drop_none = classifier_fn, drop_none
        super().__init__(datapipe, num_instances, buffer_size)

    def _read(self, samples: Iterator[Any]) -> None:
        sample = next(samples)
        number = self.classifier_fn(sample)
        if number is None and self.drop_none:
            StreamWrapper.close_streams(sample)
            return
        if number is None or not 0 <= number < self.num_instances:
            raise ValueError(
                "Output of the classification fn should be between 0 and "
                f"{self.num_instances - 1}. {number} is returned."
            )
        self.buffers[number].append(sample)

    def _ahead(self, instance_id: int) -> int:
        return sum(map(len, self.buffers)) - len(self.buffers[instance_id])

    def get_length_by_instance(self, instance_id: int) -> int:
        raise TypeError("a pipe of `demux` has no length before it is read")
