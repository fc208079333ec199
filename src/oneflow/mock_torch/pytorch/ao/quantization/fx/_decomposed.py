"""Names of ``torch.ao.quantization.fx._decomposed``."""

from __future__ import annotations

from oneflow import Tensor


def _per_token_quant_qparam_dim_check(input: Tensor, scales: Tensor, zero_points: Tensor) -> None:
    """Check that each row of the last dimension has a scale and a zero point.

    Raises:
        AssertionError: their numbers differ.
    """
    count = input.shape[:-1].numel()
    for name, numbers in (("scales", scales), ("zero_points", zero_points)):
        if numbers.numel() != count:
            raise AssertionError(f"num_tokens: {count} {name}: {numbers.size()}")


__all__ = ["_per_token_quant_qparam_dim_check"]
