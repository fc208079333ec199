"""Scaled dot-product attention: ``softmax(scale * q @ k.T + mask) @ v`` in one primitive.

The backward pass needs the operands, the result and, per query, the logarithm of the sum of
exponentials; the weights are computed again. If there are many, queries are taken block by block,
so that the matrix of weights never exists as a whole.

Shapes: q [..., L, E], k [..., S, E], v [..., S, F]; mask broadcasts to [..., L, S], true where a
key may be seen, or added to the scores. Grouped: q [..., N, L, E] has a multiple of the heads of
k [..., G, S, E] and v, each of which serves N / G consecutive ones.

A query that sees no key gets zeros; with `written` what the softmax gives when it is written out
(`attention_written`), which hides keys by the score `fill`.

On GPUs and TPUs `attention_kernels` computes the calls that it knows.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.attention_blocks import (
    AttentionFlags,
    AttentionForm,
    attention_gradients,
    attention_result,
    has_kernel,
)
from oneflow.primitives.operators.attention_kernels import CudnnKernel, SplashKernel
from oneflow.primitives.operators.attention_written import (
    is_masked,
    written_gradients,
    written_result,
)
from oneflow.primitives.operators.elementwise import zeros_like
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.sharding.axes import Axes, notation
from oneflow.primitives.traits import Positional, Precision

# Scores computed at once: what fits into a processor's caches, and what keeps an accelerator busy.
_CPU = AttentionForm(2**20)
_CUDA = AttentionForm(2**27, half_products=True, kernel=CudnnKernel())
_TPU = AttentionForm(2**27, half_products=True, kernel=SplashKernel(), recompute_scores=True)


def is_fused(operation: Operation) -> bool:
    """Return whether a fused kernel of the platform computes an operation of `attention`."""
    form = {"cuda": _CUDA, "tpu": _TPU}.get(operation.device.type, _CPU)
    names = ("scale", "causal", "dropout", "mask_gradient", "fill", "written")
    flags = AttentionFlags(*(operation.attributes[name] for name in names))
    q, k, v, _, _, _, *mask = (
        jax.ShapeDtypeStruct(spec.shape, spec.dtype.numpy) for spec in operation.in_specs
    )
    return has_kernel(form, q, k, v, mask[0] if mask else None, flags)


# --- heads of keys and values that serve several of the queries


def _by_group(x: Any, groups: int) -> Any:
    """Heads of queries, or of a mask, by the head of keys that serves them."""
    if x is None or x.ndim < 3:
        return x
    *batch, heads, rows, columns = x.shape
    return x.reshape(*batch, *((1, 1) if heads == 1 else (groups, -1)), rows, columns)


def _shard_by_group(shard: ShardIndex | None, repeats: int) -> ShardIndex | None:
    if shard is None:
        return None
    *batch, heads, rows, columns = shard.global_shape
    *starts, head, row, column = shard.offsets
    shape = (*batch, heads // repeats, repeats, rows, columns)
    return ShardIndex(shape, (*starts, head // repeats, 0, row, column))


def forward(form: AttentionForm):
    """The implementation of a platform."""

    def impl(
        q,
        k,
        v,
        p,
        seed,
        stream,
        *mask,
        scale: float,
        causal: bool,
        dropout: bool,
        mask_gradient: bool,
        grouped: bool = False,
        written: bool = False,
        fill: float = -math.inf,
        shard: ShardIndex | None = None,
    ):
        flags = AttentionFlags(scale, causal, dropout, mask_gradient, fill, written)
        added = mask[0] if mask else None
        if not grouped:
            results = attention_result(form, q, k, v, (p, seed, stream), added, flags, shard)
            return written_result(*results, v, causal) if written else results
        groups = k.shape[-3]
        shard = _shard_by_group(shard, q.shape[-3] // groups)
        operands = (_by_group(q, groups), k[..., None, :, :], v[..., None, :, :])
        added = _by_group(added, groups)
        mixed, lse = attention_result(form, *operands, (p, seed, stream), added, flags, shard)
        return mixed.reshape(*q.shape[:-1], v.shape[-1]), lse.reshape(q.shape[:-1])

    return impl


def backward(form: AttentionForm):
    """The gradients for `forward` of the same form.

    Behind a mask there may be the gradient of the logarithms.
    """

    def impl(
        g,
        q,
        k,
        v,
        p,
        seed,
        stream,
        result,
        lse,
        *rest,
        scale: float,
        causal: bool,
        dropout: bool,
        mask_gradient: bool,
        lse_gradient: bool,
        grouped: bool = False,
        written: bool = False,
        fill: float = -math.inf,
        shard: ShardIndex | None = None,
    ):
        flags = AttentionFlags(scale, causal, dropout, mask_gradient, fill, written)
        numbers = (p, seed, stream)
        grad_lse = rest[-1] if lse_gradient else None
        mask = rest[0] if len(rest) > lse_gradient else None
        if not grouped:
            masked = is_masked(lse) if written else None
            if masked is not None:
                g, result = (jnp.where(masked, 0, x).astype(x.dtype) for x in (g, result))
            operands = (g, grad_lse, q, k, v, numbers, result, lse, mask, flags, shard)
            grads = attention_gradients(form, *operands)
            if masked is None:
                return grads
            first = 0 if shard is None else shard.offsets[-2]
            return written_gradients(grads, masked, mask, causal, first)
        groups = k.shape[-3]
        grad_rows, rows = (
            None if x is None else _by_group(x[..., None], groups)[..., 0] for x in (grad_lse, lse)
        )
        g, queries, result, mask = (_by_group(x, groups) for x in (g, q, result, mask))
        keys, values = k[..., None, :, :], v[..., None, :, :]
        shard = _shard_by_group(shard, q.shape[-3] // groups)
        operands = (g, grad_rows, queries, keys, values, numbers, result, rows, mask, flags, shard)
        dq, dk, dv, *grad_mask = attention_gradients(form, *operands)
        grad_mask = [x.reshape(*q.shape[:-1], x.shape[-1]) for x in grad_mask]
        return (dq.reshape(q.shape), jnp.sum(dk, -3), jnp.sum(dv, -3), *grad_mask)

    return impl


def _mask_spec(operation: Operation) -> Any:
    """The mask of a forward or backward pass; None: there is none."""
    forward = operation.primitive is attention
    specs = operation.in_specs[6 if forward else 9 :]
    count = len(specs) if forward else len(specs) - operation.attributes["lse_gradient"]
    return specs[0] if count else None


def _scores_broadcast(operation: Operation) -> bool:
    """Return whether one weight, dropped or not, takes part in several rows of the result."""
    first = 0 if operation.primitive is attention else 1
    q, k, v = operation.in_specs[first : first + 3]
    if operation.attributes["grouped"]:
        return False
    mask = _mask_spec(operation)
    shapes = [spec.shape[:-2] for spec in (q, k, mask) if spec is not None]
    scores = np.broadcast_shapes(*shapes)
    return np.broadcast_shapes(scores, v.shape[:-2]) != scores


def _axes(operation: Operation) -> Axes | None:
    """Leading dimensions and queries may be split."""
    attributes, mask = operation.attributes, _mask_spec(operation)
    if attributes["dropout"] and _scores_broadcast(operation):
        return None
    heads = "n " if attributes["grouped"] else ""
    lse, q, k = f"... {heads}l", f"... {heads}l _", f"... {heads}_ _"
    operands = f"{q}, {k}, {k}, , , "
    added = [] if mask is None else [_mask_names(mask, q, heads)]
    if operation.primitive is attention:
        return notation(f"{', '.join([operands, *added])} -> {q}, {lse}")(operation)
    results = f"{q}, {k}, {k}" + f", {q}" * attributes["mask_gradient"]
    terms = [q, operands, q, lse, *added, *[lse] * attributes["lse_gradient"]]
    return notation(f"{', '.join(terms)} -> {results}")(operation)


def _mask_names(mask: Any, queries: str, heads: str) -> str:
    """A mask's names; one head of it may stand for all."""
    if heads and (mask.ndim < 3 or mask.shape[-3] == 1):
        return "... _ l _" if mask.ndim > 2 else "... l _"
    return queries


