"""Resampling along one dimension: interpolation, adaptive averages, and their adjoints.

Every result is a weighted sum of a few elements. A `Resampling` says which, in a few numbers; its
adjoint is one too, so that gradients only ever gather.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.channels_last import dims_rule
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.pool import plane_scatter
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import free_dims
from oneflow.tuning.host_memory import require_host_memory

# With more points than this one product with a matrix is cheaper than gathering.
_MAX_POINTS = 16
_CUBIC = -0.75


@dataclass(frozen=True, slots=True)
class Resampling:
    """A linear map from `source` elements to `target` results along one dimension.

    Attributes:
        kind: interpolation ``"area"``, ``"nearest"``, ``"nearest-exact"``, ``"linear"``,
            ``"cubic"``, ``"smooth-linear"``, ``"smooth-cubic"``, or padding ``"reflect"``,
            ``"replicate"``, ``"circular"``.
        source: number of elements.
        target: number of results.
        scale: distance of the results in elements, if the user gave it; else 0.
        align_corners: the first and last results are the first and last elements.
        start: elements of padding before the first one.
        adjoint: take `target` numbers to `source` results instead, by the transposed weights.
    """

    kind: str
    source: int
    target: int
    scale: float = 0.0
    align_corners: bool = False
    start: int = 0
    adjoint: bool = False

    def transposed(self) -> Resampling:
        """The adjoint."""
        return replace(self, adjoint=not self.adjoint)

    def points(self, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
        """The elements that each result sums, ``[results, points]``, and weights in `dtype`.

        Raises:
            OutOfMemoryError: the host cannot hold them.
        """
        # While it is made there are a few such tables.
        require_host_memory("resample", 4 * max(self.source, self.target))
        return _adjoint_points(self, dtype) if self.adjoint else _POINTS[self.kind](self, dtype)

    def stride(self, dtype: np.dtype) -> np.floating:
        """Distance of the results in elements."""
        kind = dtype.type
        if self.align_corners:
            return kind(self.source - 1) / kind(self.target - 1) if self.target > 1 else kind(0)
        return kind(self.scale) if self.scale else kind(self.source) / kind(self.target)


def _area(resampling: Resampling, dtype: np.dtype):
    positions = np.arange(resampling.target)
    starts = positions * resampling.source // resampling.target
    counts = -(-(positions + 1) * resampling.source // resampling.target) - starts
    points = np.arange(counts.max(initial=1))
    inside = points < counts[:, None]
    index = starts[:, None] + np.where(inside, points, 0)
    return index, np.where(inside, 1.0 / counts[:, None], 0.0).astype(dtype)


def _nearest(resampling: Resampling, dtype: np.dtype):
    offset = dtype.type(0.5 if resampling.kind == "nearest-exact" else 0)
    positions = np.floor(
        (np.arange(resampling.target, dtype=dtype) + offset) * resampling.stride(dtype)
    )
    index = np.minimum(positions.astype(np.int64), resampling.source - 1)[:, None]
    return index, np.ones(index.shape, dtype)


def _positions(resampling: Resampling, dtype: np.dtype) -> np.ndarray:
    steps = np.arange(resampling.target, dtype=dtype)
    if resampling.align_corners:
        return steps * resampling.stride(dtype)
    half = dtype.type(0.5)
    return (steps + half) * resampling.stride(dtype) - half


def _linear(resampling: Resampling, dtype: np.dtype):
    positions = np.maximum(_positions(resampling, dtype), dtype.type(0))
    low = np.minimum(positions.astype(np.int64), resampling.source - 1)
    high = np.minimum(low + 1, resampling.source - 1)
    weight = np.clip(positions - low.astype(dtype), 0, 1).astype(dtype)
    return np.stack([low, high], 1), np.stack([1 - weight, weight], 1)


def cubic_weights(t: Any) -> tuple[Any, Any, Any, Any]:
    """The weights of four neighbours of a point that lies `t` behind the second of them."""

    def inner(x):
        return ((_CUBIC + 2) * x - (_CUBIC + 3)) * x * x + 1

    def outer(x):
        return ((_CUBIC * x - 5 * _CUBIC) * x + 8 * _CUBIC) * x - 4 * _CUBIC

    return outer(t + 1), inner(t), inner(1 - t), outer(2 - t)


def _cubic(resampling: Resampling, dtype: np.dtype):
    positions = _positions(resampling, dtype)
    low = np.floor(positions).astype(np.int64)
    t = (positions - low.astype(dtype)).astype(dtype)

    index = np.clip(low[:, None] + np.arange(-1, 3), 0, resampling.source - 1)
    return index, np.stack(cubic_weights(t), 1).astype(dtype)


def _smooth(resampling: Resampling, dtype: np.dtype):
    """Interpolation without aliases: a filter as wide as the results are apart, as in Pillow."""
    filter_of, radius = _FILTERS[resampling.kind]
    stride = resampling.stride(dtype)
    scale = np.maximum(stride, dtype.type(1))
    center = (np.arange(resampling.target, dtype=dtype) + dtype.type(0.5)) * stride
    support = dtype.type(radius) * scale
    starts = np.maximum((center - support + dtype.type(0.5)).astype(np.int64), 0)
    ends = np.minimum((center + support + dtype.type(0.5)).astype(np.int64), resampling.source)
    points = np.arange((ends - starts).max(initial=1))
    inside = points < (ends - starts)[:, None]
    index = starts[:, None] + np.where(inside, points, 0)
    distance = (index - center[:, None] + dtype.type(0.5)) / scale
    weight = np.where(inside, filter_of(np.abs(distance)), 0)
    return index, (weight / weight.sum(1, keepdims=True)).astype(dtype)


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - x, 0)


def _keys_cubic(x: np.ndarray) -> np.ndarray:
    """Keys' cubic with a = -0.5, which Pillow takes where interpolation takes -0.75."""
    near = (1.5 * x - 2.5) * x * x + 1
    tail = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, tail, 0))


