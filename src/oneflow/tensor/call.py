"""From tensors to values and back: how functions apply primitives."""

from __future__ import annotations

from typing import Any

from oneflow.dispatch.call import (
    OPERATION_TABLES,
    bind,
    cached_operation,
    find_operation,
    record,
)
from oneflow.dispatch.operand_casts import CASTING
from oneflow.primitives.operators.shape import reshape
from oneflow.primitives.registry import Primitive
from oneflow.program.value import Value, ValueOfClass, new_value
from oneflow.runtime.eager import current
from oneflow.tensor.host_memory import numbers_of
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import ViewCall, ViewChain
from oneflow.tensor.views import join, unwrap

_new = Tensor.__new__


def wrap(value: Any) -> Tensor:
    """A tensor that holds `value`."""
    if isinstance(value, ValueOfClass):
        return value.handle()
    tensor = _new(Tensor)
    tensor._value = value
    return tensor


_NO_ATTRIBUTES: dict[str, Any] = {}


def call_one(primitive: Primitive, x: Tensor) -> Tensor:
    """`call` of a primitive of one operand, without attributes, that has one result."""
    value = x._value if x._family is None else unwrap(x)
    operation = None if CASTING else find_operation((primitive, value.spec))
    tensor = _new(Tensor)
    if operation is None:
        tensor._value = bind(primitive, (value,), _NO_ATTRIBUTES)
    else:
        tensor._value = record(operation, (value,))
    return tensor


def call_two(primitive: Primitive, x: Tensor, y: Any) -> Tensor:
    """`call` of a primitive with a tensor, and a tensor or number."""
    first = x._value if x._family is None else unwrap(x)
    if isinstance(y, Tensor):
        y = y._value if y._family is None else unwrap(y)
    tensor = _new(Tensor)
    tensor._value = bind(primitive, (first, y), _NO_ATTRIBUTES)
    return tensor


def call(primitive: Primitive, *operands: Any, **attributes: Any) -> Any:
    """Apply a primitive to tensors and Python numbers; returns a tensor, or a tuple of them."""
    values = tuple(
        [
            (o._value if o._family is None else unwrap(o)) if isinstance(o, Tensor) else o
            for o in operands
        ]
    )
    result = bind(primitive, values, attributes)
    if type(result) is tuple:
        return tuple([wrap(value) for value in result])
    tensor = _new(Tensor)
    tensor._value = result
    return tensor


# The chain of a view by that of its base, the primitive, the spec of the base, and the numbers and
# attributes of the view.
_CHAIN_CACHE: dict[tuple[Any, ...], ViewChain] = {}
_MAX_CACHE_SIZE = 1 << 14
OPERATION_TABLES.append(_CHAIN_CACHE)
# Hashes of the keys that were looked up in vain: a chain is kept when it is wanted again, since one
# of many positions that a loop goes through once would only cost time.
_SEEN_ONCE: set[int] = set()


def call_view(primitive: Primitive, base: Tensor, *numbers: Any, **attributes: Any) -> Tensor:
    """Apply a view primitive; the result shares memory with `base`."""
    return apply_view(base, (primitive, numbers, attributes))


def apply_view(base: Tensor, view_call: ViewCall) -> Tensor:
    """The view that `view_call` makes of `base`, with which it shares memory."""
    family = base._family
    storage = None if family is None else family.storage
    if storage is None or (storage.host is None and base._seen == storage.version):
        value = base._value
    else:
        if storage.host is not None:
            view_call = _with_numbers(base._value.spec.shape, view_call)
            if (view := _view_of_host(base, view_call)) is not None:
                return view
        value = unwrap(base)
    primitive, numbers, attributes = view_call
    view, chain, key = _new(Tensor), None, None
    if not CASTING:
        key = (base._chain, primitive, value.spec, *numbers, *attributes.items())
        chain = _CHAIN_CACHE.get(key)
    if chain is not None:
        view._value = record(chain.operation, (value, *numbers))
    else:
        view._value = bind(primitive, (value, *numbers), attributes)
        if key is not None and len(_CHAIN_CACHE) < _MAX_CACHE_SIZE and _is_repeated(hash(key)):
            chain = _new_chain(base._chain, value, view_call)
    return join(view, base, view_call, chain)


def _with_numbers(shape: tuple[int, ...], view_call: ViewCall) -> ViewCall:
    """A view call whose positions are read if they are data, so that only that part is looked at.

    Positions that do not exist stay data: who reads the view gets the error.
    """
    primitive, numbers, attributes = view_call
    if current.capture is not None or all(type(number) is not Value for number in numbers):
        return view_call
    positions = [int(numbers_of(n)) if isinstance(n, Value) else n for n in numbers]
    sizes = [shape[dim] for dim in attributes["dims"]]
    exists = all(0 <= n < size for n, size in zip(positions, sizes, strict=True))
    return (primitive, tuple(positions), attributes) if exists else view_call


def _view_of_host(base: Tensor, view_call: ViewCall) -> Tensor | None:
    """A view of a memory of the host, which is read when somebody asks for it.

    None if there is more to it, and it is to be recorded.
    """
    value = base._value
    if value.node is not None or base._family.value.node is not None:
        return None
    if CASTING or current.capture is not None or not base._family.storage.host.is_large:
        return None
    primitive, numbers, attributes = view_call
    operation = cached_operation(primitive, (value, *numbers), attributes)
    if operation is None:
        return None
    pending = new_value(operation.out_specs[0], None, None, -1)
    pending.stale = value.stale
    view = join(wrap(pending), base, view_call)
    view._seen = ~base._family.storage.version
    return view


def view_of_all(alias: Tensor, base: Tensor) -> Tensor:
    """Make `alias`, a fresh tensor with the elements of `base`, a view of it.

    Gradients may reach the alias by another way than the base.
    """
    return join(alias, base, (reshape, (), {"shape": base._value.spec.shape}))


def _is_repeated(key_hash: int) -> bool:
    if key_hash in _SEEN_ONCE:
        return True
    if len(_SEEN_ONCE) >= _MAX_CACHE_SIZE:
        _SEEN_ONCE.clear()
    _SEEN_ONCE.add(key_hash)
    return False


def _new_chain(before: ViewChain, base: Value, view_call: ViewCall) -> ViewChain:
    """The chain `before`, which leads to `base`, and `view_call`; others find it again."""
    primitive, numbers, attributes = view_call
    chain = ViewChain((*before, view_call))
    chain.operation = cached_operation(primitive, (base, *numbers), attributes)
    if chain.operation is not None and all(type(number) is int for number in numbers):
        chain.is_kept = True
        _CHAIN_CACHE[before, primitive, base.spec, *numbers, *attributes.items()] = chain
    return chain
