"""Scaled dot-product attention: ``softmax(scale * q @ k.T + mask) @ v`` in one primitive.

Kept for the backward pass: the operands, the result and, per query, the logarithm of the sum of
exponentials; the weights are computed again. Where there are many, queries are taken block by
block, so that the matrix of weights never exists as a whole.

Shapes: q [..., L, E], k [..., S, E], v [..., S, F]; mask broadcasts to [..., L, S], true where a
key may be seen, or added to the scores.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import lax_functions, loops
from oneflow.primitives.operators.lax_functions import as_type, kept_max, kept_sum, part, replaced
from oneflow.primitives.operators.random import below, random_bits
from oneflow.primitives.operators.softmax import wide
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_index import ShardIndex
from oneflow.primitives.sharding.axes import Axes, notation
from oneflow.primitives.traits import Positional, Precision

# Scores computed at once: what fits into a processor's caches, and what keeps a GPU busy.
_CPU_BLOCK, _GPU_BLOCK = 2**20, 2**27
# Without the whole matrix a causal mask can be used: these parts of the queries see fewer keys.
_CAUSAL_PARTS = 4


class _Span(NamedTuple):
    """Consecutive queries that see the same first keys, in blocks."""

    start: int
    stop: int
    keys: int
    blocks: int

    @property
    def rows(self) -> int:
        """Queries per block."""
        return -(-(self.stop - self.start) // self.blocks)


class _ScoreMatrix(NamedTuple):
    """The scores of all queries and keys, of which blocks are computed.

    Attributes:
        rows: queries.
        keys: keys.
        shard: of the result that is computed here; None: all of it.
    """

    rows: int
    keys: int
    shard: ShardIndex | None

    @property
    def first(self) -> Any:
        """The number of the first query here."""
        return 0 if self.shard is None else self.shard.offsets[-2]

    def shard_index(self, shape: tuple[int, ...], first: Any) -> ShardIndex | None:
        """The position of a block of scores from query `first` on; None: it is all of them."""
        if self.shard is None:
            if shape[-2:] == (self.rows, self.keys):
                return None
            batch_shape, starts = shape[:-2], (0,) * (len(shape) - 2)
        else:
            batch_shape, starts = self.shard.global_shape[:-2], self.shard.offsets[:-2]
        return ShardIndex((*batch_shape, self.rows, self.keys), (*starts, first, 0))


def _score_matrix(q, k, shard: ShardIndex | None) -> _ScoreMatrix:
    return _ScoreMatrix(
        q.shape[-2] if shard is None else shard.global_shape[-2], k.shape[-2], shard
    )


def _query_blocks(q, matrix: _ScoreMatrix, causal: bool, limit: int) -> list[_Span]:
    q_rows, keys = q.shape[-2], matrix.keys
    lanes = math.prod(q.shape[:-2])
    if lanes * q_rows * keys <= limit:
        return [_Span(0, q_rows, keys, 1)]
    skips = causal and q_rows == matrix.rows
    parts = _CAUSAL_PARTS if skips else 1
    ends = [q_rows * index // parts for index in range(parts + 1)]
    ranges = []
    for start, stop in itertools.pairwise(ends):
        seen = min(stop, keys) if skips else keys
        blocks = min(max(-(-lanes * (stop - start) * seen // limit), 1), stop - start)
        ranges.append(_Span(start, stop, seen, blocks))
    return ranges


def _masked_scores(q, k, scale, mask, causal: bool, first):
    """Scores in single precision or better; `first` is the number of the first query."""
    kind = jnp.promote_types(q.dtype, jnp.float32)
    scores = _product(lax.mul(q, as_type(scale, q.dtype)), _transposed(k), kind)
    if mask is not None and mask.dtype == bool:
        scores = jnp.where(mask, scores, -jnp.inf)
    elif mask is not None:
        scores = lax_functions.add(scores, mask)
    if causal:
        rows, columns = (lax.broadcasted_iota(jnp.int32, scores.shape[-2:], dim) for dim in (0, 1))
        scores = jnp.where(columns <= rows + first, scores, -jnp.inf)
    return scores


def _transposed(x):
    """Matrices with their last two dimensions exchanged."""
    ndim = len(x.shape)
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def _product(x, y, kind):
    """The product of matrices, of which those of batches may broadcast."""
    batch = tuple(range(len(x.shape) - 2))
    if x.shape[:-2] != y.shape[:-2]:
        return jnp.matmul(x, y, preferred_element_type=kind)
    dims = ((len(batch) + 1,), (len(batch),)), (batch, batch)
    return lax.dot_general(x, y, dims, preferred_element_type=kind)


def _kept(scores, p, seed, stream, matrix: _ScoreMatrix, first):
    """Factors of the weights: 0 where dropped; alike however the scores are cut into blocks."""
    index = matrix.shard_index(scores.shape, first)
    drop_mask = below(random_bits(seed, stream, scores.shape, index)[0], p)
    scale = jnp.where(p < 1, 1 / (1 - p), 0.0).astype(scores.dtype)
    return jnp.where(drop_mask, jnp.zeros((), scores.dtype), scale)


def _rows(x, start, stop, count: int):
    """Queries from `start` to `stop`, zeros appended up to `count`; a single row broadcasts."""
    if x is None or x.shape[-2] == 1:
        return x
    taken = part(x, start, stop, x.ndim - 2)
    missing = count - taken.shape[-2]
    return jnp.pad(taken, [(0, 0)] * (x.ndim - 2) + [(0, missing), (0, 0)]) if missing else taken


def _block(x, index, rows: int):
    """The block of that number; None: there is only one."""
    if x is None or index is None or x.shape[-2] == 1:
        return x
    return lax.dynamic_slice_in_dim(x, index * rows, rows, x.ndim - 2)


def _columns(mask, keys: int):
    if mask is None or mask.shape[-1] == 1:
        return mask
    return part(mask, 0, keys, mask.ndim - 1)


def _one_block(q, k, v, scale, p, seed, stream, mask, causal, dropout, matrix, first):
    scores = _masked_scores(q, k, scale, mask, causal, first)
    last = len(scores.shape) - 1
    # A query that sees no key gets zeros.
    top = _finite(kept_max(scores, last))
    powers = lax.exp(lax.sub(scores, top))
    total = kept_sum(powers, (last,))
    lse = lax.squeeze(lax.add(lax.log(total), top), (last,))
    if dropout:
        powers = powers * _kept(scores, p, seed, stream, matrix, first)
    mixed = _product(as_type(powers, v.dtype), v, powers.dtype)
    total = replaced(total, lax.eq(total, total.dtype.type(0)), 1)
    return as_type(lax_functions.div(mixed, total), q.dtype), lse


def _finite(x):
    """`x` with the least number in place of ``-inf``."""
    return lax.max(x, jnp.finfo(x.dtype).min)


def _forward(limit: int):
    """The implementation that computes up to `limit` scores at once."""

    def impl(
        q,
        k,
        v,
        scale,
        p,
        seed,
        stream,
        *mask,
        causal: bool,
        dropout: bool,
        mask_gradient: bool,
        shard: ShardIndex | None = None,
    ):
        matrix = _score_matrix(q, k, shard)
        ranges = _query_blocks(q, matrix, causal, limit)
        numbers, flags = (scale, p, seed, stream), (causal, dropout, matrix)
        parts = [_span_forward(each, q, k, v, numbers, mask, flags) for each in ranges]
        mixed, lse = zip(*parts, strict=True)
        return _one_after_the_other(mixed, -2), _one_after_the_other(lse, -1)

    return impl


def _one_after_the_other(parts, dim: int):
    """The parts along `dim`, which counts from the back, as one array."""
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, dim)


def _span_forward(span, q, k, v, numbers, mask, flags):
    rows, total = span.rows, span.rows * span.blocks
    mask = _columns(mask[0], span.keys) if mask else None
    k, v = (part(each, 0, span.keys, each.ndim - 2) for each in (k, v))
    q_blocks, mask = (
        _rows(q, span.start, span.stop, total),
        _rows(mask, span.start, span.stop, total),
    )

    def run(index):
        block_operands = (
            _block(q_blocks, index, rows),
            k,
            v,
            *numbers,
            _block(mask, index, rows),
            *flags,
        )
        return _one_block(*block_operands, first=_first_row(span, flags[-1], index))

    if span.blocks == 1:
        return run(None)
    mixed, lse = loops.map_(run, jnp.arange(span.blocks, dtype=jnp.int32))
    count = span.stop - span.start
    return _joined(mixed)[..., :count, :], _joined(lse[..., None])[..., :count, 0]


def _first_row(span, matrix, index):
    """The number of the first query of a block; None: the only one."""
    first = matrix.first + span.start
    return first if index is None else first + index * span.rows


def _joined(blocks):
    """Blocks of rows, stacked in front, one after the other."""
    moved = jnp.moveaxis(blocks, 0, -3)
    return moved.reshape(*moved.shape[:-3], -1, moved.shape[-1])


def _one_block_backward(
    g, delta, q, k, v, lse, scale, p, seed, stream, mask, causal, dropout, matrix, first
):
    """Gradients of the block's queries, of all keys and values (transposed), and of the scores."""
    scores = _masked_scores(q, k, scale, mask, causal, first)
    weights = lax.exp(lax.sub(scores, _finite(lse)))
    g, q, k, v = wide(g), wide(q), wide(k), wide(v)
    slopes = _product(g, _transposed(v), None)
    drop_mask = weights
    if dropout:
        kept = _kept(scores, p, seed, stream, matrix, first)
        drop_mask, slopes = lax.mul(weights, kept), lax.mul(slopes, kept)
    # Products with the matrix of weights on the right: it need not be transposed.
    dv = _product(_transposed(g), drop_mask, None)
    grad_scores = lax_functions.mul(weights, lax_functions.sub(slopes, delta))
    factor = as_type(scale, grad_scores.dtype)
    dq = lax.mul(_product(grad_scores, k, None), factor)
    dk = lax.mul(_product(_transposed(q), grad_scores, None), factor)
    return dq, dk, dv, grad_scores


