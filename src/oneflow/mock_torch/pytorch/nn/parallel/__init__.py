"""``torch.nn.parallel``: data parallelism over processes and over devices."""

from oneflow.mock_torch.pytorch.nn.parallel.devices import (
    data_parallel,
    gather,
    parallel_apply,
    replicate,
    scatter,
)
from oneflow.mock_torch.pytorch.nn.parallel.distributed import DistributedDataParallel