# Each filter and how far it reaches.
_FILTERS = {"smooth-linear": (_triangle, 1), "smooth-cubic": (_keys_cubic, 2)}


def _around(resampling: Resampling, dtype: np.dtype):
    """Padding: elements outside are elements inside."""
    positions = np.arange(resampling.target) - resampling.start
    if resampling.kind == "circular":
        positions %= resampling.source
    elif resampling.kind == "reflect":
        period = max(2 * (resampling.source - 1), 1)
        positions = np.abs(positions) % period
        positions = np.minimum(positions, period - positions)
    else:
        positions = np.clip(positions, 0, resampling.source - 1)
    return positions[:, None], np.ones((resampling.target, 1), dtype)


def _adjoint_points(resampling: Resampling, dtype: np.dtype):
    """The results that each element goes into; rows are filled up with weight 0."""
    index, weight = _POINTS[resampling.kind](resampling, dtype)
    taken = weight != 0
    order = np.argsort(index[taken], kind="stable")
    elements = index[taken][order]
    counts = np.bincount(elements, minlength=resampling.source)
    starts = np.cumsum(counts) - counts
    places = elements, np.arange(len(elements)) - starts[elements]
    shape = resampling.source, counts.max(initial=1)
    results, weights = np.zeros(shape, np.int64), np.zeros(shape, dtype)
    results[places] = np.nonzero(taken)[0][order]
    weights[places] = weight[taken][order]
    return np.where(weights, results, results[:, :1]), weights


_POINTS = {
    "area": _area,
    "nearest": _nearest,
    "nearest-exact": _nearest,
    "linear": _linear,
    "cubic": _cubic,
    "smooth-linear": _smooth,
    "smooth-cubic": _smooth,
    "reflect": _around,
    "replicate": _around,
    "circular": _around,
}


