"""``torch.distributed.optim.post_localSGD_optimizer``: steps of one process, averaged at times."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging.averagers import (
    ModelAverager,
)
from oneflow.optim import Optimizer


class PostLocalSGDOptimizer(Optimizer):
    """An optimizer that steps alone, and then averages the parameters as an averager says.

    Source: Lin et al., "Don't Use Large Mini-Batches, Use Local SGD", 2018.

    Args:
        optim: the optimizer of this process; its groups and its state are those of this one.
        averager: averages the parameters after some steps; its `warmup_steps` are the
            `start_localSGD_iter` of the function that exchanges the gradients.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.distributed import optim
        >>> from oneflow.mock_torch.pytorch.distributed.algorithms.model_averaging import averagers
        >>> w = flow.ones(1, requires_grad=True)
        >>> averager = averagers.PeriodicModelAverager(period=4, warmup_steps=100)
        >>> optimizer = optim.PostLocalSGDOptimizer(flow.optim.SGD([w], lr=0.1), averager)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w, optimizer.state_dict()["step"]
        (tensor([0.9000], dtype=oneflow.float32, requires_grad=True), 1)
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        super(Optimizer, self).__init__()  # it has no groups and no state of its own
        self.optim, self.averager = optim, averager
        self.defaults, self.param_groups = optim.defaults, optim.param_groups

    @property
    def state(self) -> dict[Any, dict[str, Any]]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The state of the optimizer of this process."""
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters to the optimizer of this process."""
        self.optim.add_param_group(param_group)

    def state_dict(self) -> dict[str, Any]:
        """Return the optimizer's state with the averager's number of steps, as `step`."""
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Go on from a `state_dict`, with the averager's number of steps if it is there."""
        self.optim.load_state_dict(
            {name: value for name, value in state_dict.items() if name != "step"}
        )
        if "step" not in state_dict:
            warnings.warn(
                "the state has no `step` of an averager, which begins at step 0 again",
                stacklevel=2,
            )
        self.averager.step = state_dict.get("step", 0)

    def step(self, closure: Callable[..., Any] | None = None) -> Any:
        """Update the parameters, and average them if it is time."""
        loss = self.optim.step(closure)
        self.averager.average_parameters(self.param_groups)
        return loss

    def zero_grad(self, set_to_none: bool | None = True) -> None:
        """Take the gradients away, or set them to zero."""
        self.optim.zero_grad(set_to_none=set_to_none)


__all__ = ["PostLocalSGDOptimizer"]
