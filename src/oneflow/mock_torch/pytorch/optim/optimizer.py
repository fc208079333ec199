"""Names that ``torch.optim.optimizer`` has beside `oneflow.optim.optimizer`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from oneflow.autograd import no_grad
from oneflow.mock_torch.pytorch.utils._foreach_utils import (
    _get_foreach_kernels_supported_devices as _get_capturable_supported_devices,
)
from oneflow.optim.groups import ParamsT, required
from oneflow.optim.hooks import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from oneflow.tensor.tensor import Tensor

Step = TypeVar("Step", bound=Callable[..., Any])


def _use_grad_for_differentiable(func: Step) -> Step:
    """Return a step that runs without gradients."""
    return no_grad()(func)


def _default_to_fused_or_foreach(
    params: list[Tensor], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Return that an update is neither fused nor over lists: XLA fuses updates of tensors."""
    return False, False


__all__ = [
    "ParamsT",
    "_default_to_fused_or_foreach",
    "_get_capturable_supported_devices",
    "_use_grad_for_differentiable",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]
