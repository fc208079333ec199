"""Views beyond slices: diagonals, windows, any strides, memory as another element type."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.dtype import DType, real_dtype, uint8
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.lax_functions import index_dtype
from oneflow.primitives.operators.shape import raise_overlap, zeros_of
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes
from oneflow.primitives.strides import StridedLayout, has_repeats, last_at_place
from oneflow.primitives.traits import ViewRule

# --- diagonal: dimensions dim1 and dim2 become one at the end


def _diagonal(x, *, offset: int, dim1: int, dim2: int):
    moved = jnp.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = _on_diagonal(moved.shape[-2:], offset)
    return moved.at[..., rows, columns].get(mode="promise_in_bounds", unique_indices=True)


def _on_diagonal(sizes: tuple[int, ...], offset: int):
    """The rows and columns of the elements on a diagonal."""
    first_row, first_column = max(-offset, 0), max(offset, 0)
    count = max(min(sizes[0] - first_row, sizes[1] - first_column), 0)
    along = jnp.arange(count, dtype=index_dtype(max(sizes)))
    return along + first_row, along + first_column


def _diagonal_update(x, values, *, offset: int, dim1: int, dim2: int):
    """`x` with `values` written on the diagonal."""
    moved = jnp.moveaxis(x, (dim1, dim2), (-2, -1))
    rows, columns = _on_diagonal(moved.shape[-2:], offset)
    moved = moved.at[..., rows, columns].set(values, unique_indices=True)
    return jnp.moveaxis(moved, (-2, -1), (dim1, dim2))


def _layout_diagonal(layout, offset, dim1, dim2):
    rows, columns = layout.shape[dim1] - max(-offset, 0), layout.shape[dim2] - max(offset, 0)
    other_dims = [dim for dim in range(len(layout.shape)) if dim not in (dim1, dim2)]
    start = (offset, layout.strides[dim2]) if offset >= 0 else (-offset, layout.strides[dim1])
    return StridedLayout(
        (*(layout.shape[dim] for dim in other_dims), max(min(rows, columns), 0)),
        (*(layout.strides[dim] for dim in other_dims), layout.strides[dim1] + layout.strides[dim2]),
        (*layout.terms, start),
    )


def _diagonal_axes(operation: Operation) -> Axes:
    """All but the two dimensions; the diagonal's dimension comes last."""
    ndim = operation.in_specs[0].ndim
    pair = (operation.attributes["dim1"], operation.attributes["dim2"])
    full = tuple(None if dim in pair else f"d{dim}" for dim in range(ndim))
    part = (*(name for name in full if name is not None), None)
    inputs = (full, part)[: len(operation.in_specs)]
    return Axes(inputs, (full if len(inputs) > 1 else part,))


diagonal = primitive(
    "diagonal",
    _diagonal,
    axes=_diagonal_axes,
    view=ViewRule(
        lambda base, new, offset, dim1, dim2: diagonal_update(
            base, new, offset=offset, dim1=dim1, dim2=dim2
        ),
        _layout_diagonal,
    ),
    linear=("x",),
)
diagonal_update = primitive(
    "diagonal_update", _diagonal_update, axes=_diagonal_axes, linear=("x values",)
)
diagonal.gradient(
    x=lambda g, x_spec, offset, dim1, dim2: diagonal_update(
        zeros_of(x_spec), g, offset=offset, dim1=dim1, dim2=dim2
    )
)
diagonal_update.gradient(
    x=lambda g, values_spec, offset, dim1, dim2: diagonal_update(
        g, zeros_of(values_spec), offset=offset, dim1=dim1, dim2=dim2
    ),
    values=lambda g, offset, dim1, dim2: diagonal(g, offset=offset, dim1=dim1, dim2=dim2),
)

# --- views in which several elements may be at one place: the last one written is what is there


def _keep_last(x, *, strides: tuple[int | None, ...]):
    """`x`, and 0 where a later element is at the same place.

    Elements that differ along a dimension without stride are at different places.
    """
    dims = [dim for dim, stride in enumerate(strides) if stride is not None]
    is_last = last_at_place(
        tuple(x.shape[dim] for dim in dims),
        tuple(stride for stride in strides if stride is not None),
    )
    shape = [size if dim in dims else 1 for dim, size in enumerate(x.shape)]
    return jnp.where(is_last.reshape(shape), x, jnp.zeros((), x.dtype))


def _keep_last_axes(operation: Operation) -> Axes:
    strides = operation.attributes["strides"]
    names = tuple(f"d{dim}" if stride is None else None for dim, stride in enumerate(strides))
    return Axes((names,), (names,))


keep_last = primitive("keep_last", _keep_last, axes=_keep_last_axes, linear=("x",))
keep_last.gradient(x=lambda g, strides: keep_last(g, strides=strides))

