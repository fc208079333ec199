"""Rules of matrix products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.interpreter.rules import UnsupportedEquation, dtype_of, is_half, rule, shape_of
from oneflow.interpreter.shapes import padded


def _accumulation_dtype(result: np.dtype) -> np.dtype:
    """The dtype in which products are added up: that of results, single precision for halves."""
    return np.dtype(np.float32) if is_half(result) else result


@rule("dot_general")
def _dot_general(equation: Any) -> Callable:
    x_shape, y_shape = map(shape_of, equation.invars)
    (x_contracting, y_contracting), (x_batch, y_batch) = equation.params["dimension_numbers"]
    result, shape = dtype_of(equation.outvars[0]), shape_of(equation.outvars[0])
    dtype = _accumulation_dtype(result)
    if result.kind == "b":
        raise UnsupportedEquation("products of truth values")
    x_rest = [dim for dim in range(len(x_shape)) if dim not in (*x_contracting, *x_batch)]
    y_rest = [dim for dim in range(len(y_shape)) if dim not in (*y_contracting, *y_batch)]
    batch = [x_shape[dim] for dim in x_batch]
    contracting_size = math.prod(x_shape[dim] for dim in x_contracting)
    rows = math.prod(x_shape[dim] for dim in x_rest)
    columns = math.prod(y_shape[dim] for dim in y_rest)
    x_order, x_form = (*x_batch, *x_rest, *x_contracting), (*batch, rows, contracting_size)
    y_order, y_form = (*y_batch, *y_contracting, *y_rest), (*batch, contracting_size, columns)

    def multiply(x: Any, y: Any) -> Any:
        a = x.transpose(x_order).reshape(x_form).astype(dtype, copy=False)
        b = y.transpose(y_order).reshape(y_form).astype(dtype, copy=False)
        return np.matmul(a, b).reshape(shape).astype(result, copy=False)

    return multiply


@rule("conv_general_dilated")
def _conv_general_dilated(equation: Any) -> Callable:
    params = equation.params
    numbers = params["dimension_numbers"]
    result = dtype_of(equation.outvars[0])
    dtype = _accumulation_dtype(result)
    image_order, kernel_order = numbers.lhs_spec, numbers.rhs_spec
    groups, batch_groups = params["feature_group_count"], params["batch_group_count"]
    config = [
        (0, 0, 0),
        (0, 0, 0),
        *(
            (low, high, dilation - 1)
            for (low, high), dilation in zip(params["padding"], params["lhs_dilation"], strict=True)
        ),
    ]
    back = np.argsort(numbers.out_spec)

    def convolve(image: Any, kernel: Any) -> Any:
        x = padded(image.transpose(image_order).astype(dtype, copy=False), 0, config)
        k = kernel.transpose(kernel_order).astype(dtype, copy=False)
        strides, rhs_dilation = params["window_strides"], params["rhs_dilation"]
        if batch_groups > 1:
            product = _batch_grouped(x, k, batch_groups, strides, rhs_dilation)
        else:
            product = _grouped(x, k, groups, strides, rhs_dilation)
        return product.transpose(back).astype(result, copy=False)

    return convolve


def _grouped(
    x: Any, kernel: Any, groups: int, strides: Sequence[int], rhs_dilation: Sequence[int]
) -> Any:
    """A convolution of ``(batch, features, *space)`` with ``(out, features / groups, *window)``."""
    windows = windows_of(x, kernel.shape[2:], strides, rhs_dilation)
    ndim = kernel.ndim - 2
    batch, space = x.shape[0], windows.shape[2 : 2 + ndim]
    inner = kernel.shape[1]
    outer = kernel.shape[0] // groups
    # (groups, batch * space, features * window) by (groups, features * window, out)
    windows = windows.reshape(batch, groups, inner, *windows.shape[2:])
    order = (1, 0, *range(3, 3 + ndim), 2, *range(3 + ndim, 3 + 2 * ndim))
    rows = batch * math.prod(space)
    columns = inner * math.prod(kernel.shape[2:])
    a = windows.transpose(order).reshape(groups, rows, columns)
    b = kernel.reshape(groups, outer, columns).transpose(0, 2, 1)
    product = np.matmul(a, b).reshape(groups, batch, *space, outer)
    product = product.transpose(1, 0, 2 + ndim, *range(2, 2 + ndim))
    return product.reshape(batch, groups * outer, *space)


def _batch_grouped(
    x: Any, kernel: Any, groups: int, strides: Sequence[int], rhs_dilation: Sequence[int]
) -> Any:
    """A convolution in which every part of the batch has output features of its own."""
    images = np.split(x, groups, axis=0)
    kernels = np.split(kernel, groups, axis=0)
    pairs = zip(images, kernels, strict=True)
    return np.concatenate([_grouped(a, k, 1, strides, rhs_dilation) for a, k in pairs], axis=1)


def windows_of(
    x: Any, sizes: Sequence[int], strides: Sequence[int], rhs_dilation: Sequence[int]
) -> Any:
    """All windows of the last dimensions of an array, as a view.

    Returns:
        An array with the places of windows in these dimensions, and new dimensions at the end for
        the places within a window.
    """
    ndim = len(sizes)
    leading = x.shape[: x.ndim - ndim]
    dilated = [
        (size - 1) * dilation + 1 for size, dilation in zip(sizes, rhs_dilation, strict=True)
    ]
    counts = [
        max((size - window) // stride + 1, 0) if size >= window else 0
        for size, window, stride in zip(x.shape[x.ndim - ndim :], dilated, strides, strict=True)
    ]
    x_strides = x.strides[x.ndim - ndim :]
    return np.lib.stride_tricks.as_strided(
        x,
        (*leading, *counts, *sizes),
        (
            *x.strides[: x.ndim - ndim],
            *(step * stride for step, stride in zip(x_strides, strides, strict=True)),
            *(step * dilation for step, dilation in zip(x_strides, rhs_dilation, strict=True)),
        ),
        writeable=False,
    )
