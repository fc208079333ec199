"""Views that a data loader reads: parts of arrays that are there, put together at once.

A data set whose samples are parts of a tensor would run an operation for each part, and one with as
many operands as there are samples to stack them. While a loader makes a batch in a thread, such
views are not recorded, and stacking finds their numbers in the arrays. Whatever else takes a view
records it, as if it had been made then.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from oneflow.base.device import CPU
from oneflow.base.spec import spec_of
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.hooks import TRANSFORMS
from oneflow.dispatch.call import cached_operation
from oneflow.dispatch.operand_casts import CASTING
from oneflow.primitives.operators.shape import select
from oneflow.program.value import Value, new_value
from oneflow.runtime.checks import unknown_arrays
from oneflow.runtime.lazy_array import HOST, HostArray
from oneflow.runtime.memory import wrap_array
from oneflow.runtime.small_programs import has_array, read_part
from oneflow.tensor.call import wrap
from oneflow.tensor.reads import is_observed
from oneflow.tensor.storage import MEMORY_LOCK
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import ViewCall, ViewChain
from oneflow.tensor.views import Family, join, share, unwrap
from oneflow.tuning.host_memory import empty_for_xla

_new = Tensor.__new__
_INTEGERS = frozenset({int})
_ALL = slice(None)


class _Samples(threading.local):
    """The part of a data loader that this thread runs.

    Attributes:
        is_active: it makes samples, or a batch of them.
    """

    is_active = False


SAMPLES = _Samples()


@contextlib.contextmanager
def make_samples() -> Iterator[None]:
    """Context manager: this thread makes samples, or a batch of them."""
    before, SAMPLES.is_active = SAMPLES.is_active, True
    try:
        yield
    finally:
        SAMPLES.is_active = before


def view_of_sample(base: Tensor, view_call: ViewCall) -> Tensor | None:
    """The view of a part of an array that is there, without a record of an operation.

    Args:
        base: the tensor.
        view_call: selects a part of it.

    Returns:
        The view; None if there is more to it, and it is to be recorded.
    """
    primitive, positions, attributes = view_call
    value, family = base._value, base._family
    spec = value.spec
    if spec.device is not CPU or type(value) is not Value or is_observed():
        return None
    if CASTING or TRANSFORMS.running or not _INTEGERS.issuperset(map(type, positions)):
        return None
    root = value if family is None else family.value
    if value.node is not None or root.node is not None or not has_array(root):
        return None
    if type(root.recorder) is HostArray and base._seen >= 0:
        return _view_on_host(base, view_call)
    operation = cached_operation(primitive, (value, *positions), attributes)
    if operation is None:
        return None
    view = _new(Tensor)
    view._value = new_value(operation.out_specs[0], None, None, -1)
    view._value.stale = value.stale
    view._family = share(base) if family is None else family
    view._chain = chain = ViewChain((*base._chain, view_call))
    if len(chain) == 1:
        chain.operation = operation
    view._seen = ~view._family.storage.version
    return view


def _view_on_host(base: Tensor, view_call: ViewCall) -> Tensor | None:
    """The view of a part of an array that is kept on the host, with its numbers."""
    value = unwrap(base)
    array = value.recorder
    numbers = part_of(array.numbers, (view_call,)) if type(array) is HostArray else None
    if numbers is None:
        return None
    spec = spec_of(numbers.shape, value.spec.dtype, value.spec.device)
    return join(wrap(HostArray(spec, numbers).value()), base, view_call)


def part_of(numbers: Any, chain: Sequence[ViewCall]) -> Any:
    """The part of an array at the end of a chain of views; None if these do more than select."""
    for primitive, positions, attributes in chain:
        if primitive is select and attributes["dims"] == _leading(len(positions)):
            numbers = numbers[positions]
            continue
        box = primitive.view_rule.box
        if box is None or not _INTEGERS.issuperset(map(type, positions)):
            return None
        index: list[Any] = [_ALL] * numbers.ndim
        for dim, (start, size, step) in box(*positions, **attributes).items():
            index[dim] = start if size is None else slice(start, start + size * step, step)
        numbers = numbers[tuple(index)]
    return numbers


def _leading(count: int) -> tuple[int, ...]:
    return (0,) if count == 1 else tuple(range(count))


def stack_samples(tensors: Sequence[Tensor], dim: int) -> Tensor | None:
    """Stack samples by copying their numbers on the host.

    Args:
        tensors: of one shape and dtype.
        dim: the new dimension.

    Returns:
        The batch; None if a sample is yet to be computed, or there is more to it, and it is to be
        recorded.
    """
    spec = tensors[0]._value.spec
    if spec.device is not CPU or spec.sbp is not None or MODE.inference:
        return None
    if TRANSFORMS.running or is_observed():
        return None
    shape = (*spec.shape[:dim], len(tensors), *spec.shape[dim:])
    batch = _copied(tensors, dim, empty_for_xla(shape, spec.dtype.numpy))
    if batch is None:
        return None
    batch_spec = spec_of(shape, spec.dtype, CPU)
    if HOST.keeps_arrays:
        return wrap(HostArray(batch_spec, batch).value())
    return wrap(Value(batch_spec, wrap_array(batch, CPU)))


def _copied(tensors: Sequence[Tensor], dim: int, batch: np.ndarray) -> np.ndarray | None:
    """Fill a batch with the numbers of samples; None if they are not there."""
    reader = _Reader()
    rows = _rows_of_one(tensors) if dim == 0 else None
    if rows is not None:
        root = reader.root(tensors[0]._family)
        if root is None:
            return None
        if root.flags.c_contiguous and root.flags.aligned:
            # No position is clipped: they have been checked. Without it NumPy copies once more.
            return np.take(root, rows, 0, batch, "clip")
    arrays = []
    for tensor in tensors:
        numbers = reader.numbers(tensor)
        if numbers is None:
            return None
        arrays.append(numbers)
    return np.stack(arrays, dim, batch)


def _rows_of_one(tensors: Sequence[Tensor]) -> list[int] | None:
    """The positions of samples that are rows of one memory; None if they are not."""
    family = tensors[0]._family
    rows = []
    for tensor in tensors:
        chain = tensor._chain
        if tensor._seen >= 0 or tensor._family is not family or len(chain) != 1:
            return None
        primitive, positions, attributes = chain[0]
        if primitive is not select or attributes["dims"] != (0,):
            return None
        rows.append(positions[0])
    return rows


class _Reader:
    """Reads the numbers of tensors on the host, without waiting for what computes them.

    Many are parts of one memory, which is looked at once.
    """

    def __init__(self) -> None:
        self._roots: dict[int, Any] = {}
        self._unknown = unknown_arrays()

    def numbers(self, tensor: Tensor) -> Any:
        """The numbers of a tensor; None if they are not there, or it has a history."""
        value, family = tensor._value, tensor._family
        if type(value) is not Value or value.node is not None:
            return None
        if family is None or (tensor._seen >= 0 and family.storage.host is None):
            return self._read(value if family is None else unwrap(tensor))
        root = self.root(family)
        return None if root is None else part_of(root, tensor._chain)

    def root(self, family: Family) -> Any:
        """The numbers of the root of the family of tensors as they are now."""
        key = id(family)
        if key not in self._roots:
            self._roots[key] = self._read_root(family)
        return self._roots[key]

    def _read_root(self, family: Family) -> Any:
        with MEMORY_LOCK:
            storage, chain = family.storage, family.root_views()
            host = storage.host
            if host is not None and family.value.node is None:
                numbers = host.current_part(storage, family.value.spec, chain)
                if numbers is not None:
                    return numbers
            return self._read(family.current())

    def _read(self, value: Value) -> Any:
        if value.node is not None or id(value.array) in self._unknown:
            return None
        return read_part(value, ())
