"""Pipes of batches, groups and their samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from oneflow.data.datapipes import DataChunk, IterDataPipe, functional_datapipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.bases import BatcherDataPipe
from oneflow.mock_torch.pytorch.utils.data.datapipes.utils.common import _check_unpickable_fn


@functional_datapipe("batch")
class BatcherIterDataPipe(BatcherDataPipe, IterDataPipe):
    """Batches of samples.

    Args:
        datapipe: the source.
        batch_size: the number of samples in a batch.
        drop_last: leave out the last batch if it is not full.
        wrapper_class: what a batch is made as.
    """

    def __iter__(self) -> Iterator[Any]:
        batch: list[Any] = []
        for sample in self.datapipe:
            batch.append(sample)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)


@functional_datapipe("unbatch")
class UnBatcherIterDataPipe(IterDataPipe):
    """The samples of batches.

    Args:
        datapipe: the source, of batches.
        unbatch_level: how many levels are taken apart; -1: all.
    """

    def __init__(self, datapipe: Any, unbatch_level: int = 1) -> None:
        self.datapipe, self.unbatch_level = datapipe, unbatch_level

    def __iter__(self) -> Iterator[Any]:
        if self.unbatch_level < -1:
            raise ValueError("unbatch_level must be -1 or >= 0")
        for element in self.datapipe:
            yield from self._dive(element, self.unbatch_level)

    def _dive(self, element: Any, unbatch_level: int) -> Iterator[Any]:
        is_batch = isinstance(element, list)
        if unbatch_level == 0 or (unbatch_level == -1 and not is_batch):
            yield element
            return
        if not is_batch:
            raise IndexError(
                f"unbatch_level {self.unbatch_level} exceeds the depth of the DataPipe"
            )
        for item in element:
            yield from self._dive(item, max(unbatch_level - 1, -1))


@functional_datapipe("groupby")
class GrouperIterDataPipe(IterDataPipe):
    """Groups of samples for which a function returns the same key.

    A group is given out when it is full, the largest one when the buffer is, and the others at the
    end.

    Args:
        datapipe: the source.
        group_key_fn: the function.
        keep_key: give the key beside the group.
        buffer_size: how many samples wait for their groups.
        group_size: when a group is full; None: never.
        guaranteed_group_size: the least size of a group that is given out because the buffer is
            full.
        drop_remaining: leave out smaller ones then, instead of raising an error.
    """

    def __init__(
        self,
        datapipe: Any,
        group_key_fn: Callable[[Any], Any],
        *,
        keep_key: bool = False,
        buffer_size: int = 10000,
        group_size: int | None = None,
        guaranteed_group_size: int | None = None,
        drop_remaining: bool = False,
    ) -> None:
        _check_unpickable_fn(group_key_fn)
        has_sizes = group_size is not None and buffer_size is not None
        if has_sizes and group_size not in range(1, buffer_size + 1):
            raise AssertionError("group_size must be > 0 and <= buffer_size")
        if guaranteed_group_size is None:
            guaranteed_group_size = group_size if buffer_size is not None else None
        elif group_size is None or not 0 < guaranteed_group_size <= group_size:
            raise AssertionError(
                "guaranteed_group_size must be > 0 and <= group_size and group_size must be set"
            )
        self.datapipe, self.group_key_fn, self.keep_key = datapipe, group_key_fn, keep_key
        self.max_buffer_size, self.group_size = buffer_size, group_size
        self.guaranteed_group_size = guaranteed_group_size
        self.drop_remaining, self.wrapper_class = drop_remaining, DataChunk
        self.reset()

    def _take(self, key: Any) -> list[Any]:
        group = self.buffer_elements.pop(key)
        self.curr_buffer_size -= len(group)
        return group

    def _take_largest(self) -> tuple[Any, list[Any]] | None:
        key = max(self.buffer_elements, key=lambda key: len(self.buffer_elements[key]))
        least = self.guaranteed_group_size
        is_full = least is None or len(self.buffer_elements[key]) >= least
        if not is_full and not self.drop_remaining:
            raise RuntimeError("Failed to group items", str(self.buffer_elements[key]))
        group = self._take(key)
        return (key, group) if is_full else None

    def _result(self, key: Any, group: list[Any]) -> Any:
        chunk = self.wrapper_class(group)
        return (key, chunk) if self.keep_key else chunk

    def __iter__(self) -> Iterator[Any]:
        for sample in self.datapipe:
            key = self.group_key_fn(sample)
            self.buffer_elements[key].append(sample)
            self.curr_buffer_size += 1
            if len(self.buffer_elements[key]) == self.group_size:
                yield self._result(key, self._take(key))
            if self.curr_buffer_size == self.max_buffer_size:
                largest = self._take_largest()
                if largest is not None:
                    yield self._result(*largest)
        for key in list(self.buffer_elements):
            yield self._result(key, self._take(key))

    def reset(self) -> None:
        """Forget the samples that wait."""
        self.curr_buffer_size = 0
        self.buffer_elements: defaultdict[Any, list[Any]] = defaultdict(list)
