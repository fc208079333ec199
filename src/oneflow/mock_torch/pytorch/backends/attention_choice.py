"""Names of ``torch.backends.cuda`` by which programs ask for a kernel of attention."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow import Tensor


@dataclass
class SDPAParams:
    """The arguments of an attention whose kernel is asked for.

    Attributes:
        query: the queries, of shape (..., length, features).
        key: the keys.
        value: the values.
        attn_mask: the mask, or None.
        dropout: the probability with which weights are dropped.
        is_causal: whether queries see no later keys.
        enable_gqa: whether several heads of queries share keys and values.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    attn_mask: Tensor | None
    dropout: float
    is_causal: bool
    enable_gqa: bool


def can_use_flash_attention(params: SDPAParams, debug: bool = False) -> bool:
    """Return False: this is a kernel of PyTorch's; which one is run is chosen when XLA compiles.

    Args:
        params: the arguments of the attention.
        debug: accepted for PyTorch's sake.
    """
    return False


can_use_efficient_attention = can_use_cudnn_attention = can_use_flash_attention


def is_ck_sdpa_available() -> bool:
    """Return False: AMD's kernels of attention are not here."""
    return False


def preferred_rocm_fa_library(backend: str | None = None) -> str:
    """Return ``"default"``: XLA chooses the kernel.

    Args:
        backend: accepted for PyTorch's sake.
    """
    return "default"


__all__ = [
    "SDPAParams",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "is_ck_sdpa_available",
    "preferred_rocm_fa_library",
]
