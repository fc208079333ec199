"""Primitives that move elements without computing on them.

Views say how they are written through.
"""

from __future__ import annotations

from typing import NoReturn, cast

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.creation import zeros
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import (
    Axes,
    Names,
    broadcast_axes,
    elementwise_axes,
    free_dims,
    reshaped_axes,
    transposed_axes,
)
from oneflow.primitives.strides import StridedLayout, reshaped_strides
from oneflow.primitives.traits import ViewRule


def _layout_reshaped(layout: StridedLayout, shape: tuple[int, ...]) -> StridedLayout:
    """Only reshapes that some strides describe are views."""
    strides = reshaped_strides(layout.shape, layout.strides, shape)
    return StridedLayout(shape, cast("tuple[int, ...]", strides), layout.terms)


reshape = primitive(
    "reshape",
    lambda x, *, shape: lax.reshape(x, shape),
    axes=reshaped_axes,
    view=ViewRule(
        lambda base, new, shape: reshape(new, shape=base.spec.shape),
        _layout_reshaped,
    ),
    linear=("x",),
)
reshape.gradient(x=lambda g, x_spec: reshape(g, shape=x_spec.shape))


def _inverse(perm: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(perm)), key=perm.__getitem__))


transpose = primitive(
    "transpose",
    lambda x, *, perm: lax.transpose(x, perm),
    axes=transposed_axes,
    view=ViewRule(
        lambda base, new, perm: transpose(new, perm=_inverse(perm)),
        lambda layout, perm: StridedLayout(
            tuple(layout.shape[dim] for dim in perm),
            tuple(layout.strides[dim] for dim in perm),
            layout.terms,
        ),
    ),
    linear=("x",),
)
transpose.gradient(x=lambda g, perm: transpose(g, perm=_inverse(perm)))


def raise_overlap() -> NoReturn:
    """Raise: several elements of the written tensor lie at one memory location."""
    raise RuntimeError(
        "unsupported operation: more than one element of the written-to tensor refers to a single "
        "memory location. Please clone() the tensor before performing the operation."
    )


def _write_expanded(base, new, shape):
    if not new.spec.numel:
        return base
    if base.spec.numel != new.spec.numel:
        raise_overlap()
    return reshape(new, shape=base.spec.shape)


def _layout_expanded(layout, shape):
    added = len(shape) - len(layout.shape)
    strides = tuple(
        stride if size == new_size else 0
        for size, stride, new_size in zip(layout.shape, layout.strides, shape[added:], strict=True)
    )
    # PyTorch's stride of a new dimension of size 1 steps over all that follow it.
    for dim in reversed(range(added)):
        step = shape[dim + 1] * strides[0] if shape[dim] == 1 and strides else 0
        strides = (step, *strides)
    return StridedLayout(shape, strides, layout.terms)


broadcast_to = primitive(
    "broadcast_to",
    lambda x, *, shape: jnp.broadcast_to(x, shape),
    axes=broadcast_axes,
    view=ViewRule(_write_expanded, _layout_expanded, has_overlap=True),
    linear=("x",),
)
# The caller sums gradients of broadcast operands to the operand's shape.
broadcast_to.gradient(x=lambda g: g)

flip = primitive("flip", lambda x, *, dims: lax.rev(x, dims), axes=free_dims("dims"), linear=("x",))
flip.gradient(x=lambda g, dims: flip(g, dims=dims))


def _slice(x, *starts, dims: tuple[int, ...], sizes: tuple[int, ...], steps: tuple[int, ...]):
    """Along `dims[i]`: `sizes[i]` elements from `starts[i]`, every `steps[i]`-th.

    Starts are run-time numbers, at least 0: nothing is computed to count them from the end.
    """
    index = [jnp.zeros((), jnp.int64)] * x.ndim
    slice_sizes, strides = list(x.shape), [1] * x.ndim
    for dim, start, size, step in zip(dims, starts, sizes, steps, strict=True):
        index[dim], strides[dim] = start, step
        slice_sizes[dim] = (size - 1) * step + 1 if size else 0
    taken = lax.dynamic_slice(x, index, slice_sizes, allow_negative_indices=False)
    return (
        lax.slice(taken, [0] * x.ndim, taken.shape, strides)
        if any(step != 1 for step in steps)
        else taken
    )


