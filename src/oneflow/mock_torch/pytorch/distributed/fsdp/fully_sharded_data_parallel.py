"""Names of ``torch.distributed.fsdp.fully_sharded_data_parallel``."""

import enum

from oneflow.mock_torch.pytorch.distributed.fsdp import FullyShardedDataParallel


class ShardingStrategy(enum.Enum):
    """The part of a module that PyTorch shards; `nn.Graph` has ZeRO in three stages."""

    FULL_SHARD = 1
    SHARD_GRAD_OP = 2
    NO_SHARD = 3
    HYBRID_SHARD = 4


class StateDictType(enum.Enum):
    """The part of a sharded module's state that a process saves."""

    FULL_STATE_DICT = 1
    LOCAL_STATE_DICT = 2
    SHARDED_STATE_DICT = 3


__all__ = ["FullyShardedDataParallel", "ShardingStrategy", "StateDictType"]
