"""Names of ``torch.distributed.fsdp``: `Module.to_global` and ZeRO take their place."""

from oneflow.mock_torch.missing import Sharded, raise_sharding as fully_shard


class FullyShardedDataParallel(Sharded):
    """The type of modules whose parameters are sharded."""


class FSDPModule(Sharded):
    """The type of modules whose parameters are sharded."""


class CPUOffloadPolicy(Sharded):
    """The type of settings for parameters that wait in the host's memory."""


class MixedPrecisionPolicy(Sharded):
    """The type of settings for sharded parameters of several precisions."""


__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "FullyShardedDataParallel",
    "MixedPrecisionPolicy",
    "fully_shard",
]