# --- sliding windows: `dim` counts windows, a new last dimension runs within a window


def _window_positions(length: int, size: int, step: int) -> np.ndarray:
    starts = np.arange(0, length - size + 1, step)
    return (starts[:, None] + np.arange(size)).astype(index_dtype(length))


def _unfold(x, *, dim: int, size: int, step: int):
    positions = _window_positions(x.shape[dim], size, step)
    if not positions.size:
        shape = (*x.shape[:dim], len(positions), *x.shape[dim + 1 :], size)
        return jnp.zeros(shape, x.dtype)
    return jnp.moveaxis(jnp.take(x, positions, axis=dim, mode="clip"), dim + 1, -1)


def _unfold_update(x, values, *, dim: int, size: int, step: int, accumulate: bool):
    """`x` with windows written, or added, where `unfold` reads them."""
    positions = _window_positions(x.shape[dim], size, step)
    target, windows = jnp.moveaxis(x, dim, 0), jnp.moveaxis(values, (dim, -1), (0, 1))
    if accumulate:
        written = target.at[positions].add(windows)
    else:
        is_last = last_at_place(positions.shape, (step, 1))
        written = target.at[positions[is_last]].set(windows[is_last], unique_indices=True)
    return jnp.moveaxis(written, 0, dim)


def _layout_unfold(layout, dim, size, step):
    count = (layout.shape[dim] - size) // step + 1
    return StridedLayout(
        (*layout.shape[:dim], count, *layout.shape[dim + 1 :], size),
        (
            *layout.strides[:dim],
            layout.strides[dim] * step,
            *layout.strides[dim + 1 :],
            layout.strides[dim],
        ),
        layout.terms,
    )


def _unfold_axes(operation: Operation) -> Axes:
    """All but the dimension that windows slide along."""
    ndim = operation.in_specs[0].ndim
    full = tuple(None if d == operation.attributes["dim"] else f"d{d}" for d in range(ndim))
    inputs = (full, (*full, None))[: len(operation.in_specs)]
    return Axes(inputs, (full if len(inputs) > 1 else (*full, None),))


unfold = primitive(
    "unfold",
    _unfold,
    axes=_unfold_axes,
    view=ViewRule(
        lambda base, new, dim, size, step: unfold_update(
            base, new, dim=dim, size=size, step=step, accumulate=False
        ),
        _layout_unfold,
        has_overlap=True,
    ),
    linear=("x",),
)
unfold_update = primitive("unfold_update", _unfold_update, axes=_unfold_axes, linear=("x values",))


def _unfold_update_gradient(g, values_spec, dim, size, step, accumulate, needs_input_grad):
    where = {"dim": dim, "size": size, "step": step}
    base = g
    if needs_input_grad[0] and not accumulate:
        base = unfold_update(g, zeros_of(values_spec), **where, accumulate=False)
    values = unfold(g, **where) if needs_input_grad[1] else None
    if values is not None and not accumulate and step < size:
        strides = [None] * g.spec.ndim
        strides[dim] = step
        values = keep_last(values, strides=(*strides, 1))
    return [base if needs_input_grad[0] else None, values]


unfold.gradient(
    x=lambda g, x_spec, dim, size, step: unfold_update(
        zeros_of(x_spec), g, dim=dim, size=size, step=step, accumulate=True
    )
)
unfold_update.gradient(_unfold_update_gradient)

# --- any strides, on the memory of a whole storage


