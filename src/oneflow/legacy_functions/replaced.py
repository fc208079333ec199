"""Functions whose names mean something else in `oneflow` today.

They are in `oneflow.compatible.single_client`, and a program's calls in the bodies of its jobs mean
them if their arguments are of that time. `name` names the operator and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from oneflow.base import dtype as dt
from oneflow.base.dtype import DType
from oneflow.functional.creation import factory_functions
from oneflow.functional.earlier_calls import earlier_meaning_of
from oneflow.functional.elementwise import activation, clamp as clamps
from oneflow.functional.index import gather as gathers, search
from oneflow.functional.nn import padding
from oneflow.functional.registry import function
from oneflow.functional.shape import concat as concats, reshape, stack
from oneflow.tensor.tensor import Tensor

_NAMESPACE = "compatible.single_client"


def _has_pairs(arguments: Mapping[str, Any]) -> bool:
    """True for paddings in pairs; today's `pad` takes numbers."""
    paddings = arguments["paddings"]
    return isinstance(paddings, Sequence) and any(isinstance(pair, Sequence) for pair in paddings)


def _has_direction(arguments: Mapping[str, Any]) -> bool:
    """True unless the third argument is today's flag `descending`."""
    return isinstance(arguments.get("direction", ""), str)


def _has_inputs(arguments: Mapping[str, Any]) -> bool:
    """True for blobs in a sequence, or under their other name."""
    return isinstance(arguments.get("inputs", ()), Sequence)


def _has_bounds(arguments: Mapping[str, Any]) -> bool:
    """True for a begin and a size, which are both sequences."""
    return isinstance(arguments["begin"], Sequence) and isinstance(arguments["size"], Sequence)


def _has_shape(arguments: Mapping[str, Any]) -> bool:
    """True for sizes in one sequence, behind which a dtype may follow."""
    return isinstance(arguments["shape"], Sequence)


@earlier_meaning_of(concats.cat, matches=_has_inputs)
@function(method=False, namespace=_NAMESPACE)
def concat(
    inputs: Sequence[Tensor] | None = None,
    axis: int = 0,
    max_dim_size: int | None = None,
    name: str | None = None,
    values: Sequence[Tensor] | None = None,
) -> Tensor:
    """The tensors one after the other along an existing dimension.

    Args:
        inputs: the tensors.
        axis: the dimension.
        max_dim_size: the largest size that the dimension may get.
        name: the name of the operator.
        values: another name of `inputs`.

    Raises:
        ValueError: there is no tensor, or the dimension gets larger than `max_dim_size`.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.concat([flow.ones(2), flow.zeros(1)], axis=0)
        tensor([1., 1., 0.], dtype=oneflow.float32)
    """
    tensors = values if inputs is None else inputs
    if not tensors:
        raise ValueError("concat() needs at least one tensor")
    result = concats.cat(tensors, axis)
    if max_dim_size is not None and result.shape[axis] > max_dim_size:
        raise ValueError(
            f"concat(): dimension {axis} gets the size {result.shape[axis]}, more than "
            f"max_dim_size={max_dim_size}"
        )
    return result


