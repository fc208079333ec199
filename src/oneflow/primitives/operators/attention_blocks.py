"""Attention block by block of queries, and its gradient: what `attention` runs.

Queries with many scores are taken block by block, so that the matrix of weights never exists as a
whole.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.primitives.operators import lax_functions, loops
from oneflow.primitives.operators.attention_kernels import (
    AttentionKernel,
    AttentionSizes,
    attention_sizes,
    kernel_backward,
    kernel_forward,
)
from oneflow.primitives.operators.lax_functions import (
    as_type,
    keepdim_max,
    keepdim_sum,
    part,
    replaced,
    wide,
)
from oneflow.primitives.operators.random import below, random_bits
from oneflow.primitives.shard_index import ShardIndex

# Without the whole matrix a causal mask can be used: these parts of the queries see fewer keys.
_CAUSAL_PARTS = 4
# Logarithms below lack digits, and scores that are then computed at once, where memory is scarce.
_LOW, _SMALL_BLOCK = -1e3, 2**22


class AttentionForm(NamedTuple):
    """A platform's way to compute attention.

    Attributes:
        limit: scores computed at once.
        half_products: products of the backward pass take operands as they are, and add up in
            single precision; otherwise operands are converted to that before.
        kernel: computes the calls that it supports.
        recompute_scores: the backward pass computes them again where they would all fit, too: to
            write and read them takes longer than their product.
    """

    limit: int
    half_products: bool = False
    kernel: AttentionKernel | None = None
    recompute_scores: bool = False


class AttentionFlags(NamedTuple):
    """The attributes of a call.

    Attributes:
        scale: factor of the scores.
        causal: a query sees the keys up to its own position.
        dropout: weights are dropped.
        mask_gradient: the gradient of the mask is wanted.
        fill: the score of a key that a mask of truth values hides.
        written: all is as the written-out form makes it, also where hidden keys have a weight.
    """

    scale: float
    causal: bool
    dropout: bool
    mask_gradient: bool
    fill: float = -math.inf
    written: bool = False


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
    """The scores of all queries and keys, computed block by block.

    Attributes:
        rows: queries.
        keys: keys.
        shard: the shard of the result that is computed here; None: all of it.
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


def _masked_scores(q, k, mask, flags: AttentionFlags, first):
    """Scores in single precision or better; `first` is the number of the first query."""
    kind = jnp.promote_types(q.dtype, jnp.float32)
    scores = _product(lax.mul(q, np.asarray(flags.scale, q.dtype)), _transposed(k), kind)
    if mask is not None and mask.dtype == bool:
        scores = jnp.where(mask, scores, flags.fill)
    elif mask is not None:
        scores = lax_functions.add(scores, mask)
    if flags.causal:
        rows, columns = (lax.broadcasted_iota(jnp.int32, scores.shape[-2:], dim) for dim in (0, 1))
        scores = jnp.where(columns <= rows + first, scores, -jnp.inf)
    return scores


def _transposed(x):
    """Matrices with their last two dimensions exchanged."""
    ndim = len(x.shape)
    return lax.transpose(x, (*range(ndim - 2), ndim - 1, ndim - 2))


def _product(x, y, kind):
    """The product of matrices, whose batch dimensions may broadcast."""
    batch = tuple(range(len(x.shape) - 2))
    if x.shape[:-2] != y.shape[:-2]:
        return jnp.matmul(x, y, preferred_element_type=kind)
    dims = ((len(batch) + 1,), (len(batch),)), (batch, batch)
    return lax.dot_general(x, y, dims, preferred_element_type=kind)


def _kept(scores, numbers, matrix: _ScoreMatrix, first):
    """Factors of the weights: 0 where dropped; alike however the scores are cut into blocks."""
    p, seed, stream = numbers
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


def _one_block(q, k, v, numbers, mask, flags, matrix, first):
    scores = _masked_scores(q, k, mask, flags, first)
    last = len(scores.shape) - 1
    # A query that sees no key gets zeros.
    top = _finite(keepdim_max(scores, last))
    powers = lax.exp(lax.sub(scores, top))
    total = keepdim_sum(powers, (last,))
    lse = lax.squeeze(lax.add(lax.log(total), top), (last,))
    if flags.dropout:
        powers = powers * _kept(scores, numbers, matrix, first)
    mixed = _product(as_type(powers, v.dtype), v, powers.dtype)
    total = replaced(total, lax.eq(total, total.dtype.type(0)), 1)
    return as_type(lax_functions.div(mixed, total), q.dtype), lse