def _backward(limit: int):
    """The gradients for `_forward` with the same limit."""

    def impl(
        g,
        grad_lse,
        q,
        k,
        v,
        scale,
        p,
        seed,
        stream,
        result,
        lse,
        *mask,
        causal: bool,
        dropout: bool,
        mask_gradient: bool,
        shard: ShardIndex | None = None,
    ):
        matrix = _score_matrix(q, k, shard)
        ranges = _query_blocks(q, matrix, causal, limit)
        if len(ranges) > 1 or ranges[0].blocks > 1:
            # Without a barrier the compiler would keep the forward pass's scores for reuse here.
            q, k, v = lax.optimization_barrier((q, k, v))
        # The logarithms are results too, though nobody sees them: their gradient is the scores'.
        last = len(g.shape) - 1
        delta = kept_sum(lax.mul(wide(g), wide(result)), (last,))
        grad_lse, lse = (lax.expand_dims(each, (each.ndim,)) for each in (grad_lse, lse))
        delta = lax_functions.sub(delta, grad_lse)
        tensors, numbers = (g, delta, q, k, v, lse), (scale, p, seed, stream)
        flags = (causal, dropout, matrix, mask_gradient)
        parts = [_span_backward(each, tensors, numbers, mask, flags) for each in ranges]
        dq, dk, dv, grad_scores = zip(*parts, strict=True)
        grads = [_one_after_the_other(dq, -2), _reduce_broadcast(dk, k), _reduce_broadcast(dv, v)]
        grads = [as_type(grad, x.dtype) for grad, x in zip(grads, (q, k, v), strict=True)]
        if mask_gradient:
            grad_scores = [_keys_to(each, k.shape[-2]) for each in grad_scores]
            grads.append(_one_after_the_other(grad_scores, -2).astype(mask[0].dtype))
        return tuple(grads)

    return impl


