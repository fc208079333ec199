"""The gradient of a convolution in its weight on the CPU, from one block of windows to the next.

What the windows of a block hold lies in the cache, and is one factor of a product. So
nothing that is larger than the operands goes through memory, which XLA's own convolution and one
product per kernel offset do: with 64 channels at 56 x 56 they take two to three times as long.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.conv_xla import sum_dtype
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.windows import Windows

# Bytes of what the windows of a block hold: of 128 KiB, 384 and 1 MiB the second takes least; but
# the windows should be this many, since each block adds up products as large as the weight.
_BLOCK_BYTES = 384 * 1024
_BLOCK_WINDOWS = 200
# The fewest windows that take less time than XLA's convolution: of a block, and of all.
_MIN_BLOCK_WINDOWS = 128
_MIN_WINDOWS = 512
# With more kernel offsets, each of which is copied by itself, only strided windows are quicker.
_MAX_OFFSETS = 49


class _Blocks(NamedTuple):
    """Some whole images in each, or some lines of one: the first of the spatial dimensions."""

    images: int
    lines: int
    of_an_image: int
    of_all: int

    def start(self, step: Any) -> tuple:
        """The first image of a block, and its first line."""
        images, lines = loops.coordinates(step, (self.of_all, self.of_an_image))
        return lax.mul(images, np.int32(self.images)), lax.mul(lines, np.int32(self.lines))


def _blocks(batch: int, counts: tuple[int, ...], elements: int, itemsize: int) -> _Blocks:
    """Blocks of as many windows as fit.

    Args:
        batch: the number of images.
        counts: the numbers of windows of an image.
        elements: how many a window holds.
        itemsize: bytes of each.
    """
    most = max(_BLOCK_BYTES // (itemsize * elements), _BLOCK_WINDOWS)
    images = _divisor(batch, most // math.prod(counts))
    lines = _divisor(counts[0], most // math.prod(counts[1:]))
    of_an_image = counts[0] // lines
    return _Blocks(images, lines, of_an_image, batch // images * of_an_image)


def _divisor(number: int, most: int) -> int:
    """The largest divisor that is not larger than `most`, or 1."""
    return next((d for d in range(min(number, most), 1, -1) if number % d == 0), 1)


def prefer_blocks(x, y, windows: Windows) -> bool:
    """Return whether `convolve_weight_adjoint` beats XLA's convolution.

    Measured with 3 to 512 channels, one image to 64 (`docs/performance.md`): a third to all of its
    time, but 1.1 of it where 512 channels become 64; along one dimension it gains nothing.
    """
    kernel, counts = windows.kernel, y.shape[1:-1]
    is_smaller = any(size < length for size, length in zip(x.shape[1:-1], kernel, strict=True))
    is_large = math.prod(kernel) > _MAX_OFFSETS and max(windows.stride) == 1
    if len(kernel) == 1 or is_smaller or is_large:
        return False
    itemsize = np.dtype(sum_dtype(x.dtype)).itemsize
    blocks = _blocks(y.shape[0], counts, math.prod(kernel) * x.shape[-1], itemsize)
    in_block = blocks.images * blocks.lines * math.prod(counts[1:])
    return in_block >= _MIN_BLOCK_WINDOWS and math.prod(y.shape[:-1]) >= _MIN_WINDOWS


def convolve_weight_adjoint(x, y, windows: Windows):
    """The gradient of a convolution of one group in its weight, ``[out, channels, *kernel]``."""
    channels, out, wide = x.shape[-1], y.shape[-1], sum_dtype(y.dtype)
    elements = math.prod(windows.kernel) * channels
    blocks = _blocks(y.shape[0], y.shape[1:-1], elements, np.dtype(wide).itemsize)
    padded = materialize_array(windows.padded(x, np.zeros((), x.dtype)))
    # The larger side of the product goes last, as in `conv_cpu`.
    shape = (elements, out) if elements < out else (out, elements)

    def add_block(step, total):
        image, line = blocks.start(step)
        starts = (image, line, *[np.int32(0)] * (y.ndim - 2))
        sizes = (blocks.images, blocks.lines, *y.shape[2:])
        values = materialize_array(_rows(lax.dynamic_slice(y, starts, sizes), wide))
        patches = _patches(padded, windows, blocks, (image, line), sizes[1:-1], wide)
        factors = (patches, values) if elements < out else (values, patches)
        return lax.add(total, lax.dot_general(*factors, (((0,), (0,)), ((), ()))))

    total = loops.fori_loop(0, blocks.of_all, add_block, jnp.zeros(shape, wide))
    total = total.T if elements < out else total
    return jnp.moveaxis(total.reshape(out, *windows.kernel, channels), -1, 1).astype(y.dtype)


def _rows(x, dtype: Any):
    """One row of channels per position."""
    return lax.convert_element_type(x, dtype).reshape(-1, x.shape[-1])


def _patches(padded, windows: Windows, blocks: _Blocks, start: tuple, counts: tuple, dtype: Any):
    """The elements of the windows of a block, one row for each: all channels at each kernel offset.

    Copied by a loop, since one copy for each offset takes twice as long to compile, and no less to
    run. In `dtype`: XLA would convert all that a loop writes of half precision in each turn.
    """
    channels, size = padded.shape[-1], math.prod(windows.kernel)
    steps = zip(counts, windows.stride, strict=True)
    spans = [(count - 1) * stride + 1 for count, stride in steps]
    image, line = start
    first = lax.mul(line, np.int32(windows.stride[0]))

    def copy(offset, patches):
        indices = zip(loops.coordinates(offset, windows.kernel), windows.dilation, strict=True)
        at = [lax.mul(index, np.int32(rate)) for index, rate in indices]
        at[0] = lax.add(at[0], first)
        part = lax.dynamic_slice(
            padded, (image, *at, np.int32(0)), (blocks.images, *spans, channels)
        )
        part = lax.slice(part, (0,) * part.ndim, part.shape, (1, *windows.stride, 1))
        column = lax.mul(lax.convert_element_type(offset, np.int32), np.int32(channels))
        starts = (*[np.int32(0)] * (part.ndim - 1), column)
        return lax.dynamic_update_slice(patches, lax.convert_element_type(part, dtype), starts)

    empty = jnp.zeros((blocks.images, *counts, size * channels), dtype)
    return _rows(loops.fori_loop(0, size, copy, empty), dtype)
