"""Names of ``torch.distributed.tensor``: global tensors by PyTorch's names."""

from oneflow.mock_torch.pytorch.distributed.tensor.constructors import (
    distribute_module as distribute_module,
    empty as empty,
    full as full,
    ones as ones,
    rand as rand,
    randn as randn,
    zeros as zeros,
)
from oneflow.mock_torch.pytorch.distributed.tensor.sharded_tensor import (
    DeviceMesh as DeviceMesh,
    DTensor as DTensor,
    Partial as Partial,
    Placement as Placement,
    Replicate as Replicate,
    Shard as Shard,
    distribute_tensor as distribute_tensor,
    init_device_mesh as init_device_mesh,
)
