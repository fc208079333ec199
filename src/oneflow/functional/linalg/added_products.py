"""A product added to a tensor: ``beta * input + alpha * product``."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import HALF_DTYPES, Category, float32
from oneflow.base.shape import broadcast_shapes
from oneflow.functional.linalg.einsum import tensordot
from oneflow.functional.linalg.matmul import (
    factor_of,
    matmul,
    require_matmul_operands,
    require_one_dtype,
    scaled,
)
from oneflow.functional.linalg.products import outer, require_batches, require_rank
from oneflow.functional.registry import function
from oneflow.primitives.operators.elementwise import add, add_scaled
from oneflow.primitives.operators.matmul import matmul_to_float32
from oneflow.primitives.operators.shape import overwrite
from oneflow.tensor.call import call
from oneflow.tensor.operands import (
    can_be_read,
    cast_to,
    is_one,
    number_category,
    promote_operands,
    same_dtype,
)
from oneflow.tensor.tensor import Tensor


def _added(name: str, input: Tensor, product: Tensor, beta: float, alpha: float) -> Tensor:
    """``beta * input + alpha * product`` of the product's shape.

    With `beta` 0 `input` is not looked at.

    Raises:
        RuntimeError: `input` does not broadcast to the product's shape.
    """
    shape = product._value.spec.shape
    if broadcast_shapes(input._value.spec.shape, shape) != tuple(shape):
        raise RuntimeError(
            f"{name}(): input of shape {list(input.shape)} cannot be expanded to the product's "
            f"shape {list(shape)}"
        )
    # A tensor that cannot be read, as in a graph, is taken for another number than 0.
    if (not isinstance(beta, Tensor) or can_be_read(beta)) and beta == 0:
        result = product if is_one(alpha) else scaled(product, alpha)
        return call(overwrite, input, result) if input.requires_grad else result
    base = input if is_one(beta) else scaled(input, beta)
    if is_one(alpha):
        return call(add, base, product)
    return call(add_scaled, base, product, factor_of(product, alpha))


def _added_matmul(
    name: str, input: Tensor, x: Tensor, y: Tensor, beta: float, alpha: float
) -> Tensor:
    """``beta * input + alpha * (x @ y)``; half precision is rounded once."""
    dtype = input._value.spec.dtype
    if dtype not in HALF_DTYPES or not (same_dtype(input, x) and same_dtype(x, y)):
        return _added(name, input, matmul(x, y), beta, alpha)
    require_matmul_operands(x, y)
    product = call(matmul_to_float32, x, y)
    return cast_to(_added(name, cast_to(input, float32), product, beta, alpha), dtype)


def _require_factors(name: str, *factors: Any) -> None:
    """Refuse tensors with dimensions, as in calls of old programs that give factors first.

    Raises:
        TypeError: one is such a tensor.
    """
    for factor in factors:
        if isinstance(factor, Tensor) and factor.ndim:
            raise TypeError(
                f"{name}(): `alpha` and `beta` must be numbers, got a tensor of shape"
                f" {list(factor.shape)}"
            )


@function(inplace=True)
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, alpha: float = 1, beta: float = 1) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``.

    Args:
        input: tensor that broadcasts to ``[m, n]``.
        mat1: matrix ``[m, k]``.
        mat2: matrix ``[k, n]``.
        alpha: factor of the product.
        beta: factor of `input`; with 0 its values do not matter.

    Raises:
        TypeError: a factor is a tensor with dimensions.
        RuntimeError: shapes do not fit, or dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.addmm(flow.ones(1), flow.ones(1, 3), flow.ones(3, 2), beta=10).tolist()
        [[13.0, 13.0]]
    """
    _require_factors("addmm", alpha, beta)
    require_one_dtype("addmm", input, mat2)
    require_rank("mm", 2, input=mat1, mat2=mat2)
    return _added_matmul("addmm", input, mat1, mat2, beta, alpha)


