"""Cross entropy of a linear layer's logits, which are computed for some rows at a time.

Rows are taken `chunk` at a time, forward and backward: the backward pass computes the logits of a
chunk again. Losses are wide, as are sums of gradients; gradients have the dtype of what they are
the gradient of.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.cross_entropy import (
    bad_label,
    cross_entropy,
    cross_entropy_backward,
    label_error,
)
from oneflow.primitives.operators.loops import map_, scan
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, Names
from oneflow.primitives.traits import Precision

# The settings of `cross_entropy` that give the loss of each row.
_OF_EACH_ROW: dict[str, Any] = {"reduction": "none", "smooth": False}


def _wide_dtype(x) -> Any:
    return jnp.promote_types(x.dtype, jnp.float32)


def _chunks(rows, chunk: int, padding=0):
    """Rows in chunks; the last is filled up."""
    count = -(-rows.shape[0] // chunk)
    pad_widths = [(0, count * chunk - rows.shape[0], 0), *[(0, 0, 0)] * (rows.ndim - 1)]
    padded = lax.pad(rows, jnp.asarray(padding, rows.dtype), pad_widths)
    return padded.reshape(count, chunk, *rows.shape[1:])


def _rows_of_chunk(x, chunk: int) -> int:
    """Rows of a chunk; a shard may have fewer than one."""
    return max(min(chunk, x.shape[0]), 1)


def _product(x, y, over: tuple[int, int]):
    """A product of matrices, summed over a dimension of each."""
    numbers = (((over[0],), (over[1],)), ((), ()))
    return lax.dot_general(x, y, numbers, preferred_element_type=_wide_dtype(x))


def _logits(rows, linear, bias: list):
    logits = _product(rows, linear, (1, 1))
    return logits + bias[0].astype(logits.dtype) if bias else logits


def _split(rest: tuple, has_bias: bool) -> tuple[list, list]:
    """The bias, and the weights of classes, each as a list of none or one."""
    return list(rest[:has_bias]), list(rest[has_bias:])


def _losses(x, linear, target, *rest, has_bias: bool, ignore_index: int, chunk: int):
    if x.dtype != linear.dtype:
        raise TypeError(f"input and weight must have one dtype, got {x.dtype} and {linear.dtype}")
    bias, weight = _split(rest, has_bias)
    size = _rows_of_chunk(x, chunk)

    def losses_of(part):
        rows, labels = part
        logits = _logits(rows, linear, bias)
        return cross_entropy.impl(
            logits, labels, 0.0, *weight, ignore_index=ignore_index, **_OF_EACH_ROW
        )

    parts = (_chunks(x, size), _chunks(target, size, ignore_index))
    return map_(losses_of, parts).reshape(-1)[: x.shape[0]]


def _losses_backward(g, x, linear, target, *rest, has_bias: bool, ignore_index: int, chunk: int):
    """Gradients of rows, of the linear layer's weight, and of its bias if it has one."""
    bias, weight = _split(rest, has_bias)
    size, wide = _rows_of_chunk(x, chunk), _wide_dtype(x)

    def add_chunk(sums, part):
        slopes, rows, labels = part
        logits = _logits(rows, linear, bias)
        slope = cross_entropy_backward.impl(
            slopes, logits, labels, 0.0, *weight, ignore_index=ignore_index, **_OF_EACH_ROW
        )
        narrow = slope.astype(x.dtype)
        grads = [_product(narrow, rows, (0, 0)), *[slope.sum(0)] * has_bias]
        row_grads = _product(narrow, linear, (1, 0)).astype(x.dtype)
        return [total + grad for total, grad in zip(sums, grads, strict=True)], row_grads

    zeros = [jnp.zeros(parameter.shape, wide) for parameter in (linear, *bias)]
    parts = (_chunks(g, size), _chunks(x, size), _chunks(target, size, ignore_index))
    sums, row_grads = scan(add_chunk, zeros, parts)
    grads = [
        total.astype(parameter.dtype)
        for total, parameter in zip(sums, (linear, *bias), strict=True)
    ]
    return row_grads.reshape(-1, x.shape[1])[: x.shape[0]], *grads


def _replicated_names(operation: Operation, start: int) -> list[Names]:
    return [(None,) * spec.ndim for spec in operation.in_specs[start:]]


def _axes(operation: Operation) -> Axes:
    """Rows may be split."""
    inputs = (("row", None), (None, None), ("row",), *_replicated_names(operation, 3))
    return Axes(inputs, (("row",),))


def _backward_axes(operation: Operation) -> Axes:
    """Parts of the rows give parts of the sums for weight and bias."""
    inputs = (("row",), ("row", None), (None, None), ("row",), *_replicated_names(operation, 4))
    sums = ((None, None), *((None,),) * operation.attributes["has_bias"])
    return Axes(inputs, (("row", None), *sums))


linear_cross_entropy = primitive(
    "linear_cross_entropy",
    _losses,
    axes=_axes,
    precision=Precision.HALF,
    interpret=False,
    real_only=True,
)
linear_cross_entropy_backward = primitive(
    "linear_cross_entropy_backward",
    _losses_backward,
    axes=_backward_axes,
    linear=("g",),
    interpret=False,
)


def _gradient(g, x, linear, target, rest, has_bias, ignore_index, chunk):
    attributes = {"has_bias": has_bias, "ignore_index": ignore_index, "chunk": chunk}
    grads = linear_cross_entropy_backward(g, x, linear, target, *rest, **attributes)
    weights = [None] * (len(rest) - has_bias)
    return [grads[0], grads[1], None, *grads[2:], *weights]


# PyTorch keeps gradients in their place.
linear_cross_entropy.gradient(_gradient, writable="x linear target rest")


def _bad_target(x, linear, target, *rest, has_bias, ignore_index, chunk):
    logits = lax.broadcast(jnp.zeros((), x.dtype), (1, linear.shape[0]))
    return bad_label(logits, target, 0.0, ignore_index=ignore_index, **_OF_EACH_ROW)


linear_cross_entropy.checked(_bad_target, label_error)
