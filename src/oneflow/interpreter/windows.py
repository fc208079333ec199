"""Rules of reductions over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from oneflow.interpreter.numpy_function import NumpyFunction
from oneflow.interpreter.products import windows_of
from oneflow.interpreter.reductions import _highest, _lowest
from oneflow.interpreter.rules import UnsupportedEquation, dtype_of, is_half, rule
from oneflow.interpreter.shapes import padded

_WINDOWS: dict[str, tuple[np.ufunc, Callable[[np.dtype], Any]]] = {
    "reduce_window_sum": (np.add, lambda dtype: dtype.type(0)),
    "reduce_window_max": (np.maximum, _lowest),
    "reduce_window_min": (np.minimum, _highest),
}


@rule(*_WINDOWS)
def _reduce_window(equation: Any) -> Callable:
    params = equation.params
    ufunc, identity = _WINDOWS[equation.primitive.name]
    dtype = dtype_of(equation.outvars[0])
    sizes = params["window_dimensions"]
    config = [
        (low, high, dilation - 1)
        for (low, high), dilation in zip(params["padding"], params["base_dilation"], strict=True)
    ]
    dims = tuple(range(len(sizes), 2 * len(sizes)))

    def reduce(x: Any) -> Any:
        padded_x = padded(x, identity(dtype), config)
        views = windows_of(padded_x, sizes, params["window_strides"], params["window_dilation"])
        if ufunc is np.add and is_half(dtype):
            return np.add.reduce(views.astype(np.float32), axis=dims).astype(dtype)
        return ufunc.reduce(views, axis=dims, dtype=dtype if ufunc is np.add else None)

    return reduce


@rule("reduce_window")
def _reduce_window_by_body(equation: Any) -> Callable:
    params = equation.params
    sizes, count = params["window_dimensions"], len(equation.outvars)
    if params["consts"]:
        raise UnsupportedEquation("windows that are reduced with constants")
    body = NumpyFunction(params["jaxpr"])
    config = [
        (low, high, dilation - 1)
        for (low, high), dilation in zip(params["padding"], params["base_dilation"], strict=True)
    ]
    all_dims = (slice(None),) * len(sizes)

    def reduce(*operands: Any) -> list[Any]:
        starts = operands[count:]
        views = [
            windows_of(
                padded(x, start, config),
                sizes,
                params["window_strides"],
                params["window_dilation"],
            )
            for x, start in zip(operands[:count], starts, strict=True)
        ]
        # The body is elementwise: it takes all windows at once.
        results = list(starts)
        for place in np.ndindex(*sizes):
            results = body(*results, *[view[(*all_dims, *place)] for view in views])
        return results

    return reduce
