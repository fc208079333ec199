"""Training with several processes."""

from oneflow.distributed.data_parallel import DistributedDataParallel as DistributedDataParallel
from oneflow.nn.modules.data_parallel import DataParallel as DataParallel

__all__ = ["DataParallel", "DistributedDataParallel"]
