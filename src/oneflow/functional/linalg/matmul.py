"""Products of vectors and matrices."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category, bfloat16, float16, float32
from oneflow.base.shape import broadcast_shapes
from oneflow.dispatch.mixed_precision import casting_targets
from oneflow.functional.registry import function
from oneflow.functional.shape.reshape import transpose
from oneflow.primitives.operators import matmul as p
from oneflow.primitives.operators.elementwise import mul
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_scalar_of
from oneflow.tensor.tensor import Tensor

_MIXED = {float16, bfloat16, float32}


def is_autocast_pair(x: Tensor, y: Tensor) -> bool:
    """Return True if mixed precision is on for their device, which casts both where they meet."""
    first, second = x._value.spec, y._value.spec
    return {first.dtype, second.dtype} <= _MIXED and first.device.type in casting_targets()


def require_one_dtype(name: str, x: Tensor, y: Tensor) -> None:
    """Refuse operands of a product that are no tensors or differ in dtype.

    Raises:
        TypeError: one is not a tensor.
        RuntimeError: the dtypes differ.
    """
    for position, operand in enumerate((x, y), 1):
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"{name}(): argument {position} must be Tensor, not {type(operand).__name__}"
            )
    first, second = x._value.spec.dtype, y._value.spec.dtype
    if first is not second and not is_autocast_pair(x, y):
        raise RuntimeError(
            f"{name}(): expected both operands to have the same dtype, but got {first!r} and "
            f"{second!r}; convert one with `.to(dtype)`"
        )
    if first.category is Category.BOOL:
        raise NotImplementedError(f"{name}() is not implemented for bool tensors")


@function(also=("linalg.matmul",))
def matmul(
    input: Tensor,
    other: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
) -> Tensor:
    """Matrix product of the last two dimensions.

    Leading dimensions broadcast, vectors lose their dimension.

    Args:
        input: ``[..., m, k]`` or ``[k]``.
        other: ``[..., k, n]`` or ``[k]``, of the same dtype.
        transpose_a: exchange the last two dimensions of `input` first.
        transpose_b: exchange the last two dimensions of `other` first.
        alpha: factor of the product.

    Returns:
        Tensor ``[..., m, n]``, without `m` or `n` where that operand is a vector.

    Raises:
        RuntimeError: an operand has no dimensions, the inner sizes differ, or the dtypes do.

    Example:
        >>> import oneflow as flow
        >>> flow.matmul(flow.ones(2, 3), flow.ones(3))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    require_one_dtype("matmul", input, other)
    if transpose_a or transpose_b:
        input = transpose(input, -2, -1) if transpose_a else input
        other = transpose(other, -2, -1) if transpose_b else other
    require_matmul_operands(input, other)
    product = call(p.matmul, input, other)
    return product if alpha == 1 else scaled(product, alpha)


def require_matmul_operands(input: Tensor, other: Tensor) -> None:
    """Refuse operands of a matrix product whose shapes do not fit.

    Raises:
        RuntimeError: they do not.
    """
    left, right = input._value.spec.shape, other._value.spec.shape
    if not left or not right:
        raise RuntimeError(
            f"both arguments to matmul need to be at least 1D, but they are {len(left)}D and "
            f"{len(right)}D"
        )
    if left[-1] != right[-2 if len(right) > 1 else 0]:
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied: {tuple(left)} and {tuple(right)} "
            f"differ in the inner size"
        )
    if len(left) > 2 and len(right) > 2:
        broadcast_shapes(left[:-2], right[:-2])


def scaled(x: Tensor, factor: float) -> Tensor:
    """A tensor times a number in the tensor's own dtype."""
    return call(mul, x, factor_of(x, factor))


def factor_of(x: Tensor, factor: float) -> Any:
    """A factor in a tensor's dtype; floats lose their fractions for integers, as in PyTorch."""
    is_integer = x._value.spec.dtype.category < Category.FLOAT
    if is_integer and not isinstance(factor, Tensor):
        return int(factor)
    return as_scalar_of(x, factor)
