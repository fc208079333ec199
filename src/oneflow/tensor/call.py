"""From tensors to values and back: how functions apply primitives."""

from __future__ import annotations

from typing import Any

from oneflow.dispatch.call import bind
from oneflow.primitives.registry import Primitive
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.view_chain import ViewStep
from oneflow.tensor.views import join, unwrap

_new = Tensor.__new__


def wrap(value: Any) -> Tensor:
    """A tensor that holds `value`."""
    tensor = _new(Tensor)
    tensor._value = value
    return tensor


_NO_ATTRIBUTES: dict[str, Any] = {}


def call_one(primitive: Primitive, x: Tensor) -> Tensor:
    """`call` of a primitive of one operand, without attributes, that has one result."""
    value = x._value if x._family is None else unwrap(x)
    tensor = _new(Tensor)
    tensor._value = bind(primitive, (value,), _NO_ATTRIBUTES)
    return tensor


def call_two(primitive: Primitive, x: Tensor, y: Any) -> Tensor:
    """`call` of a primitive of a tensor and a tensor or number, likewise."""
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


def call_view(primitive: Primitive, base: Tensor, *numbers: Any, **attributes: Any) -> Tensor:
    """Apply a view primitive; the result shares memory with `base`."""
    return apply_view_step(base, (primitive, numbers, attributes))


def apply_view_step(base: Tensor, step: ViewStep) -> Tensor:
    """The view that `step` makes of `base`, with which it shares memory."""
    primitive, numbers, attributes = step
    value = base._value if base._family is None else unwrap(base)
    view = _new(Tensor)
    view._value = bind(primitive, (value, *numbers), attributes)
    return join(view, base, step)
