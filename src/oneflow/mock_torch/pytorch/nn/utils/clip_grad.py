"""Names of ``torch.nn.utils.clip_grad``."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow import Tensor
from oneflow.nn.utils import clip_grad_norm_, clip_grad_value_


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Clip gradients: the earlier name of `clip_grad_norm_`."""
    warnings.warn(
        "`clip_grad_norm` is deprecated; use `clip_grad_norm_`", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(*args, **kwargs)


__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_"]
