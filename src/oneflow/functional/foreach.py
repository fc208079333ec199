"""PyTorch's ``_foreach_`` functions: an operator on each tensor of a list.

Nothing is gained by them here, as eager programs are recorded and compiled as a whole; optimizers
and other programs that are written with them run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.functional.linalg.norms import vector_norm
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.tensor import Tensor

# Methods of tensors, which may be written in place: of one tensor alone, and with operands.
_UNARY = """
abs acos asin atan ceil cos cosh erf erfc exp expm1 floor frac lgamma log log10 log1p log2 neg
reciprocal round rsqrt sigmoid sign sin sinh sqrt tan tanh trunc
"""
_WITH_OPERANDS = "add clamp_max clamp_min div lerp mul pow sub"
# The methods that also accept numbers, by the functions that they implement.
_LIMITS = {"maximum": "clamp_min", "minimum": "clamp_max"}
# Methods that only make new tensors, and methods that only write.
_NEW = "clone max mm"
_WRITTEN = "copy_ zero_"


def _addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    return x.addcdiv(tensor1, tensor2, value=value)


def _addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, value: Any = 1) -> Tensor:
    return x.addcmul(tensor1, tensor2, value=value)


def _norm(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    return vector_norm(x, ord, dtype=dtype)


def _power_sum(x: Tensor, ord: Any = 2, dtype: Any = None) -> Tensor:
    wide = x if dtype is None else x.to(dtype)
    return (wide.abs() ** ord).sum()


def _method(name: str) -> Callable:
    def call(x: Any, *operands: Any, **options: Any) -> Tensor:
        if isinstance(x, Tensor):
            return getattr(x, name)(*operands, **options)
        # Only the base of a power may be a number.
        return x ** operands[0]

    return call


# Operands that may be given by name; other keywords are options of the operator.
_OPERANDS = ("other", "scalar", "scalars", "exponent", "tensor1", "tensor2", "tensors1", "src")
_OPERANDS += ("mat2", "weight", "weights", "value")


def _calls(name: str, first: Any, args: tuple, kwargs: dict[str, Any]) -> list[tuple]:
    """The arguments of the operator for each tensor.

    Raises:
        RuntimeError: there are no tensors, or lists differ in length.
    """
    operands = [first, *args, *(kwargs.pop(keyword) for keyword in _OPERANDS if keyword in kwargs)]
    lists = [operand for operand in operands if isinstance(operand, list | tuple)]
    if not lists or not lists[0]:
        raise RuntimeError(f"{name}: Tensor list must have at least one tensor.")
    count = len(lists[0])
    for tensors in lists:
        if len(tensors) != count:
            raise RuntimeError(
                f"{name}: lists must have the same number of elements, got {count} and "
                f"{len(tensors)}"
            )
    columns = [
        operand if isinstance(operand, list | tuple) else [operand] * count for operand in operands
    ]
    return list(zip(*columns, strict=True))


def _foreach(name: str, function: Callable) -> Callable:
    """The function that makes a tuple of new tensors."""

    def foreach(self: Any, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        calls = _calls(name, self, args, kwargs)
        return tuple([function(*operands, **kwargs) for operands in calls])

    foreach.__name__ = name
    foreach.__doc__ = f"`{name.removeprefix('_foreach_')}` of each tensor of a list, as a tuple."
    return foreach


def _foreach_inplace(name: str, function: Callable) -> Callable:
    """The function that writes to the tensors."""

    def foreach(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        for tensor, *operands in _calls(name, self, args, kwargs):
            result = function(before_write(tensor), *operands, **kwargs)
            write_result(tensor, result, name)

    foreach.__name__ = name
    foreach.__doc__ = f"`{name.removeprefix('_foreach_')}` of each tensor of a list."
    return foreach


def _foreach_method(name: str, method: str) -> Callable:
    """The function that calls a method, which writes, of each tensor."""

    def foreach(self: Sequence[Tensor], *args: Any, **kwargs: Any) -> None:
        for tensor, *operands in _calls(name, self, args, kwargs):
            getattr(tensor, method)(*operands, **kwargs)

    foreach.__name__ = name
    foreach.__doc__ = f"`{method}` of each tensor of a list."
    return foreach


def _functions() -> dict[str, Callable]:
    """All of them, by name."""
    both = {name: _method(name) for name in f"{_UNARY} {_WITH_OPERANDS}".split()}
    both |= {name: _method(method) for name, method in _LIMITS.items()}
    both |= {"addcdiv": _addcdiv, "addcmul": _addcmul}
    new = both | {name: _method(name) for name in _NEW.split()}
    new |= {"norm": _norm, "powsum": _power_sum}
    functions = {
        f"_foreach_{name}": _foreach(f"_foreach_{name}", function) for name, function in new.items()
    }
    for name, function in both.items():
        functions[f"_foreach_{name}_"] = _foreach_inplace(f"_foreach_{name}_", function)
    for name in _WRITTEN.split():
        functions[f"_foreach_{name}"] = _foreach_method(f"_foreach_{name}", name)
    return functions


globals().update(_functions())
