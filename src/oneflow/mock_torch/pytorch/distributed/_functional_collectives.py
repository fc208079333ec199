"""Names of ``torch.distributed._functional_collectives``."""

from oneflow.mock_torch.absent import (
    refuse_sharding as all_gather_tensor,
    refuse_sharding as all_reduce,
    refuse_sharding as all_to_all_single,
    refuse_sharding as all_to_all_single_autograd,
    refuse_sharding as reduce_scatter_tensor,
    refuse_sharding as wait_tensor,
)

__all__ = [
    "all_gather_tensor",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "reduce_scatter_tensor",
    "wait_tensor",
]
