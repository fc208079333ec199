"""Attention between the components of nested tensors."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.creation.from_data import tensor as make_tensor
from oneflow.functional.nn.attention import scaled_dot_product_attention as attention_of_one_size
from oneflow.nested.operators import unsupported
from oneflow.nested.padding import to_padded_tensor, unpadded
from oneflow.nested.tensor import NestedTensor, nested
from oneflow.tensor.tensor import Tensor


def scaled_dot_product_attention(
    function: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    **options: Any,
) -> NestedTensor:
    """Attention of each component's queries to its own keys: all at once, the rest masked.

    Raises:
        RuntimeError: not all operands are nested, or a mask is given.
    """
    if not all(isinstance(operand, NestedTensor) for operand in (query, key, value)):
        raise unsupported(function.__name__, "query, key and value must all be nested")
    if attn_mask is not None:
        raise unsupported(function.__name__, "`attn_mask` must be None")
    mask = _mask(query, key, is_causal)
    queries, keys, values = (to_padded_tensor(operand, 0.0) for operand in (query, key, value))
    result = attention_of_one_size(queries, keys, values, mask, dropout_p, **options)
    width = value._parts.shapes[0][-1]
    shapes = tuple((*shape[:-1], width) for shape in query._parts.shapes)
    parts = replace(query._parts, shapes=shapes)
    return nested(replace(parts, values=unpadded(result, parts)))


def _mask(query: NestedTensor, key: NestedTensor, is_causal: bool) -> Tensor:
    """The keys that the queries of each component see, as a mask.

    A component without keys sees zeros in their place, so that its gradients are numbers.
    """
    count = max(shape[-2] for shape in key._parts.shapes)
    lengths = [shape[-2] or count for shape in key._parts.shapes]
    keys = arange(count, device=key.device)
    mask = keys < make_tensor(lengths, device=key.device).reshape(-1, *[1] * (key.ndim - 1))
    if is_causal:
        queries = arange(max(shape[-2] for shape in query._parts.shapes), device=key.device)
        mask = mask & (keys <= queries.unsqueeze(-1))
    return mask
