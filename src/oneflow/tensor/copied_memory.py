"""Memory that tensors share when they are copied, or sent to processes, together."""

from __future__ import annotations

import copyreg
import math
from sys import getrefcount
from typing import Any, TypeVar

from oneflow.base.placement import DeviceOrSharding
from oneflow.differentiation.grad_mode import no_grad
from oneflow.primitives.operators import strided
from oneflow.primitives.operators.elementwise import conj
from oneflow.primitives.operators.shape import reshape, slice_, transpose
from oneflow.primitives.operators.strided import bitcast, view_as_real
from oneflow.primitives.strides import row_major
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.storage import Storage
from oneflow.tensor.strides import storage_offset_of, strided_layout
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import device_or_sharding, import_array
from oneflow.tensor.view_chain import Chain, ViewCall, is_conjugate, replay, seen_as
from oneflow.tensor.views import start_family, unwrap

AnyTensor = TypeVar("AnyTensor", bound=Tensor)
# Shape, strides and offset; whether it shows conjugates; dtype. See `part_of`.
Part = tuple[tuple[int, ...], tuple[int, ...], int, bool, Any]


def copy_memory(result: Tensor, tensor: Tensor, memo: dict[Any, Any]) -> None:
    """Copy the memory of `tensor` into `result`, a tensor without values, without a history.

    Args:
        result: a new tensor.
        tensor: what is copied.
        memo: of `copy.deepcopy`: the memory copied before is found here.
    """
    family = tensor._family
    view_calls = () if family is None else (*family.root_views(), *tensor._chain)
    if family is None or is_conjugate(view_calls):  # a conjugate is copied alone, as in PyTorch
        result._value = unwrap(tensor).alias()
        return
    key = ("memory", id(family.storage))
    root = memo.get(key)
    if root is None and not view_calls:
        result._value = unwrap(tensor).alias()
        memo[key] = result
        return
    if root is None:
        root = memo[key] = wrap(family.storage.root().alias())
    as_part(result, root, view_calls)


def as_part(result: AnyTensor, root: Tensor, view_calls: Chain) -> AnyTensor:
    """Make `result`, which has no values, the detached view of `root` by `view_calls`."""
    with no_grad():
        value = replay(unwrap(root), view_calls)
    result._value = value.alias()
    start_family(result, root, view_calls).storage.track(result._value)
    return result


def is_shared(tensor: Tensor) -> bool:
    """Return whether a tensor is a part of its memory, or other tensors may have it, too."""
    family = tensor._family
    if family is None or unwrap(tensor).spec.sbp is not None or has_negated_elements(tensor):
        return False
    return bool(tensor._chain or family.root_views()) or not is_exclusive(tensor)


class Pointer:
    """A reference to an object, as a tensor has to its value and a value to its array."""

    __slots__ = ("target",)

    def __init__(self, target: Any) -> None:
        self.target = target


def is_exclusive(tensor: Tensor) -> bool:
    """Return whether nobody else has the memory of a tensor, nor its history."""
    family = tensor._family
    if family.storage.host is not None:
        return False
    return getrefcount(family) == _OF_FAMILY and getrefcount(family.storage) == _OF_STORAGE


def _references(owner: Any) -> tuple[int, int]:
    """The counts that `is_exclusive` finds for a family and a storage of one tensor alone."""
    family = owner.target
    return getrefcount(family), getrefcount(family.target)


_OF_FAMILY, _OF_STORAGE = _references(Pointer(Pointer(object())))


def has_negated_elements(tensor: Tensor) -> bool:
    """Return whether real numbers are seen in conjugates: memory has some with the other sign.

    Such a tensor is not a `Part` of its memory.
    """
    family, is_odd = tensor._family, False
    for primitive, _, _ in () if family is None else (*family.root_views(), *tensor._chain):
        is_odd ^= primitive is conj
        if is_odd and primitive in (view_as_real, bitcast):
            return True
    return False


def part_of(tensor: Tensor) -> Part:
    """Describe the part of its memory that a tensor is, in words that can be pickled."""
    layout = strided_layout(tensor)
    conjugate = tensor.dtype.is_complex and is_conjugate(
        (*tensor._family.root_views(), *tensor._chain)
    )
    return layout.shape, layout.strides, storage_offset_of(tensor), conjugate, tensor.dtype


def views_to(part: Part, root: Value) -> Chain:
    """The views that lead from the whole memory to a part of it."""
    shape, strides, offset, conjugate, dtype = part
    last = _dense_views(root.spec.numel, shape, strides, offset) if dtype is root.spec.dtype else ()
    if not last:
        where = {"shape": tuple(shape), "strides": tuple(strides), "offset": offset}
        last = ((strided.as_strided, (), where),)
    return (*seen_as(root.spec, dtype), *last, *(((conj, (), {}),) if conjugate else ()))


def _dense_views(
    count: int, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> Chain:
    """The views to a part whose elements have no others between them; nothing for other parts.

    Unlike `as_strided` they do not need the position of each element.
    """
    order = sorted(range(len(shape)), key=lambda dim: (strides[dim], shape[dim]), reverse=True)
    sizes = tuple([shape[dim] for dim in order])
    if 0 in sizes or row_major(sizes) != tuple([strides[dim] for dim in order]):
        return ()
    view_calls: list[ViewCall] = [(reshape, (), {"shape": (count,)})]
    if math.prod(sizes) != count:
        cut = {"dims": (0,), "sizes": (math.prod(sizes),), "steps": (1,)}
        view_calls.append((slice_, (offset,), cut))
    view_calls.append((reshape, (), {"shape": sizes}))
    perm = tuple([order.index(dim) for dim in range(len(shape))])
    if perm != tuple(range(len(shape))):
        view_calls.append((transpose, (), {"perm": perm}))
    return tuple(view_calls)


def _memory_from(array: Any, dtype: Any, device: DeviceOrSharding) -> Tensor:
    """The whole of a pickled memory."""
    return import_array(array, dtype, device)


def reduce_storage(storage: Storage) -> tuple[Any, ...]:
    """Reduce a memory to its numbers, dtype and device."""
    root = wrap(storage.root().alias())
    return _memory_from, (root.numpy(), root.dtype, device_or_sharding(storage.value.spec))


copyreg.pickle(Storage, reduce_storage)
