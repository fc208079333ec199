"""Attention as one builtin."""

from __future__ import annotations

from oneflow.functional.nn.attention import scaled_dot_product_attention
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


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
        key_hidden_slice_start: of the keys.
        key_hidden_slice_end: of the keys.
        value_hidden_slice_start: of the values.
        value_hidden_slice_end: of the values.

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
    q = _heads_of(query, num_heads, query_hidden_slice_start, query_hidden_slice_end)
    k = _heads_of(key, num_heads, key_hidden_slice_start, key_hidden_slice_end)
    v = _heads_of(value, num_heads, value_hidden_slice_start, value_hidden_slice_end)
    output = scaled_dot_product_attention(q, k, v, is_causal=causal)
    return output.transpose(1, 2).flatten(2)


def _heads_of(x: Tensor, count: int, start: int, end: int) -> Tensor:
    """Return a slice of features as ``(batch, heads, length, size of a head)``."""
    features = x[..., start : x.shape[-1] if end == -1 else end]
    if features.shape[-1] % count:
        raise RuntimeError(
            f"fused_multi_head_attention_inference(): {features.shape[-1]} features are not "
            f"divisible by {count} heads"
        )
    return features.unflatten(-1, (count, -1)).transpose(1, 2)
