"""Norms of vectors and matrices, below `oneflow.linalg`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from oneflow.base.dtype import Category, DType, real_dtype
from oneflow.base.shape import broadcast_shapes, is_sequence, wrap_dim, wrap_dims
from oneflow.functional.reduce.sums import reduced_dims
from oneflow.functional.registry import function
from oneflow.functional.shape.stack import triu_indices
from oneflow.primitives.operators import linalg as p, reduce
from oneflow.primitives.operators.distance import euclidean_distances, largest_size
from oneflow.primitives.operators.elementwise import abs_, ne, sign, where
from oneflow.primitives.operators.statistics import norm as any_norm, norm2
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, cast_to, require_tensor, widened
from oneflow.tensor.tensor import Tensor

Order = float | str


def _floating(name: str, x: Tensor, dtype: DType | None) -> Tensor:
    """`x` in `dtype`.

    Raises:
        RuntimeError: integers, or `dtype` holds less than `x`.
    """
    require_tensor(x, name)
    have = x._value.spec.dtype
    for used_dtype in (have, dtype or have):
        if used_dtype.category < Category.FLOAT:
            raise RuntimeError(
                f"{name}: Expected a floating point or complex tensor as input. Got {used_dtype!r}"
            )
    if dtype is None:
        return x
    if have.category > dtype.category or real_dtype(have).itemsize > real_dtype(dtype).itemsize:
        raise RuntimeError(
            f"{name}: the dtype of the input ({have!r}) should be convertible without narrowing to "
            f"the specified dtype ({dtype!r})"
        )
    return cast_to(x, dtype)


@function(namespace="linalg", keyword_aliases={"p": "ord"})
def vector_norm(
    input: Tensor,
    ord: float = 2,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """Norm of all elements, or of those along some dimensions.

    Args:
        input: float or complex tensor.
        ord: the order: ``(sum of |x| ** ord) ** (1 / ord)``; infinity: the largest size, minus
            infinity: the smallest; 0: how many elements are not 0.
        dim: dimension or dimensions of the vectors; None: all.
        keepdim: keep them with size 1.
        dtype: compute in this dtype.

    Returns:
        Real tensor.

    Raises:
        RuntimeError: integers, or an order that needs an element and there is none.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.vector_norm(flow.tensor([3.0, -4.0]))
        tensor(5., dtype=oneflow.float32)
    """
    if isinstance(ord, np.generic | Tensor):
        ord = ord.item()
    if not isinstance(ord, int | float):
        raise TypeError(f"vector_norm(): argument 'ord' must be a number, not {type(ord).__name__}")
    x = _floating("linalg.vector_norm", input, dtype)
    dims = reduced_dims(x, dim)
    if (ord < 0 or ord == math.inf) and 0 in [x.shape[axis] for axis in dims]:
        raise RuntimeError(
            f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
            "operation does not have an identity"
        )
    keep = {"dims": dims, "keepdim": bool(keepdim)}
    if ord == 2:
        return call(norm2, x, **keep)
    real = real_dtype(x._value.spec.dtype)
    if ord == 0:
        # A sum of constants that depend on the elements: their gradient is 0, as in PyTorch.
        signs = call(sign, call(abs_, x))
        nonzero = call(where, call(ne, x, 0), 1.0, signs)
        return cast_to(call(reduce.sum_, nonzero, **keep), real)
    if ord == 1 or math.isinf(ord):
        reduction = reduce.sum_ if ord == 1 else reduce.amax if ord > 0 else reduce.amin
        return call(reduction, call(abs_, x), **keep)
    if x.dtype.is_complex:
        x = call(abs_, x)
    return cast_to(call(any_norm, widened(x), as_float(ord, "ord"), **keep), real)


@function(namespace="linalg", keyword_aliases={"A": "input"})
def matrix_norm(
    input: Tensor,
    ord: Order = "fro",
    dim: Sequence[int] = (-2, -1),
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """Norms of matrices.

    Args:
        input: float or complex tensor.
        ord: ``"fro"``: root of the sum of squares; ``"nuc"``: sum of the singular values; 2, -2:
            the largest, the smallest of them; 1, -1: the largest, the smallest sum of a column's
            sizes; infinity, minus infinity: likewise of a row's.
        dim: the dimensions of the rows and of the columns.
        keepdim: keep them with size 1.
        dtype: compute in this dtype.

    Returns:
        Real tensor without these dimensions.

    Raises:
        RuntimeError: the order is unknown, `dim` is no pair, or integers are given.
        IndexError: the smallest of no singular values is asked for.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.matrix_norm(flow.tensor([[1.0, 2.0], [3.0, -4.0]]), 1)
        tensor(6., dtype=oneflow.float32)
    """
    x = _floating("linalg.matrix_norm", input, dtype)
    if x.ndim < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    if not is_sequence(dim) or len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {dim}")
    rows, columns = (wrap_dim(axis, x.ndim) for axis in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {tuple(dim)}")
    if ord == "fro":
        return vector_norm(x, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        return _of_singular_values(x, ord, rows, columns, keepdim)
    if ord not in (1, -1, math.inf, -math.inf):
        raise RuntimeError(
            f"linalg.matrix_norm: Order {ord} not supported; use 'fro', 'nuc', 1, 2, inf or minus "
            "one of these numbers"
        )
    sum_dim, other = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = call(abs_, x).sum(sum_dim, True)
    if ord > 0 and not sums.shape[other]:  # the largest of no sums
        best = sums.sum(other, True)
    else:
        best = vector_norm(sums, math.copysign(math.inf, ord), other, True)
    return best if keepdim else best.squeeze((rows, columns))


def _of_singular_values(x: Tensor, order: Order, rows: int, columns: int, keepdim: bool) -> Tensor:
    rest = [dim for dim in range(x.ndim) if dim not in (rows, columns)]
    values = call(p.svdvals, x.permute(*rest, rows, columns))
    if order == -2 and not values.shape[-1]:
        raise IndexError(
            "linalg.matrix_norm: a matrix without elements has no smallest singular value, got "
            f"shape {list(x.shape)}"
        )
    if order == "nuc" or not values.shape[-1]:
        result = values.sum(-1)
    else:
        dims = (values.ndim - 1,)
        result = call(reduce.amax if order == 2 else reduce.amin, values, dims=dims)
    if keepdim:
        for dim in sorted((rows, columns)):
            result = result.unsqueeze(dim)
    return result


@function(method=False, namespace="linalg", keyword_aliases={"A": "input"})
def norm(
    input: Tensor,
    ord: Order | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """Norm of vectors or matrices: `vector_norm` along one dimension, `matrix_norm` along two.

    Args:
        input: float or complex tensor.
        ord: see `vector_norm` and `matrix_norm`; None: root of the sum of squares.
        dim: the dimension or the pair of dimensions; None: `input` is one vector or matrix, or,
            without `ord`, anything.
        keepdim: keep them with size 1.
        dtype: compute in this dtype.

    Raises:
        RuntimeError: `input` is neither a vector nor a matrix, and `dim` does not say which.

    Example:
        >>> import oneflow as flow
        >>> flow.linalg.norm(flow.tensor([[3.0, 4.0]]), dim=1)
        tensor([5.], dtype=oneflow.float32)
    """
    require_tensor(input, "linalg.norm")
    if dim is not None:
        dims = wrap_dims(dim, input.ndim)
        if len(dims) not in (1, 2):
            raise RuntimeError(
                f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}"
            )
    elif ord is None or input.ndim in (1, 2):
        dims = tuple(range(input.ndim))
    else:
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got "
            f"{input.ndim}D."
        )
    if ord is None:
        return vector_norm(input, 2, dims, keepdim, dtype=dtype)
    if isinstance(ord, str) or len(dims) == 2:
        return matrix_norm(input, ord, dims, keepdim, dtype=dtype)
    return vector_norm(input, ord, dims, keepdim, dtype=dtype)


@function(keyword_aliases={"ord": "p"})
def norm_(
    input: Tensor,
    p: Order | None = None,
    dim: int | Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """Norm of the elements along dimensions, all without `dim`, taken for one vector.

    Args:
        input: float or complex tensor.
        p: order of the vector norm; ``"fro"`` and None are the same as 2, ``"nuc"`` is the nuclear
            norm of matrices.
        dim: dimension or dimensions; default all.
        keepdim: keep them with size 1.
        dtype: compute in this dtype.

    Raises:
        RuntimeError: integers, or an order that needs an element and there is none.

    Example:
        >>> import oneflow as flow
        >>> flow.norm(flow.tensor([[3.0, 4.0]]))
        tensor(5., dtype=oneflow.float32)
    """
    if p == "nuc":
        dims = (-2, -1) if dim is None else dim if is_sequence(dim) else (dim,)
        return matrix_norm(input, p, dims, keepdim, dtype=dtype)
    if p is None or p == "fro":
        p = 2
    if isinstance(p, str):
        raise RuntimeError(f"norm(): p is a number, 'fro' or 'nuc', not {p!r}")
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


@function(method=False, keyword_aliases={"v": "input", "pow": "p"})
def norm_except_dim(input: Tensor, p: float = 2, dim: int = 0) -> Tensor:
    """Norms of the slices along a dimension, as weight normalisation takes them.

    Args:
        input: float or complex tensor.
        p: the order of the norms.
        dim: each slice along this dimension has a norm of its own; -1: one norm of all elements.

    Returns:
        Tensor of as many dimensions as `input`, all of them 1 but `dim`; without dimensions for -1.

    Example:
        >>> import oneflow as flow
        >>> flow.norm_except_dim(flow.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0], [1.0]]
    """
    if dim == -1:
        return vector_norm(input, p)
    kept_dim = wrap_dim(dim, input.ndim)
    return vector_norm(input, p, [axis for axis in range(input.ndim) if axis != kept_dim], True)


@function(method=False)
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = None) -> Tensor:
    """Distance of every vector of one batch to every vector of another.

    Args:
        x1: ``[..., m, k]``.
        x2: ``[..., n, k]``, of the same dtype.
        p: order of the norm of the difference.
        compute_mode: PyTorch's choice of a method; there is one here, the exact one.

    Returns:
        Tensor ``[..., m, n]``.

    Raises:
        RuntimeError: sizes or dtypes do not fit, or `p` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.cdist(flow.zeros(1, 2), flow.tensor([[3.0, 4.0], [0.0, 1.0]])).tolist()
        [[5.0, 1.0]]
    """
    for name, operand in (("X1", x1), ("X2", x2)):
        require_tensor(operand, "cdist")
        if operand.ndim < 2:
            raise RuntimeError(
                f"cdist only supports at least 2D tensors, {name} got: {operand.ndim}D"
            )
        if not operand.dtype.is_floating_point:
            raise RuntimeError(
                f"cdist only supports floating-point dtypes, {name} got: {operand.dtype!r}"
            )
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )
    if not p >= 0:  # NaN, too
        raise RuntimeError(f"cdist only supports non-negative p values, got {p}")
    if not x1.shape[-1]:
        return (x1.unsqueeze(-2) - x2.unsqueeze(-3)).sum(-1)
    if p == 2:
        if x1.shape[:-2] != x2.shape[:-2]:
            batch = broadcast_shapes(tuple(x1.shape[:-2]), tuple(x2.shape[:-2]))
            x1, x2 = (x.expand(*batch, *x.shape[-2:]) for x in (x1, x2))
        return call(euclidean_distances, x1, x2)
    return _distances(x1.unsqueeze(-2) - x2.unsqueeze(-3), p)


def _distances(differences: Tensor, p: float) -> Tensor:
    """The norms of vectors along the last dimension, with the gradients that distances have."""
    if math.isinf(p):
        return call(largest_size, differences)
    return vector_norm(differences, p, -1)


@function(method=False, also=("nn.functional.pdist",))
def pdist(input: Tensor, p: float = 2.0) -> Tensor:
    """Distances of all pairs of the rows of a matrix.

    Args:
        input: ``[n, k]``, floats.
        p: order of the norm of the difference.

    Returns:
        Tensor ``[n * (n - 1) / 2]``: of the first row to all others, then of the second to those
        behind it, and so on.

    Raises:
        RuntimeError: `input` is no matrix of floats, or `p` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.pdist(flow.tensor([[0.0, 0.0], [3.0, 4.0], [3.0, 0.0]]))
        tensor([5., 3., 4.], dtype=oneflow.float32)
    """
    require_tensor(input, "pdist")
    if input.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.ndim}D")
    if not input.dtype.is_floating_point:
        raise RuntimeError(f"pdist only supports floating-point dtypes, got {input.dtype!r}")
    if not p >= 0:  # NaN, too
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    rows, columns = triu_indices(input.shape[0], input.shape[0], 1, device=input.device)
    differences = input[rows] - input[columns]
    return _distances(differences, p) if input.shape[1] else differences.sum(-1)


@function(keyword_aliases={"tensor": "input"})
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """Norm of a difference.

    Args:
        input: float or complex tensor.
        other: likewise; the shapes broadcast.
        p: the order, as of `linalg.vector_norm`.

    Returns:
        Real tensor without dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.dist(flow.tensor([3.0, 0.0]), flow.tensor([0.0, 4.0]))
        tensor(5., dtype=oneflow.float32)
    """
    return vector_norm(input - other, p)


# PyTorch adds this number to the norms by which it divides slices.
_RENORM_EPSILON = 1e-7


@function(inplace=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float) -> Tensor:
    """Scale the slices along a dimension whose norms are larger than `maxnorm` down to it.

    Args:
        input: float or complex tensor of two or more dimensions.
        p: the order of the norms, positive.
        dim: each slice along this dimension has a norm of its own.
        maxnorm: the largest norm, not negative.

    Raises:
        RuntimeError: fewer dimensions, or numbers outside these ranges.

    Example:
        >>> import oneflow as flow
        >>> flow.renorm(flow.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1.0)
        tensor([[0.6000, 0.8000],
                [0.3000, 0.4000]], dtype=oneflow.float32)
    """
    if not p > 0:  # NaN, too
        raise RuntimeError(f"renorm: non-positive-norm not supported, got p={p}")
    if not maxnorm >= 0:  # NaN, too
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0, got {maxnorm}")
    if input.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.ndim}")
    slice_dim = wrap_dim(dim, input.ndim)
    others = [axis for axis in range(input.ndim) if axis != slice_dim]
    slices = widened(input)
    norms = vector_norm(slices, p, others, True)
    too_large = norms > maxnorm
    # Norms that stay have no part in the gradient, whatever `maxnorm` is.
    scales = maxnorm / (norms.where(too_large, 1.0) + _RENORM_EPSILON)
    return cast_to(slices * scales.where(too_large, 1.0).to(slices.dtype), input.dtype)
