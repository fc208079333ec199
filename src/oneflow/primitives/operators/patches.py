"""Sliding windows as columns (im2col) and their sum back into an image (col2im)."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.registry import primitive

Pair = tuple[int, ...]  # height and width


def window_counts(size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair) -> Pair:
    """The number of windows that fit along height and width."""
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, d, p, s in zip(size, kernel, dilation, padding, stride, strict=True)
    )


def _unfold(x, *, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair):
    """``[N, C, H, W]`` to ``[N, C * kernel elements, windows]``."""
    batch, channels, *size = x.shape
    counts = window_counts(tuple(size), kernel, dilation, padding, stride)
    x = jnp.pad(x, ((0, 0), (0, 0), *[(p, p) for p in padding]))

    def taken(offset: Pair):
        start = [o * d for o, d in zip(offset, dilation, strict=True)]
        stop = [a + (n - 1) * s + 1 for a, n, s in zip(start, counts, stride, strict=True)]
        return lax.slice(x, (0, 0, *start), (batch, channels, *stop), (1, 1, *stride))

    windows = [taken(offset) for offset in itertools.product(*map(range, kernel))]
    columns = jnp.stack(windows, 2)
    return columns.reshape(batch, channels * len(windows), counts[0] * counts[1])


def _fold(x, *, size: Pair, kernel: Pair, dilation: Pair, padding: Pair, stride: Pair):
    """The opposite of `unfold`: overlapping elements are added."""
    channels = x.shape[1] // (kernel[0] * kernel[1])
    image = jax.ShapeDtypeStruct((x.shape[0], channels, *size), x.dtype)
    settings = {"kernel": kernel, "dilation": dilation, "padding": padding, "stride": stride}
    (result,) = jax.linear_transpose(lambda y: _unfold(y, **settings), image)(x)
    return result


unfold = primitive("unfold_windows", _unfold, axes="n c _ _ -> n c _", linear=("x",))
fold = primitive("fold_windows", _fold, axes="n c _ -> n c _ _", linear=("x",))


def _unfold_gradient(g, x_spec, kernel, dilation, padding, stride):
    settings = {"kernel": kernel, "dilation": dilation, "padding": padding, "stride": stride}
    return fold(g, size=x_spec.shape[2:], **settings)


def _fold_gradient(g, kernel, dilation, padding, stride):
    return unfold(g, kernel=kernel, dilation=dilation, padding=padding, stride=stride)


unfold.gradient(x=_unfold_gradient)
fold.gradient(x=_fold_gradient)
