"""Moving averages of a model's weights."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import nn


class ModelEmaV2(nn.Module):
    """A copy of a model that follows it slowly: exponential moving averages of all its numbers.

    Averages of the last steps often classify better than the last step. `module` is the copy, in
    evaluation mode.

    Args:
        model: the model.
        decay: the copy's share in each update.
        device: where the copy is, by default beside the model.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import ModelEmaV2
        >>> model = flow.nn.Linear(1, 1, bias=False)
        >>> ema = ModelEmaV2(model, decay=0.5)
        >>> flow.nn.init.zeros_(model.weight.data).shape
        oneflow.Size([1, 1])
        >>> ema.set(model)
        >>> flow.nn.init.ones_(model.weight.data).shape
        oneflow.Size([1, 1])
        >>> ema.update(model)
        >>> ema.module.weight.item()
        0.5
    """

    def __init__(self, model: nn.Module, decay: float = 0.9999, device: Any = None) -> None:
        super().__init__()
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        self.device = device
        if device is not None:
            self.module.to(device=device)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Return what the copy says."""
        return self.module(*args, **kwargs)

    def update(self, model: nn.Module) -> None:
        """Take a step towards the model; integers, such as counters, are taken over."""
        self._change(
            model, lambda target, source: target * self.decay + source * (1.0 - self.decay)
        )

    def set(self, model: nn.Module) -> None:
        """Take the model's numbers over."""
        self._change(model, lambda _, source: source)

    def _change(self, model: nn.Module, average: Callable) -> None:
        state = model.state_dict()
        with flow.no_grad():
            for name, target in self.module.state_dict().items():
                source = state[name] if self.device is None else state[name].to(self.device)
                target.copy_(average(target, source) if target.dtype.is_floating_point else source)
