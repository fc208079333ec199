"""Gradient scaling for parameters whose gradients are on several ranks."""

from __future__ import annotations

from oneflow.amp.grad_scaler import GradScaler
from oneflow.distributed.collectives import all_reduce
from oneflow.distributed.groups import ProcessGroup
from oneflow.functional.creation.factory_functions import zeros
from oneflow.optim.optimizer import Optimizer
from oneflow.tensor.tensor import Tensor


class ShardedGradScaler(GradScaler):
    """A `GradScaler` whose ranks skip a step together, if the gradients of one are not finite.

    Args:
        device: the type of the devices; it changes nothing.
        init_scale: the first scale.
        backoff_factor: what it shrinks by.
        growth_factor: what it grows by.
        growth_interval: how many good steps in a row let it grow.
        enabled: False makes all of this do nothing but step.
        process_group: the ranks that agree, by default all.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
        >>> ShardedGradScaler(init_scale=4.0).get_scale()
        4.0
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 65536.0,
        backoff_factor: float = 0.5,
        growth_factor: float = 2.0,
        growth_interval: int = 2000,
        enabled: bool = True,
        process_group: ProcessGroup | None = None,
    ) -> None:
        super().__init__(
            device,
            init_scale=init_scale,
            growth_factor=growth_factor,
            backoff_factor=backoff_factor,
            growth_interval=growth_interval,
            enabled=enabled,
        )
        self.process_group = process_group

    def unscale_(self, optimizer: Optimizer) -> Tensor | None:
        """Divide the gradients by the scale; all ranks of the group call this.

        Returns:
            Whether a gradient of any rank is infinite or not a number, a 0-dim bool tensor.
        """
        flag = super().unscale_(optimizer)
        if not self._enabled or (flag is not None and flag.is_global):
            return flag
        if flag is None:  # the other ranks wait for this one
            count = zeros(1, device=optimizer.param_groups[0]["params"][0].device)
        else:
            count = flag.float().reshape(1)
        all_reduce(count, group=self.process_group)
        has_infinite = self._found_inf[optimizer] = count[0] > 0
        return has_infinite


__all__ = ["ShardedGradScaler"]
