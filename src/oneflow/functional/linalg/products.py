"""Products of vectors and matrices of fixed rank, and of many matrices."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence

from oneflow.base.dtype import Category
from oneflow.base.shape import broadcast_shapes, wrap_dim
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.elementwise.arithmetic import binary
from oneflow.functional.linalg.matmul import matmul, require_one_dtype
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import diagonal
from oneflow.primitives.operators import einsum as p
from oneflow.primitives.operators.elementwise import conj, mul as multiply
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call
from oneflow.tensor.operands import require_tensors
from oneflow.tensor.tensor import Tensor


def require_rank(name: str, rank: int, **operands: Tensor) -> None:
    """Refuse operands that are no tensors of `rank` dimensions.

    Raises:
        TypeError: one is not a tensor.
        RuntimeError: one has another rank.
    """
    for argument, operand in operands.items():
        if not isinstance(operand, Tensor):
            raise TypeError(
                f"{name}(): argument '{argument}' must be Tensor, not {type(operand).__name__}"
            )
        if operand._value.spec.ndim != rank:
            raise RuntimeError(
                f"{name}: Expected {rank}-D argument {argument}, but got {operand.ndim}-D"
            )


@function(keyword_aliases={"other": "mat2"})
def mm(input: Tensor, mat2: Tensor) -> Tensor:
    """Product of two matrices.

    Args:
        input: ``[m, k]``.
        mat2: ``[k, n]``, of the same dtype.

    Returns:
        Tensor ``[m, n]``.

    Raises:
        RuntimeError: an operand is no matrix, the inner sizes differ, or the dtypes do.

    Example:
        >>> import oneflow as flow
        >>> flow.mm(flow.ones(1, 3), flow.ones(3, 2)).tolist()
        [[3.0, 3.0]]
    """
    require_rank("mm", 2, input=input, mat2=mat2)
    return matmul(input, mat2)


@function(keyword_aliases={"mat2": "b"})
def bmm(
    a: Tensor,
    b: Tensor,
    transpose_a: bool = False,
    transpose_b: bool = False,
    alpha: float = 1.0,
) -> Tensor:
    """Products of the matrices of two batches.

    Args:
        a: ``[b, m, k]``.
        b: ``[b, k, n]``, of the same dtype.
        transpose_a: `a` is ``[b, k, m]``.
        transpose_b: `b` is ``[b, n, k]``.
        alpha: factor of the products.

    Returns:
        Tensor ``[b, m, n]``.

    Raises:
        RuntimeError: an operand has not 3 dimensions, sizes do not fit, or the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.bmm(flow.ones(2, 1, 3), flow.ones(2, 3, 1)).tolist()
        [[[3.0]], [[3.0]]]
    """
    require_batches(a, b)
    return matmul(a, b, transpose_a, transpose_b, alpha)


def require_batches(a: Tensor, b: Tensor) -> None:
    """Refuse operands that are no batches of as many matrices.

    Raises:
        RuntimeError: an operand has not 3 dimensions, or the batches differ in size.
    """
    require_rank("bmm", 3, batch1=a, batch2=b)
    batch, other = a._value.spec.shape[0], b._value.spec.shape[0]
    if batch != other:
        raise RuntimeError(
            f"bmm(): both batches must have one size, got {batch} matrices and {other} matrices"
        )


@function()
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """Product of a matrix and a vector.

    Args:
        input: ``[m, k]``.
        vec: ``[k]``, of the same dtype.

    Returns:
        Tensor ``[m]``.

    Raises:
        RuntimeError: ranks or sizes do not fit, or the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.mv(flow.ones(2, 3), flow.ones(3))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    require_rank("mv", 2, input=input)
    require_rank("mv", 1, vec=vec)
    return matmul(input, vec)


@function(keyword_aliases={"tensor": "other"})
def dot(input: Tensor, other: Tensor) -> Tensor:
    """The sum of the products of two vectors' elements.

    Raises:
        RuntimeError: an operand is no vector, or sizes or dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.dot(flow.tensor([1.0, 2.0]), flow.tensor([3.0, 4.0]))
        tensor(11., dtype=oneflow.float32)
    """
    require_rank("dot", 1, input=input, other=other)
    return matmul(input, other)


@function()
def vdot(input: Tensor, other: Tensor) -> Tensor:
    """`dot` with the conjugate of `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.vdot(flow.tensor([1j]), flow.tensor([1j]))
        tensor(1.+0.j, dtype=oneflow.complex64)
    """
    require_rank("vdot", 1, input=input, other=other)
    return matmul(call(conj, input) if input.dtype.is_complex else input, other)


