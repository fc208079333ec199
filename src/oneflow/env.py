"""The rank of this process, the world size and the machines of the job."""

from oneflow.distributed.ranks import (
    all_device_placement as all_device_placement,
    destory_rdma as destory_rdma,
    get_local_rank as get_local_rank,
    get_node_size as get_node_size,
    get_rank as get_rank,
    get_world_size as get_world_size,
    init as init,
    init_rdma as init_rdma,
    is_multi_client as is_multi_client,
    rdma_is_initialized as rdma_is_initialized,
)
from oneflow.legacy.env import (
    ctrl_port as ctrl_port,
    data_port as data_port,
    grpc_use_no_signal as grpc_use_no_signal,
    log_dir as log_dir,
    logbuflevel as logbuflevel,
    logtostderr as logtostderr,
    machine as machine,
)

__all__ = [
    "all_device_placement",
    "ctrl_port",
    "data_port",
    "destory_rdma",
    "get_local_rank",
    "get_node_size",
    "get_rank",
    "get_world_size",
    "grpc_use_no_signal",
    "init",
    "init_rdma",
    "is_multi_client",
    "log_dir",
    "logbuflevel",
    "logtostderr",
    "machine",
    "rdma_is_initialized",
]
