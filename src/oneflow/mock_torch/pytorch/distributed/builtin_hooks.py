"""``torch.distributed.BuiltinCommHookType``: exchanges of gradients that PyTorch has in C++."""

from __future__ import annotations

import enum

from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks import default_hooks


class BuiltinCommHookType(enum.Enum):
    """The exchanges of gradients that PyTorch has in C++, too."""

    ALLREDUCE = 1
    FP16_COMPRESS = 2

    @property
    def hook(self) -> default_hooks.Hook:
        """The function for `register_comm_hook`."""
        if self is BuiltinCommHookType.ALLREDUCE:
            return default_hooks.allreduce_hook
        return default_hooks.fp16_compress_hook
