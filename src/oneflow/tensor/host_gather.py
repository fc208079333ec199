"""Parts at positions that are data, of a large memory that a tensor shares with an array.

An operator of the tensor would first look at the whole array, whose owner may have written to it.
The positions say which elements matter, so these alone are read.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow.base.spec import spec_of
from oneflow.differentiation.grad_mode import MODE
from oneflow.differentiation.hooks import TRANSFORMS
from oneflow.program.value import Value
from oneflow.runtime.lazy_array import copy_to_device
from oneflow.tensor.call import wrap
from oneflow.tensor.host_memory import numbers_of
from oneflow.tensor.reads import is_observed
from oneflow.tensor.storage import MEMORY_LOCK
from oneflow.tensor.tensor import Tensor


def gather_on_host(
    tensor: Tensor, dims: Sequence[int], positions: Sequence[Value], *, negative: bool
) -> Tensor | None:
    """Return the elements at positions along some dimensions, without a look at the others.

    Args:
        tensor: the tensor.
        dims: the dimensions.
        positions: integers for each of `dims`, of shapes that broadcast.
        negative: negative positions count from the end.

    Returns:
        A tensor as `primitives.operators.indexing.index` makes it; None if it is to be recorded:
        the memory is not a large one of the host, a gradient is asked for, somebody observes what
        is recorded, or a position does not exist.
    """
    family = tensor._family
    if family is None or family.storage.host is None or not family.storage.host.is_large:
        return None
    if tensor._value.node is not None or family.value.node is not None or MODE.inference:
        return None
    if TRANSFORMS.running or is_observed() or not all(type(p) is Value for p in positions):
        return None
    indices = [numbers_of(value) for value in positions]
    if not negative and any(index.size and index.min() < 0 for index in indices):
        return None
    spec = tensor._value.spec
    key: list[slice | np.ndarray] = [slice(None)] * spec.ndim
    for dim, index in zip(dims, indices, strict=True):
        key[dim] = index
    with MEMORY_LOCK:
        chain, storage = (*family.root_views(), *tensor._chain), family.storage
        host = storage.host
        array = None if host is None else host.current_part(storage, spec, chain)
        if array is None:
            return None
        try:
            numbers = np.asarray(array[tuple(key)])
        except IndexError:
            return None
    return wrap(copy_to_device(numbers, spec_of(numbers.shape, spec.dtype, spec.device)))