@earlier_meaning_of(
    gathers.gather, matches=lambda arguments: isinstance(arguments["indices"], Tensor)
)
@function(method=False, namespace=_NAMESPACE)
def gather(
    params: Tensor,
    indices: Tensor,
    validate_indices: Tensor | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> Tensor:
    """The slices of `params` at `indices` along a dimension.

    Args:
        params: the tensor.
        indices: integers of any shape, which takes the place of the dimension.
        validate_indices: accepted; indices are always checked.
        axis: the dimension; by default the one after the batch dimensions.
        batch_dims: how many first dimensions `params` and `indices` have in common. If `axis` comes
            right after them, `indices` may have fewer, and all but its last count.
        name: the name of the operator.

    Raises:
        IndexError: (at the next read of a value) an index does not exist.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.gather(flow.tensor([[1, 2], [3, 4]]), flow.tensor([1, 0]), axis=1)
        tensor([[2, 1],
                [4, 3]], dtype=oneflow.int64)
    """
    at = (batch_dims if axis is None else axis) % params.ndim
    if 0 < batch_dims == at and 0 < indices.ndim <= batch_dims + 1:
        return gathers.batch_gather(params, indices)
    if batch_dims == 0:
        flat = gathers.index_select(params, at, reshape.reshape(indices, (-1,)))
        shape = (*params.shape[:at], *indices.shape, *params.shape[at + 1 :])
        return reshape.reshape(flat, shape)
    pairs = zip(concats.unbind(params, 0), concats.unbind(indices, 0), strict=True)
    parts = [gather(x, i, None, at - 1, batch_dims - 1) for x, i in pairs]
    return concats.stack(parts, 0)


@earlier_meaning_of(padding.pad, matches=_has_pairs)
@function(method=False, namespace=_NAMESPACE)
def pad(
    x: Tensor, paddings: Sequence[Sequence[int]], constant_value: float = 0, name: str | None = None
) -> Tensor:
    """`x` with elements added before and after each dimension.

    Args:
        x: the tensor.
        paddings: for each dimension, the first one first, how many before and after.
        constant_value: what is added.
        name: the name of the operator.

    Raises:
        ValueError: there are not as many pairs as dimensions.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.pad(flow.ones(1, 2), [(0, 0), (1, 0)])
        tensor([[0., 1., 1.]], dtype=oneflow.float32)
    """
    if len(paddings) != x.ndim:
        raise ValueError(f"pad() needs a pair for each of {x.ndim} dimensions, got {len(paddings)}")
    widths = [amount for pair in reversed(list(paddings)) for amount in pair]
    return padding.pad(x, widths, value=constant_value)


@earlier_meaning_of(stack.slice_, matches=_has_bounds)
@function(method=False, namespace=_NAMESPACE)
def slice_(
    x: Tensor, begin: Sequence[int | None], size: Sequence[int | None], name: str | None = None
) -> Tensor:
    """The part of `x` that begins at `begin` and has the sizes `size`.

    Args:
        x: the tensor.
        begin: the first index of each dimension; None for its beginning.
        size: how many indices of each dimension; None or -1 for all that follow.
        name: the name of the operator.

    Raises:
        ValueError: there are not as many numbers as dimensions, or the part is not within `x`.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.slice(flow.arange(6).reshape(2, 3), [0, 1], [None, 2])
        tensor([[1, 2],
                [4, 5]], dtype=oneflow.int64)
    """
    if not len(begin) == len(size) == x.ndim:
        raise ValueError(
            f"slice() needs a begin and a size for each of {x.ndim} dimensions, got {len(begin)} "
            f"and {len(size)}"
        )
    bounds = []
    for dim, (first, count) in enumerate(zip(begin, size, strict=True)):
        limit = x.shape[dim]
        start = 0 if first is None else first + limit * (first < 0)
        stop = limit if count in (None, -1) else start + count
        if not 0 <= start <= stop <= limit:
            raise ValueError(
                f"slice(): {start} to {stop} is not within the size {limit} of dimension {dim}"
            )
        bounds.append((start, stop, 1))
    return stack.slice_(x, bounds)


def _is_descending(direction: str) -> bool:
    """Return True for "DESCENDING".

    Raises:
        ValueError: it is neither this nor "ASCENDING".
    """
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"`direction` must be 'ASCENDING' or 'DESCENDING', got {direction!r}")
    return direction == "DESCENDING"


