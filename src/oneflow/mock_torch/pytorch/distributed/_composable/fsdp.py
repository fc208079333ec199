"""Names of ``torch.distributed._composable.fsdp``."""

from oneflow.mock_torch.pytorch.distributed.fsdp import (
    CPUOffloadPolicy,
    FSDPModule,
    MixedPrecisionPolicy,
    fully_shard,
)

__all__ = ["CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "fully_shard"]
