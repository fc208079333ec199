"""Attention as one builtin."""

from __future__ import annotations

from oneflow.builtins.layouts import check_layout, heads_of, is_packed, to_layout
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.index.search import searchsorted
from oneflow.functional.nn.attention import scaled_dot_product_attention
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.tensor.tensor import Tensor

_MASKS = ("none", "causal_from_top_left", "causal_from_bottom_right")


@function(method=False, namespace="_C")
def fused_multi_head_attention_inference(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    num_heads: int,
    causal: bool = False,
    query_hidden_slice_start: int = 0,
    query_hidden_slice_end: int = -1,
    key_hidden_slice_start: int = 0,
    key_hidden_slice_end: int = -1,
    value_hidden_slice_start: int = 0,
    value_hidden_slice_end: int = -1,
) -> Tensor:
    """Attention of several heads that lie side by side in the last dimension.

    Args:
        query: shape ``(batch, length, features)``, or the product of several projections, of which
            the slice from `query_hidden_slice_start` to `query_hidden_slice_end` is the query.
        key: the same for keys; it has a length of its own.
        value: the same for values.
        num_heads: divides the features of each.
        causal: whether a position sees only those up to its own.
        query_hidden_slice_start: first feature of the query.
        query_hidden_slice_end: the one behind its last; -1: all.
        key_hidden_slice_start: the first feature of the keys.
        key_hidden_slice_end: the end of the features of the keys.
        value_hidden_slice_start: the first feature of the values.
        value_hidden_slice_end: the end of the features of the values.

    Returns:
        Tensor of shape ``(batch, length of query, features of value)``.

    Raises:
        RuntimeError: the features are no multiple of `num_heads`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(1, 3, 4)
        >>> flow._C.fused_multi_head_attention_inference(x, x, x, 2, causal=True).shape
        oneflow.Size([1, 3, 4])
    """
    slices = {
        "query": _features(query, query_hidden_slice_start, query_hidden_slice_end),
        "key": _features(key, key_hidden_slice_start, key_hidden_slice_end),
        "value": _features(value, value_hidden_slice_start, value_hidden_slice_end),
    }
    q, k, v = (heads_of(name, x, "BM(HK)", heads=num_heads) for name, x in slices.items())
    output = scaled_dot_product_attention(q, k, v, is_causal=causal)
    return to_layout(output, "BM(HK)")


def _features(x: Tensor, start: int, end: int) -> Tensor:
    """Return a slice of the last dimension; an end of -1 is the dimension's end."""
    return x[..., start : x.shape[-1] if end == -1 else end]


