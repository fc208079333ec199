"""``torch.distributed.nn``: collective operations that gradients flow through."""

from oneflow.autograd.function import Function as Function
from oneflow.distributed import ReduceOp as ReduceOp, group as group
from oneflow.mock_torch.pytorch.distributed.nn import functional as functional
from oneflow.mock_torch.pytorch.distributed.nn.functional import (
    all_gather as all_gather,
    all_reduce as all_reduce,
    all_to_all as all_to_all,
    all_to_all_single as all_to_all_single,
    broadcast as broadcast,
    gather as gather,
    reduce as reduce,
    reduce_scatter as reduce_scatter,
    scatter as scatter,
)
from oneflow.mock_torch.pytorch.distributed.rpc import RemoteModule as RemoteModule