def _write_slice(base, new, *starts, dims, sizes, steps):
    return slice_update(base, new, *starts, dims=dims, steps=steps)


def _layout_slice(layout, *starts, dims, sizes, steps):
    shape, strides = list(layout.shape), list(layout.strides)
    terms = list(layout.terms)
    for dim, start, size, step in zip(dims, starts, sizes, steps, strict=True):
        terms.append((start, strides[dim]))
        shape[dim] = size
        strides[dim] *= step
    return StridedLayout(tuple(shape), tuple(strides), tuple(terms))


def _box_of_slice(*starts, dims, sizes, steps):
    return dict(zip(dims, zip(starts, sizes, steps, strict=True), strict=True))


slice_ = primitive(
    "slice",
    _slice,
    scalar="int64",
    axes=free_dims("dims"),
    view=ViewRule(_write_slice, _layout_slice, box=_box_of_slice),
    linear=("x",),
)


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
        return lax.dynamic_update_slice(x, values, index, allow_negative_indices=False)
    dtype = index_dtype(max(x.shape))
    along = [jnp.arange(size, dtype=dtype) for size in x.shape]
    for dim, start, step in zip(dims, starts, steps, strict=True):
        along[dim] = start.astype(dtype) + step * jnp.arange(values.shape[dim], dtype=dtype)
    grid = jnp.meshgrid(*along, indexing="ij")
    return x.at[tuple(grid)].set(values, unique_indices=True)


slice_update = primitive(
    "slice_update", _slice_update, scalar="int64", axes=free_dims("dims"), linear=("x values",)
)


def _slice_update_gradient(g, starts, values_spec, dims, steps, needs_input_grad):
    sizes = tuple(values_spec.shape[dim] for dim in dims)
    into = (
        slice_update(g, zeros_of(values_spec), *starts, dims=dims, steps=steps)
        if needs_input_grad[0]
        else None
    )
    values = (
        slice_(g, *starts, dims=dims, sizes=sizes, steps=steps) if needs_input_grad[1] else None
    )
    return [into, values, *[None] * len(starts)]


slice_update.gradient(_slice_update_gradient)


def keepdim_shape(shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, ...]:
    """`shape` with size 1 in `dims`."""
    return tuple(1 if dim in dims else size for dim, size in enumerate(shape))


def _select(x, *indices, dims: tuple[int, ...]):
    """One element along each of `dims`, which the result does not have.

    Indices are run-time numbers, at least 0.
    """
    start = [jnp.zeros((), jnp.int64)] * x.ndim
    for dim, index in zip(dims, indices, strict=True):
        start[dim] = index
    sizes = keepdim_shape(x.shape, dims)
    return lax.squeeze(lax.dynamic_slice(x, start, sizes, allow_negative_indices=False), dims)


def _write_select(base, new, *indices, dims):
    return select_update(base, new, *indices, dims=dims)


def _layout_select(layout, *indices, dims):
    other_dims = [dim for dim in range(len(layout.shape)) if dim not in dims]
    terms = tuple((index, layout.strides[dim]) for dim, index in zip(dims, indices, strict=True))
    return StridedLayout(
        tuple(layout.shape[dim] for dim in other_dims),
        tuple(layout.strides[dim] for dim in other_dims),
        (*layout.terms, *terms),
    )


def _box_of_select(*indices, dims):
    return {dim: (index, None, 1) for dim, index in zip(dims, indices, strict=True)}


def _kept_names(ndim: int, dims: tuple[int, ...]) -> tuple[Names, Names]:
    """Names of all dimensions, of which `dims` may not be split, and of the kept dimensions."""
    names = tuple(None if dim in dims else f"d{dim}" for dim in range(ndim))
    return names, tuple(name for name in names if name is not None)


def _select_axes(operation) -> Axes:
    dims = operation.attributes["dims"]
    names, other_names = _kept_names(operation.in_specs[0].ndim, dims)
    return Axes((names, *[()] * len(dims)), (other_names,))


select = primitive(
    "select",
    _select,
    scalar="int64",
    axes=_select_axes,
    view=ViewRule(_write_select, _layout_select, box=_box_of_select),
    linear=("x",),
)


def _select_gradient(g, indices, x_spec, dims):
    return [select_update(zeros_of(x_spec), g, *indices, dims=dims), *[None] * len(indices)]


