"""Attention by the fused kernels that JAX ships: cuDNN's on GPUs, splash attention on TPUs.

Kernels take batch, length, heads and features in an order of their own, and half precision. They
save the logarithm of the sum of exponentials for the backward pass, as `attention` does: it is read
from the residuals of `jax.vjp`, and put back there.

    q [B..., L, E]     k, v [B..., S, E]        heads are the last of B
    q [B..., R, L, E]  k, v [B..., 1, S, E]     R queries share keys and values (GQA)
"""

from __future__ import annotations

import functools
import importlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from oneflow.base.x64 import without_x64

_HALF = (jnp.bfloat16, jnp.float16)
# A score as low as this has no weight beside any other.
LOWEST = -1e30
# The number that, in place of a logarithm, makes all weights zero.
_MASKED_LSE = 1e30
# Blocks of keys up to which one kernel computes all gradients on a TPU.
_MAX_FUSED = 4
# Numbers of a table of blocks in a TPU's memory of scalars, which has whole tiles.
_MAX_TABLE, _TILE = 2**17, (8, 128)


class MaskSizes(NamedTuple):
    """The sizes of a mask; 1: it is the same everywhere.

    Attributes:
        is_added: to the scores; otherwise it has truth values.
        batch: sequences.
        heads: the number of heads of queries.
        queries: 1: each key is hidden from all queries or from none.
    """

    is_added: bool
    batch: int
    heads: int
    queries: int

    @property
    def is_of_keys(self) -> bool:
        """True if it only says which keys of a sequence may be seen, as padding does."""
        return not self.is_added and self.heads == self.queries == 1


class AttentionSizes(NamedTuple):
    """One call's sizes.

    Attributes:
        batch: sequences.
        groups: heads of keys and values.
        repeats: heads of queries for each of them.
        queries: length.
        keys: length.
        features: the number of features of a head.
        dtype: the dtype of queries, keys and values.
        causal: a query sees the keys up to its own position.
        mask: its sizes; None: there is none.
        fill: the score of a key that a mask of truth values hides.
    """

    batch: int
    groups: int
    repeats: int
    queries: int
    keys: int
    features: int
    dtype: Any
    causal: bool
    mask: MaskSizes | None
    fill: float = -math.inf

    @property
    def heads(self) -> int:
        """Heads of queries."""
        return self.groups * self.repeats


def attention_sizes(
    q: Any, k: Any, v: Any, mask: Any, causal: bool, fill: float = -math.inf
) -> AttentionSizes | None:
    """The sizes of a call that kernels may know; None: they do not."""
    if k.shape != v.shape or q.ndim != k.ndim or q.ndim < 3 or q.shape[-1] != k.shape[-1]:
        return None
    batch, queries = k.shape[:-3], q.shape[-2]
    groups, repeats = k.shape[-3], 1
    if q.shape[:-2] != k.shape[:-2]:
        if q.ndim < 4 or groups != 1 or q.shape[:-3] != batch:
            return None
        batch, groups, repeats = batch[:-1], batch[-1], q.shape[-3]
    if not q.size or not k.size or (causal and queries != k.shape[-2]):
        return None
    if mask is not None and mask.dtype not in (bool, q.dtype):
        return None
    if fill > LOWEST or (fill > -math.inf and repeats > 1):
        return None
    keys, features = k.shape[-2:]
    return AttentionSizes(
        *(math.prod(batch), groups, repeats, queries, keys, features),
        dtype=q.dtype,
        causal=causal,
        mask=None if mask is None else _mask_sizes(mask, q, repeats),
        fill=fill,
    )


def _mask_sizes(mask: Any, q: Any, repeats: int) -> MaskSizes:
    batch, heads = _batch_and_heads((1,) * (q.ndim - mask.ndim) + mask.shape, q, repeats)
    rows = mask.shape[-2] if mask.ndim > 1 else 1
    return MaskSizes(mask.dtype != bool, math.prod(batch), math.prod(heads), rows)


