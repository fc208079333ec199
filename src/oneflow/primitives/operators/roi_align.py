"""RoIAlign: features of rectangles of an image, all of one size.

He et al., Mask R-CNN, https://arxiv.org/abs/1703.06870. A bin is the mean over samples, each
interpolated between four elements. With a fixed number of samples those elements are gathered. With
one sample per element their number depends on the rectangle, and the mean is computed separably, as
``weights of rows @ image @ weights of columns``.

Shapes: x is ``[n, c, h, w]``, rois ``[r, 5]`` (number of the image, x1, y1, x2, y2), the result
``[r, c, pooled_h, pooled_w]``.
"""

from __future__ import annotations

import jax.numpy as jnp

from oneflow.primitives.operators import loops
from oneflow.primitives.operators.indexing import out_of_range
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.registry import primitive


def _span(low, high, aligned: bool):
    return high - low if aligned else jnp.maximum(high - low, 1)


def _row_and_column_bounds(roi, spatial_scale, aligned: bool):
    """The rows and the columns between which a rectangle lies: two pairs."""
    x1, y1, x2, y2 = roi[1:] * spatial_scale.astype(roi.dtype) - (0.5 if aligned else 0.0)
    return (y1, y2), (x1, x2)


def _neighbors(low, high, size: int, bins: int, sampling_ratio: int, aligned: bool):
    """The elements before and after each sample, and their weights: [2, bins * sampling_ratio]."""
    step = quotient(_span(low, high, aligned), bins * sampling_ratio)
    positions = low + (jnp.arange(bins * sampling_ratio, dtype=step.dtype) + 0.5) * step
    counts = (positions >= -1) & (positions <= size)
    positions = jnp.clip(positions, 0, size - 1)
    first = jnp.floor(positions)
    share = positions - first
    before = first.astype(jnp.int32)
    after = jnp.minimum(before + 1, size - 1)
    return jnp.stack([before, after]), jnp.where(counts, jnp.stack([1 - share, share]), 0)


def _samples(roi, spatial_scale, shape, pooled_h, pooled_w, sampling_ratio, aligned):
    """The elements that the bins of a rectangle are made of, and their weights.

    Elements are numbered through all images of `shape`, channels apart. Both results have the
    shape [2, pooled_h, sampling_ratio, 2, pooled_w, sampling_ratio].
    """
    images, _, height, width = shape
    vertical, horizontal = _row_and_column_bounds(roi, spatial_scale, aligned)
    rows, row_weights = _neighbors(*vertical, height, pooled_h, sampling_ratio, aligned)
    columns, weights = _neighbors(*horizontal, width, pooled_w, sampling_ratio, aligned)
    rows = rows + jnp.clip(roi[0].astype(jnp.int32), 0, images - 1) * height
    numbers = rows[:, :, None, None] * width + columns
    weights = quotient(row_weights[:, :, None, None] * weights, sampling_ratio**2)
    bins = (2, pooled_h, sampling_ratio, 2, pooled_w, sampling_ratio)
    return numbers.reshape(bins), weights.reshape(bins)


def _dense_weights(low, high, size: int, bins: int, aligned: bool):
    """The weights of `size` elements in the bins, one sample per element: [bins, size]."""
    width = quotient(_span(low, high, aligned), bins)
    samples = jnp.ceil(width)
    step = quotient(width, jnp.maximum(samples, 1))
    start = (low + jnp.arange(bins, dtype=width.dtype) * width)[:, None]
    # Samples are more than half an element apart, so no more than these are inside.
    first = jnp.maximum(jnp.ceil((-1 - start) / jnp.maximum(step, 0.5) - 0.5), 0)
    numbers = first + jnp.arange(2 * size + 4, dtype=width.dtype)
    positions = start + (numbers + 0.5) * step
    counts = (numbers < samples) & (positions >= -1) & (positions <= size)
    distance = jnp.abs(jnp.clip(positions, 0, size - 1)[..., None] - jnp.arange(size))
    sums = jnp.where(counts[..., None], jnp.maximum(1 - distance, 0), 0).sum(1)
    return quotient(sums, jnp.maximum(samples, 1))


def _both_dense_weights(roi, spatial_scale, shape, pooled_h, pooled_w, aligned):
    vertical, horizontal = _row_and_column_bounds(roi, spatial_scale, aligned)
    return (
        _dense_weights(*vertical, shape[-2], pooled_h, aligned),
        _dense_weights(*horizontal, shape[-1], pooled_w, aligned),
    )


