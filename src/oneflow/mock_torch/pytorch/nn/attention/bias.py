"""Masks of causal attention whose queries and keys differ in number, as tensors of a class."""

from __future__ import annotations

import warnings
from enum import IntEnum, auto

import oneflow as flow
from oneflow.tensor.subclasses import disabled_torch_function
from oneflow.tensor.tensor import Tensor


class CausalVariant(IntEnum):
    """The corner from which the diagonal of a causal mask begins."""

    UPPER_LEFT = auto()
    LOWER_RIGHT = auto()


class CausalBias(Tensor):
    """A mask for `attn_mask` of `scaled_dot_product_attention`: true where a query sees a key.

    Args:
        variant: where the diagonal begins, or ends.
        seq_len_q: the number of queries.
        seq_len_kv: the number of keys.
    """

    __torch_function__ = disabled_torch_function

    variant: CausalVariant
    seq_len_q: int
    seq_len_kv: int

    def __new__(cls, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> CausalBias:
        """Make the mask as a tensor, and keep what describes it."""
        is_left = variant == CausalVariant.UPPER_LEFT
        if not is_left and seq_len_q > seq_len_kv:
            warnings.warn(
                "Lower right causal bias will produce NaNs in the output when seq_len_q > "
                f"seq_len_kv, got {seq_len_q} and {seq_len_kv}",
                stacklevel=3,
            )
        first = 0 if is_left else seq_len_kv - seq_len_q
        mask = flow.ones(seq_len_q, seq_len_kv, dtype=flow.bool).tril(first)
        bias = mask.as_subclass(cls)
        bias.variant, bias.seq_len_q, bias.seq_len_kv = variant, seq_len_q, seq_len_kv
        return bias

    def __init__(self, variant: CausalVariant, seq_len_q: int, seq_len_kv: int) -> None:
        """Attributes are set when the tensor is made."""

    def __repr__(self) -> str:  # pyright: ignore[reportIncompatibleMethodOverride]
        return repr(self.as_subclass(Tensor))


def causal_upper_left(*size: int) -> CausalBias:
    """Return the mask in which query `i` sees keys 0 to `i`.

    Args:
        size: the numbers of queries and of keys.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.nn.attention.bias import causal_upper_left
        >>> causal_upper_left(2, 3).int().tolist()
        [[1, 0, 0], [1, 1, 0]]
    """
    _require_two(size)
    return CausalBias(CausalVariant.UPPER_LEFT, *size)


def causal_lower_right(*size: int) -> CausalBias:
    """Return the mask in which the last query sees all keys, and each before it one less.

    Args:
        size: the numbers of queries and of keys.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.nn.attention.bias import causal_lower_right
        >>> causal_lower_right(2, 3).int().tolist()
        [[1, 1, 0], [1, 1, 1]]
    """
    _require_two(size)
    return CausalBias(CausalVariant.LOWER_RIGHT, *size)


def _require_two(size: tuple[int, ...]) -> None:
    if len(size) != 2:
        raise AssertionError(f"`size` must be the numbers of queries and keys, got {size}")


__all__ = ["CausalBias", "CausalVariant", "causal_lower_right", "causal_upper_left"]