@earlier_meaning_of(search.sort, matches=_has_direction)
@function(method=False, namespace=_NAMESPACE)
def sort(
    input: Tensor, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The elements in order along a dimension.

    Args:
        input: the tensor.
        axis: the dimension.
        direction: "ASCENDING" or "DESCENDING".
        name: the name of the operator.

    Raises:
        ValueError: the direction is something else.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.sort(flow.tensor([1, 3, 2]), direction="DESCENDING")
        tensor([3, 2, 1], dtype=oneflow.int64)
    """
    return search.sort(input, axis, _is_descending(direction))[0]


@earlier_meaning_of(search.argsort, matches=_has_direction)
@function(method=False, namespace=_NAMESPACE)
def argsort(
    input: Tensor, axis: int = -1, direction: str = "ASCENDING", name: str | None = None
) -> Tensor:
    """The positions, int32, that would sort a tensor; the arguments of `sort`.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.argsort(flow.tensor([1, 3, 2]), direction="DESCENDING")
        tensor([1, 2, 0], dtype=oneflow.int32)
    """
    return search.sort(input, axis, _is_descending(direction))[1].to(dt.int32)


@earlier_meaning_of(gathers.scatter_nd)
@function(method=False, namespace=_NAMESPACE)
def scatter_nd(
    indices: Tensor, updates: Tensor, shape: Sequence[int], name: str | None = None
) -> Tensor:
    """Zeros of `shape` with `updates` added at n-dimensional positions.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.scatter_nd(indices=flow.tensor([[1]]), updates=flow.tensor([4.0]), shape=(3,))
        tensor([0., 4., 0.], dtype=oneflow.float32)
    """
    return gathers.scatter_nd(indices, updates, shape)


@earlier_meaning_of(gathers.tensor_scatter_nd_update)
@function(method=False, namespace=_NAMESPACE)
def tensor_scatter_nd_update(
    params: Tensor, indices: Tensor, updates: Tensor, name: str | None = None
) -> Tensor:
    """A copy of `params` with `updates` written at n-dimensional positions.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> x, at = flow.zeros(3), flow.tensor([[1]])
        >>> flow.tensor_scatter_nd_update(params=x, indices=at, updates=flow.tensor([4.0]))
        tensor([0., 4., 0.], dtype=oneflow.float32)
    """
    return gathers.tensor_scatter_nd_update(params, indices, updates)


@earlier_meaning_of(clamps.clamp)
@function(method=False, namespace=_NAMESPACE, aliases=("clip",))
def clamp(
    values: Tensor,
    min_value: float | None = None,
    max_value: float | None = None,
    name: str | None = None,
) -> Tensor:
    """Every element limited to ``[min_value, max_value]``.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.clip(flow.tensor([-1.0, 5.0]), min_value=0, max_value=2)
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return clamps.clamp(values, min_value, max_value)


@earlier_meaning_of(
    reshape.transpose, matches=lambda arguments: not isinstance(arguments.get("perm"), int)
)
@function(method=False, namespace=_NAMESPACE)
def transpose(
    a: Tensor,
    perm: Sequence[int] | None = None,
    conjugate: bool = False,
    batch_axis_non_change: bool = False,
    name: str | None = None,
) -> Tensor:
    """`a` with its dimensions in another order.

    Args:
        a: the tensor.
        perm: for each dimension of the result, which one of `a` it is; by default in reverse order.
        conjugate: whether complex numbers become their conjugates.
        batch_axis_non_change: accepted; XLA needs no word about the batch.
        name: the name of the operator.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.transpose(flow.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]], dtype=oneflow.int64)
    """
    order = tuple(reversed(range(a.ndim))) if perm is None else tuple(perm)
    result = reshape.permute(a, order)
    return result.conj() if conjugate else result


@earlier_meaning_of(factory_functions.ones, matches=_has_shape)
@function(method=False, namespace=_NAMESPACE)
def ones(shape: Sequence[int], dtype: DType | None = None, name: str | None = None) -> Tensor:
    """Ones of `shape`, float32 unless `dtype` says otherwise.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.ones((2,), flow.int32)
        tensor([1, 1], dtype=oneflow.int32)
    """
    return factory_functions.ones(shape, dtype=dtype)


@earlier_meaning_of(factory_functions.zeros, matches=_has_shape)
@function(method=False, namespace=_NAMESPACE)
def zeros(shape: Sequence[int], dtype: DType | None = None, name: str | None = None) -> Tensor:
    """Zeros of `shape`, float32 unless `dtype` says otherwise.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.zeros((2,), flow.int32)
        tensor([0, 0], dtype=oneflow.int32)
    """
    return factory_functions.zeros(shape, dtype=dtype)


@earlier_meaning_of(factory_functions.ones_like)
@function(method=False, namespace=_NAMESPACE)
def ones_like(like: Tensor, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """Ones of the shape, and by default the dtype, of a tensor.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.ones_like(flow.zeros((2,)), flow.int32, "ones")
        tensor([1, 1], dtype=oneflow.int32)
    """
    return factory_functions.ones_like(like, dtype=dtype)


@earlier_meaning_of(factory_functions.zeros_like)
@function(method=False, namespace=_NAMESPACE)
def zeros_like(like: Tensor, dtype: DType | None = None, name: str | None = None) -> Tensor:
    """Zeros of the shape, and by default the dtype, of a tensor.

    Example:
        >>> from oneflow.compatible import single_client as flow
        >>> flow.zeros_like(flow.ones((2,)), flow.int32, "zeros")
        tensor([0, 0], dtype=oneflow.int32)
    """
    return factory_functions.zeros_like(like, dtype=dtype)


def _has_slope(arguments: Mapping[str, Any]) -> bool:
    """True for a number in the place of today's flag `inplace`."""
    return type(arguments.get("beta")) in (int, float)


@earlier_meaning_of(activation.silu, matches=_has_slope)
def swish(x: Tensor, beta: float = 1.0, name: str | None = None) -> Tensor:
    """``x * sigmoid(beta * x)``, what `oneflow.nn.swish` is in the bodies of jobs."""
    return x * activation.sigmoid(x * beta)
