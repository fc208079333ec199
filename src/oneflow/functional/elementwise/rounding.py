"""Rounding, and what depends on the sign."""

from __future__ import annotations

from oneflow.base.dtype import Category
from oneflow.base.limits import finfo
from oneflow.base.shape import as_integer
from oneflow.functional.creation.conversion import clone
from oneflow.functional.elementwise.unary import require_number
from oneflow.functional.registry import function
from oneflow.primitives.operators import complex as c, elementwise as p, special as s
from oneflow.primitives.registry import Primitive
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, require_tensor
from oneflow.tensor.tensor import Tensor


def apply_rounding(primitive: Primitive, x: Tensor) -> Tensor:
    """Apply a rounding; integers are round already."""
    require_number(x, primitive.name, Category.FLOAT)
    return call(primitive, x)


@function(inplace=True, also=("floor_",))
def floor(x: Tensor) -> Tensor:
    """The next integer below.

    Example:
        >>> import oneflow as flow
        >>> flow.floor(flow.tensor([-1.5, 1.5]))
        tensor([-2.,  1.], dtype=oneflow.float32)
    """
    return apply_rounding(p.floor, x)


@function(inplace=True, also=("ceil_",))
def ceil(x: Tensor) -> Tensor:
    """The next integer above.

    Example:
        >>> import oneflow as flow
        >>> flow.ceil(flow.tensor([-1.5, 1.5]))
        tensor([-1.,  2.], dtype=oneflow.float32)
    """
    return apply_rounding(p.ceil, x)


@function(inplace=True, aliases=("fix",), also=("fix_", "trunc_"))
def trunc(input: Tensor) -> Tensor:
    """The next integer towards 0.

    Example:
        >>> import oneflow as flow
        >>> flow.trunc(flow.tensor([-1.5, 1.5]))
        tensor([-1.,  1.], dtype=oneflow.float32)
    """
    return apply_rounding(p.trunc, input)


@function(inplace=True, also=("special.round", "round_"))
def round_(x: Tensor, *, decimals: int = 0) -> Tensor:
    """The nearest integer; of two equally near ones the even one.

    Args:
        x: real tensor.
        decimals: round to this many decimals instead; negative: to tens, hundreds and so on.

    Example:
        >>> import oneflow as flow
        >>> flow.round(flow.tensor([0.5, 1.5, -1.2]))
        tensor([ 0.,  2., -1.], dtype=oneflow.float32)
    """
    if type(decimals) is not int:
        decimals = as_integer(decimals, "decimals")
    if not decimals:
        return apply_rounding(p.round_, x)
    require_number(x, "round", Category.FLOAT)
    if not x._value.spec.dtype.is_floating_point:
        raise NotImplementedError("round() with decimals is not implemented for integers")
    primitive = s.round_decimals if decimals > 0 else s.round_to_multiple
    return call(primitive, x, 10.0 ** abs(decimals))


@function(inplace=True, also=("frac_",))
def frac(input: Tensor) -> Tensor:
    """The part behind the point, with the sign of `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.frac(flow.tensor([1.5, -2.25]))
        tensor([ 0.5000, -0.2500], dtype=oneflow.float32)
    """
    require_tensor(input, "frac")
    if not input._value.spec.dtype.is_floating_point:
        raise NotImplementedError(f"frac() is not implemented for {input.dtype!r}")
    return call(s.frac, input)


@function(inplace=True)
def sign(x: Tensor) -> Tensor:
    """-1, 0 or 1 by the sign of each element.

    Raises:
        NotImplementedError: `x` is complex; see `sgn`.

    Example:
        >>> import oneflow as flow
        >>> flow.sign(flow.tensor([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.], dtype=oneflow.float32)
    """
    require_tensor(x, "sign")
    if x._value.spec.dtype.is_complex:
        raise NotImplementedError("sign() is not for complex numbers; use oneflow.sgn instead")
    return call(p.sign, x)


@function(inplace=True)
def sgn(input: Tensor) -> Tensor:
    """`sign`, and for complex numbers ``input / abs(input)``, 0 for 0.

    Example:
        >>> import oneflow as flow
        >>> flow.sgn(flow.tensor([-3.0, 0.0, 2.0]))
        tensor([-1.,  0.,  1.], dtype=oneflow.float32)
    """
    require_tensor(input, "sgn")
    return call(c.direction if input._value.spec.dtype.is_complex else p.sign, input)


@function(inplace=True, also=("nan_to_num_",))
def nan_to_num(
    input: Tensor,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Tensor:
    """NaN and the infinities replaced by numbers.

    Args:
        input: real tensor.
        nan: replaces NaN; default 0.
        posinf: replaces infinity; default: the largest number of the dtype.
        neginf: replaces negative infinity; default: the smallest number of the dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.nan_to_num(flow.tensor([1.0, float("nan"), float("inf")]), posinf=9.0)
        tensor([1., 0., 9.], dtype=oneflow.float32)
    """
    require_tensor(input, "nan_to_num")
    dtype = input._value.spec.dtype
    if dtype.category < Category.FLOAT:
        return clone(input)
    largest = float(finfo(dtype).max)
    return call(
        s.nan_to_num,
        input,
        0.0 if nan is None else as_float(nan, "nan"),
        largest if posinf is None else as_float(posinf, "posinf"),
        -largest if neginf is None else as_float(neginf, "neginf"),
    )