def _wide(rois, x):
    return rois.astype(jnp.promote_types(x.dtype, jnp.float32))


def _roi_align(
    x, rois, spatial_scale, *, pooled_h: int, pooled_w: int, sampling_ratio: int, aligned: bool
):
    # Channels last: what belongs to one element lies together.
    elements = x.transpose(0, 2, 3, 1).reshape(-1, x.shape[1])

    def gathered(roi):
        numbers, weights = _samples(
            roi, spatial_scale, x.shape, pooled_h, pooled_w, sampling_ratio, aligned
        )
        parts = elements.at[numbers].get(mode="clip").astype(weights.dtype) * weights[..., None]
        return parts.sum((0, 2, 3, 5)).transpose(2, 0, 1).astype(x.dtype)

    def dense(roi):
        rows, columns = _both_dense_weights(
            roi, spatial_scale, x.shape, pooled_h, pooled_w, aligned
        )
        image = x[roi[0].astype(jnp.int32)].astype(rows.dtype)
        return (rows @ (image @ columns.T)).astype(x.dtype)

    # One after the other: there may be a thousand.
    return loops.map_(gathered if sampling_ratio > 0 else dense, _wide(rois, x))


def _roi_align_backward(
    dy,
    rois,
    spatial_scale,
    *,
    images: int,
    sizes: tuple[int, int],
    sampling_ratio: int,
    aligned: bool,
):
    """The gradient of x, which holds so many images of these sizes."""
    _, channels, pooled_h, pooled_w = dy.shape
    shape = (images, channels, *sizes)
    wide = _wide(rois, dy)

    def scatter(total, roi_and_grad):
        roi, grad_bins = roi_and_grad
        numbers, weights = _samples(
            roi, spatial_scale, shape, pooled_h, pooled_w, sampling_ratio, aligned
        )
        grad_bins = grad_bins.transpose(1, 2, 0)[None, :, None, None, :, None]
        return total.at[numbers].add(weights[..., None] * grad_bins, mode="clip"), None

    def dense(total, roi_and_grad):
        roi, grad_bins = roi_and_grad
        rows, columns = _both_dense_weights(roi, spatial_scale, shape, pooled_h, pooled_w, aligned)
        return total.at[roi[0].astype(jnp.int32)].add(rows.T @ (grad_bins @ columns)), None

    if sampling_ratio > 0:
        start = jnp.zeros((images * sizes[0] * sizes[1], channels), wide.dtype)
        total = loops.scan(scatter, start, (wide, dy))[0]
        total = total.reshape(images, *sizes, channels).transpose(0, 3, 1, 2)
    else:
        total = loops.scan(dense, jnp.zeros(shape, wide.dtype), (wide, dy))[0]
    return total.astype(dy.dtype)


_SCALAR = {"spatial_scale": "float64"}
roi_align = primitive(
    "roi_align",
    _roi_align,
    axes="_ c _ _, r _, -> r c _ _",
    linear=("x",),
    scalar=_SCALAR,
)
roi_align_backward = primitive(
    "roi_align_backward",
    _roi_align_backward,
    axes="r c _ _, r _, -> _ c _ _",
    linear=("dy",),
    scalar=_SCALAR,
)


def _image_number_error(value, attributes, in_specs):
    return IndexError(
        f"roi_align: `rois` names image {value}, but `x` holds {in_specs[0].shape[0]} of them"
    )


roi_align.checked(
    lambda x, rois, scale, **_: out_of_range(rois[:, 0].astype(jnp.int64), 0, x.shape[0]),
    _image_number_error,
)
# Like PyTorch's and OneFlow's, it does not move the rectangles.
roi_align.gradient(
    x=lambda g, rois, spatial_scale, x_spec, sampling_ratio, aligned: roi_align_backward(
        g,
        rois,
        spatial_scale,
        images=x_spec.shape[0],
        sizes=x_spec.shape[2:],
        sampling_ratio=sampling_ratio,
        aligned=aligned,
    ),
    rois=None,
    spatial_scale=None,
    writable="rois",
)
roi_align_backward.gradient(
    dy=lambda g, rois, spatial_scale, dy_spec, sampling_ratio, aligned: roi_align(
        g,
        rois,
        spatial_scale,
        pooled_h=dy_spec.shape[-2],
        pooled_w=dy_spec.shape[-1],
        sampling_ratio=sampling_ratio,
        aligned=aligned,
    ),
    rois=None,
    spatial_scale=None,
)
