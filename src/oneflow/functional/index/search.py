"""Order, search and counting: sort, topk, nonzero, unique, histograms, membership."""

from __future__ import annotations

import math
import operator
from typing import Any, Literal, SupportsIndex, overload

import numpy as np

from oneflow.base.dtype import DType, bool_, float32, int32, int64, uint64
from oneflow.base.shape import as_integer, wrap_dim
from oneflow.functional import return_types
from oneflow.functional.derivatives import raise_without_derivative
from oneflow.functional.registry import attach_current, function
from oneflow.primitives.operators import sort as p, statistics
from oneflow.primitives.operators.elementwise import where as choose
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, cast_to, require_tensor
from oneflow.tensor.positions import positions_of_nonzero, rows_of_nonzero
from oneflow.tensor.promotion import promote_types
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array, wrap_result
from oneflow.tuning.host_memory import require_host_memory


@overload
def nonzero(input: Tensor, as_tuple: Literal[False] = False) -> Tensor: ...
@overload
def nonzero(input: Tensor, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@function()
def nonzero(input: Tensor, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Positions of the elements that are not zero. Reads the values: a sync point.

    Args:
        input: tensor.
        as_tuple: one tensor of positions per dimension, fit for indexing, in place of one row per
            element.

    Example:
        >>> import oneflow as flow
        >>> flow.nonzero(flow.tensor([[0, 5], [7, 0]])).tolist()
        [[0, 1], [1, 0]]
    """
    require_tensor(input, "nonzero")
    return positions_of_nonzero(input) if as_tuple else rows_of_nonzero(input)


@function()
def argwhere(input: Tensor, dtype: DType = int64) -> Tensor:
    """``nonzero(input)``, in a dtype of choice.

    Example:
        >>> import oneflow as flow
        >>> flow.argwhere(flow.tensor([0, 5])).tolist()
        [[1]]
    """
    return cast_to(nonzero(input), dtype)


@function(method=False)
def sort(
    input: Tensor, dim: int = -1, descending: bool = False, *, stable: bool = False
) -> return_types.sort:
    """The elements in order along `dim`, and where each came from. NaN counts as the largest.

    Args:
        input: tensor.
        dim: dimension.
        descending: largest first.
        stable: accepted; sorting always keeps the order of equal elements.

    Returns:
        Named tuple ``(values, indices)``.

    Example:
        >>> import oneflow as flow
        >>> values, indices = flow.sort(flow.tensor([3, 1, 2]))
        >>> indices
        tensor([1, 2, 0], dtype=oneflow.int64)
    """
    if input.dtype.is_complex:
        raise RuntimeError("Sort does not support complex dtypes on CPU")
    at = wrap_dim(dim, input.ndim)
    if not input.ndim:
        values, indices = call(p.sort, input.reshape(1), dim=0, descending=descending)
        return return_types.sort(values.reshape(()), indices.reshape(()))
    return return_types.sort(*call(p.sort, input, dim=at, descending=descending))


@function(method=False)
def argsort(input: Tensor, dim: int = -1, descending: bool = False, stable: bool = False) -> Tensor:
    """Positions that would sort the tensor along `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.argsort(flow.tensor([3, 1, 2]))
        tensor([1, 2, 0], dtype=oneflow.int64)
    """
    return sort(input, dim, descending)[1]


attach_current(sort, argsort)


@function()
def msort(input: Tensor) -> Tensor:
    """The elements in order along dimension 0.

    Example:
        >>> import oneflow as flow
        >>> flow.msort(flow.tensor([[3, 1], [2, 5]]))
        tensor([[2, 1],
                [3, 5]], dtype=oneflow.int64)
    """
    return sort(input, 0)[0]


@function()
def topk(
    input: Tensor, k: int, dim: int | None = None, largest: bool = True, sorted: bool = True
) -> return_types.topk:
    """The `k` largest (or smallest) elements along `dim` (the last by default), in order.

    Returns:
        Named tuple ``(values, indices)``, the indices int64.

    Raises:
        RuntimeError: `k` is not within the dimension.
        TypeError: `k` or `dim` is no integer.

    Example:
        >>> import oneflow as flow
        >>> flow.topk(flow.tensor([3, 1, 2]), 2).values
        tensor([3, 2], dtype=oneflow.int64)
    """
    if not isinstance(k, SupportsIndex):
        raise TypeError(f"topk(): `k` must be an integer, got {type(k).__name__}")
    at, k = wrap_dim(-1 if dim is None else dim, input.ndim), operator.index(k)
    if not 0 <= k <= (input.shape[at] if input.ndim else 1):
        raise RuntimeError(f"topk(): selected index k out of range: {k} of {list(input.shape)}")
    if not input.ndim:
        values = input.reshape(1)[:k].reshape(()).clone()
        return return_types.topk(values, input.new_zeros((), dtype=int64))
    if largest:
        return return_types.topk(*call(p.topk, input, k=k, dim=at))
    values, indices = sort(input, at)
    return return_types.topk(values.narrow(at, 0, k).clone(), indices.narrow(at, 0, k).clone())


@function()
def kthvalue(input: Tensor, k: int, dim: int = -1, keepdim: bool = False) -> return_types.kthvalue:
    """The `k`-th smallest element along `dim`, counted from 1, and its position.

    Returns:
        Named tuple ``(values, indices)``, the indices int64.

    Raises:
        RuntimeError: `k` is not within the dimension.
        IndexError: the dimension is empty.
        TypeError: `k` is no integer.

    Example:
        >>> import oneflow as flow
        >>> flow.kthvalue(flow.tensor([3, 1, 2]), 2).values
        tensor(2, dtype=oneflow.int64)
    """
    at, k = wrap_dim(dim, input.ndim), as_integer(k, "k")
    if input.ndim and not input.shape[at]:
        raise IndexError(f"kthvalue(): Expected reduction dim {at} to have non-zero size.")
    if not 1 <= k <= (input.shape[at] if input.ndim else 1):
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {at}")
    options = {"k": k, "dim": at, "keepdim": bool(keepdim)}
    return return_types.kthvalue(*call(statistics.kthvalue, input, **options))


def _number_like(tensor: Tensor | None, number: Any) -> Tensor:
    """A number as an array to compare with `tensor`, if there is one."""
    if tensor is None:
        return import_array(number)
    is_unsigned = tensor.dtype is uint64 and isinstance(number, int) and number >= 0
    return import_array(number, uint64 if is_unsigned else None, tensor.device)


@function(keyword_aliases={"input": "values", "self": "values"})
def searchsorted(
    sorted_sequence: Tensor,
    values: Tensor | float,
    out_int32: bool = False,
    right: bool = False,
    *,
    side: str | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Index at which each value can be inserted into a sorted sequence so that it stays sorted.

    Args:
        sorted_sequence: sorted along its last dimension; one dimension, or the leading dimensions
            of `values`.
        values: tensor or number.
        out_int32: int32 result in place of int64.
        right: after equal elements in place of before.
        side: ``"left"`` or ``"right"``, another way to say it.
        sorter: positions that sort `sorted_sequence`, if it is not sorted.

    Raises:
        RuntimeError: shapes do not fit, or `side` and `right` contradict.

    Example:
        >>> import oneflow as flow
        >>> flow.searchsorted(flow.tensor([1, 3, 5]), flow.tensor([3, 6]))
        tensor([1, 3], dtype=oneflow.int64)
    """
    if side not in (None, "left", "right"):
        raise RuntimeError(
            f"torch.searchsorted(): side can only be 'left' or 'right' but got {side}"[6:]
        )
    if side == "left" and right:
        raise RuntimeError("searchsorted(): side and right can't be set to opposites")
    values_of_dtype = (
        values if isinstance(values, Tensor) else _number_like(sorted_sequence, values)
    )
    sequence = sorted_sequence
    if sorter is not None:
        sequence = sequence.gather(-1, sorter)
    if sequence.ndim != 1 and sequence.shape[:-1] != values_of_dtype.shape[:-1]:
        raise RuntimeError(
            "searchsorted(): boundaries tensor should be 1 dimension or the first N-1 dimensions "
            "of "
            f"boundaries tensor and input value tensor must match, but we got boundaries tensor "
            f"{list(sequence.shape)} and input value tensor {list(values_of_dtype.shape)}"
        )
    common = promote_types(sequence.dtype, values_of_dtype.dtype)
    return call(
        p.searchsorted,
        cast_to(sequence, common),
        cast_to(values_of_dtype, common),
        right=right or side == "right",
        dtype=int32 if out_int32 else int64,
    )


@function()
def bucketize(
    input: Tensor | float, boundaries: Tensor, *, out_int32: bool = False, right: bool = False
) -> Tensor:
    """The bucket of each number, between sorted `boundaries`.

    Example:
        >>> import oneflow as flow
        >>> flow.bucketize(flow.tensor([0, 3, 9]), flow.tensor([1, 5]))
        tensor([0, 1, 2], dtype=oneflow.int64)
    """
    if boundaries.ndim != 1:
        raise RuntimeError(f"boundaries tensor must be 1 dimension, but got dim({boundaries.ndim})")
    return searchsorted(boundaries, input, out_int32=out_int32, right=right)


def _results(parts: list[np.ndarray], input: Tensor, function: str) -> Any:
    values, *others = (wrap_result(part, input.device) for part in parts)
    outputs = [raise_without_derivative(function, values, input), *others]
    return tuple(outputs) if len(outputs) > 1 else outputs[0]


@overload
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: DType | Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | DType | None = None,
    *,
    dtype: DType = int64,
) -> Tensor: ...
@overload
def unique(input: Tensor, *args: Any, **options: Any) -> tuple[Tensor, ...]: ...
@function()
def unique(
    input: Tensor,
    sorted: bool = True,
    return_inverse: bool | DType = False,
    return_counts: bool = False,
    dim: int | DType | None = None,
    *,
    dtype: DType = int64,
) -> Any:
    """The different elements (or slices along `dim`). Reads the values: a sync point.

    Args:
        input: tensor.
        sorted: smallest first; if not, in the order in which they first appear.
        return_inverse: also where each element of `input` is in the result.
        return_counts: also how often each appears.
        dim: compare slices along this dimension.
        dtype: dtype of inverse and counts.

    Returns:
        A tensor, or a tuple ``(values[, inverse][, counts])``.

    Example:
        >>> import oneflow as flow
        >>> flow.unique(flow.tensor([3, 1, 3]), return_counts=True)
        (tensor([1, 3], dtype=oneflow.int64), tensor([1, 2], dtype=oneflow.int64))
    """
    # OneFlow's order has the dtype in the place of `dim`, or of both flags before it.
    if isinstance(return_inverse, DType):
        return_inverse, dtype = False, return_inverse
    if isinstance(dim, DType):
        dim, dtype = None, dim
    array = input.numpy()
    values, first, inverse, counts = np.unique(array, True, True, True, dim, equal_nan=False)
    if not sorted:
        order = np.argsort(first)
        values, counts = np.take(values, order, dim or 0), counts[order]
        inverse = np.argsort(order)[inverse]
    parts = [values]
    if return_inverse:
        shape = array.shape if dim is None else (-1,)
        parts.append(inverse.reshape(shape).astype(dtype.numpy))
    if return_counts:
        parts.append(counts.astype(dtype.numpy))
    return _results(parts, input, "unique")


@overload
def unique_consecutive(
    input: Tensor,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    dim: int | None = None,
) -> Tensor: ...
@overload
def unique_consecutive(input: Tensor, *args: Any, **options: Any) -> tuple[Tensor, ...]: ...
@function()
def unique_consecutive(
    input: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """The elements (or slices along `dim`) without consecutive duplicates.

    Reads the values: a sync point.

    Returns:
        A tensor, or a tuple ``(values[, inverse][, counts])``.

    Example:
        >>> import oneflow as flow
        >>> flow.unique_consecutive(flow.tensor([1, 1, 2, 1]))
        tensor([1, 2, 1], dtype=oneflow.int64)
    """
    array = input.numpy()
    at = 0 if dim is None else wrap_dim(dim, array.ndim)
    line = array.reshape(-1) if dim is None else array
    rows = np.moveaxis(line, at, 0)
    changed = (rows[1:] != rows[:-1]).any(tuple(range(1, rows.ndim)))
    first = np.concatenate([np.ones(min(len(rows), 1), bool), changed])
    parts = [np.compress(first, line, at)]
    if return_inverse:
        inverse = np.cumsum(first) - 1
        parts.append(inverse.reshape(array.shape) if dim is None else inverse)
    if return_counts:
        parts.append(np.diff(np.append(np.flatnonzero(first), len(rows))))
    return _results(parts, input, "unique_consecutive")


@function()
def bincount(input: Tensor, weights: Tensor | None = None, minlength: int | None = None) -> Tensor:
    """Count of each number from 0 to the largest, or the sum of its weights.

    Reads the values.

    Raises:
        NotImplementedError: not one dimension of integers at least 0.
        RuntimeError: weights of another shape.

    Example:
        >>> import oneflow as flow
        >>> flow.bincount(flow.tensor([1, 1, 3]))
        tensor([0, 2, 0, 1], dtype=oneflow.int64)
    """
    array = input.numpy()
    if array.dtype.kind not in "iu" or array.ndim != 1 or (array < 0).any():
        raise NotImplementedError(
            "bincount only supports 1-d non-negative integral inputs, got "
            f"{input.dtype} of shape {tuple(input.shape)}"
        )
    if minlength is not None and minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    numbers = None if weights is None else weights.numpy()
    if numbers is not None and numbers.shape != array.shape:
        raise RuntimeError("weights should be 1-d and have the same length as input")
    require_host_memory("bincount", max(int(array.max(initial=0)), minlength or 0))
    counts = np.bincount(array.astype(np.int64), numbers, minlength or 0)
    if weights is not None and weights.dtype is float32:
        counts = counts.astype(np.float32)
    return raise_without_derivative("bincount", wrap_result(counts, input.device), weights)


@function()
def histc(input: Tensor, bins: int = 100, min: float = 0, max: float = 0) -> Tensor:
    """Histogram: the count of elements in each of `bins` equal intervals from `min` to `max`.

    Args:
        input: float tensor.
        bins: number of intervals.
        min: start; if it equals `max`, the range of the data.
        max: end, which belongs to the last interval.

    Raises:
        RuntimeError: `bins` is not positive, `max` is below `min`, or one of them is not finite.

    Example:
        >>> import oneflow as flow
        >>> flow.histc(flow.tensor([1.0, 2.0, 1.0]), 4, 0, 3)
        tensor([0., 2., 1., 0.], dtype=oneflow.float32)
    """
    bins = as_integer(bins, "bins")
    if bins <= 0:
        raise RuntimeError("bins must be > 0")
    if not (math.isfinite(min) and math.isfinite(max)):
        raise RuntimeError(f"range of [{min}, {max}] is not finite")
    if max < min:
        raise RuntimeError("max must be larger than min")
    if not input.dtype.is_floating_point:
        raise NotImplementedError(f"histc is not implemented for {input.dtype!r}")
    low, high = as_float(min, "min"), as_float(max, "max")
    if low == high and input.numel():
        low, high = input.min().item(), input.max().item()
    if low == high:
        low, high = low - 1, high + 1
    return call(p.histogram, input, low, high, bins=bins)


@function(method=False)
def isin(
    elements: Tensor | float,
    test_elements: Tensor | float,
    *,
    assume_unique: bool = False,
    invert: bool = False,
) -> Tensor:
    """For each element, whether it is among `test_elements`.

    Example:
        >>> import oneflow as flow
        >>> flow.isin(flow.tensor([1, 2, 3]), flow.tensor([2, 5]))
        tensor([False,  True, False], dtype=oneflow.bool)
    """
    operands = (elements, test_elements)
    tensor = next((operand for operand in operands if isinstance(operand, Tensor)), None)
    pair = [
        operand if isinstance(operand, Tensor) else _number_like(tensor, operand)
        for operand in operands
    ]
    common = promote_types(pair[0].dtype, pair[1].dtype)
    mask = call(p.isin, cast_to(pair[0], common), cast_to(pair[1], common))
    return mask.logical_not() if invert else mask


@function(method=False, namespace="nn.functional")
def one_hot(
    input: Tensor, num_classes: int = -1, on_value: float = 1, off_value: float = 0
) -> Tensor:
    """A vector per class number, `on_value` at that index and `off_value` elsewhere.

    Args:
        input: int64 or int32 tensor of class numbers.
        num_classes: length of the vectors; -1: the largest class number plus one (reads the
            values).
        on_value: number at the class.
        off_value: number elsewhere; if either is a float the result is float32, otherwise int64.

    Raises:
        RuntimeError: (at the next read of a value) a class number is negative or not smaller than
            `num_classes`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.one_hot(flow.tensor([0, 2]), 3).tolist()
        [[1, 0, 0], [0, 0, 1]]
    """
    if input.dtype is not int64 and input.dtype is not int32:
        raise RuntimeError(
            f"one_hot is only applicable to index tensor of type LongTensor, got {input.dtype!r}"
        )
    num_classes = as_integer(num_classes, "num_classes")
    if num_classes == -1:
        if not input.numel():
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(input.numpy().max()) + 1
    if num_classes < 1:
        raise RuntimeError(f"one_hot(): num_classes should be positive, got {num_classes}")
    hot = call(p.one_hot, input, classes=num_classes)
    if (on_value, off_value) == (1, 0) and type(on_value) is int and type(off_value) is int:
        return hot
    kind = int64 if isinstance(on_value, int) and isinstance(off_value, int) else float32
    choices = [import_array(number, kind, input.device) for number in (on_value, off_value)]
    return call(choose, cast_to(hot, bool_), *choices)
