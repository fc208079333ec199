"""``torch.distributed.optim``: optimizers of several processes."""

from oneflow.mock_torch.pytorch.distributed.optim.functional_optimizer import (
    as_functional_optim as as_functional_optim,
)
from oneflow.mock_torch.pytorch.distributed.optim.optimizer import (
    DistributedOptimizer as DistributedOptimizer,
)
from oneflow.mock_torch.pytorch.distributed.optim.post_localSGD_optimizer import (
    PostLocalSGDOptimizer as PostLocalSGDOptimizer,
)
from oneflow.mock_torch.pytorch.distributed.optim.zero_redundancy_optimizer import (
    ZeroRedundancyOptimizer as ZeroRedundancyOptimizer,
)

__all__ = [
    "DistributedOptimizer",
    "PostLocalSGDOptimizer",
    "ZeroRedundancyOptimizer",
    "as_functional_optim",
]