select.gradient(_select_gradient)


def _select_update(x, values, *indices, dims: tuple[int, ...]):
    """`x` with `values` written where `select` with the same numbers would read."""
    start = [jnp.zeros((), jnp.int64)] * x.ndim
    for dim, index in zip(dims, indices, strict=True):
        start[dim] = index
    values = values.reshape(keepdim_shape(x.shape, dims))
    return lax.dynamic_update_slice(x, values, start, allow_negative_indices=False)


def _select_update_axes(operation) -> Axes:
    dims = operation.attributes["dims"]
    names, other_names = _kept_names(operation.in_specs[0].ndim, dims)
    return Axes((names, other_names, *[()] * len(dims)), (names,))


select_update = primitive(
    "select_update", _select_update, scalar="int64", axes=_select_update_axes, linear=("x values",)
)


def _select_update_gradient(g, indices, values_spec, dims, needs_input_grad):
    into = (
        select_update(g, zeros_of(values_spec), *indices, dims=dims)
        if needs_input_grad[0]
        else None
    )
    values = select(g, *indices, dims=dims) if needs_input_grad[1] else None
    return [into, values, *[None] * len(indices)]


select_update.gradient(_select_update_gradient)

concat = primitive(
    "concat", lambda *xs, dim: lax.concatenate(xs, dim), axes=free_dims("dim"), linear=("*xs",)
)


def _concat_gradient(g, xs_spec, dim, needs_input_grad):
    sizes = tuple(spec.shape[dim] for spec in xs_spec)
    parts = split(g, sizes=sizes, dim=dim)
    return [part if want else None for part, want in zip(parts, needs_input_grad, strict=True)]


concat.gradient(_concat_gradient)


def _split(x, *, sizes: tuple[int, ...], dim: int):
    parts, start = [], 0
    for size in sizes:
        parts.append(lax.slice_in_dim(x, start, start + size, axis=dim))
        start += size
    return tuple(parts)


split = primitive("split", _split, axes=free_dims("dim"), linear=("x",))
split.gradient(x=lambda g, dim: concat(*g, dim=dim))


def _pad(x, value, *, low: tuple[int, ...], high: tuple[int, ...], interior: tuple[int, ...]):
    return lax.pad(x, value, tuple(zip(low, high, interior, strict=True)))


def _padded_axes(operation) -> Axes:
    """Dimensions without padding may be split."""
    padding = zip(
        *(operation.attributes[name] for name in ("low", "high", "interior")), strict=True
    )
    names = tuple(None if any(widths) else f"d{dim}" for dim, widths in enumerate(padding))
    return Axes((names, ()), (names,))


# Negative amounts crop, interior amounts spread elements apart.
pad = primitive("pad", _pad, axes=_padded_axes, linear=("x value",))


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

clone = primitive("clone", lambda x: x, axes=elementwise_axes, linear=("x",))
clone.gradient(x=lambda g: g)

# `new` as what a tensor that requires grad was overwritten with: what it was before gets a gradient
# of zeros.
overwrite = primitive(
    "overwrite", lambda x, new: new, axes=elementwise_axes, linear=("new", "x new")
)
overwrite.gradient(x=lambda x_spec: zeros_of(x_spec), new=lambda g: g)


def _stacked_axes(operation) -> Axes:
    """All but the new dimension may be split."""
    names, other_names = _kept_names(operation.out_specs[0].ndim, (operation.attributes["dim"],))
    return Axes((other_names,) * len(operation.in_specs), (names,))


stack = primitive("stack", lambda *xs, dim: jnp.stack(xs, dim), axes=_stacked_axes, linear=("*xs",))


def _unbind_axes(operation) -> Axes:
    names, other_names = _kept_names(operation.in_specs[0].ndim, (operation.attributes["dim"],))
    return Axes((names,), (other_names,) * operation.count)


def _unbind(x, *, dim: int):
    return tuple(lax.index_in_dim(x, index, dim, keepdims=False) for index in range(x.shape[dim]))


unbind = primitive("unbind", _unbind, axes=_unbind_axes, linear=("x",))
stack.gradient(lambda g, dim: list(unbind(g, dim=dim)))
unbind.gradient(x=lambda g, dim: stack(*g, dim=dim))