@functools.lru_cache(maxsize=256)
def _table(resampling: Resampling, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    return resampling.points(dtype)


def _resample(x, *, dim: int, resampling: Resampling):
    double = x.dtype in (jnp.float64, jnp.complex128)
    wide = np.dtype(np.float64) if double else np.dtype(np.float32)
    index, weight = _table(resampling, wide)
    if not x.shape[dim]:  # the adjoint of a result without elements
        return jnp.zeros((*x.shape[:dim], len(index), *x.shape[dim + 1 :]), x.dtype)
    if index.shape[1] == 1 and (weight == 1).all():
        return jnp.take(x, index[:, 0], axis=dim)
    values = x if jnp.iscomplexobj(x) else x.astype(wide)
    if index.shape[1] > _MAX_POINTS:
        matrix = np.zeros((len(index), x.shape[dim]), values.dtype)
        np.add.at(matrix, (np.arange(len(index))[:, None], index), weight)
        product = lax.dot_general(values, matrix, (((dim,), (1,)), ((), ())))
        return jnp.moveaxis(product, -1, dim).astype(x.dtype)
    shape = [1] * x.ndim
    shape[dim] = len(index)
    taken = [
        jnp.take(values, index[:, point], axis=dim) * weight[:, point].reshape(shape)
        for point in range(index.shape[1])
    ]
    return functools.reduce(jnp.add, taken).astype(x.dtype)


def _has_zero_second_gradients(operation: Operation) -> bool:
    """PyTorch's pooling and these kinds of its padding do, its interpolation does not."""
    return operation.attributes["resampling"].kind in ("area", "reflect", "replicate")


resample = primitive(
    "resample",
    _resample,
    axes=free_dims("dim"),
    channels_last=dims_rule((True,), (True,), attribute="dim"),
    linear=("x",),
)
resample.gradient(
    x=lambda g, dim, resampling: resample(g, dim=dim, resampling=resampling.transposed()),
    zero_second_gradients=_has_zero_second_gradients,
)


@resample.lowering("cpu")
def _resample_on_cpu(x, *, dim: int, resampling: Resampling):
    """In memory before and after: else XLA lays the result out as it gathers, dimension first.

    The operator that reads it then copies it, element by element: 56 ms instead of 5 for an image
    of 8 x 3 x 224 x 224 elements that is made twice as large, and 100 instead of 6 for the adjoint.
    """
    return materialize_array(_resample(materialize_array(x), dim=dim, resampling=resampling))


@resample.lowering("meta")
def _resample_shape(x, *, dim: int, resampling: Resampling):
    """The result's shape, without the table of its points."""
    size = resampling.source if resampling.adjoint else resampling.target
    return jnp.zeros((*x.shape[:dim], size, *x.shape[dim + 1 :]), x.dtype)


# --- maxima over the windows of adaptive pooling


def _adaptive_max_pool(x, *, dims: tuple[int, ...], size: tuple[int, ...]):
    """Maxima over windows as of ``"area"``, and where the first is in the plane of `dims`."""
    positions = jnp.zeros((1,) * x.ndim, jnp.int64)
    valid = jnp.ones((1,) * x.ndim, bool)
    windows = x
    for count, (dim, target) in enumerate(zip(dims, size, strict=True)):
        index, weight = _table(Resampling("area", x.shape[dim], target), np.dtype(np.float64))
        # Each window dimension becomes two: the windows here, their elements at the end.
        windows = jnp.moveaxis(jnp.take(windows, index, axis=dim), dim + 1, -1)
        shape = [1] * (x.ndim + count + 1)
        shape[dim], shape[-1] = index.shape
        positions = positions[..., None] * x.shape[dim] + index.reshape(shape)
        valid = valid[..., None] & (weight != 0).reshape(shape)
    ends = windows.shape[: x.ndim]
    points = math.prod(windows.shape[x.ndim :])
    valid = jnp.broadcast_to(valid, windows.shape).reshape(*ends, points)
    positions = jnp.broadcast_to(positions, windows.shape).reshape(*ends, points)
    windows = windows.reshape(*ends, points)
    low = -jnp.inf if jnp.issubdtype(x.dtype, jnp.inexact) else jnp.iinfo(x.dtype).min
    windows = jnp.where(valid, windows, jnp.array(low, x.dtype))
    first = jnp.argmax(windows, axis=-1, keepdims=True)
    return (
        jnp.take_along_axis(windows, first, axis=-1)[..., 0],
        jnp.take_along_axis(positions, first, axis=-1)[..., 0],
    )


adaptive_max_pool = primitive(
    "adaptive_max_pool",
    _adaptive_max_pool,
    axes=free_dims("dims"),
    real_only=True,
)


@adaptive_max_pool.lowering("meta")
def _pooled_shape(x, *, dims: tuple[int, ...], size: tuple[int, ...]):
    """The results' shape, without the tables of the windows."""
    shape = list(x.shape)
    for dim, target in zip(dims, size, strict=True):
        shape[dim] = target
    return jnp.zeros(shape, x.dtype), jnp.zeros(shape, jnp.int64)


adaptive_max_pool.gradient(
    x=lambda g, out, x_spec, dims: plane_scatter(
        g[0],
        out[1],
        dims=dims,
        size=tuple(x_spec.shape[dim] for dim in dims),
        accumulate=True,
    ),
    writable="out",
    zero_second_gradients=True,
)
