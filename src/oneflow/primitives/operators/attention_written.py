"""Attention with the values of its written-out form where numbers are not finite.

`attention` gives zeros to a query that sees no key, and does not read values that a causal mask
hides. Written out, ``softmax`` makes NaN of a row of ``-inf``, and ``0 * NaN`` is NaN.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp


def is_masked(lse: Any) -> Any:
    """The queries whose scores are all ``-inf``, as a column."""
    return jnp.isneginf(lse)[..., None]


def written_result(result: Any, lse: Any, values: Any, causal: bool) -> tuple[Any, Any]:
    """The result with NaN for queries that see no key, and where hidden values are not finite."""
    if causal:
        result = result + jnp.sum(values * 0, -2, keepdims=True)
    return jnp.where(is_masked(lse), jnp.nan, result).astype(result.dtype), lse


def written_gradients(gradients: tuple, masked: Any, mask: Any, causal: bool, first: Any) -> tuple:
    """The gradients of queries, keys and values when weights of `masked` queries are NaN.

    A mask of truth values is a choice, which stops the gradients of the scores that it hides, and
    so is the causal one.

    Args:
        gradients: with zeros for queries that see no key.
        masked: these queries.
        mask: the mask, or None.
        causal: whether a query sees the keys up to its own position only.
        first: the position of the first query.
    """
    dq, dk, dv, *others = gradients
    any_masked = jnp.any(masked, -2, keepdims=True)
    dv = jnp.where(any_masked, jnp.nan, dv).astype(dv.dtype)
    if mask is None or mask.dtype != bool:
        dq = jnp.where(masked, jnp.nan, dq).astype(dq.dtype)
        if causal:
            rows, keys = jnp.arange(dq.shape[-2])[:, None] + first, jnp.arange(dk.shape[-2])
            any_masked = jnp.any(masked & (keys <= rows), -2)[..., None]
        dk = jnp.where(any_masked, jnp.nan, dk).astype(dk.dtype)
    return (dq, dk, dv, *others)