def _finite(x):
    """`x` with the least number in place of ``-inf``."""
    return lax.max(x, jnp.finfo(x.dtype).min)


def _softmax(scores):
    """The weights; zeros for a query that sees no key."""
    last = len(scores.shape) - 1
    powers = lax.exp(lax.sub(scores, _finite(keepdim_max(scores, last))))
    total = keepdim_sum(powers, (last,))
    return lax_functions.div(powers, replaced(total, lax.eq(total, total.dtype.type(0)), 1))


def attention_result(form: AttentionForm, q, k, v, numbers, mask, flags: AttentionFlags, shard):
    """The result, and the logarithms of the sums of exponentials."""
    matrix = _score_matrix(q, k, shard)
    sizes = _kernel_sizes(form, q, k, v, mask, flags, matrix)
    if form.kernel is not None and sizes is not None:
        return kernel_forward(form.kernel, sizes, q, k, v, mask, flags.scale)
    ranges = _query_blocks(q, matrix, flags.causal, form.limit)
    parts = [_span_forward(span, q, k, v, numbers, mask, flags, matrix) for span in ranges]
    mixed, lse = zip(*parts, strict=True)
    return _one_after_the_other(mixed, -2), _one_after_the_other(lse, -1)


def has_kernel(form: AttentionForm, q, k, v, mask, flags: AttentionFlags) -> bool:
    """Return whether the platform's kernel computes a call, of arrays or their shapes."""
    return _kernel_sizes(form, q, k, v, mask, flags, _score_matrix(q, k, None)) is not None


def _kernel_sizes(
    form: AttentionForm, q, k, v, mask, flags: AttentionFlags, matrix: _ScoreMatrix
) -> AttentionSizes | None:
    """The sizes of a call that the kernel computes; None: it does not."""
    is_part = flags.causal and q.shape[-2] != matrix.rows
    if form.kernel is None or flags.dropout or flags.mask_gradient or is_part:
        return None
    sizes = attention_sizes(q, k, v, mask, flags.causal, flags.fill)
    return sizes if sizes is not None and form.kernel.supports(sizes) else None


def _one_after_the_other(parts, dim: int):
    """The parts along `dim`, which counts from the back, as one array."""
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, dim)


def _span_forward(span, q, k, v, numbers, mask, flags, matrix):
    rows, total = span.rows, span.rows * span.blocks
    mask = _columns(mask, span.keys)
    k, v = (part(tensor, 0, span.keys, tensor.ndim - 2) for tensor in (k, v))
    q_blocks = _rows(q, span.start, span.stop, total)
    mask = _rows(mask, span.start, span.stop, total)

    def run(index):
        q, block_mask = _block(q_blocks, index, rows), _block(mask, index, rows)
        first = _first_row(span, matrix, index)
        return _one_block(q, k, v, numbers, block_mask, flags, matrix, first)

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


def _one_block_backward(tensors, numbers, mask, flags, form, matrix, first):
    """Gradients of the block's queries, of all keys and values (transposed), and of the scores."""
    g, delta, q, k, v, lse = tensors
    scores = _masked_scores(q, k, mask, flags, first)
    weights = _softmax(scores) if flags.written else lax.exp(lax.sub(scores, _finite(lse)))
    # The scores have been computed with the factor in the type of the queries.
    factor = np.asarray(np.asarray(flags.scale, q.dtype), scores.dtype)
    kind = q.dtype if form.half_products else scores.dtype
    g, q, k, v = (as_type(tensor, kind) for tensor in (g, q, k, v))
    slopes = _product(g, _transposed(v), scores.dtype)
    drop_mask = weights
    if flags.dropout:
        dropout_factors = _kept(scores, numbers, matrix, first)
        drop_mask, slopes = lax.mul(weights, dropout_factors), lax.mul(slopes, dropout_factors)
    # Products with the matrix of weights on the right: it need not be transposed.
    dv = _product(_transposed(g), as_type(drop_mask, kind), scores.dtype)
    grad_scores = lax_functions.mul(weights, lax_functions.sub(slopes, delta))
    if mask is not None and mask.dtype == bool and flags.fill > -math.inf:
        grad_scores = jnp.where(mask, grad_scores, 0)
    narrow = as_type(grad_scores, kind)
    dq = lax.mul(_product(narrow, k, scores.dtype), factor)
    dk = lax.mul(_product(_transposed(q), narrow, scores.dtype), factor)
    return dq, dk, dv, grad_scores