@function()
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Products summed over the last dimension of both tensors; a scalar is a factor.

    Raises:
        RuntimeError: the last sizes or the dtypes differ.

    Example:
        >>> import oneflow as flow
        >>> flow.inner(flow.ones(2, 3), flow.ones(3))
        tensor([3., 3.], dtype=oneflow.float32)
    """
    if isinstance(input, Tensor) and isinstance(other, Tensor) and not (input.ndim and other.ndim):
        return binary(multiply, input, other)
    require_one_dtype("inner", input, other)
    left, right = tuple(input.shape), tuple(other.shape)
    if left[-1] != right[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes "
            f"{list(left)} and {list(right)}"
        )
    left_labels = tuple(range(len(left)))
    right_labels = (*range(len(left), len(left) + len(right) - 1), left_labels[-1])
    return call(
        p.einsum,
        input,
        other,
        inputs=(left_labels, right_labels),
        output=(*left_labels[:-1], *right_labels[:-1]),
    )


@function(aliases=("ger",))
def outer(input: Tensor, vec2: Tensor) -> Tensor:
    """The products of every element of one vector with every element of another.

    Args:
        input: vector ``[m]``.
        vec2: vector ``[n]``.

    Returns:
        Tensor ``[m, n]`` of the promoted dtype.

    Example:
        >>> import oneflow as flow
        >>> flow.outer(flow.tensor([1, 2]), flow.tensor([3, 4])).tolist()
        [[3, 4], [6, 8]]
    """
    require_rank("outer", 1, input=input, vec2=vec2)
    return binary(multiply, input.unsqueeze(1), vec2)


@function()
def kron(input: Tensor, other: Tensor) -> Tensor:
    """Kronecker product: every element of `input` times all of `other`.

    Returns:
        Tensor of the promoted dtype whose sizes are the products of both sizes.

    Example:
        >>> import oneflow as flow
        >>> flow.kron(flow.tensor([1, 10]), flow.tensor([1, 2]))
        tensor([ 1,  2, 10, 20], dtype=oneflow.int64)
    """
    require_tensors("kron", input, other)
    ndim = max(input.ndim, other.ndim)
    left = (1,) * (ndim - input.ndim) + tuple(input.shape)
    right = (1,) * (ndim - other.ndim) + tuple(other.shape)
    # Reshaped copies, not views, so that writes to the operands do not reach the saved ones.
    x = call(reshape, input, shape=tuple(length for size in left for length in (size, 1)))
    y = call(reshape, other, shape=tuple(length for size in right for length in (1, size)))
    return binary(multiply, x, y).reshape([m * n for m, n in zip(left, right, strict=True)])


def cross_along(name: str, input: Tensor, other: Tensor, dim: int) -> Tensor:
    """The cross products of the vectors along `dim`."""
    require_one_dtype(name, input, other)
    if input.ndim != other.ndim:
        raise RuntimeError(f"{name}: inputs must have the same number of dimensions.")
    at = wrap_dim(dim, input.ndim)
    if not input.ndim or input.shape[at] != 3 or other.shape[at] != 3:
        sizes = [operand.shape[at] if operand.ndim else 1 for operand in (input, other)]
        raise RuntimeError(
            f"{name}: inputs dimension {dim} must have length 3. Got {sizes[0]} and {sizes[1]}"
        )
    broadcast_shapes(tuple(input.shape), tuple(other.shape))
    return call(p.cross, input, other, dim=at)


@function()
def cross(input: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """Cross products of vectors of size 3.

    Args:
        input: tensor.
        other: tensor of the same dtype; sizes broadcast.
        dim: the vectors' dimension; None: the first of size 3.

    Raises:
        RuntimeError: the dimension has another size, or there is none.

    Example:
        >>> import oneflow as flow
        >>> flow.cross(flow.tensor([1, 0, 0]), flow.tensor([0, 1, 0]))
        tensor([0, 0, 1], dtype=oneflow.int64)
    """
    require_one_dtype("cross", input, other)
    if dim is None:
        shape = tuple(input.shape)
        if 3 not in shape:
            raise RuntimeError("cross(): no dimension of size 3 in input")
        dim = shape.index(3)
    return cross_along("cross", input, other, dim)


@function()
def trace(input: Tensor) -> Tensor:
    """Sum of a matrix's diagonal.

    Raises:
        RuntimeError: `input` is no matrix.

    Example:
        >>> import oneflow as flow
        >>> flow.trace(flow.tensor([[1, 2], [3, 4]]))
        tensor(5, dtype=oneflow.int64)
    """
    require_rank("trace", 2, input=input)
    if input.dtype.category is Category.BOOL:
        raise NotImplementedError("trace() is not implemented for bool tensors")
    return diagonal(input).sum()


@function(method=False, namespace="linalg")
def multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """Product of many matrices, multiplied in the order that takes the fewest operations.

    Args:
        tensors: at least two matrices; the first and the last may be vectors.

    Raises:
        RuntimeError: there are fewer than two, or neighbours do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.multi_dot([flow.ones(2), flow.ones(2, 3), flow.ones(3)])
        tensor(6., dtype=oneflow.float32)
    """
    matrices = list(tensors)
    if len(matrices) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(matrices)}")
    first, last = matrices[0].ndim == 1, matrices[-1].ndim == 1
    if first:
        matrices[0] = matrices[0].unsqueeze(0)
    if last:
        matrices[-1] = matrices[-1].unsqueeze(1)
    for index, matrix in enumerate(matrices):
        if matrix.ndim != 2:
            rank = "1D or 2D" if index in (0, len(matrices) - 1) else "2D"
            raise RuntimeError(f"multi_dot(): tensor {index} must be {rank} but got {matrix.ndim}D")
    for index, (x, y) in enumerate(itertools.pairwise(matrices)):
        if x.shape[1] != y.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {index} and {index + 1} with shapes {list(x.shape)} and "
                f"{list(y.shape)} cannot be multiplied"
            )
    splits = _best_splits([matrix.shape[0] for matrix in matrices] + [matrices[-1].shape[1]])
    product = _multiply(matrices, splits, 0, len(matrices) - 1)
    product = product.squeeze(-1) if last else product
    return product.squeeze(0) if first else product


def _best_splits(sizes: list[int]) -> dict[tuple[int, int], int]:
    """The best position to split the product of each range of matrices ``first..last``.

    Matrix ``i`` is ``sizes[i]`` by ``sizes[i + 1]``.
    """
    count = len(sizes) - 1
    cost = {(index, index): 0 for index in range(count)}
    splits = {}
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            costs = {
                split_at: cost[first, split_at]
                + cost[split_at + 1, last]
                + sizes[first] * sizes[split_at + 1] * sizes[last + 1]
                for split_at in range(first, last)
            }
            splits[first, last] = min(costs, key=costs.__getitem__)
            cost[first, last] = costs[splits[first, last]]
    return splits


def _multiply(matrices: list[Tensor], splits: dict, first: int, last: int) -> Tensor:
    """The product of the matrices ``first..last``."""
    if first == last:
        return matrices[first]
    split_at = splits[first, last]
    return matmul(
        _multiply(matrices, splits, first, split_at),
        _multiply(matrices, splits, split_at + 1, last),
    )


@function(method=False)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """Product of matrices, multiplied in the order that takes the fewest operations.

    Example:
        >>> import oneflow as flow
        >>> flow.chain_matmul(flow.ones(1, 2), flow.ones(2, 3), flow.ones(3, 1)).tolist()
        [[6.0]]
    """
    require_rank("chain_matmul", 2, **{f"tensor{i}": matrix for i, matrix in enumerate(matrices)})
    return matrices[0].clone() if len(matrices) == 1 else multi_dot(matrices)


def _powers(x: Tensor, count: int) -> Tensor:
    """``x ** 0`` to ``x ** (count - 1)`` along a new last dimension."""
    powers = arange(count, device=x.device)
    return x.unsqueeze(-1) ** powers.to(x.dtype if x.dtype.is_complex else powers.dtype)


@function(method=False, keyword_aliases={"n": "N"})
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """Vandermonde matrix: the powers of a vector's elements, as columns.

    Args:
        x: vector.
        N: number of columns; None: the vector's size.
        increasing: start with power 0, instead of ending with it.

    Raises:
        RuntimeError: `x` is no vector, or `N` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.vander(flow.tensor([2, 3]), 3).tolist()
        [[4, 2, 1], [9, 3, 1]]
    """
    if x.ndim != 1:
        raise RuntimeError(f"vander(): x must be a one-dimensional tensor, got {x.ndim}D")
    count = len(x) if N is None else operator.index(N)
    if count < 0:
        raise RuntimeError(f"N must be non-negative, got {count}.")
    powers = _powers(x, count)
    return powers if increasing else powers.flip(-1)
