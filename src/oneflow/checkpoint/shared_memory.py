"""Tensors of a file that share memory: which do, and where each lies in what the file has of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from oneflow.checkpoint.numpy_pickle import Budget
from oneflow.differentiation.grad_mode import no_grad
from oneflow.primitives.strides import is_row_major
from oneflow.tensor.call import wrap
from oneflow.tensor.copied_memory import as_part, has_negated_elements, part_of, views_to
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import replay
from oneflow.tensor.views import unwrap

# No dimension, stride or offset of a file is larger, so that sums of their products are exact.
_MAX_NUMBER = 2**48
# NumPy has no more dimensions.
_MAX_DIMS = 64


class MemoryLayout(NamedTuple):
    """The place of a tensor's elements in a memory, in elements.

    Attributes:
        shape: sizes.
        strides: distances between neighbours along each dimension.
        offset: the offset of the first element.
        is_conjugate: the tensor shows the conjugates of them.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    is_conjugate: bool

    @property
    def numel(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def end(self) -> int:
        """The position behind the last element."""
        steps = zip(self.shape, self.strides, strict=True)
        return self.offset + sum((size - 1) * stride for size, stride in steps) + 1

    def strided(self, numbers: np.ndarray) -> np.ndarray:
        """The view of a flat array."""
        steps = [stride * numbers.itemsize for stride in self.strides]
        return np.lib.stride_tricks.as_strided(numbers[self.offset :], self.shape, steps)

    def array(self, memory: np.ndarray) -> np.ndarray:
        """The tensor's numbers."""
        numbers = self.strided(memory.reshape(-1))
        return np.conj(numbers) if self.is_conjugate else numbers

    def tensor(self, memory: Tensor) -> Tensor:
        """The tensor, which shares `memory`."""
        part = (self.shape, self.strides, self.offset, self.is_conjugate, memory.dtype)
        return as_part(Tensor.__new__(Tensor), memory, views_to(part, unwrap(memory)))


def checked_layout(data: Any, memory: Tensor, budget: Budget) -> MemoryLayout:
    """The layout that a file describes of a part of `memory`.

    Raises:
        ValueError: it is none, reaches beyond the memory or shows its elements too often.
    """
    shape, strides, offset, is_conjugate = data
    numbers = (*shape, *strides, offset)
    if type(is_conjugate) is not bool or len(shape) != len(strides) or len(shape) > _MAX_DIMS:
        raise ValueError(f"{data!r} describes no part of a tensor")
    if any(type(number) is not int or not 0 <= number < _MAX_NUMBER for number in numbers):
        raise ValueError(f"{data!r} has numbers that are no sizes, strides and offset")
    layout = MemoryLayout(tuple(shape), tuple(strides), offset, is_conjugate)
    if not layout.numel or layout.end > memory.numel():
        raise ValueError(
            f"a part of shape {layout.shape} with strides {layout.strides} from {offset} on "
            f"reaches beyond a tensor of {memory.numel()} elements"
        )
    if is_conjugate and not memory.dtype.is_complex:
        raise ValueError(f"numbers of {memory.dtype!r} have no conjugates")
    budget.take(layout.numel * memory.dtype.itemsize)
    return layout


class SharedTensor(NamedTuple):
    """A tensor in a memory that others may share.

    Attributes:
        name: the name of its numbers.
        tensor: itself.
        description: its header in the file.
    """

    name: str
    tensor: Tensor
    description: dict[str, Any]


# Names with their layouts, in the order of positions.
_Group = list[tuple[str, MemoryLayout]]


class _Overlap(NamedTuple):
    """Tensors that have elements in common.

    Attributes:
        layouts: by name, in the order in which they were found.
        members: all tensors of the storage, by name.
        start: the first position of an element.
        end: the position behind the last one.
    """

    layouts: dict[str, MemoryLayout]
    members: dict[str, list[SharedTensor]]
    start: int
    end: int

    @property
    def first(self) -> SharedTensor:
        """The tensor that was found first."""
        return self.members[next(iter(self.layouts))][0]

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.first.tensor.dtype.itemsize

    def full_name(self) -> str | None:
        """The name of the tensor that is all of the memory, row by row."""
        return next((name for name in self.layouts if self._is_full(self.layouts[name])), None)

    def _is_full(self, layout: MemoryLayout) -> bool:
        is_plain = not layout.is_conjugate and is_row_major(layout.shape, layout.strides)
        return is_plain and layout.numel == self.end - self.start

    def memory(self) -> Tensor:
        """All of the memory that the tensors lie in, in one dimension."""
        root = self.first.tensor._family.storage.root()
        part = ((self.end - self.start,), (1,), self.start, False, root.spec.dtype)
        with no_grad():
            return wrap(replay(root, views_to(part, root)).alias())


def join_overlapping(
    members: list[SharedTensor], tensors: dict[str, Any], add: Callable[[Tensor, str], str]
) -> None:
    """Let tensors that have elements in common be parts of one that holds them all.

    Args:
        members: the tensors that may be such.
        tensors: tensors by name, what the file will hold.
        add: enters another tensor there, and returns its name.
    """
    by_storage: dict[int, dict[str, list[SharedTensor]]] = {}
    for member in members:
        by_name = by_storage.setdefault(id(member.tensor._family.storage), {})
        by_name.setdefault(member.name, []).append(member)
    groups = [
        overlap
        for group in by_storage.values()
        if len(group) > 1
        for overlap in _overlapping_groups(group)
    ]
    # A reader refuses a file that becomes much larger than it is.
    budget = Budget(sum((overlap.end - overlap.start) * overlap.itemsize for overlap in groups))
    for overlap in groups:
        cost = sum(layout.numel for layout in overlap.layouts.values()) * overlap.itemsize
        if budget.allows(cost):
            budget.take(cost)
            _join(overlap, tensors, add)


def _join(overlap: _Overlap, tensors: dict[str, Any], add: Callable[[Tensor, str], str]) -> None:
    memory_name = overlap.full_name() or add(overlap.memory(), f"{overlap.first.name}#memory")
    for name, layout in overlap.layouts.items():
        if name == memory_name:
            continue
        del tensors[name]
        layout = layout._replace(offset=layout.offset - overlap.start)
        for member in overlap.members[name]:
            # A kind of its own: no reader that does not know it takes the whole for the part.
            place = {key: value for key, value in member.description.items() if key != "tensor"}
            member.description.clear()
            member.description.update(part=memory_name, layout=layout, **place)


def _overlapping_groups(members: dict[str, list[SharedTensor]]) -> Iterator[_Overlap]:
    """The tensors of one storage, as far as they have elements in common."""
    layouts: dict[str, MemoryLayout] = {}
    for name, (member, *_) in members.items():
        tensor = member.tensor
        if tensor.numel() and not has_negated_elements(tensor):
            shape, strides, offset, is_conjugate, dtype = part_of(tensor)
            # PyTorch does not save numbers that tensors of several types share.
            if dtype is tensor._family.storage.value.spec.dtype:
                layouts[name] = MemoryLayout(shape, strides, offset, is_conjugate)
    order = {name: index for index, name in enumerate(layouts)}
    for group in _groups(layouts):
        if _has_common(group):
            overlapping = dict(sorted(group, key=lambda item: order[item[0]]))
            end = max(layout.end for layout in overlapping.values())
            yield _Overlap(overlapping, members, group[0][1].offset, end)


def _groups(layouts: dict[str, MemoryLayout]) -> Iterator[_Group]:
    """The layouts whose ranges of positions overlap."""
    group: _Group = []
    end = 0
    for name, layout in sorted(layouts.items(), key=lambda item: item[1].offset):
        if group and layout.offset >= end:
            yield group
            group = []
        group.append((name, layout))
        end = max(end, layout.end)
    if group:
        yield group


def _has_common(group: _Group) -> bool:
    """Return whether a position belongs to two layouts: columns of a matrix have none in common."""
    if len(group) < 2:
        return False
    start = group[0][1].offset
    seen = np.zeros(max(layout.end for _, layout in group) - start, np.bool_)
    for _, layout in group:
        positions = layout._replace(offset=layout.offset - start).strided(seen)
        if positions.any():
            return True
        positions[...] = True
    return False
