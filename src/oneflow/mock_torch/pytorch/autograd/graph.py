"""Names that ``torch.autograd.graph`` has beside `oneflow.autograd.graph`."""

from __future__ import annotations

from typing import NoReturn


def region_activation_memory_budget(budget: float) -> NoReturn:
    """Refuse to plan what a compiled region keeps, as PyTorch does outside of one.

    Args:
        budget: the part, from 0 to 1.

    Raises:
        TypeError: `budget` is no number.
        ValueError: it is not between 0 and 1.
        RuntimeError: else; ``torch.utils.checkpoint`` computes values again.
    """
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"`budget` must be a number, got {type(budget).__name__}")
    if not 0 <= budget <= 1:
        raise ValueError(f"`budget` must be in [0, 1], got {budget}")
    raise RuntimeError(
        "`torch.autograd.graph.region_activation_memory_budget`: functions run as Python, and "
        "nothing plans what a region keeps; `torch.utils.checkpoint` computes it again"
    )


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Warn of nothing: a device has one stream, on which gradients are summed, too."""


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Override nothing: a device has one stream."""


__all__ = [
    "region_activation_memory_budget",
    "set_override_stale_capture_stream",
    "set_warn_on_accumulate_grad_stream_mismatch",
]
