"""The rank of this process, the world size and the machines of the job."""

from oneflow.distributed.ranks import (
    all_device_placement as all_device_placement,
    get_local_rank as get_local_rank,
    get_node_size as get_node_size,
    get_rank as get_rank,
    get_world_size as get_world_size,
    init as init,
    init_rdma as init_rdma,
    is_multi_client as is_multi_client,
    rdma_is_initialized as rdma_is_initialized,
)

__all__ = [
    "all_device_placement",
    "get_local_rank",
    "get_node_size",
    "get_rank",
    "get_world_size",
    "init",
    "init_rdma",
    "is_multi_client",
    "rdma_is_initialized",
]
