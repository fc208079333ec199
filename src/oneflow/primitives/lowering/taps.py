"""Window operations written out tap by tap: shifted slices, and putting shifted slices back.

With few taps this beats XLA's window operations on the CPU: it fuses with whatever is around it and
runs along the channels, which are contiguous.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

Tap = tuple[int, ...]

# Kernels with more taps than this are left to XLA.
MAX_TAPS = 27


class Taps(NamedTuple):
    """Windows that slide along `dims`; one entry per dimension in every field."""

    dims: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]

    def all(self) -> list[Tap]:
        """Every tap, the last dimension running fastest."""
        return list(itertools.product(*map(range, self.kernel)))

    def along(self, axis: int) -> Taps:
        """The windows along one of the dimensions."""
        return Taps._make(each[axis : axis + 1] for each in self)

    def counts(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """How many windows there are along each dimension of an array of `shape`."""
        return tuple(
            (shape[dim] + low + high - spread * (taps - 1) - 1) // step + 1
            for dim, taps, step, (low, high), spread in zip(*self, strict=True)
        )

    def gather(self, x: Any, fill: Any) -> dict[Tap, Any]:
        """For each tap the elements of `x` under it, one per window; `fill` is outside."""
        counts = self.counts(x.shape)
        padded = self._padded(x, fill)
        parts = {}
        for tap in self.all():
            start, stop, step = [0] * x.ndim, list(padded.shape), [1] * x.ndim
            for place, (dim, count) in enumerate(zip(self.dims, counts, strict=True)):
                start[dim] = tap[place] * self.dilation[place]
                step[dim] = self.stride[place]
                stop[dim] = start[dim] + (count - 1) * step[dim] + 1
            parts[tap] = lax.slice(padded, start, stop, step)
        return parts

    def _padded(self, x: Any, fill: Any) -> Any:
        amounts = [(0, 0, 0)] * x.ndim
        for dim, (low, high) in zip(self.dims, self.padding, strict=True):
            amounts[dim] = (low, high, 0)
        return lax.pad(x, fill, amounts) if any(any(each) for each in amounts) else x

    def scatter(self, part: Callable[[Tap], Any], size: tuple[int, ...]) -> Any:
        """The transpose of `gather`: sums ``part(tap)`` where each came from.

        Element m of a tap belongs at ``m * stride + tap * dilation`` of the padded array. Places
        with the same remainder by the stride form a phase; within one, taps only shift by whole
        elements, and the phases interleave at the end.
        """
        phases = itertools.product(*map(range, self.stride))
        sums = {phase: self._phase(phase, part, size) for phase in phases}
        return self._interleaved(sums, size)

    def _phase(self, phase: Tap, part: Callable[[Tap], Any], size: tuple[int, ...]) -> Any:
        """Sum of the taps that land on one phase, as long as the longest phase."""
        terms = []
        for tap in self.all():
            reach = [t * d - p for t, d, p in zip(tap, self.dilation, phase, strict=True)]
            if any(r % s for r, s in zip(reach, self.stride, strict=True)):
                continue
            value = part(tap)
            amounts = [(0, 0, 0)] * value.ndim
            lengths = zip(self.dims, reach, self.stride, self._lengths(size), strict=True)
            for dim, distance, step, length in lengths:
                shift = distance // step
                amounts[dim] = (shift, length - shift - value.shape[dim], 0)
            terms.append(lax.pad(value, np.zeros((), value.dtype), amounts))
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

    def _interleaved(self, sums: dict[Tap, Any], size: tuple[int, ...]) -> Any:
        """One array from its phases, without the padding."""
        for place in reversed(range(len(self.dims))):
            dim, step = self.dims[place], self.stride[place]
            merged = {}
            for phase in {phase[:place] for phase in sums}:
                parts = [sums[*phase, rest] for rest in range(step)]
                joined = parts[0] if step == 1 else jnp.stack(parts, axis=dim + 1)
                shape = list(parts[0].shape)
                shape[dim] *= step
                joined = joined.reshape(shape)
                low = self.padding[place][0]
                merged[phase] = lax.slice_in_dim(joined, low, low + size[place], axis=dim)
            sums = merged
        return sums[()]
