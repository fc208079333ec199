"""Windows that slide along dimensions of an array: shifted slices of it, and their transpose.

On the CPU, for small kernels, sums over the slices beat XLA's window operations: they fuse with
whatever is around them and run along the channels, which are contiguous.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

KernelOffset = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]

# Kernels with more elements than this are left to XLA.
MAX_KERNEL_SIZE = 27


class Windows(NamedTuple):
    """Windows that slide along `dims`; one entry per dimension in every field."""

    dims: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: Pairs
    dilation: tuple[int, ...]

    def all(self) -> list[KernelOffset]:
        """Every kernel offset, the last dimension running fastest."""
        return list(itertools.product(*map(range, self.kernel)))

    def along(self, axis: int) -> Windows:
        """The windows along one of the dimensions."""
        return Windows._make(field[axis : axis + 1] for field in self)

    def tile(self, size: tuple[int, ...]) -> bool:
        """Return whether they tile spatial dimensions of `size`: no gap, overlap or remainder."""
        return (
            self.kernel == self.stride
            and set(self.dilation) <= {1}
            and not any(low or high for low, high in self.padding)
            and not any(n % step for n, step in zip(size, self.stride, strict=True))
        )

    def counts(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The number of windows along each dimension of an array of `shape`."""
        return tuple(
            (shape[dim] + low + high - dilation * (length - 1) - 1) // step + 1
            for dim, length, step, (low, high), dilation in zip(*self, strict=True)
        )

    def adjoint_padding(self, shape: tuple[int, ...], size: tuple[int, ...]) -> list:
        """The padding of the transposed convolution, of an array that is spread by the stride.

        Args:
            shape: the shape of the array.
            size: the size of the result, along `dims`.
        """
        padding = []
        for target, (dim, length, step, (low, _), rate) in zip(
            size, zip(*self, strict=True), strict=True
        ):
            filled = (shape[dim] - 1) * step + 1
            padding.append((rate * (length - 1) - low, target - filled + low))
        return padding

    def gather(self, x: Any, fill: Any) -> dict[KernelOffset, Any]:
        """The elements of `x` at each kernel offset, one per window; `fill` is outside."""
        counts = self.counts(x.shape)
        padded = self.padded(x, fill)
        parts = {}
        for offset in self.all():
            start, stop, step = [0] * x.ndim, list(padded.shape), [1] * x.ndim
            for position, (dim, count) in enumerate(zip(self.dims, counts, strict=True)):
                start[dim] = offset[position] * self.dilation[position]
                step[dim] = self.stride[position]
                stop[dim] = start[dim] + (count - 1) * step[dim] + 1
            parts[offset] = lax.slice(padded, start, stop, step)
        return parts

    def padded(self, x: Any, fill: Any) -> Any:
        """`x` with its padding; negative padding crops."""
        padding = [(0, 0, 0)] * x.ndim
        for dim, (low, high) in zip(self.dims, self.padding, strict=True):
            padding[dim] = (low, high, 0)
        return lax.pad(x, fill, padding) if any(any(widths) for widths in padding) else x

    def scatter(self, part: Callable[[KernelOffset], Any], size: tuple[int, ...]) -> Any:
        """The transpose of `gather`: sums ``part(offset)`` where each came from.

        Element m at an offset belongs at ``m * stride + offset * dilation`` of the padded array.
        Positions with the same remainder by the stride form a phase; within one, offsets only shift
        by integral numbers of elements, and the phases interleave at the end.
        """
        phase_indices = itertools.product(*map(range, self.stride))
        sums = {phase: self._phase(phase, part, size) for phase in phase_indices}
        return self._interleaved(sums, size)

    def _phase(
        self, phase: KernelOffset, part: Callable[[KernelOffset], Any], size: tuple[int, ...]
    ) -> Any:
        """The sum over the offsets that land on one phase, as long as the longest phase."""
        terms = []
        for offset in self.all():
            distances = [t * d - p for t, d, p in zip(offset, self.dilation, phase, strict=True)]
            if any(r % s for r, s in zip(distances, self.stride, strict=True)):
                continue
            value = part(offset)
            padding = [(0, 0, 0)] * value.ndim
            lengths = zip(self.dims, distances, self.stride, self._lengths(size), strict=True)
            for dim, distance, step, length in lengths:
                shift = distance // step
                padding[dim] = (shift, length - shift - value.shape[dim], 0)
            terms.append(lax.pad(value, np.zeros((), value.dtype), padding))
        if terms:
            return functools.reduce(jnp.add, terms)
        like = part(self.all()[0])
        shape = list(like.shape)
        for dim, length in zip(self.dims, self._lengths(size), strict=True):
            shape[dim] = length
        return jnp.zeros(shape, like.dtype)

    def _lengths(self, size: tuple[int, ...]) -> tuple[int, ...]:
        """Elements of the padded array per phase and dimension, rounded up."""
        return tuple(
            -(-(n + low + max(high, 0)) // step)
            for n, (low, high), step in zip(size, self.padding, self.stride, strict=True)
        )

    def _interleaved(self, sums: dict[KernelOffset, Any], size: tuple[int, ...]) -> Any:
        """One array from its phases, without the padding."""
        for position in reversed(range(len(self.dims))):
            dim, step = self.dims[position], self.stride[position]
            merged = {}
            for phase in {phase[:position] for phase in sums}:
                parts = [sums[*phase, rest] for rest in range(step)]
                joined = parts[0] if step == 1 else jnp.stack(parts, axis=dim + 1)
                shape = list(parts[0].shape)
                shape[dim] *= step
                joined = joined.reshape(shape)
                low = self.padding[position][0]
                merged[phase] = _cut(joined, low, size[position], dim)
            sums = merged
        return sums[()]


def _cut(x: Any, start: int, size: int, dim: int) -> Any:
    """`size` elements of `x` from `start` on; before the first there are zeros."""
    if start >= 0:
        return lax.slice_in_dim(x, start, start + size, axis=dim)
    padding = [(0, 0, 0)] * x.ndim
    padding[dim] = (-start, start + size - x.shape[dim], 0)
    return lax.pad(x, np.zeros((), x.dtype), padding)