def _span_backward(span, tensors, numbers, mask, flags):
    g, delta, q, k, v, lse = tensors
    causal, dropout, matrix, mask_gradient = flags
    rows, total = span.rows, span.rows * span.blocks
    k, v = (part(each, 0, span.keys, each.ndim - 2) for each in (k, v))
    mask = _columns(mask[0], span.keys) if mask else None
    taken = [_rows(each, span.start, span.stop, total) for each in (g, delta, q, lse, mask)]

    def run(sums, index):
        g, delta, q, lse, mask = [_block(each, index, rows) for each in taken]
        dq, dk, dv, grad_scores = _one_block_backward(
            g,
            delta,
            q,
            k,
            v,
            lse,
            *numbers,
            mask=mask,
            causal=causal,
            dropout=dropout,
            matrix=matrix,
            first=_first_row(span, matrix, index),
        )
        sums = (dk, dv) if sums is None else (sums[0] + dk, sums[1] + dv)
        return sums, (dq, grad_scores if mask_gradient else ())

    batch_shape = jnp.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    if span.blocks == 1:
        (dk, dv), (dq, grad_scores) = run(None, None)
        return dq, dk, dv, grad_scores
    sums = tuple(jnp.zeros((*batch_shape, x.shape[-1], span.keys), delta.dtype) for x in (k, v))
    (dk, dv), (dq, grad_scores) = loops.scan(run, sums, jnp.arange(span.blocks, dtype=jnp.int32))
    count = span.stop - span.start
    grad_scores = _joined(grad_scores)[..., :count, :] if mask_gradient else ()
    return _joined(dq)[..., :count, :], dk, dv, grad_scores


