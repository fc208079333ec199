"""Scaled dot-product attention."""

from __future__ import annotations

import math

from oneflow.base.dtype import Category
from oneflow.functional.elementwise.arithmetic import binary
from oneflow.functional.linalg.matmul import is_autocast_pair
from oneflow.functional.registry import function
from oneflow.primitives.operators.attention import attention
from oneflow.primitives.operators.elementwise import mul
from oneflow.random.generator import draw
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float
from oneflow.tensor.tensor import Tensor


def _check_operands(query: Tensor, key: Tensor, value: Tensor) -> None:
    if not query.dtype.is_floating_point:
        raise RuntimeError(
            "scaled_dot_product_attention: Expected `query` to have a floating point dtype, got "
            f"{query.dtype}"
        )
    for name, operand in (("query", query), ("key", key), ("value", value)):
        if operand.ndim < 2:
            raise RuntimeError(
                f"scaled_dot_product_attention: Expected `{name}` to have at least 2 dimensions, "
                f"got {operand.ndim}"
            )
        if operand.dtype is not query.dtype and not is_autocast_pair(operand, query):
            raise RuntimeError(
                "Expected query, key, and value to have the same dtype, but got query.dtype: "
                f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
            )


def _check_mask(mask: Tensor | None, query: Tensor, is_causal: bool) -> None:
    if mask is None:
        return
    if is_causal:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if mask.dtype.category is not Category.BOOL and not mask.dtype.is_floating_point:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or a floating point type matching the query's, "
            f"but got {mask.dtype} and {query.dtype}"
        )


def _check_heads(query: Tensor, key: Tensor, value: Tensor) -> None:
    """Raise unless the number of query heads is a multiple of the number of key heads.

    Raises:
        RuntimeError: there are no heads, or their numbers do not fit.
    """
    for name, operand in (("query", query), ("key", key), ("value", value)):
        if operand.ndim < 3:
            raise RuntimeError(
                f"scaled_dot_product_attention: with `enable_gqa` `{name}` must have heads (3 "
                f"dimensions or more), got {operand.ndim} dimensions"
            )
    count = query.shape[-3]
    for heads in (key.shape[-3], value.shape[-3]):
        if heads != count and (not heads or count % heads):
            raise RuntimeError(
                f"Number of heads in key and value must divide the number of heads in query, got "
                f"{heads} and {count}"
            )


def _can_be_grouped(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Return whether the primitive takes fewer heads of keys and values than of queries."""
    shapes = [operand.spec.shape for operand in (query, key, value)]
    queries, keys, values = [shape[:-3] for shape in shapes]
    same_batches = queries == keys == values
    return same_batches and key.shape[-3] == value.shape[-3] and 0 not in sum(shapes, ())


def _repeated(heads: Tensor, count: int) -> Tensor:
    """Every head (third last dimension) so often that there are `count`."""
    num_heads = heads.shape[-3]
    return heads if num_heads == count else heads.repeat_interleave(count // num_heads, dim=-3)


@function(method=False, namespace="nn.functional")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale * query @ key.T + attn_mask) @ value``.

    The matrix of weights is never kept, and never computed as a whole where it is large.

    Args:
        query: shape ``(*, L, E)``.
        key: shape ``(*, S, E)``.
        value: shape ``(*, S, F)``.
        attn_mask: broadcasts to ``(*, L, S)``: bool, true where a key may be seen, or a float that
            is added to the scores.
        dropout_p: probability of a weight to be dropped, whether training or not.
        is_causal: a query sees the keys up to its own position.
        scale: factor of the scores; default ``1 / sqrt(E)``.
        enable_gqa: `key` and `value` may have fewer heads (dimension -3), each serving several.

    Returns:
        Tensor of shape ``(*, L, F)``.

    Raises:
        RuntimeError: dtypes or shapes do not fit, both `attn_mask` and `is_causal` are given, or
            `dropout_p` is no probability.

    Example:
        >>> import oneflow as flow
        >>> q, k, v = flow.ones(2, 4, 8), flow.ones(2, 6, 8), flow.ones(2, 6, 3)
        >>> flow.nn.functional.scaled_dot_product_attention(q, k, v).shape
        oneflow.Size([2, 4, 3])
    """
    _check_operands(query, key, value)
    _check_mask(attn_mask, query, is_causal)
    grouped = False
    if enable_gqa:
        _check_heads(query, key, value)
        grouped = key.shape[-3] != query.shape[-3] and _can_be_grouped(query, key, value)
        if not grouped:
            key, value = (_repeated(operand, query.shape[-3]) for operand in (key, value))
    mask: tuple[Tensor, ...] = ()
    if attn_mask is not None:
        mask = (attn_mask if attn_mask.ndim > 1 else attn_mask.reshape((1, -1)),)
    default_scale = 1.0 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    if scale is None:
        scale = default_scale
    elif scale != default_scale:
        # One that changes from step to step makes no new programs.
        query, scale = binary(mul, query, scale), 1.0
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"`dropout_p` must be between 0 and 1, got {dropout_p}")
    has_dropout = dropout_p > 0
    seed, stream = draw(None) if has_dropout else (0, 0)
    return call(
        attention,
        query,
        key,
        value,
        as_float(dropout_p, "dropout_p"),
        seed,
        stream,
        *mask,
        scale=as_float(scale, "scale"),
        causal=bool(is_causal),
        dropout=has_dropout,
        mask_gradient=bool(mask) and mask[0].requires_grad,
        grouped=grouped,
    )[0]
