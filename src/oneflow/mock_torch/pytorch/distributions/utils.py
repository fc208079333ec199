"""Names that ``torch.distributions.utils`` has beside `oneflow.distributions.utils`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import oneflow as flow


def _standard_normal(shape: Sequence[int], dtype: Any, device: Any) -> flow.Tensor:
    """Return draws of the standard normal distribution."""
    return flow.randn(*shape, dtype=dtype, device=device)


__all__ = ["_standard_normal"]
