"""The functions and operators of nested tensors in one table, by name."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.base.composed_operand import NestedOperandError
from oneflow.functional.registry import COMPOSED_CALLS, FUNCTIONS
from oneflow.nested import operators
from oneflow.nested.attention import scaled_dot_product_attention
from oneflow.nested.padding import to_padded_tensor
from oneflow.nested.tensor import NestedTensor
from oneflow.tensor.tensor import Tensor

# Functions of elements.
_POINTWISE = """
    abs acos acosh add addcdiv addcmul alpha_dropout angle asin asinh atan atan2 atanh bernoulli
    bitwise_and bitwise_not bitwise_or bitwise_xor ceil celu clamp clamp_max clamp_min clone
    contiguous copysign cos cosh deg2rad detach digamma div dropout elu eq erf erfc erfinv exp exp2
    expm1 floor floor_divide fmod frac ge gelu gt hardshrink hardsigmoid hardswish hardtanh hypot
    isfinite isinf isnan le leaky_relu lerp lgamma log log10 log1p log2 logical_and logical_not
    logical_or logical_xor logit logsigmoid lt masked_fill maximum minimum mish mul nan_to_num ne
    neg positive pow quick_gelu rad2deg reciprocal relu relu6 remainder round rrelu rsqrt rsub selu
    sgn sigmoid sign silu sin sinc sinh softplus softshrink softsign sqrt square square_relu sub
    tan tanh tanhshrink threshold trunc where xlogy
    zeros_like ones_like full_like empty_like rand_like randn_like
"""
# Functions with arguments that name dimensions, of each component.
_ALONG_DIMENSIONS = """
    chunk cummax cummin cumprod cumsum flip glu log_softmax logcumsumexp movedim moveaxis narrow
    normalize permute roll select sort split squeeze swapaxes swapdims topk transpose unflatten
    unsqueeze flatten
"""
_REDUCTIONS = """
    all amax amin any argmax argmin count_nonzero logsumexp max mean min norm prod std sum var
"""
# Methods that are those of the values.
_CONVERSIONS = """
    to cpu cuda float double half bfloat16 long int short byte bool type_as pin_memory
"""
_IN_PLACE = "add sub mul div pow neg relu zero fill copy clamp exp sqrt sigmoid tanh masked_fill"
_SPECIAL: dict[str, Callable[..., Any]] = {
    "bmm": operators.bmm,
    "cat": operators.cat,
    "embedding": operators.embedding,
    "layer_norm": operators.norm_of_rows,
    "linear": operators.linear,
    "log_softmax": operators.softmax,
    "matmul": operators.matmul,
    "reshape": operators.reshape,
    "rms_norm": operators.norm_of_rows,
    "scaled_dot_product_attention": scaled_dot_product_attention,
    "softmax": operators.softmax,
    "view": operators.reshape,
}


def _table() -> dict[str, Callable[..., Any]]:
    table: dict[str, Callable[..., Any]] = dict.fromkeys(_POINTWISE.split(), operators.pointwise)
    table |= dict.fromkeys(_ALONG_DIMENSIONS.split(), operators.along_dimensions)
    table |= dict.fromkeys(_REDUCTIONS.split(), operators.reduction)
    return table | _SPECIAL


NESTED_FUNCTIONS = _table()


@COMPOSED_CALLS[NestedOperandError].fill
def call(name: str, args: tuple, kwargs: dict[str, Any]) -> Any:
    """Compute a function of nested tensors.

    Args:
        name: the function's name.
        args: its arguments.
        kwargs: its keyword arguments.

    Raises:
        NestedOperandError: it takes none, or `out=` is given.
    """
    if kwargs.get("out") is not None:
        raise operators.unsupported(name, "`out` must be None")
    kwargs.pop("out", None)
    inplace = kwargs.pop("inplace", False)
    compute = NESTED_FUNCTIONS.get(name)
    if compute is None:
        raise operators.unsupported(
            name,
            "it takes none; `unbind()` gives the components, `to_padded_tensor(0.0)` a"
            " tensor of one size",
        )
    function = FUNCTIONS.get(f"nn.functional.{name}") or FUNCTIONS[name]
    result = compute(function, *args, **kwargs)
    return args[0].copy_(result) if inplace else result


def _values(args: tuple, kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Arguments with the values of nested tensors in their place."""

    def of(value: Any) -> Any:
        return value._parts.values if isinstance(value, NestedTensor) else value

    return [of(value) for value in args], {key: of(value) for key, value in kwargs.items()}


def _conversion(name: str) -> Callable[..., Any]:
    """A method that applies the same method to the values."""

    def method(self: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
        arguments, named = _values(args, kwargs)
        return self.with_values(getattr(self._parts.values, name)(*arguments, **named))

    method.__name__ = name
    return method


def _in_place(name: str) -> Callable[..., Any]:
    """A method that writes to the values."""

    def method(self: NestedTensor, *args: Any, **kwargs: Any) -> NestedTensor:
        for other in (*args, *kwargs.values()):
            if isinstance(other, Tensor) and other.ndim and not _is_like(other, self):
                raise operators.unsupported(
                    f"{name}_", "tensors must be nested and of equal shapes"
                )
        arguments, named = _values(args, kwargs)
        getattr(self._parts.values, f"{name}_")(*arguments, **named)
        return self

    method.__name__ = f"{name}_"
    return method


def _is_like(other: Tensor, x: NestedTensor) -> bool:
    return isinstance(other, NestedTensor) and other._parts.shapes == x._parts.shapes


# The types of what stands beside a nested tensor in an expression.
_OPERANDS = (Tensor, numbers.Number, np.ndarray, np.generic)


def _operator(name: str, is_reverse: bool) -> Callable[..., Any]:
    def operator(self: NestedTensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return NotImplemented
        return call(name, (other, self) if is_reverse else (self, other), {})

    return operator


def _method(name: str) -> Callable[..., Any]:
    def method(self: NestedTensor, *args: Any, **kwargs: Any) -> Any:
        return call(name, (self, *args), kwargs)

    method.__name__ = name
    return method


for _name in _CONVERSIONS.split():
    setattr(NestedTensor, _name, _conversion(_name))
for _name in _IN_PLACE.split():
    setattr(NestedTensor, f"{_name}_", _in_place(_name))
for _name, _function in (
    *((name, name) for name in ["add", "sub", "mul", "pow", "matmul"]),
    ("truediv", "div"),
    ("floordiv", "floor_divide"),
    ("mod", "remainder"),
    *((name, f"bitwise_{name}") for name in ("and", "or", "xor")),
):
    setattr(NestedTensor, f"__{_name}__", _operator(_function, is_reverse=False))
    setattr(NestedTensor, f"__r{_name}__", _operator(_function, is_reverse=True))
for _name in ["eq", "ne", "lt", "le", "gt", "ge"]:
    setattr(NestedTensor, f"__{_name}__", _operator(_name, is_reverse=False))
for _name, _function in (("iadd", "add"), ("isub", "sub"), ("imul", "mul"), ("itruediv", "div")):
    setattr(NestedTensor, f"__{_name}__", _in_place(_function))
for _name, _function in (("neg", "neg"), ("abs", "abs"), ("invert", "bitwise_not")):
    setattr(NestedTensor, f"__{_name}__", functools.partialmethod(_method(_function)))
for _name in ("view", "reshape"):
    setattr(NestedTensor, _name, _method(_name))
setattr(NestedTensor, "__getitem__", operators.get_item)  # noqa: B010
setattr(NestedTensor, "to_padded_tensor", to_padded_tensor)  # noqa: B010
