"""Names of ``torch.distributed.fsdp``: `Module.to_global` and ZeRO take their place."""

from oneflow.mock_torch.pytorch.distributed.fsdp.sharded_modules import (
    CPUOffloadPolicy as CPUOffloadPolicy,
    FSDPModule as FSDPModule,
    FullyShardedDataParallel as FullyShardedDataParallel,
    MixedPrecisionPolicy as MixedPrecisionPolicy,
    fully_shard as fully_shard,
)

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "fully_shard",
]
