"""Common parts of convolution, pooling and resizing: sizes, layouts, unbatched input."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

from oneflow.base.shape import is_sequence
from oneflow.base.spec import require_size
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

# From this size on a dimension takes long.
_LONG = 2**20
_INTEGERS = frozenset({int})


def per_dimension(value: Any, count: int, name: str) -> tuple[int, ...]:
    """`value` as one integer per spatial dimension; a single number stands for all of them.

    Raises:
        RuntimeError: a list of the wrong length.
        TypeError: something that is not an integer.
    """
    if type(value) is int:
        return (value,) * count
    if type(value) is tuple and len(value) == count and _INTEGERS.issuperset(map(type, value)):
        return value
    values: tuple[Any, ...] = tuple(value) if is_sequence(value) else (value,)
    try:
        numbers = tuple(map(operator.index, values))
    except TypeError:
        raise TypeError(f"`{name}` must be one or {count} integers, got {value!r}") from None
    if len(numbers) == 1:
        return numbers * count
    if len(numbers) != count:
        raise RuntimeError(f"`{name}` must be one or {count} integers, got {value!r}")
    return numbers


def require_sizes(name: str, input: Tensor, dims: Iterable[int], sizes: Sequence[int]) -> None:
    """Check that a tensor like `input` but of these sizes along `dims` can exist.

    It is made one dimension after the other; short ones take no time before that is noticed.

    Raises:
        RuntimeError: it cannot, see `require_size`.
    """
    if max(sizes, default=0) < _LONG:
        return
    spec = input.spec
    shape = list(spec.shape)
    for dim, size in zip(dims, sizes, strict=True):
        shape[dim] = size
    require_size(name, tuple(shape), spec.dtype)


def require_elements(name: str, shape: Sequence[int]) -> None:
    """Check that no dimension is empty but the first one, which may number no samples.

    Raises:
        RuntimeError: one is.
    """
    if 0 in shape[1:]:
        raise RuntimeError(
            f"{name}: Expected `input` to have no empty dimension but the batch, got size "
            f"{list(shape)}"
        )


def spatial_dims(count: int, data_format: str) -> tuple[int, ...]:
    """The spatial dimensions of a batched input.

    Raises:
        ValueError: `data_format` is neither ``"channels_first"`` nor ``"channels_last"``.
    """
    if data_format == "channels_first":
        return tuple(range(2, count + 2))
    if data_format == "channels_last":
        return tuple(range(1, count + 1))
    raise ValueError(
        f'data format must be "channels_first" or "channels_last", got {data_format!r}'
    )


def batched(input: Tensor, count: int, name: str) -> tuple[Tensor, bool]:
    """`input` with a batch dimension, and whether it had none.

    Raises:
        TypeError: `input` is not a tensor.
        RuntimeError: it has neither ``count + 1`` nor ``count + 2`` dimensions.
    """
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): `input` must be a Tensor, got {type(input).__name__}")
    ndim = input.spec.ndim
    if ndim == count + 2:
        return input, False
    if ndim == count + 1:
        return call(reshape, input, shape=(1, *input.shape)), True
    raise RuntimeError(
        f"{name} expects {count + 1}D (unbatched) or {count + 2}D (batched) input, got input of "
        f"size {list(input.shape)}"
    )


def unbatched(output: Tensor, was_unbatched: bool) -> Tensor:
    """`output` without the batch dimension that `batched` added."""
    return call(reshape, output, shape=tuple(output.shape[1:])) if was_unbatched else output
