"""Primitives that move elements without computing on them. Views say how they are written through."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.creation import zeros
from oneflow.primitives.registry import primitive


def views(write: Callable) -> dict[str, Callable]:
    """The fact that a primitive's result shares its operand's memory in PyTorch.

    ``write(base, new, *numbers, **attributes)`` is `base` after `new` was written into the view.
    """
    return {"write": write}


reshape = primitive(
    "reshape",
    lambda x, *, shape: lax.reshape(x, shape),
    facts=views(lambda base, new, shape: reshape(new, shape=base.spec.shape)),
)
reshape.gradient(x=lambda g, x_spec: reshape(g, shape=x_spec.shape))


def _inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


transpose = primitive(
    "transpose",
    lambda x, *, perm: lax.transpose(x, perm),
    facts=views(lambda base, new, perm: transpose(new, perm=_inverse(perm))),
)
transpose.gradient(x=lambda g, perm: transpose(g, perm=_inverse(perm)))


def _write_expanded(base, new, shape):
    if base.spec.numel == new.spec.numel:
        return reshape(new, shape=base.spec.shape)
    raise RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single memory location. "
        "Please clone() the tensor before performing the operation."
    )


broadcast_to = primitive(
    "broadcast_to", lambda x, *, shape: jnp.broadcast_to(x, shape), facts=views(_write_expanded)
)
# The caller sums gradients of broadcast operands to the operand's shape.
broadcast_to.gradient(x=lambda g: g)

flip = primitive("flip", lambda x, *, dims: lax.rev(x, dims))
flip.gradient(x=lambda g, dims: flip(g, dims=dims))


def _slice(x, *starts, dims: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]):
    """Along `dims[i]`: `sizes[i]` elements from `starts[i]`, every `steps[i]`-th. Starts are run-time numbers."""
    index = [jnp.zeros((), jnp.int64)] * x.ndim
    spans, strides = list(x.shape), [1] * x.ndim
    for dim, start, size, step in zip(dims, starts, sizes, steps, strict=True):
        index[dim], strides[dim] = start, step
        spans[dim] = (size - 1) * step + 1 if size else 0
    taken = lax.dynamic_slice(x, index, spans)
    return (
        lax.slice(taken, [0] * x.ndim, taken.shape, strides)
        if any(step != 1 for step in steps)
        else taken
    )


def _write_slice(base, new, *starts, dims, sizes, steps):
    return slice_update(base, new, *starts, dims=dims, steps=steps)


slice_ = primitive("slice", _slice, scalar="int64", facts=views(_write_slice))


def _slice_gradient(g, starts, x_spec, dims, sizes, steps):
    into = zeros_of(x_spec)
    return [slice_update(into, g, *starts, dims=dims, steps=steps), *[None] * len(starts)]


slice_.gradient(_slice_gradient)


def zeros_of(spec):
    """Zeros with the given spec."""
    return zeros(shape=spec.shape, dtype=spec.dtype, device=spec.device)


def _slice_update(x, values, *starts, dims: tuple[int, ...], steps: tuple[int, ...]):
    """`x` with `values` written where `slice` with the same numbers would read."""
    if all(step == 1 for step in steps):
        index = [jnp.zeros((), jnp.int64)] * x.ndim
        for dim, start in zip(dims, starts, strict=True):
            index[dim] = start
        return lax.dynamic_update_slice(x, values, index)
    along = [jnp.arange(size) for size in x.shape]
    for dim, start, step in zip(dims, starts, steps, strict=True):
        along[dim] = start + step * jnp.arange(values.shape[dim])
    grid = jnp.meshgrid(*along, indexing="ij")
    return x.at[tuple(grid)].set(values, unique_indices=True)


slice_update = primitive("slice_update", _slice_update, scalar="int64")


def _slice_update_gradient(g, starts, values_spec, dims, steps, wanted):
    sizes = tuple(values_spec.shape[dim] for dim in dims)
    into = (
        slice_update(g, zeros_of(values_spec), *starts, dims=dims, steps=steps)
        if wanted[0]
        else None
    )
    values = slice_(g, *starts, dims=dims, sizes=sizes, steps=steps) if wanted[1] else None
    return [into, values, *[None] * len(starts)]


slice_update.gradient(_slice_update_gradient)

concat = primitive("concat", lambda *xs, dim: lax.concatenate(xs, dim))


def _concat_gradient(g, xs_spec, dim, wanted):
    sizes = tuple(spec.shape[dim] for spec in xs_spec)
    parts = split(g, sizes=sizes, dim=dim)
    return [part if want else None for part, want in zip(parts, wanted, strict=True)]


concat.gradient(_concat_gradient)


def _split(x, *, sizes: tuple[int, ...], dim: int):
    parts, start = [], 0
    for size in sizes:
        parts.append(lax.slice_in_dim(x, start, start + size, axis=dim))
        start += size
    return tuple(parts)


split = primitive("split", _split)
split.gradient(x=lambda g, dim: concat(*g, dim=dim))


def _pad(x, value, *, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]):
    return lax.pad(x, value, tuple(zip(low, high, interior, strict=True)))


# Negative amounts crop, interior amounts spread elements apart.
pad = primitive("pad", _pad)


def _pad_gradient(g, low, high, interior):
    crop = pad(
        g, 0, low=tuple(-n for n in low), high=tuple(-n for n in high), interior=(0,) * len(low)
    )
    if not any(interior):
        return crop
    dims = tuple(range(len(low)))
    steps = tuple(n + 1 for n in interior)
    sizes = tuple(-(-size // step) for size, step in zip(crop.spec.shape, steps, strict=True))
    return slice_(crop, *[0] * len(dims), dims=dims, sizes=sizes, steps=steps)


pad.gradient(x=_pad_gradient, value=None)