def attention_gradients(
    form: AttentionForm, g, grad_lse, q, k, v, numbers, result, lse, mask, flags, shard
):
    """The gradients of queries, keys and values, and of the scores where wanted."""
    matrix = _score_matrix(q, k, shard)
    sizes = _kernel_sizes(form, q, k, v, mask, flags, matrix)
    if form.kernel is not None and sizes is not None and grad_lse is None:
        operands = (g, q, k, v, mask, flags.scale, result, lse)
        kernel = functools.partial(kernel_backward, form.kernel, sizes, *operands)
        if not flags.written or mask is None or mask.dtype == bool:
            return kernel()
        # A query from which a sum hides all keys has a logarithm of which few digits are left.
        plain = AttentionForm(_SMALL_BLOCK, form.half_products)
        others = (g, None, q, k, v, numbers, result, lse, mask, flags, shard)
        blocks = functools.partial(attention_gradients, plain, *others)
        return lax.cond(jnp.any((lse < _LOW) & (lse > -jnp.inf)), blocks, kernel)
    ranges = _query_blocks(q, matrix, flags.causal, form.limit)
    if form.recompute_scores or len(ranges) > 1 or ranges[0].blocks > 1:
        # Without a barrier the compiler would keep the forward pass's scores for reuse here.
        q, k, v = lax.optimization_barrier((q, k, v))
    last = len(g.shape) - 1
    delta = keepdim_sum(lax.mul(wide(g), wide(result)), (last,))
    if grad_lse is not None:
        # The logarithms are results too, though nobody sees them: their gradient is the scores'.
        delta = lax_functions.sub(delta, lax.expand_dims(grad_lse, (grad_lse.ndim,)))
    tensors = (g, delta, q, k, v, lax.expand_dims(lse, (lse.ndim,)))
    parts = [_span_backward(span, tensors, numbers, mask, flags, form, matrix) for span in ranges]
    dq, dk, dv, grad_scores = zip(*parts, strict=True)
    grads = [_one_after_the_other(dq, -2), _reduce_broadcast(dk, k), _reduce_broadcast(dv, v)]
    grads = [as_type(grad, x.dtype) for grad, x in zip(grads, (q, k, v), strict=True)]
    if flags.mask_gradient:
        grad_scores = [_keys_to(block_scores, k.shape[-2]) for block_scores in grad_scores]
        grads.append(_one_after_the_other(grad_scores, -2).astype(mask.dtype))
    return tuple(grads)


def _span_backward(span, tensors, numbers, mask, flags, form, matrix):
    g, delta, q, k, v, lse = tensors
    rows, total = span.rows, span.rows * span.blocks
    k, v = (part(tensor, 0, span.keys, tensor.ndim - 2) for tensor in (k, v))
    mask = _columns(mask, span.keys)
    taken = [_rows(tensor, span.start, span.stop, total) for tensor in (g, delta, q, lse, mask)]

    def run(sums, index):
        g, delta, q, lse, mask = [_block(blocks, index, rows) for blocks in taken]
        block = (g, delta, q, k, v, lse)
        first = _first_row(span, matrix, index)
        dq, dk, dv, grad_scores = _one_block_backward(
            block, numbers, mask, flags, form, matrix, first
        )
        sums = (dk, dv) if sums is None else (sums[0] + dk, sums[1] + dv)
        return sums, (dq, grad_scores if flags.mask_gradient else ())

    batch_shape = jnp.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    if span.blocks == 1:
        (dk, dv), (dq, grad_scores) = run(None, None)
        return dq, dk, dv, grad_scores
    sums = tuple(jnp.zeros((*batch_shape, x.shape[-1], span.keys), delta.dtype) for x in (k, v))
    (dk, dv), (dq, grad_scores) = loops.scan(run, sums, jnp.arange(span.blocks, dtype=jnp.int32))
    count = span.stop - span.start
    grad_scores = _joined(grad_scores)[..., :count, :] if flags.mask_gradient else ()
    return _joined(dq)[..., :count, :], dk, dv, grad_scores


def _keys_to(x, keys: int):
    """`x` with its last dimension, the keys seen, extended to all of them by zeros."""
    missing = keys - x.shape[-1]
    return jnp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)]) if missing else x


def _reduce_broadcast(parts, x):
    """The sum of transposed gradients of keys or values, transposed back."""
    return _transposed(
        functools.reduce(lax.add, [_keys_to(gradient, x.shape[-2]) for gradient in parts])
    )