@function(method=False, namespace="_C")
def fused_multi_head_attention_inference_v2(
    *,
    query: Tensor,
    query_layout: str,
    query_head_size: int | None = None,
    query_seq_start: Tensor | None = None,
    query_max_seq_len: int | None = None,
    key: Tensor | None = None,
    key_layout: str | None = None,
    key_seq_start: Tensor | None = None,
    key_seq_len: Tensor | None = None,
    key_max_seq_len: int | None = None,
    value: Tensor | None = None,
    value_layout: str | None = None,
    attn_bias: Tensor | None = None,
    output_layout: str = "BM(HK)",
    scale: float | None = None,
    causal: bool | None = None,
    attn_mask_type: str | None = None,
    causal_diagonal_offset: int = 0,
) -> Tensor:
    """Attention of several heads, whose operands may have their dimensions in any of many orders.

    A layout says which: B is the batch, M the position, H the head, K the feature of a head, and
    brackets make one dimension of several. In ``BM(H3K)`` each head has its query, key and value
    side by side, in ``BM(H2K)`` its key and value. In ``(BM)HK`` sequences of any lengths lie one
    behind the other.

    Args:
        query: floating point tensor.
        query_layout: BHMK, BMHK, MBHK, BM(HK), MB(HK), BM(H3K), MB(H3K), (BM)HK, (BM)(HK) or
            (BM)(H3K).
        query_head_size: K, needed where H and K are one dimension.
        query_seq_start: where packed sequences begin, and behind them the end of the last.
        query_max_seq_len: the greatest length of a packed sequence; it changes no result.
        key: the keys; None if they lie beside the queries.
        key_layout: their layout, also one with H2K.
        key_seq_start: where they begin.
        key_seq_len: how many of the keys of each packed sequence are there; default: all.
        key_max_seq_len: the same as for the queries.
        value: the values; None if they lie beside the keys.
        value_layout: their layout.
        attn_bias: added to the scores, of shape ``(M,)`` to ``(B, H, M, M)``; what lies behind the
            last query and key is left out. Packed sequences count as one batch of all positions.
        output_layout: BM(HK), MB(HK) or (BM)(HK).
        scale: factor of the scores; default ``1 / sqrt(K)``.
        causal: short for the mask ``"causal_from_top_left"``.
        attn_mask_type: ``"none"``; ``"causal_from_top_left"``: the query at i sees the keys up to
            i; ``"causal_from_bottom_right"``: the last query sees all.
        causal_diagonal_offset: how many keys more it sees.

    Raises:
        RuntimeError: layouts, sizes or masks do not fit.

    Example:
        >>> import oneflow as flow
        >>> qkv = flow.ones(2, 5, 4 * 3 * 8)
        >>> flow._C.fused_multi_head_attention_inference_v2(
        ...     query=qkv, query_layout="BM(H3K)", query_head_size=8, causal=True
        ... ).shape
        oneflow.Size([2, 5, 32])
    """
    mask_type, offset = _mask_type(causal, attn_mask_type), causal_diagonal_offset
    if offset < 0:
        raise RuntimeError(f"`causal_diagonal_offset` must not be negative, got {offset}")
    key, key_layout = (query, query_layout) if key is None else (key, key_layout)
    value, value_layout = (key, key_layout) if value is None else (value, value_layout)
    q = heads_of("query", query, query_layout, head_size=query_head_size)
    k = heads_of("key", key, key_layout, part=1, heads=q.shape[1], head_size=q.shape[3])
    v = heads_of("value", value, value_layout, part=2, heads=q.shape[1])
    layouts = ("(BM)(HK)",) if is_packed(query_layout) else ("BM(HK)", "MB(HK)")
    check_layout("output", output_layout, layouts)
    if is_packed(query_layout):
        if attn_bias is not None or query_seq_start is None or key_seq_start is None:
            raise RuntimeError(
                f"the layout {query_layout} of packed sequences needs `query_seq_start` and "
                "`key_seq_start`, and takes no `attn_bias`; pad the sequences to have one"
            )
        mask = _packed_mask(q, k, query_seq_start, key_seq_start, key_seq_len, mask_type, offset)
    elif (query_seq_start, key_seq_start, key_seq_len) != (None, None, None):
        raise RuntimeError(
            "`query_seq_start`, `key_seq_start` and `key_seq_len` are those of packed sequences, "
            f"in layouts with (BM), but `query_layout` is {query_layout}"
        )
    else:
        shift = k.shape[2] - q.shape[2] if mask_type == _MASKS[2] else 0
        mask = _causal_mask(q, k, offset + shift) if mask_type != _MASKS[0] else None
    if attn_bias is not None:
        mask = _with_bias(mask, attn_bias, q.shape[2], k.shape[2])
    output = scaled_dot_product_attention(q, k, v, mask, scale=scale)
    return to_layout(output, output_layout)


def _mask_type(causal: bool | None, mask_type: str | None) -> str:
    if mask_type is None:
        return _MASKS[1] if causal else _MASKS[0]
    if mask_type not in _MASKS or causal is not None:
        raise RuntimeError(
            f"`attn_mask_type` must be one of {', '.join(_MASKS)}, and `causal` must not be given "
            f"beside it; got {mask_type!r} and {causal}"
        )
    return mask_type


def _causal_mask(query: Tensor, key: Tensor, offset: int) -> Tensor:
    """Return a mask with which a query sees the keys up to its position plus `offset`."""
    queries, keys = (arange(x.shape[2], device=x.device) for x in (query, key))
    return keys <= queries[:, None] + offset


