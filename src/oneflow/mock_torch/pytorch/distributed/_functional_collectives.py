"""Names of ``torch.distributed._functional_collectives``."""

from oneflow.mock_torch.missing import (
    raise_sharding as all_gather_tensor,
    raise_sharding as all_reduce,
    raise_sharding as all_to_all_single,
    raise_sharding as all_to_all_single_autograd,
    raise_sharding as reduce_scatter_tensor,
    raise_sharding as wait_tensor,
)

__all__ = [
    "all_gather_tensor",
    "all_reduce",
    "all_to_all_single",
    "all_to_all_single_autograd",
    "reduce_scatter_tensor",
    "wait_tensor",
]
