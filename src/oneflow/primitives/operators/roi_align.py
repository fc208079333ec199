"""RoIAlign: features of rectangles of an image, all of one size.

He et al., Mask R-CNN, https://arxiv.org/abs/1703.06870. The mean over samples of a bin, each
interpolated between four elements, is separable: ``weights of rows @ image @ weights of columns``.

Shapes: x is ``[n, c, h, w]``, rois ``[r, 5]`` (number of the image, x1, y1, x2, y2), the result
``[r, c, pooled_h, pooled_w]``.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.indexing import out_of_range
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.registry import primitive


def _weights(low, high, size: int, bins: int, sampling_ratio: int, aligned: bool):
    """The weights of `size` elements in the bins between `low` and `high`: [bins, size]."""
    span = high - low if aligned else jnp.maximum(high - low, 1)
    width = quotient(span, bins)
    samples = jnp.full_like(span, sampling_ratio) if sampling_ratio > 0 else jnp.ceil(width)
    step = quotient(width, jnp.maximum(samples, 1))
    start = (low + jnp.arange(bins, dtype=span.dtype) * width)[:, None]
    if sampling_ratio > 0:
        count, first = sampling_ratio, jnp.zeros_like(start)
    else:
        # Samples are more than half an element apart, so no more than these are inside.
        count = 2 * size + 4
        first = jnp.maximum(jnp.ceil((-1 - start) / jnp.maximum(step, 0.5) - 0.5), 0)
    numbers = first + jnp.arange(count, dtype=span.dtype)
    positions = start + (numbers + 0.5) * step
    counts = (numbers < samples) & (positions >= -1) & (positions <= size)
    distance = jnp.abs(jnp.clip(positions, 0, size - 1)[..., None] - jnp.arange(size))
    sums = jnp.where(counts[..., None], jnp.maximum(1 - distance, 0), 0).sum(1)
    return quotient(sums, jnp.maximum(samples, 1))


def _both_weights(roi, spatial_scale, shape, pooled_h, pooled_w, sampling_ratio, aligned):
    offset = 0.5 if aligned else 0.0
    x1, y1, x2, y2 = roi[1:] * spatial_scale.astype(roi.dtype) - offset
    return (
        _weights(y1, y2, shape[-2], pooled_h, sampling_ratio, aligned),
        _weights(x1, x2, shape[-1], pooled_w, sampling_ratio, aligned),
    )


def _wide(rois, x):
    return rois.astype(jnp.promote_types(x.dtype, jnp.float32))


def _roi_align(
    x, rois, spatial_scale, *, pooled_h: int, pooled_w: int, sampling_ratio: int, aligned: bool
):
    def one(roi):
        rows, columns = _both_weights(
            roi, spatial_scale, x.shape, pooled_h, pooled_w, sampling_ratio, aligned
        )
        image = x[roi[0].astype(jnp.int32)].astype(rows.dtype)
        return (rows @ (image @ columns.T)).astype(x.dtype)

    return lax.map(one, _wide(rois, x))  # one after the other: there may be a thousand


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
    shape = (images, dy.shape[1], *sizes)

    def add(total, roi_and_grad):
        roi, grad_bins = roi_and_grad
        rows, columns = _both_weights(
            roi, spatial_scale, shape, dy.shape[-2], dy.shape[-1], sampling_ratio, aligned
        )
        return total.at[roi[0].astype(jnp.int32)].add(rows.T @ (grad_bins @ columns)), None

    wide = _wide(rois, dy)
    total, _ = lax.scan(add, jnp.zeros(shape, wide.dtype), (wide, dy))
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
