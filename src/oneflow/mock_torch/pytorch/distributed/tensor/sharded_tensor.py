"""Names of ``torch.distributed.tensor``: `Tensor.to_global` and `oneflow.sbp` take their place."""

from oneflow.mock_torch.missing import Sharded, raise_sharding as distribute_tensor
from oneflow.mock_torch.pytorch.distributed.device_mesh import DeviceMesh
from oneflow.mock_torch.pytorch.distributed.tensor.placement_types import (
    Partial,
    Placement,
    Replicate,
    Shard,
)


class DTensor(Sharded):
    """The type of PyTorch's sharded tensors."""


__all__ = [
    "DTensor",
    "DeviceMesh",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_tensor",
]
