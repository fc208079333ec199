"""Signs, powers, roots, exponentials and logarithms of one number."""

from __future__ import annotations

from oneflow.base.dtype import Category, get_default_dtype, int64
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call, call_one
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor


def floating(primitive: Primitive, x: Tensor) -> Tensor:
    """Apply a function whose result is a float: integers and bools become floats first."""
    if not isinstance(x, Tensor):
        require_tensor(x, primitive.name)
    if x._value.spec.dtype.category < Category.FLOAT:
        x = cast_to(x, get_default_dtype())
    return call_one(primitive, x)


def require_number(x: Tensor, name: str, highest: Category = Category.COMPLEX) -> None:
    """Refuse bools, and categories above `highest`.

    Raises:
        TypeError: `x` is not a tensor.
        NotImplementedError: names the function and the dtype given.
    """
    require_tensor(x, name)
    dtype = x._value.spec.dtype
    if dtype.category is Category.BOOL or dtype.category > highest:
        raise NotImplementedError(f"{name}() is not implemented for {dtype!r}")


@function(inplace=True, aliases=("negative",), also=("neg_", "negative_"))
def neg(x: Tensor) -> Tensor:
    """``-x``.

    Raises:
        RuntimeError: `x` is bool.

    Example:
        >>> import oneflow as flow
        >>> flow.neg(flow.tensor([1.0, -2.0]))
        tensor([-1.,  2.], dtype=oneflow.float32)
    """
    require_tensor(x, "neg")
    if x._value.spec.dtype.category is Category.BOOL:
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. "
            "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return call(p.neg, x)


@function()
def positive(input: Tensor) -> Tensor:
    """`input` itself.

    Raises:
        RuntimeError: `input` is bool.

    Example:
        >>> import oneflow as flow
        >>> flow.positive(flow.tensor([1.0, -2.0]))
        tensor([ 1., -2.], dtype=oneflow.float32)
    """
    require_tensor(input, "positive")
    if input._value.spec.dtype.category is Category.BOOL:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


@function(inplace=True, aliases=("absolute",), also=("abs_",))
def abs_(x: Tensor) -> Tensor:
    """Absolute value; of a complex number its magnitude, a float.

    Example:
        >>> import oneflow as flow
        >>> flow.abs(flow.tensor([1.0, -2.0]))
        tensor([1., 2.], dtype=oneflow.float32)
    """
    require_number(x, "abs")
    return call(p.abs_, x)


@function(inplace=True, also=("square_",))
def square(x: Tensor) -> Tensor:
    """``x ** 2``.

    Example:
        >>> import oneflow as flow
        >>> flow.square(flow.tensor([1.0, -2.0]))
        tensor([1., 4.], dtype=oneflow.float32)
    """
    require_tensor(x, "square")
    if x._value.spec.dtype.category is Category.BOOL:
        x = cast_to(x, int64)
    return call(p.square, x)


@function(inplace=True, also=("exp_",))
def exp(x: Tensor) -> Tensor:
    """``e ** x``.

    Example:
        >>> import oneflow as flow
        >>> flow.exp(flow.tensor([0.0, 1.0]))
        tensor([1.0000, 2.7183], dtype=oneflow.float32)
    """
    return floating(p.exp, x)


@function(inplace=True, also=("special.exp2", "exp2_"))
def exp2(input: Tensor) -> Tensor:
    """``2 ** input``.

    Example:
        >>> import oneflow as flow
        >>> flow.exp2(flow.tensor([0.0, 3.0]))
        tensor([1., 8.], dtype=oneflow.float32)
    """
    return floating(p.exp2, input)


@function(inplace=True, also=("special.expm1", "expm1_"))
def expm1(x: Tensor) -> Tensor:
    """``e ** x - 1``, exact near 0.

    Example:
        >>> import oneflow as flow
        >>> flow.expm1(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 1.7183], dtype=oneflow.float32)
    """
    return floating(p.expm1, x)


@function(inplace=True, also=("log_",))
def log(x: Tensor) -> Tensor:
    """Natural logarithm.

    Example:
        >>> import oneflow as flow
        >>> flow.log(flow.tensor([1.0, 2.0]))
        tensor([0.0000, 0.6931], dtype=oneflow.float32)
    """
    return floating(p.log, x)


@function(inplace=True, also=("log2_",))
def log2(x: Tensor) -> Tensor:
    """Logarithm of base 2.

    Example:
        >>> import oneflow as flow
        >>> flow.log2(flow.tensor([1.0, 8.0]))
        tensor([0., 3.], dtype=oneflow.float32)
    """
    return floating(p.log2, x)


@function(inplace=True, also=("log10_",))
def log10(x: Tensor) -> Tensor:
    """Logarithm of base 10.

    Example:
        >>> import oneflow as flow
        >>> flow.log10(flow.tensor([1.0, 100.0]))
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return floating(p.log10, x)


@function(inplace=True, also=("special.log1p", "log1p_"))
def log1p(x: Tensor) -> Tensor:
    """``log(1 + x)``, exact near 0.

    Example:
        >>> import oneflow as flow
        >>> flow.log1p(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.6931], dtype=oneflow.float32)
    """
    return floating(p.log1p, x)


@function(inplace=True, also=("sqrt_",))
def sqrt(x: Tensor) -> Tensor:
    """Square root; NaN below 0.

    Example:
        >>> import oneflow as flow
        >>> flow.sqrt(flow.tensor([4.0, 9.0]))
        tensor([2., 3.], dtype=oneflow.float32)
    """
    return floating(p.sqrt, x)


@function(inplace=True, also=("rsqrt_",))
def rsqrt(x: Tensor) -> Tensor:
    """``1 / sqrt(x)``.

    Example:
        >>> import oneflow as flow
        >>> flow.rsqrt(flow.tensor([4.0, 16.0]))
        tensor([0.5000, 0.2500], dtype=oneflow.float32)
    """
    return floating(p.rsqrt, x)


@function(inplace=True, also=("reciprocal_",))
def reciprocal(x: Tensor) -> Tensor:
    """``1 / x``.

    Example:
        >>> import oneflow as flow
        >>> flow.reciprocal(flow.tensor([2.0, 4.0]))
        tensor([0.5000, 0.2500], dtype=oneflow.float32)
    """
    return floating(p.reciprocal, x)
