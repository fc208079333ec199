"""Training with several processes."""

from oneflow.distributed.data_parallel import DistributedDataParallel as DistributedDataParallel

__all__ = ["DistributedDataParallel"]
