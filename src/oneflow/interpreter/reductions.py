"""Rules of reductions, running reductions, sorting and windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.rules import (
    UnsupportedEquation,
    dtype_of,
    is_float,
    is_half,
    is_integer,
    rule,
    shape_of,
)
from oneflow.primitives.operators.running import total_dtype


def _lowest(dtype: np.dtype) -> Any:
    """The neutral element of the maximum."""
    if is_integer(dtype):
        return dtype.type(np.iinfo(dtype).min)
    return dtype.type(0) if dtype.kind == "b" else dtype.type(-np.inf)


def _highest(dtype: np.dtype) -> Any:
    """The neutral element of the minimum."""
    if is_integer(dtype):
        return dtype.type(np.iinfo(dtype).max)
    return dtype.type(1) if dtype.kind == "b" else dtype.type(np.inf)


_REDUCTIONS: dict[str, tuple[np.ufunc, Callable[[np.dtype], Any]]] = {
    "reduce_sum": (np.add, lambda dtype: dtype.type(0)),
    "reduce_prod": (np.multiply, lambda dtype: dtype.type(1)),
    "reduce_max": (np.maximum, _lowest),
    "reduce_min": (np.minimum, _highest),
    "reduce_or": (np.bitwise_or, lambda dtype: dtype.type(0)),
    "reduce_and": (np.bitwise_and, lambda dtype: np.invert(np.zeros((), dtype))[()]),
    "reduce_xor": (np.bitwise_xor, lambda dtype: dtype.type(0)),
}


@rule(*_REDUCTIONS)
def _reduce(equation: Any) -> Callable:
    ufunc, identity = _REDUCTIONS[equation.primitive.name]
    axes = tuple(equation.params["axes"])
    dtype = dtype_of(equation.outvars[0])
    if not axes:
        return lambda x: x
    reduce = ufunc.reduce
    if ufunc in (np.add, np.multiply) and is_half(dtype):
        return lambda x: reduce(x.astype(np.float32), axis=axes).astype(dtype)
    if 0 in shape_of(equation.invars[0]):
        shape, value = shape_of(equation.outvars[0]), identity(dtype)
        return lambda x: np.full(shape, value, dtype)
    if ufunc in (np.add, np.multiply):
        if axes == tuple(range(len(shape_of(equation.invars[0]))))[-len(axes) :]:
            return lambda x: reduce(np.ascontiguousarray(x), axis=axes, dtype=dtype)
        return lambda x: reduce(x, axis=axes, dtype=dtype)
    return lambda x: reduce(x, axis=axes)


@rule("argmax", "argmin")
def _argmax(equation: Any) -> Callable:
    (axis,), dtype = equation.params["axes"], np.dtype(equation.params["index_dtype"])
    find = np.argmax if equation.primitive.name == "argmax" else np.argmin
    if is_half(dtype_of(equation.invars[0])):
        return lambda x: find(x.astype(np.float32), axis=axis).astype(dtype)
    return lambda x: find(x, axis=axis).astype(dtype)


_RUNNING = {
    "cumsum": np.add,
    "running_sum": np.add,
    "cumprod": np.multiply,
    "running_product": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
    "running_max": np.maximum,
    "cumlogsumexp": np.logaddexp,
    "running_logaddexp": np.logaddexp,
}


@rule(*_RUNNING)
def _running(equation: Any) -> Callable:
    ufunc, axis = _RUNNING[equation.primitive.name], equation.params["axis"]
    dtype = dtype_of(equation.outvars[0])
    if dtype.kind == "c" and ufunc is np.logaddexp:
        raise UnsupportedEquation("running logarithms of sums of complex numbers")
    if ufunc in (np.add, np.multiply):
        wide = total_dtype(dtype)
    else:
        wide = np.dtype(np.float32) if is_half(dtype) else dtype

    def run(x: Any) -> Any:
        x = x.astype(wide)
        if equation.params["reverse"]:
            return np.flip(ufunc.accumulate(np.flip(x, axis), axis=axis, dtype=wide), axis).astype(
                dtype
            )
        return ufunc.accumulate(x, axis=axis, dtype=wide).astype(dtype)

    return run


@rule("running_argmax", "running_argmin")
def _running_positions(equation: Any) -> Callable:
    """The position of the extreme so far: the last element that is equal to it, or is NaN."""
    axis = equation.params["axis"]
    extreme = np.maximum if equation.primitive.name == "running_argmax" else np.minimum
    shape, dtype = shape_of(equation.invars[0]), dtype_of(equation.outvars[0])
    positions = np.arange(shape[axis], dtype=dtype).reshape(
        [-1 if dim == axis else 1 for dim in range(len(shape))]
    )

    def run(x: Any) -> Any:
        x = x.astype(np.float32) if is_half(x.dtype) else x
        is_extreme = (x == extreme.accumulate(x, axis=axis)) | (x != x)
        return np.maximum.accumulate(np.where(is_extreme, positions, 0), axis=axis).astype(dtype)

    return run


# --- sorting


def _sort_keys(x: Any) -> Any:
    """The array in a dtype that NumPy sorts with NaN last."""
    return x.astype(np.float32) if is_half(x.dtype) else x


@rule("sort")
def _sort(equation: Any) -> Callable:
    axis, keys = equation.params["dimension"], equation.params["num_keys"]
    if len(equation.invars) == 1 and not is_float(dtype_of(equation.invars[0])):
        return lambda x: [np.sort(x, axis=axis)]

    def sort(*arrays: Any) -> list[Any]:
        if keys == 1:
            order = np.argsort(_sort_keys(arrays[0]), axis=axis, kind="stable")
        else:
            order = np.lexsort([_sort_keys(x) for x in reversed(arrays[:keys])], axis=axis)
        return [np.take_along_axis(x, order, axis=axis) for x in arrays]

    return sort


@rule("sort_random")
def _sort_random(_: Any) -> Callable:
    return np.sort


@rule("top_k")
def _top_k(equation: Any) -> Callable:
    count, axis = equation.params["k"], equation.params.get("axis", -1)
    index_dtype = dtype_of(equation.outvars[1])

    def choose(x: Any) -> list[Any]:
        size = x.shape[axis]
        # Backwards, equal elements come out in order, and NaN first.
        order = np.argsort(np.flip(_sort_keys(x), axis), axis=axis, kind="stable")
        order = size - 1 - np.flip(order, axis)
        order = np.take(order, np.arange(count), axis=axis)
        return [np.take_along_axis(x, order, axis=axis), order.astype(index_dtype)]

    return choose