def _keys_to(x, keys: int):
    """`x` with its last dimension, the keys seen, extended to all of them by zeros."""
    missing = keys - x.shape[-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]) if missing else x


def _reduce_broadcast(parts, x):
    """The sum of transposed gradients of keys or values, transposed back."""
    return _transposed(functools.reduce(lax.add, [_keys_to(each, x.shape[-2]) for each in parts]))


def _scores_broadcast(operation: Operation, forward: bool) -> bool:
    """Return whether one weight, dropped or not, takes part in several rows of the result."""
    specs = operation.in_specs[0 if forward else 2 :]
    q, k, v, mask = *specs[:3], specs[7 if forward else 9 :]
    scores = np.broadcast_shapes(*(spec.shape[:-2] for spec in (q, k, *mask)))
    return np.broadcast_shapes(scores, v.shape[:-2]) != scores


def _axes(operation: Operation) -> Axes | None:
    """Leading dimensions and queries may be split."""
    lse, q, k = "... l", "... l _", "... _ _"
    operands = f"{q}, {k}, {k}, , , , "
    forward = operation.primitive is attention
    if operation.attributes["dropout"] and _scores_broadcast(operation, forward):
        return None
    if forward:
        return notation(f"{operands}, {q} -> {q}, {lse}")(operation)
    results = f"{q}, {k}, {k}"
    results += f", {q}" * operation.attributes["mask_gradient"]
    given = f"{q}, {lse}, {operands}, {q}, {lse}, {q}"
    return notation(f"{given} -> {results}")(operation)


_NUMBERS = {"seed": "int64", "stream": "int64", "p": "float64"}
attention = primitive(
    "attention",
    _forward(_CPU_BLOCK),
    axes=_axes,
    scalar=_NUMBERS,
    positional=Positional(),
    precision=Precision.HALF,
)
attention.lowering("cuda")(_forward(_GPU_BLOCK))
attention_backward = primitive(
    "attention_backward",
    _backward(_CPU_BLOCK),
    axes=_axes,
    scalar=_NUMBERS,
    positional=Positional(),
    linear=("g grad_lse",),
)
attention_backward.lowering("cuda")(_backward(_GPU_BLOCK))


def _attention_gradient(
    g, q, k, v, scale, p, seed, stream, mask, out, causal, dropout, mask_gradient
):
    given = {"causal": causal, "dropout": dropout, "mask_gradient": mask_gradient}
    grads = attention_backward(*g, q, k, v, scale, p, seed, stream, *out, *mask, **given)
    return [*grads[:3], None, None, None, None, *(grads[3:] or [None] * len(mask))]


attention.gradient(_attention_gradient, writable="q k v mask out")