def _with_bias(mask: Tensor | None, bias: Tensor, queries: int, keys: int) -> Tensor:
    """Return the summand of scores, without what lies behind the last query and key."""
    bias = bias[..., :keys] if bias.ndim == 1 else bias[..., :queries, :keys]
    return bias if mask is None else bias.masked_fill(~mask, float("-inf"))


def _packed_mask(
    query: Tensor,
    key: Tensor,
    query_start: Tensor,
    key_start: Tensor,
    key_lengths: Tensor | None,
    mask_type: str,
    offset: int,
) -> Tensor:
    """Return a mask with which queries see the keys of their own sequence, of packed ones."""
    sequence, position = _sequences(query, query_start)
    key_sequence, key_position = _sequences(key, key_start)
    lengths = key_start.diff() if key_lengths is None else key_lengths
    mask = (sequence[:, None] == key_sequence) & (key_position < lengths[key_sequence])
    if mask_type == _MASKS[0]:
        return mask
    if mask_type == _MASKS[2]:
        position = position + (lengths - query_start.diff())[sequence]
    return mask & (key_position <= position[:, None] + offset)


def _sequences(x: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
    """The number of the sequence of each position, and the position in it."""
    positions = arange(x.shape[2], device=x.device)
    sequence = searchsorted(starts[1:].contiguous(), positions, right=True)
    return sequence, positions - starts[sequence]


@function(method=False, namespace="_C")
def fused_attention_concat_past_key_value(
    *,
    past_key: Tensor | None = None,
    past_key_layout: str,
    past_value: Tensor | None = None,
    past_value_layout: str,
    key: Tensor,
    key_layout: str,
    value: Tensor,
    value_layout: str,
    key_head_size: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Keys and values, appended to the earlier positions' keys and values, in these layouts.

    Args:
        past_key: earlier keys; None if there are none.
        past_key_layout: where they have their dimensions: see
            `fused_multi_head_attention_inference_v2`.
        past_value: earlier values.
        past_value_layout: their layout.
        key: the keys.
        key_layout: their layout.
        value: the values, of as many heads with as many features.
        value_layout: their layout.
        key_head_size: the number of features of a head, needed where H and K are one dimension.

    Raises:
        RuntimeError: layouts or sizes do not fit, or only one of the earlier two is given.

    Example:
        >>> import oneflow as flow
        >>> past, x = flow.zeros(2, 3, 4, 8), flow.ones(2, 1, 4, 8)
        >>> keys, values = flow._C.fused_attention_concat_past_key_value(
        ...     past_key=past, past_key_layout="BMHK", past_value=past, past_value_layout="BMHK",
        ...     key=x, key_layout="BMHK", value=x, value_layout="BMHK",
        ... )
        >>> keys.shape
        oneflow.Size([2, 4, 4, 8])
    """
    if (past_key is None) is not (past_value is None):
        raise RuntimeError("`past_key` and `past_value` must both be given, or neither")
    k = heads_of("key", key, key_layout, part=1, head_size=key_head_size)
    sizes = {"heads": k.shape[1], "head_size": k.shape[3]}
    v = heads_of("value", value, value_layout, part=2, **sizes)
    if past_key is not None and past_value is not None:
        past = heads_of("past_key", past_key, past_key_layout, part=1, **sizes)
        k = cat([past, k], dim=2)
        past = heads_of("past_value", past_value, past_value_layout, part=2, **sizes)
        v = cat([past, v], dim=2)
    return to_layout(k, past_key_layout), to_layout(v, past_value_layout)


@function(method=False, namespace="_C")
def fused_codegeex_qkv_reshape(
    query: Tensor, key: Tensor, value: Tensor, num_attention_heads: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Tensors with their last dimension as heads and features of a head.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(3, 2, 8)
        >>> flow._C.fused_codegeex_qkv_reshape(x, x, x, 4)[0].shape
        oneflow.Size([3, 2, 4, 2])
    """
    sizes = (num_attention_heads, -1)
    return query.unflatten(-1, sizes), key.unflatten(-1, sizes), value.unflatten(-1, sizes)