@function(inplace=True, also=("addmv_",))
def addmv(input: Tensor, mat: Tensor, vec: Tensor, alpha: float = 1, beta: float = 1) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``.

    Args:
        input: tensor that broadcasts to ``[m]``.
        mat: matrix ``[m, k]``.
        vec: vector ``[k]``.
        alpha: factor of the product.
        beta: factor of `input`; with 0 its values do not matter.

    Example:
        >>> import oneflow as flow
        >>> flow.addmv(flow.ones(2), flow.ones(2, 3), flow.ones(3))
        tensor([4., 4.], dtype=oneflow.float32)
    """
    _require_factors("addmv", alpha, beta)
    require_one_dtype("addmv", input, mat)
    require_rank("mv", 2, input=mat)
    require_rank("mv", 1, vec=vec)
    return _added_matmul("addmv", input, mat, vec, beta, alpha)


@function(inplace=True)
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)``, for each matrix of the batch.

    Args:
        input: tensor that broadcasts to ``[b, m, n]``.
        batch1: ``[b, m, k]``.
        batch2: ``[b, k, n]``.
        beta: factor of `input`; with 0 its values do not matter.
        alpha: factor of the products.

    Example:
        >>> import oneflow as flow
        >>> flow.baddbmm(flow.ones(1), flow.ones(2, 1, 3), flow.ones(2, 3, 1)).tolist()
        [[[4.0]], [[4.0]]]
    """
    require_one_dtype("baddbmm", input, batch1)
    require_batches(batch1, batch2)
    return _added_matmul("baddbmm", input, batch1, batch2, beta, alpha)


@function(inplace=True)
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: float = 1.0, alpha: float = 1.0
) -> Tensor:
    """``beta * input + alpha * (sum over the batch of batch1 @ batch2)``.

    Args:
        input: tensor that broadcasts to ``[m, n]``.
        batch1: ``[b, m, k]``.
        batch2: ``[b, k, n]``.
        beta: factor of `input`; with 0 its values do not matter.
        alpha: factor of the sum.

    Example:
        >>> import oneflow as flow
        >>> flow.addbmm(flow.ones(1), flow.ones(2, 1, 3), flow.ones(2, 3, 1)).tolist()
        [[7.0]]
    """
    require_one_dtype("addbmm", input, batch1)
    require_one_dtype("addbmm", batch1, batch2)
    require_rank("addbmm", 3, batch1=batch1, batch2=batch2)
    left, right = tuple(batch1.shape), tuple(batch2.shape)
    if (left[0], left[2]) != right[:2]:
        raise RuntimeError(
            f"addbmm(): batch1 of shape {list(left)} and batch2 of shape {list(right)} cannot be "
            "multiplied"
        )
    return _added("addbmm", input, tensordot(batch1, batch2, [[0, 2], [0, 1]]), beta, alpha)


@function(inplace=True)
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: float = 1, alpha: float = 1) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``.

    Args:
        input: tensor that broadcasts to ``[m, n]``.
        vec1: vector ``[m]``.
        vec2: vector ``[n]``.
        beta: factor of `input`; with 0 its values do not matter.
        alpha: factor of the product.

    Raises:
        TypeError: a factor is a tensor with dimensions.
        RuntimeError: shapes do not fit; or a factor is a float and all tensors are integers, or a
            bool and they are not.

    Example:
        >>> import oneflow as flow
        >>> flow.addr(flow.ones(1), flow.tensor([1.0, 2.0]), flow.tensor([3.0])).tolist()
        [[4.0], [7.0]]
    """
    require_rank("addr", 1, vec1=vec1, vec2=vec2)
    input, vec1, vec2 = promote_operands((input, vec1, vec2))
    category = input._value.spec.dtype.category
    for name, factor in (("beta", beta), ("alpha", alpha)):
        kind = number_category(factor)
        if kind is Category.BOOL and category > Category.BOOL:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if kind >= Category.FLOAT and category < Category.FLOAT:
            raise RuntimeError(
                f"For integral input tensors, argument {name} must not be a floating point number."
            )
    return _added("addr", input, outer(vec1, vec2), beta, alpha)
