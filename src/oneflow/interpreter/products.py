"""Rules of matrix products and convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from oneflow.interpreter.rules import UnsupportedEquation, dtype_of, is_half, rule, shape_of
from oneflow.interpreter.shapes import padded


def _accumulation_dtype(result: np.dtype) -> np.dtype:
    """The dtype in which products are summed: the result's, or single precision for halves."""
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
    shape = shape_of(equation.outvars[0])
    strides, rhs_dilation = params["window_strides"], params["rhs_dilation"]
    is_dilated, is_strided = (
        max(params[n], default=1) > 1 for n in ("lhs_dilation", "window_strides")
    )
    can_transpose = not is_strided and batch_groups == 1

    def convolve(image: Any, kernel: Any) -> Any:
        x = image.transpose(image_order).astype(dtype, copy=False)
        k = kernel.transpose(kernel_order).astype(dtype, copy=False)
        if can_transpose and (is_dilated or _is_small(x, k)):
            space = [shape[dim] for dim in numbers.out_spec[2:]]
            product = _transposed(x, k, groups, params, space)
        elif batch_groups > 1:
            product = _batch_grouped(padded(x, 0, config), k, batch_groups, strides, rhs_dilation)
        else:
            product = _grouped(padded(x, 0, config), k, groups, strides, rhs_dilation)
        return product.transpose(back).astype(result, copy=False)

    return convolve


def _grouped(
    x: Any, kernel: Any, groups: int, strides: Sequence[int], rhs_dilation: Sequence[int]
) -> Any:
    """A convolution of ``(batch, features, *space)`` with ``(out, features / groups, *window)``."""
    window, ndim = kernel.shape[2:], kernel.ndim - 2
    windows = windows_of(x, window, strides, rhs_dilation)
    batch, space = x.shape[0], windows.shape[2 : 2 + ndim]
    inner = kernel.shape[1]
    outer = kernel.shape[0] // groups
    windows = windows.reshape(batch, groups, inner, *windows.shape[2:])
    places, offsets = range(3, 3 + ndim), range(3 + ndim, 3 + 2 * ndim)
    rows = batch * math.prod(space)
    columns = inner * math.prod(window)
    k = kernel.reshape(groups, outer, columns)
    # Elements are copied in runs along the last of these dimensions: the longer one.
    if math.prod(space) >= math.prod(window):
        copied = windows.transpose((1, 2, *offsets, 0, *places)).reshape(groups, columns, rows)
        return np.matmul(k, copied).reshape(groups * outer, batch, *space).swapaxes(0, 1)
    copied = windows.transpose((1, 0, *places, 2, *offsets)).reshape(groups, rows, columns)
    product = np.matmul(copied, k.transpose(0, 2, 1)).reshape(groups, batch, *space, outer)
    product = product.transpose(1, 0, 2 + ndim, *range(2, 2 + ndim))
    return product.reshape(batch, groups * outer, *space)


def _is_small(x: Any, kernel: Any) -> bool:
    """Return whether an adjoint has so few elements per feature that a copied kernel costs more."""
    is_small = x.size < x.shape[1] * kernel.shape[1]
    return is_small and _flipped(kernel).swapaxes(0, 1).flags.c_contiguous


def _flipped(kernel: Any) -> Any:
    """The kernel reversed in its spatial dimensions, as an adjoint's lies in memory."""
    return np.flip(kernel, tuple(range(2, kernel.ndim)))


def _transposed(x: Any, kernel: Any, groups: int, params: Any, space: Sequence[int]) -> Any:
    """A convolution without products of the gaps between an image's elements, or few of these.

    Each element is multiplied with the whole kernel, and the products are added where they belong.
    The kernel of an adjoint is read as it lies in memory.
    """
    batch, size = x.shape[0], x.shape[2:]
    features, inner, *window = kernel.shape
    outer, offsets = features // groups, math.prod(window)
    places = math.prod(size)
    rows = x.reshape(batch, groups, inner, places).transpose(1, 0, 3, 2)
    rows = rows.reshape(groups, batch * places, inner)
    columns = _flipped(kernel).reshape(groups, outer, inner, offsets).transpose(0, 1, 3, 2)
    columns = columns.reshape(groups, outer * offsets, inner)
    products = np.matmul(columns, rows.transpose(0, 2, 1))
    products = products.reshape(groups, outer, *window, batch, *size)
    products = np.flip(products, tuple(range(2, 2 + len(window))))
    result = np.zeros((groups, outer, batch, *space), x.dtype)
    dilations = params["lhs_dilation"], params["rhs_dilation"]
    dims = list(zip(size, space, params["padding"], *dilations, strict=True))
    for offset in np.ndindex(*window):
        pairs = [
            _overlap(offset_of_dim, *place)
            for offset_of_dim, place in zip(offset, dims, strict=True)
        ]
        sources, targets = zip(*pairs, strict=True)
        part = products[(slice(None), slice(None), *offset)]
        result[(..., *targets)] += part[(..., *sources)]
    result = result.reshape(features, batch, *space)
    return result.swapaxes(0, 1)


def _overlap(
    offset: int, size: int, space: int, padding: Sequence[int], gap: int, dilation: int
) -> tuple[slice, slice]:
    """Return which elements of one dimension meet a place of the kernel, and where in the result.

    Args:
        offset: the place in the kernel.
        size: elements of the image.
        space: elements of the result.
        padding: before the image, and after it.
        gap: from one element to the next.
        dilation: from one place of the kernel to the next.
    """
    shift = padding[0] - offset * dilation
    first = max(-(shift // gap), 0)
    last = min((space - 1 - shift) // gap, size - 1)
    count = max(last - first + 1, 0)
    start = first * gap + shift
    if not count:
        return slice(0, 0), slice(0, 0)
    return slice(first, first + count), slice(start, start + (count - 1) * gap + 1, gap)


def _batch_grouped(
    x: Any, kernel: Any, groups: int, strides: Sequence[int], rhs_dilation: Sequence[int]
) -> Any:
    """A convolution in which every part of the batch has output features of its own."""
    window, ndim = kernel.shape[2:], kernel.ndim - 2
    windows = windows_of(x, window, strides, rhs_dilation)
    batch, inner, space = x.shape[0] // groups, x.shape[1], windows.shape[2 : 2 + ndim]
    outer, rows, columns = (
        kernel.shape[0] // groups,
        batch * math.prod(space),
        inner * math.prod(window),
    )
    windows = windows.reshape(groups, batch, *windows.shape[1:])
    places, offsets = range(3, 3 + ndim), range(3 + ndim, 3 + 2 * ndim)
    copied = windows.transpose((0, 2, *offsets, 1, *places)).reshape(groups, columns, rows)
    product = np.matmul(kernel.reshape(groups, outer, columns), copied)
    product = product.reshape(groups * outer, batch, *space)
    return product.swapaxes(0, 1)


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
    # With one place the distance to a next one may be more than NumPy takes.
    distances = [
        stride * distance if places > 1 else 0
        for places, stride, distance in zip(
            (*counts, *sizes),
            x.strides[x.ndim - ndim :] * 2,
            (*strides, *rhs_dilation),
            strict=True,
        )
    ]
    return np.lib.stride_tricks.as_strided(
        x,
        (*leading, *counts, *sizes),
        (*x.strides[: x.ndim - ndim], *distances),
        writeable=False,
    )
