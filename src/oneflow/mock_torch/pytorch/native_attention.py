"""Attention with its projections in one call, by PyTorch's inner names."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import cast

import oneflow as flow
from oneflow.nested.padding import to_padded_tensor, unpadded
from oneflow.nested.parts import NestedParts
from oneflow.nested.tensor import NestedTensor, nested
from oneflow.nn import functional
from oneflow.tensor.tensor import Tensor

# Kinds of masks: the numbers of `mask_type`.
_SOURCE_MASK, _KEY_PADDING_MASK = 0, 1


def _transform_bias_rescale_qkv(
    qkv: Tensor, qkv_bias: Tensor, num_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Add a bias to joint projections, divide them among heads, and scale the queries.

    Args:
        qkv: queries, keys and values beside each other: ``[batch, length, 3 * width]``. Shorter
            elements of a nested tensor are first filled up with zeros.
        qkv_bias: ``[3 * width]``.
        num_heads: the number of heads.

    Returns:
        Queries divided by the square root of a head's width, keys, and values, each
        ``[batch, heads, length, width / heads]``.

    Raises:
        RuntimeError: the heads do not divide the width.
    """
    width = qkv_bias.shape[0] // 3
    _check_heads(width, num_heads)
    if isinstance(qkv, NestedTensor):
        qkv = to_padded_tensor(qkv, 0.0)
    elif qkv.ndim != 3:
        raise IndexError(f"expected 3-D `qkv`, got a tensor of {qkv.ndim} dimensions")
    qkv = qkv + qkv_bias
    query, key, value = (_of_heads(part, num_heads) for part in qkv.split(width, -1))
    return query / math.sqrt(width // num_heads), key, value


def _check_heads(width: int, num_heads: int) -> None:
    if width % num_heads:
        raise RuntimeError(f"`num_heads` must divide the width {width}, got {num_heads}")


def _of_heads(x: Tensor, num_heads: int) -> Tensor:
    """The part of each head, heads before the length."""
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)


def _native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention with the projections before and behind it.

    Args:
        query: ``[batch, length, embed_dim]``, or nested.
        key: a tensor of the same shape.
        value: a tensor of the same shape.
        embed_dim: the width.
        num_head: the number of heads.
        qkv_weight: the weights of the three projections, one below the other.
        qkv_bias: their biases.
        proj_weight: the weight of the last projection.
        proj_bias: its bias.
        mask: True for what nobody attends to.
        need_weights: return the weights of attention.
        average_attn_weights: return their mean over the heads.
        mask_type: what `mask` is: 0 ``[length, length]``; 1 ``[batch, length]``, of keys; 2 of
            the weights' own shape.

    Returns:
        The result, nested if the operands are, and the weights or None.

    Raises:
        RuntimeError: shapes do not fit.
    """
    _check_heads(embed_dim, num_head)
    _check_operands(query, key, value)
    parts = padding = None
    if isinstance(query, NestedTensor):
        if mask is not None:
            raise RuntimeError("`mask` must be None for nested tensors, whose lengths are known")
        parts = query._parts
        query, key, value = (
            to_padded_tensor(cast(NestedTensor, x), 0.0) for x in (query, key, value)
        )
        padding = _padding_mask(parts, query)
        mask = padding[:, None, None]
    elif mask is not None:
        mask = _broadcast_mask(mask.bool(), mask_type, query)
    projections = zip((query, key, value), qkv_weight.chunk(3), qkv_bias.chunk(3), strict=True)
    queries, keys, values = (
        _of_heads(functional.linear(x, weight, bias), num_head) for x, weight, bias in projections
    )
    scores = queries / math.sqrt(embed_dim // num_head) @ keys.transpose(-2, -1)
    weights = (scores if mask is None else scores.masked_fill(mask, -math.inf)).softmax(-1)
    joined = (weights @ values).transpose(1, 2).flatten(2)
    result = functional.linear(joined, proj_weight, proj_bias)
    if parts is not None and padding is not None:
        result = nested(replace(parts, values=unpadded(result, parts)))
        weights = weights.masked_fill(padding[:, None, :, None], 0)
    if not need_weights:
        return result, None
    return result, weights.mean(1) if average_attn_weights else weights


def _check_operands(query: Tensor, key: Tensor, value: Tensor) -> None:
    if query.ndim != 3:
        raise RuntimeError(f"expected 3-D `query`, got {query.ndim}-D tensor")
    operands = query, key, value
    is_nested = [isinstance(x, NestedTensor) for x in operands]
    if len(set(is_nested)) > 1:
        raise RuntimeError("`query`, `key` and `value` must all be nested, or none of them")
    shapes = [x._parts.shapes if isinstance(x, NestedTensor) else x.shape for x in operands]
    if shapes[0] != shapes[1] or shapes[0] != shapes[2]:
        raise RuntimeError("expected `query`/`key`/`value` shapes to match")


def _padding_mask(parts: NestedParts, padded: Tensor) -> Tensor:
    """True for the places of padding: ``[batch, length]``."""
    lengths = flow.tensor([shape[0] for shape in parts.shapes], device=padded.device)
    return flow.arange(padded.shape[1], device=padded.device) >= lengths.unsqueeze(-1)


def _broadcast_mask(mask: Tensor, mask_type: int | None, query: Tensor) -> Tensor:
    """A mask that is broadcast to ``[batch, heads, length, length]``."""
    if mask_type is None:
        raise RuntimeError("Mask Type should be defined")
    batch, length = query.shape[:2]
    shapes = {_SOURCE_MASK: (length, length), _KEY_PADDING_MASK: (batch, length)}
    shape = shapes.get(mask_type)
    if shape is not None and tuple(mask.shape) != shape:
        raise RuntimeError(
            f"`mask` of `mask_type` {mask_type} must have shape {shape}, got {tuple(mask.shape)}"
        )
    return mask[:, None, None] if mask_type == _KEY_PADDING_MASK else mask
