"""`DDPCommHookType`: the functions that exchange gradients, by name."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks,
    default_hooks,
    powerSGD_hook,
)
from oneflow.mock_torch.pytorch.nn.parallel.distributed import DistributedDataParallel


@dataclass(frozen=True)
class _Registration:
    """The registration of a function with a model.

    Attributes:
        hook: the function.
        rank: the rank of PowerSGD's matrices; None: the function's state is a process group.
    """

    hook: Callable[..., Any]
    rank: int | None = None

    def __call__(self, model: DistributedDataParallel, state: Any = None) -> None:
        """Register the function; `state` is the process group, by default all processes."""
        if self.rank is not None:
            state = powerSGD_hook.PowerSGDState(state, matrix_approximation_rank=self.rank)
        model.register_comm_hook(state, self.hook)


class DDPCommHookType(enum.Enum):
    """The functions that exchange gradients; PowerSGD's with the rank of their matrices."""

    ALLREDUCE = _Registration(default_hooks.allreduce_hook)
    FP16_COMPRESS = _Registration(default_hooks.fp16_compress_hook)
    BF16_COMPRESS = _Registration(default_hooks.bf16_compress_hook)
    POWER_SGD = _Registration(powerSGD_hook.powerSGD_hook, 1)
    POWER_SGD_RANK2 = _Registration(powerSGD_hook.powerSGD_hook, 2)
    BATCHED_POWER_SGD = _Registration(powerSGD_hook.batched_powerSGD_hook, 1)
    BATCHED_POWER_SGD_RANK2 = _Registration(powerSGD_hook.batched_powerSGD_hook, 2)
    NOOP = _Registration(debugging_hooks.noop_hook)


def register_ddp_comm_hook(
    comm_hook_type: DDPCommHookType, model: DistributedDataParallel, state: Any = None
) -> None:
    """Register one of the functions, which exchanges the gradients of a model.

    Args:
        comm_hook_type: the function.
        model: the model.
        state: a process group, by default that of all processes.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.distributed.algorithms.ddp_comm_hooks import (
        ...         DDPCommHookType,
        ...         register_ddp_comm_hook,
        ...     )
        >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 1))
        >>> register_ddp_comm_hook(DDPCommHookType.FP16_COMPRESS, model)
        >>> model(torch.ones(1, 2)).sum().backward()
        >>> model.module.weight.grad
        tensor([[1., 1.]], dtype=oneflow.float32)
    """
    comm_hook_type.value(model, state)


__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]