def _flat_positions(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> np.ndarray:
    positions = np.full(shape, offset)
    for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        along = np.arange(size) * stride
        positions += along.reshape((-1,) + (1,) * (len(shape) - dim - 1))
    return positions.astype(index_dtype(int(positions.max(initial=0)) + 1))


def _as_strided(x, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int):
    return x.reshape(-1)[_flat_positions(shape, strides, offset)]


def _as_strided_update(
    x, values, *, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, accumulate: bool
):
    """`x` with `values` written, or added, where `as_strided` reads."""
    flat, positions = x.reshape(-1), _flat_positions(shape, strides, offset)
    if accumulate:
        return flat.at[positions].add(values).reshape(x.shape)
    is_last = last_at_place(shape, strides)
    written = flat.at[positions[is_last]].set(values[is_last], unique_indices=True)
    return written.reshape(x.shape)


def _write_strided(base, new, shape, strides, offset):
    if new.spec.numel and any(
        size > 1 and not stride for size, stride in zip(shape, strides, strict=True)
    ):
        raise_overlap()
    return as_strided_update(
        base, new, shape=shape, strides=strides, offset=offset, accumulate=False
    )


as_strided = primitive(
    "as_strided",
    _as_strided,
    view=ViewRule(
        _write_strided,
        lambda layout, shape, strides, offset: StridedLayout(shape, strides, ((offset, 1),)),
        has_overlap=True,
    ),
    linear=("x",),
)
as_strided_update = primitive("as_strided_update", _as_strided_update, linear=("x values",))


def _as_strided_update_gradient(
    g, values_spec, shape, strides, offset, accumulate, needs_input_grad
):
    where = {"shape": shape, "strides": strides, "offset": offset}
    base = g
    if needs_input_grad[0] and not accumulate:
        base = as_strided_update(g, zeros_of(values_spec), **where, accumulate=False)
    values = as_strided(g, **where) if needs_input_grad[1] else None
    if values is not None and not accumulate and has_repeats(shape, strides):
        values = keep_last(values, strides=strides)
    return [base if needs_input_grad[0] else None, values]


as_strided.gradient(
    x=lambda g, x_spec, shape, strides, offset: as_strided_update(
        zeros_of(x_spec), g, shape=shape, strides=strides, offset=offset, accumulate=True
    )
)
as_strided_update.gradient(_as_strided_update_gradient)

# --- the same bytes as another type


def _bitcast(x, *, dtype: DType):
    """The last dimension shrinks or grows with the element size."""
    if not x.ndim and dtype.itemsize == x.dtype.itemsize:
        return _bitcast(x[None], dtype=dtype)[0]
    if jnp.iscomplexobj(x):
        x = jnp.stack([x.real, x.imag], -1).reshape((*x.shape[:-1], 2 * x.shape[-1]))
    if dtype.is_complex:
        parts = _bitcast(x, dtype=real_dtype(dtype))
        parts = parts.reshape((*parts.shape[:-1], parts.shape[-1] // 2, 2))
        return lax.complex(parts[..., 0], parts[..., 1])
    have, want = x.dtype.itemsize, dtype.itemsize
    if x.dtype == bool:
        x = x.astype(jnp.uint8)
    if dtype.numpy.kind == "b":
        return _bitcast(x, dtype=uint8) != 0
    if have < want:
        x = x.reshape((*x.shape[:-1], x.shape[-1] * have // want, want // have))
    result = lax.bitcast_convert_type(x, dtype.numpy)
    if have > want:
        result = result.reshape((*result.shape[:-2], result.shape[-2] * result.shape[-1]))
    return result


def _layout_bitcast(layout, dtype, itemsize):
    """`itemsize` is the base's; a larger element needs a last stride of 1."""
    ratio = itemsize / dtype.itemsize
    scaled = [int(stride * ratio) for stride in layout.strides]
    if ratio != 1:
        scaled[-1:] = [1]
    last = tuple(int(size * ratio) for size in layout.shape[-1:])
    terms = tuple((number, stride * ratio) for number, stride in layout.terms)
    return StridedLayout((*layout.shape[:-1], *last), tuple(scaled), terms)


def _bitcast_axes(operation: Operation) -> Axes:
    """The last dimension may only be split if the element size stays."""
    names = tuple(f"d{dim}" for dim in range(operation.in_specs[0].ndim))
    if operation.in_specs[0].shape != operation.out_specs[0].shape:
        names = (*names[:-1], None)
    return Axes((names,), (names,))


bitcast = primitive(
    "bitcast",
    lambda x, *, dtype, itemsize: _bitcast(x, dtype=dtype),
    axes=_bitcast_axes,
    differentiable=False,
    view=ViewRule(
        lambda base, new, dtype, itemsize: bitcast(
            new, dtype=base.spec.dtype, itemsize=dtype.itemsize
        ),
        _layout_bitcast,
    ),
)

# --- complex numbers and their parts


def _view_as_real(x):
    return jnp.stack([x.real, x.imag], -1)


def _layout_as_real(layout):
    return StridedLayout(
        (*layout.shape, 2),
        (*(2 * stride for stride in layout.strides), 1),
        tuple((number, 2 * stride) for number, stride in layout.terms),
    )


def _layout_as_complex(layout):
    return StridedLayout(
        layout.shape[:-1],
        tuple(stride // 2 for stride in layout.strides[:-1]),
        tuple((number, stride / 2) for number, stride in layout.terms),
    )


view_as_real = primitive(
    "view_as_real",
    _view_as_real,
    axes="... -> ... _",
    view=ViewRule(lambda base, new: view_as_complex(new), _layout_as_real),
    linear=("x",),
)
view_as_complex = primitive(
    "view_as_complex",
    lambda x: lax.complex(x[..., 0], x[..., 1]),
    axes="... _ -> ...",
    view=ViewRule(lambda base, new: view_as_real(new), _layout_as_complex),
    linear=("x",),
)
view_as_real.gradient(x=lambda g: view_as_complex(g))
view_as_complex.gradient(x=lambda g: view_as_real(g))
