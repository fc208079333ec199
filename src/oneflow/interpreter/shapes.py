"""Rules of primitives that only move values, make positions, or join and cut arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import dtype_of, rule, shape_of


@rule("broadcast_in_dim")
def _broadcast_in_dim(equation: Any) -> Callable:
    target = shape_of(equation.outvars[0])
    source = shape_of(equation.invars[0])
    if source == target:
        return lambda x: x
    aligned = [1] * len(target)
    for dim, size in zip(equation.params["broadcast_dimensions"], source, strict=True):
        aligned[dim] = size
    aligned = tuple(aligned)
    if aligned == target:
        return lambda x: x.reshape(target)
    return _broadcast(aligned, target)


def _broadcast(aligned: tuple[int, ...], target: tuple[int, ...]) -> Callable:
    """A function that broadcasts an array, whose shape is `aligned` but for sizes of 1.

    NumPy's own takes 4 us, as long as an operation on some thousand elements.
    """
    size = math.prod(aligned)
    counts = [math.prod(aligned[dim + 1 :]) for dim in range(len(aligned))]
    steps = [
        count if size == wide else 0
        for count, size, wide in zip(counts, aligned, target, strict=True)
    ]

    def broadcast(x: Any) -> np.ndarray:
        array = np.asarray(x)
        if not (size and array.size == size and array.flags.c_contiguous):
            return np.broadcast_to(array.reshape(aligned), target)
        strides = [step * array.itemsize for step in steps]
        return np.ndarray(target, array.dtype, array, 0, strides)

    return broadcast


@rule("reshape", "squeeze", "expand_dims")
def _reshape(equation: Any) -> Callable:
    shape = shape_of(equation.outvars[0])
    order = equation.params.get("dimensions")
    if order is not None and equation.primitive.name == "reshape":
        return lambda x: np.transpose(x, order).reshape(shape)
    return lambda x: x.reshape(shape)


@rule("transpose")
def _transpose(equation: Any) -> Callable:
    order = tuple(equation.params["permutation"])
    return lambda x: x.transpose(order)


@rule("rev")
def _rev(equation: Any) -> Callable:
    reversed_ = set(equation.params["dimensions"])
    rank = len(shape_of(equation.invars[0]))
    index = tuple(slice(None, None, -1 if dim in reversed_ else None) for dim in range(rank))
    return lambda x: x[index]


@rule("iota")
def _iota(equation: Any) -> Callable:
    shape, dtype = shape_of(equation.outvars[0]), dtype_of(equation.outvars[0])
    dimension = equation.params["dimension"]
    aligned = tuple(size if dim == dimension else 1 for dim, size in enumerate(shape))
    broadcast = _broadcast(aligned, shape)

    def count(*_: Any) -> Any:
        numbers = np.arange(shape[dimension]).astype(dtype)
        return numbers if len(shape) == 1 else broadcast(numbers)

    return count


@rule("size_value")
def _size_value(equation: Any) -> Callable:
    size = dtype_of(equation.outvars[0]).type(equation.params["size"])
    return lambda: size


@rule("concatenate")
def _concatenate(equation: Any) -> Callable:
    dimension = equation.params["dimension"]
    return lambda *arrays: np.concatenate(arrays, axis=dimension)


@rule("stack")
def _stack(equation: Any) -> Callable:
    (axis,) = equation.params.values()
    return lambda *arrays: np.stack(arrays, axis=axis)


@rule("unstack")
def _unstack(equation: Any) -> Callable:
    (axis,) = equation.params.values()
    return lambda x: list(np.moveaxis(x, axis, 0))


@rule("tile")
def _tile(equation: Any) -> Callable:
    (counts,) = equation.params.values()
    return lambda x: np.tile(x, counts)


@rule("slice")
def _slice(equation: Any) -> Callable:
    starts, limits = equation.params["start_indices"], equation.params["limit_indices"]
    steps = equation.params["strides"] or (1,) * len(starts)
    index = tuple(map(slice, starts, limits, steps))
    return lambda x: x[index]


@rule("split")
def _split(equation: Any) -> Callable:
    axis, sizes = equation.params["axis"], equation.params["sizes"]
    ends = np.cumsum(sizes)
    before = (slice(None),) * axis
    indices = [
        (*before, slice(int(end) - size, int(end))) for size, end in zip(sizes, ends, strict=True)
    ]
    return lambda x: [x[index] for index in indices]


@rule("pad")
def _pad(equation: Any) -> Callable:
    config = equation.params["padding_config"]
    return lambda x, value: padded(x, value, config)


def padded(x: Any, value: Any, config: Any) -> Any:
    """Pad as XLA's `pad` does.

    Args:
        x: an array.
        value: what the padding holds.
        config: for each dimension how much comes before, after, and between any two elements;
            negative numbers before and after cut off.
    """
    if not any(low or high or between for low, high, between in config):
        return x
    dilated_shape = [
        size + (size - 1) * between if size else 0
        for size, (_, _, between) in zip(x.shape, config, strict=True)
    ]
    shape = [
        max(size + low + high, 0)
        for size, (low, high, _) in zip(dilated_shape, config, strict=True)
    ]
    result = np.full(shape, value, x.dtype)
    targets, sources = [], []
    for size, (low, _, between), length in zip(shape, config, x.shape, strict=True):
        step = between + 1
        first = -(-max(-low, 0) // step)  # of the elements that stay
        start = low + first * step
        count = max(min(length - first, -(-(size - start) // step)), 0)
        targets.append(slice(start, start + count * step, step) if count else slice(0, 0))
        sources.append(slice(first, first + count))
    result[tuple(targets)] = x[tuple(sources)]
    return result


@rule("dynamic_slice")
def _dynamic_slice(equation: Any) -> Callable:
    sizes, shape = equation.params["slice_sizes"], shape_of(equation.invars[0])
    return lambda x, *starts: x[_window(starts, sizes, shape)]


@rule("dynamic_update_slice")
def _dynamic_update_slice(equation: Any) -> Callable:
    shape, sizes = shape_of(equation.invars[0]), shape_of(equation.invars[1])

    def update(x: Any, new: Any, *starts: Any) -> Any:
        result = x.copy()
        result[_window(starts, sizes, shape)] = new
        return result

    return update


def _window(starts: Any, sizes: Any, shape: Any) -> tuple[slice, ...]:
    """A window, clamped to lie inside the array."""
    window = []
    for start, window_size, size in zip(starts, sizes, shape, strict=True):
        first = min(max(int(start), 0), size - window_size)
        window.append(slice(first, first + window_size))
    return tuple(window)
