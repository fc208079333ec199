"""The registration of `Tensor` methods, which `oneflow.functional` fills."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_overloads, overload

from oneflow.base.composed_operand import ComposedOperandError
from oneflow.base.dtype import DType
from oneflow.differentiation.grad_mode import MODE
from oneflow.primitives.operators.elementwise import cast
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, with_history_of, write


def attach(name: str, function: Callable[..., Any] | property) -> None:
    """Make `function` the Tensor method, or property, `name`.

    Raises:
        ValueError: Tensor has something of that name.
    """
    if name in Tensor.__dict__:
        raise ValueError(f"Tensor already has `{name}`; names are unique")
    setattr(Tensor, name, function)


def attach_inplace(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the in-place form of `function` the Tensor method `name`, and return it."""

    @functools.wraps(inspect.unwrap(function))
    def inplace(self: Any, *args: Any, **kwargs: Any) -> Tensor:
        try:
            return write_result(self, function(before_write(self), *args, **kwargs), name)
        except ComposedOperandError:
            # A tensor made of others has methods of its own, or takes the parts of a result.
            own = _method_of_class(type(self), name)
            if own is not None:
                return own(self, *args, **kwargs)
            before = self.with_values(before_write(self._elements))
            return self.copy_(function(before, *args, **kwargs))

    inplace.__doc__ = f"In-place version of `{function.__name__}`."
    attach_defined(name, inplace)
    return inplace


def by_class(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method that is that of the class where it is called with a composed tensor."""

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return function(self, *args, **kwargs)
        except ComposedOperandError:
            own = _method_of_class(type(self), function.__name__)
            if own is None:
                raise
            return own(self, *args, **kwargs)

    return method


def _method_of_class(kind: type[Tensor], name: str) -> Callable[..., Any] | None:
    """The method of that name that a subclass of `Tensor` defines itself, if there is one."""
    classes = kind.__mro__[: kind.__mro__.index(Tensor)]
    return next((vars(base)[name] for base in classes if name in vars(base)), None)


def attach_defined(name: str, function: Callable[..., Any]) -> None:
    """Attach a function that no module has: it is named, and pickled, as the method."""
    function.__name__ = name
    function.__module__, function.__qualname__ = Tensor.__module__, f"Tensor.{name}"
    attach(name, function)


def attach_method(name: str, function: Callable[..., Any]) -> None:
    """Attach a function that is called as the method alone; its errors name the method."""
    overloads = get_overloads(function)
    named: list[Callable[..., Any]] = [*overloads]
    wrapped: Callable[..., Any] | None = function
    while wrapped is not None:
        named.append(wrapped)
        wrapped = getattr(wrapped, "__wrapped__", None)
    for member in named:
        member.__module__, member.__qualname__ = Tensor.__module__, f"Tensor.{name}"
    for form in overloads:  # Python finds them by these names
        overload(form)
    attach(name, function)


def before_write(target: Tensor) -> Tensor:
    """Return the tensor that an operation about to write into `target` computes from.

    Its backward pass may need the old value, which stays valid for it: only values that others
    saved become stale by the write.
    """
    if not MODE.enabled:
        return target
    value = unwrap(target)
    return wrap(with_history_of(value.alias(), value))


def write_result(target: Tensor, result: Tensor, name: str) -> Tensor:
    """Write the result of an operation into `target`.

    Raises:
        RuntimeError: its shape differs from the target's, or its dtype is of a higher category.
    """
    result_spec, target_spec = result._value.spec, target._value.spec
    if result_spec is target_spec:
        return write(target, unwrap(result))
    if result_spec.shape != target_spec.shape:
        raise RuntimeError(
            f"output with shape {list(target_spec.shape)} doesn't match the broadcast shape "
            f"{list(result_spec.shape)} in `{name}`"
        )
    return write(target, cast_value(result, target_spec.dtype, name))


def cast_value(result: Tensor, dtype: DType, name: str) -> Value:
    """The value of a result as `dtype`.

    Raises:
        RuntimeError: the dtype of the result is of a higher category.
    """
    if result.dtype.category > dtype.category:
        raise RuntimeError(
            f"result type {result.dtype.name} can't be cast to the desired output type "
            f"{dtype.name} in `{name}`"
        )
    value = unwrap(result)
    return value if result.dtype is dtype else cast(value, dtype=dtype)
