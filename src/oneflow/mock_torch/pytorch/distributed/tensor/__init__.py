"""Names of ``torch.distributed.tensor``: `Tensor.to_global` and `oneflow.sbp` take their place."""

from oneflow.mock_torch.pytorch.distributed.tensor.sharded_tensor import (
    DeviceMesh as DeviceMesh,
    DTensor as DTensor,
    Partial as Partial,
    Placement as Placement,
    Replicate as Replicate,
    Shard as Shard,
    distribute_tensor as distribute_tensor,
)

__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_tensor",
]