def _linear_in_gradients(operation: Operation) -> tuple[frozenset[int], ...]:
    """Linear in the gradients of both results together."""
    last = len(operation.in_specs) - 1
    return (frozenset({0, last} if operation.attributes["lse_gradient"] else {0}),)


_NUMBERS = {"seed": "int64", "stream": "int64", "p": "float64"}
attention = primitive(
    "attention",
    forward(_CPU),
    axes=_axes,
    scalar=_NUMBERS,
    positional=Positional(),
    precision=Precision.HALF,
)
attention.lowering("cuda")(forward(_CUDA))
attention.lowering("tpu")(forward(_TPU))
attention_backward = primitive(
    "attention_backward",
    backward(_CPU),
    axes=_axes,
    scalar=_NUMBERS,
    positional=Positional(),
    linear=_linear_in_gradients,
)
attention_backward.lowering("cuda")(backward(_CUDA))
attention_backward.lowering("tpu")(backward(_TPU))


def _attention_gradient(
    g, q, k, v, p, seed, stream, mask, out, scale, causal, dropout, mask_gradient, grouped,
    written, fill,
):  # fmt: skip
    grad, grad_lse = g
    result, lse = out
    if grad is None:
        grad = zeros_like(result)
    rest = [*mask, *([] if grad_lse is None else [grad_lse])]
    grads = attention_backward(
        grad,
        *(q, k, v, p, seed, stream, result, lse, *rest),
        scale=scale,
        causal=causal,
        dropout=dropout,
        mask_gradient=mask_gradient,
        lse_gradient=grad_lse is not None,
        grouped=grouped,
        written=written,
        fill=fill,
    )
    return [*grads[:3], None, None, None, *(grads[3:] or [None] * len(mask))]


attention.gradient(_attention_gradient, writable="q k v mask out", materialize_grads=False)