def _batch_and_heads(
    shape: tuple[int, ...], q: Any, repeats: int
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A mask's leading dimensions, sequences and heads: as many as of the queries, or ones."""
    stop = q.ndim - 2
    start = stop - (2 if repeats > 1 else 1)
    parts = ((shape[:start], q.shape[:start]), (shape[start:stop], q.shape[start:stop]))
    batch, heads = (part if all(size == 1 for size in part) else full for part, full in parts)
    return batch, heads


class AttentionKernel(ABC):
    """A fused kernel for attention and its gradient."""

    @abstractmethod
    def supports(self, sizes: AttentionSizes) -> bool:
        """Return whether the kernel can compute a call, here."""

    @abstractmethod
    def function(self, sizes: AttentionSizes, scale: float) -> Callable:
        """The kernel as a function of q, k, v and maybe a mask, with a gradient."""

    @abstractmethod
    def to_kernel(self, x: Any, sizes: AttentionSizes) -> Any:
        """Queries, keys or values in the order of the kernel."""

    @abstractmethod
    def from_kernel(self, x: Any, like: Any) -> Any:
        """A result of the kernel in the order and shape of `like`."""

    @abstractmethod
    def to_mask(self, mask: Any, seen: Any, sizes: AttentionSizes, q: Any) -> Any:
        """The kernel's mask: from one of `q`'s dimensions, and which queries see a key."""

    @abstractmethod
    def lse_shape(self, sizes: AttentionSizes) -> tuple[int, ...]:
        """The shape of the number that the kernel saves for each query."""


class CudnnKernel(AttentionKernel):
    """cuDNN's flash attention: queries by batch, length, heads and features."""

    def supports(self, sizes: AttentionSizes) -> bool:
        """Return whether cuDNN is here and takes these shapes; JAX knows which."""
        is_odd = sizes.mask is not None and (sizes.queries % 2 or sizes.keys % 2)
        return sizes.dtype in _HALF and not is_odd and _has_cudnn_kernel(self, sizes)

    def function(self, sizes: AttentionSizes, scale: float) -> Callable:
        """The kernel as JAX calls it."""

        def run(q, k, v, *mask):
            added = [tensor for tensor in mask if tensor.dtype != bool]
            seen = [tensor for tensor in mask if tensor.dtype == bool]
            return jax.nn.dot_product_attention(
                q,
                k,
                v,
                bias=added[0] if added else None,
                mask=seen[0] if seen else None,
                scale=scale,
                is_causal=sizes.causal,
                implementation="cudnn",
            )

        return run

    def to_kernel(self, x: Any, sizes: AttentionSizes) -> Any:
        """Heads behind lengths."""
        return x.reshape(sizes.batch, -1, *x.shape[-2:]).transpose(0, 2, 1, 3)

    def from_kernel(self, x: Any, like: Any) -> Any:
        """Heads before lengths."""
        return x.transpose(0, 2, 1, 3).reshape(like.shape)

    def to_mask(self, mask: Any, seen: Any, sizes: AttentionSizes, q: Any) -> Any:
        """A mask of matrices; queries that see no key see all: cuDNN's kernel knows none."""
        mask = mask | ~seen if mask.dtype == bool else jnp.where(seen, mask, 0)
        return _mask_of_heads(mask, sizes, q)

    def lse_shape(self, sizes: AttentionSizes) -> tuple[int, ...]:
        """A number for each sequence, head and query."""
        return (sizes.batch, sizes.heads, sizes.queries)


@functools.lru_cache
def _has_cudnn_kernel(kernel: CudnnKernel, sizes: AttentionSizes) -> bool:
    q, k = (
        jax.ShapeDtypeStruct((sizes.batch, length, heads, sizes.features), sizes.dtype)
        for length, heads in ((sizes.queries, sizes.heads), (sizes.keys, sizes.groups))
    )
    try:
        jax.eval_shape(lambda *arrays: jax.vjp(kernel.function(sizes, 1.0), *arrays)[0], q, k, k)
    except (RuntimeError, ValueError):  # `NotImplementedError` is a `RuntimeError`
        return False
    return True


@functools.cache
def _splash_attention() -> Any:
    """JAX's module, which takes 0.4 s to import and only TPUs need."""
    return importlib.import_module("jax.experimental.pallas.ops.tpu.splash_attention")


class SplashKernel(AttentionKernel):
    """Splash attention on TPUs: all heads of all sequences by length and features.

    A mask of keys, as padding is, becomes segments: keys of another segment than the queries' are
    hidden. Another mask of truth values that all heads share is read block by block, and blocks
    that hide all keys are left out. Masks of single heads would take more memory than blocks of
    scores do.

    Args:
        interpret: run it without a TPU, to try it.
    """

    def __init__(self, interpret: bool = False) -> None:
        self._interpret = interpret

    def supports(self, sizes: AttentionSizes) -> bool:
        """Return whether there are whole blocks, and no mask that is added or of single heads."""
        mask = sizes.mask
        return (
            sizes.dtype in (*_HALF, jnp.float32)
            and (mask is None or not (mask.is_added or mask.heads > 1))
            and sizes.features % 64 == 0
            and sizes.queries % 128 == sizes.keys % 128 == 0
            and _table_size(sizes) <= _MAX_TABLE
        )

    def function(self, sizes: AttentionSizes, scale: float) -> Callable:
        """The kernel for the mask, which skips blocks that no query sees."""
        run = functools.partial(self._run, sizes, scale)
        return jax.vmap(run) if sizes.mask is not None and sizes.mask.is_of_keys else run

    def _run(self, sizes: AttentionSizes, scale: float, q, k, v, *mask):
        kernel, segments = self._kernel(sizes, *mask)
        return kernel(q * jnp.asarray(scale, q.dtype), k, v, segment_ids=segments)

    def _kernel(self, sizes: AttentionSizes, mask: Any = None) -> tuple[Any, Any]:
        """JAX's kernel, and the segments of queries and keys."""
        splash = _splash_attention()
        make = functools.partial(
            splash.make_splash_mha_single_device,
            block_sizes=_splash_blocks(sizes),
            interpret=self._interpret,
        )
        if mask is not None and mask.ndim > 1:
            return _with_shared_masks(make(mask), sizes), None
        lengths = (sizes.queries, sizes.keys)
        seen = splash.CausalMask(lengths) if sizes.causal else splash.FullMask(lengths)
        count = sizes.heads * (sizes.batch if mask is None else 1)
        kernel = make(splash.MultiHeadMask([seen] * count))
        if mask is None:
            return kernel, None
        queries = jnp.ones(sizes.queries, jnp.int32)
        return kernel, splash.SegmentIds(queries, mask.astype(jnp.int32))

    def to_kernel(self, x: Any, sizes: AttentionSizes) -> Any:
        """The heads of all sequences in one dimension; those of one where sequences have masks."""
        if sizes.mask is not None and sizes.mask.is_of_keys:
            return x.reshape(sizes.batch, -1, *x.shape[-2:])
        return x.reshape(-1, *x.shape[-2:])

    def from_kernel(self, x: Any, like: Any) -> Any:
        """The heads of all sequences where they were."""
        return x.reshape(like.shape)

    def to_mask(self, mask: Any, seen: Any, sizes: AttentionSizes, q: Any) -> Any:
        """A mask of each sequence's keys, or matrices, one for all sequences or one for each."""
        del seen
        assert sizes.mask is not None
        if sizes.mask.is_of_keys:
            shape = (*q.shape[: q.ndim - 2 - (2 if sizes.repeats > 1 else 1)], sizes.keys)
            heads = tuple(range(len(shape) - 1, q.ndim - 1))
            return jnp.broadcast_to(mask.squeeze(heads), shape).reshape(sizes.batch, sizes.keys)
        if sizes.causal:
            mask &= jnp.tri(sizes.queries, dtype=bool)
        return _mask_of_heads(mask, sizes, q).reshape(-1, sizes.queries, sizes.keys)

    def lse_shape(self, sizes: AttentionSizes) -> tuple[int, ...]:
        """A number for each head and query."""
        if sizes.mask is not None and sizes.mask.is_of_keys:
            return (sizes.batch, sizes.heads, sizes.queries)
        return (sizes.batch * sizes.heads, sizes.queries)


def _splash_blocks(sizes: AttentionSizes) -> Any:
    rows, columns = _block_lengths(sizes)
    # One kernel for all gradients writes the queries' gradients once for each block of keys.
    is_fused = sizes.keys <= _MAX_FUSED * columns
    return _splash_attention().BlockSizes(
        block_q=rows,
        block_kv=columns,
        block_q_dkv=rows,
        block_kv_dkv=columns,
        block_q_dq=None if is_fused else rows,
        block_kv_dq=None if is_fused else columns,
        use_fused_bwd_kernel=is_fused,
    )


def _block_lengths(sizes: AttentionSizes) -> tuple[int, int]:
    """The largest blocks that divide the sides evenly and fit into a core's memory."""
    is_read = sizes.mask is not None and not sizes.mask.is_of_keys
    limit = 512 if is_read else 1024
    return math.gcd(sizes.queries, limit), math.gcd(sizes.keys, limit)


def _table_size(sizes: AttentionSizes) -> int:
    """Numbers, with those that fill tiles up, in a table that tells which mask a head has."""
    mask = sizes.mask
    if mask is None or mask.is_of_keys:
        return 0
    heads = 1 if mask.batch == 1 else sizes.batch * sizes.heads
    rows, columns = _block_lengths(sizes)
    blocks = (sizes.queries // rows, sizes.keys // columns)
    return heads * math.prod(
        -(-count // tile) * tile for count, tile in zip(blocks, _TILE, strict=True)
    )


def _with_shared_masks(kernel: Any, sizes: AttentionSizes) -> Any:
    """A kernel for the masks of sequences, with tables for all their heads."""

    def of_all_heads(table: Any) -> Any:
        blocks = table.shape[1:]
        table = jnp.broadcast_to(table[:, None], (sizes.batch, sizes.heads, *blocks))
        return table.reshape(-1, *blocks)

    def shared(info: Any) -> Any:
        # The table of a single mask is for all heads.
        is_one = info.data_next.shape[0] == 1
        names = () if is_one else ("data_next", "mask_next", "block_mask")
        tables = {name: of_all_heads(getattr(info, name)) for name in names}
        # JAX makes an array of it, which a traced function cannot read.
        return info._replace(is_dynamic_mask=True, **tables)

    infos, settings = kernel.tree_flatten()
    infos = [None if info is None else shared(info) for info in infos]
    return type(kernel).tree_unflatten(settings, infos)


# --- forward and backward


class _Residuals(NamedTuple):
    """The arrays that `jax.vjp` keeps of a kernel for the backward pass.

    Attributes:
        leaves: the arrays.
        structure: how they make up the function of the backward pass.
        result: position of the result among the leaves.
        lse: position of the logarithms.
        out: the result.
    """

    leaves: list[Any]
    structure: Any
    result: int
    lse: int
    out: Any


def _residuals(
    kernel: AttentionKernel, sizes: AttentionSizes, scale: float, operands: tuple
) -> _Residuals:
    out, vjp_function = jax.vjp(kernel.function(sizes, scale), *operands)
    leaves, structure = jax.tree.flatten(vjp_function)
    lse_shape = kernel.lse_shape(sizes)
    lse = [i for i, x in enumerate(leaves) if x.shape == lse_shape and x.dtype == jnp.float32]
    result = [i for i, x in enumerate(leaves) if x is out]
    if len(result) != 1 or len(lse) != 1:
        raise RuntimeError(
            f"`{type(kernel).__name__}` must keep its result and one number for each query, "
            f"and keeps {leaves}"
        )
    return _Residuals(leaves, structure, result[0], lse[0], out)


@without_x64
def kernel_forward(kernel: AttentionKernel, sizes: AttentionSizes, q, k, v, mask, scale: float):
    """The result, and for each query the logarithm of the sum of exponentials."""
    operands, seen = _kernel_operands(kernel, sizes, q, k, v, mask)
    residuals = _residuals(kernel, sizes, scale, operands)
    out = kernel.from_kernel(residuals.out, q)
    lse = residuals.leaves[residuals.lse].reshape(q.shape[:-1])
    if seen is None:
        return out, lse
    # A query that sees no key gets zeros, or the mean of all values if hidden keys have a weight.
    empty = 0 if sizes.fill == -math.inf else jnp.mean(v, -2, jnp.float32, keepdims=True)
    out = jnp.where(seen, out, empty).astype(q.dtype)
    return out, jnp.where(seen[..., 0], lse, sizes.fill + math.log(sizes.keys))


@without_x64
def kernel_backward(
    kernel: AttentionKernel, sizes: AttentionSizes, g, q, k, v, mask, scale: float, result, lse
):
    """The gradients of queries, keys and values."""
    operands, seen = _kernel_operands(kernel, sizes, q, k, v, mask)
    of_mean = None
    if seen is not None:
        if sizes.fill > -math.inf:
            of_mean = jnp.where(seen, 0, g).sum(-2, keepdims=True, dtype=jnp.float32) / sizes.keys
        g, lse = jnp.where(seen, g, 0).astype(g.dtype), jnp.where(seen[..., 0], lse, _MASKED_LSE)
    # The kernel's forward pass is not run again: its results are replaced by those kept.
    residuals = _residuals(kernel, sizes, scale, operands)
    residuals.leaves[residuals.result] = kernel.to_kernel(result, sizes)
    residuals.leaves[residuals.lse] = lse.reshape(kernel.lse_shape(sizes))
    grads = jax.tree.unflatten(residuals.structure, residuals.leaves)(kernel.to_kernel(g, sizes))
    dq, dk, dv = map(kernel.from_kernel, grads[:3], (q, k, v))
    return dq, dk, dv if of_mean is None else (dv + of_mean).astype(dv.dtype)


def _kernel_operands(kernel: AttentionKernel, sizes: AttentionSizes, q, k, v, mask):
    """Operands in the kernel's order; and which queries see a key, None: all."""
    tensors = tuple(kernel.to_kernel(tensor, sizes) for tensor in (q, k, v))
    if mask is None:
        return tensors, None
    mask = mask.reshape((1,) * (q.ndim - mask.ndim) + mask.shape)
    seen = _seen(mask, sizes)
    return (*tensors, kernel.to_mask(mask, seen, sizes, q)), seen


def _seen(mask, sizes: AttentionSizes):
    """Truth values of queries: they see a key."""
    seen = mask if mask.dtype == bool else mask > -jnp.inf
    if sizes.causal:
        seen &= jnp.tri(sizes.queries, dtype=bool)
    return seen.any(-1, keepdims=True)


def _mask_of_heads(mask, sizes: AttentionSizes, q):
    """A mask by sequences, heads, queries and keys; one sequence or head stands for all."""
    batch, heads = _batch_and_heads(mask.shape, q, sizes.repeats)
    mask = jnp.broadcast_to(mask, (*batch, *heads, sizes.queries, sizes.keys))
    return mask.reshape(math.prod(batch), math.prod(heads), sizes.queries, sizes.keys)
