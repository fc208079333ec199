"""``torch.distributed.algorithms.ddp_comm_hooks``: functions that exchange gradients."""

from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks import (
    debugging_hooks as debugging_hooks,
    default_hooks as default_hooks,
    post_localSGD_hook as post_localSGD_hook,
    powerSGD_hook as powerSGD_hook,
)
from oneflow.mock_torch.pytorch.distributed.algorithms.ddp_comm_hooks.hook_types import (
    DDPCommHookType as DDPCommHookType,
    register_ddp_comm_hook as register_ddp_comm_hook,
)

__all__ = ["DDPCommHookType", "register_ddp_comm_hook"]
